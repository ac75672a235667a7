"""A layer run step by step, with its cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def stepped(
    layer: Any, x: torch.Tensor, ends: Sequence[int], positions: Any = None, mask: Any = None
) -> tuple[torch.Tensor, Any]:
    """Outputs of a layer's steps up to each end, and its last cache."""
    parts, cache = [], None
    for start, stop in zip((0, *ends), ends, strict=False):
        at = None if positions is None else positions[..., start:stop]
        output, cache = layer.step(x[:, start:stop], cache, at, mask=None if mask is None else mask[..., :stop])
        parts.append(output)
    return torch.cat(parts, 1), cache
