"""Every encoding, a row each: what is listed here is exported, tested, documented, explained and drawn.

A row names the class, sample records in which every field matters, the paper, what the encoding is called elsewhere,
and when to use it. Tests, docs, the command line and the lab walk this list and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from posenc.doors import Encoding
from posenc.encodings.alibi import ALiBi
from posenc.encodings.count import Count, NormalisedCount
from posenc.encodings.divisor_pairs import DivisorPairs
from posenc.encodings.learned import Learned
from posenc.encodings.nope import NoPE
from posenc.encodings.one_sine import OneSine
from posenc.encodings.rope import RoPE
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.t5 import T5Bias
from posenc.encodings.transformer_xl import TransformerXL


@dataclass(frozen=True)
class Row:
    """One encoding: its class, samples, source, names abroad and use.

    title: the name of a row whose encoding is a record of a class that has another row; the class's own name otherwise.
    """

    encoding: type[Encoding]
    samples: tuple[Encoding, ...]
    paper: str
    elsewhere: tuple[str, ...]
    use: str
    title: str = ""

    @property
    def name(self) -> str:
        return self.title or self.encoding.__name__


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
    Row(
        ALiBi,
        (ALiBi(heads=8), ALiBi(heads=12), ALiBi(heads=3, steepest=4.0)),
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
        ),
        "Raffel et al. 2020, arXiv:1910.10683",
        ("relative_attention_bias (T5)", "RelativePositionBiases (T5X)", "RelativePositionBias"),
        "For encoders and decoders that learn how much each distance matters, precisely when near and roughly when far.",
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
)


def row(name: str) -> Row:
    """The row of an encoding by its class name."""
    for candidate in CATALOG:
        if candidate.name == name:
            return candidate
    raise ValueError(f"name must be one of {', '.join(r.name for r in CATALOG)}; got {name!r}. Choose one of these.")
