"""Measures and worked numbers of an encoding, as data; nothing is drawn here: pictures live in `plot`.

Every result is a frozen record of plain numbers and NumPy arrays, and prints the same lines everywhere.
"""

from posenc.inspect.attention_map import AttentionMap, attention_map
from posenc.inspect.binary import BinaryCounting, Dials, binary_counting, dials
from posenc.inspect.course.errata import ERRATA, Erratum, errata
from posenc.inspect.course.find_positions import Fit, FoundPositions, find_positions
from posenc.inspect.course.ladder_of_ideas import LADDER, LadderFigures, ladder_figures
from posenc.inspect.input_sum import InputSum, PositionTable, input_sum, position_table
from posenc.inspect.look_back import LookBack, look_back
from posenc.inspect.number_waves import NumberWaves, number_waves
from posenc.inspect.order import OrderBlindness, WordChange, order_blindness
from posenc.inspect.order_by_architecture import ArchitectureOrder, order_by_architecture
from posenc.inspect.position_change import PositionChange, position_change
from posenc.inspect.properties import Properties, properties
from posenc.inspect.rotation_matrix import RotationError, rotation_error, rotation_matrices
from posenc.inspect.shift_derivation import DerivationStep, ShiftDerivation, shift_derivation
from posenc.inspect.shift_matrix import ShiftError, shift_error, shift_matrix
from posenc.inspect.similarity import ScoreByDistance, score_by_distance, similarity
from posenc.inspect.spectrum import Spectrum, derivative, spectrum
from posenc.inspect.worked_examples.score_terms import ScoreTerms, score_terms
from posenc.inspect.worked_examples.worked_example import Worked, worked

__all__ = [
    "ERRATA",
    "LADDER",
    "ArchitectureOrder",
    "AttentionMap",
    "BinaryCounting",
    "DerivationStep",
    "Dials",
    "Erratum",
    "Fit",
    "FoundPositions",
    "InputSum",
    "LadderFigures",
    "LookBack",
    "NumberWaves",
    "OrderBlindness",
    "PositionChange",
    "PositionTable",
    "Properties",
    "RotationError",
    "ScoreByDistance",
    "ScoreTerms",
    "ShiftDerivation",
    "ShiftError",
    "Spectrum",
    "WordChange",
    "Worked",
    "attention_map",
    "binary_counting",
    "derivative",
    "dials",
    "errata",
    "find_positions",
    "input_sum",
    "ladder_figures",
    "look_back",
    "number_waves",
    "order_blindness",
    "order_by_architecture",
    "position_change",
    "position_table",
    "properties",
    "rotation_error",
    "rotation_matrices",
    "score_by_distance",
    "score_terms",
    "shift_derivation",
    "shift_error",
    "shift_matrix",
    "similarity",
    "spectrum",
    "worked",
]
