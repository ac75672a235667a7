"""Every encoding, a row each: what is listed here is exported, tested, documented, explained and drawn.

A row names the class, sample records in which every field matters, the paper, what the encoding is called elsewhere,
and when to use it. Tests, docs, the command line and the lab walk this list and nothing else.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from posenc.doors import Encoding
from posenc.encodings.alibi import ALiBi
from posenc.encodings.axial_learned import AxialLearned
from posenc.encodings.bounded_alibi import BoundedALiBi
from posenc.encodings.cope import CoPE
from posenc.encodings.count import Count, NormalisedCount
from posenc.encodings.deberta import DeBERTa
from posenc.encodings.distance_bank import DistanceBank
from posenc.encodings.divisor_pairs import DivisorPairs
from posenc.encodings.dual_base import DualBaseRoPE
from posenc.encodings.dynamic_position_bias import DynamicPositionBias
from posenc.encodings.fire import FIRE
from posenc.encodings.forgetting import ForgettingGate
from posenc.encodings.fourier_features import FourierFeatures
from posenc.encodings.kerple import KerpleLog, KerplePower
from posenc.encodings.learned import Learned
from posenc.encodings.learned_rope import LearnedRoPE
from posenc.encodings.nope import NoPE
from posenc.encodings.one_sine import OneSine
from posenc.encodings.random_fourier_features import RandomFourierFeatures
from posenc.encodings.relative_bias import RelativeBias
from posenc.encodings.rope import RoPE
from posenc.encodings.sandwich import Sandwich
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.t5 import T5Bias
from posenc.encodings.time2vec import Time2Vec
from posenc.encodings.timestep_embedding import TimestepEmbedding
from posenc.encodings.transformer_xl import TransformerXL
from posenc.encodings.value_rotation import ValueRotation
from posenc.encodings.xpos import XPos
from posenc.rows.row import Row
from posenc.rows.scalings import SCALED

CATALOG: tuple[Row, ...] = (
    Row(
        NoPE,
        (NoPE(dim=8),),
        "Kazemnejad et al. 2023, arXiv:2305.19466",
        ("NoPE",),
        "As the control of a comparison, or in layers that should not see position.",
    ),
    Row(
        Count,
        (Count(), Count(start=0)),
        "no paper: the notes' first idea",
        ("position ids as a feature",),
        "To see what an unbounded value does to embeddings and gradients.",
    ),
    Row(
        NormalisedCount,
        (NormalisedCount(length=2), NormalisedCount(length=5, start=0)),
        "no paper: the notes' second idea",
        ("relative coordinate", "progress feature"),
        "To see that one place then has another value at another length.",
    ),
    Row(
        OneSine,
        (OneSine(),),
        "no paper: the notes' third idea",
        (),
        "To see that a bounded value alone collides.",
    ),
    Row(
        DivisorPairs,
        (DivisorPairs(), DivisorPairs(divisors=(1.0,)), DivisorPairs(divisors=(0.5, 4.0, 30.0, 7.25))),
        "no paper: the notes' last step before the sinusoidal encoding",
        (),
        "To see how more pairs keep positions apart, before the geometric ladder.",
    ),
    Row(
        Sinusoidal,
        (
            Sinusoidal(dim=8),
            Sinusoidal(dim=16, base=100.0, start=1, scale=0.5),
            Sinusoidal(dim=12, layout="concatenated", exponent="i/(d/2-1)"),
            Sinusoidal(dim=10, exponent="i/d", first="cosine"),
            Sinusoidal(dim=7, odd="truncate"),
            Sinusoidal(dim=9, odd="zero", layout="concatenated"),
            Sinusoidal(dim=8, numerics="float32"),
        ),
        "Vaswani et al. 2017, arXiv:1706.03762",
        ("SinePositionEncoding (Keras)", "PositionalEncoding1D", "SinusoidalPositionalEncoding (MLX)"),
        "For models of varying length that should cost no parameters.",
    ),
    Row(
        Learned,
        (
            Learned(dim=8, length=32),
            Learned(dim=6, length=12, outside="clamp", std=0.5),
            Learned(dim=5, length=9, outside="wrap", std=1.0),
            Learned(dim=4, length=7, outside="interpolate", extent=25, std=1.0),
        ),
        "Gehring et al. 2017, arXiv:1705.03122",
        (
            "BertEmbeddings.position_embeddings",
            "wpe (GPT-2)",
            "PositionEmbedding (Keras)",
            "AbsolutePositionalEmbedding",
        ),
        "For a fixed largest length with enough data at every position.",
    ),
    Row(
        AxialLearned,
        (AxialLearned(shape=(4, 8), dims=(3, 2)), AxialLearned(shape=(2, 3, 5), dims=(2, 1, 4), std=0.5)),
        "Kitaev et al. 2020, arXiv:2001.04451",
        ("AxialPositionEmbeddings (Reformer)", "AxialPositionalEncoding (Trax)"),
        "For very long inputs of a fixed shape, whose table of a vector a position would be too large.",
    ),
    Row(
        FourierFeatures,
        (
            FourierFeatures(bands=9, spacing="linear", resolution=7.0, layout="concatenated", coordinate=True),
            FourierFeatures(bands=3),
            FourierFeatures(bands=3, spacing="logarithmic", resolution=16.0, layout="concatenated"),
        ),
        "Mildenhall et al. 2020, arXiv:2003.08934",
        ("NeRF positional encoding", "PerceiverFourierPositionEncoding", "FourierEmbed (timm)"),
        "For real coordinates between -1 and 1: fields, point clouds, pixels, samples of sound.",
    ),
    Row(
        RandomFourierFeatures,
        (RandomFourierFeatures(features=4), RandomFourierFeatures(features=3, std=10.0, seed=7, first="sine")),
        "Tancik et al. 2020, arXiv:2006.10739",
        ("SamPositionalEmbedding", "GaussianFourierProjection (diffusers)", "RFF"),
        "For real coordinates whose useful bandwidth is known, as the standard deviation.",
    ),
    Row(
        TimestepEmbedding,
        (
            TimestepEmbedding(dim=8),
            TimestepEmbedding(dim=9, shift=0.0, flip=True, scale=1000.0, max_period=1e5),
            TimestepEmbedding(dim=10, shift=0.5, numerics="float32"),
        ),
        "Ho et al. 2020, arXiv:2006.11239",
        ("get_timestep_embedding (diffusers)", "Timesteps (diffusers)", "timestep_embedding (ADM)"),
        "To tell a diffusion model its time step or noise level.",
    ),
    Row(
        Time2Vec,
        (Time2Vec(dim=4), Time2Vec(dim=2, std=0.1)),
        "Kazemi et al. 2019, arXiv:1907.05321",
        ("T2V", "SineActivation"),
        "For events at real times whose periods are to be learned.",
    ),
    Row(
        RoPE,
        (
            RoPE(dim=8),
            RoPE(dim=12, base=500_000.0, pairing="halves"),
            RoPE(dim=8, numerics="float32"),
        ),
        "Su et al. 2021, arXiv:2104.09864",
        ("LlamaRotaryEmbedding", "RotaryPositionalEmbeddings (torchtune)", "RotaryEmbedding"),
        "For decoders: relative, without parameters, works with every fast attention.",
    ),
    *SCALED,
    Row(
        ALiBi,
        (
            ALiBi(heads=8),
            ALiBi(heads=12),
            ALiBi(heads=3, steepest=4.0),
            ALiBi(heads=12, rule="geometric"),
            ALiBi(heads=5, rule="linear", form="signed"),
        ),
        "Press et al. 2022, arXiv:2108.12409",
        ("AlibiPositionalBias", "build_alibi_tensor (BLOOM)", "alibi_slopes (flash-attention)"),
        "For decoders that must run longer than they were trained, when nearer tokens matter more.",
    ),
    Row(
        T5Bias,
        (
            T5Bias(heads=3),
            T5Bias(heads=2, buckets=8, max_distance=20),
            T5Bias(heads=12, buckets=7, max_distance=16, bidirectional=False),
            T5Bias(heads=2, buckets=10, max_distance=30, scale=8.0),
        ),
        "Raffel et al. 2020, arXiv:1910.10683",
        ("relative_attention_bias (T5)", "RelativePositionBiases (T5X)", "RelativePositionBias"),
        "For encoders and decoders that learn how much each distance matters, precisely when near and roughly when far.",
    ),
    Row(
        BoundedALiBi,
        (BoundedALiBi(heads=8), BoundedALiBi(heads=3, per_head=True, initial_bound=0.25)),
        "no paper: google-research/meliad",
        ("BoundedALiBi (meliad)",),
        "For ALiBi whose far tokens must stay visible, at the price of one number or one a head.",
    ),
    Row(
        KerpleLog,
        (KerpleLog(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerpleLog (KERPLE)",),
        "For decoders that must run longer than they were trained and should learn how fast attention fades.",
    ),
    Row(
        KerplePower,
        (KerplePower(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerplePower (KERPLE)",),
        "For ALiBi with learned slopes and learned curvature.",
    ),
    Row(
        Sandwich,
        (Sandwich(heads=8), Sandwich(heads=3, dim=6, base=100.0)),
        "Chi et al. 2022, arXiv:2212.10356",
        ("generate_sandwich_bias (attention-gym)",),
        "For decoders that must run longer than they were trained, without parameters and bounded.",
    ),
    Row(
        FIRE,
        (FIRE(heads=3), FIRE(heads=2, width=5, threshold=4.0, initial_c=0.5, epsilon=0.0)),
        "Li et al. 2023, arXiv:2310.04418",
        ("FIRE",),
        "For decoders whose distances should count as shares of the context, so that longer ones look familiar.",
    ),
    Row(
        DynamicPositionBias,
        (
            DynamicPositionBias(heads=3, dim=8),
            DynamicPositionBias(heads=2, dim=4, depth=1, log_distance=True),
            DynamicPositionBias(heads=2, dim=5, depth=3, log_distance=True),
        ),
        "Wang et al. 2021, arXiv:2108.00154",
        ("DynamicPositionBias (x-transformers)", "DynamicPosBias (CrossFormer)"),
        "For encoders that should learn any smooth function of the distance.",
    ),
    Row(
        RelativeBias,
        (RelativeBias(heads=3), RelativeBias(heads=2, clip=3)),
        "Liu et al. 2021, arXiv:2103.14030",
        ("relative_position_bias_table (Swin, one axis)",),
        "For windows of a few dozen tokens, with enough data at every distance.",
    ),
    Row(
        Shaw,
        (Shaw(dim=4), Shaw(dim=6, clip=2)),
        "Shaw et al. 2018, arXiv:1803.02155",
        ("relative_key", "RelativeKeyPosition", "max_relative_position (tensor2tensor)"),
        "For short sequences whose near neighbours differ in meaning, at the price of a score and a value for each.",
    ),
    Row(
        TransformerXL,
        (TransformerXL(dim=4, heads=3, model_dim=8), TransformerXL(dim=6, heads=2, model_dim=10, base=100.0)),
        "Dai et al. 2019, arXiv:1901.02860",
        ("RelPartialLearnableMultiHeadAttn", "XLNetRelativeAttention", "RelPositionMultiHeadedAttention (Conformer)"),
        "For models with a memory of earlier segments, and speech encoders.",
    ),
    Row(
        XPos,
        (XPos(dim=8), XPos(dim=6, base=100.0, scale_base=64.0, gamma=1.0, centre=3, pairing="halves")),
        "Sun et al. 2023, arXiv:2212.10554",
        ("LeX", "use_xpos (rotary-embedding-torch)", "rotary_xpos (x-transformers)", "scale_base (flash-attention)"),
        "For decoders whose far tokens should matter less, without giving up a rotation.",
    ),
    Row(
        DualBaseRoPE,
        (
            DualBaseRoPE(dim=8),
            DualBaseRoPE(dim=12, base=500.0, second_base=2e6, pairing="halves"),
            DualBaseRoPE(dim=8, numerics="float32"),
        ),
        "no paper: released code; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("DualRotaryEncoder (fairseq2)",),
        "To give near and far tokens a ladder each within one head.",
    ),
    Row(
        LearnedRoPE,
        (LearnedRoPE(dim=8), LearnedRoPE(dim=6, base=100.0, pairing="halves")),
        "Su et al. 2021, arXiv:2104.09864",
        ("learned_freq (rotary-embedding-torch)",),
        "To let training choose the wavelengths; watch the gradient, which grows with position.",
    ),
    Row(
        ValueRotation,
        (ValueRotation(encoding=RoPE(dim=8)), ValueRotation(encoding=LearnedRoPE(dim=4))),
        "no paper: an article on VO-RoPE; the rotation is Su et al. 2021, arXiv:2104.09864",
        ("VO-RoPE", "inverse rotary on the output (DeepSeek-V4)"),
        "Beside a rotation of queries and keys, or without one, so that what is mixed carries its distance.",
    ),
    Row(
        DeBERTa,
        (
            DeBERTa(dim=4, heads=3, buckets=8, max_distance=20),
            DeBERTa(dim=3, heads=2, buckets=4, max_distance=None, terms="p2c"),
            DeBERTa(dim=4, heads=12, buckets=6, max_distance=9, terms="c2p"),
        ),
        "He et al. 2021, arXiv:2006.03654",
        ("DisentangledSelfAttention", "position_buckets (DeBERTa v2, v3)", "pos_att_type"),
        "For encoders that should weigh what a word means and how far away it stands apart from each other.",
    ),
    Row(
        CoPE,
        (CoPE(dim=4, rows=5), CoPE(dim=3)),
        "Golovneva et al. 2024, arXiv:2405.18719",
        ("CoPE (x-transformers)", "attn_use_cope"),
        "For decoders that must count words or sentences, not tokens.",
    ),
    Row(
        ForgettingGate,
        (ForgettingGate(heads=3, model_dim=6), ForgettingGate(heads=2, model_dim=1)),
        "Lin et al. 2025, arXiv:2503.02130",
        ("FoX", "forgetting_attn (flash-linear-attention)", "DataDependentAlibi (x-transformers)"),
        "For decoders in which the text itself should say what may be forgotten.",
    ),
    Row(
        DistanceBank,
        (
            DistanceBank(heads=3, model_dim=5, basis=2, extent=4),
            DistanceBank(heads=2, model_dim=3, basis=1, extent=7),
        ),
        "no paper: released code of Inkling; query-dependent as Shaw et al. 2018, arXiv:1803.02155",
        ("InklingRelativeLogits", "RelativeProjPositionalBias (x-transformers)"),
        "For decoders without a rotation whose tokens should choose how far they look.",
    ),
)


def row(name: str) -> Row:
    """The row of an encoding by its class name."""
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    raise ValueError(f"name must be one of {', '.join(r.name for r in CATALOG)}; got {name!r}. Choose one of these.")


def row_of(record: Encoding) -> Row | None:
    """The row a record belongs to: of its class, and with the same kinds of records inside, where one has them."""
    rows = [candidate for candidate in CATALOG if candidate.encoding is type(record)]
    alike = [candidate for candidate in rows if any(_within(sample) == _within(record) for sample in candidate.samples)]
    return next(iter(alike + rows), None)


def _within(record: Encoding) -> list[type]:
    values = (getattr(record, field.name) for field in fields(record))
    return [type(value) for value in values if is_dataclass(value)]
