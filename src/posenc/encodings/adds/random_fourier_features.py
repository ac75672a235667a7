"""Random Fourier features: frequencies drawn once and never trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import split_coordinates
from posenc.core.declared_fields import Whole
from posenc.core.doors import AdditiveEncoding, Params
from posenc.core.row import Row
from posenc.encodings.adds._pairs import arranged
from posenc.frequencies.projected import LARGEST, Drawn, Projected
from posenc.phase import cos_sin, cos_sin_of_sum


@dataclass(frozen=True)
class RandomFourierFeatures(AdditiveEncoding):
    """PE(p) = (cos(2π·b_k·p) for every k, then sin(2π·b_k·p)), b_k drawn from N(0, std²) once, for each coordinate.

    Tancik et al. 2020, arXiv:2006.10739 (the Gaussian ones). The draws are part of the encoding: `seed` gives the same
    ones in every library and on every machine. They are not parameters, because no optimiser may change them.

    Positions (*batch, n), or (*batch, n, axes) for several axes, integers or float32/float64; result (*batch, n,
    2·features).

    Args:
        features: How many frequencies, two channels each.
        std: Their standard deviation, in revolutions for one unit of position.
        seed: Seed of the draws.
        first: "cosine" (paper) or "sine" (released models) stands in the first half.
        axes: Coordinates of a position; b_k·p is then the sum over them, added in fixed point.
        matrix: Numbers to take in place of draws from N(0, 1): a row for each coordinate, a column for each feature.
            SAM's is `shared_image_embedding.positional_embedding` of its checkpoint, for axes=2, first="sine" and
            positions (2x - 1, 2y - 1), with x and y from 0 to 1.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> RandomFourierFeatures(features=2).embed([0.0, 0.5]).round(4)
        array([[ 1.    ,  1.    ,  0.    ,  0.    ],
               [ 0.9323, -0.0445, -0.3616,  0.999 ]])
        >>> encoding = RandomFourierFeatures(features=1, axes=2, matrix=((0.25,), (0.5,)))
        >>> encoding.embed([[1, 0], [1, 1]]).round(4).tolist()  # a quarter of a rotation, and three quarters
        [[0.0, 1.0], [0.0, -1.0]]
    """

    features: Annotated[int, Whole(1, validation.LARGEST_WIDTH // 2)]
    std: float = 1.0
    seed: int = 0
    first: Literal["cosine", "sine"] = "cosine"
    axes: Annotated[int, Whole(1, 16)] = 1
    matrix: tuple[tuple[float, ...], ...] | None = None

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "shift-linear"})

    def _check_together(self) -> None:
        drawn = Drawn(self.features, self.std, self.seed)
        validation.settle(self, features=drawn.count, std=drawn.std, seed=drawn.seed)
        if self.matrix is not None:
            self._check_matrix(self.matrix)

    def _check_matrix(self, matrix: Any) -> None:
        rows = matrix if isinstance(matrix, tuple | list) else ()
        if [len(row) if isinstance(row, tuple | list) else -1 for row in rows] != [self.features] * self.axes:
            raise ValueError(
                f"matrix must be {self.axes} tuples, one a coordinate, of {self.features} numbers, one a feature; got "
                f"{validation.shown(matrix)}. Give tuple(map(tuple, array.tolist())) of an array of that shape."
            )
        if self.seed:
            raise ValueError(
                f"seed must be left at 0 where a matrix is given, since nothing is drawn; got {self.seed}. Leave it "
                "out."
            )
        validation.settle(
            self,
            matrix=tuple(tuple(validation.real("matrix", value, -LARGEST, LARGEST) for value in row) for row in rows),
        )

    @property
    def width(self) -> int:
        return 2 * self.features

    @property
    def frequencies(self) -> Drawn | Projected:
        """The frequencies of the first coordinate; those of negative sign rotate backwards."""
        return self.on_axes[0]

    @cached_property
    def on_axes(self) -> tuple[Drawn | Projected, ...]:
        """The frequencies of each coordinate."""
        if self.matrix is not None:
            return tuple(Projected(row, self.std) for row in self.matrix)
        return tuple(Drawn(self.features, self.std, self.seed, axis) for axis in range(self.axes))

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, _, dtype = self.checked_call(positions, params, dtype)
        if self.axes == 1:
            cosine, sine = cos_sin(positions, self.frequencies, dtype)
        else:
            cosine, sine = cos_sin_of_sum(split_coordinates(positions, self.axes), self.on_axes, dtype)
        first, second = (cosine, sine) if self.first == "cosine" else (sine, cosine)
        return arranged(first, second, self.features, "concatenated", positions.lib)


ROW = Row(
    RandomFourierFeatures,
    (
        RandomFourierFeatures(features=4),
        RandomFourierFeatures(features=3, std=10.0, seed=7, first="sine"),
        RandomFourierFeatures(features=3, std=2.0, seed=1, axes=2),
        RandomFourierFeatures(features=2, first="sine", axes=2, matrix=((0.5, -1.25), (3.0, 0.1))),
    ),
    "Tancik et al. 2020, arXiv:2006.10739",
    ("SamPositionalEmbedding", "GaussianFourierProjection (diffusers)", "RFF"),
    "For real coordinates whose useful bandwidth is known, as the standard deviation.",
)
