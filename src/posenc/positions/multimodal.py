"""Positions of text, images, videos and sound by family, from what the family's processor returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posenc.core import arrays, validation
from posenc.positions.families import ENGINES, Family
from posenc.positions.grid import LONGEST
from posenc.positions.host_numbers import BYTES_OF_A_TOKEN, held, whole_numbers
from posenc.positions.picture_runs import (
    IMAGE,
    KINDS,
    VIDEO,
    Pictures,
    counted_row,
    overlaid_row,
    picture,
    segments_row,
)
from posenc.positions.placed_tokens import PlacedTokens


def multimodal(
    family: str,
    token_types: Any,
    *,
    merge: int | None = None,
    image_grid_thw: Any = None,
    video_grid_thw: Any = None,
    second_per_grid_ts: Any = None,
    tokens_per_second: float | None = None,
    temporal_merge: int | None = None,
    audio_in_video: bool | None = None,
    seconds_per_chunk: float | None = None,
    axes: int | None = None,
    attention_mask: Any = None,
    lengths: Sequence[int] | None = None,
    engine: str = "transformers",
) -> PlacedTokens:
    """Coordinates of text, images, videos and sound, from what the processor of a family returns.

    As `get_rope_index` of transformers 5.23 computes them, or SGLang 0.5.23. `media` builds M-RoPE from segments of
    your own. GLM-Image, which places images that it will generate, and MiniCPM-V 4.7, which cuts images into slices,
    have `glm_image` and `minicpm_v`.

    Args:
        family: "qwen2-vl", "qwen2.5-vl", "qwen2.5-omni", "qwen3-vl", "qwen3-omni", "qwen3.5", "qwen4", "glm-4v"
            (GLM-4.1V to 4.6V), "glm-ocr", "cohere-compass", "cosmos3", "ernie4.5-vl" or "paddleocr-vl" (three axes:
            time, height, width); "hunyuan-vl" (the last three of its axes: width, height, number of the image); or of
            one axis, on which patches count like text, "gemma-3", "gemma-3n", "gemma-4", "internvl", "kimi-vl",
            "llama-4", "llava", "pixtral" and, from 1, "paligemma".
        token_types: The processor's `mm_token_type_ids`, (n,) or (batch, n): 0 text, 1 image, 2 video, 3 sound.
            `token_types` makes them from ids of tokens, where a processor returns none (Omni).
        merge: `spatial_merge_size` of the vision config; all families of more than one axis.
        image_grid_thw: (images, 3), frames, rows and columns of the patches of each image, all rows of the batch in a
            row; None where there is no image.
        video_grid_thw: The same of each video.
        second_per_grid_ts: Seconds between the frames of each video, where the family counts time; `second_per_grids`
            or `video_second_per_grid` in Omni. Numbers are read as float32, which the processor's tensor is; float64
            arrays stay what they are.
        tokens_per_second: `tokens_per_second` of the vision config, `position_id_per_seconds` in Omni.
        temporal_merge: `temporal_merge_size` of the vision config of "ernie4.5-vl".
        audio_in_video: `use_audio_in_video` of the processor of Omni: every video comes with its sound, both between
            two marks before and two behind.
        seconds_per_chunk: `seconds_per_chunk` of "qwen2.5-omni", where sound is inside a video.
        axes: Number of entries of the `mrope_section` of "hunyuan-vl", 3 or 4.
        attention_mask: (batch, n), 1 for tokens, 0 for padding; None for no padding.
        lengths: Tokens of each document packed into `token_types` of shape (n,); each starts anew. None for one.
        engine: "transformers" or "sglang". They differ where a video's time exceeds its sides: SGLang's next segment
            begins after the largest coordinate of "qwen2-vl", "qwen2.5-vl", "ernie4.5-vl" and "paddleocr-vl", and its
            "paddleocr-vl" counts seconds.

    Returns:
        Coordinates (batch, n, axes) or (n, axes), without the last axis where it is one, int64 (float64 in
        "qwen3-omni", whose times are fractions); 0 for padding (1 in "qwen2.5-omni"). And the rope deltas, (batch,),
        (documents,) or (): the position of the next token less the count of tokens.

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
    families = ENGINES[validation.choice("engine", engine, tuple(ENGINES))]
    rule = families[validation.choice("family", family, tuple(families))]
    given = {
        "merge": merge,
        "image_grid_thw": image_grid_thw,
        "video_grid_thw": video_grid_thw,
        "second_per_grid_ts": second_per_grid_ts,
        "tokens_per_second": tokens_per_second,
        "temporal_merge": temporal_merge,
        "audio_in_video": audio_in_video,
        "seconds_per_chunk": seconds_per_chunk,
        "axes": axes,
    }
    types = whole_numbers("token_types", token_types)
    if types.ndim not in (1, 2):
        raise ValueError(f"token_types must have shape (n,) or (batch, n); got {types.shape}. Give mm_token_type_ids.")
    pictures = _pictures(family, rule, given)
    mask = token_mask("token_types", types, attention_mask)
    rows = _rows(types, mask, lengths)
    place = {"segments": segments_row, "overlaid": overlaid_row, "counted": counted_row}[rule.layout]
    found = [place(row, pictures, rule, family) for row in rows]
    _all_used(pictures)
    blank = place(types.reshape(-1)[:0], pictures, rule, family)  # a batch may have no rows
    return _whole([blank, *found], types, mask, rule, packed=lengths is not None)


def _pictures(family: str, rule: Family, given: Mapping[str, Any]) -> Pictures:
    """Check the arguments of a family, and compute the coordinates of each picture from 0."""
    for name, value in given.items():
        if value is not None and name not in rule.takes:
            raise ValueError(
                f"{name} must be left out for {family!r}, whose positions do not depend on it; got "
                f"{validation.shown(value)}. Drop it, or name the family that it is of."
            )
    if rule.layout == "counted":
        return Pictures()
    _needed(family, given, ("merge", *(["temporal_merge"] if rule.merges_frames else [])))
    side = validation.integer("merge", given["merge"], 1, 1 << 10)
    images = grids("image_grid_thw", given["image_grid_thw"], side)
    if rule.layout == "overlaid":
        _needed(family, given, ("axes",))
        return Pictures(iter(images), axes=validation.integer("axes", given["axes"], 3, 4), merge=side)
    videos = grids("video_grid_thw", given["video_grid_thw"], side)
    mixed = given["audio_in_video"] is not None and validation.truth("audio_in_video", given["audio_in_video"])
    if mixed and rule.sound == "chunks":
        _needed(family, given, ("seconds_per_chunk",))
    steps = _times(family, rule, videos, given)
    real = np.float32 if rule.sound == "times" else np.int64
    return Pictures(
        iter([picture(thw, side, np.arange(thw[0]).astype(real)) for thw in images]),
        iter(_videos(rule, videos, steps, side, given["temporal_merge"], real)),
        chunk=_chunk(given) if mixed else 0,
        mixed=mixed,
    )


def _needed(family: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse arguments of a family that are missing."""
    for name in names:
        if given[name] is None:
            raise ValueError(f"{name} must be given for {family!r}; got None. Look at the config.")


def _chunk(given: Mapping[str, Any]) -> int:
    """Steps of time in a chunk of pictures and their sound."""
    if given["seconds_per_chunk"] is None:
        return 0
    seconds = validation.real("seconds_per_chunk", given["seconds_per_chunk"], 0.0, 1e6, above=True)
    rate = validation.real("tokens_per_second", given["tokens_per_second"], 0.0, 1e6, above=True)
    return int(rate * seconds)


def _videos(
    rule: Family, videos: np.ndarray, steps: list[np.ndarray], side: int, merged: int | None, real: Any
) -> list[np.ndarray]:
    """Coordinates of each video from 0, or of each frame where text separates frames."""
    if rule.time == "split":
        return [picture((1, *thw[1:]), side, np.zeros(1, np.int64)) for thw in videos for _ in range(thw[0])]
    together = 1 if merged is None else validation.integer("temporal_merge", merged, 1, 1 << 10)
    for thw in videos:
        if thw[0] % together:
            raise ValueError(
                f"video_grid_thw must hold frames that temporal_merge={together} divides; got {thw[0]}. Check both."
            )
    return [
        picture((thw[0] // together, *thw[1:]), side, times.astype(real))
        for thw, times in zip(videos, steps, strict=True)
    ]


def _times(family: str, rule: Family, videos: np.ndarray, given: Mapping[str, Any]) -> list[np.ndarray]:
    """Time of each frame of each video, in the float that transformers computes it in."""
    if rule.time != "seconds" or not len(videos):
        return [np.arange(thw[0]) for thw in videos]
    seconds = given["second_per_grid_ts"]
    for name in ("second_per_grid_ts", "tokens_per_second"):
        if given[name] is None:
            raise ValueError(
                f"{name} must be given for the videos of {family!r}; got None for {len(videos)} of them. See the "
                "processor and config."
            )
    rate = validation.real("tokens_per_second", given["tokens_per_second"], 0.0, 1e6, above=True)
    if arrays.kind(arrays.as_array("second_per_grid_ts", seconds)) == "narrow":
        raise TypeError(
            f"second_per_grid_ts must be float32 or float64; got {arrays.dtype_name(seconds.dtype)}, whose rounding "
            "moves frames. Take it from the processor before casting its output to the model's dtype."
        )
    intervals = arrays.numbers_on_host("second_per_grid_ts", seconds)
    double = intervals.dtype == np.float64 and hasattr(seconds, "dtype") and not rule.sound
    intervals = intervals if double else intervals.astype(np.float32)
    if intervals.shape != (len(videos),) or not np.all((intervals > 0) & (intervals <= 1e6)):
        raise ValueError(
            f"second_per_grid_ts must hold seconds above 0, to 1e6, for each of {len(videos)} videos; got "
            f"{validation.shown(seconds)}. Pass what the processor returned."
        )
    wide = intervals.dtype.type
    frames = [np.arange(thw[0]).astype(wide) for thw in videos]
    if rule.seconds_first:
        return [times * second * wide(rate) for times, second in zip(frames, intervals, strict=True)]
    return [times * (wide(rate) * second) for times, second in zip(frames, intervals, strict=True)]


def token_mask(name: str, tokens: np.ndarray, attention_mask: Any) -> np.ndarray:
    """Make a boolean mask of the tokens that are not padding, in the shape of `tokens`.

    Example:
        >>> token_mask("token_types", np.zeros(2), [0, 1]).tolist()
        [False, True]
    """
    if attention_mask is None:
        return np.ones(tokens.shape, bool)
    mask = held("attention_mask", attention_mask)
    mask = mask if mask.dtype == bool else whole_numbers("attention_mask", mask)
    mask = mask[0] if tokens.ndim == 1 and mask.ndim == 2 and len(mask) == 1 else mask
    if mask.shape != tokens.shape:
        raise ValueError(f"attention_mask must have the shape of {name}, {tokens.shape}; got {mask.shape}. Pass both.")
    if ((mask != 0) & (mask != 1)).any():
        other = mask[(mask != 0) & (mask != 1)][0]
        raise ValueError(
            f"attention_mask must hold 1 for tokens and 0 for padding; got {other}. Give lengths for packed documents."
        )
    kept: np.ndarray = mask == 1
    return kept


def _rows(types: np.ndarray, mask: np.ndarray, lengths: Sequence[int] | None) -> list[np.ndarray]:
    """Token kinds of each row without padding, or of each packed document."""
    if lengths is None:
        return [kinds[kept] for kinds, kept in zip(np.atleast_2d(types), np.atleast_2d(mask), strict=True)]
    counts = validation.integers("lengths", lengths, 1, LONGEST)
    if types.ndim != 1 or not mask.all():
        raise ValueError(
            f"token_types must have shape (n,) without padding where lengths are given; got {types.shape} with "
            f"{int((~mask).sum())} of padding. Give one packed row."
        )
    if sum(counts) != len(types):
        raise ValueError(f"lengths must sum to the {len(types)} tokens of token_types; got {sum(counts)}. Give all.")
    return np.split(types, np.cumsum(counts)[:-1])


def _all_used(pictures: Pictures) -> None:
    """Refuse grids that no token belongs to."""
    for kind, left in ((IMAGE, pictures.images), (VIDEO, pictures.videos)):
        more = sum(1 for _ in left)
        if more:
            raise ValueError(
                f"{KINDS[kind]}_grid_thw must have a row for each {KINDS[kind]} of token_types; got {more} more. Pass "
                "what one call of the processor returned."
            )


def _whole(found: list[np.ndarray], types: np.ndarray, mask: np.ndarray, rule: Family, *, packed: bool) -> PlacedTokens:
    """Coordinates of all rows, behind an empty one, with padding filled in, and the rope delta of each row."""
    following = np.array([row.max() + 1 if len(row) else rule.first for row in found[1:]], found[0].dtype)
    counts = np.array([len(row) for row in found[1:]], following.dtype)
    real = np.float64 if rule.sound == "times" else np.int64
    coordinates = np.full((*types.shape, *found[0].shape[1:]), rule.padding, real)
    coordinates[mask] = np.concatenate(found)
    deltas, following = (following - counts).astype(real), following.astype(real)
    axes = 1 if found[0].ndim == 1 else found[0].shape[-1]
    names = ("position", "width", "height", "image")[-axes:] if rule.layout == "overlaid" else None
    if packed or types.ndim == 2:
        return PlacedTokens(coordinates, deltas, following, axes, names)
    return PlacedTokens(coordinates, deltas[0], following[0], axes, names)


def grids(name: str, given: Any, side: int) -> np.ndarray:
    """Check and return frames, rows and columns of patches of each picture, (pictures, 3), int64.

    Example:
        >>> grids("image_grid_thw", [[1, 4, 4]], 2).tolist()
        [[1, 4, 4]]
    """
    if given is None:
        return np.empty((0, 3), np.int64)
    found = whole_numbers(name, given)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ValueError(
            f"{name} must have shape (pictures, 3), frames, rows and columns; got {found.shape}. Pass it whole."
        )
    if (found < 1).any() or (found > LONGEST).any():
        raise ValueError(
            f"{name} must hold frames, rows and columns from 1 to {LONGEST}; got {found.min()} to {found.max()}. "
            "Pass what the processor returned."
        )
    if (found[:, 1:] % side).any():
        raise ValueError(
            f"{name} must hold rows and columns that merge={side} divides; got {found.tolist()}. Check merge."
        )
    validation.size(name, int(found.prod(1).sum()) // side**2, BYTES_OF_A_TOKEN)
    return found
