"""Every member through jit, grad and vmap, with its parameters as a pytree, and against NumPy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from jax_adapter.calls import bound_to, inputs, run
from posenc import ALiBi, Partial, PoPE, RoPE, Rotation, Shaw, Sinusoidal, T5Bias, YaRN
from posenc.compose import LearnedScale
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.jax import Bound, bind, parameters
from posenc.testing import budgets
from samples import DOORS, SAMPLES, by_night, firsts

#: The others by night, since compiling takes seconds: that every row jits, maps and has its gradient is checked by
#: tests/conformance.
every = pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=DOORS | firsts("ValueRotation")))


#: One for the whole file, so that an encoding is compiled once for all tests.
jitted = jax.jit(run)


def unit(encoding: Encoding, least: float = 2.0**-24) -> float:
    """What one of 16 terms may be off: a rounding, and what an angle loses that is formed in float32."""
    if budgets.released(
        encoding
    ):  # 70,000 radians: half a step of 2^-7, and XLA may round the frequency in another way
        return 2.0**-8
    return least + budgets.angle(encoding, 7, "float32") / 16


def near(left: Any, right: Any, unit: float = 2.0**-24) -> bool:
    """Equal but for a rounding of each of 16 terms that may be added in another order or fused."""
    pairs = list(zip(left, right, strict=True))
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=0, atol=16 * unit * max(1.0, float(np.abs(b).max())))
        for a, b in pairs
    )


@pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=firsts("Learned")))  # compiled operation by operation too
def test_jit_takes_the_pytree(encoding: Encoding) -> None:
    bound = bound_to(encoding)
    assert near(jitted(bound, *inputs(encoding)), run(bound, *inputs(encoding)), unit(encoding))
    leaves, structure = jax.tree.flatten(bound)
    assert len(leaves) == len(encoding.shapes)
    assert jax.tree.unflatten(structure, leaves).encoding == encoding


@every
def test_numpy_gives_the_same(encoding: Encoding) -> None:
    bound, arguments = bound_to(encoding), inputs(encoding)
    there = [np.asarray(x, np.float64 if x.dtype == jnp.float32 else np.int64) for x in arguments]
    params = {name: np.asarray(value, np.float64) for name, value in bound.params.items()}
    got = jitted(bound, *arguments)
    if isinstance(encoding, AdditiveEncoding):
        expected: tuple[Any, ...] = (encoding.attach(*there, params),)
    elif isinstance(encoding, RotaryEncoding):
        q, k, query_positions, key_positions = there
        pairs = [(query_positions, q, encoding.roles[0]), (key_positions, k, encoding.roles[1])]
        if "value" in encoding.roles:  # values stand where keys do
            pairs = [(key_positions, k, "value"), (query_positions, q, "output")]
        expected = tuple(encoding.rotation(at, params, role=role)(x, layout="bhtd") for at, x, role in pairs)
    elif isinstance(encoding, AttentionBias):
        expected = (encoding.matrix(*there, params),)
    else:
        weights = np.asarray(jax.nn.softmax(got[0]), np.float64)
        q, k, *hidden, query_positions, key_positions = there
        scores = encoding.score(q, k, query_positions, key_positions, params, hidden=hidden[0] if hidden else None)
        values = encoding.values(weights, query_positions, key_positions, params)
        expected = (scores,) if values is None else (scores, values)
    assert near(got, expected, unit(encoding, 2.0**-22))


@every
def test_grad_reaches_every_parameter_and_input(encoding: Encoding) -> None:
    bound, arguments = bound_to(encoding), inputs(encoding)

    def loss(bound: Bound, *floats: jax.Array) -> jax.Array:
        rest = arguments[len(floats) :]
        # Cubes: the squares of a cosine and a sine add up to one, whatever their phase is.
        return sum((part**3).sum() for part in run(bound, *floats, *rest))

    floats = tuple(x for x in arguments if x.dtype == jnp.float32)
    by_bound, *by_input = jax.jit(jax.grad(loss, argnums=tuple(range(1 + len(floats)))))(bound, *floats)
    assert isinstance(by_bound, Bound)
    assert by_bound.encoding == encoding
    assert set(by_bound.params) == set(encoding.shapes)
    assert all(bool(jnp.isfinite(g).all()) for g in by_bound.params.values())
    # FIRE's threshold is no part of the number of a query beyond it.
    idle = {"multiplier"} if type(encoding).__name__ == "FIRE" else set()
    assert all(bool(g.any()) or name in idle for name, g in by_bound.params.items())
    assert all(bool(jnp.isfinite(g).all()) for g in by_input)


@every
def test_vmap_over_rows(encoding: Encoding) -> None:
    bound = bound_to(encoding)
    rows = [inputs(encoding), tuple(x[..., ::-1] for x in inputs(encoding))]
    mapped = jax.jit(jax.vmap(run, in_axes=(None, *(0 for _ in rows[0]))))(
        bound, *(jnp.stack(parts) for parts in zip(*rows, strict=True))
    )
    for index, row in enumerate(rows):
        assert near([part[index] for part in mapped], jitted(bound, *row), unit(encoding))


@pytest.mark.parametrize("encoding", [T5Bias(heads=3), Shaw(dim=4, clip=2)])
def test_vmap_over_parameters(encoding: Encoding) -> None:
    members = [bind(encoding, seed) for seed in (0, 1)]
    stacked = jax.tree.map(lambda *values: jnp.stack(values), *members)
    mapped = jax.jit(jax.vmap(run, in_axes=(0, *(None for _ in inputs(encoding)))))(stacked, *inputs(encoding))
    for index, member in enumerate(members):
        assert near([part[index] for part in mapped], jitted(member, *inputs(encoding)))


def test_a_rotation_made_once_passes_through_jit_and_vmap() -> None:
    rotation = RoPE(dim=8).rotation(jnp.arange(5) + 70_000)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((2, 5, 8)), jnp.float32)
    assert near([jax.jit(lambda rotation, x: rotation(x))(rotation, x)], [rotation(x)])
    assert near([jax.vmap(lambda x, rotation: rotation(x), in_axes=(0, None))(x, rotation)], [rotation(x)])
    again = jax.tree.map(lambda part: part, rotation)
    assert isinstance(again, Rotation)
    assert again.pairing == rotation.pairing
    assert len(jax.tree.leaves(rotation)) == 2


def test_encodings_are_static_and_one_compilation_serves_equal_encodings() -> None:
    traced = []

    def bias(bound: Bound, positions: jax.Array) -> jax.Array:
        traced.append(bound.encoding)
        return bound.bias(positions, positions)

    compiled = jax.jit(bias)
    for encoding in (ALiBi(heads=2), ALiBi(heads=2), ALiBi(heads=4)):
        assert compiled(bind(encoding), jnp.arange(3)).shape == (encoding.heads, 3, 3)
    assert traced == [ALiBi(heads=2), ALiBi(heads=4)]
    embed = jax.jit(lambda encoding, positions: encoding.embed(positions), static_argnums=0)
    assert embed(Sinusoidal(dim=4), jnp.arange(3)).shape == (3, 4)


def test_parameters_are_those_of_the_torch_module() -> None:
    torch = pytest.importorskip("torch")
    from posenc.torch import module

    encoding = T5Bias(heads=12)
    ours, theirs = parameters(encoding, 7), dict(module(encoding, seed=7).named_parameters())
    assert ours["table"].dtype == jnp.float32
    assert {name: value.tolist() for name, value in ours.items()} == {
        name: value.tolist() for name, value in theirs.items()
    }
    assert all(isinstance(value, torch.nn.Parameter) for value in theirs.values())


def test_training_lowers_the_loss() -> None:
    encoding = LearnedScale(Sinusoidal(dim=8), initial=0.1)
    x, goal = jnp.zeros((1, 6, 8)), 2.0 * Sinusoidal(dim=8).embed(jnp.arange(6))

    @jax.jit
    def step(bound: Bound) -> Bound:
        slopes = jax.grad(lambda bound: ((bound.add(x, jnp.arange(6)) - goal) ** 2).mean())(bound)
        return jax.tree.map(lambda value, slope: value - 0.5 * slope, bound, slopes)

    bound = bind(encoding)
    for _ in range(40):
        bound = step(bound)
    # Each step multiplies the distance from 2 by 1 - 0.5·2·mean(wave²) = 1/2.
    assert abs(float(bound.params["scale"]) - 2.0) < 1e-5


def test_numpy_positions_beside_jax_arrays_are_those_of_jax() -> None:
    """As in JAX itself; a number that 32 bits do not hold is refused where it can still be seen."""
    positions, far, x = np.arange(3), np.array([0, 1, 2**31]), jnp.ones((1, 2, 3, 4))
    shaw = bind(Shaw(dim=4, clip=2))
    for name, call in (
        ("positions", lambda at: bind(Sinusoidal(dim=4)).add(x, at)),
        ("query_positions", lambda at: bind(RoPE(dim=4)).rotate(x, x, at, positions, layout="bhtd")[0]),
        ("key_positions", lambda at: bind(RoPE(dim=4)).rotate(x, x, positions, at, layout="bhtd")[1]),
        ("query_positions", lambda at: bind(ALiBi(heads=2)).bias(at, positions)),
        ("key_positions", lambda at: bind(ALiBi(heads=2)).bias(positions, at)),
        ("key_positions", lambda at: shaw.score(x, x, positions, at)),
        ("key_positions", lambda at: shaw.values(x @ x.swapaxes(-1, -2), positions, at)),
    ):
        assert isinstance(call(positions), jax.Array)
        assert jnp.array_equal(call(positions), call(jnp.arange(3)))
        with pytest.raises(ValueError, match=rf"^{name} must be below 2\^31 .* got values from 0 to 2147483648"):
            call(far)
        with pytest.raises(ValueError, match=rf"^{name} must be integers, or float32 .* got 16777217\.0"):
            call(far / 128 + 1.0)


def test_no_size_is_refused_while_nothing_is_allocated() -> None:
    """2^33 numbers and more, of which a trace makes none; eager, sizes count with the bytes of their dtype."""
    shape = jax.eval_shape(lambda at: bind(ALiBi(heads=32)).bias(at, at), jax.ShapeDtypeStruct((20_000,), jnp.int32))
    assert shape.shape == (32, 20_000, 20_000)
    positions = jnp.arange(8_193)
    with pytest.raises(
        ValueError, match=r"^query_positions and key_positions must need at most .* got 2148007968 numbers of 4 bytes"
    ):
        bind(ALiBi(heads=32)).bias(positions, positions)
    with pytest.raises(ValueError, match=r"^q and k must need at most .*"):
        bind(Shaw(dim=4, clip=2)).score(*[jnp.ones((32, 8_193, 4))] * 2, positions, positions)


def exported(encoding: Encoding) -> Any:
    """The pytree and inputs of a length still unknown, exported."""
    length = export.symbolic_shape("length")[0]

    def described(x: jax.Array) -> Any:
        return jax.ShapeDtypeStruct(tuple(length if size in (5, 7) else size for size in x.shape), x.dtype)

    arguments = [described(x) for x in inputs(encoding)]
    bound = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), bind(encoding))
    return export.export(jitted)(bound, *arguments)


EXPORTED = (ALiBi(heads=12), T5Bias(heads=12), RoPE(dim=8), Sinusoidal(dim=8), Shaw(dim=8, clip=2))


@pytest.mark.parametrize("encoding", by_night(EXPORTED, daily={RoPE(dim=8), T5Bias(heads=12)}))
def test_a_length_may_be_a_symbol_in_an_export_that_is_written_and_read_back(encoding: Encoding) -> None:
    program = export.deserialize(exported(encoding).serialize())
    for count in (6, 9):
        arguments = long_inputs(encoding, count)
        assert near(program.call(bound_to(encoding), *arguments), run(bound_to(encoding), *arguments), unit(encoding))


def long_inputs(encoding: Encoding, count: int) -> list[jax.Array]:
    """Inputs of so many queries and as many keys."""
    at = jnp.arange(count)
    x = jnp.asarray(np.random.default_rng(0).standard_normal((3, 12, count, 8)), jnp.float32)
    if isinstance(encoding, AdditiveEncoding):
        return [x[:, 0], at]
    keys = x[:, :4] if isinstance(encoding, RotaryEncoding) else x
    return [at, at] if isinstance(encoding, AttentionBias) else [x, keys, at, at]


def test_an_operator_is_written_and_read_back() -> None:
    for encoding in (RoPE(dim=8, scaling=YaRN(4.0, 4096)), Partial(RoPE(dim=4), dim=8), PoPE(dim=4, heads=2)):
        rotation = encoding.rotation(jnp.arange(5), parameters(encoding) or None, role="query")
        x = jnp.ones((1, 2, 5, rotation.dim))
        program = export.export(jax.jit(lambda rotation, x: rotation(x, layout="bhtd")))(rotation, x)
        assert jnp.array_equal(export.deserialize(program.serialize()).call(rotation, x), rotation(x, layout="bhtd"))


def test_an_encoding_that_could_not_be_read_back_is_not_written() -> None:
    class Mine(ALiBi):
        pass

    program = export.export(jax.jit(lambda bound: bound.bias(jnp.arange(2), jnp.arange(2))))(Bound(Mine(heads=2), {}))
    with pytest.raises(ValueError, match=r"^encoding must be one that posenc knows"):
        program.serialize()


def test_errors() -> None:
    with pytest.raises(TypeError, match="encoding must be an encoding of the door 'adds' for add; got RoPE"):
        bind(RoPE(dim=8)).add(jnp.zeros((1, 2, 8)), jnp.arange(2))
    with pytest.raises(TypeError, match="encoding must be an encoding of the door 'scores' for values; got ALiBi"):
        bind(ALiBi(heads=2)).values(jnp.zeros((1, 2, 2, 2)), jnp.arange(2), jnp.arange(2))
    with pytest.raises(TypeError, match="encoding must be an encoding; got"):
        parameters("RoPE")
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        parameters(RoPE(dim=8), -1)
    with pytest.raises(TypeError, match=r"got the class RoPE\. Make one, RoPE\(dim=…\)\."):
        bind(RoPE)


@pytest.mark.parametrize(
    ("change", "error", "begins"),
    [
        (
            {"query_positions": jnp.arange(4)},
            ValueError,
            "query_positions must hold a position for each of 3 tokens, w",
        ),
        ({"key_positions": jnp.arange(4)}, ValueError, "key_positions must hold a position for each of 3 tokens"),
        ({"key_positions": jnp.zeros(3, jnp.float16)}, TypeError, "key_positions must be integers, float32 or float64"),
        ({"layout": "bthd"}, ValueError, r"query_positions must hold a position .* 2 tokens.*, or check the layout\.$"),
        ({"layout": "thd"}, ValueError, r"q must have shape 'thd' with d = 8; got \(1, 2, 3, 8\)"),
        ({"layout": None}, TypeError, "layout must be one of"),
        ({"k": jnp.zeros((1, 2, 3, 4))}, ValueError, "k must have shape 'bhtd' with d = 8"),
        ({"q": jnp.zeros((1, 2, 3, 8), int)}, TypeError, "q must hold floats; got int32"),
    ],
)
def test_an_error_of_rotate_names_an_argument_of_rotate(change: dict[str, Any], error: type, begins: str) -> None:
    x, at = jnp.zeros((1, 2, 3, 8)), jnp.arange(3)
    with pytest.raises(error, match=f"^{begins}"):
        bind(RoPE(dim=8)).rotate(
            **{"q": x, "k": x, "query_positions": at, "key_positions": at, "layout": "bhtd"} | change
        )
