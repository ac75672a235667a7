"""Positions of text, images and videos by family, against `get_rope_index` of transformers 5.23.0: equal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from parity.test_media import model, omni
from posenc.positions import multimodal

pytestmark = pytest.mark.parity
#: Family, folder of transformers, class of the model.
LIVE = {
    "qwen2-vl": ("qwen2_vl", "Qwen2VLModel"),
    "qwen2.5-vl": ("qwen2_5_vl", "Qwen2_5_VLModel"),
    "qwen3-vl": ("qwen3_vl", "Qwen3VLModel"),
    "qwen3.5": ("qwen3_5", "Qwen3_5Model"),
    "glm-4v": ("glm4v", "Glm4vModel"),
    "glm-ocr": ("glm_ocr", "GlmOcrModel"),
    "ernie4.5-vl": ("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel"),
}
SPLIT = ("qwen3-vl", "qwen3.5", "glm-4v", "glm-ocr")
IMAGES = [[1, 4, 8], [1, 10, 4], [1, 2, 2]]
VIDEOS = [[6, 4, 6], [26, 2, 8]]


def scene(family: str, merge: int = 2) -> list[int]:
    """Types of the tokens of text, two images, two videos and an image, each between marks."""
    kinds = [0] * 3
    for kind, grids in ((1, IMAGES[:2]), (2, VIDEOS), (1, IMAGES[2:])):
        for frames, height, width in grids:
            tokens = height * width // merge**2
            if kind == 2 and family in SPLIT:
                kinds += ([2] * tokens + [0] * 4) * frames
            else:
                count = frames // 2 if kind == 2 and family == "ernie4.5-vl" else frames
                kinds += [kind] * (tokens * count) + [0] * 2
    return kinds


def ours(family: str, kinds: Any, **more: Any) -> tuple[np.ndarray, np.ndarray]:
    more = {"temporal_merge": 2, **more} if family == "ernie4.5-vl" else more
    return multimodal(family, kinds, merge=2, **more)


def theirs(family: str, kinds: torch.Tensor, **named: Any) -> tuple[torch.Tensor, torch.Tensor]:
    vision = {"spatial_merge_size": 2, "tokens_per_second": 2, "temporal_merge_size": 2}
    return model(*LIVE[family], **vision)(torch.zeros_like(kinds), kinds, **named)


@pytest.mark.parametrize("fps", [0.5, 2.0, 24.0, 29.97])
@pytest.mark.parametrize("family", LIVE)
def test_images_and_videos_of_a_family(family: str, fps: float) -> None:
    kinds = torch.tensor([scene(family)])
    grids = {"image_grid_thw": torch.tensor(IMAGES), "video_grid_thw": torch.tensor(VIDEOS)}
    seconds = {"second_per_grid_ts": torch.tensor([2 / fps, 2 / fps])} if family == "qwen2.5-vl" else {}
    rate = {"tokens_per_second": 2} if seconds else {}
    places, deltas = ours(family, kinds, **grids, **seconds, **rate)
    positions, live_deltas = theirs(family, kinds, **grids, **seconds)
    assert np.array_equal(places, positions.permute(1, 2, 0).numpy())
    assert deltas.tolist() == live_deltas[:, 0].tolist()


def test_a_batch_with_padding() -> None:
    short, full = [0, 0, 0, 1, 1, 0], [0, 1, 1, 1, 1, 0]
    mask = torch.tensor([[0, 0, 1, 1, 1, 1], [1] * 6])
    images = torch.tensor([[1, 2, 4], [1, 4, 4]])
    places, deltas = ours("qwen2-vl", torch.tensor([short, full]), image_grid_thw=images, attention_mask=mask)
    positions, live_deltas = theirs("qwen2-vl", torch.tensor([short, full]), image_grid_thw=images, attention_mask=mask)
    assert np.array_equal(places, positions.permute(1, 2, 0).numpy())
    assert deltas.tolist() == live_deltas[:, 0].tolist()


@pytest.mark.parametrize("fps", [0.5, 2.0, 24.0, 29.97])
def test_images_videos_and_sound_of_omni(fps: float) -> None:
    tokens = [1, 21, *[11] * 8, 22, 1, 1, 21, *[12] * 52, 22, 23, *[13] * 30, 24, 1]
    kinds = [{11: 1, 12: 2, 13: 3}.get(token, 0) for token in tokens]
    grids = {"image_grid_thw": torch.tensor([[1, 8, 4]]), "video_grid_thw": torch.tensor([[13, 2, 8]])}
    seconds = torch.tensor([2 / fps])
    positions, live_deltas = omni()(
        torch.tensor([tokens]),
        **grids,
        attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
        audio_seqlens=torch.tensor([119]),
        second_per_grids=seconds,
    )
    places, delta = multimodal(
        "qwen2.5-omni", kinds, merge=2, **grids, second_per_grid_ts=seconds, tokens_per_second=25
    )
    assert np.array_equal(places, positions[:, 0].T.numpy())
    assert delta == live_deltas[0, 0]


VIDEO = {"merge": 2, "video_grid_thw": [[2, 2, 2]]}
CLOCK = {"second_per_grid_ts": [1.0], "tokens_per_second": 2}
WRONG = {
    "family must be one of": ("qwen", [0], {"merge": 2}),
    "second_per_grid_ts must be given for the videos of 'qwen2.5-vl'; got None": ("qwen2.5-vl", [2, 2], VIDEO),
    "tokens_per_second must be given": ("qwen2.5-vl", [2, 2], VIDEO | {"second_per_grid_ts": [1.0]}),
    "second_per_grid_ts must be left out for 'qwen2-vl', which does": ("qwen2-vl", [2, 2], VIDEO | CLOCK),
    "second_per_grid_ts must hold seconds": ("qwen2.5-vl", [2, 2], VIDEO | CLOCK | {"second_per_grid_ts": [1.0, 1.0]}),
    "temporal_merge must be given for 'ernie4.5-vl'": ("ernie4.5-vl", [2], VIDEO),
    "temporal_merge must be left out for 'qwen2-vl'": ("qwen2-vl", [2, 2], VIDEO | {"temporal_merge": 2}),
    "token_types must have a run of video tokens.*run of 2 and a grid of 1": ("qwen3-vl", [2, 2], VIDEO),
    "token_types must have a run of image tokens.*run of 1 and no grid": ("qwen2-vl", [1], {"merge": 2}),
    "token_types must be 0, 1 or 2 for 'qwen2-vl'; got 3": ("qwen2-vl", [3], {"merge": 2}),
    r"token_types must have shape \(n,\)": ("qwen2-vl", [[[0]]], {"merge": 2}),
    "video_grid_thw must have a row for each video of token_types; got more": ("qwen2-vl", [0], VIDEO),
    "video_grid_thw must hold rows and columns that merge=4 divides": ("qwen2-vl", [2], VIDEO | {"merge": 4}),
    r"video_grid_thw must have shape \(pictures, 3\)": ("qwen2-vl", [2], VIDEO | {"video_grid_thw": [2, 2, 2]}),
    "attention_mask must have the shape of token_types": ("qwen2-vl", [0], {"merge": 2, "attention_mask": [1, 1]}),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_contradicts_itself(message: str) -> None:
    family, kinds, more = WRONG[message]
    with pytest.raises(ValueError, match=f"^{message}"):
        multimodal(family, kinds, **more)


def test_fractions_are_no_types_of_tokens() -> None:
    with pytest.raises(TypeError, match=r"^token_types must hold whole numbers; got float64"):
        multimodal("qwen2-vl", [0.0], merge=2)
