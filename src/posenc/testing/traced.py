"""What tracers are given: an encoding with content, parameters and anchors fixed, a function of positions alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.testing.door_probe import applied, array, array_module, content_width, converted, moved_parameters, program


def layer(encoding: Encoding, name: str) -> Callable[[Array], Array]:
    """A function of positions (n,) that does what a layer does with them, in float32."""
    params = converted(moved_parameters(encoding), name, "float32")
    if not isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        return program(encoding, name=name, dtype="float32")
    width, xp = content_width(encoding), array_module(name)
    vector = array(np.random.default_rng(7).standard_normal((1, width)), name, "float32")
    return lambda positions: applied(encoding, xp.broadcast_to(vector, (positions.shape[0], width)), positions, params)
