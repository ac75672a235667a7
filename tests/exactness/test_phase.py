"""Tables against mpmath: every float32 entry correctly rounded, for every position up to 2^53."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import torch

from exactness import truth
from exactness.backends import WAVES
from posenc import RoPE, Sinusoidal
from posenc.encodings.rotates.xpos import Decays
from posenc.frequencies import Bands, Directed, Geometric, Resonance
from posenc.models.fingerprints import fingerprint
from posenc.phase import fixed_point, phase

PROGRESSIONS = ((1e4, 128), (5e5, 96), (1e6, 64), (1e12, 50))
RANGES = (
    (0, 2**17), (2**23, 2**24), (2**30, 2**31), (2**40, 2**41), (2**52, 2**53), (-(2**31), -(2**30)),
        (-(2**53), -(2**52)),
)  # fmt: skip
EDGES = [0, 1, -1, 2**24 + 1, 2**31 - 1, 2**31, 2**53 - 1, 2**53, -(2**53)]
A_RANGE = 90

#: The angle is rounded three times (the sum of the limbs, 2π, their product) to 2^-53 of itself, which is 1.5 to 3
#: units of the last place of the result, and the library's own cosine and sine are good to 1: below 4; measured 2.3.
#: Between two libraries only the last of these differs.
ULPS_OF_TRUTH, ULPS_BETWEEN = 3.5, 2.0


def positions(seed: int, a_range: int = A_RANGE) -> list[int]:
    rng = random.Random(seed)
    return EDGES + [rng.randrange(*ends) for ends in RANGES for _ in range(a_range)]


@pytest.fixture(scope="module")
def sampled() -> dict:
    places = positions(1)
    return {progression: (places, truth.waves(places, *progression)) for progression in PROGRESSIONS}


def wrong_entries(sampled: dict, backend: str) -> tuple[int, int]:
    """How many float32 entries were compared, and how many are not the correctly rounded ones."""
    seen = wrong = 0
    for (base, dim), (places, values) in sampled.items():
        expected = truth.tables(values)
        wrong += truth.differing(WAVES[backend](places, Geometric(dim, base), "float32"), expected)
        seen += 2 * expected[0].size
    return seen, wrong


@pytest.mark.parametrize("backend", WAVES)
def test_float32_entries_are_correctly_rounded(sampled: dict, backend: str) -> None:
    seen, wrong = wrong_entries(sampled, backend)
    assert seen >= 200_000
    assert wrong == 0


def test_rounded_frequencies_would_be_seen(sampled: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    revolutions = fixed_point._revolutions
    monkeypatch.setattr(fixed_point, "_revolutions", lambda one: [Decimal(float(each)) for each in revolutions(one)])
    monkeypatch.setattr(fixed_point, "_limbs", fixed_point._limbs.__wrapped__)
    assert wrong_entries(sampled, "numpy")[1] > 50_000


def test_words_wrap_around_to_the_phase() -> None:
    """Kernels take a frequency as whole 2^-128 revolutions: a place times that is off by half a unit a step at most."""
    for base, dim in PROGRESSIONS:
        words = fixed_point.revolution_words(Geometric(dim, base))
        assert words.dtype == np.int64
        whole = [(int(upper) << 64) + int(lower) % 2**64 for upper, lower in words.T]
        for place in (1, -3, 2**31 - 1, 2**53):
            for pair in (0, 1, dim // 4, dim // 2 - 1):
                with mpmath.workprec(truth.BITS):
                    exact = mpmath.mpf(base) ** (mpmath.mpf(-2 * pair) / dim) * place / (2 * mpmath.pi) * 2**128
                    off = int(mpmath.nint(exact)) - place * whole[pair]
                assert abs((off + 2**127) % 2**128 - 2**127) <= abs(place) // 2 + 1


@pytest.mark.parametrize("backend", WAVES)
def test_float64_entries_are_within_their_bound(sampled: dict, backend: str) -> None:
    for (base, dim), (places, values) in sampled.items():
        expected = truth.tables(values, truth.FLOAT64)
        for got, true in zip(WAVES[backend](places, Geometric(dim, base), "float64"), expected, strict=True):
            assert truth.ulps(got, true) <= ULPS_OF_TRUTH


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_libraries_give_the_same_bits_in_float32(backend: str) -> None:
    places, encoding = np.array(positions(2, 250)).reshape(1, -1), Geometric(128)
    seen = 0
    for mine, theirs in zip(
        WAVES["numpy"](places, encoding, "float32"), WAVES[backend](places, encoding, "float32"), strict=True
    ):
        assert mine.dtype == theirs.dtype == np.float32
        assert mine.tobytes() == theirs.tobytes()
        seen += mine.size
    assert seen >= 200_000


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_libraries_agree_in_float64(backend: str) -> None:
    places, encoding = np.array(positions(3, 100)), Geometric(128)
    for mine, theirs in zip(
        WAVES["numpy"](places, encoding, "float64"), WAVES[backend](places, encoding, "float64"), strict=True
    ):
        assert truth.ulps(mine, theirs) <= ULPS_BETWEEN


def _pairs(limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions m, n up to ±limit whose difference stays within it; shape (4, 500) each."""
    rng = np.random.default_rng(4)
    first = rng.integers(-limit, limit + 1, (4, 500))
    second = rng.integers(np.maximum(-limit, first - limit), np.minimum(limit, first + limit) + 1)
    return first, second


@pytest.mark.parametrize("make", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_phases_subtract_to_the_last_bit(make: object) -> None:
    first, second = (make(part) for part in _pairs(2**53))
    assert _difference_is_exact(first, second)


@pytest.mark.parametrize(("wide", "limit"), [(True, 2**53), (False, 2**31 - 1)])
def test_phases_subtract_to_the_last_bit_in_jax(wide: bool, limit: int) -> None:
    first, second = _pairs(limit)
    with jax.enable_x64(wide):
        assert _difference_is_exact(jnp.asarray(first), jnp.asarray(second))


def _difference_is_exact(first: object, second: object) -> bool:
    for encoding in (Geometric(128), Geometric(64, 1e12)):
        mine, theirs = phase(first, encoding) - phase(second, encoding), phase(first - second, encoding)
        limbs = [np.asarray(limb) for limb in theirs.limbs]
        if not all(np.array_equal(np.asarray(a), b) for a, b in zip(mine.limbs, limbs, strict=True)):
            return False
        if not np.ptp(limbs[0]) > 0:
            return False
    return True


@pytest.mark.parametrize("backend", WAVES)
@pytest.mark.parametrize("around", [2**24, 2**31, 2**52])
def test_neighbours_have_rows_of_their_own(backend: str, around: int) -> None:
    places = np.arange(around - 500, around + 500)
    for base, dim in PROGRESSIONS:
        rows = np.concatenate(WAVES[backend](places, Geometric(dim, base), "float32"), -1)
        assert (rows[1:] != rows[:-1]).any(-1).all()
        assert len(np.unique(rows, axis=0)) == len(places)


def test_what_lies_below_the_last_limb_adds_and_subtracts_too() -> None:
    whole, tiny, other = (phase(np.array([place]), Geometric(8)) for place in (5, 1e-20, 3e-20))
    revolutions = fixed_point.revolutions_per_step(Geometric(8))
    sums = ((whole - tiny, -1e-20), (tiny - whole, 1e-20), (tiny - other, -2e-20))
    sums += ((whole + tiny, 1e-20), (tiny + whole, 1e-20), (tiny + other, 4e-20))
    for found, steps in sums:
        np.testing.assert_allclose(
            found.tail[0], steps * revolutions, rtol=1e-12
        )  # a product and a sum, each rounded once
    assert (whole - whole).tail is None
    assert (whole + whole).tail is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_whole_positions_of_torch_are_those_of_its_own_operations(dtype: torch.dtype) -> None:
    """NumPy makes short tables of whole positions; of the same numbers as floats PyTorch makes them itself."""
    for encoding in (Sinusoidal(dim=16), Sinusoidal(dim=9, odd="zero", start=1, scale=0.5, layout="concatenated")):
        for row in ([2**40 + 1], EDGES[:-3], list(range(5000))):
            made = encoding.embed(torch.tensor(row), dtype=dtype)
            assert made.dtype == dtype
            assert torch.equal(made, encoding.embed(torch.tensor(row, dtype=torch.float64), dtype=dtype))
    rotation, floats = (RoPE(dim=8).rotation(x, dtype=dtype) for x in (torch.arange(9), torch.arange(9.0)))
    assert torch.equal(rotation.cos, floats.cos)
    assert torch.equal(rotation.sin, floats.sin)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_a_trace_of_torch_keeps_positions_open() -> None:
    encoding, other = Sinusoidal(dim=8), torch.tensor([9])
    traced = torch.jit.trace(encoding.embed, (torch.tensor([3]),))
    assert torch.equal(traced(other), encoding.embed(other))


def test_frequencies_are_exact_in_any_decimal_context_of_the_caller() -> None:
    """In a context of 3 digits; with numbers of no other test, since what was computed is remembered."""
    base = 12_345.25
    with localcontext(prec=3):
        wavelengths = Geometric(dim=4, base=base).wavelengths()
        bands = Bands(count=3, spacing="linear", resolution=1235.0).radians()
        decays = Decays(dim=12, gamma=0.4, scale_base=base).radians()
        directed = Directed(Geometric(dim=2, base=base), (0.251,), "first").radians()
        print_of_narrow = fingerprint(Sinusoidal(dim=8, base=base))
        with pytest.raises(ValueError, match=r"^base must leave wavelengths of half a position or more"):
            Resonance().fits(Geometric(dim=4, base=12.58**-2))  # 4π is 12.566, and 12.6 in 3 digits
    assert np.allclose(wavelengths, 2 * np.pi * np.array([1.0, base**0.5]), rtol=1e-15, atol=0)
    assert np.allclose(bands, np.pi * np.array([1.0, 309.25, 617.5]), rtol=1e-15, atol=0)
    shares = 1.4 / (np.arange(0, 12, 2) / 12 + 0.4)
    assert np.allclose(decays, np.log2(shares) / base * 2 * np.pi, rtol=1e-14, atol=0)
    assert np.allclose(directed, np.cos(0.251 * np.pi), rtol=1e-15, atol=0)
    assert print_of_narrow == fingerprint(Sinusoidal(dim=8, base=base))
