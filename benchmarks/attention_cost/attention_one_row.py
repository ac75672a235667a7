"""One query of one sequence, as decoding asks: `posenc.torch.attention` and `Attention.step`, against attention without
an encoding.

Positions are new at each call, and no call sees those of the last 63 again. Keys are rotated when they enter the cache;
those of PaTH are kept as the last token sees them, which `Attention.step` alone does.
Outputs are compared with the readable reference, computed by NumPy in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np
import torch
from attention_cost.attention import BOUNDS, DIM, HEADS, RECORDS
from measuring.measure import Variant, compared, floor
from measuring.problem import name_of
from torch.nn.functional import scaled_dot_product_attention

from posenc.attention import attention as reference
from posenc.torch import Attention, AttentionCache, attention, module, rotate_keys

KEYS = (16, 4096)
#: Calls until positions come again; and the position of the first key of the first call.
STEPS, FIRST = 64, 1000
PLAIN, CALL = "attention without an encoding", "posenc.torch.attention"
PLAIN_LAYER, STEP = "projections, cache and attention without an encoding", "posenc, Attention.step"
IN_LAYER = ("RoPE", "ALiBi", "T5", "forgetting gate", "PaTH")
BY_CALL = [name for name in RECORDS if name != "PaTH"]
ROUNDS = 15


def title(name: str, keys: int, dtype: Any) -> str:
    return f"{name}, one query, {keys} keys, 8 heads of 64, {name_of(dtype)}"


def layer_title(name: str, keys: int) -> str:
    return f"{name}, Attention.step behind {keys} keys, 8 heads of 64, float32"


def run() -> list[dict[str, Any]]:
    with torch.no_grad():
        calls = [(torch.float32, keys) for keys in KEYS] + [(torch.bfloat16, KEYS[1])]
        found = [case(name, keys, dtype) for dtype, keys in calls for name in BY_CALL]
        return [*found, *(layer(name, keys) for keys in KEYS for name in IN_LAYER)]


def places(keys: int) -> list[dict[str, Any]]:
    """The positions of each call, the query's that of the last key."""
    rows = [torch.arange(start, start + keys) for start in range(FIRST, FIRST + STEPS)]
    return [{"query_positions": row[-1:], "key_positions": row} for row in rows]


def case(name: str, keys: int, dtype: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(1, HEADS, 1, DIM, generator=generator).to(dtype)
    k, v = (torch.randn(1, HEADS, keys, DIM, generator=generator).to(dtype) for _ in range(2))
    encoding, at = RECORDS[name], places(keys)
    hidden = _hidden(encoding, keys, generator, dtype)
    modules = [module(encoding, seed=1)]
    rotates, cached = encoding.door == "rotates", (k, v)
    if rotates:
        cached = rotate_keys(k, v, key_positions=at[0]["key_positions"], encodings=modules, layout="bhtd")
    given = {"encodings": modules, "hidden": hidden, "causal": True, "layout": "bhtd", "keys_rotated": rotates}
    steps = cycle(at)
    ours = Variant(
        lambda: attention(q, *cached, **next(steps), **given), lambda: attention(q, *cached, **at[0], **given)
    )
    variants = {PLAIN: floor(lambda: scaled_dot_product_attention(q, k, v)), CALL: lambda: ours}
    expected = _exact(modules[0], q, k, v, hidden, at[0])
    return compared(title(name, keys, dtype), PLAIN, variants, expected, BOUNDS[dtype], rounds=ROUNDS)


def _hidden(encoding: Any, keys: int, generator: Any, dtype: Any) -> Any:
    """Inputs of the layer where the encoding reads them, None where it reads none."""
    if getattr(encoding, "reads", None) is None:
        return None
    return torch.randn(1, encoding.hidden_length(1, keys), HEADS * DIM, generator=generator).to(dtype)


def _exact(layer: Any, q: Any, k: Any, v: Any, hidden: Any, at: dict[str, Any]) -> Any:
    """The output in float64, by NumPy; without an encoding where no layer is given."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    encodings = [] if layer is None else [layer.encoding]
    learned = {name: np.asarray(value.double()) for name, value in ((layer and layer.params) or {}).items()}
    found = reference(
        q, k, v, layout="bhtd", encodings=encodings, params=[learned or None] * len(encodings),
        hidden=None if hidden is None else hidden.double().numpy(),
        **{name: positions.numpy() for name, positions in at.items()},
    )  # fmt: skip
    return torch.from_numpy(found.output)


def layer(name: str, keys: int) -> dict[str, Any]:
    """A step of a layer with its cache, which holds one key less, against the same projections and no positions."""
    generator = torch.Generator().manual_seed(0)
    ours = Attention(HEADS * DIM, HEADS, encodings=[module(RECORDS[name], seed=1)], causal=True)
    before, x = torch.randn(1, keys, HEADS * DIM, generator=generator).split([keys - 1, 1], 1)
    k, v = torch.randn(2, 1, keys - 1, HEADS, DIM, generator=generator)
    reads = ours.reads is not None  # what the cache then holds of tokens is made from their inputs
    cache = ours.step(before)[1] if reads else AttentionCache(k, v, torch.arange(keys - 1), None)
    caches = [_moved(cache, at["key_positions"][:-1]) for at in places(keys)]
    steps = cycle(caches)
    variants = {
        PLAIN_LAYER: floor(_plain_step(ours, x, k, v)),
        STEP: lambda: Variant(lambda: ours.step(x, next(steps))[0], lambda: ours.step(x, caches[0])[0]),
    }
    expected = _exact_whole(ours, torch.cat([before, x], 1)) if reads else _exact_step(ours, x, caches[0])
    return compared(layer_title(name, keys), PLAIN_LAYER, variants, expected, BOUNDS[torch.float32], rounds=ROUNDS)


def _moved(cache: AttentionCache, key_positions: Any) -> AttentionCache:
    """The same cache at other positions, which only their order tells from the former where inputs are read."""
    seen_from = None if cache.seen_from is None else key_positions[-1:]
    return replace(cache, key_positions=key_positions, seen_from=seen_from)


def _exact_whole(ours: Attention, x: Any) -> Any:
    """The output of the last token in float64, from all tokens."""
    shape, at = (1, x.shape[1], HEADS, DIM), torch.arange(x.shape[1])
    q, k, v = ((x.double() @ each.weight.double().T).view(shape) for each in (ours.query, ours.key, ours.value))
    here = {"query_positions": at[-1:], "key_positions": at}
    output = _exact(ours.encodings[0], *(each.transpose(1, 2) for each in (q[:, -1:], k, v)), x, here)
    return output.transpose(1, 2).reshape(1, 1, -1) @ ours.out.weight.double().T


def _plain_step(ours: Attention, x: Any, k: Any, v: Any) -> Callable[[], Any]:
    def step() -> Any:
        q, new_k, new_v = (each(x).reshape(1, 1, HEADS, DIM) for each in (ours.query, ours.key, ours.value))
        all_k, all_v = torch.cat([k, new_k], 1), torch.cat([v, new_v], 1)
        attended = scaled_dot_product_attention(*(each.transpose(1, 2) for each in (q, all_k, all_v)))
        return ours.out(attended.transpose(1, 2).reshape(1, 1, HEADS * DIM))

    return step


def _exact_step(ours: Attention, x: Any, cache: AttentionCache) -> Any:
    """The same in float64, of cached keys that are rotated already."""
    projections = (ours.query, ours.key, ours.value)
    q, k, v = ((x.double() @ each.weight.double().T).view(1, 1, HEADS, DIM) for each in projections)
    encoding, last = ours.encodings[0], cache.key_positions[-1:] + 1
    if encoding.encoding.door == "rotates":
        rotation = encoding.encoding.rotation(last.numpy(), dtype=np.float64)
        q, k = (torch.from_numpy(rotation(each.numpy(), layout="bthd")) for each in (q, k))
        encoding = None
    k, v = (torch.cat([old.double(), new], 1) for old, new in ((cache.k, k), (cache.v, v)))
    at = {"query_positions": last, "key_positions": torch.cat([cache.key_positions, last])}
    output = _exact(encoding, *(each.transpose(1, 2) for each in (q, k, v)), None, at)
    return output.transpose(1, 2).reshape(1, 1, -1) @ ours.out.weight.double().T
