"""A row of the table for each distance, clipped at both ends."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc import RelativeBias


def test_rows_and_heads() -> None:
    table = np.random.default_rng(0).standard_normal((7, 12))
    query_positions, key_positions = [5, 900, 2], [0, 5, 4, 899, 3000]
    found = RelativeBias(heads=12, clip=3).matrix(query_positions, key_positions, {"table": table})
    for h in range(12):
        for i, m in enumerate(query_positions):
            for j, n in enumerate(key_positions):
                assert found[h, i, j] == table[3 + max(-3, min(3, m - n)), h]


def test_far_positions_keep_their_distance() -> None:
    table = np.arange(5.0)[:, None]
    found = RelativeBias(heads=1, clip=2).matrix([2**53], [2**53 - 1, -(2**53)], {"table": table})
    assert found.ravel().tolist() == [3.0, 4.0]


def test_a_fraction_is_nan_where_it_cannot_be_seen() -> None:
    add = jax.jit(
        lambda query_positions, key_positions: RelativeBias(heads=1).matrix(
            query_positions, key_positions, {"table": jnp.ones((13, 1))}
        )
    )
    found = np.asarray(add(jnp.asarray([1.0, 1.5]), jnp.asarray([0.0])))[0]
    assert np.isnan(found).ravel().tolist() == [False, True]


def test_init_has_the_deviation_of_the_source() -> None:
    table = RelativeBias(heads=64, clip=500).init(np.random.default_rng(0))["table"]
    # 64,064 normal draws: the sample's deviation is off by a share of 1/√(2·64064) = 0.0028; five of these.
    assert abs(table.std() / 0.02 - 1) < 0.014


TABLE = {"table": np.ones((13, 1))}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RelativeBias(heads=0), ValueError, r"^heads must be an integer from 1 to 65536; got 0"),
        (lambda: RelativeBias(heads=1, clip=0), ValueError, r"^clip must be an integer from 1 to 1048576; got 0"),
        (lambda: RelativeBias(heads=1 << 16, clip=1 << 20), ValueError, r"^clip must need at most 8589934592 bytes"),
        (lambda: RelativeBias(heads=1).init(3), TypeError, r"^rng must be a numpy.random.Generator; got 3"),
        (lambda: RelativeBias(heads=1).matrix([0], [1]), ValueError, r"^params must hold what RelativeBias learns"),
        (
            lambda: RelativeBias(heads=1).matrix([0.5], [0], TABLE),
            ValueError,
            r"^query_positions must hold whole numbers",
        ),
        (
            lambda: RelativeBias(heads=1).matrix([0], [0.5], TABLE),
            ValueError,
            r"^key_positions must hold whole numbers",
        ),
        (
            lambda: RelativeBias(heads=1).bias(1, 0, 0, TABLE),
            ValueError,
            r"^head must be from 0 to 0; got values from 1",
        ),
    ],
)
def test_refusals(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]
