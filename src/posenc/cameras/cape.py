"""CaPE: camera positional encoding, with six degrees of freedom, or four for cameras that look at one point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from posenc.cameras.matrices import inverse, of_tokens, rigid, table_dtype, valid_matrices
from posenc.cameras.transforms import CameraTransforms, Tiled, Unchanged
from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Untraced, Whole
from posenc.encodings.rotates.axial_rope import AxialRoPE


@dataclass(frozen=True)
class CaPE(Untraced):
    """q → T_i⁻¹q, k → T_jᵀk for every four channels, with the view matrix T of the token's camera; values stay.

    So the logit is qᵀ·(T_j·T_i⁻¹)ᵀ·k. This is the form with six degrees of freedom, in the released code
    (kxhit/EscherNet, commit 569240f). Patches are not told apart; `cape_4dof` is the form with four degrees.

    Args:
        dim: Channels of a head, a multiple of 4.

    Raises:
        TypeError: `dim` is no whole number.
        ValueError: `dim` is no multiple of 4.

    References:
        Kong et al. 2024, arXiv:2402.03908.

    Example:
        >>> import numpy as np
        >>> moved = np.eye(4) + np.array([[0, 0, 0, 2.0]] + [[0] * 4] * 3)
        >>> transforms = CaPE(dim=4).transforms([np.eye(4), moved], patches=1)
        >>> transforms.query(np.ones((2, 4))).tolist(), transforms.key(np.ones((2, 4))).tolist()
        ([[1.0, 1.0, 1.0, 1.0], [-1.0, 1.0, 1.0, 1.0]], [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 3.0]])
    """

    dim: Annotated[int, Whole(4)]

    def _check_together(self) -> None:
        if self.dim % 4:
            raise ValueError(f"dim must be a multiple of 4; got {self.dim}. Use {self.dim // 4 * 4}, for example.")

    @arrays.broadcasting
    def transforms(self, viewmats: Array, patches: int, *, dtype: Any = None) -> CameraTransforms:
        """Make the maps of the tokens of these images, image after image.

        Args:
            viewmats: World to camera, rigid, (images, 4, 4) or (batch, images, 4, 4); float32 or float64, whatever the
                dtype of the model.
            patches: Number of tokens of each image.
            dtype: Of the tables; None is float64 in NumPy and float32 in PyTorch and JAX.

        Returns:
            Maps of queries and keys; values and the output stay.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: `viewmats` has another shape or is not rigid and invertible, or `patches` is out of range.
        """
        matrices = rigid("viewmats", viewmats)
        count = validation.integer("patches", patches, 1, 1 << 26)
        dtype = table_dtype(matrices, dtype)
        back, matrix = (of_tokens(part, count, dtype) for part in (inverse("viewmats", matrices), matrices))
        same = Unchanged(self.dim)
        return CameraTransforms(Tiled(back, self.dim), Tiled(matrix.swapaxes(-1, -2), self.dim), same, same)


def cape_4dof(width: int) -> AxialRoPE:
    """CaPE with four degrees of freedom: the rotation of queries and keys by the coordinates of `spherical`.

    Each quarter of the channels rotates by one coordinate, all pairs by the same angle. The released code
    (kxhit/EscherNet, commit 569240f) rotates queries and keys before they are split into heads, so that each quarter of
    the heads sees one coordinate; the last one is 0 there, and does not rotate.

    Args:
        width: Channels of all heads together, a multiple of 8.

    Returns:
        Rotary encoding of positions with four coordinates.

    Raises:
        TypeError: `width` is no whole number.
        ValueError: `width` is no multiple of 8, or out of range.

    References:
        Kong et al. 2024, arXiv:2402.03908.

    Example:
        >>> cape_4dof(8).rotation([[0.0, 3.0, 0.0, 0.0]]).cos.round(2).tolist()
        [[1.0, -0.99, 1.0, 1.0]]
    """
    quarter = validation.integer("width", width, 8) // 8
    if width % 8:
        raise ValueError(f"width must be a multiple of 8; got {width}. Use {quarter * 8}, for example.")
    axis = tuple(coordinate for coordinate in range(4) for _ in range(quarter))
    return AxialRoPE(axis=axis, frequency_index=(0,) * len(axis), frequency_dim=2)


@arrays.broadcasting
def spherical(viewmats: Array, *, nearest: float = 1.5, farthest: float = 2.2) -> Array:
    """Spherical coordinates of cameras that look at the origin: (polar angle from z, azimuth, π·log_f(r/nearest), 0).

    f is farthest/nearest. The released code (kxhit/EscherNet, commit 569240f) moves distances outside of 1.5 to 2.2 to
    the ends of this range; here they are refused.

    Args:
        viewmats: World to camera, rigid, (images, 4, 4) or (batch, images, 4, 4).
        nearest: Least distance r from the origin.
        farthest: Greatest distance r from the origin.

    Returns:
        (*batch, images, 4), in radians, in the widest float; NaN for a distance out of range that cannot be read.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: `viewmats` has another shape or is not rigid, or a distance is out of range.

    References:
        Kong et al. 2024, arXiv:2402.03908.

    Example:
        >>> spherical([[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, -2.2], [0, 0, 0, 1]]]).round(4).tolist()
        [[0.0, 0.0, 3.1416, 0.0]]
    """
    nearest = validation.real("nearest", nearest, 0.0, 1e9, above=True)
    farthest = validation.real("farthest", farthest, nearest, 1e9, above=True)
    matrices = rigid("viewmats", viewmats)
    lib = arrays.library(matrices)
    centre = 0.0 - lib.product(matrices[..., :3, :3].swapaxes(-1, -2), matrices[..., :3, 3:])
    x, y, z = (centre[..., axis, 0] for axis in range(3))
    radius = lib.xp.hypot(lib.xp.hypot(x, y), z)
    slack = 1e-6 * farthest  # files of cameras are written with few decimals
    centre = valid_matrices(
        (radius >= nearest - slack) & (radius <= farthest + slack),
        centre,
        f"viewmats must have cameras at a distance of {nearest:g} to {farthest:g} from the origin; got another",
        "Scale the scene, or state its range.",
    )
    x, y, z = (centre[..., axis, 0] for axis in range(3))
    flat = lib.xp.hypot(x, y)
    depth = lib.xp.log(lib.xp.hypot(flat, z) / nearest) * (math.pi / math.log(farthest / nearest))
    return lib.xp.stack([lib.xp.arctan2(flat, z), lib.xp.arctan2(y, x), depth, 0 * depth], -1)
