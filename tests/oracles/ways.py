"""The three libraries, and comparison with exact values; what test_oracles.py asks its questions with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import torch

from posenc.core.doors import Encoding
from samples import FIRST, FIRST_OF_CLASS

#: 2^53 is the last position; some encodings add a start of 1, so it is approached from below.
FAR = (2**31 - 200, 2**31 + 1, 2**40 + 3, 2**53 - 2, -(2**53) + 5)
NEAR = (0, 1, 2, 7, 23, 1_000, 4_097, 131_071)
NEGATIVE = (-1, -2, -4_098)
BETWEEN = (0.5, 3.25, 1e-3, 1e-9, 1023.7, -7.125, -1e-20)
#: "jax" compiles one program; "jax op by op" compiles each operation alone, which takes seconds an encoding.
LIBRARIES = ("numpy", "torch", "jax", "jax op by op")


def cases(encodings: Iterable[Encoding], *kinds: str, jax_by_day: bool = True) -> pytest.MarkDecorator:
    """Each encoding with each dtype in each library.

    By night: in JAX all but the first sample of a class and all but the last dtype, since each is compiled anew;
    operation by operation for the first samples of rows alone.
    """
    names = ("encoding", "kind", "library") if kinds else ("encoding", "library")
    chosen = (
        pytest.param(*case, marks=[pytest.mark.nightly] if _late(*case, by_day=jax_by_day) else [])
        for case in product(encodings, *([kinds] if kinds else []), LIBRARIES)
        if not (case[-1] == "jax op by op" and case[0] not in FIRST)
    )
    return pytest.mark.parametrize(names, list(chosen))


def _late(encoding: Encoding, *case: str, by_day: bool) -> bool:
    *kinds, library = case
    late = not by_day or encoding not in FIRST_OF_CLASS or kinds == ["float32"]
    return library == "jax op by op" or (library == "jax" and late)


def tabled(encoding: Encoding) -> Any:
    """The encoding whose table says where positions end: itself, or one inside it."""
    inside = getattr(encoding, "parts", ()) or (getattr(encoding, "encoding", encoding),)
    return next((part for part in (encoding, *inside) if hasattr(part, "length")), encoding)


def on_axes(encoding: Encoding, places: list) -> list:
    """The places themselves, or, for positions with several coordinates, tuples of them that no two axes share."""
    if encoding.axes == 1:
        return places
    count = len(places)
    return [tuple(places[(index + 3 * axis) % count] for axis in range(encoding.axes)) for index in range(count)]


def whole_places(encoding: Encoding) -> list:
    """Positions the encoding takes: all kinds where it is unlimited, else those of its table."""
    return on_axes(encoding, _whole(encoding))


def fractions(encoding: Encoding) -> list:
    return on_axes(encoding, _fractions(encoding))


def _whole(encoding: Encoding) -> list[int]:
    if "unlimited" in encoding.claims:
        return [*NEAR, *NEGATIVE, *FAR]
    if hasattr(encoding, "farthest"):  # as far as that from a centre
        ends = (encoding.centre - encoding.farthest, encoding.centre + encoding.farthest)  # type: ignore[attr-defined]
        return [*(place for place in (*NEAR, *NEGATIVE) if abs(place) < encoding.farthest // 2), *ends]
    if hasattr(encoding, "sizes"):  # a grid; every coordinate takes what the shortest side does
        return [*range(0, min(encoding.sizes) - 1, 3), min(encoding.sizes) - 1]
    if hasattr(encoding, "fastest"):  # as many radians as an exponential takes
        return [0, 1, 2, 7, -3, 300]
    table = tabled(encoding)
    last = (getattr(table, "extent", None) or table.length) - 1
    return sorted({0, 1, 3, last // 2, last - 1, last})


def _fractions(encoding: Encoding) -> list[float]:
    if "fractional" not in encoding.claims:
        return []
    if "unlimited" in encoding.claims or hasattr(encoding, "farthest"):
        return [*BETWEEN]
    if hasattr(encoding, "fastest"):
        return [0.5, 3.25, 1e-3, -7.125]
    return [place for place in (0.5, 1.25, 6.999, 1e-9) if place <= encoding.extent - 1]  # type: ignore[attr-defined]


def array(library: str, values: Any) -> Any:
    values = np.asarray(values)
    if library == "numpy":
        return values
    return torch.from_numpy(values.copy()) if library == "torch" else jnp.asarray(values)


def dtype(library: str, name: str) -> Any:
    return getattr(torch, name) if library == "torch" else np.dtype(name)


def wide(library: str) -> Any:
    """JAX with 64-bit numbers for the length of a test; the others have them."""
    return jax.enable_x64(library.startswith("jax"))


def run(library: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, in JAX as one program."""
    return jax.jit(function) if library == "jax" else function


def numbers(values: Any) -> np.ndarray:
    """An answer of any library as NumPy numbers."""
    return np.asarray(values)


def errors(got: np.ndarray, exact: Iterable, kind: str) -> list[float]:
    """The distance of every number from the exact one, in units of the last place of a dtype there."""
    with mpmath.workprec(300):
        return [_error(value, _number(true), kind) for value, true in zip(got.reshape(-1).tolist(), exact, strict=True)]


def _number(true: Any) -> mpmath.mpf:
    if hasattr(true, "numerator") and not isinstance(true, mpmath.mpf):
        return mpmath.mpf(true.numerator) / true.denominator
    return mpmath.mpf(true)


def _error(value: float, true: mpmath.mpf, kind: str) -> float:
    if value != value:
        return float("inf")
    unit = mpmath.mpf(float(np.spacing(np.abs(np.dtype(kind).type(true)))))
    return float(abs(mpmath.mpf(value) - true) / unit)


def nearest32(true: Any) -> float:
    """The float32 number nearest to an exact one, by way of 24 bits; the cases here are no subnormals."""
    with mpmath.workprec(300):
        number = _number(true)
    with mpmath.workprec(24):
        return float(+number)
