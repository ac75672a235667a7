"""Positions of mixed media and of patches against transformers 5.23.0, live: whole numbers, equal."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from types import MethodType, ModuleType
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import pytest
import torch

from posenc import positions
from posenc.positions import Film, Image, Text, Video


def modeling(family: str) -> ModuleType:
    pytest.importorskip("transformers")
    assert version("transformers") == "5.23.0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(f"transformers.models.{family}.modeling_{family}")


def model(family: str, name: str, **vision: Any) -> Any:
    """What the builder of positions reads of a model, without the model."""
    kind = getattr(modeling(family), name)
    held = Fields(config=Fields(vision_config=Fields(**vision)))
    held.get_vision_position_ids = MethodType(kind.get_vision_position_ids, held)
    return lambda *given, **named: kind.get_rope_index(held, *given, **named)


def kinds(segments: list[Any]) -> torch.Tensor:
    """0, 1 or 2 for each token of text, images and videos."""
    number = {Text: 0, Image: 1, Video: 2}
    return torch.tensor([[number[type(segment)] for segment in segments for _ in segment.coordinates()]])


def sizes(segments: list[Any], kind: type) -> torch.Tensor:
    return torch.tensor([[getattr(s, "frames", 1), s.height, s.width] for s in segments if isinstance(s, kind)])


def agrees(found: tuple[np.ndarray, int], theirs: tuple[torch.Tensor, torch.Tensor]) -> None:
    ids, following = found
    assert ids.T.tolist() == theirs[0][:, 0].tolist()
    assert following - len(ids) == int(theirs[1][0])


SCENE = [Text(3), Image(4, 8, merge=2), Text(1), Image(6, 2, merge=2), Text(4)]


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("qwen2_vl", "Qwen2VLModel"),
        ("qwen2_5_vl", "Qwen2_5_VLModel"),
        ("qwen3_vl", "Qwen3VLModel"),
        ("glm4v", "Glm4vModel"),
    ],
)
def test_images_in_text(family: str, name: str) -> None:
    index = model(family, name, spatial_merge_size=2, tokens_per_second=4)
    kind = kinds(SCENE)
    theirs = index(torch.zeros_like(kind), kind, image_grid_thw=sizes(SCENE, Image))
    for after in ("largest", "extent"):
        agrees(positions.media(SCENE, after=after), theirs)


def test_frames_of_a_video() -> None:
    scene = [Text(2), Video(5, 4, 4, merge=2, interval=1), Text(3), Image(4, 4, merge=2), Text(1)]
    kind = kinds(scene)
    theirs = model("qwen2_vl", "Qwen2VLModel", spatial_merge_size=2)(
        torch.zeros_like(kind), kind, image_grid_thw=sizes(scene, Image), video_grid_thw=sizes(scene, Video)
    )
    agrees(positions.media(scene, after="extent"), theirs)
    # In transformers 5 the text after a long video begins inside its time.
    assert positions.media(scene, after="largest")[0][-1, 0] == theirs[0][0, 0, -1] + 3


@pytest.mark.parametrize("seconds", [1.0, 0.5, 0.04, 1.3])
def test_seconds_of_a_video(seconds: float) -> None:
    scene = [Text(2), Video(7, 4, 6, merge=2, interval=25 * seconds), Text(3)]
    kind = kinds(scene)
    theirs = model("qwen2_5_vl", "Qwen2_5_VLModel", spatial_merge_size=2, tokens_per_second=25)(
        torch.zeros_like(kind),
        kind,
        video_grid_thw=sizes(scene, Video),
        second_per_grid_ts=torch.tensor([seconds], dtype=torch.float64),
    )
    agrees(positions.media(scene, after="extent"), theirs)


def omni() -> Any:
    kind = modeling("qwen2_5_omni").Qwen2_5OmniPreTrainedModelForConditionalGeneration
    config = Fields(
        image_token_id=11,
        video_token_id=12,
        audio_token_id=13,
        vision_start_token_id=21,
        audio_start_token_id=23,
        position_id_per_seconds=25,
        seconds_per_chunk=2,
    )
    held = Fields(config=config, spatial_merge_size=2)
    for name in ("get_llm_pos_ids_for_vision", "get_chunked_index"):
        setattr(held, name, MethodType(getattr(kind, name), held))
    return lambda *given, **named: kind.get_rope_index(held, *given, **named)


def test_sound_and_pictures_apart() -> None:
    """Each is between two marks, which are text of one token."""
    image, video, sound = Image(4, 4, merge=2), Video(6, 4, 8, merge=2, interval=25 * 1.2), Text(30)
    tokens = [1, 1, 21, *[11] * 4, 22, 1, 21, *[12] * 48, 22, 23, *[13] * 30, 24, 1]
    theirs = omni()(
        torch.tensor([tokens]),
        image_grid_thw=torch.tensor([[1, 4, 4]]),
        video_grid_thw=torch.tensor([[6, 4, 8]]),
        attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
        audio_seqlens=torch.tensor([119]),  # halved twice, rounded as two strided convolutions do: 30
        second_per_grids=torch.tensor([1.2], dtype=torch.float64),
    )
    scene = [Text(3), image, Text(3), video, Text(2), sound, Text(2)]
    agrees(positions.media(scene, after="largest"), theirs)


def test_sound_within_pictures() -> None:
    video, sound = Video(5, 4, 4, merge=2, interval=25), Text(110)
    tokens = [1, 21, 23, *[12] * 20, *[13] * 110, 24, 22, 1]
    theirs = omni()(
        torch.tensor([tokens]),
        image_grid_thw=None,
        video_grid_thw=torch.tensor([[5, 4, 4]]),
        attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
        use_audio_in_video=True,
        audio_seqlens=torch.tensor([439]),
        second_per_grids=torch.tensor([1.0]),
    )
    ids = theirs[0][:, 0].T
    film = positions.media([Film(video, sound, chunk=50)], after="largest")[0]
    start = int(ids[3, 0])
    assert start == 2  # the two marks before the film share a position, and so do those behind it
    assert (ids[3 : 3 + len(film)] - start).tolist() == film.tolist()


@pytest.mark.parametrize(("steps", "after"), [(3, 4), (7, 7)])
def test_what_follows_a_film_follows_the_longer_of_its_pictures_and_its_sound(steps: int, after: int) -> None:
    film = Film(Video(2, 16, 8, merge=4, interval=1), Text(steps), chunk=2)
    assert positions.media([film, Text(1)], after="extent")[0][-1].tolist() == [after] * 3


@pytest.mark.parametrize(("height", "width"), [(3, 5), (14, 14)])
def test_centres_of_patches(height: int, width: int) -> None:
    theirs = modeling("dinov3_vit").get_patches_center_coordinates(height, width, torch.float64, torch.device("cpu"))
    # Three roundings there and three here, of numbers up to 2.
    assert np.abs(positions.centres(height, width) - theirs.numpy()).max() <= 6 * 2.0**-53
