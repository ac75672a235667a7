"""Measures and worked numbers of an encoding, as data; nothing is drawn here: pictures live in `plot`.

Every result is a frozen record of plain numbers and NumPy arrays, and prints the same lines everywhere.
"""

from posenc.inspect.binary import BinaryCounting, Dials, binary_counting, dials
from posenc.inspect.course.errata import ERRATA, Erratum, errata
from posenc.inspect.course.find_positions import Fit, FoundPositions, find_positions
from posenc.inspect.course.ladder_of_ideas import LADDER, LadderFigures, ladder_figures
from posenc.inspect.order import OrderBlindness, WordChange, order_blindness
from posenc.inspect.position_change import PositionChange, position_change
from posenc.inspect.properties import Properties, properties
from posenc.inspect.rotation_matrix import RotationError, rotation_error, rotation_matrices
from posenc.inspect.shift_matrix import ShiftError, shift_error, shift_matrix
from posenc.inspect.similarity import ScoreByDistance, score_by_distance, similarity
from posenc.inspect.spectrum import Spectrum, derivative, spectrum
from posenc.inspect.worked_examples.score_terms import ScoreTerms, score_terms
from posenc.inspect.worked_examples.worked_example import Worked, worked

__all__ = [
    "ERRATA",
    "LADDER",
    "BinaryCounting",
    "Dials",
    "Erratum",
    "Fit",
    "FoundPositions",
    "LadderFigures",
    "OrderBlindness",
    "PositionChange",
    "Properties",
    "RotationError",
    "ScoreByDistance",
    "ScoreTerms",
    "ShiftError",
    "Spectrum",
    "WordChange",
    "Worked",
    "binary_counting",
    "derivative",
    "dials",
    "errata",
    "find_positions",
    "ladder_figures",
    "order_blindness",
    "position_change",
    "properties",
    "rotation_error",
    "rotation_matrices",
    "score_by_distance",
    "score_terms",
    "shift_error",
    "shift_matrix",
    "similarity",
    "spectrum",
    "worked",
]
