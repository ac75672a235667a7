"""posenc: one exact, fast, portable and explained definition of every positional encoding for transformers."""

from posenc import positions
from posenc.catalog import CATALOG, Row
from posenc.compose import Concatenated, LearnedScale, Partial, PerLayer, Scaled, Sum
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
from posenc.encodings.alibi import ALiBi
from posenc.encodings.count import Count, NormalisedCount
from posenc.encodings.divisor_pairs import DivisorPairs
from posenc.encodings.learned import Learned, resized
from posenc.encodings.nope import NoPE
from posenc.encodings.one_sine import OneSine
from posenc.encodings.rope import RoPE
from posenc.encodings.shaw import Shaw
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.t5 import T5Bias
from posenc.encodings.transformer_xl import TransformerXL
from posenc.phase import cosine_sine, phase
from posenc.turn import Pairing, Turn

__all__ = [
    "CATALOG",
    "ALiBi",
    "Adds",
    "Biases",
    "Concatenated",
    "Count",
    "DivisorPairs",
    "Encoding",
    "Learned",
    "LearnedScale",
    "NoPE",
    "NormalisedCount",
    "OneSine",
    "Pairing",
    "Partial",
    "PerLayer",
    "RoPE",
    "Rotates",
    "Row",
    "Scaled",
    "Scores",
    "Shaw",
    "Sinusoidal",
    "Sum",
    "T5Bias",
    "TransformerXL",
    "Turn",
    "__version__",
    "cosine_sine",
    "phase",
    "positions",
    "resized",
]


#: The release; pyproject.toml reads it here.
__version__ = "0.1.0"
