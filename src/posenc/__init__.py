"""posenc: one exact, fast, portable and explained definition of every positional encoding for transformers."""

from posenc import positions
from posenc.catalog import CATALOG
from posenc.compose import Concatenated, LearnedScale, Partial, PerLayer, Scaled, Sum
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
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
from posenc.encodings.learned import Learned, resized
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
from posenc.frequencies import (
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Proportional,
    Resonance,
    Scaling,
    YaRN,
)
from posenc.phase import cosine_sine, phase
from posenc.rows.row import Row
from posenc.turn import Pairing, Turn

__all__ = [
    "CATALOG",
    "FIRE",
    "ALiBi",
    "Adds",
    "AxialLearned",
    "Biases",
    "BoundedALiBi",
    "CoPE",
    "Concatenated",
    "Count",
    "DeBERTa",
    "DistanceBank",
    "DivisorPairs",
    "DualBaseRoPE",
    "DynamicNTK",
    "DynamicPositionBias",
    "Encoding",
    "ForgettingGate",
    "FourierFeatures",
    "KerpleLog",
    "KerplePower",
    "Learned",
    "LearnedRoPE",
    "LearnedScale",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "NTKByParts",
    "NTKFixed",
    "NTKMixed",
    "NoPE",
    "NormalisedCount",
    "OneSine",
    "Pairing",
    "Partial",
    "PerLayer",
    "Proportional",
    "RandomFourierFeatures",
    "RelativeBias",
    "Resonance",
    "RoPE",
    "Rotates",
    "Row",
    "Sandwich",
    "Scaled",
    "Scaling",
    "Scores",
    "Shaw",
    "Sinusoidal",
    "Sum",
    "T5Bias",
    "Time2Vec",
    "TimestepEmbedding",
    "TransformerXL",
    "Turn",
    "ValueRotation",
    "XPos",
    "YaRN",
    "__version__",
    "cosine_sine",
    "phase",
    "positions",
    "resized",
]


#: The release; pyproject.toml reads it here.
__version__ = "0.1.0"
