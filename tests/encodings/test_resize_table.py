"""Resizing a learned grid: by hand, in every library, and what is refused; against PyTorch and timm in tests/parity."""

from fractions import Fraction

import numpy as np
import pytest

from posenc.encodings.adds.resize_table import Resizing, filter_weights, resize_table

CUBIC = {"prefix": 0, "method": "bicubic", "antialias": False}


def keys(x: Fraction, a: Fraction) -> Fraction:
    """Keys 1981, eq. 15 with its free number, in exact fractions."""
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else Fraction(0)


@pytest.mark.parametrize(("old", "new"), [(2, 4), (8, 4), (5, 7), (7, 5), (3, 3), (1, 6), (6, 1)])
@pytest.mark.parametrize("antialias", [False, True])
def test_cubic_weights_in_exact_fractions(old: int, new: int, antialias: bool) -> None:
    stretch = max(Fraction(old, new), 1) if antialias else Fraction(1)
    for i, got in enumerate(filter_weights(old, new, "bicubic", antialias)):
        centre = Fraction(2 * i + 1, 2) * Fraction(old, new) - Fraction(1, 2)
        expected = [Fraction(0)] * old
        for j in range(-3 * old - 4, 4 * old + 4):
            share = keys((j - centre) / stretch, Fraction(-1, 2) if antialias else Fraction(-3, 4))
            if not antialias or 0 <= j < old:
                expected[min(max(j, 0), old - 1)] += share
        total = sum(expected)
        assert antialias or total == 1
        # A cubic of a place that is rounded: less than 16 units of 2^-53 of numbers up to 1.
        assert max(abs(float(e / total) - g) for e, g in zip(expected, got, strict=True)) <= 16 * 2.0**-53


@pytest.mark.parametrize("method", ["bicubic", "bilinear"])
@pytest.mark.parametrize("antialias", [False, True])
def test_rows_and_columns_are_not_confused(method: str, antialias: bool) -> None:
    """2 × 8 to 4 × 4 has as many tokens, and every count of them agrees: only the stated grid tells."""
    rows, columns = np.indices((2, 8)).reshape(2, -1)
    table = np.stack([rows, columns], -1).astype(float)
    got = resize_table(table, (2, 8), (4, 4), prefix=0, method=method, antialias=antialias).reshape(4, 4, 2)
    down = filter_weights(2, 4, method, antialias) @ np.arange(2.0)
    across = filter_weights(8, 4, method, antialias) @ np.arange(8.0)
    assert np.allclose(got[..., 0], down[:, None] * np.ones(4), atol=1e-14)
    assert np.allclose(got[..., 1], across * np.ones((4, 1)), atol=1e-14)
    assert (np.diff(got[..., 1], axis=1) > 1).all()


def test_the_same_grid_gives_the_same_table_and_the_prefix_is_kept() -> None:
    table = np.random.default_rng(0).normal(size=(2 + 15, 4))
    for antialias in (False, True):
        assert np.allclose(
            resize_table(table, (3, 5), (3, 5), prefix=2, method="bicubic", antialias=antialias), table, atol=1e-15
        )
        grown = resize_table(table, (3, 5), (6, 4), prefix=2, method="bicubic", antialias=antialias)
        assert grown.shape == (26, 4)
        assert np.array_equal(grown[:2], table[:2])


def test_frames_are_an_axis_too() -> None:
    table = np.random.default_rng(0).normal(size=(24, 3))
    grown = resize_table(table, (2, 3, 4), (4, 3, 4), **CUBIC).reshape(4, 12, 3)
    by_hand = np.einsum("ij,jnd->ind", filter_weights(2, 4, "bicubic", False), table.reshape(2, 12, 3))
    assert np.allclose(grown, by_hand, atol=1e-14)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_libraries_agree_in_float32(library: str) -> None:
    xp = pytest.importorskip(library)
    table = np.random.default_rng(0).normal(size=(1 + 6, 4)).astype(np.float32)
    asked = {"prefix": 1, "method": "bicubic", "antialias": True}
    got = resize_table(xp.asarray(table), (2, 3), (5, 2), **asked)
    assert np.abs(np.asarray(got) - resize_table(table, (2, 3), (5, 2), **asked)).max() <= 16 * 2.0**-24 * 4


def test_half_is_rounded_once_and_gradients_pass() -> None:
    torch = pytest.importorskip("torch")
    table = torch.randn(6, 2, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
    got = resize_table(table, (2, 3), (4, 6), **CUBIC)
    assert torch.equal(got, resize_table(table.float(), (2, 3), (4, 6), **CUBIC).bfloat16())
    got.sum().backward()
    # Every new row is a mixture whose shares sum to one: 24 new patches over 6 old ones.
    assert abs(float(table.grad.float().sum()) - 48) < 1


def test_tiles_begin_again_and_corners_stay() -> None:
    table = np.arange(4.0)[:, None]
    tiled = Resizing("tiled", antialias=False, align_corners=False)
    assert tiled.table(table, (2, 2), (3, 2), prefix=0).ravel().tolist() == [0, 1, 2, 3, 0, 1]
    corners = Resizing("bicubic", antialias=False, align_corners=True)
    assert corners.table(table, (4, 1), (7, 1), prefix=0).ravel()[[0, 2, 4, 6]].tolist() == [0, 1, 2, 3]
    assert str(corners) == "bicubic, corner patches on corner patches, without antialias"
    with pytest.raises(ValueError, match=r"^outside must be left out with antialias=True; got 'zeros'"):
        Resizing("bicubic", antialias=True, align_corners=False, outside="zeros")


TABLE = np.zeros((5, 2))
REFUSED = [
    (
        {"table": TABLE, "old": (2, 2), "new": (3, 3)} | CUBIC,
        ValueError,
        r"^table must have shape \(4, dim\) for prefix=0",
    ),
    ({"table": TABLE, "old": (2, 2), "new": (3,)} | CUBIC, ValueError, r"^new must have as many axes as old=\(2, 2\)"),
    ({"table": TABLE, "old": 2, "new": (3,)} | CUBIC, TypeError, r"^old must be a tuple of 1 to 3 sizes; got 2"),
    ({"table": TABLE, "old": (2, 0), "new": (3,)} | CUBIC, ValueError, r"^old must be an integer from 1"),
    ({"table": TABLE, "old": (5,), "new": (2.0,)} | CUBIC, TypeError, r"^new must be an integer from 1"),
    ({"table": TABLE.astype(int), "old": (5,), "new": (2,)} | CUBIC, TypeError, r"^table must hold floats; got int64"),
    ({"table": [1.0], "old": (5,), "new": (2,)} | CUBIC, TypeError, r"^table must be an array of floats"),
    ({"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"prefix": -1}, ValueError, r"^prefix must be an integer"),
    ({"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"method": "nearest"}, ValueError, r"^method must be one of"),
    (
        {"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"antialias": 1},
        TypeError,
        r"^antialias must be True or False",
    ),
    (
        {"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"align_corners": 1},
        TypeError,
        r"^align_corners must be True or False",
    ),
    ({"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"outside": "wrap"}, ValueError, r"^outside must be one of"),
    (
        {"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"antialias": True, "align_corners": True},
        ValueError,
        r"^align_corners must be left out with antialias=True; got True",
    ),
    (
        {"table": TABLE, "old": (5,), "new": (2,)} | CUBIC | {"method": "tiled", "antialias": True},
        ValueError,
        r"^antialias must be left out with method='tiled'",
    ),
    (
        {"table": np.zeros((4, 1 << 18)), "old": (2, 2), "new": (1 << 14, 1 << 14)} | CUBIC,
        ValueError,
        r"^new must need at most",
    ),
]


@pytest.mark.parametrize(("given", "error", "message"), REFUSED)
def test_refusals_name_the_argument(given, error, message):
    with pytest.raises(error, match=message):
        resize_table(**given)
