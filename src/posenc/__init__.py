"""posenc: one exact, fast, portable and explained definition of every positional encoding for transformers."""

from importlib.metadata import version as _version

from posenc import positions
from posenc.catalog import CATALOG, Row
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
from posenc.phase import cosine_sine, phase
from posenc.turn import Pairing, Turn

__version__ = _version("posenc")

#: Every encoding of the catalog is a public name of this module.
globals().update({_row.name: _row.encoding for _row in CATALOG})

__all__ = [
    "CATALOG",
    "Adds",
    "Biases",
    "Encoding",
    "Pairing",
    "Rotates",
    "Row",
    "Scores",
    "Turn",
    "cosine_sine",
    "phase",
    "positions",
]
__all__ += [_row.name for _row in CATALOG]
