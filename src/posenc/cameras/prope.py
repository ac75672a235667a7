"""PRoPE: cameras as relative positional encoding, with their intrinsics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from posenc.cameras.matrices import inverse, of_tokens, patch_positions, rigid, square, table_dtype, valid_matrices
from posenc.cameras.transforms import BlockDiagonal, CameraTransforms, Tiled
from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, Untraced, Whole
from posenc.encodings.rotates.axial_rope import AxialRoPE


@dataclass(frozen=True)
class PRoPE(Untraced):
    """q → D_iᵀq, k → D_j⁻¹k, v → D_j⁻¹v, output → D_i·output, for tokens i and j and D = diag(P, …, P, R_x, R_y).

    So the logit is qᵀ·D_i·D_j⁻¹·k: it depends on the two cameras relative to each other, not on the frame of the world.
    P is the 4×4 projection of the token's camera, for half of the channels, four by four. R_x and R_y rotate a quarter
    each, by the column and the row of the patch: the pair of channels f and f + dim/8 of the quarter by the angle
    position·base^(-8f/dim). By this formula queries and keys rotate by minus the angle, so that logits are those of a
    RoPE with the other sign. As in the released code (liruilong940607/prope, commit a601c22).

    Args:
        dim: Channels of a head, a multiple of 8.
        base: Base of the frequencies; 100 in the released code.

    Raises:
        TypeError: A field is no number.
        ValueError: `dim` is no multiple of 8, or a field is out of range.

    References:
        Li et al. 2025, arXiv:2507.10496.

    Example:
        >>> cameras = np.array([np.eye(4), [[2.0, 0, 0, 1], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]])
        >>> transforms = PRoPE(dim=8).transforms(cameras, patches=[[0, 0]])
        >>> q = k = np.ones((2, 8))
        >>> (transforms.query(q) @ transforms.key(k).T).tolist()
        [[8.0, 6.5], [11.0, 8.0]]
    """

    dim: Annotated[int, Whole(8)]
    base: Base = 100.0

    def _check_together(self) -> None:
        if self.dim % 8:
            raise ValueError(f"dim must be a multiple of 8; got {self.dim}. Use {self.dim // 8 * 8}, for example.")

    @cached_property
    def grid(self) -> AxialRoPE:
        """Rotary encoding by column and row, of the second half of the channels."""
        pairs = self.dim // 8
        return AxialRoPE(
            axis=(1,) * pairs + (0,) * pairs,
            frequency_index=tuple(range(pairs)) * 2,
            frequency_dim=self.dim // 4,
            base=self.base,
            pairing="halves",
            blocks=2,
        )

    @arrays.broadcasting
    def transforms(self, cameras: Array, patches: Array, *, dtype: Any = None) -> CameraTransforms:
        """Make the maps of the tokens of these images, image after image, each with its patches.

        Args:
            cameras: (images, 4, 4) or (batch, images, 4, 4), from `projection`, or any invertible matrices that map
                points of the world, as columns; float32 or float64, whatever the dtype of the model. One without an
                inverse that cannot be read, while tracing or on an accelerator, gives NaN.
            patches: (row, column) of each patch, (patches, 2) for all images alike, or with the axes of `cameras`
                before it; `posenc.positions.grid(height, width)`, say. For a camera for each token, give (tokens, 1,
                2).
            dtype: Of the tables; None is float64 in NumPy and float32 in PyTorch and JAX.

        Returns:
            Maps of queries, keys, values and the output.

        Raises:
            TypeError: An argument has the wrong type or dtype.
            ValueError: An argument has another shape, or cameras are not invertible or transposed.
        """
        matrices = _not_transposed(square("cameras", cameras, 4))
        positions, count = patch_positions(patches, matrices)
        dtype = table_dtype(matrices, dtype)
        back, matrix = (of_tokens(part, count, dtype) for part in (inverse("cameras", matrices), matrices))
        rotation = self.grid.rotation(positions, dtype=dtype)
        query, key, output = (
            BlockDiagonal((Tiled(part, self.dim // 2), rotation))
            for part, rotation in (
                (matrix.swapaxes(-1, -2), rotation.inverse()),
                (back, rotation.inverse()),
                (matrix, rotation),
            )
        )
        return CameraTransforms(query, key, key, output)


@arrays.broadcasting
def projection(
    viewmats: Array, intrinsics: Array | None = None, *, width: float | None = None, height: float | None = None
) -> Array:
    """Projection from the world to the image, whose coordinates run from -1/2 to 1/2: P = [N·K 0; 0 1]·[R t; 0 1].

    N divides pixels by the size of the image and puts 0 at its middle. Without intrinsics P is the view matrix itself,
    as in the authors' code for `Ks=None`. A skew, which that code sets to 0, stays.

    Args:
        viewmats: World to camera, (images, 4, 4) or (batch, images, 4, 4): invert matrices from camera to world.
        intrinsics: K, the same shape with 3×3 matrices, in pixels of an image of this width and height.
        width: Width of the image in pixels; given together with `intrinsics`.
        height: Height of the image in pixels; given together with `intrinsics`.

    Returns:
        Matrices of the shape of `viewmats`, float64 where the library has it.

    Raises:
        TypeError: An argument has the wrong type or dtype.
        ValueError: An argument has another shape or is given without the others, or matrices are not rigid.

    References:
        Li et al. 2025, arXiv:2507.10496.

    Example:
        >>> projection([np.eye(4)], [[[200, 0, 100], [0, 200, 50], [0, 0, 1]]], width=200, height=100)[0].tolist()
        [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    """
    if (intrinsics is None) != (width is None) or (width is None) != (height is None):
        raise ValueError(
            f"intrinsics must come with width and height, in pixels; got {'none' if intrinsics is None else 'some'}, "
            f"width={width!r} and height={height!r}. Give all three, or none."
        )
    if intrinsics is None:
        return rigid("viewmats", viewmats)
    viewmats, intrinsics = arrays.as_arrays(viewmats=viewmats, intrinsics=intrinsics)
    matrices = rigid("viewmats", viewmats)
    lib, pixels = arrays.library(matrices), _upper(square("intrinsics", intrinsics, 3, like=matrices))
    if tuple(pixels.shape[:-2]) != tuple(matrices.shape[:-2]):
        raise ValueError(
            f"intrinsics must have a matrix for each of viewmats, {tuple(matrices.shape[:-2])}; got "
            f"{tuple(pixels.shape[:-2])}. Repeat a matrix that images share."
        )
    width = validation.real("width", width, 0.0, 1e9, above=True)
    height = validation.real("height", height, 0.0, 1e9, above=True)
    normalise = np.array([[1 / width, 0, -0.5], [0, 1 / height, -0.5], [0, 0, 1]])
    scaled = lib.product(lib.constant(normalise, pixels.dtype), pixels)
    return lib.xp.concatenate([lib.product(scaled, matrices[..., :3, :]), matrices[..., 3:, :]], -2)


def _upper(pixels: Array) -> Array:
    """Check intrinsics, which are upper triangular and end with 1."""
    lib = arrays.library(pixels)
    expected = lib.constant(np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]]), pixels.dtype)
    free = lib.constant(np.array([[1, 1, 1], [0, 1, 1], [0, 0, 0]]) == 1)
    return valid_matrices(
        ((pixels == expected) | free).all(-1).all(-1),
        pixels,
        "intrinsics must be [fx s cx; 0 fy cy; 0 0 1]; got another matrix",
        "Give K in pixels, as it multiplies columns.",
    )


def _not_transposed(matrices: Array) -> Array:
    """Refuse matrices that multiply rows: their last column is that of the identity, and their last row is not."""
    lib = arrays.library(matrices)
    same = matrices == lib.constant(np.eye(4), matrices.dtype)
    return valid_matrices(
        same[..., 3, :].all(-1) | ~same[..., :, 3].all(-1),
        matrices,
        "cameras must multiply columns, P·x; got a matrix whose last column is (0, 0, 0, 1)",
        "Transpose it.",
    )
