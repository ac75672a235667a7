"""Positions that images and videos in a call are to have, from its arguments and the config of its family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from posenc.positions.multimodal import multimodal

#: Families of `posenc.positions.multimodal`, by the model types whose text they place.
FAMILIES = {
    "qwen2_vl": "qwen2-vl", "qwen2_5_vl": "qwen2.5-vl", "qwen3_vl": "qwen3-vl", "qwen3_vl_moe": "qwen3-vl",
    "glm4v": "glm-4v", "glm4v_moe": "glm-4v", "glm_ocr": "glm-ocr",
}  # fmt: skip
#: Arguments that hold the grids of images and videos.
GRIDS = ("image_grid_thw", "video_grid_thw")


def positions_of_media(config: Any, given: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Compute the positions of a call that reads images or videos.

    Args:
        config: Config of the model.
        given: Arguments of the call by name.

    Returns:
        Positions (batch, n, 3), and for each row the position of a next token of text less the count of tokens,
        (batch,). That position is the one of the same token in one forward over prompt and answer; where a video ends
        later than the text after it, the family's rope delta leads to another one. None where the family is not known,
        or the call does not say which tokens are images.
    """
    family, tokens = FAMILIES.get(getattr(config, "model_type", "")), given.get("input_ids")
    if family is None or tokens is None or all(given.get(name) is None for name in GRIDS):
        return None
    types, vision = _token_types(config, given, tokens), config.vision_config
    seconds: dict[str, Any] = {}
    if family == "qwen2.5-vl" and given.get("video_grid_thw") is not None:
        grids = given.get("second_per_grid_ts")
        grids = np.ones(len(given["video_grid_thw"]), np.float32) if grids is None else np.asarray(grids)
        seconds = {"second_per_grid_ts": grids, "tokens_per_second": float(vision.tokens_per_second)}
    mask = given.get("attention_mask")
    mask = mask if mask is None or tuple(mask.shape) == tuple(tokens.shape) else None
    named: dict[str, Any] = {name: None if given.get(name) is None else _array(given[name]) for name in GRIDS}
    real = np.ones_like(types) if mask is None else _array(mask)
    named["attention_mask"] = None if mask is None else np.pad(real, ((0, 0), (0, 1)), constant_values=1)
    with_next = np.pad(types, ((0, 0), (0, 1)))
    coordinates = multimodal(family, with_next, merge=vision.spatial_merge_size, **named, **seconds).coordinates
    return coordinates[:, :-1], coordinates[:, -1].max(-1) - real.astype(bool).sum(1)


def _token_types(config: Any, given: Mapping[str, Any], tokens: torch.Tensor) -> np.ndarray:
    """0 for text, 1 for images, 2 for videos: as the processor says, or by the tokens that stand for them."""
    stated = given.get("mm_token_type_ids")
    if stated is not None:
        return _array(stated)
    ids = _array(tokens)
    types: np.ndarray = (ids == config.image_token_id) + 2 * (ids == getattr(config, "video_token_id", -1))
    return types.astype(np.int64)


def _array(tensor: Any) -> np.ndarray:
    array: np.ndarray = torch.as_tensor(tensor).detach().cpu().numpy()
    return array
