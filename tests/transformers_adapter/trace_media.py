"""A tiny Qwen2.5-VL that reads a video, for traces: its processor's output, and its frames a second cut to a number."""

from __future__ import annotations

from typing import Any

import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from transformers_adapter.trace_plants import GROUPED, plant

IMAGE, VIDEO, START, END = 59, 60, 61, 62
#: Frames a second of the videos; a grid of the processor holds two frames.
RATES = (0.5, 2.0, 2.5, 24.0, 29.97)


def film_model() -> Any:
    """Qwen2.5-VL with drawn weights, whose time is two positions a second."""
    torch.manual_seed(0)
    sections = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    vision = {
        "depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 64, "patch_size": 4,
        "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 16, "fullatt_block_indexes": [0],
        "tokens_per_second": 2, "in_channels": 3,
    }  # fmt: skip
    config = Qwen2_5_VLConfig(
        text_config=GROUPED | {"rope_parameters": sections, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2},
        vision_config=vision, video_token_id=VIDEO, image_token_id=IMAGE, vision_start_token_id=START,
        vision_end_token_id=END,
    )  # fmt: skip
    return Qwen2_5_VLForConditionalGeneration(config).eval()


def film(rate: float, after: int = 3, grid: tuple[int, int, int] = (5, 4, 6)) -> dict[str, Any]:
    """Output of the processor for two words, a video and some more words."""
    frames, height, width = grid
    patches = frames * height * width
    ids = torch.tensor([[5, 6, START, *[VIDEO] * (patches // 4), END, *[7] * after]])
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == VIDEO).int() * 2,
        "pixel_values_videos": torch.randn(patches, 3 * 2 * 16, generator=torch.Generator().manual_seed(0)),
        "video_grid_thw": torch.tensor([grid]),
        "second_per_grid_ts": torch.tensor([2 / rate]),
    }


def cut_rate(model: Any, rate: float, grid: tuple[int, int, int]) -> None:
    """The rotation takes times by a rate that is cut to a whole number; the arguments stay right."""
    named = film(int(rate), grid=grid)
    index = {name: given for name, given in named.items() if name not in ("pixel_values_videos", "attention_mask")}
    wrong, _ = model.model.get_rope_index(**index)
    plant(model.model.language_model, lambda ids: wrong if ids.shape == wrong.shape else ids)
