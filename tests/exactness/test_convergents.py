"""The hardest positions: where an angle comes closest to a quarter turn, and where it is tiniest.

At a convergent of π/ω the sine, and at one of (π/2)/ω the cosine or the sine, is as near to 0 as it gets up to that
position. A phase that keeps too few bits has none left there, which random positions would hardly ever show.
"""

from __future__ import annotations

import numpy as np
import pytest

from exactness import truth
from exactness.backends import WAVES
from posenc.frequencies import Geometric
from posenc.phase import fixed_point

PROGRESSIONS = ((1e4, 128), (5e5, 128), (1e12, 64))


@pytest.fixture(scope="module")
def hardest() -> dict:
    """For every progression and pair: the positions, and the waves there."""
    return {
        progression: [_of_one(frequency) for frequency in truth.progression(*progression)]
        for progression in PROGRESSIONS
    }


def _of_one(frequency: tuple) -> tuple[list[int], list[tuple]]:
    near = sorted({place for quarters in (1, 2) for place in truth.convergents(frequency, quarters)})
    places = near + [-place for place in near]
    return places, [truth.cosine_sine(place, frequency) for place in places]


def wrong_entries(hardest: dict, backend: str, dtype: str = "float32") -> tuple[int, int, float]:
    """Entries compared, those that are not correctly rounded, and the largest relative error in units of 2^-53."""
    kind = truth.FLOAT32 if dtype == "float32" else truth.FLOAT64
    seen, wrong, worst = 0, 0, 0.0
    for (base, dim), pairs in hardest.items():
        # One batch a progression, a row of positions a pair, filled up with 0: (pairs, longest, pairs).
        longest = max(len(places) for places, _ in pairs)
        batch = [places + [0] * (longest - len(places)) for places, _ in pairs]
        table = WAVES[backend](batch, Geometric(dim, base), dtype)
        for index, (places, values) in enumerate(pairs):
            for which in (0, 1):
                got = table[which][index, : len(places), index].astype(np.float64)
                expected = np.array([truth.rounded(value[which], kind) for value in values])
                seen, wrong = seen + len(places), wrong + int((got != expected).sum())
                worst = max(worst, truth.ulps(got, expected))
    return seen, wrong, worst


@pytest.mark.parametrize("backend", WAVES)
def test_convergents_are_correctly_rounded(hardest: dict, backend: str) -> None:
    seen, wrong, _ = wrong_entries(hardest, backend)
    assert seen > 25_000
    assert wrong == 0


def test_the_hardest_positions_are_hard(hardest: dict) -> None:
    sines = [
        abs(truth.rounded(value[1], truth.FLOAT64))
        for pairs in hardest.values()
        for _, values in pairs
        for value in values
    ]
    assert min(sines) < 1e-16
    assert all(places for pairs in hardest.values() for places, _ in pairs)


@pytest.mark.parametrize("backend", WAVES)
def test_convergents_in_float64(hardest: dict, backend: str) -> None:
    # Three roundings of the angle and the library's own sine: see test_phase.py.
    assert wrong_entries(hardest, backend, "float64")[2] <= 3.5


@pytest.mark.parametrize(("limbs", "least"), [(2, 1000), (3, 100)])
def test_fewer_limbs_would_be_seen(hardest: dict, monkeypatch: pytest.MonkeyPatch, limbs: int, least: int) -> None:
    monkeypatch.setattr(fixed_point, "WIDE", fixed_point.WIDE._replace(limbs=limbs))
    assert wrong_entries(hardest, "numpy")[1] > least


@pytest.mark.parametrize("backend", WAVES)
def test_tiny_angles_keep_their_relative_precision(backend: str) -> None:
    places = [1, 2, 3, 7, 1000, 65_537, -1, -999]
    expected = truth.tables(truth.waves(places, 1e12, 64))
    assert np.abs(expected[1]).min() < 3e-12
    assert truth.differing(WAVES[backend](places, Geometric(64, 1e12), "float32"), expected) == 0
