"""Positions of text, images and videos by family, from what the family's processor returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from posenc.core import validation
from posenc.positions.grid import LONGEST, grid

#: A kind, a mask and three coordinates, 8 bytes each, with room for copies.
BYTES_OF_A_TOKEN = 64
#: What a processor calls a token, by its number in mm_token_type_ids.
TEXT, IMAGE, VIDEO, AUDIO = range(4)
KINDS = ("text", "image", "video", "audio")


@dataclass(frozen=True)
class Family:
    """Rule of a family of models for the time of a video.

    Attributes:
        time: Steps from frame to frame: "frames", one; "seconds", as many as pass between them; "split", none, since
            text with the time separates the frames.
        after: Where the next segment begins: beyond the longer side of a picture ("extent"), or beyond its largest
            coordinate ("largest").
        merges_frames: Whether several frames become one.
        audio: Whether there is sound.
    """

    time: Literal["frames", "seconds", "split"]
    after: Literal["extent", "largest"] = "extent"
    merges_frames: bool = False
    audio: bool = False


SPLIT = Family("split")
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "qwen2-vl": Family("frames"),
        "qwen2.5-vl": Family("seconds"),
        "qwen3-vl": SPLIT,
        "qwen3.5": SPLIT,
        "glm-4v": SPLIT,
        "glm-ocr": SPLIT,
        "ernie4.5-vl": Family("frames", merges_frames=True),
        "qwen2.5-omni": Family("seconds", "largest", audio=True),
    }
)


def multimodal(
    family: str,
    token_types: Any,
    *,
    merge: int,
    image_grid_thw: Any = None,
    video_grid_thw: Any = None,
    second_per_grid_ts: Any = None,
    tokens_per_second: float | None = None,
    temporal_merge: int | None = None,
    attention_mask: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (time, height, width) of text, images and videos, from what the processor of a family returns.

    As `get_rope_index` of transformers 5.23 computes them. `media` builds the same from segments of your own, with
    `after` and `interval` to state; here the family states them. Sound inside a video (`use_audio_in_video` of Omni) is
    not among these: place it by `media` with a `Film`.

    Args:
        family: "qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen3.5", "glm-4v" (GLM-4.1V to 4.6V), "glm-ocr", "ernie4.5-vl"
            or "qwen2.5-omni".
        token_types: The processor's `mm_token_type_ids`, (n,) or (batch, n): 0 text, 1 image, 2 video; for
            "qwen2.5-omni", 3 sound.
        merge: `spatial_merge_size` of the vision config.
        image_grid_thw: (images, 3), frames, rows and columns of the patches of each image, all rows of the batch in a
            row; None where there is no image.
        video_grid_thw: The same of each video.
        second_per_grid_ts: Seconds between the frames of each video, where the family counts time; `second_per_grids`
            in Omni. Numbers are read as float32, which the processor's tensor is; float64 arrays stay what they are.
        tokens_per_second: `tokens_per_second` of the vision config, `position_id_per_seconds` in Omni.
        temporal_merge: `temporal_merge_size` of the vision config of "ernie4.5-vl".
        attention_mask: (batch, n), 1 for tokens, 0 for padding; None for no padding.

    Returns:
        Coordinates, (batch, n, 3) or (n, 3), int64, 0 for padding (1 in Omni); and the rope deltas, (batch,) or (): the
        position of the next token less the count of tokens.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: The family is unknown; it needs an argument that is missing, or takes none that is given; or tokens
            and grids contradict each other.

    Example:
        >>> places, delta = multimodal("qwen2.5-vl", [0, 2, 2, 0], merge=2, video_grid_thw=[[2, 2, 2]],
        ...                            second_per_grid_ts=[0.5], tokens_per_second=4)
        >>> places.tolist(), delta.tolist()
        ([[0, 0, 0], [1, 1, 1], [3, 1, 1], [2, 2, 2]], 0)
    """
    rule = FAMILIES[validation.choice("family", family, tuple(FAMILIES))]
    side = validation.integer("merge", merge, 1, 1 << 10)
    videos = _grids("video_grid_thw", video_grid_thw, side)
    steps = _steps(family, rule, videos, second_per_grid_ts, tokens_per_second)
    pictures = {
        IMAGE: iter([_picture(thw, side, np.arange(thw[0])) for thw in _grids("image_grid_thw", image_grid_thw, side)]),
        VIDEO: iter(_frames(rule, family, videos, steps, side, temporal_merge)),
    }
    types = _whole("token_types", token_types)
    if types.ndim not in (1, 2):
        raise ValueError(f"token_types must have shape (n,) or (batch, n); got {types.shape}. Give mm_token_type_ids.")
    rows = np.atleast_2d(types)
    kept = (
        np.ones(rows.shape, bool)
        if attention_mask is None
        else np.atleast_2d(_whole("attention_mask", attention_mask)) == 1
    )
    if kept.shape != rows.shape:
        raise ValueError(
            f"attention_mask must have the shape of token_types, {rows.shape}; got {kept.shape}. Pass both."
        )
    places = np.full((*rows.shape, 3), int(rule.audio), np.int64)
    deltas = np.zeros(len(rows), np.int64)
    for row, (kinds, mask) in enumerate(zip(rows, kept, strict=True)):
        places[row, mask] = found = _of_row(kinds[mask], pictures, rule, family)
        deltas[row] = (found.max() + 1 if len(found) else 0) - len(found)
    for kind, left in pictures.items():
        if next(left, None) is not None:
            raise ValueError(
                f"{KINDS[kind]}_grid_thw must have a row for each {KINDS[kind]} of token_types; got more. Pass what "
                "one call of the processor returned."
            )
    return (places, deltas) if types.ndim == 2 else (places[0], deltas[0])


def _of_row(kinds: np.ndarray, pictures: Mapping[int, Iterator[np.ndarray]], rule: Family, family: str) -> np.ndarray:
    """The coordinates of one row without padding, run after run of tokens of one kind."""
    position, parts = 0, [np.empty((0, 3), np.int64)]
    for kind, run in groupby(kinds.tolist()):
        count = len(list(run))
        if kind not in range(4 if rule.audio else 3):
            raise ValueError(
                f"token_types must be 0, 1 or 2{', or 3' * rule.audio} for {family!r}; got {kind}. Look there."
            )
        if kind in (TEXT, AUDIO):
            parts.append(np.repeat(np.arange(count)[:, None], 3, -1) + position)
            position += count
            continue
        cells = next(pictures[kind], None)
        if cells is None or len(cells) != count:
            got = "no grid" if cells is None else f"a grid of {len(cells)}"
            raise ValueError(
                f"token_types must have a run of {KINDS[kind]} tokens for each grid of {family!r}, as long as its "
                f"tokens; got a run of {count} and {got}. Pass what one call of the processor returned, merge included."
            )
        parts.append(cells + position)
        position += int(cells[:, 1:].max() if rule.after == "extent" else cells.max()) + 1
    return np.concatenate(parts)


def _frames(
    rule: Family, family: str, videos: np.ndarray, steps: list[np.ndarray], side: int, merged: int | None
) -> list[np.ndarray]:
    """The coordinates of each video from 0, or of each frame where text separates frames."""
    if rule.merges_frames is (merged is None):
        verb = "be given" if rule.merges_frames else "be left out"
        raise ValueError(
            f"temporal_merge must {verb} for {family!r}; got {validation.shown(merged)}. Look at the config."
        )
    if rule.time == "split":
        return [_picture((1, *thw[1:]), side, np.zeros(1)) for thw in videos for _ in range(thw[0])]
    together = 1 if merged is None else validation.integer("temporal_merge", merged, 1, 1 << 10)
    return [_picture((thw[0] // together, *thw[1:]), side, times) for thw, times in zip(videos, steps, strict=True)]


def _picture(thw: Any, side: int, times: np.ndarray) -> np.ndarray:
    """Coordinates of the tokens of one picture or video from 0, with the time of each frame."""
    frames, height, width = (int(count) for count in thw)
    cells = grid(height // side, width // side, frames=frames)
    cells[:, 0] = times.astype(np.int64)[cells[:, 0]]
    return cells


def _steps(family: str, rule: Family, videos: np.ndarray, seconds: Any, rate: float | None) -> list[np.ndarray]:
    """The time of each frame of each video, in the float that transformers computes it in."""
    given = {"second_per_grid_ts": seconds, "tokens_per_second": rate}
    for name, value in given.items():
        if rule.time != "seconds" and value is not None:
            raise ValueError(f"{name} must be left out for {family!r}, which does not count seconds; got one. Drop it.")
        if rule.time == "seconds" and len(videos) and value is None:
            raise ValueError(
                f"{name} must be given for the videos of {family!r}; got None. See the processor and config."
            )
    if rule.time != "seconds" or not len(videos):
        return [np.arange(thw[0]) for thw in videos]
    tokens = validation.real("tokens_per_second", rate, 0.0, 1e6, above=True)
    intervals = _held("second_per_grid_ts", seconds)
    intervals = (
        intervals if intervals.dtype == np.float64 and hasattr(seconds, "dtype") else intervals.astype(np.float32)
    )
    if intervals.shape != (len(videos),) or not np.all((intervals >= 0) & (intervals <= 1e6)):
        raise ValueError(
            f"second_per_grid_ts must hold seconds from 0 to 1e6 for each of {len(videos)} videos; got "
            f"{validation.shown(seconds)}. Pass what the processor returned."
        )
    wide = intervals.dtype.type
    if rule.audio:
        return [
            np.arange(thw[0]).astype(np.float32) * np.float32(ts) * np.float32(tokens)
            for thw, ts in zip(videos, intervals, strict=True)
        ]
    return [np.arange(thw[0]).astype(wide) * (wide(tokens) * ts) for thw, ts in zip(videos, intervals, strict=True)]


def _grids(name: str, grids: Any, side: int) -> np.ndarray:
    """Frames, rows and columns of each picture."""
    if grids is None:
        return np.empty((0, 3), np.int64)
    found = _whole(name, grids)
    if found.ndim != 2 or found.shape[1] != 3 or (found < 1).any() or (found > LONGEST).any():
        raise ValueError(
            f"{name} must have shape (pictures, 3), frames, rows and columns from 1; got {found.shape}. Pass it whole."
        )
    if (found[:, 1:] % side).any():
        raise ValueError(
            f"{name} must hold rows and columns that merge={side} divides; got {found.tolist()}. Check merge."
        )
    return found


def _held(name: str, values: Any) -> np.ndarray:
    """An array from any library, whose coordinates fit into memory."""
    shape = getattr(values, "shape", None)
    count = math.prod(shape) if shape is not None else len(values) if hasattr(values, "__len__") else 1
    validation.size(name, count, BYTES_OF_A_TOKEN)
    return np.asarray(values)


def _whole(name: str, values: Any) -> np.ndarray:
    """An array of whole numbers, from any library."""
    found = _held(name, values)
    if found.dtype.kind not in "iub":
        raise TypeError(f"{name} must hold whole numbers; got {found.dtype}. Pass what the processor returned.")
    return found.astype(np.int64)
