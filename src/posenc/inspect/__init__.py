"""Understanding an encoding: numbers worked out, measured and taken apart. Data out, nothing is drawn here.

Every result is a frozen record of plain numbers and NumPy arrays, and prints the same lines everywhere.
"""

from posenc.inspect.binary import BinaryCounting, Dials, binary_counting, dials
from posenc.inspect.difference import PlaceDifference, place_difference
from posenc.inspect.errata import ERRATA, Erratum, errata
from posenc.inspect.finder import Fit, Found, find_positions
from posenc.inspect.ladder import LADDER, LadderFigures, ladder_figures
from posenc.inspect.order import OrderBlindness, WordChange, order_blindness
from posenc.inspect.properties import Properties, properties
from posenc.inspect.rotation import RotationError, rotation_error, rotation_matrices
from posenc.inspect.shift import ShiftError, shift_error, shift_matrix
from posenc.inspect.similarity import ScoreByDistance, score_by_distance, similarity
from posenc.inspect.spectrum import Spectrum, derivative, spectrum
from posenc.inspect.terms import ScoreTerms, score_terms
from posenc.inspect.worked import Worked, worked

__all__ = [
    "ERRATA",
    "LADDER",
    "BinaryCounting",
    "Dials",
    "Erratum",
    "Fit",
    "Found",
    "LadderFigures",
    "OrderBlindness",
    "PlaceDifference",
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
    "place_difference",
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
