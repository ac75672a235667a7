"""Factorised learned positions: digits of a position, on grids that are not square, and every refusal."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from posenc import AxialLearned

SHAPE, DIMS = (3, 7), (2, 3)
RECORD = AxialLearned(shape=SHAPE, dims=DIMS)
PARAMS = RECORD.init(np.random.default_rng(0))


def test_a_row_is_the_rows_of_its_digits() -> None:
    found = RECORD.embed(np.arange(21), PARAMS).reshape(3, 7, 5)
    for row in range(3):
        for column in range(7):
            assert np.array_equal(found[row, column], [*PARAMS["table_0"][row], *PARAMS["table_1"][column]])


def test_three_axes_count_with_the_last_one_fastest() -> None:
    encoding = AxialLearned(shape=(2, 3, 4), dims=(1, 1, 1))
    digits = {f"table_{axis}": np.arange(size, dtype=float)[:, None] for axis, size in enumerate(encoding.shape)}
    wanted = np.stack(np.unravel_index(np.arange(24), (2, 3, 4)), -1)
    assert np.array_equal(encoding.embed(np.arange(24), digits), wanted)


def test_far_fewer_numbers_than_positions() -> None:
    encoding = AxialLearned(shape=(1_024, 2_048), dims=(64, 192))
    assert encoding.length == 2**21
    assert sum(int(np.prod(shape)) for shape in encoding.shapes.values()) == 1_024 * 64 + 2_048 * 192


def test_fresh_tables_have_the_deviation_asked_for() -> None:
    drawn = AxialLearned(shape=(100, 50), dims=(100, 200), std=0.25).init(np.random.default_rng(1))
    # 10,000 draws each: the deviation is off by 0.25/√20000; five of these.
    assert all(abs(table.std() - 0.25) <= 0.009 for table in drawn.values())


def test_gradients_reach_the_rows_that_were_read() -> None:
    params = {name: torch.tensor(value, requires_grad=True) for name, value in PARAMS.items()}
    RECORD.embed(torch.tensor([8, 9, 1]), params, dtype=torch.float64).sum().backward()
    assert params["table_0"].grad is not None
    assert params["table_1"].grad is not None
    assert params["table_0"].grad[:, 0].tolist() == [1.0, 2.0, 0.0]
    assert params["table_1"].grad[:, 0].tolist() == [0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0]


def test_a_bad_position_is_nan_where_it_cannot_be_seen() -> None:
    params = {name: jnp.asarray(value, jnp.float32) for name, value in PARAMS.items()}
    found = np.asarray(jax.jit(RECORD.embed)(jnp.asarray([-1, 0, 20, 21]), params))
    assert np.isnan(found).all(-1).tolist() == [True, False, False, True]


REFUSED = [
    (
        lambda: AxialLearned(shape=8, dims=(1, 1)),
        TypeError,
        r"^shape must be a tuple of two or more whole numbers; got 8",
    ),
    (lambda: AxialLearned(shape=(8,), dims=(1,)), TypeError, r"^shape must be a tuple of two or more"),
    (lambda: AxialLearned(shape=(8, 0), dims=(1, 1)), ValueError, r"^shape must be an integer from 1"),
    (lambda: AxialLearned(shape=(8, 2), dims=(1, 1.0)), TypeError, r"^dims must be an integer from 1"),
    (lambda: AxialLearned(shape=(8, 2), dims=(1, 1, 1)), ValueError, r"^dims must have a width for each of the 2 axes"),
    (lambda: AxialLearned(shape=(2**30, 2**30), dims=(1, 1)), ValueError, r"^shape must hold at most 2\^53 positions"),
    (lambda: AxialLearned(shape=(2**30, 2), dims=(64, 1)), ValueError, r"^shape must need at most \d+ bytes"),
    (lambda: AxialLearned(shape=(2, 2), dims=(1, 1), std=-0.5), ValueError, r"^std must be a finite number from 0"),
    (lambda: RECORD.init(3), TypeError, r"^rng must be a numpy.random.Generator"),
    (lambda: RECORD.embed([0]), ValueError, r"^params must hold what AxialLearned learns"),
    (lambda: RECORD.embed([21], PARAMS), ValueError, r"^positions must be from 0 to 20"),
    (lambda: RECORD.embed([-1], PARAMS), ValueError, r"^positions must be from 0 to 20"),
    (lambda: RECORD.embed([0.5], PARAMS), ValueError, r"^positions must hold whole numbers"),
    (lambda: RECORD.embed(torch.tensor([0]), PARAMS), TypeError, r"^arrays must come from one library"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refusals_name_the_argument(call, kind, message) -> None:
    with pytest.raises(kind, match=message):
        call()
