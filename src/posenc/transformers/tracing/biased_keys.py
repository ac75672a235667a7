"""Positions of keys that a bias of ALiBi shows."""

from __future__ import annotations

import numpy as np
import torch

from posenc.diagnosis.tracing.trace_records import TracedCall, TracedLayer
from posenc.encodings.biases.alibi import ALiBi
from posenc.models.model_positions import ModelPositions
from posenc.transformers.attention_recorder import place_of


def biased_keys(model: ModelPositions, call: TracedCall, bias: torch.Tensor, module: str) -> TracedLayer | None:
    """Read the positions of keys off a bias that grows by one slope a position in each head.

    Args:
        model: Positions that the model is to have.
        call: The call.
        bias: What a layer is given: (batch·heads, queries or 1, keys), or with the heads in an axis of their own.
        module: Name of the layer's module.

    Returns:
        Positions of all keys, up to a shift of each row; None where the model has no bias of ALiBi, or the bias has
        another shape.
    """
    encoding = next((one for group in model.groups for one in group.encodings if isinstance(one, ALiBi)), None)
    if encoding is None:
        return None
    slopes = np.asarray(encoding.slopes())
    total, batch = call.start + call.count, len(call.real)
    if bias.shape[-1] < total or bias.numel() % (len(slopes) * bias.shape[-1]):
        return None
    heads = bias.detach().float().reshape(-1, len(slopes), bias[..., 0].numel() // _rows(bias, slopes), bias.shape[-1])
    own = heads[:, :, -1, -total:].cpu().numpy().astype(np.float64) / slopes[:, None]
    positions = np.broadcast_to(own, (batch, *own.shape[1:])) if len(own) in (1, batch) else None
    if positions is None:
        return None
    positions = positions - positions[..., :1]
    whole = np.round(positions)
    near = np.abs(positions - whole) < np.maximum(1e-3, np.abs(whole) * torch.finfo(bias.dtype).eps * 4)
    keys = np.where(near, whole, positions)[..., None] + 0.0  # no zero with a sign
    place = place_of(module)
    part = place.part if place.part in model.parts else model.main_part
    empty = np.zeros((batch, 0, 0, 1))
    return TracedLayer(call.number, place.layer, part, module, empty, keys, kind="biases")


def _rows(bias: torch.Tensor, slopes: np.ndarray) -> int:
    """Number of batch rows times heads in a bias of shape (batch · heads, n, keys) or (batch, heads, n, keys)."""
    together = bias.dim() == 3 and bias.shape[0] % len(slopes) == 0
    return int(bias.shape[0] if together else bias.shape[0] * bias.shape[1])
