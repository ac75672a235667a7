"""Attention as transformers calls it in a model with swapped positions, and what its masks say."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

#: The module of an attention layer, or of the input, that holds what was swapped in; and the argument of its calls.
NAME = "posenc"
#: Attention of transformers that a logit can be added to, and our name for each.
OURS = {"sdpa": "posenc_sdpa", "eager": "posenc_eager"}
#: The name under which the code of models finds the functions of attention.
INTERFACE = "ALL_ATTENTION_FUNCTIONS"


def register_functions() -> None:
    """Make our functions known to transformers, with the masks of those that they stand for."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    for name, mask in (("sdpa", sdpa_mask), ("eager", eager_mask)):
        AttentionInterface.register(OURS[name], partial(_attend, name))
        AttentionMaskInterface.register(OURS[name], mask)


def _attend(name: str, module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **named: Any) -> Any:
    """Attend with the encodings swapped into a layer; in any other layer, by its own function."""
    code = inspect.unwrap(type(module).forward).__globals__
    function: Callable[..., Any] = code["eager_attention_forward"] if name == "eager" else code[INTERFACE][name]
    layer = getattr(module, NAME, None)
    if layer is None or not layer.acts_inside:
        return function(module, query, key, value, attention_mask, **named)
    return layer.attend(function, name, module, (query, key, value), attention_mask, **named)


def module_is_causal(module: Any) -> bool:
    """Whether a layer of attention is causal, as transformers reads it."""
    return bool(getattr(module, "is_causal", True))


def as_seen(mask: Any) -> Any:
    """Convert a mask (batch, 1, queries, keys) to truth values: True where a key is seen.

    Raises:
        ValueError: The mask adds other numbers than 0 and the least of its dtype.

    Example:
        >>> as_seen(torch.tensor([[[[0.0, torch.finfo(torch.float32).min]]]])).tolist()
        [[[[True, False]]]]
    """
    if mask.dtype == torch.bool:
        return mask
    if not bool(((mask == 0) | (mask <= torch.finfo(mask.dtype).min)).all()):
        raise ValueError(
            "attention_mask must say which keys are seen, where a swapped encoding adds to the logits; got other "
            f"numbers, of {mask.dtype}. Give truth values, True where a key is seen."
        )
    return mask == 0


def documents_seen(seen: Any, causal: bool) -> tuple[Any, Any]:
    """Infer document numbers of queries (batch, queries) and keys (batch, keys) from a mask; below 0 for padding keys.

    Args:
        seen: True where a query sees a key, (batch, queries, keys).
        causal: Whether a query sees keys up to its own alone.

    Raises:
        ValueError: What is seen does not follow from texts and their order, as with a window: a score that reads all
            keys in between would count keys that are hidden.

    Example:
        >>> left_padded = torch.tensor([[[0, 0, 0], [0, 1, 0], [0, 1, 1]]]).bool()
        >>> documents_seen(left_padded, causal=True)
        (tensor([[-1,  1,  1]]), tensor([[-1,  1,  1]]))
    """
    queries, keys = seen.shape[1:]
    alone = -1 - torch.arange(keys, device=seen.device).expand(seen.shape[0], keys)
    first = seen.int().argmax(-1)  # the first key that a query sees is the first of its text
    if causal and queries == keys:
        of_key = of_query = torch.where(seen.any(-1), first, alone)
    else:
        of_query = first[:, -1:].expand(-1, queries)
        of_key = torch.where(seen[:, -1], of_query[:, -1:], alone)
    expected = of_query[:, :, None] == of_key[:, None, :]
    if causal:
        expected = expected & torch.ones_like(seen[0]).tril(keys - queries)
    sighted = seen.any(-1, keepdim=True)  # a query that sees nothing is padding
    if not torch.equal(seen, expected & sighted):
        raise ValueError(
            "attention_mask must follow from texts and their order, for a swapped score that reads the keys in "
            "between; got a window, or another mask. Swap it into layers of full attention."
        )
    return of_query, of_key
