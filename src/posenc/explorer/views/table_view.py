"""Values of an encoding as rows and columns, for the heat map and the curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from posenc.core.declared_fields import Real, Whole
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import Rotation, at_every_head
from posenc.explorer.browser_frequencies import browser_sinusoids
from posenc.explorer.views.view import MOST_POSITIONS, MOST_VALUES, OfEncoding, in_base64, making
from posenc.inspect.encoding_facts import drawn_params
from posenc.inspect.rotation_matrix import rotation_table
from posenc.phase import FixedSinusoids, fixed_frequencies_of, fixed_sinusoids_of
from posenc.positions import grid

#: How many positions are drawn where none are asked for.
USUAL_POSITIONS = 32


class Values(NamedTuple):
    """A table of values.

    Attributes:
        title: Meaning of the values.
        columns: How many there are.
        values: (rows, columns); None where the page computes them or where content decides them.
        sinusoids: Sinusoids from which the page computes them, if it does.
    """

    title: str
    columns: int
    values: np.ndarray | None = None
    sinusoids: dict[str, Any] | None = None


@dataclass(frozen=True)
class TableView(OfEncoding):
    """Values at `positions` consecutive positions from `first`; by default 32, or as many as a shorter table has.

    A row each, and a column for each channel; for encodings that act on logits, a row for each query and a column for
    each key, of one head.
    """

    positions: Annotated[int, Whole(1, MOST_POSITIONS)] | None = None
    first: Annotated[float, Real(-(2**53), 2**53)] = 0
    head: Annotated[int, Whole(0)] = 0

    def facts(self) -> dict[str, Any]:
        encoding = self.parsed
        rows = self.rows(encoding)
        found = values_of(encoding, rows, self.head)
        return {
            **self.described(encoding),
            "title": found.title,
            "rows": rows.tolist(),
            "columns": found.columns,
            "values": None if found.values is None else in_base64(found.values),
            "sinusoids": found.sinusoids,
            "code": code(encoding, self.positions_in_code(encoding), self.head),
        }

    def count(self, encoding: Encoding) -> int:
        """How many positions are shown."""
        return self.positions or min(USUAL_POSITIONS, table_length(encoding))

    def rows(self, encoding: Encoding) -> np.ndarray:
        """Return the positions shown: `first`, `first` + 1, …; for several axes, cells of a square or cubic grid."""
        if encoding.axes == 1:
            return np.arange(self.count(encoding)) + self.start
        side = self.side(encoding)
        return grid(side, side, frames=side if encoding.axes == 3 else None) + self.start

    @property
    def start(self) -> float:
        """`first`, as an integer where it is whole."""
        return int(self.first) if self.first == int(self.first) else self.first

    def side(self, encoding: Encoding) -> int:
        """How many cells a grid of about as many positions has along each axis."""
        side: float = self.count(encoding) ** (1 / encoding.axes)
        return max(1, round(side))

    def positions_in_code(self, encoding: Encoding) -> str:
        """Python that gives the positions shown."""
        side = self.side(encoding)
        frames = f", frames={side}" if encoding.axes == 3 else ""
        made = f"np.arange({self.count(encoding)})" if encoding.axes == 1 else f"grid({side}, {side}{frames})"
        return f"{made} + {self.start!r}" if self.start else made


def table_length(encoding: Encoding) -> int:
    """Return the length of the shortest table in an encoding; one without a table of its own counts as 32 long."""
    within = [getattr(encoding, "encoding", None), *getattr(encoding, "parts", ())]
    lengths = [table_length(one) for one in within if isinstance(one, Encoding)]
    return min([*lengths, getattr(encoding, "length", None) or USUAL_POSITIONS])


def values_of(encoding: Encoding, rows: np.ndarray, head: int) -> Values:
    """Values of an encoding at each of these positions."""
    if isinstance(encoding, AdditiveEncoding):
        return _added(encoding, rows)
    if isinstance(encoding, RotaryEncoding):
        return _rotated(encoding, rows)
    _limit(len(rows) ** 2)
    if isinstance(encoding, AttentionBias):
        matrix = np.asarray(encoding.matrix(rows, rows, drawn_params(encoding)))
        return Values(f"bias of head {head}", len(rows), matrix[_head(head, len(matrix))])
    return _scored(encoding, rows, head)


def _added(encoding: AdditiveEncoding, rows: np.ndarray) -> Values:
    _limit(len(rows) * encoding.width)
    computed = browser_sinusoids(fixed_sinusoids_of(encoding), encoding.width)
    if computed is not None:
        return Values("value", encoding.width, sinusoids=computed)
    return Values("value", encoding.width, np.asarray(encoding.embed(rows, drawn_params(encoding))))


def _rotated(encoding: RotaryEncoding, rows: np.ndarray) -> Values:
    _limit(len(rows) * encoding.head_dim)
    computed = cosines_and_sines(encoding)
    if computed is not None:
        return Values("cosine, then sine, of each pair", encoding.head_dim, sinusoids=computed)
    operator = encoding.rotation(rows, drawn_params(encoding), role=encoding.roles[0])
    if isinstance(operator, Rotation) and operator.heads is None:
        return Values("cosine, then sine, of each pair", encoding.head_dim, rotation_table(operator))
    rotated = np.asarray(at_every_head(operator, np.ones((len(rows), encoding.head_dim))))
    if operator.heads is None:
        return Values("a vector of ones, rotated", operator.width, rotated)
    return Values("a vector of ones, rotated by head 0", operator.width, rotated.reshape(-1, *rotated.shape[-2:])[0])


def cosines_and_sines(encoding: RotaryEncoding) -> dict[str, Any] | None:
    """Sinusoids of a rotation of one coordinate over a whole head; None for any other."""
    fixed = fixed_frequencies_of(encoding)
    if fixed is None or encoding.axes > 1 or fixed.pairing.width != encoding.head_dim:
        return None
    layout: Literal["interleaved", "concatenated"]
    layout = "interleaved" if fixed.pairing.layout == "adjacent" else "concatenated"
    waves = FixedSinusoids(fixed.frequencies, layout, "cosine", encoding.head_dim, fixed.factor)
    return browser_sinusoids(waves, encoding.head_dim)


def _scored(encoding: Encoding, rows: np.ndarray, head: int) -> Values:
    if not isinstance(encoding, AttentionScore) or encoding.gathers or encoding.reads:
        return Values("It reads the content of other tokens, so positions alone give no table", 0)
    heads, width = int(getattr(encoding, "heads", 1)), int(getattr(encoding, "dim", 8))
    ones = np.ones((1, heads, len(rows), width))
    scores = np.asarray(encoding.score(ones, ones, rows, rows, drawn_params(encoding)))[0]
    return Values(f"score of head {head}, for queries and keys of ones", len(rows), scores[_head(head, len(scores))])


def _head(head: int, heads: int) -> int:
    if head >= heads:
        raise ValueError(f"head must be from 0 to {heads - 1}; got {head}. Choose one of these.")
    return head


def _limit(count: int) -> None:
    if count > MOST_VALUES:
        raise ValueError(
            f"positions must give at most {MOST_VALUES:,} values to draw; got {count:,}. Draw fewer positions."
        )


def code(encoding: Encoding, positions: str, head: int) -> str:
    """Write Python that gives the values shown; of rotations, only the rotation; of scores, only the positions."""
    imports = [] if encoding.axes == 1 else ["from posenc.positions import grid"]
    made, given = making(encoding)
    lines = ["import numpy as np", *imports, *made, f"positions = {positions}"]
    if isinstance(encoding, AdditiveEncoding):
        return "\n".join([*lines, f"values = encoding.embed(positions{given})"])
    if isinstance(encoding, RotaryEncoding):
        return "\n".join([*lines, f"rotation = encoding.rotation(positions{given}, role={encoding.roles[0]!r})"])
    if isinstance(encoding, AttentionBias):
        return "\n".join([*lines, f"values = encoding.matrix(positions, positions{given})[{head}]"])
    return "\n".join(lines)
