"""Positions of cached keys, kept with each key, so that they follow whatever the cache does to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

#: Channels that a position takes behind a key: the bytes of an int64. Every float of 16 bits holds 0 to 255 exactly.
BYTES = 8


@dataclass(eq=False)
class LayerCall:
    """Call of an attention layer.

    Args:
        query_positions: Positions of the queries, (batch or 1, tokens).
        key_positions: Positions of the keys, (batch or 1, tokens): of new tokens until the cache adds the earlier ones.
        hidden: Input of the layer, (batch, tokens, width).
    """

    query_positions: Any
    key_positions: Any
    hidden: Any


class PositionedCache:
    """Cache of transformers that keeps the position of each key in channels behind it.

    Where beams are reordered, windows slide, or rows are cropped or allocated ahead, the position stays with its key.
    Everything but `update` is the cache's own.
    """

    def __init__(self, cache: Any, call: LayerCall) -> None:
        self.cache, self.call = cache, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cache, name)

    def update(self, keys: Any, values: Any, layer: int, *more: Any, **named: Any) -> tuple[Any, Any]:
        """Write new keys and values, (batch, key heads, tokens, width), and return all of the layer."""
        width = keys.shape[-1]
        self._check(layer, width)
        position_channels = _as_channels(self.call.key_positions, keys)
        keys, values = self.cache.update(torch.cat([keys, position_channels], -1), values, layer, *more, **named)
        self.call.key_positions = _as_positions(keys[:, 0, :, width:])
        return keys[..., :width], values

    def _check(self, layer: int, width: int) -> None:
        """Refuse a cache whose keys have no positions, and one that rounds what it is given."""
        layers = self.cache.layers
        known = layers[layer] if layer < len(layers) else None
        if any("Quantized" in kind.__name__ for kind in type(known).__mro__):
            raise ValueError(
                f"past_key_values must keep keys as they are; got {type(known).__name__}, which rounds them and the "
                "positions kept with them. Use DynamicCache."
            )
        keys = getattr(known, "keys", None)
        if keys is not None and keys.numel() and keys.shape[-1] != width + BYTES:
            raise ValueError(
                f"past_key_values must be filled by this model after the swap; got keys of width {keys.shape[-1]} "
                "without their positions. Start with an empty cache."
            )


def _as_channels(positions: Any, like: Any) -> Any:
    """Write positions (batch or 1, tokens) as channels (batch, key heads, tokens, BYTES) in the dtype of keys."""
    channels = positions.contiguous()[..., None].view(torch.uint8).to(like.dtype)
    return channels[:, None].expand(*like.shape[:3], BYTES)


def _as_positions(channels: Any) -> Any:
    """Read positions (batch, tokens), int64, from the channels of one head; the inverse of `_as_channels`."""
    return channels.to(torch.uint8).contiguous().view(torch.int64)[..., 0]
