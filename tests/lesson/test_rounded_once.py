"""The lesson's page rounds the numbers of its file once more; what it shows is still the rounding of the exact ones."""

import math
from typing import Any

import numpy as np
import pytest

from posenc.explorer.lesson import bugs, embedded_words, numbers, orders, trained_models
from posenc.explorer.lesson.numbers import lesson_data
from posenc.explorer.lesson.rounded import rounded

PAIRS = (("dog bites man", "man bites dog"),)
#: Decimals that the page shows of a number of the file: `number` and `shown` of its modules, with at most four.
SHOWN = range(5)


def fixed(value: float, digits: int) -> str:
    """As `toFixed` writes it: the decimal nearest to the exact number, without a minus before zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def differing(held: Any, exact: Any) -> list[tuple[float, float]]:
    """Numbers of the file that the page would show otherwise than the exact ones, in nested lists and dicts."""
    if isinstance(exact, dict):
        return [pair for key in exact for pair in differing(held[key], exact[key])]
    if isinstance(exact, list | tuple):
        return [pair for one, other in zip(held, exact, strict=True) for pair in differing(one, other)]
    if not isinstance(exact, float):
        return []
    return [(held, exact)] if any(fixed(held, digits) != fixed(exact, digits) for digits in SHOWN) else []


def test_cosine_of_a_tenth_is_shown_as_1():
    """0.995004 has four decimals 0.9950, whose two decimals are 0.99 or 1.00; those of the number itself are 1.00."""
    (held,) = rounded([math.cos(0.1)])
    assert (fixed(held, 2), fixed(held, 4)) == ("1.00", "0.9950")
    (held,) = rounded([math.cos(3.0)])
    assert (held, fixed(held, 2)) == (-0.99, "-0.99")


def test_numbers_about_every_tie():
    ties = np.arange(-3000, 3001) / 2000
    exact = np.concatenate([ties + far for far in (-4e-5, -1e-9, -1e-15, 0.0, 1e-15, 1e-9, 4e-5)]).tolist()
    assert not differing(rounded(exact), exact)
    assert rounded([[1.0, -2.5], [0.125, math.pi]]) == [[1.0, -2.5], [0.125, 3.1416]]
    assert np.isnan(rounded(math.nan))


def test_every_number_of_the_lesson(monkeypatch: pytest.MonkeyPatch):
    held = lesson_data(PAIRS, 0)
    for module in (bugs, embedded_words, numbers, orders):
        monkeypatch.setattr(module, "rounded", lambda values: np.asarray(values, dtype=np.float64).tolist())
    exact = lesson_data(PAIRS, 0)
    assert differing({"sum": {"P": [[0.995]]}}, {"sum": {"P": [[math.cos(0.1)]]}}), "the check sees a second rounding"
    assert not differing(held, exact)


def test_all_of_the_lesson_rounds_there():
    """Numbers of a training are rounded by the same function."""
    assert trained_models.rounded is numbers.rounded is bugs.rounded is orders.rounded is rounded
