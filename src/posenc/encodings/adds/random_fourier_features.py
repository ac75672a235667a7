"""Random Fourier features: frequencies drawn once and never trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from posenc import _check
from posenc._array import Array
from posenc.doors import Adds, Claim, Params
from posenc.encodings.adds._pairs import arranged
from posenc.frequencies.drawn import Drawn
from posenc.phase import cos_sin
from posenc.row import Row


@dataclass(frozen=True)
class RandomFourierFeatures(Adds):
    """PE(p) = (cos(2π·b_k·p) for every k, then sin(2π·b_k·p)), b_k drawn from N(0, std²) once.

    Tancik et al. 2020, arXiv:2006.10739 (the Gaussian ones). The draws are part of the record: `seed` gives the same
    ones in every library and on every machine. They are not parameters, because no optimiser may change them.

    features: how many frequencies, two channels each.
    std: their standard deviation, in turns for one unit of position.
    seed: of the draws.     first: "cosine" (paper) or "sine" (released models) stands in the first half.

    Positions (*batch, n), integers or float32/float64; result (*batch, n, 2·features).
    Raises ValueError or TypeError naming the field or `positions`.

    >>> RandomFourierFeatures(features=2).embed([0.0, 0.5]).round(4)
    array([[ 1.    ,  1.    ,  0.    ,  0.    ],
           [ 0.9323, -0.0445, -0.3616,  0.999 ]])
    """

    features: int
    std: float = 1.0
    seed: int = 0
    first: Literal["cosine", "sine"] = "cosine"

    claims: ClassVar[frozenset[Claim]] = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def _check_together(self) -> None:
        drawn = self.frequencies
        _check.settle(self, features=drawn.count, std=drawn.std, seed=drawn.seed)

    @property
    def width(self) -> int:
        return 2 * self.features

    @cached_property
    def frequencies(self) -> Drawn:
        """The drawn frequencies; those of negative sign turn backwards."""
        return Drawn(self.features, self.std, self.seed)

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        cosine, sine = cos_sin(positions, self.frequencies, dtype)
        first, second = (cosine, sine) if self.first == "cosine" else (sine, cosine)
        return arranged(first, second, self.features, "concatenated", positions.lib)


ROW = Row(
    RandomFourierFeatures,
    (RandomFourierFeatures(features=4), RandomFourierFeatures(features=3, std=10.0, seed=7, first="sine")),
    "Tancik et al. 2020, arXiv:2006.10739",
    ("SamPositionalEmbedding", "GaussianFourierProjection (diffusers)", "RFF"),
    "For real coordinates whose useful bandwidth is known, as the standard deviation.",
)
