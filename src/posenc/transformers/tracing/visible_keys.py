"""Keys that an attention function lets each query see, from the mask that it was given."""

from __future__ import annotations

from pathlib import Path
from types import BuiltinFunctionType
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from torch.nn.attention.flex_attention import BlockMask, create_mask

from posenc.transformers.attention_probe import Attend

#: Folder of the code whose attention functions add to a mask nothing of their own.
KNOWN = Path(transformers.__file__).parent


class SightOfHeads(NamedTuple):
    """Keys that queries see, (batch or 1, queries, keys).

    Args:
        visible: Whether any head sees a key.
        in_every_head: Whether all heads do; None where all see the same.
    """

    visible: np.ndarray
    in_every_head: np.ndarray | None = None


def seen_by_heads(seen: torch.Tensor) -> SightOfHeads:
    """What any head sees, and what all do, from whether each does, (batch or 1, heads or 1, queries, keys)."""
    any_head = seen.any(1) if seen.shape[1] > 1 else seen[:, 0]
    every = seen.all(1) if seen.shape[1] > 1 else any_head
    alike = every is any_head or torch.equal(every, any_head)
    return SightOfHeads(any_head.cpu().numpy(), None if alike else every.cpu().numpy())


def visible_keys(module: Any, queries: int, keys: int, mask: Any, named: dict[str, Any]) -> torch.Tensor | None:
    """Whether each query may see each key, (batch or 1, heads or 1, queries, keys); None where nothing says so.

    Args:
        module: Module that calls attention.
        queries: Number of queries.
        keys: Number of keys.
        mask: Mask that the function was given: True or 0 where a key is seen, a `BlockMask`, or None.
        named: Further arguments by name.
    """
    if isinstance(mask, BlockMask):
        batch, heads = mask.shape[0], mask.shape[1]
        device = str(mask.kv_indices.device)
        dense: torch.Tensor = create_mask(mask.mask_mod, batch, heads, queries, keys, device=device)
        return dense
    if isinstance(mask, torch.Tensor) and mask.dim() == 4:
        own = mask[..., :keys]
        seen = own if own.dtype == torch.bool else own >= torch.finfo(own.dtype).min / 2
        return seen.expand(-1, -1, queries, -1)
    if mask is not None:
        return None
    how, hides_later = no_mask_rule(module, named)
    if how == "sdpa" and queries > 1 and hides_later:
        return torch.ones(1, 1, queries, keys, dtype=torch.bool).tril()
    return torch.ones(1, 1, queries, keys, dtype=torch.bool) if how in ("sdpa", "eager", "flex_attention") else None


def no_mask_rule(module: Any, named: dict[str, Any]) -> tuple[str, bool]:
    """Implementation of attention, and whether sdpa hides later keys, where attention is given no mask."""
    stated = named.get("is_causal")
    hides_later = bool(getattr(module, "is_causal", True) if stated is None else stated)
    return getattr(getattr(module, "config", None), "_attn_implementation", ""), hides_later


def heeds_its_mask(attend: Attend) -> bool:
    """Whether an attention function is transformers' own and unpatched, so that its mask says what queries see."""
    code = getattr(attend, "__code__", None)
    installed = code is not None and Path(code.co_filename).is_relative_to(KNOWN)
    return installed and isinstance(torch.nn.functional.scaled_dot_product_attention, BuiltinFunctionType)
