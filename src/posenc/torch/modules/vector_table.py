"""Tables of additive encodings at given positions, made by compiled code where it can."""

from __future__ import annotations

from typing import Any, Literal

import torch

from posenc.core import arrays, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import checked
from posenc.core.doors import AdditiveEncoding, Params
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import FixedSinusoids, fixed_sinusoids_of, frequency_limbs
from posenc.torch.rotary_paths.aliasing import (
    check_out,
    copied,
    mark_written,
    rows_of_out,
    unsupported_positions,
    unsupported_rows,
)
from posenc.torch.tensor_arguments import plain_tensor

IMPLS = ("auto", "reference", "native")


def table(
    encoding: AdditiveEncoding,
    positions: Array,
    params: Params | None = None,
    *,
    dtype: Any = None,
    out: Array | None = None,
    impl: Literal["auto", "reference", "native"] = "auto",
) -> Array:
    """Make `encoding.embed(positions)`, by compiled code where it can: the same vectors, to the bit.

    The kernel takes whole positions on the CPU, float32, and `Sinusoidal` with `numerics="exact"` in any of its
    conventions.

    Args:
        encoding: An encoding that adds.
        positions: A tensor, (*batch, n), as for `encoding.embed`.
        params: What the encoding learns; None if nothing.
        dtype: Of the result; float32 for None.
        out: Memory to write into: (*batch, n, width), of the dtype of the result, on the device of positions, that
            needs no gradient and overlaps neither itself nor positions. Rows may lie apart, as in a slice.
        impl: "reference" is `encoding.embed`; "native" the kernel of posenc-kernels; "auto" is that where it can, else
            the reference.

    Returns:
        The table, (*batch, n, width); `out` itself where it is given.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: `out` cannot take the table, the encoding does not have a position, or the `impl` that is named
            cannot make this table.

    Example:
        >>> import torch, posenc
        >>> encoding, held = posenc.Sinusoidal(dim=4), torch.empty(3, 4)
        >>> posenc.torch.table(encoding, torch.tensor([0, 1, 3]), out=held) is held
        True
        >>> held
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0100,  0.9999],
                [ 0.1411, -0.9900,  0.0300,  0.9996]])
    """
    validation.choice("impl", impl, IMPLS)
    validation.instance("encoding", encoding, AdditiveEncoding, "an encoding that adds, Sinusoidal(dim=64), say")
    plain_tensor("positions", positions)
    sinusoids = fixed_sinusoids_of(encoding)
    reason = native.MISSING or _unsupported_reason(encoding, sinusoids, positions, dtype, out)
    if impl == "native" and reason is not None:
        raise ValueError(f"impl must be one that can make this table; got 'native', but {reason}. Use 'auto'.")
    if impl == "reference" or reason is not None or sinusoids is None:
        result = encoding.embed(positions, params, dtype=dtype)
        if out is None:
            return result
        check_out("out", out, tuple(result.shape), result.dtype, positions)
        return copied(result, out)
    encoding.checked(params)
    checked(positions).check_size(encoding.width, torch.float32)
    shape = (*positions.shape, encoding.width)
    if out is None:
        out = torch.empty(
            shape, dtype=torch.float32, device=positions.device
        )  # whatever the defaults of the caller are
    else:
        check_out("out", out, shape, torch.float32, positions)
    lib, positions = arrays.library(positions), checked(positions).array
    if sinusoids.start:
        positions = checked(lib.signed(positions) + sinusoids.start).array
    integer_positions, rows = positions.to(torch.int64).reshape((1, -1, 1)).contiguous(), rows_of_out(out)
    kernel.cos_sin_within(
        integer_positions, lib.constant(frequency_limbs(sinusoids)), sinusoids, rows[..., : sinusoids.width]
    )
    rows[..., sinusoids.width :] = 0.0
    mark_written(out)
    return out


def _unsupported_reason(
    encoding: AdditiveEncoding, sinusoids: FixedSinusoids | None, positions: Array, dtype: Any, out: Any
) -> str | None:
    """Why the kernel cannot make this table; None where it can."""
    if sinusoids is None:
        return f"{type(encoding).__name__} is made of more than sinusoids of exact frequencies"
    if torch._C._are_functorch_transforms_active():
        return "a transform of functions sees through the reference"
    return unsupported_positions(positions, dtype) or unsupported_rows(out)
