"""The heads of every layer, from a config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc import _check
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.row_permutation import MOST_HEADS
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads")


def head_shapes(
    config: Mapping[str, Any] | str | Path, *, part: str = "text", grouped: bool | None = None
) -> tuple[HeadShape | None, ...]:
    """How the heads of each layer are cut, as `from_config` reads it; None for a layer that does not rotate.

    part: of the model, as `from_config` names it.   grouped: as in `HeadShape`; no config states it.
    A file without a count of key and value heads means as many as of queries; a checkpoint that has others is then
    refused.
    Raises ValueError or TypeError naming the key.

    >>> head_shapes({"model_type": "llama", "rope_theta": 1e4, "hidden_size": 96, "num_attention_heads": 12,
    ...     "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 2048})
    (HeadShape(heads=12, kv_heads=4, head_dim=8, width=8, start=0, latent=None, grouped=None),)
    """
    positions = from_config(config)
    _check.choice("part", part, positions.parts)
    data = load_config(config)
    part_data = data.get(f"{part}_config", data)
    layers: dict[int, HeadShape | None] = {}
    for group in positions.of(part):
        for layer in group.layers:
            pairing = group.channels
            shape = None if pairing is None else _shape(part_data, pairing.dim, pairing.width, pairing.start, grouped)
            if layers.get(layer, shape) != shape:
                raise ValueError(
                    f"config must have one kind of rotation in layer {layer}; it has two. Give heads yourself."
                )
            layers[layer] = shape
    return tuple(layers.get(layer) for layer in range(max(layers, default=-1) + 1))


def _shape(part_data: Mapping[str, Any], dim: int, width: int, start: int, grouped: bool | None) -> HeadShape:
    """One layer's heads; in multi-head latent attention a slice of its own rotates."""
    heads = _count(part_data, HEADS)
    if heads is None:
        raise ValueError(
            f"config must state its heads under one of {', '.join(HEADS)}; it does not. Give heads yourself."
        )
    if part_data.get("kv_lora_rank") is not None:
        latent = _check.integer("kv_lora_rank", part_data["kv_lora_rank"], 1)
        unrotated = _check.integer("qk_nope_head_dim", part_data.get("qk_nope_head_dim"), 0)
        return HeadShape(heads, heads, unrotated + width, width, unrotated, latent, grouped)
    return HeadShape(heads, _count(part_data, KV_HEADS) or heads, dim, width, start, None, grouped)


def _count(part_data: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    present = next((key for key in keys if part_data.get(key) is not None), None)
    return None if present is None else _check.integer(present, part_data[present], 1, MOST_HEADS)
