"""Flax: modules of nnx, and encodings and rotations in flax's own serialization."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx, serialization

from posenc import ALiBi, CayleySTRING, Learned, PoPE, RoPE, T5Bias
from posenc.catalog import row
from posenc.jax import Bound, bind, parameters
from posenc.jax.flax import Module

LEARNED = Learned(dim=4, length=8)
LIERE, XDROPE = (row(name).samples[0] for name in ("LieRE", "XDRoPE"))


class Layer(nnx.Module):
    """A layer that learns nothing but its positions."""

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.encoding.add(x, jnp.arange(x.shape[-2]))


def trained(layer: Layer) -> np.ndarray:
    """The parameters after three steps, the way the tutorials of flax write them."""
    optimizer = nnx.Optimizer(layer, optax.sgd(1.0), wrt=nnx.Param)

    @nnx.jit
    def step(layer: Layer, optimizer: nnx.Optimizer) -> None:
        optimizer.update(layer, nnx.grad(lambda layer: layer(jnp.zeros((8, 4))).sum())(layer))

    for _ in range(3):
        step(layer, optimizer)
    return np.asarray(jax.tree.leaves(nnx.state(layer))[0])


def test_both_ways_into_nnx_train() -> None:
    """Steps of 1 along a gradient of 1: a bound encoding in nnx.Param, and the module that posenc has for nnx."""
    layer = Layer(Module(LEARNED, rngs=nnx.Rngs(5)))
    first = np.asarray(layer.encoding.params["table"][...])
    assert np.allclose(trained(layer), first - 3.0, rtol=0, atol=1e-6)
    bound = bind(LEARNED)
    assert np.allclose(trained(Layer(nnx.Param(bound))), np.asarray(bound.params["table"]) - 3.0, rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="Found data"):  # by nnx itself
        Layer(bound)


def test_a_module_has_the_methods_and_parameters_of_the_bound_encoding() -> None:
    module, at = Module(T5Bias(heads=2), rngs=nnx.Rngs(0)), jnp.arange(5)
    bound = Bound(module.encoding, {"table": module.params["table"][...]})
    assert jnp.array_equal(module.bias(at, at), bound.bias(at, at))
    graph, state = nnx.split(module)
    assert jnp.array_equal(nnx.merge(graph, state).bias(at, at), bound.bias(at, at))
    other = Module(T5Bias(heads=2), rngs=nnx.Rngs(1))
    assert not jnp.array_equal(other.params["table"][...], module.params["table"][...])
    x = jnp.ones((1, 2, 5, 8))
    rotated = nnx.jit(lambda module: module.rotate(x, x, at, at, layout="bhtd"))(Module(RoPE(dim=8), rngs=nnx.Rngs(0)))
    assert jnp.allclose(rotated[0], bind(RoPE(dim=8)).rotate(x, x, at, at, layout="bhtd")[0], rtol=0, atol=1e-6)
    with pytest.raises(TypeError, match=r"^encoding must be an encoding of the door 'adds' for add; got T5Bias"):
        module.add(x, at)
    with pytest.raises(TypeError, match=r"^rngs must be flax\.nnx\.Rngs"):
        Module(LEARNED, rngs=0)


@pytest.mark.parametrize("encoding", [LEARNED, ALiBi(heads=2), CayleySTRING(dim=4)])
def test_bound_encodings_are_written_and_read_back(encoding: Any) -> None:
    bound, target = bind(encoding, 1), {"step": 0, "encoding": bind(encoding)}
    read = serialization.from_bytes(target, serialization.to_bytes({"step": 3, "encoding": bound}))
    assert read["step"] == 3
    assert read["encoding"].encoding == encoding
    assert jax.tree.all(jax.tree.map(np.array_equal, read["encoding"], bound))


@pytest.mark.parametrize(
    "encoding",
    [RoPE(dim=8), CayleySTRING(dim=4), PoPE(dim=4, heads=2), row("LieRE").samples[0], row("XDRoPE").samples[0]],
)
def test_turns_are_written_and_read_back(encoding: Any) -> None:
    def rotation(start: int) -> Any:
        at = jnp.arange(3) + start
        return encoding.rotation(
            at if encoding.axes == 1 else jnp.stack([at] * encoding.axes, -1),
            parameters(encoding) or None,
            role="query",
        )

    read = serialization.from_bytes(rotation(0), serialization.to_bytes(rotation(7)))
    assert jax.tree.structure(read) == jax.tree.structure(rotation(7))
    assert jax.tree.all(jax.tree.map(np.array_equal, read, rotation(7)))
    assert not jax.tree.all(jax.tree.map(np.array_equal, read, rotation(0)))


def test_what_does_not_fit_the_target_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^params\['table'\] must have shape \(9, 4\)"):
        serialization.from_bytes(bind(Learned(dim=4, length=9)), serialization.to_bytes(bind(LEARNED)))
    rotation = RoPE(dim=8).rotation(jnp.arange(3))
    with pytest.raises(ValueError, match=r"^state\['cos'\] must have the shape of the target, \(3, 4\); got \(4, 4\)"):
        serialization.from_bytes(rotation, serialization.to_bytes(RoPE(dim=8).rotation(jnp.arange(4))))
    with pytest.raises(ValueError, match=r"^state must hold \['cos', 'sin'\] for a Rotation; got \['cos'\]"):
        serialization.from_state_dict(rotation, {"cos": rotation.cos})
