"""Tables of vectors for positions, made by compiled code where it can."""

from __future__ import annotations

from typing import Any, Literal

import torch

from posenc import _array, _check
from posenc._array import Array
from posenc.checked_positions import checked
from posenc.doors import Adds, Params
from posenc.kernels import native
from posenc.kernels import native_cos_sin as kernel
from posenc.phase import Waves, rates, waves_of
from posenc.torch.aliasing import written
from posenc.torch.out_arguments import check_out, copied, rows_of, unfit_places, unfit_rows

IMPLS = ("auto", "reference", "native")


def table(
    record: Adds,
    positions: Array,
    params: Params | None = None,
    *,
    dtype: Any = None,
    out: Array | None = None,
    impl: Literal["auto", "reference", "native"] = "auto",
) -> Array:
    """`record.embed(positions)`, by compiled code where it can: the same vectors, to the bit.

    record, positions, params, dtype: as for the record's own `embed`; positions are a tensor. The kernel takes whole
    positions on the CPU, float32, and `Sinusoidal` with `numerics="exact"` in any of its conventions.
    out: memory to write into, which is returned: (*batch, n, width), of the dtype of the result, on the device of
    positions, that needs no gradient and overlaps neither itself nor positions. Rows may lie apart, as in a slice.
    impl: "reference" is `record.embed`; "native" the kernel of posenc-kernels, ValueError where it cannot; "auto" is
    that where it can, else the reference. Raises TypeError or ValueError naming the argument.

    >>> import torch, posenc
    >>> record, held = posenc.Sinusoidal(dim=4), torch.empty(3, 4)
    >>> posenc.torch.table(record, torch.tensor([0, 1, 3]), out=held) is held
    True
    >>> held
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8415,  0.5403,  0.0100,  0.9999],
            [ 0.1411, -0.9900,  0.0300,  0.9996]])
    """
    _check.choice("impl", impl, IMPLS)
    _check.instance("record", record, Adds, "a record that adds, Sinusoidal(dim=64), say")
    _check.instance("positions", positions, torch.Tensor, "a PyTorch tensor")
    waves = waves_of(record)
    why = native.MISSING or _unfit(record, waves, positions, dtype, out)
    if impl == "native" and why is not None:
        raise ValueError(f"impl must be one that can make this table; got 'native', but {why}. Use 'auto'.")
    if impl == "reference" or why is not None or waves is None:
        made = record.embed(positions, params, dtype=dtype)
        if out is None:
            return made
        check_out("out", out, tuple(made.shape), made.dtype, positions)
        return copied(made, out)
    record.checked(params)
    shape = (*positions.shape, record.width)
    if out is None:
        out = torch.empty(
            shape, dtype=torch.float32, device=positions.device
        )  # whatever the defaults of the caller are
    else:
        check_out("out", out, shape, torch.float32, positions)
    lib, positions = _array.library(positions), checked(positions).array
    if waves.start:
        positions = checked(lib.signed(positions) + waves.start).array
    places, rows = positions.to(torch.int64).reshape((1, -1, 1)).contiguous(), rows_of(out)
    kernel.cos_sin_within(places, lib.constant(rates(waves)), waves, rows[..., : waves.width])
    rows[..., waves.width :] = 0.0
    written(out)
    return out


def _unfit(record: Adds, waves: Waves | None, positions: Array, dtype: Any, out: Any) -> str | None:
    """Why the kernel cannot make this table; None where it can."""
    if waves is None:
        return f"{type(record).__name__} is made of more than waves of exact frequencies"
    if torch._C._are_functorch_transforms_active():
        return "a transform of functions sees through the reference"
    return unfit_places(positions, dtype) or (None if out is None else unfit_rows(out))
