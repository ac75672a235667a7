"""Positions of multimodal models by family, against `get_rope_index` of transformers 5.23.0: equal numbers."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

import transformers

from oracles import multimodal_ids, multimodal_requests
from parity.live_positions import BY_THEMSELVES, CLASSES, placed
from parity.live_sliced import live_glm_image, live_minicpm, scene_of_glm_image, scene_of_minicpm
from posenc.positions import glm_image, minicpm_v, multimodal
from posenc.positions.placed_tokens import PlacedTokens

pytestmark = pytest.mark.parity
#: A class of each rule, which `make test` compares; `make nightly` compares all.
RULES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "ernie4_5_vl_moe", "hunyuan_vl", "qwen2_5_omni", "qwen3_omni_moe")
FOLDERS = [folder if folder in RULES else pytest.param(folder, marks=pytest.mark.nightly) for folder in CLASSES]


def ours(request: dict[str, Any]) -> PlacedTokens:
    return multimodal(request["family"], request["token_types"], **multimodal_requests.asked(request))


def agree(folder: str, request: dict[str, Any]) -> None:
    """Ours, the live builder and the oracle give the same numbers, and the same next position."""
    found, (live, deltas) = ours(request), placed(folder, request)
    np.testing.assert_array_equal(found.coordinates, live)
    assert found.delta.tolist() == deltas
    masks = request.get("attention_mask") or [[1] * len(row) for row in request["token_types"]]
    for row, (ids, following) in enumerate(multimodal_ids.ids(request)):
        np.testing.assert_array_equal(found.coordinates[row][np.array(masks[row], bool)], np.array(ids))
        assert found.following[row] == following


@pytest.mark.parametrize("folder", FOLDERS)
def test_images_videos_and_padding_of_a_family(folder: str) -> None:
    family = CLASSES[folder][1]
    for fps in multimodal_requests.RATES if family in multimodal_requests.CLOCK else (2.0,):
        agree(folder, multimodal_requests.pictures(family, fps))
    agree(folder, multimodal_requests.padded(family))


@pytest.mark.parametrize("folder", ["qwen2_5_omni", "qwen3_omni_moe"])
def test_sound_inside_a_video(folder: str) -> None:
    for fps in multimodal_requests.RATES:
        agree(folder, multimodal_requests.film(CLASSES[folder][1], fps))


@pytest.mark.nightly
@pytest.mark.parametrize("folder", ["qwen2_5_omni", "qwen3_omni_moe"])
def test_sound_inside_videos_of_many_sizes(folder: str) -> None:
    drawn = random.Random(1)
    for _ in range(300):
        fps = drawn.choice((*multimodal_requests.RATES, 1.0, 3.0, 12.0, 23.976, 30.0, 60.0))
        grid = (drawn.randint(1, 40), 2 * drawn.randint(1, 5), 2 * drawn.randint(1, 8))
        agree(folder, multimodal_requests.film(CLASSES[folder][1], fps, grid, drawn.randint(1, 200)))


def test_every_class_with_positions_of_its_own_has_a_family() -> None:
    folder = Path(transformers.__file__).parent / "models"
    written = {
        path.parent.name
        for path in folder.glob("*/modeling_*.py")
        if re.search(r"^    def get_rope_index\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert written == {*CLASSES, *BY_THEMSELVES}


@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.nightly)])
def test_slices_of_images_on_a_canvas(count: int) -> None:
    drawn = random.Random(0)
    for _ in range(count):
        request = scene_of_minicpm(drawn)
        found, (live, deltas) = minicpm_v(**request), live_minicpm(request)
        np.testing.assert_array_equal(found.coordinates, live)
        assert found.delta.tolist() == deltas


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_images_to_be_generated(count: int) -> None:
    drawn = random.Random(0)
    for _ in range(count):
        request = scene_of_glm_image(drawn)
        (prompts, generated), (live, live_generated) = glm_image(**request), live_glm_image(request)
        np.testing.assert_array_equal(prompts, live)
        for sample, steps in enumerate(generated):
            np.testing.assert_array_equal(steps, live_generated[sample, : len(steps)])


def test_a_tensor_of_the_processor_is_read_as_it_is() -> None:
    request = multimodal_requests.pictures("qwen2.5-vl", 29.97)
    tensors = {
        name: torch.tensor(value) if isinstance(value, list) else value
        for name, value in multimodal_requests.asked(request).items()
    }
    found = multimodal("qwen2.5-vl", torch.tensor(request["token_types"]), **tensors)
    np.testing.assert_array_equal(found.coordinates, ours(request).coordinates)
