"""Flax: encodings as modules of flax nnx, and bound encodings and rotations in flax's own serialization.

Importing this module registers `Bound`, `Rotation` and the other operators with `flax.serialization`, which knows no
other way to write a class.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

try:
    import flax as _flax  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "flax":
        raise
    raise ModuleNotFoundError(
        "posenc.jax.flax needs flax, which is not installed. Run: pip install flax", name="flax"
    ) from None

from flax import nnx, serialization

import posenc.jax  # noqa: F401  before its modules, which it imports itself to register pytrees
from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.doors import Encoding, Params
from posenc.jax.bound import Bound, DoorMethods
from posenc.jax.host_values import parameters
from posenc.jax.pytrees import OPERATORS


class Module(nnx.Module, DoorMethods):  # type: ignore[misc]
    """An encoding as a module, whose parameters are each an `nnx.Param`; with the methods of `posenc.jax.Bound`.

    Args:
        encoding: Encoding of any door.
        rngs: Random streams, from which `params` draws the parameters.

    Raises:
        TypeError: `encoding` is no encoding, or `rngs` no `flax.nnx.Rngs`.

    Example:
        >>> import jax.numpy as jnp
        >>> from posenc import Learned
        >>> class Layer(nnx.Module):
        ...     def __init__(self, rngs):
        ...         self.encoding = Module(Learned(dim=4, length=8), rngs=rngs)
        ...     def __call__(self, x):
        ...         return self.encoding.add(x, jnp.arange(x.shape[-2]))
        >>> gradient = nnx.grad(lambda layer: layer(jnp.ones((5, 4))).sum())(Layer(nnx.Rngs(0)))
        >>> gradient["encoding"]["params"]["table"][...].sum(1).tolist()
        [4.0, 4.0, 4.0, 4.0, 4.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, encoding: Encoding, *, rngs: nnx.Rngs) -> None:
        validation.instance("rngs", rngs, nnx.Rngs, "flax.nnx.Rngs, nnx.Rngs(0) say")
        self.encoding = encoding
        self.params = nnx.Dict({name: nnx.Param(value) for name, value in parameters(encoding, rngs.params()).items()})

    def _arrays(self) -> Params:
        return {name: self.params[name][...] for name in self.encoding.shapes}


def _bound_to_state(bound: Bound) -> dict[str, Any]:
    """State of a bound encoding: its parameters."""
    return dict(bound.params)


def _bound_from_state(bound: Bound, state: dict[str, Array]) -> Bound:
    """Bound encoding with the parameters of a state."""
    return replace(bound, params=bound.encoding.checked(state))


def _operator_to_state(fields: list[str], operator: Any) -> dict[str, Any]:
    """State of an operator: its fields that hold arrays."""
    return {name: serialization.to_state_dict(getattr(operator, name)) for name in fields}


def _operator_from_state(fields: list[str], operator: Any, state: dict[str, Any]) -> Any:
    """Operator with the arrays of a state, whose shapes must be its own."""
    if set(state) != set(fields):
        raise ValueError(
            f"state must hold {fields} for a {type(operator).__name__}; got {sorted(state)}. Give what to_state_dict "
            "returns for one."
        )
    parts = {name: serialization.from_state_dict(getattr(operator, name), state[name], name=name) for name in fields}
    for name, part in parts.items():
        if np.shape(part) != np.shape(getattr(operator, name)):
            raise ValueError(
                f"state[{name!r}] must have the shape of the target, {np.shape(getattr(operator, name))}; got "
                f"{np.shape(part)}. Make the target from as many positions, by the same encoding."
            )
    return replace(operator, **parts)


serialization.register_serialization_state(Bound, _bound_to_state, _bound_from_state)
for _operator, (_arrays, _rest) in OPERATORS.items():
    serialization.register_serialization_state(
        _operator, partial(_operator_to_state, _arrays), partial(_operator_from_state, _arrays)
    )
