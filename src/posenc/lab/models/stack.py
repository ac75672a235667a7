"""The layers of a decoder or an encoder, with their encodings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from posenc.lab.encodings import LayerEncodings
from posenc.lab.models.block import TransformerBlock, dropout
from posenc.lab.models.cache import DecoderCache
from posenc.lab.models.placed import Mask, Placed, at_positions
from posenc.lab.run_config import Shape
from posenc.torch import module


class Stack(nn.Module):  # type: ignore[misc]
    """Pre-norm blocks (as GPT-2) and a last norm.

    Layers that have equal encodings share one module of it, and so what it learns; what is placed is worked out once
    for all of them.
    """

    def __init__(
        self,
        shape: Shape,
        encodings: LayerEncodings,
        rng: torch.Generator,
        *,
        seed: int,
        causal: bool,
        reads_memory: bool = False,
    ) -> None:
        super().__init__()
        _check_heads(encodings, shape.heads)
        self.causal, self.layers = causal, encodings.inside
        self.axes = next((encoding.axes for encoding in encodings.encodings), 1)
        self.blocks = nn.ModuleList(
            TransformerBlock(shape, layer, rng, reads_memory=reads_memory) for layer in range(shape.layers)
        )
        self.norm, self.dropped = nn.LayerNorm(shape.width), dropout(shape)
        self.encodings = nn.ModuleList(module(encoding, seed=seed) for encoding in encodings.encodings)
        self.added = [each for each in self.encodings if each.encoding in encodings.added]

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        cache: DecoderCache | None = None,
        *,
        visible: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Mask | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Vectors (batch, n, width) after all layers, of the last tokens alone if `last` says how many."""
        query_positions = self._positions(x, positions, cache)
        key_positions = query_positions
        if cache is not None:
            key_positions = (
                query_positions
                if cache.positions is None
                else joined_positions(cache.positions, query_positions, self.axes)
            )
            cache.positions = key_positions
        for each in self.added:
            x = _added(each, x, query_positions)
        x = self.dropped(x)
        mask = Mask(self.causal, visible)
        placed: dict[tuple[Any, ...], Placed] = {}
        for block, encodings in zip(self.blocks, self.layers, strict=True):
            if encodings not in placed:
                modules = [each for each in self.encodings if each.encoding in encodings]
                placed[encodings] = at_positions(modules, query_positions, key_positions, mask, x)
            x = block(x, placed[encodings], cache, memory, memory_mask)
        return self.norm(x if last is None else x[:, -last:])

    def _positions(self, x: Tensor, positions: Tensor | None, cache: DecoderCache | None) -> Tensor:
        if positions is not None:
            return positions
        start = 0 if cache is None else cache.tokens
        return torch.arange(start, start + x.shape[1], device=x.device)


def _added(each: Any, x: Tensor, positions: Tensor) -> Tensor:
    """x with an encoding added, as wide as before."""
    result: Tensor = each(x, positions)
    if result.shape != x.shape:
        raise ValueError(
            f"encodings must keep the width of the model, {x.shape[-1]}; got {each.encoding!r}, which makes it "
            f"{result.shape[-1]}. Use one that adds."
        )
    return result


def _check_heads(encodings: LayerEncodings, heads: int) -> None:
    """Refuse an encoding for other heads, which might fit by broadcasting."""
    for encoding in encodings.encodings:
        if getattr(encoding, "heads", heads) != heads:
            raise ValueError(
                f"encodings must have the heads of the model, {heads}; got {encoding!r}. Build the encoding for {heads}."
            )


def joined_positions(old: Tensor, new: Tensor, axes: int) -> Tensor:
    """Positions of kept tokens and of new ones."""
    return torch.cat([old, new], -1 if axes == 1 else -2)
