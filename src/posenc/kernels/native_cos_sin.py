"""Cosines and sines made by the compiled kernel from integer positions: a table of them, and rotation without a table.

The angle is a fraction of a revolution in 160 bits, where `posenc.phase` keeps 170; cosine and sine are polynomials in
double precision. The table is the reference's, correctly rounded, up to 2^53. Backward keeps positions alone.
"""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels import native
from posenc.phase import FixedFrequencies, FixedSinusoids


def unsupported_reason(positions: Any, *tensors: Any) -> str | None:
    """Why the kernel cannot rotate these tensors, (batch, heads, time, dim), by angles; None where it can."""
    return native.MISSING or native.unsupported_tensors(positions, *tensors)


def cos_sin(positions: Any, frequencies: Any, factor: float, *, instruction_set: str = "") -> tuple[Any, Any]:
    """Make cosines and sines times the factor, float32 (rows, time, pairs).

    Args:
        positions: (rows, time, axes), int64.
        frequencies: `posenc.phase.frequency_limbs`.
        factor: The factor.
        instruction_set: As for `native.rotate`.

    Returns:
        Cosines and sines.
    """
    both: tuple[Any, Any] = torch.ops.posenc.cos_sin(positions, frequencies, factor, instruction_set)
    return both


def cos_sin_into(positions: Any, frequencies: Any, factor: float, cosine: Any, sine: Any) -> None:
    """Write the result of `cos_sin` into existing tensors, (rows, time, pairs) each."""
    torch.ops.posenc.cos_sin_into(positions, frequencies, factor, cosine, sine)


def cos_sin_within(
    positions: Any, frequencies: Any, sinusoids: FixedSinusoids, table: Any, *, instruction_set: str = ""
) -> None:
    """Write cosines and sines into one existing table, (rows, time, width), in the layout of `sinusoids`."""
    layout = sinusoids.layout == "interleaved", sinusoids.first == "sine"
    torch.ops.posenc.cos_sin_within(positions, frequencies, sinusoids.factor, table, *layout, instruction_set)


def rotate(q: Any, k: Any, positions: Any, frequencies: Any, fixed: FixedFrequencies) -> tuple[Any, Any]:
    """Rotate q and k, (batch, heads, time, dim), into new memory; with gradients for both."""
    how = positions, frequencies, fixed.factor, *native.channels(fixed), False
    both: tuple[Any, Any] = torch.ops.posenc.rotate_by_angles(q, k, *how)
    return both


def rotate_in_place(q: Any, k: Any, positions: Any, frequencies: Any, fixed: FixedFrequencies) -> None:
    """Rotate q and k, (batch, heads, time, dim), in place; no gradient is recorded."""
    how = positions, frequencies, fixed.factor, *native.channels(fixed), False
    torch.ops.posenc.rotate_by_angles_(q, k, *how)


def _fake_table(positions: Any, frequencies: Any, factor: float, *_: Any) -> tuple[Any, Any]:
    shape = (*positions.shape[:-1], frequencies.shape[-1])
    return positions.new_empty(shape, dtype=torch.float32), positions.new_empty(shape, dtype=torch.float32)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, positions, frequencies, *ctx.how, ctx.inverse = inputs
    ctx.save_for_backward(positions, frequencies)


def _backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """Rotate the gradient back: the transpose is the inverse rotation with the same factor."""
    gradients = (native.with_contiguous_channels(part) for part in (of_q, of_k))
    how = *ctx.saved_tensors, *ctx.how, not ctx.inverse
    return *torch.ops.posenc.rotate_by_angles(*gradients, *how), *[None] * len(how)


def _vmap(
    info: Any, dims: tuple[Any, ...], q: Any, k: Any, positions: Any, frequencies: Any, *how: Any
) -> tuple[Any, Any]:
    """Fold the axis that vmap maps into the batch, rotate, and unfold it."""
    if dims[3] is not None:
        raise ValueError("frequencies must not be mapped by vmap; got a mapped axis. Map queries, keys and positions.")
    size, batch = info.batch_size, native.unmapped_batch(q, dims[0])
    q, k = (native.with_mapped_axis(part, dim, size).contiguous() for part, dim in ((q, dims[0]), (k, dims[1])))
    positions = native.with_mapped_axis(positions, dims[2], size, batch).contiguous()
    rotated = torch.ops.posenc.rotate_by_angles(q, k, positions, frequencies, *how)
    return tuple(part.unflatten(0, (size, batch)) for part in rotated), (0, 0)


native.declare("cos_sin", _fake_table)
native.declare("cos_sin_into", native.no_result)
native.declare("cos_sin_within", native.no_result)
native.declare("rotate_by_angles", native.empty_pair, _backward, _setup_context, _vmap)
