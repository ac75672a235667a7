"""Rotations over several axes: sections and coordinates that are mixed up, planted by code of the tests' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from posenc import AxialRoPE, Partial, XDRoPE
from posenc.diagnosis import diagnose

SECTIONS = (8, 12, 12)
BLOCKS = (0,) * 8 + (1,) * 12 + (2,) * 12
INDICES = tuple(range(32))
MEANT = AxialRoPE(axis=BLOCKS, frequency_index=INDICES, frequency_dim=64, base=1e6, pairing="halves")
RATES = rotary.frequencies(64, 1e6)
#: A row of text, a picture of 9 by 13, and text again: time, height, width.
GRID = np.array(
    [[t, t, t] for t in range(5)]
    + [[5, 5 + h, 5 + w] for h in range(9) for w in range(13)]
    + [[t, t, t] for t in range(18, 60)]
)
#: The same with every row of the picture at the height of the first.
FLAT = np.where((np.arange(3) == 1) & (np.ptp(GRID, 1) > 0)[:, None], 5, GRID)
#: The picture of 9 by 13 counted column by column.
COLUMNS = np.concatenate([GRID[:5], [[5, 5 + h, 5 + w] for w in range(13) for h in range(9)], GRID[-42:]])
X = rotary.drawn(len(GRID), 64)


def seen(
    axes: Any, positions: np.ndarray = GRID, rates: np.ndarray = RATES, rotation: Any = rotary.halves
) -> dict[str, Any]:
    """Vectors rotated by the coordinate that each pair reads."""
    angle = positions[:, list(axes)] * rates
    return {"q": X, "q_rotated": rotation(X, np.cos(angle), np.sin(angle)), "positions": GRID}


def interleaved() -> list[int]:
    """t h w t h w ..., and time where height or width have no pairs left, as Qwen3-VL lays them."""
    axes = [0] * 32
    for axis in (1, 2):
        for pair in range(axis, 3 * SECTIONS[axis], 3):
            if pair < 32:
                axes[pair] = axis
    return axes


CASES: dict[str, tuple[Any, set[str]]] = {
    "height for width": (seen(BLOCKS, GRID[:, [0, 2, 1]]), {"axes exchanged"}),
    "sections interleaved": (seen(interleaved()), {"sections arranged otherwise"}),
    "sections turned round": (seen((0,) * 12 + (1,) * 12 + (2,) * 8), {"section sizes"}),
    "other base": (seen(BLOCKS, rates=rotary.frequencies(64, 1e4)), {"base"}),
    "a base of no release": (seen(BLOCKS, rates=rotary.frequencies(64, 34_567)), {"base"}),
    "coordinates that end": (seen(BLOCKS, np.minimum(GRID, 40)), {"table ends"}),
    "coordinates that begin again": (seen(BLOCKS, GRID % 32), {"table repeats"}),
    "pictures column by column": (seen(BLOCKS, COLUMNS), {"positions"}),
    "other layout": (seen(BLOCKS, rotation=rotary.neighbours), {"layout"}),
    "one late": (seen(BLOCKS, GRID + 1), {"off by one"}),
    "width for height, in another layout": (
        seen(BLOCKS, GRID[:, [0, 2, 1]], rotation=rotary.neighbours),
        {"axes exchanged", "layout"},
    ),
    "everything on the first axis": (seen((0,) * 32), {"pairs of the sections"}),
    "pictures without height": (seen(BLOCKS, FLAT), {"positions"}),
    "sections dealt out otherwise": (seen((0,) * 8 + (1, 2) * 12), {"pairs of the sections"}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_planted_is_named(case: str) -> None:
    there, expected = CASES[case]
    found = diagnose(MEANT, there)
    assert not found.agree
    assert {finding.name for finding in found.findings} == expected


def test_the_right_one_agrees() -> None:
    assert diagnose(MEANT, seen(BLOCKS)).agree


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"axis": tuple({1: 2, 2: 1}.get(axis, axis) for axis in BLOCKS)}, "axes exchanged"),
        ({"axis": tuple(interleaved())}, "sections arranged otherwise"),
        ({"axis": (0,) * 16 + (1,) * 8 + (2,) * 8}, "section sizes"),
        ({"base": 1e4}, "base"),
        ({"pairing": "adjacent"}, "layout"),
    ],
)
def test_two_encodings_over_several_axes(other: dict[str, Any], name: str) -> None:
    fields = {"axis": BLOCKS, "frequency_index": INDICES, "frequency_dim": 64, "base": 1e6, "pairing": "halves"} | other
    changed = AxialRoPE(**fields)
    assert [finding.name for finding in diagnose(MEANT, changed).findings] == [name]
    assert [finding.name for finding in diagnose(Partial(MEANT, 128), Partial(changed, 128)).findings] == [name]


def test_positions_without_their_axes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^positions must have a coordinate for each axis"):
        diagnose(MEANT, seen(BLOCKS) | {"positions": GRID[:, :2]})


def test_a_table_of_channels_that_read_their_own_coordinate() -> None:
    """HunYuan-VL's sections cut through pairs, so that its table has a column for every channel."""
    grid = np.array([[w, h] for h in range(4) for w in range(7)]) + 3
    frequencies = np.tile(rotary.frequencies(16, 1e4), 2)

    def table(positions: np.ndarray) -> dict[str, Any]:
        angle = positions[:, np.repeat([0, 1], 8)] * frequencies
        return {"cos": np.cos(angle), "sin": np.sin(angle), "positions": grid}

    assert diagnose(XDRoPE(sections=(4, 4)), table(grid)).agree
    found = diagnose(XDRoPE(sections=(4, 4)), table(grid * [1, 0]))
    assert [finding.name for finding in found.findings] == ["positions"]
    assert "coordinate 1 stand still at 0" in found.findings[0].sentence


def test_positions_may_have_their_coordinates_first() -> None:
    there = seen(BLOCKS)
    assert diagnose(MEANT, there | {"positions": GRID.T}).agree
    found = diagnose(MEANT, seen(BLOCKS, rates=rotary.frequencies(64, 1e4)) | {"positions": GRID.T})
    assert [finding.name for finding in found.findings] == ["base"]
