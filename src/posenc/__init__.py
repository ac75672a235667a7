"""posenc: one exact, fast, portable and explained definition of every positional encoding for transformers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from posenc import positions
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
from posenc.phase import cosine_sine, phase
from posenc.turn import Pairing, Turn

if TYPE_CHECKING:
    from posenc.catalog import CATALOG
    from posenc.compose import Backward, Concatenated, LearnedScale, Partial, PerLayer, Scaled, Sum
    from posenc.encodings.additive_grape import AdditiveGRAPE
    from posenc.encodings.alibi import ALiBi
    from posenc.encodings.axial_layouts import axial
    from posenc.encodings.axial_learned import AxialLearned
    from posenc.encodings.axial_rope import AxialRoPE
    from posenc.encodings.bounded_alibi import BoundedALiBi
    from posenc.encodings.cayley_string import CayleySTRING
    from posenc.encodings.comrope import ComRoPE
    from posenc.encodings.contextual_grape import ContextualGRAPE
    from posenc.encodings.cope import CoPE
    from posenc.encodings.count import Count, NormalisedCount
    from posenc.encodings.dape import DAPE
    from posenc.encodings.dape_v2 import DAPEv2
    from posenc.encodings.deberta import DeBERTa
    from posenc.encodings.decomposed import Decomposed
    from posenc.encodings.directional_rope import DirectionalRoPE
    from posenc.encodings.distance_bank import DistanceBank
    from posenc.encodings.divisor_pairs import DivisorPairs
    from posenc.encodings.dual_base import DualBaseRoPE
    from posenc.encodings.dynamic_position_bias import DynamicPositionBias
    from posenc.encodings.factorised_learned import FactorisedLearned
    from posenc.encodings.fire import FIRE
    from posenc.encodings.fope import FoPE
    from posenc.encodings.forgetting import ForgettingGate
    from posenc.encodings.fourier_features import FourierFeatures
    from posenc.encodings.gated_bias import GatedBias
    from posenc.encodings.graph_distance import GraphDistance
    from posenc.encodings.grid_learned import GridLearned
    from posenc.encodings.grid_sinusoidal import GridSinusoidal
    from posenc.encodings.headwise_rope import HeadwiseRoPE
    from posenc.encodings.kerple import KerpleLog, KerplePower
    from posenc.encodings.learned import Learned, resized
    from posenc.encodings.learned_rope import LearnedRoPE
    from posenc.encodings.liere import LieRE
    from posenc.encodings.log_cpb import LogCPB
    from posenc.encodings.mixed_rope import MixedRoPE
    from posenc.encodings.multiplicative_grape import MultiplicativeGRAPE
    from posenc.encodings.nope import NoPE
    from posenc.encodings.one_sine import OneSine
    from posenc.encodings.path import PaTH
    from posenc.encodings.path_grape import PathGRAPE
    from posenc.encodings.pope import PoPE
    from posenc.encodings.random_fourier_features import RandomFourierFeatures
    from posenc.encodings.relative_bias import RelativeBias
    from posenc.encodings.resize_table import resize_table
    from posenc.encodings.rope import RoPE
    from posenc.encodings.rope_pp import RoPEPlusPlus
    from posenc.encodings.row_gate import RowGate
    from posenc.encodings.sandwich import Sandwich
    from posenc.encodings.selective_rope import SelectiveRoPE
    from posenc.encodings.shaw import Shaw
    from posenc.encodings.sinusoidal import Sinusoidal
    from posenc.encodings.spherical_rope import SphericalRoPE
    from posenc.encodings.t5 import T5Bias
    from posenc.encodings.temperature import LogNTemperature, StepTemperature
    from posenc.encodings.time2vec import Time2Vec
    from posenc.encodings.timestep_embedding import TimestepEmbedding
    from posenc.encodings.transformer_xl import TransformerXL
    from posenc.encodings.value_rotation import ValueRotation
    from posenc.encodings.window_bias import WindowBias
    from posenc.encodings.xd_rope import XDRoPE
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
    from posenc.rows.row import Row

__all__ = [
    "CATALOG",
    "DAPE",
    "FIRE",
    "ALiBi",
    "AdditiveGRAPE",
    "Adds",
    "AxialLearned",
    "AxialRoPE",
    "Backward",
    "Biases",
    "BoundedALiBi",
    "CayleySTRING",
    "CoPE",
    "ComRoPE",
    "Concatenated",
    "ContextualGRAPE",
    "Count",
    "DAPEv2",
    "DeBERTa",
    "Decomposed",
    "DirectionalRoPE",
    "DistanceBank",
    "DivisorPairs",
    "DualBaseRoPE",
    "DynamicNTK",
    "DynamicPositionBias",
    "Encoding",
    "FactorisedLearned",
    "FoPE",
    "ForgettingGate",
    "FourierFeatures",
    "GatedBias",
    "GraphDistance",
    "GridLearned",
    "GridSinusoidal",
    "HeadwiseRoPE",
    "KerpleLog",
    "KerplePower",
    "Learned",
    "LearnedRoPE",
    "LearnedScale",
    "LieRE",
    "Linear",
    "Llama3",
    "LogCPB",
    "LogNTemperature",
    "LongRoPE",
    "MixedRoPE",
    "MultiplicativeGRAPE",
    "NTKAware",
    "NTKByParts",
    "NTKFixed",
    "NTKMixed",
    "NoPE",
    "NormalisedCount",
    "OneSine",
    "PaTH",
    "Pairing",
    "Partial",
    "PathGRAPE",
    "PerLayer",
    "PoPE",
    "Proportional",
    "RandomFourierFeatures",
    "RelativeBias",
    "Resonance",
    "RoPE",
    "RoPEPlusPlus",
    "Rotates",
    "Row",
    "RowGate",
    "Sandwich",
    "Scaled",
    "Scaling",
    "Scores",
    "SelectiveRoPE",
    "Shaw",
    "Sinusoidal",
    "SphericalRoPE",
    "StepTemperature",
    "Sum",
    "T5Bias",
    "Time2Vec",
    "TimestepEmbedding",
    "TransformerXL",
    "Turn",
    "ValueRotation",
    "WindowBias",
    "XDRoPE",
    "XPos",
    "YaRN",
    "__version__",
    "axial",
    "cosine_sine",
    "phase",
    "positions",
    "resize_table",
    "resized",
]

#: The release; pyproject.toml reads it here.
__version__ = "0.1.0"

#: Where each name of the catalog lives: a module is loaded when a name of it is first asked for, so that
#: `import posenc` stays quick however many encodings there are.
_HOMES = {
    "ALiBi": "posenc.encodings.alibi",
    "AdditiveGRAPE": "posenc.encodings.additive_grape",
    "AxialLearned": "posenc.encodings.axial_learned",
    "AxialRoPE": "posenc.encodings.axial_rope",
    "Backward": "posenc.compose",
    "BoundedALiBi": "posenc.encodings.bounded_alibi",
    "CATALOG": "posenc.catalog",
    "CayleySTRING": "posenc.encodings.cayley_string",
    "CoPE": "posenc.encodings.cope",
    "ComRoPE": "posenc.encodings.comrope",
    "Concatenated": "posenc.compose",
    "ContextualGRAPE": "posenc.encodings.contextual_grape",
    "Count": "posenc.encodings.count",
    "DAPE": "posenc.encodings.dape",
    "DAPEv2": "posenc.encodings.dape_v2",
    "DeBERTa": "posenc.encodings.deberta",
    "Decomposed": "posenc.encodings.decomposed",
    "DirectionalRoPE": "posenc.encodings.directional_rope",
    "DistanceBank": "posenc.encodings.distance_bank",
    "DivisorPairs": "posenc.encodings.divisor_pairs",
    "DualBaseRoPE": "posenc.encodings.dual_base",
    "DynamicNTK": "posenc.frequencies",
    "DynamicPositionBias": "posenc.encodings.dynamic_position_bias",
    "FIRE": "posenc.encodings.fire",
    "FoPE": "posenc.encodings.fope",
    "ForgettingGate": "posenc.encodings.forgetting",
    "FourierFeatures": "posenc.encodings.fourier_features",
    "GatedBias": "posenc.encodings.gated_bias",
    "FactorisedLearned": "posenc.encodings.factorised_learned",
    "GridLearned": "posenc.encodings.grid_learned",
    "GridSinusoidal": "posenc.encodings.grid_sinusoidal",
    "GraphDistance": "posenc.encodings.graph_distance",
    "KerpleLog": "posenc.encodings.kerple",
    "KerplePower": "posenc.encodings.kerple",
    "Learned": "posenc.encodings.learned",
    "LearnedRoPE": "posenc.encodings.learned_rope",
    "LearnedScale": "posenc.compose",
    "LieRE": "posenc.encodings.liere",
    "Linear": "posenc.frequencies",
    "Llama3": "posenc.frequencies",
    "LogCPB": "posenc.encodings.log_cpb",
    "LongRoPE": "posenc.frequencies",
    "MultiplicativeGRAPE": "posenc.encodings.multiplicative_grape",
    "NTKAware": "posenc.frequencies",
    "NTKByParts": "posenc.frequencies",
    "NTKFixed": "posenc.frequencies",
    "NTKMixed": "posenc.frequencies",
    "HeadwiseRoPE": "posenc.encodings.headwise_rope",
    "MixedRoPE": "posenc.encodings.mixed_rope",
    "SelectiveRoPE": "posenc.encodings.selective_rope",
    "NoPE": "posenc.encodings.nope",
    "NormalisedCount": "posenc.encodings.count",
    "OneSine": "posenc.encodings.one_sine",
    "PaTH": "posenc.encodings.path",
    "Partial": "posenc.compose",
    "PerLayer": "posenc.compose",
    "PathGRAPE": "posenc.encodings.path_grape",
    "PoPE": "posenc.encodings.pope",
    "Proportional": "posenc.frequencies",
    "RandomFourierFeatures": "posenc.encodings.random_fourier_features",
    "RelativeBias": "posenc.encodings.relative_bias",
    "Resonance": "posenc.frequencies",
    "RoPE": "posenc.encodings.rope",
    "RoPEPlusPlus": "posenc.encodings.rope_pp",
    "Row": "posenc.rows.row",
    "RowGate": "posenc.encodings.row_gate",
    "Sandwich": "posenc.encodings.sandwich",
    "Scaled": "posenc.compose",
    "Scaling": "posenc.frequencies",
    "Shaw": "posenc.encodings.shaw",
    "Sinusoidal": "posenc.encodings.sinusoidal",
    "Sum": "posenc.compose",
    "T5Bias": "posenc.encodings.t5",
    "LogNTemperature": "posenc.encodings.temperature",
    "SphericalRoPE": "posenc.encodings.spherical_rope",
    "StepTemperature": "posenc.encodings.temperature",
    "Time2Vec": "posenc.encodings.time2vec",
    "TimestepEmbedding": "posenc.encodings.timestep_embedding",
    "TransformerXL": "posenc.encodings.transformer_xl",
    "ValueRotation": "posenc.encodings.value_rotation",
    "WindowBias": "posenc.encodings.window_bias",
    "XDRoPE": "posenc.encodings.xd_rope",
    "XPos": "posenc.encodings.xpos",
    "YaRN": "posenc.frequencies",
    "axial": "posenc.encodings.axial_layouts",
    "resize_table": "posenc.encodings.resize_table",
    "resized": "posenc.encodings.learned",
}


def __getattr__(name: str) -> Any:
    if name == "models":
        return import_module("posenc.models")
    if name not in _HOMES:
        raise AttributeError(f"module 'posenc' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
