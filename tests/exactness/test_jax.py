"""JAX without 64-bit numbers: positions below 2^31, entries within 1.2e-7, and no larger position taken silently."""

from __future__ import annotations

import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from exactness import truth
from posenc import Sinusoidal
from posenc.frequencies import Geometric
from posenc.phase import cosine_sine, fixed_point

PROGRESSIONS = ((1e4, 128), (5e5, 64), (1e12, 64))
#: Two roundings of the angle (at most π/4, so 2^-25 each), one of the wave's own function, one of the result.
BOUND = 1.2e-7


@pytest.fixture(autouse=True)
def narrow() -> object:
    with jax.enable_x64(False):
        yield


def whole() -> list[int]:
    rng = random.Random(21)
    ranges = ((0, 2**17), (2**23, 2**24), (2**30, 2**31), (-(2**31) + 1, -(2**30)))
    edges = [0, 1, -1, 2**16, 2**16 + 1, -(2**16) - 1, 2**24 + 1, 2**31 - 1, -(2**31) + 1]
    return edges + [rng.randrange(*ends) for ends in ranges for _ in range(60)]


def fractions() -> list[float]:
    rng = random.Random(22)
    values = [float(np.float32(10.0**exponent * rng.uniform(1, 10))) for exponent in range(-20, 9) for _ in range(5)]
    return [sign * value for value in [0.5, 1 / 3, 1023.75, *values] for sign in (1.0, -1.0)]


def worst(places: np.ndarray) -> float:
    error = 0.0
    for base, dim in PROGRESSIONS:
        expected = truth.tables(truth.waves(places.astype(np.float64).tolist(), base, dim), truth.FLOAT64)
        waves = jax.jit(functools.partial(cosine_sine, frequencies=Geometric(dim, base)))(jnp.asarray(places))
        for got, true in zip(waves, expected, strict=True):
            assert got.dtype == jnp.float32
            error = max(error, float(np.abs(np.asarray(got, np.float64) - true).max()))
    return error


def test_whole_positions() -> None:
    assert worst(np.array(whole(), np.int32)) <= BOUND


def test_fractional_positions() -> None:
    assert worst(np.array(fractions(), np.float32)) <= BOUND


def test_fewer_limbs_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_point, "NARROW", fixed_point.NARROW._replace(limbs=3))
    assert worst(np.array(whole(), np.int32)) > BOUND


def test_single_operations_are_within_the_bound_too() -> None:
    places = np.array(whole(), np.int32)
    expected = truth.tables(truth.waves(places.tolist(), 1e4, 128), truth.FLOAT64)
    for got, true in zip(cosine_sine(jnp.asarray(places), Geometric(128)), expected, strict=True):
        assert np.abs(np.asarray(got, np.float64) - true).max() <= BOUND


def test_neighbours_differ() -> None:
    for around in (2**24, 2**30, 2**31 - 600):
        rows = np.concatenate(cosine_sine(jnp.arange(around - 500, around + 500), Geometric(64)), -1)
        assert len(np.unique(rows, axis=0)) == 1000


@pytest.mark.parametrize(
    "places",
    [
        np.array([1.0, 2.0**31], np.float32), np.array([-(2.0**40)], np.float32), np.array([2**31], np.uint32),
        np.array([3_000_000_000], np.uint32),
    ],
    ids=["float", "negative", "uint32 least", "uint32"],
)  # fmt: skip
def test_larger_positions_are_refused(places: np.ndarray) -> None:
    with pytest.raises(
        ValueError, match=r"^positions must be below 2\^31 in magnitude where there are no 64-bit numbers"
    ):
        cosine_sine(jnp.asarray(places), Geometric(8))


@pytest.mark.parametrize(("start", "place"), [(1000, 2**31 - 200), (-1000, 200 - 2**31)])
def test_a_start_that_leads_beyond_32_bits_is_refused_or_nan(start: int, place: int) -> None:
    encoding, places = Sinusoidal(dim=8, start=start), jnp.asarray([7, place])
    with pytest.raises(ValueError, match=r"^positions must be below 2\^31 in magnitude"):
        encoding.embed(places)
    traced = np.asarray(jax.jit(encoding.embed)(places))
    assert np.array_equal(traced[0], np.asarray(encoding.embed(jnp.asarray([7])))[0])
    assert np.isnan(traced[1]).all()


@pytest.mark.parametrize("value", [2**31, -(2**31) - 5, 2**53])
def test_larger_positions_in_a_list_are_refused(value: int) -> None:
    x = jnp.zeros((2, 8), jnp.float32)
    for place in (value, float(value)):
        with pytest.raises(ValueError, match=r"^positions must be (below 2\^31|integers, or float32 numbers)"):
            Sinusoidal(dim=8).attach(x, [0, place])


@pytest.mark.parametrize(
    "places", [np.array([1.0, 2.0**31], np.float32), np.array([1.0, np.inf], np.float32),
        np.array([1, 2**31], np.uint32)],
    ids=["float", "inf", "uint32"],
)  # fmt: skip
def test_larger_positions_are_nan_where_they_cannot_be_seen(places: np.ndarray) -> None:
    for part in jax.jit(lambda p: cosine_sine(p, Geometric(8)))(jnp.asarray(places)):
        assert np.isfinite(part[0]).all()
        assert np.isnan(part[1]).all()


@pytest.mark.parametrize(
    "dtype",
    [
        "uint8",
        "uint32",
        *(pytest.param(dtype, marks=pytest.mark.nightly) for dtype in ("int8", "uint16", "int16", "int32")),
    ],
)
def test_every_integer_dtype(dtype: str) -> None:
    given, expected = jnp.asarray(np.array([0, 3, 100], dtype)), cosine_sine(jnp.asarray([0, 3, 100]), Geometric(8))
    for got in (cosine_sine(given, Geometric(8)), jax.jit(lambda p: cosine_sine(p, Geometric(8)))(given)):
        # A fused program may contract a product and a sum; the bound holds for both.
        assert all(np.abs(a - b).max() <= 2**-24 for a, b in zip(got, expected, strict=True))


def test_there_are_no_64_bit_numbers_here() -> None:
    assert cosine_sine(jnp.asarray([1]), Geometric(8))[0].dtype == jnp.float32
    with pytest.raises(TypeError, match=r"^dtype must be one that the device supports; got float64"):
        cosine_sine(jnp.asarray([1]), Geometric(8), dtype="float64")
