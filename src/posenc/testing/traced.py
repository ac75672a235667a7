"""What tracers are given: an encoding with content, parameters and anchors fixed, a function of positions alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc._array import Array
from posenc.doors import Adds, Encoding, Rotates
from posenc.testing.door_probe import array, converted, library, parameters, program
from posenc.turn import at_every_head


def layer(encoding: Encoding, name: str) -> Callable[[Array], Array]:
    """A function of positions (n,) that does what a layer does with them, in float32."""
    params = converted(parameters(encoding), name, "float32")
    if isinstance(encoding, Adds):
        return _attaching(encoding, params, _vector(encoding.width, name), library(name))
    if isinstance(encoding, Rotates):
        return _turning(encoding, params, _vector(encoding.head_dim, name), library(name))
    return program(encoding, name=name, dtype="float32")


def _attaching(encoding: Adds, params: Any, vector: Array, xp: Any) -> Callable[[Array], Array]:
    return lambda positions: encoding.attach(
        xp.broadcast_to(vector, (positions.shape[0], vector.shape[1])), positions, params
    )


def _turning(encoding: Rotates, params: Any, vector: Array, xp: Any) -> Callable[[Array], Array]:
    return lambda positions: at_every_head(
        encoding.turn(positions, params, role=encoding.roles[0]),
        xp.broadcast_to(vector, (positions.shape[0], vector.shape[1])),
    )


def _vector(width: int, name: str) -> Array:
    return array(np.random.default_rng(7).standard_normal((1, width)), name, "float32")
