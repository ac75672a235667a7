"""How layers of a learned encoding begin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posenc import _check


def drawn(
    rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]], inputs: Mapping[str, int], otherwise: int = 1
) -> dict[str, np.ndarray]:
    """Each parameter uniform within ±1/√(inputs of its layer), PyTorch's rule; `otherwise` where no number is named.

    >>> layers = drawn(np.random.default_rng(0), {"weight": (2, 9), "bias": (2,)}, {"weight": 9, "bias": 9})
    >>> bool(abs(layers["weight"]).max() < 1 / 3), layers["bias"].shape
    (True, (2,))
    """
    _check.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
    return {name: rng.uniform(-1.0, 1.0, shape) * inputs.get(name, otherwise) ** -0.5 for name, shape in shapes.items()}
