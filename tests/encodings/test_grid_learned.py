"""Learned positions on grids: tokens before the patches, three axes, resizing, and what is refused."""

import numpy as np
import pytest

from posenc import FactorisedLearned, GridLearned
from posenc.positions import grid, prefixed

RNG = np.random.default_rng(0)


def test_the_grid_in_its_order_is_the_table():
    encoding = GridLearned(dim=3, sizes=(4, 5), prefix=2)
    params = encoding.init(RNG)
    assert np.array_equal(encoding.embed(prefixed(grid(4, 5), 2), params), params["table"])


def test_frames_are_slowest_and_tokens_before_them_are_kept():
    encoding = GridLearned(dim=2, sizes=(3, 2, 4), prefix=1)
    params = encoding.init(RNG)
    assert np.array_equal(encoding.embed(prefixed(grid(2, 4, frames=3), 1), params), params["table"])


def test_a_resized_grid_keeps_its_class_token_and_its_place():
    encoding = GridLearned(dim=2, sizes=(2, 8), prefix=1)
    rows, columns = grid(2, 8).T
    params = {"table": np.concatenate([[[7.0, 9.0]], np.stack([rows, columns], -1)])}
    other, found = encoding.resized(params, (4, 4), method="bilinear", antialias=False)
    assert other == GridLearned(dim=2, sizes=(4, 4), prefix=1)
    assert other.embed([[-1, 0]], found).tolist() == [[7.0, 9.0]]
    assert np.allclose(other.embed([[0, 0], [3, 3], [1, 2]], found), [[0, 0.5], [1, 6.5], [0.25, 4.5]])


def test_summed_and_concatenated():
    params = {"table_0": RNG.normal(size=(4, 3)), "table_1": RNG.normal(size=(5, 3))}
    rows, columns = (params["table_0"][grid(4, 5)[:, 0]], params["table_1"][grid(4, 5)[:, 1]])
    summed = FactorisedLearned(sizes=(4, 5), dims=(3, 3))
    assert np.array_equal(summed.embed(grid(4, 5), params), rows + columns)
    behind = FactorisedLearned(sizes=(4, 5), dims=(3, 3), combine="concatenated")
    assert np.array_equal(behind.embed(grid(4, 5), params), np.concatenate([rows, columns], -1))
    assert FactorisedLearned(sizes=(4, 5, 6), dims=(3, 2, 1), combine="concatenated").width == 6


OFF = [[4, 0], [0, 5], [-2, 0], [-1, 2], [-1, -1], [0, -1], [2**40, 0]]


@pytest.mark.parametrize("place", OFF)
def test_positions_off_the_grid_are_refused_and_give_nan_where_they_cannot_be_seen(place):
    encoding = GridLearned(dim=3, sizes=(4, 5), prefix=2)
    params = encoding.init(RNG)
    with pytest.raises(
        ValueError, match=r"^positions must be on the grid of \(4, 5\), or \(-1, …, j\) of a token j below 2"
    ):
        encoding.embed([[0, 0], place], params)
    torch = pytest.importorskip("torch")
    given = {"table": torch.from_numpy(params["table"])}
    found = torch.func.vmap(lambda one: encoding.embed(one, given))(torch.tensor([[[0, 0], place]]))[0]
    assert found.isnan().tolist() == [[False] * 3, [True] * 3]


def test_without_tokens_before_it_the_row_above_is_off_the_grid():
    for encoding in (GridLearned(dim=3, sizes=(4, 5)), FactorisedLearned(sizes=(4, 5), dims=(3, 3))):
        with pytest.raises(ValueError, match=r"^positions must be on the grid of \(4, 5\); got \(-1, 0\)"):
            encoding.embed([[-1, 0]], encoding.init(RNG))


REFUSED = [
    (lambda: GridLearned(dim=3, sizes=5), TypeError, r"^sizes must be a tuple of 2 to 3 sizes; got 5"),
    (lambda: GridLearned(dim=3, sizes=(5,)), TypeError, r"^sizes must be a tuple of 2 to 3 sizes"),
    (lambda: GridLearned(dim=3, sizes=(5, 0)), ValueError, r"^sizes must be an integer from 1"),
    (lambda: GridLearned(dim=3, sizes=(5, 5), prefix=-1), ValueError, r"^prefix must be an integer from 0"),
    (lambda: GridLearned(dim=1 << 20, sizes=(1 << 14, 1 << 14)), ValueError, r"^sizes must need at most"),
    (lambda: FactorisedLearned(sizes=(4, 5), dims=(3,)), TypeError, r"^dims must be a tuple of 2 to 3 sizes"),
    (lambda: FactorisedLearned(sizes=(4, 5), dims=(3, 2)), ValueError, r"^dims must be the same number for each"),
    (
        lambda: FactorisedLearned(sizes=(4, 5), dims=(3, 2, 1), combine="concatenated"),
        ValueError,
        r"^dims must be one number for each coordinate of sizes=\(4, 5\)",
    ),
    (
        lambda: FactorisedLearned(sizes=(4, 5), dims=(3, 3), combine="sum"),
        ValueError,
        r"^combine must be one of 'summed', 'concatenated'",
    ),
    (
        lambda: GridLearned(dim=1, sizes=(2, 2)).resized(
            {"table": np.zeros((4, 1))}, (2, 2, 2), method="bicubic", antialias=True
        ),
        ValueError,
        r"^new must have as many axes",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()
