"""A run of a model over drawn tokens, as a stock request: a prompt, whole or in chunks, then an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class DrawnRequest:
    """Prompt of a run, and how it is read: chunks, padding or packed documents, and length of the answer.

    Args:
        tokens: Token ids of the prompt, (batch, n).
        new: Tokens of the answer, one a call.
        chunk: Tokens of the prompt a call; 0 for all at once.
        padding: Tokens of padding before the last row.
        documents: Lengths of the documents packed into the row; empty for one.
    """

    tokens: torch.Tensor
    new: int = 0
    chunk: int = 0
    padding: int = 0
    documents: tuple[int, ...] = ()


def run_drawn(model: Any, request: DrawnRequest) -> None:
    """Run a model over a request, with the cache that it makes itself."""
    tokens = request.tokens
    if request.documents:
        ids = torch.cat([torch.arange(length) for length in request.documents]).to(tokens.device)
        model(tokens, position_ids=ids[None], use_cache=False)
        return
    mask = torch.ones_like(tokens)
    mask[-1, : request.padding] = 0
    if request.new and not request.chunk and hasattr(model, "can_generate") and model.can_generate():
        fixed = {"do_sample": False, "min_new_tokens": request.new + 1, "pad_token_id": 0}
        model.generate(tokens, attention_mask=mask, max_new_tokens=request.new + 1, **fixed)
        return
    _run_in_steps(model, request, mask)


def _run_in_steps(model: Any, request: DrawnRequest, mask: torch.Tensor) -> None:
    """Read the prompt in chunks, then each row's first token again, one a call, as the tokens of the answer."""
    tokens, count = request.tokens, request.tokens.shape[1]
    tokens = torch.cat([tokens, tokens[:, :1].expand(-1, request.new)], 1)
    mask = torch.cat([mask, torch.ones_like(tokens[:, count:])], 1)
    ids = (mask.cumsum(1) - 1).clamp(min=0)
    size = request.chunk or count
    ends = [*range(size, count, size), *range(count, count + request.new + 1)]
    past, start = None, 0
    for end in ends:
        given = {"attention_mask": mask[:, :end]} if request.padding else {}
        if len(ends) > 1:
            given |= {"past_key_values": past, "use_cache": True}
        if request.padding:
            given["position_ids"] = ids[:, start:end]
        output = model(tokens[:, start:end], **given)
        past, start = getattr(output, "past_key_values", None), end
