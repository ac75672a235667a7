"""Judge sinusoidal tables that are added to embeddings, along a line or over a grid, by the encoding that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np

from posenc.core.doors import Encoding
from posenc.diagnosis.code.code_report import CodeReport
from posenc.diagnosis.code.judge_values import judge_values
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.degenerate import not_finite
from posenc.diagnosis.judge_hidden_states import CHUNK
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import Arrays
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.adds.grid_sinusoidal import GridSinusoidal
from posenc.encodings.adds.sinusoidal import Sinusoidal

#: Encodings whose tables are compared.
TABLES = (Sinusoidal, GridSinusoidal)
#: How far apart, a channel, two rows of an axis may be and still be one position: a difference of vectors is rounded.
SAME, SAME_ROW = 1e-4, {"float16": 2.0**-9}


def judge_sinusoids(encoding: Sinusoidal | GridSinusoidal, arrays: Arrays) -> Diagnosis:
    """Compare `table` (n, dim) with an encoding of sinusoids, row for row at `positions`, or 0, 1, 2, ....

    A grid is taken row by row, and its size read off the table.

    Raises:
        ValueError: The table has another shape.
    """
    table = arrays["table"]
    values = table.values[0] if table.values.ndim == 3 and len(table.values) == 1 else table.values
    if values.ndim != 2 or values.shape[1] != encoding.width:
        raise ValueError(
            f"table must have shape (n, {encoding.width}), a row for each position; got {values.shape}. "
            "Give that table."
        )
    compared = f"a table of {values.shape[0]} rows and {values.shape[1]} channels, {table.dtype}"
    wrong = not_finite({"table": values})
    if wrong is not None:
        return Diagnosis(False, (wrong,), compared=compared)
    positions = arrays["positions"].values.reshape(-1) if "positions" in arrays else np.arange(len(values))
    if len(positions) != len(values):
        raise ValueError(
            f"positions must have a number for each of {len(values)} rows; got {len(positions)}. "
            "Give the positions of these rows."
        )
    observed = ObservedValues("adds", positions.astype(np.float64), values.astype(np.float64), table.dtype, len(values))
    reports = [judge_values(part, base=wanted.base, against=wanted) for wanted, part in _parts(encoding, observed)]
    findings = tuple(dict.fromkeys(finding for report in reports for finding in report.findings))
    agree = all(report.right for report in reports)
    if agree and isinstance(encoding, GridSinusoidal):
        findings = _of_grid(encoding, observed, [report.farthest_position for report in reports])
    notes = tuple(dict.fromkeys(note for report in reports for note in report.notes))
    worst = () if agree or findings else tuple(line for report in reports for line in _worst(report))
    looked_at = shown_by("table")
    return Diagnosis(agree and not findings, findings, notes, compared=compared, worst=worst, looked_at=looked_at)


def _parts(
    encoding: Sinusoidal | GridSinusoidal, observed: ObservedValues
) -> Iterator[tuple[Sinusoidal, ObservedValues]]:
    """The table, or each axis of a grid as a table along a line, with the `Sinusoidal` that is meant for it."""
    if isinstance(encoding, Sinusoidal):
        yield encoding, observed
        return
    if replace(encoding, dims=(2, 2), order=None, base=10_000.0) != GridSinusoidal(dims=(2, 2)):
        raise ValueError(
            "expected must be a GridSinusoidal of dims, order and base only, to be compared with a table; got "
            f"{encoding!r}. Compare encoding.embed(positions) with it."
        )
    for end, width in zip(np.cumsum(encoding.dims), encoding.dims, strict=True):
        part = observed.values[:, end - width : end]
        rows = _different_rows(part, SAME_ROW.get(observed.dtype, SAME) * width**0.5)
        positions = np.arange(len(rows), dtype=np.float64)
        yield Sinusoidal(width, encoding.base), replace(observed, values=rows, positions=positions, length=len(rows))


def _different_rows(part: np.ndarray, same: float) -> np.ndarray:
    """Rows in the order of their first appearance, without those within a distance of an earlier one."""
    _, first = np.unique(part, axis=0, return_index=True)
    rows = part[np.sort(first)]
    sizes = (rows * rows).sum(1)
    first_near = [
        (sizes[at, None] + sizes - 2.0 * rows[at] @ rows.T <= same**2).argmax(1)
        for at in (slice(start, start + CHUNK) for start in range(0, len(rows), CHUNK))
    ]
    return np.asarray(rows[np.concatenate(first_near) == np.arange(len(rows))])


def _of_grid(encoding: GridSinusoidal, observed: ObservedValues, farthest: list[float]) -> tuple[Finding, ...]:
    """Findings on the order of a grid's rows, where each of its axes is right by itself."""
    order = encoding.order or tuple(range(len(encoding.dims)))
    sizes = [int(farthest[order.index(axis)]) + 1 for axis in range(len(encoding.dims))]
    for axes in permutations(range(len(sizes))):
        shape = [sizes[axis] for axis in axes]
        grid = np.indices(shape).reshape(len(shape), -1).T
        grid = grid[:, [axes.index(axis) for axis in range(len(sizes))]]
        expected = np.asarray(encoding.embed(grid, dtype=np.float64))
        if expected.shape == observed.values.shape and np.allclose(expected, observed.values, atol=1e-3):
            if axes == tuple(range(len(sizes))):
                return ()
            sentence = f"Rows run over the coordinates in the order {axes}: height and width are exchanged, say."
            return (Finding("axes exchanged", sentence, "Lay rows out row by row: the last coordinate runs fastest."),)
    sentence = f"The rows are no grid of {' by '.join(map(str, sizes))} positions, though each axis is right by itself."
    return (Finding("no grid", sentence, "Look at the order in which rows of the grid are laid out."),)


def _worst(report: CodeReport) -> list[str]:
    """First difference of a table, and the largest one, in words."""
    if report.first_difference is None:
        return []
    return [f"{report.first_difference.line()}; off by up to {report.largest_difference:.6g}"]


def sinusoids_among(encodings: list[Encoding]) -> Sinusoidal | GridSinusoidal | None:
    """Return the first sinusoidal encoding among these; None where there is none."""
    return next((encoding for encoding in encodings if isinstance(encoding, TABLES)), None)
