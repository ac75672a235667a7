"""GTA: geometric transform attention, with the pose of each camera and the place of each patch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.cameras.matrices import inverse, of_tokens, patch_positions, rigid, table_dtype
from posenc.cameras.transforms import BlockDiagonal, CameraTransforms, Tiled, Unchanged
from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Untraced, Whole
from posenc.core.rotation import Operator
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.frequencies import Geometric, InRevolutions

#: The coordinates y, z, x, as linear forms: the real spherical harmonics of degree 1.
_LINEAR = np.eye(3)[[1, 2, 0]]
#: xy, yz, 3z² - r², xz, x² - y², as symmetric matrices of length 1: those of degree 2.
_QUADRATIC = np.array(
    [
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 1], [0, 1, 0]],
        np.diag([-1, -1, 2]) / math.sqrt(3),
        [[0, 0, 1], [0, 0, 0], [1, 0, 0]],
        np.diag([1, -1, 0]),
    ]
) / math.sqrt(2)


@dataclass(frozen=True)
class GTA(Untraced):
    """q → ρ_i⁻ᵀq, k → ρ_j·k, v → ρ_j·v, output → ρ_i⁻¹·output, for tokens i and j and the matrix ρ of a token's place.

    So the logit is qᵀ·ρ_i⁻¹·ρ_j·k, in the released code (autonomousvision/gta, commit 1dcbd37). From the first channel
    on, ρ is: `triv` channels unchanged, then those of `se3`, `so3` and `so2`. Not here: the released ablations t2,
    euclid_sim, ray_to_se3 and values that stay as they are.

    Args:
        se3: A multiple of 4. Every four: T⁻¹, from camera to world, for the view matrix T.
        so2: A multiple of 4. Every four: rotations by the patch's row and column, pairs of adjacent channels, from the
            slowest frequency, 2π·2^(1-so2/4) for a whole side of the image, to the fastest, 2π.
        so3: A multiple of 8. Every eight: R on the coordinates (y, z, x), and its real Wigner matrix of degree 2, for
            the rotation R from camera to world.
        triv: Channels that stay as they are.

    Raises:
        TypeError: A field is no whole number.
        ValueError: A field is no such multiple or out of range, or no channel is mapped.

    References:
        Miyato et al. 2024, arXiv:2310.10375.

    Example:
        >>> transforms = GTA(se3=4).transforms([np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0])], patches=[[0, 0]])
        >>> transforms.key(np.ones((2, 4))).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, -1.0, 1.0]]
    """

    se3: Annotated[int, Whole(0)]
    so2: Annotated[int, Whole(0)] = 0
    so3: Annotated[int, Whole(0)] = 0
    triv: Annotated[int, Whole(0)] = 0

    def _check_together(self) -> None:
        for name, multiple in (("se3", 4), ("so2", 4), ("so3", 8)):
            if (value := getattr(self, name)) % multiple:
                raise ValueError(f"{name} must be a multiple of {multiple}; got {value}. Move channels to triv.")
        if not self.se3 + self.so2 + self.so3:
            raise ValueError("se3 must be above 0 where so2 and so3 are 0; got 0. Give 4, for example.")
        if self.so2 > 256:
            raise ValueError(f"so2 must be at most 256, that is 64 octaves; got {self.so2}. Give less.")

    @property
    def dim(self) -> int:
        """Channels of a head."""
        return self.triv + self.se3 + self.so3 + self.so2

    @cached_property
    def grid(self) -> AxialRoPE | None:
        """Rotary encoding of the last `so2` channels by row and column; None where so2 is 0."""
        octaves = self.so2 // 4
        if not octaves:
            return None
        return AxialRoPE(
            axis=(0, 1) * octaves,
            frequency_index=tuple(octave for octave in reversed(range(octaves)) for _ in range(2)),
            frequency_dim=InRevolutions(Geometric(dim=2 * octaves, base=2.0**octaves)),
        )

    @arrays.broadcasting
    def transforms(
        self, viewmats: Array, patches: Array, *, translation_scale: Any = 1.0, dtype: Any = None
    ) -> CameraTransforms:
        """Make the maps of the tokens of these images, image after image, each with its patches.

        Args:
            viewmats: World to camera, rigid, (images, 4, 4) or (batch, images, 4, 4); float32 or float64, whatever the
                dtype of the model.
            patches: (row, column) of each patch in parts of the image, from 0 to 1, (patches, 2) for all images alike,
                or with the axes of `viewmats` before it. The released code takes the pixel in the middle of a patch.
            translation_scale: Factor of translations: a number, or an array of one that is learned. The released code
                learns one in each layer, from 0.01.
            dtype: Of the tables; None is float64 in NumPy and float32 in PyTorch and JAX.

        Returns:
            Maps of queries, keys, values and the output.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: An argument has another shape, or `viewmats` is not rigid and invertible.
        """
        matrices = rigid("viewmats", viewmats)
        positions, count = patch_positions(patches, matrices)
        matrices = _scaled(matrices, translation_scale)
        parts = self._parts(matrices, positions, count, table_dtype(matrices, dtype))
        query, key, output = (BlockDiagonal(operators) for operators in zip(*parts, strict=True))
        return CameraTransforms(query, key, key, output)

    def _parts(self, matrices: Array, positions: Positions, count: int, dtype: Any) -> list[tuple[Operator, ...]]:
        """Maps of queries, of keys and values, and of the output, for each part of the channels."""
        parts: list[tuple[Operator, ...]] = []
        if self.triv:
            parts.append((Unchanged(self.triv),) * 3)
        if self.se3:
            back, pose = (of_tokens(part, count, dtype) for part in (inverse("viewmats", matrices), matrices))
            parts.append(tuple(Tiled(part, self.se3) for part in (pose.swapaxes(-1, -2), back, pose)))
        if self.so3:
            harmonics = of_tokens(_harmonics(matrices[..., :3, :3].swapaxes(-1, -2)), count, dtype)
            parts.append(tuple(Tiled(part, self.so3) for part in (harmonics, harmonics, harmonics.swapaxes(-1, -2))))
        if self.grid is not None:
            rotation = self.grid.rotation(positions, dtype=dtype)
            parts.append((rotation, rotation, rotation.inverse()))
        return parts


def _scaled(matrices: Array, scale: Any) -> Array:
    """Multiply the translations of matrices by a factor."""
    lib = arrays.library(matrices)
    if isinstance(scale, np.generic) or arrays.library_name(scale) is None:
        factor = validation.real("translation_scale", scale, -1e9, 1e9)
    else:
        if tuple(scale.shape) not in ((), (1,)):
            raise ValueError(
                f"translation_scale must be one number; got shape {tuple(scale.shape)}. Give the learned number."
            )
        arrays.library(matrices, arrays.floats("translation_scale", scale))
        factor = lib.widest(scale).reshape(())
    translation = lib.constant(np.arange(16).reshape(4, 4) % 4 == 3) & lib.constant(np.arange(4) < 3)[:, None]
    return lib.xp.where(translation, matrices * factor, matrices)


def _harmonics(rotation: Array) -> Array:
    """Wigner matrices of degrees 1 and 2, along the diagonal: (..., 3, 3) to (..., 8, 8)."""
    lib = arrays.library(rotation)
    xp, linear = lib.xp, lib.constant(_LINEAR, rotation.dtype)
    quadratic = lib.constant(_QUADRATIC, rotation.dtype)
    first = lib.product(lib.product(linear, rotation), linear.swapaxes(0, 1))
    moved = lib.product(lib.product(rotation[..., None, :, :], quadratic), rotation.swapaxes(-1, -2)[..., None, :, :])
    second = lib.product(moved.reshape((*moved.shape[:-2], 9)), quadratic.reshape((5, 9)).swapaxes(0, 1))
    second = second.swapaxes(-1, -2)
    batch = tuple(rotation.shape[:-2])
    upper = xp.concatenate([first, xp.broadcast_to(lib.constant(np.zeros((3, 5)), rotation.dtype), (*batch, 3, 5))], -1)
    lower = xp.concatenate(
        [xp.broadcast_to(lib.constant(np.zeros((5, 3)), rotation.dtype), (*batch, 5, 3)), second], -1
    )
    return xp.concatenate([upper, lower], -2)
