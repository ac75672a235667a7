"""Hidden states: what was added to the embeddings of tokens, as a table of sinusoids or rows of a learned table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.degenerate import not_finite
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import Arrays, NamedArray, as_rounded
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.verdict import Diagnosis
from posenc.inspect.rounding import NARROW_TYPES, NarrowType, narrowed
from posenc.models.model_positions import LayerGroup

#: Tokens that are looked for in a table at once.
CHUNK = 256
#: How far a float32 sum may be off, of the largest number in it; and from where on that is more than a table's own.
ROUNDING, COARSE = 2.0**-22, 4.0
#: Half a unit in the last place of the 16-bit types: how far one rounding may move a number, of itself.
HALF_UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
NEVER_ADDED = Finding(
    "table not added",
    "Hidden states are the embeddings: no rows of the table are added.",
    "Add the row of each token's position to its embedding, before the first layer.",
)
ADDED_TWICE = Finding(
    "table added twice",
    "Rows of the table are added twice.",
    "Add them once: in the embedding or before the first layer, not in both.",
)

KEEP_INTEGERS = "Keep positions as integers; they never take the model's dtype."


def with_added_vectors(arrays: Arrays) -> Arrays:
    """Add `table`, the difference of `hidden_states` and `embeddings`; without hidden states, change nothing.

    Raises:
        ValueError: `embeddings` are missing, have another shape, or a type too narrow for a difference.
    """
    if "hidden_states" not in arrays:
        return arrays
    added = _added(arrays)
    types = (as_rounded(arrays["hidden_states"]).dtype, arrays["embeddings"].dtype)
    narrow = next((dtype for dtype in types if dtype in NARROW_TYPES), None)
    if narrow is not None:
        raise _too_narrow(narrow)
    coarse = float(np.nanmax(np.abs(arrays["hidden_states"].values))) > COARSE
    return {**arrays, "table": NamedArray(added, "float16" if coarse else arrays["hidden_states"].dtype)}


def _added(arrays: Arrays) -> np.ndarray:
    hidden = arrays["hidden_states"].values
    embeddings = arrays["embeddings"].values if "embeddings" in arrays else np.zeros(0)
    if hidden.shape != embeddings.shape or hidden.ndim not in (2, 3):
        raise ValueError(
            f"embeddings must come with hidden_states, both (n, dim); got {embeddings.shape} and {hidden.shape}. Give "
            "the embeddings that positions are added to."
        )
    return np.asarray(hidden - embeddings)


def _too_narrow(dtype: str) -> ValueError:
    return ValueError(
        f"hidden_states must be float32 or wider, since rounding hides what was added; got {dtype}. Run the model "
        "in float32."
    )


def judge_learned_rows(group: LayerGroup, arrays: Arrays) -> Diagnosis:
    """Compare the rows of a learned `table` that tokens read with those meant: row `offset` + position.

    Args:
        group: The group whose learned table it is.
        arrays: `hidden_states` and `embeddings`, (n, dim) or (batch, n, dim), and `table`; `positions` where they are
            not 0, 1, 2, ... in each row.

    Raises:
        ValueError: An array is missing, or shapes do not fit together.
    """
    added = _added(arrays)
    added = added.reshape(-1, added.shape[-1])
    table = arrays["table"].values if "table" in arrays else np.zeros((0, 0))
    if table.ndim != 2 or table.shape[-1] != added.shape[-1]:
        raise ValueError(
            f"table must be the learned table, (rows, {added.shape[-1]}), to be found in hidden_states; got "
            f"{table.shape}. Give it."
        )
    compared = f"hidden states of {len(added)} tokens, and a table of {len(table)} rows"
    wrong = not_finite({"hidden_states": added, "table": table})
    if wrong is not None:
        return Diagnosis(False, (wrong,), compared=compared)
    count = arrays["hidden_states"].values.shape[-2]
    positions = arrays["positions"].values.reshape(-1) if "positions" in arrays else np.arange(count)
    if len(positions) == count:  # every row of a batch has the same
        positions = np.tile(positions, len(added) // count)
    if len(positions) != len(added):
        raise ValueError(f"positions must have a number for each of {len(added)} tokens; got {len(positions)}.")
    tolerance, dtype = _tolerance(arrays, table)
    read, expected = AddedRows(added, table, tolerance), positions.astype(np.int64) + group.offset
    looked_at = shown_by("table", "rows that tokens read")
    if not read.holds(expected):
        findings = tuple(read.findings(positions, group.offset))
        worst = () if findings else (read.describe_worst(),)
        return Diagnosis(False, findings, compared=compared, worst=worst, looked_at=looked_at)
    if dtype in NARROW_TYPES and np.any(table) and read.holds(expected, times=0.0):
        raise _too_narrow(dtype)
    neighbours = dtype in NARROW_TYPES and (read.holds(expected + 1) or read.holds(expected - 1))
    return Diagnosis(True, compared=compared, looked_at=shown_by("table") if neighbours else looked_at)


def _tolerance(arrays: Arrays, table: np.ndarray) -> tuple[np.ndarray, str]:
    """How far rounding may move what was added, (n, dim), and the type that does it.

    In 16 bits the sum is rounded, and so is each part of it that came in a wider type.
    """
    hidden, dtype = as_rounded(arrays["hidden_states"])
    hidden, embeddings = (np.abs(part).reshape(-1, part.shape[-1]) for part in (hidden, arrays["embeddings"].values))
    tolerance = np.full(hidden.shape, ROUNDING * hidden.max() + 1e-9)
    if dtype in NARROW_TYPES:
        is_wide = as_rounded(arrays["table"]).dtype not in NARROW_TYPES
        tolerance += HALF_UNIT[dtype] * (hidden + embeddings + is_wide * np.abs(table).max(0))
    elif arrays["embeddings"].dtype in NARROW_TYPES:
        tolerance += HALF_UNIT[arrays["embeddings"].dtype] * embeddings
    return tolerance, dtype


class AddedRows(NamedTuple):
    """Vectors that were added to tokens, and the table whose rows they may be.

    Args:
        added: (n, dim).
        table: (rows, dim).
        tolerance: How far rounding may move a number of `added`, (n, dim).
    """

    added: np.ndarray
    table: np.ndarray
    tolerance: np.ndarray

    def holds(self, rows: np.ndarray, times: float = 1.0) -> bool:
        """Whether every token had its row (n,) of the table added `times` times."""
        return bool(np.all((rows >= 0) & (rows < len(self.table)))) and bool(self.fit(rows, times).all())

    def fit(self, rows: np.ndarray, times: float = 1.0) -> np.ndarray:
        """Mask (n,) of the tokens that had their row added `times` times; False where the table has no such row."""
        within = (rows >= 0) & (rows < len(self.table))
        gap = np.abs(self.added - times * self.table[np.where(within, rows, 0)])
        return np.asarray(within & (gap <= self.tolerance).all(1))

    def findings(self, positions: np.ndarray, offset: int) -> Iterator[Finding]:
        """The mistake that leads from the rows of these positions to what was added; nothing where none is known."""
        expected = positions.astype(np.int64) + offset
        rows = _nearest_rows(self.added, self.table)
        by = int(np.median(rows - expected))
        narrow = next((dtype for dtype in NARROW_TYPES if any(map(self.holds, _narrow(positions, offset, dtype)))), "")
        if self.holds(expected, times=0.0):
            yield NEVER_ADDED
        elif self.holds(expected, times=2.0) or self.holds(_nearest_rows(self.added / 2, self.table), times=2.0):
            yield ADDED_TWICE
        elif narrow:
            yield Finding("narrow positions", f"Positions go through {narrow}: tokens share rows.", KEEP_INTEGERS)
        elif self.holds(expected + by):
            sentence = f"Tokens read rows of the table {abs(by)} too {'high' if by > 0 else 'low'}: the first row is "
            sentence += f"{expected[0] + by} where {expected[0]} is meant."
            yield Finding("offset of a table", sentence, f"Count rows from {expected[0]}.")
        elif self.holds(rows):
            token = int(np.flatnonzero(~self.fit(expected))[0])
            sentence = f"Token {token} reads row {rows[token]} of the table where {expected[token]} is meant."
            yield Finding("rows that are read", sentence, "Look at the position_ids that reach the table.")

    def describe_worst(self) -> str:
        """Describe the token that is furthest from every row."""
        rows = _nearest_rows(self.added, self.table)
        off = np.abs(self.added - self.table[rows])
        token = int((off - self.tolerance).max(1).argmax())
        return f"token {token} is off by {off[token].max():.6g} from row {rows[token]}, the nearest of the table"


def _narrow(positions: np.ndarray, offset: int, dtype: NarrowType) -> Iterator[np.ndarray]:
    """Rows of positions that go through a 16-bit type, before or after the offset is added."""
    yield narrowed(positions, dtype).astype(np.int64) + offset
    yield narrowed(positions + offset, dtype).astype(np.int64)


def _nearest_rows(vectors: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Number of the row of the table that is nearest to each vector, (n,)."""
    sizes = (table * table).sum(1)
    parts = (vectors[start : start + CHUNK] for start in range(0, len(vectors), CHUNK))
    return np.concatenate([(sizes - 2.0 * part @ table.T).argmin(1) for part in parts])
