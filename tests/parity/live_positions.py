"""Positions that transformers 5.23.0 computes for a multimodal request, without the model around its builder.

A request is that of `oracles.multimodal_ids`: what a processor returns, in plain lists.
"""

from __future__ import annotations

from types import MethodType
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import torch

from parity.test_media import modeling

#: Classes with a `get_rope_index` of their own, by folder, and the family of posenc that has their rule.
CLASSES = {
    "cohere_compass": ("CohereCompassModel", "cohere-compass"),
    "cosmos3_edge": ("Cosmos3EdgeModel", "cosmos3"),
    "cosmos3_omni": ("Cosmos3OmniModel", "cosmos3"),
    "ernie4_5_vl_moe": ("Ernie4_5_VLMoeModel", "ernie4.5-vl"),
    "glm46v": ("Glm46VModel", "glm-4v"),
    "glm4v": ("Glm4vModel", "glm-4v"),
    "glm4v_moe": ("Glm4vMoeModel", "glm-4v"),
    "glm_ocr": ("GlmOcrModel", "glm-ocr"),
    "hunyuan_vl": ("HunYuanVLModel", "hunyuan-vl"),
    "paddleocr_vl": ("PaddleOCRVLModel", "paddleocr-vl"),
    "qwen2_5_omni": ("Qwen2_5OmniPreTrainedModelForConditionalGeneration", "qwen2.5-omni"),
    "qwen2_5_vl": ("Qwen2_5_VLModel", "qwen2.5-vl"),
    "qwen2_vl": ("Qwen2VLModel", "qwen2-vl"),
    "qwen3_5": ("Qwen3_5Model", "qwen3.5"),
    "qwen3_5_moe": ("Qwen3_5MoeModel", "qwen3.5"),
    "qwen3_omni_moe": ("Qwen3OmniMoePreTrainedModelForConditionalGeneration", "qwen3-omni"),
    "qwen3_vl": ("Qwen3VLModel", "qwen3-vl"),
    "qwen3_vl_moe": ("Qwen3VLMoeModel", "qwen3-vl"),
    "qwen4_exp": ("Qwen4ExpModel", "qwen4"),
}
#: Classes whose rules `glm_image` and `minicpm_v` have.
BY_THEMSELVES = {"glm_image": "GlmImageModel", "minicpmv4_7": "MiniCPMV4_7Model"}

Placed = tuple[np.ndarray, list[float]]


def placed(folder: str, request: dict[str, Any]) -> Placed:
    """Coordinates (batch, n, axes) and rope deltas."""
    kind = getattr(modeling(folder), CLASSES[folder][0])
    types = torch.tensor(request["token_types"])
    grids = {name: torch.tensor(request[name]) for name in ("image_grid_thw", "video_grid_thw") if request.get(name)}
    mask = torch.tensor(request["attention_mask"]) if request.get("attention_mask") else None
    if "omni" in folder and "qwen" in folder:
        return _omni(folder, kind, request, grids, mask)
    vision = {
        "spatial_merge_size": request["merge"],
        "tokens_per_second": request.get("tokens_per_second"),
        "temporal_merge_size": request.get("temporal_merge"),
    }
    text = Fields(rope_parameters={"mrope_section": [1] * request.get("axes", 3)})
    held = Fields(config=Fields(vision_config=Fields(**vision), text_config=text))
    held.get_vision_position_ids = MethodType(kind.get_vision_position_ids, held)
    more = {"second_per_grid_ts": torch.tensor(request["second_per_grid_ts"])} if folder == "qwen2_5_vl" else {}
    found, deltas = kind.get_rope_index(held, torch.zeros_like(types), types, **grids, **more, attention_mask=mask)
    return found.permute(1, 2, 0).numpy(), deltas[:, 0].tolist()


def _omni(folder: str, kind: Any, request: dict[str, Any], grids: Any, mask: torch.Tensor | None) -> Placed:
    """As `placed`, with tokens and marks that types stand for, and lengths of sound before the encoder shortens it."""
    mixed = request.get("audio_in_video", False)
    tokens, heard = [], []
    for row, types in enumerate(request["token_types"]):
        kept = request["attention_mask"][row] if mask is not None else [1] * len(types)
        ids, counts = marked(types, kept, mixed)
        tokens.append(ids)
        heard += counts
    config = Fields(
        image_token_id=11,
        video_token_id=12,
        audio_token_id=13,
        vision_start_token_id=21,
        audio_start_token_id=23,
        position_id_per_seconds=request["tokens_per_second"],
        seconds_per_chunk=request.get("seconds_per_chunk"),
        audio_config=Fields(n_window=50),
    )
    held = Fields(config=config, spatial_merge_size=request["merge"])
    held.get_llm_pos_ids_for_vision = MethodType(kind.get_llm_pos_ids_for_vision, held)
    if folder == "qwen2_5_omni":
        held.get_chunked_index = MethodType(kind.get_chunked_index, held)
    before = [4 * count - 1 for count in heard] if folder == "qwen2_5_omni" else [_frames(count) for count in heard]
    found, deltas = kind.get_rope_index(
        held,
        torch.tensor(tokens),
        image_grid_thw=grids.get("image_grid_thw"),
        video_grid_thw=grids.get("video_grid_thw"),
        attention_mask=torch.ones(len(tokens), len(tokens[0])) if mask is None else mask,
        use_audio_in_video=mixed,
        audio_seqlens=torch.tensor(before, dtype=torch.long),
        second_per_grids=torch.tensor(request.get("second_per_grid_ts", [])),
    )
    return found.permute(1, 2, 0).numpy(), deltas[:, 0].tolist()


def _frames(count: int) -> int:
    """Frames of sound that the encoder of Qwen3-Omni shortens to so many tokens: 100 to 13, then 8 to 1."""
    return count // 13 * 100 + count % 13 * 8


def marked(types: list[int], kept: list[int], mixed: bool) -> tuple[list[int], list[int]]:
    """Ids of the tokens of Omni with marks before and behind pictures and sound, and the length of each sound."""
    ids = [{1: 11, 2: 12, 3: 13}.get(kind, 1) for kind in types]
    counts, place = [], 0
    while place < len(types):
        end = place + 1
        while end < len(types) and types[end] and types[place] and (types[end] == types[place] or mixed):
            end += 1
        if types[place]:
            film = mixed and 2 in types[place:end]
            ids[place - 1] = 23 if film or types[place] == 3 else 21
            if film:
                ids[place - 2] = 21
            if 3 in types[place:end]:
                counts.append(types[place:end].count(3))
        place = end
    assert all(kept[at] for at, kind in enumerate(types) if kind)
    return ids, counts
