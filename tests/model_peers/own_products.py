"""Attention that a model writes out itself: the product of queries and keys, and what softmax is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from model_peers.not_live import NEVER_ATTEND

#: Types whose attention is a product and a softmax in the model's own code.
WRITTEN_OUT = frozenset({
    *NEVER_ATTEND, "clvp_encoder", "codegen", "gpt_neox_japanese", "gptj", "roformer", "wav2vec2-bert",
    "wav2vec2-conformer",
})  # fmt: skip
#: Logits below this are those of keys that a query does not see.
HIDDEN = -1e8


class Products(TorchFunctionMode):
    """Tells of each softmax: the queries and keys, (1, heads, n, d), the scale of their product and the keys seen."""

    def __init__(self, count: int, tell: Callable[..., None]) -> None:
        super().__init__()
        self.count, self.tell = count, tell
        self.factors: tuple[torch.Tensor, torch.Tensor] | None = None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function in (torch.matmul, torch.Tensor.matmul, torch.baddbmm) and self._are_logits(result):
            query, key = args[-2:]
            self.factors = query, key.transpose(-1, -2)
        elif function in (torch.softmax, torch.nn.functional.softmax) and self.factors is not None:
            self._told(args[0])
        return result

    def _are_logits(self, result: torch.Tensor) -> bool:
        return result.ndim >= 3 and result.shape[-2:] == (self.count, self.count)

    def _told(self, logits: torch.Tensor) -> None:
        query, key = (factor.reshape(1, -1, *factor.shape[-2:]) for factor in self.factors)
        self.factors = None
        product = query @ key.transpose(-1, -2)
        logits = logits.reshape(product.shape)
        seen = (logits > HIDDEN)[:, :1]
        inside = seen.expand(product.shape)
        scale = float((logits[inside] * product[inside]).sum() / product[inside].square().sum())
        self.tell(query, key, scale, seen)
