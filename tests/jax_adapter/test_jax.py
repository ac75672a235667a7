"""Every member through jit, grad and vmap, with its parameters as a pytree, and against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc import ALiBi, RoPE, Shaw, Sinusoidal, T5Bias, Turn
from posenc.compose import LearnedScale
from posenc.doors import Adds, Biases, Encoding, Rotates, Scores
from posenc.jax import Bound, bind, parameters
from posenc.testing import budgets
from posenc.testing.one_coordinate import placed
from samples import DOORS, SAMPLES, by_night, firsts

#: The others by night, since compiling takes seconds: that every row jits, maps and has its gradient is checked by
#: tests/conformance.
every = pytest.mark.parametrize("record", by_night(SAMPLES, daily=DOORS | firsts("ValueRotation")))


def bound_to(record: Encoding) -> Bound:
    """Parameters that are no longer those of the seed, as after training."""
    shift = -0.25 if type(record).__name__ == "PoPE" else 0.25  # its phases end at 0
    return jax.tree.map(lambda value: 1.5 * value + shift, bind(record, seed=3))


def inputs(record: Encoding, n: int = 5) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(n)
    # Far out, unless positions end somewhere, or the angle is a float, as of a learned frequency, which loses digits.
    start = 70_000 if "unlimited" in record.claims and not budgets.formed(record) else 0
    query, key = (placed(record, jnp.arange(count) + start) for count in (n, n + 2))
    if isinstance(record, Adds):
        return jnp.asarray(rng.standard_normal((3, n, record.width)), jnp.float32), query
    if isinstance(record, Biases):
        return query, key
    width = record.head_dim if isinstance(record, Rotates) else getattr(record, "dim", 8)
    own = getattr(record, "heads", None)  # of a rotation: those that each turn in their own way, which are not grouped
    heads = own or 12
    key_heads = 4 if isinstance(record, Rotates) and own is None else heads
    q, k = (rng.standard_normal((3, h, m, width)) for h, m in ((heads, n), (key_heads, n + 2)))
    content = [q, k]
    if isinstance(record, Scores) and record.reads:
        content += [rng.standard_normal((3, record.places_read(n, n + 2), record.model_dim))]
    return *(jnp.asarray(part, jnp.float32) for part in content), query, key


def run(bound: Bound, *arguments: jax.Array) -> tuple[jax.Array, ...]:
    """All that a record computes: for a record that scores, the scores and what goes to the output."""
    if isinstance(bound.record, Adds):
        return (bound.add(*arguments),)
    if isinstance(bound.record, Rotates) and "value" in bound.record.roles:
        q, k, query, key = arguments
        return bound.rotate_values(k, key, layout="bhtd"), bound.rotate_back(q, query, layout="bhtd")
    if isinstance(bound.record, Rotates):
        return bound.rotate(*arguments, layout="bhtd")
    if isinstance(bound.record, Biases):
        return (bound.bias(*arguments),)
    q, k, *hidden, query, key = arguments
    scores = bound.score(q, k, query, key, hidden=hidden[0] if hidden else None)
    values = bound.values(jax.nn.softmax(scores), query, key)
    return (scores,) if values is None else (scores, values)


#: One for the whole file, so that a record is compiled once for all tests.
jitted = jax.jit(run)


def unit(record: Encoding, least: float = 2.0**-24) -> float:
    """What one of 16 terms may be off: a rounding, and what an angle loses that is formed in float32."""
    if budgets.released(record):  # 70,000 radians: half a step of 2^-7, and XLA may round the frequency in another way
        return 2.0**-8
    return least + budgets.angle(record, 7, "float32") / 16


def near(left: Any, right: Any, unit: float = 2.0**-24) -> bool:
    """Equal but for a rounding of each of 16 terms that may be added in another order or fused."""
    pairs = list(zip(left, right, strict=True))
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=0, atol=16 * unit * max(1.0, float(np.abs(b).max())))
        for a, b in pairs
    )


@pytest.mark.parametrize("record", by_night(SAMPLES, daily=firsts("Learned")))  # compiled operation by operation too
def test_jit_takes_the_pytree(record: Encoding) -> None:
    bound = bound_to(record)
    assert near(jitted(bound, *inputs(record)), run(bound, *inputs(record)), unit(record))
    leaves, structure = jax.tree.flatten(bound)
    assert len(leaves) == len(record.shapes)
    assert jax.tree.unflatten(structure, leaves).record == record


@every
def test_numpy_gives_the_same(record: Encoding) -> None:
    bound, arguments = bound_to(record), inputs(record)
    there = [np.asarray(x, np.float64 if x.dtype == jnp.float32 else np.int64) for x in arguments]
    params = {name: np.asarray(value, np.float64) for name, value in bound.params.items()}
    got = jitted(bound, *arguments)
    if isinstance(record, Adds):
        expected: tuple[Any, ...] = (record.attach(*there, params),)
    elif isinstance(record, Rotates):
        q, k, query, key = there
        pairs = [(query, q, record.roles[0]), (key, k, record.roles[1])]
        if "value" in record.roles:  # values stand where keys do
            pairs = [(key, k, "value"), (query, q, "output")]
        expected = tuple(record.turn(at, params, role=role)(x, layout="bhtd") for at, x, role in pairs)
    elif isinstance(record, Biases):
        expected = (record.matrix(*there, params),)
    else:
        weights = np.asarray(jax.nn.softmax(got[0]), np.float64)
        q, k, *hidden, query, key = there
        scores = record.score(q, k, query, key, params, hidden=hidden[0] if hidden else None)
        values = record.values(weights, query, key, params)
        expected = (scores,) if values is None else (scores, values)
    assert near(got, expected, unit(record, 2.0**-22))


@every
def test_grad_reaches_every_parameter_and_input(record: Encoding) -> None:
    bound, arguments = bound_to(record), inputs(record)

    def loss(bound: Bound, *floats: jax.Array) -> jax.Array:
        rest = arguments[len(floats) :]
        # Cubes: the squares of a cosine and a sine add up to one, whatever their phase is.
        return sum((part**3).sum() for part in run(bound, *floats, *rest))

    floats = tuple(x for x in arguments if x.dtype == jnp.float32)
    by_bound, *by_input = jax.jit(jax.grad(loss, argnums=tuple(range(1 + len(floats)))))(bound, *floats)
    assert isinstance(by_bound, Bound)
    assert by_bound.record == record
    assert set(by_bound.params) == set(record.shapes)
    assert all(bool(jnp.isfinite(g).all()) for g in by_bound.params.values())
    # FIRE's threshold is no part of the number of a query beyond it.
    idle = {"multiplier"} if type(record).__name__ == "FIRE" else set()
    assert all(bool(g.any()) or name in idle for name, g in by_bound.params.items())
    assert all(bool(jnp.isfinite(g).all()) for g in by_input)


@every
def test_vmap_over_rows(record: Encoding) -> None:
    bound = bound_to(record)
    rows = [inputs(record), tuple(x[..., ::-1] for x in inputs(record))]
    mapped = jax.jit(jax.vmap(run, in_axes=(None, *(0 for _ in rows[0]))))(
        bound, *(jnp.stack(parts) for parts in zip(*rows, strict=True))
    )
    for index, row in enumerate(rows):
        assert near([part[index] for part in mapped], jitted(bound, *row), unit(record))


@pytest.mark.parametrize("record", [T5Bias(heads=3), Shaw(dim=4, clip=2)])
def test_vmap_over_parameters(record: Encoding) -> None:
    members = [bind(record, seed) for seed in (0, 1)]
    stacked = jax.tree.map(lambda *values: jnp.stack(values), *members)
    mapped = jax.jit(jax.vmap(run, in_axes=(0, *(None for _ in inputs(record)))))(stacked, *inputs(record))
    for index, member in enumerate(members):
        assert near([part[index] for part in mapped], jitted(member, *inputs(record)))


def test_a_turn_made_once_passes_through_jit_and_vmap() -> None:
    turn = RoPE(dim=8).turn(jnp.arange(5) + 70_000)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((2, 5, 8)), jnp.float32)
    assert near([jax.jit(lambda turn, x: turn(x))(turn, x)], [turn(x)])
    assert near([jax.vmap(lambda x, turn: turn(x), in_axes=(0, None))(x, turn)], [turn(x)])
    again = jax.tree.map(lambda part: part, turn)
    assert isinstance(again, Turn)
    assert again.pairing == turn.pairing
    assert len(jax.tree.leaves(turn)) == 2


def test_records_are_static_and_one_compilation_serves_equal_records() -> None:
    traced = []

    def bias(bound: Bound, positions: jax.Array) -> jax.Array:
        traced.append(bound.record)
        return bound.bias(positions, positions)

    compiled = jax.jit(bias)
    for record in (ALiBi(heads=2), ALiBi(heads=2), ALiBi(heads=4)):
        assert compiled(bind(record), jnp.arange(3)).shape == (record.heads, 3, 3)
    assert traced == [ALiBi(heads=2), ALiBi(heads=4)]
    embed = jax.jit(lambda record, positions: record.embed(positions), static_argnums=0)
    assert embed(Sinusoidal(dim=4), jnp.arange(3)).shape == (3, 4)


def test_parameters_are_those_of_the_torch_module() -> None:
    torch = pytest.importorskip("torch")
    from posenc.torch import module

    record = T5Bias(heads=12)
    ours, theirs = parameters(record, 7), dict(module(record, seed=7).named_parameters())
    assert ours["table"].dtype == jnp.float32
    assert {name: value.tolist() for name, value in ours.items()} == {
        name: value.tolist() for name, value in theirs.items()
    }
    assert all(isinstance(value, torch.nn.Parameter) for value in theirs.values())


def test_training_lowers_the_loss() -> None:
    record = LearnedScale(Sinusoidal(dim=8), initial=0.1)
    x, goal = jnp.zeros((1, 6, 8)), 2.0 * Sinusoidal(dim=8).embed(jnp.arange(6))

    @jax.jit
    def step(bound: Bound) -> Bound:
        slopes = jax.grad(lambda bound: ((bound.add(x, jnp.arange(6)) - goal) ** 2).mean())(bound)
        return jax.tree.map(lambda value, slope: value - 0.5 * slope, bound, slopes)

    bound = bind(record)
    for _ in range(40):
        bound = step(bound)
    # Each step multiplies the distance from 2 by 1 - 0.5·2·mean(wave²) = 1/2.
    assert abs(float(bound.params["scale"]) - 2.0) < 1e-5


def test_errors() -> None:
    with pytest.raises(TypeError, match="record must be a record of the door 'adds' for add; got RoPE"):
        bind(RoPE(dim=8)).add(jnp.zeros((1, 2, 8)), jnp.arange(2))
    with pytest.raises(TypeError, match="record must be a record of the door 'scores' for values; got ALiBi"):
        bind(ALiBi(heads=2)).values(jnp.zeros((1, 2, 2, 2)), jnp.arange(2), jnp.arange(2))
    with pytest.raises(TypeError, match="record must be an encoding; got"):
        parameters("RoPE")
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        parameters(RoPE(dim=8), -1)
    with pytest.raises(ValueError, match="x must have as many places as the turn has positions"):
        bind(RoPE(dim=8)).rotate(
            jnp.zeros((1, 2, 3, 8)), jnp.zeros((1, 2, 3, 8)), jnp.arange(4), jnp.arange(3), layout="bhtd"
        )
