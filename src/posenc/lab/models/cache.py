"""What a decoder keeps of the tokens it has read."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class DecoderCache:
    """Keys and values of each layer, as they are before any rotation, with the positions of the keys, and the inputs of the layer where an encoding reads them: tensors with tokens along their last axis but one."""

    positions: Tensor | None = None
    layers: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """How many tokens are kept."""
        return next((kept[0].shape[-2] for kept in self.layers.values()), 0)

    def extended(self, layer: int, *new: Tensor) -> tuple[Tensor, ...]:
        """What is kept of a layer, with new tokens behind."""
        old = self.layers.get(layer)
        self.layers[layer] = new if old is None else tuple(torch.cat(pair, -2) for pair in zip(old, new, strict=True))
        return self.layers[layer]
