"""Tables of sinusoids, along a line and a grid, built by formulas of the tests' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posenc import GridSinusoidal, Sinusoidal
from posenc.diagnosis import diagnose

LINE, GRID = Sinusoidal(dim=32), GridSinusoidal(dims=(16, 16))


def line(dim: int = 32, length: int = 100, base: float = 1e4, start: int = 0) -> np.ndarray:
    angle = (np.arange(length) + start)[:, None] / base ** (np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)


def grid(rows: int = 5, columns: int = 9, base: float = 1e4, by_columns: bool = False) -> np.ndarray:
    y, x = np.divmod(np.arange(rows * columns), columns)
    if by_columns:
        x, y = np.divmod(np.arange(rows * columns), rows)
    return np.concatenate([line(16, rows, base)[y], line(16, columns, base)[x]], axis=1)


CASES: dict[str, tuple[Any, np.ndarray, list[str]]] = {
    "a line": (LINE, line(), []),
    "a line with a batch": (LINE, line()[None], []),
    "a line in float32": (LINE, line().astype(np.float32), []),
    "a line of another base": (LINE, line(base=1e3), ["base"]),
    "a line from 1": (LINE, line(start=1), ["off by one"]),
    "a line with NaN": (LINE, np.where(np.arange(32) == 3, np.nan, line()), ["not finite"]),
    "a grid": (GRID, grid(), []),
    "a square grid": (GRID, grid(6, 6), []),
    "a grid of another base": (GRID, grid(base=1e3), ["base"]),
    "a grid column by column": (GRID, grid(by_columns=True), ["axes exchanged"]),
    "rows in another order": (GRID, grid()[np.r_[0:36, 44:35:-1]], ["no grid"]),
}


@pytest.mark.parametrize("case", CASES)
def test_tables_are_compared(case: str) -> None:
    encoding, table, expected = CASES[case]
    found = diagnose(encoding, {"table": table})
    assert found.agree == (not expected), str(found)
    assert [finding.name for finding in found.findings] == expected


def test_an_unknown_difference_says_where() -> None:
    table = line()
    table[40, 7] += 0.5
    found = diagnose(LINE, {"table": table})
    assert not found.agree
    assert "position 40, dimension 7" in str(found)


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^table must have shape \(n, 32\)"):
        diagnose(LINE, {"table": line(16)})
