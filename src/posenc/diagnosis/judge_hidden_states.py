"""Hidden states: what was added to the embeddings of tokens, as a table of sinusoids or rows of a learned table."""

from __future__ import annotations

import numpy as np

from posenc.diagnosis.degenerate import not_finite
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import Arrays, NamedArray
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.verdict import Diagnosis
from posenc.inspect.rounding import NARROW_TYPES
from posenc.models.model_positions import LayerGroup

#: Tokens that are looked for in a table at once.
CHUNK = 256
#: How far a float32 sum may be off, of the largest number in it; and from where on that is more than a table's own.
ROUNDING, COARSE = 2.0**-22, 4.0
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


def with_added_vectors(arrays: Arrays) -> Arrays:
    """The arrays with `table`, what `hidden_states` hold besides `embeddings`; as they are where there are none.

    Raises:
        ValueError: `embeddings` are missing, have another shape, or a type too narrow for a difference.
    """
    if "hidden_states" not in arrays:
        return arrays
    added = _added(arrays)
    coarse = float(np.nanmax(np.abs(arrays["hidden_states"].values))) > COARSE
    return {**arrays, "table": NamedArray(added, "float16" if coarse else arrays["hidden_states"].dtype)}


def _added(arrays: Arrays) -> np.ndarray:
    hidden, dtype = arrays["hidden_states"]
    embeddings = arrays["embeddings"].values if "embeddings" in arrays else np.zeros(0)
    if hidden.shape != embeddings.shape or hidden.ndim not in (2, 3):
        raise ValueError(
            f"embeddings must come with hidden_states, both (n, dim); got {embeddings.shape} and {hidden.shape}. Give "
            "the embeddings that positions are added to."
        )
    if dtype in NARROW_TYPES or arrays["embeddings"].dtype in NARROW_TYPES:
        raise ValueError(
            f"hidden_states must be float32 or wider, since rounding hides what was added; got {dtype}. Run the model "
            "in float32."
        )
    return np.asarray(hidden - embeddings)


def judge_learned_rows(group: LayerGroup, arrays: Arrays) -> Diagnosis:
    """Compare the rows of a learned `table` that tokens read with those that are meant: `offset` first.

    Args:
        group: The group whose learned table it is.
        arrays: `hidden_states`, `embeddings` and `table`; `positions` where they are not 0, 1, 2, ....

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
    positions = arrays["positions"].values.reshape(-1) if "positions" in arrays else np.arange(len(added))
    if len(positions) != len(added):
        raise ValueError(f"positions must have a number for each of {len(added)} tokens; got {len(positions)}.")
    tolerance = ROUNDING * np.abs(arrays["hidden_states"].values).max() + 1e-9
    looked_at = shown_by("table", "rows that tokens read")
    if np.all(np.abs(added) <= tolerance) and np.any(table):
        return Diagnosis(False, (NEVER_ADDED,), compared=compared, looked_at=looked_at)
    rows, twice = _nearest_rows(added, table), _nearest_rows(added / 2, table)
    if np.all(np.abs(added - 2 * table[twice]) <= tolerance):
        return Diagnosis(False, (ADDED_TWICE,), compared=compared, looked_at=looked_at)
    expected = positions.astype(np.int64) + group.offset
    off = np.abs(added - table[rows]).max(1)
    if np.any(off > tolerance):
        token = int(off.argmax())
        worst = (f"token {token} is off by {off[token]:.6g} from row {rows[token]}, the nearest of the table",)
        return Diagnosis(False, compared=compared, worst=worst, looked_at=looked_at)
    findings = () if np.array_equal(rows, expected) else (_other_rows(rows, expected),)
    return Diagnosis(not findings, findings, compared=compared, looked_at=looked_at)


def _nearest_rows(vectors: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Number of the row of the table that is nearest to each vector, (n,)."""
    sizes = (table * table).sum(1)
    parts = (vectors[start : start + CHUNK] for start in range(0, len(vectors), CHUNK))
    return np.concatenate([(sizes - 2.0 * part @ table.T).argmin(1) for part in parts])


def _other_rows(rows: np.ndarray, expected: np.ndarray) -> Finding:
    shifts = np.unique(rows - expected)
    if len(shifts) == 1:
        height = f"{abs(shifts[0])} too {'high' if shifts[0] > 0 else 'low'}"
        sentence = f"Tokens read rows of the table {height}: the first row is {rows[0]} where {expected[0]} is meant."
        return Finding("offset of a table", sentence, f"Count rows from {expected[0]}.")
    token = int(np.flatnonzero(rows != expected)[0])
    sentence = f"Token {token} reads row {rows[token]} of the table where {expected[token]} is meant."
    return Finding("rows that are read", sentence, "Look at the position_ids that reach the table.")
