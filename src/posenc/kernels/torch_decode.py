"""One token a row turned in plain PyTorch, as in decoding without a kernel: calls are what costs, so as few as can be.

The bits of the reference, `Turn.__call__`: the same products and sums, each rounded by itself.
"""

from __future__ import annotations

from typing import Any

import torch

from posenc.turn import Turn

#: How tensors of 16 bits are made of float32.
NARROW = {torch.bfloat16: torch.Tensor.bfloat16, torch.float16: torch.Tensor.half}
#: Channels of both tensors from which memory costs more than calls, and blocks that stay in the cache are better.
MOST = 1 << 18


def fit(q: Any, k: Any, turn: Turn, heads: int) -> bool:
    """Whether q and k are single tokens of whole heads cut in halves, few enough, that belong to the turn. heads: their axis."""
    cosine, sine, pairing, shape, of_k = turn.cos, turn.sin, turn.pairing, q.shape, k.shape
    if len(shape) != 4 or len(of_k) != 4 or pairing.layout != "halves" or pairing.blocks != 1 or turn.heads is not None:
        return False
    rows, dim, dtype, table = shape[0], shape[3], q.dtype, cosine.dtype
    return (
        shape[3 - heads] == of_k[3 - heads] == 1
        and of_k[0] == rows
        and of_k[3] == dim == pairing.dim == pairing.width
        and rows * (shape[heads] + of_k[heads]) * dim <= MOST
        and k.dtype == dtype
        and sine.dtype == table == torch.float32
        and (dtype == table or dtype in NARROW)
        and sine.shape == cosine.shape
        and cosine.shape in ((1, dim // 2), (1, 1, dim // 2), (rows, 1, dim // 2))
        and k.is_cpu
        and cosine.is_cpu
        and sine.is_cpu
    )


def into_new(q: Any, k: Any, turn: Turn, heads: int) -> tuple[Any, Any]:
    """Both turned into new memory, of a single row into that of both together; they fit."""
    narrow = NARROW.get(q.dtype)
    if narrow is None and q.shape[0] > 1:
        return _turned(q, turn, heads), _turned(k, turn, heads)
    joined, counts = torch.cat((q, k), heads), (q.shape[heads], k.shape[heads])
    if narrow is None:
        return _turned_(joined, turn, heads).split_with_sizes(counts, heads)  # type: ignore[no-any-return]
    wide = _turned_(joined.float(), turn, heads)
    if q.shape[0] == 1:
        return narrow(wide).split_with_sizes(counts, heads)  # type: ignore[no-any-return]
    first, second = wide.split_with_sizes(counts, heads)
    return narrow(first), narrow(second)


def in_place(q: Any, k: Any, turn: Turn, heads: int) -> None:
    """Both turned where they are; they fit, and share no memory."""
    if q.dtype not in NARROW:
        _turned_(q, turn, heads)
        _turned_(k, turn, heads)
        return
    wide = _turned_(torch.cat((q, k), heads).float(), turn, heads)
    first, second = wide.split_with_sizes((q.shape[heads], k.shape[heads]), heads)
    q.copy_(first)
    k.copy_(second)


def _turned_(x: Any, turn: Turn, heads: int) -> Any:
    pairs, cosine, sine = _parts(x, turn, heads)
    other = pairs * sine
    _crossed(pairs.mul_(cosine), other)
    return x


def _turned(x: Any, turn: Turn, heads: int) -> Any:
    pairs, cosine, sine = _parts(x, turn, heads)
    turned = pairs * cosine
    _crossed(turned, pairs * sine)
    return turned.view(x.shape)


def _parts(x: Any, turn: Turn, heads: int) -> tuple[Any, Any, Any]:
    """x as (rows, heads, 2, pairs), and tables that fit it."""
    shape, cosine, sine = x.shape, turn.cos, turn.sin
    if cosine.ndim == 3 and shape[0] > 1:  # else its single row is broadcast as it is
        cosine, sine = cosine.unsqueeze(1), sine.unsqueeze(1)
    return x.view(shape[0], shape[heads], 2, shape[3] // 2), cosine, sine


def _crossed(turned: Any, other: Any) -> None:
    """(a·cos, b·cos) and (a·sin, b·sin): into the first, (a·cos - b·sin, b·cos + a·sin)."""
    first, second = turned.unbind(2)
    of_first, of_second = other.unbind(2)
    first.sub_(of_second)
    second.add_(of_first)
