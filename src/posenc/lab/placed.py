"""An encoding at the places of one forward pass, worked out once and used by every layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posenc.doors import Biases, Encoding, Params, Rotates, Scores
from posenc.turn import Operator


@dataclass(frozen=True, eq=False)
class Placed:
    """What the doors inside attention need; tensors of heads are (batch, heads, time, width).

    The keys of earlier steps come turned from the cache, so both turns are for the new tokens.
    """

    encoding: Encoding
    params: Params
    query: Tensor
    key: Tensor
    turn_query: Operator | None
    turn_key: Operator | None
    bias: Tensor | None

    def rotated(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and new keys, turned where the encoding rotates."""
        if self.turn_query is None or self.turn_key is None:
            return q, k
        return self.turn_query(q, layout="bhtd"), self.turn_key(k, layout="bhtd")

    def attended(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """softmax(q·kᵀ/√d + bias + score)·v, and what a score adds to the values."""
        logits = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        if self.bias is not None:
            logits = logits + self.bias
        if not isinstance(self.encoding, Scores):
            return torch.softmax(logits, -1) @ v
        weights = torch.softmax(logits + self.encoding.score(q, k, self.query, self.key, self.params), -1)
        extra = self.encoding.values(weights, self.query, self.key, self.params)
        return weights @ v if extra is None else weights @ v + extra


def at_positions(encoding: Encoding, params: Params, query: Tensor, key: Tensor, *, causal: bool) -> Placed:
    """For queries at positions `query` (n,) and keys at `key` (m,), of which the last n are the new ones.

    causal: no query sees a key behind its own place, counted from the ends.
    """
    turn_query = turn_key = None
    if isinstance(encoding, Rotates):
        turn_query = encoding.turn(query, params, role="query")
        turn_key = encoding.turn(key[-len(query) :], params, role="key")
    bias = encoding.matrix(query, key, params) if isinstance(encoding, Biases) else None
    if causal and len(query) > 1:
        future = torch.full((len(query), len(key)), float("-inf")).triu(len(key) - len(query) + 1)
        bias = future if bias is None else bias + future
    return Placed(encoding, params, query, key, turn_query, turn_key, bias)
