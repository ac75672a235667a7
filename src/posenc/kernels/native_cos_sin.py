"""Cosines and sines made by the compiled kernel from whole positions: a table of them, and rotation without a table.

The angle is a fraction of a turn in 160 bits, as in `posenc.phase`, and the waves are polynomials in double precision: the
table is the reference's, correctly rounded, up to 2^53. Backward keeps positions alone.
"""

from __future__ import annotations

from typing import Any

import torch

from posenc.kernels import native
from posenc.phase import Steady, Waves


def refusal(places: Any, *tensors: Any) -> str | None:
    """Why the kernel cannot turn these tensors, (batch, heads, time, dim), by angles of these places; None where it can."""
    if native.MISSING is not None:
        return native.MISSING
    return native.refused(places, *tensors)


def table(places: Any, rates: Any, factor: float) -> tuple[Any, Any]:
    """Cosines and sines times the factor, float32 (rows, time, pairs), of places (rows, time, axes) and `posenc.phase.rates`."""
    waves: tuple[Any, Any] = torch.ops.posenc.waves(places, rates, factor)
    return waves


def table_at(level: str, places: Any, rates: Any, factor: float) -> tuple[Any, Any]:
    """`table` at a level that is named, for tests."""
    waves: tuple[Any, Any] = torch.ops.posenc.waves_at(places, rates, factor, level)
    return waves


def table_into(places: Any, rates: Any, factor: float, cosine: Any, sine: Any) -> None:
    """`table` into memory that is there, (rows, time, pairs) each."""
    torch.ops.posenc.waves_into(places, rates, factor, cosine, sine)


def within(places: Any, rates: Any, waves: Waves, table: Any) -> None:
    """Cosines and sines into one table that is there, (rows, time, width), in the layout of these waves."""
    torch.ops.posenc.waves_within(places, rates, waves.factor, table, *_laid_out(waves))


def within_at(level: str, places: Any, rates: Any, waves: Waves, table: Any) -> None:
    """`within` at a level that is named, for tests."""
    torch.ops.posenc.waves_within_at(places, rates, waves.factor, table, *_laid_out(waves), level)


def _laid_out(waves: Waves) -> tuple[bool, bool]:
    return waves.layout == "interleaved", waves.first == "sine"


def into_new(q: Any, k: Any, places: Any, rates: Any, steady: Steady) -> tuple[Any, Any]:
    """q and k, (batch, heads, time, dim), turned into new memory; with gradients for both."""
    if not native.watched(q, k, places):
        made = torch.empty_like(q), torch.empty_like(k)
        how = steady.factor, *native.channels(steady), False
        torch.ops.posenc.turn_pair_by_angles_into(q, k, *made, places, rates, *how)
        return made
    turned: tuple[Any, Any] = torch.ops.posenc.turn_pair_by_angles(
        q, k, places, rates, steady.factor, *native.channels(steady), False
    )
    return turned


def in_place(q: Any, k: Any, places: Any, rates: Any, steady: Steady) -> None:
    """q and k, (batch, heads, time, dim), turned where they are; no gradient is recorded."""
    torch.ops.posenc.turn_pair_by_angles_(q, k, places, rates, steady.factor, *native.channels(steady), False)


def _table_like(places: Any, rates: Any, factor: float, *_: Any) -> tuple[Any, Any]:
    shape = (*places.shape[:-1], rates.shape[-1])
    return places.new_empty(shape, dtype=torch.float32), places.new_empty(shape, dtype=torch.float32)


def _nothing(*_: Any) -> None:
    """It writes into what it is given."""


def _pair_like(q: Any, k: Any, *_: Any) -> tuple[Any, Any]:
    return torch.empty_like(q), torch.empty_like(k)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, _, places, rates, *ctx.how, ctx.inverse = inputs
    ctx.save_for_backward(places, rates)


def _backward(ctx: Any, of_q: Any, of_k: Any) -> tuple[Any, ...]:
    """The transpose of a turn is the turn the other way, its factor kept."""
    of_q, of_k = (native.side_by_side(part) for part in (of_q, of_k))
    back = torch.ops.posenc.turn_pair_by_angles(of_q, of_k, *ctx.saved_tensors, *ctx.how, not ctx.inverse)
    return *back, None, None, None, None, None, None, None


def _mapped(info: Any, dims: tuple[Any, ...], q: Any, k: Any, places: Any, rates: Any, *how: Any) -> tuple[Any, Any]:
    """A mapped axis is one more axis of the batch; that of frequencies is not taken."""
    if dims[3] is not None:
        raise ValueError("rates must not be mapped by vmap; got a mapped axis. Map queries, keys and positions alone.")
    size = info.batch_size
    q, k, places = (
        part.movedim(dim, 0) if dim is not None else part.expand(size, *part.shape)
        for part, dim in zip((q, k, places), dims, strict=False)
    )
    batch = q.shape[1]
    places = places.expand(size, batch, *places.shape[2:]).flatten(0, 1).contiguous()
    q, k = (part.flatten(0, 1).contiguous() for part in (q, k))
    turned = torch.ops.posenc.turn_pair_by_angles(q, k, places, rates, *how)
    return tuple(part.unflatten(0, (size, batch)) for part in turned), (0, 0)


def _told() -> None:
    """PyTorch's tracers and autograd told of the operators."""
    if native.MISSING is not None:
        return
    for name in ("waves", "waves_at"):
        native.LIBRARY.impl(name, _table_like, "Meta")
    for name in ("waves_into", "waves_within", "waves_within_at"):
        native.LIBRARY.impl(name, _nothing, "Meta")
    native.LIBRARY.impl("turn_pair_by_angles", _pair_like, "Meta")
    torch.library.register_autograd("posenc::turn_pair_by_angles", _backward, setup_context=_remember)
    torch.library.register_vmap("posenc::turn_pair_by_angles", _mapped)


_told()
