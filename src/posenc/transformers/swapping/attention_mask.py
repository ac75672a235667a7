"""What a mask of transformers says: which keys are seen, and which tokens are of one text."""

from __future__ import annotations

from typing import Any

import torch


def module_is_causal(module: Any) -> bool:
    """Whether a layer of attention is causal, as transformers reads it."""
    return bool(getattr(module, "is_causal", True))


def as_seen(mask: Any) -> Any:
    """A mask, (batch, 1, queries, keys), as truth values: True where a key is seen.

    ValueError for a mask that adds other numbers than 0 and the least of its dtype.

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
    """Numbers of the texts that queries, (batch, queries), and keys, (batch, keys), belong to: padding is of none.

    Args:
        seen: (batch, queries, keys). ValueError where what is seen does not follow from texts and their order, as with
            a window: a score that reads all keys in between would count keys that are hidden.

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
