"""Encodings that add to the embeddings: a row each."""

from __future__ import annotations

from posenc.encodings.axial_learned import AxialLearned
from posenc.encodings.count import Count, NormalisedCount
from posenc.encodings.divisor_pairs import DivisorPairs
from posenc.encodings.factorised_learned import FactorisedLearned
from posenc.encodings.fourier_features import FourierFeatures
from posenc.encodings.grid_learned import GridLearned
from posenc.encodings.grid_sinusoidal import GridSinusoidal
from posenc.encodings.learned import Learned
from posenc.encodings.nope import NoPE
from posenc.encodings.one_sine import OneSine
from posenc.encodings.random_fourier_features import RandomFourierFeatures
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.time2vec import Time2Vec
from posenc.encodings.timestep_embedding import TimestepEmbedding
from posenc.rows.row import Row

ADDED: tuple[Row, ...] = (
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
        GridSinusoidal,
        (
            GridSinusoidal(dims=(4, 4)),
            GridSinusoidal(dims=(6, 6), order=(1, 0), base=100.0, layout="concatenated", first="cosine"),
            GridSinusoidal(dims=(4, 6, 2), order=(0, 2, 1), layout="gathered", ladder=6),
        ),
        "Carion et al. 2020, arXiv:2005.12872",
        (
            "DetrSinePositionEmbedding",
            "build_sincos2d_pos_embed (timm)",
            "get_2d_sincos_pos_embed (MAE, diffusers)",
            "PositionalEncoding2D",
            "PositionalEncoding3D",
        ),
        "For images and videos of varying size, without parameters.",
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
        GridLearned,
        (GridLearned(dim=4, sizes=(13, 25)), GridLearned(dim=3, sizes=(9, 20), prefix=2, std=0.5)),
        "Dosovitskiy et al. 2020, arXiv:2010.11929",
        ("pos_embed (timm)", "position_embeddings (ViT)", "interpolate_pos_encoding", "resample_abs_pos_embed"),
        "For images of one size with enough of them to learn from; resize the table, grid stated, for others.",
    ),
    Row(
        FactorisedLearned,
        (
            FactorisedLearned(sizes=(13, 25), dims=(4, 4)),
            FactorisedLearned(sizes=(12, 24), dims=(3, 3), combine="concatenated", std=0.5),
        ),
        "Dehghani et al. 2023, arXiv:2307.06304",
        ("DetrLearnedPositionEmbedding", "position_embedding_table (Gemma 4)", "row_embedder (Pix2Struct)"),
        "For images of many sizes: rows and columns are seen more often than their crossings.",
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
)
