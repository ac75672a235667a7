"""Keys whose weight vanishes against that of a query's own key, whatever stands there."""

from __future__ import annotations

from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.attention_paths.visible import shares_memory

#: Weights below e to minus this, 4e-18, of a query's greatest are left out: a million of them are 4e-12 of it, and
#: float32 rounds at 6e-8.
SMALLEST_POWER = 40.0
#: With fewer queries the lengths of all keys cost more than is saved.
FEWEST_QUERIES = 64


def largest_difference(call: AttentionCall, q: Any, k: Any) -> Any:
    """By how much the scaled products of one query with two keys may differ at most.

    |scale·q·k| is at most the product of the greatest lengths.
    """
    longest = [torch.linalg.vector_norm(x.detach(), dim=-1, dtype=torch.float32).amax() for x in (q, k)]
    return 2.001 * call.scale * longest[0] * longest[1]


def vanishing(call: AttentionCall, added: Any, start: int, first: int, far: Any) -> int:
    """How many of the first keys of a tile no query reads; what is added is set to -inf where single queries do not.

    A processor takes several times as long for weights that are almost zero in float32: subnormal numbers, from e^-87
    on.

    Args:
        far: `largest_difference` of all queries and keys, None where nothing may be left out.
    """
    if far is None or shares_memory(added):
        return 0
    own = torch.diagonal(added, start + call.keys - call.queries - first, -2, -1)[..., None]
    least = own - (SMALLEST_POWER + far)
    if not (added[..., :1] < least).any():  # what falls with the distance falls most at the first key
        return 0
    vanished = added < least
    read = (~vanished.flatten(0, -2).all(0)).nonzero()
    added.masked_fill_(vanished, float("-inf"))
    return int(read[0].item())


def comparable(call: AttentionCall) -> bool:
    """Whether each query sees its own key, and numbers can be looked at and written over."""
    alone = call.mask is None and call.documents is None and call.queries <= call.keys
    plain = arrays.library(call.q).concrete(call.q) and call.q.dtype != torch.float64
    many = call.queries >= FEWEST_QUERIES and bool(call.biases or call.scores)
    return many and alone and plain and not call.recorded
