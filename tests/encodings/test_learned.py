"""Learned positions: rows of a table, the four policies at its end, and resizing."""

from __future__ import annotations

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import Learned, resized

TABLE = np.random.default_rng(0).standard_normal((7, 3))
PARAMS = {"table": TABLE}


def encoding(outside: str, extent: int | None = None) -> Learned:
    return Learned(dim=3, length=7, outside=outside, extent=extent)


def mixed(place: Fraction) -> np.ndarray:
    """The row at a place between rows, in exact fractions until the last step."""
    row = math.floor(place)
    step = float(place - row)
    return TABLE[row] if step == 0 else (1 - step) * TABLE[row] + step * TABLE[row + 1]


def test_rows_are_the_table() -> None:
    found = encoding("error").embed([[6, 0], [3, 3]], PARAMS)
    assert np.array_equal(found, TABLE[[[6, 0], [3, 3]]])
    assert np.array_equal(encoding("error").embed([2.0], PARAMS), TABLE[[2]])


def test_init_has_the_deviation_asked_for() -> None:
    table = Learned(dim=100, length=200, std=0.5).init(np.random.default_rng(1))["table"]
    assert table.shape == (200, 100)
    # 20,000 draws: the deviation of the sample is off by 0.5/√40000 = 0.0025; five of these.
    assert abs(table.std() - 0.5) < 0.0125
    assert np.array_equal(Learned(dim=1, length=2, std=0.0).init(np.random.default_rng(1))["table"], np.zeros((2, 1)))


def test_clamp_takes_the_nearest_row() -> None:
    assert np.array_equal(encoding("clamp").embed([-3, 0, 6, 7, 2**53], PARAMS), TABLE[[0, 0, 6, 6, 6]])


def test_wrap_is_modulo_also_below_zero() -> None:
    for positions in (np.array([-1, -7, 7, 20, 2**53 - 1]), torch.tensor([-1, -7, 7, 20, 2**53 - 1])):
        table = positions.new_tensor(TABLE).double() if isinstance(positions, torch.Tensor) else TABLE
        table = torch.tensor(TABLE) if isinstance(positions, torch.Tensor) else table
        dtype = torch.float64 if isinstance(positions, torch.Tensor) else None
        found = np.asarray(encoding("wrap").embed(positions, {"table": table}, dtype=dtype))
        assert np.array_equal(found, TABLE[[int(p) % 7 for p in positions]])


@pytest.mark.parametrize("extent", [1, 2, 5, 7, 13, 20])
def test_interpolation_lays_the_table_over_the_extent(extent: int) -> None:
    places = [Fraction(p * 6, max(extent - 1, 1)) for p in range(extent)]
    found = encoding("interpolate", extent).embed(np.arange(extent), PARAMS)
    # Two products and a sum of numbers below 3, rounded once each, in two routes.
    assert np.abs(found - np.stack([mixed(place) for place in places])).max() <= 12 * 2.0**-52
    assert np.array_equal(found[0], TABLE[0])
    assert extent == 1 or np.array_equal(found[-1], TABLE[6])


def test_interpolation_takes_fractions() -> None:
    positions = [0.25, 3.5, 11.75, 12.0]
    found = encoding("interpolate", 13).embed(positions, PARAMS)
    expected = np.stack([mixed(Fraction(p) * 6 / 12) for p in positions])
    assert np.abs(found - expected).max() <= 12 * 2.0**-52
    # A fraction that crosses a row inside one step of position: the table is longer than its extent.
    short = encoding("interpolate", 3).embed([0.5, 1.75], PARAMS)
    assert np.abs(short - np.stack([mixed(Fraction(3, 2)), mixed(Fraction(21, 4))])).max() <= 12 * 2.0**-52


def test_interpolation_stays_exact_without_64_bit_numbers() -> None:
    # 999,983 · 4,999 does not fit in 32 bits; the row is decided on the host.
    big = Learned(dim=1, length=5000, outside="interpolate", extent=1_000_000)
    table = np.arange(5000.0)[:, None]
    place = Fraction(999_983 * 4999, 999_999)
    found = float(big.embed(jnp.asarray([999_983]), {"table": jnp.asarray(table, jnp.float32)})[0, 0])
    assert abs(found - float(place)) <= 5000 * 2.0**-24 * 3  # three roundings of a number below 5000


@pytest.mark.parametrize(("outside", "extent"), [("error", None), ("interpolate", 13)])
def test_a_refused_position_is_nan_where_it_cannot_be_seen(outside: str, extent: int | None) -> None:
    learned, last = encoding(outside, extent), 6 if extent is None else extent - 1
    params = {"table": jnp.asarray(TABLE, jnp.float32)}
    found = np.asarray(jax.jit(learned.embed)(jnp.asarray([-1, 0, last, last + 1, 2**31 - 1]), params))
    assert np.isnan(found[[0, 3, 4]]).all()
    assert np.isfinite(found[[1, 2]]).all()
    compiled = torch.compile(learned.embed, fullgraph=True, backend="aot_eager")
    rows = compiled(torch.tensor([-1, 0, last, last + 1, 2**60]), {"table": torch.tensor(TABLE)})
    assert rows.isnan().all(-1).tolist() == [True, False, False, True, True]


@pytest.mark.parametrize("outside", ["error", "clamp", "wrap"])
def test_a_fraction_is_nan_where_it_cannot_be_seen(outside: str) -> None:
    params = {"table": jnp.asarray(TABLE, jnp.float32)}
    found = np.asarray(jax.jit(encoding(outside).embed)(jnp.asarray([1.5, 2.0, jnp.nan, jnp.inf, 3e9]), params))
    assert np.isnan(found[[0, 2, 3, 4]]).all()
    assert np.array_equal(found[1], TABLE[2].astype(np.float32))


def test_gradient_reaches_the_rows_used_and_the_position() -> None:
    table = torch.tensor(TABLE, requires_grad=True)
    encoding("error").embed(torch.tensor([2, 2, 5]), {"table": table}, dtype=torch.float64).sum().backward()
    assert table.grad is not None
    assert table.grad[:, 0].tolist() == [0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0]
    position = torch.tensor([2.5], dtype=torch.float64, requires_grad=True)
    encoding("interpolate", 13).embed(position, {"table": table}, dtype=torch.float64)[0, 0].backward()
    assert position.grad is not None
    # The slope between rows 1 and 2, times six rows for twelve steps.
    assert abs(position.grad.item() - (TABLE[2, 0] - TABLE[1, 0]) * 0.5) <= 8 * 2.0**-52


def test_a_16_bit_result_is_the_row_rounded_once() -> None:
    found = encoding("error").embed(torch.tensor([4]), {"table": torch.tensor(TABLE)}, dtype=torch.bfloat16)
    assert torch.equal(found[0], torch.tensor(TABLE[4]).float().bfloat16())


def test_empty() -> None:
    assert encoding("error").embed(np.zeros((2, 0), np.int64), PARAMS).shape == (2, 0, 3)
    assert encoding("interpolate", 4).embed([], PARAMS).shape == (0, 3)


def test_claims_follow_the_policy() -> None:
    assert encoding("error").claims == {"streaming", "bounded", "learned"}
    assert encoding("clamp").claims == encoding("wrap").claims == {"streaming", "bounded", "learned", "unlimited"}
    assert encoding("interpolate", 9).claims == {"streaming", "bounded", "learned", "fractional"}


def test_resized_is_linear_between_rows_and_keeps_the_ends() -> None:
    found = resized(TABLE, 10)
    expected = np.stack([mixed(Fraction(j * 6, 9)) for j in range(10)])
    assert np.abs(found - expected).max() <= 12 * 2.0**-52
    assert np.array_equal(found[[0, -1]], TABLE[[0, -1]])
    assert np.array_equal(resized(TABLE, 7), TABLE)
    assert np.array_equal(resized(TABLE, 1), TABLE[:1])
    assert np.array_equal(resized(TABLE[:1], 3), TABLE[[0, 0, 0]])


def test_resized_agrees_with_torch_and_keeps_the_dtype() -> None:
    table = torch.tensor(TABLE, dtype=torch.float32)
    peer = torch.nn.functional.interpolate(table.T[None], size=24, mode="linear", align_corners=True)[0].T
    # The peer rounds the place j·6/23 to float32 first: 6 · 2^-24 of a row, rows differ by up to 6.
    assert (resized(table, 24) - peer).abs().max() <= 6 * 6 * 2.0**-24
    assert resized(table.bfloat16(), 24).dtype == torch.bfloat16
    assert resized(jnp.asarray(TABLE, jnp.float32), 5).shape == (5, 3)


def test_a_resized_table_is_the_interpolating_encoding() -> None:
    stretched = encoding("interpolate", 20).embed(np.arange(20), PARAMS)
    longer = Learned(dim=3, length=20).embed(np.arange(20), {"table": resized(TABLE, 20)})
    assert np.array_equal(stretched, longer)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Learned(dim=0, length=3), ValueError, r"^dim must be an integer from 1 to 1048576; got 0"),
        (lambda: Learned(dim=4, length=0), ValueError, r"^length must be an integer from 1"),
        (lambda: Learned(dim=4, length=2.0), TypeError, r"^length must be an integer from 1"),
        (lambda: Learned(dim=1 << 20, length=1 << 30), ValueError, r"^length must need at most 8589934592 bytes"),
        (lambda: Learned(dim=4, length=3, outside="extend"), ValueError, r"^outside must be one of 'error', 'clamp'"),
        (
            lambda: Learned(dim=4, length=3, std=-1.0),
            ValueError,
            r"^std must be a finite number from 0 to 1000; got -1",
        ),
        (
            lambda: Learned(dim=4, length=3, outside="interpolate"),
            ValueError,
            r"^extent must be given with outside='interpolate' and only then; got extent=None with "
            r"outside='interpolate'",
        ),
        (
            lambda: Learned(dim=4, length=3, extent=9),
            ValueError,
            r"^extent must be given .* got extent=9 with outside='error'",
        ),
        (lambda: encoding("interpolate", 0), ValueError, r"^extent must be an integer from 1 to 16777216; got 0"),
        (lambda: encoding("error").init(7), TypeError, r"^rng must be a numpy.random.Generator; got 7 \(int\)"),
        (
            lambda: encoding("error").embed([1]),
            ValueError,
            r"^params must hold what Learned learns, \['table'\]; got None",
        ),
        (
            lambda: encoding("error").embed([1], {"table": TABLE.T}),
            ValueError,
            r"^params\['table'\] must have shape \(7, 3\) for Learned; got \(3, 7\)",
        ),
        (
            lambda: encoding("error").embed([0, 7], PARAMS),
            ValueError,
            r"^positions must be from 0 to 6, which is as far as the table reaches; got values from 0 to 7\.",
        ),
        (lambda: encoding("error").embed([-1], PARAMS), ValueError, r"^positions must be from 0 to 6.* from -1 to -1"),
        (
            lambda: encoding("interpolate", 13).embed([12.5], PARAMS),
            ValueError,
            r"^positions must be from 0 to 12, .* from 12\.5 to 12\.5",
        ),
        (lambda: encoding("interpolate", 13).embed([-0.5], PARAMS), ValueError, r"^positions must be from 0 to 12"),
        (
            lambda: encoding("wrap").embed([1.0, 2.5], PARAMS),
            ValueError,
            r"^positions must hold whole numbers, since each selects a row of a table; got 2\.5",
        ),
        (lambda: encoding("clamp").embed([0.5], PARAMS), ValueError, r"^positions must hold whole numbers"),
        (lambda: encoding("clamp").embed([2**54], PARAMS), ValueError, r"^positions must be finite and of magnitude"),
        (
            lambda: encoding("error").embed(torch.tensor([1.0], dtype=torch.float16), {"table": torch.tensor(TABLE)}),
            TypeError,
            r"^positions must be integers, float32 or float64; got float16",
        ),
        (lambda: encoding("error").embed(torch.tensor([1]), PARAMS), TypeError, r"^arrays must come from one library"),
        (lambda: resized(TABLE[0], 4), ValueError, r"^table must hold floats in shape \(rows, dim\).*shape \(3,\)"),
        (lambda: resized(np.ones((2, 2), np.int64), 4), ValueError, r"^table must hold floats .* got int64"),
        (lambda: resized(TABLE[:0], 4), ValueError, r"^table must hold floats .* at least one row"),
        (lambda: resized(TABLE, 0), ValueError, r"^length must be an integer from 1"),
        (lambda: resized(np.ones((1, 1 << 10)), 1 << 24), ValueError, r"^length must need at most"),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
