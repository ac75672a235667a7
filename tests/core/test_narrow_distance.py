"""Distances where there are no 64-bit numbers: refused or saturated, never wrapped."""

import numpy as np
import pytest

import posenc
from posenc.core.checked_positions import checked
from posenc.positions import difference
from posenc.positions.whole_positions import whole_difference

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

FAR = 2**31 - 1


def test_what_cannot_be_held_is_refused_where_it_can_be_seen():
    with pytest.raises(
        ValueError, match=r"^key_positions must be less than 2\^31 away from query_positions where there are no 64-bit"
    ):
        difference(jnp.asarray([-5]), jnp.asarray([FAR]))
    with pytest.raises(ValueError, match=r"^key_positions must be less than 2\^31 away from query_positions"):
        difference(jnp.asarray([FAR]), jnp.asarray([-5, FAR]))
    with pytest.raises(ValueError, match=r"^key_positions must be less than 2\^31 away from query_positions"):
        whole_difference(checked(jnp.asarray([-5])), checked(jnp.asarray([FAR])))


def test_the_farthest_that_can_be_held_is_exact():
    assert difference(jnp.asarray([-1]), jnp.asarray([FAR - 1])).tolist() == [FAR]
    assert difference(jnp.asarray([FAR]), jnp.asarray([0, FAR])).tolist() == [-FAR, 0]


def test_while_tracing_it_saturates_and_a_bias_that_needs_more_is_nan():
    query_positions, key_positions = jnp.asarray([-5, FAR]), jnp.asarray([FAR, -5])
    assert jax.jit(difference)(query_positions, key_positions).tolist() == [FAR, -FAR]
    alibi = jax.jit(posenc.ALiBi(heads=2).matrix)(query_positions, key_positions)
    assert np.isnan(np.asarray(alibi)[0]).tolist() == [[True, False], [False, True]]
    table = {"table": jnp.arange(32.0)[:, None]}
    t5 = jax.jit(posenc.T5Bias(heads=1).matrix)(query_positions, key_positions, table)
    assert t5[0, 0, 0] == 31
    assert t5[0, 1, 1] == 15
