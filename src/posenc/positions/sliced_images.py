"""Positions of MiniCPM-V 4.7: an image as a downscaled overview and its slices, all on one canvas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Declared, Whole
from posenc.positions.host_numbers import whole_numbers
from posenc.positions.multimodal import token_mask
from posenc.positions.picture_runs import IMAGE, KINDS, TEXT, VIDEO, kind_runs
from posenc.positions.placed_tokens import PlacedTokens


@dataclass(frozen=True)
class SliceMarks(Declared):
    """Ids of the tokens that mark images and their slices, from the config of MiniCPM-V 4.7.

    Args:
        image_start: `image_start_id`, before an image.
        image_end: `image_end_id`, behind it.
        slice_start: `slice_start_id`, before a slice.
        slice_end: `slice_end_id`, behind it.
        newline: `newline_id`, between rows of slices.

    Raises:
        TypeError: An id is no whole number.
        ValueError: An id is out of range.
    """

    image_start: Annotated[int, Whole(0, 1 << 30)]
    image_end: Annotated[int, Whole(0, 1 << 30)]
    slice_start: Annotated[int, Whole(0, 1 << 30)]
    slice_end: Annotated[int, Whole(0, 1 << 30)]
    newline: Annotated[int, Whole(0, 1 << 30)]


@dataclass
class Frame:
    """An image or a video frame: an overview of the whole (begin to end), then its slices, up to the closing marks.

    Attributes:
        kind: Kind of its tokens.
        begin: First token of the overview.
        end: Token behind the overview.
        slices: First token of each slice, and the one behind it.
        close: Token behind its last mark.
    """

    kind: int
    begin: int
    end: int
    slices: list[tuple[int, int]] = field(default_factory=list)
    close: int = 0


def minicpm_v(
    token_types: Any,
    input_ids: Any,
    *,
    marks: SliceMarks,
    merge: int,
    target_sizes: Any = None,
    target_sizes_videos: Any = None,
    attention_mask: Any = None,
) -> PlacedTokens:
    """Coordinates (time, height, width) of prompts of MiniCPM-V 4.7, as `get_rope_index` of transformers 5.23 has them.

    The slices of an image tile a canvas, one row or column a token; the small whole is stretched over it. All tokens of
    an image have the time at which it begins, and the text behind it begins one beyond the canvas's longer side.

    Args:
        token_types: The processor's `mm_token_type_ids`, (n,) or (batch, n): 0 text, 1 image, 2 video.
        input_ids: Ids of the tokens, of the same shape.
        marks: Ids of the marks of images and slices.
        merge: Patches of a side that become a token: 4 in `downsample_mode` "16x", 2 in "4x".
        target_sizes: (crops, 2), rows and columns of patches of every small whole and every slice of images.
        target_sizes_videos: The same of videos.
        attention_mask: (batch, n), 1 for tokens, 0 for padding; None for no padding.

    Returns:
        Coordinates (batch, n, 3) or (n, 3), int64, 0 for padding, and the rope deltas.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Shapes, sizes and tokens contradict each other.

    Example:
        >>> marks = SliceMarks(image_start=8, image_end=9, slice_start=6, slice_end=7, newline=5)
        >>> placed = minicpm_v([0, 1, 1, 0, 0], [8, 1, 1, 9, 2], marks=marks, merge=4, target_sizes=[[4, 8]])
        >>> placed.coordinates.tolist()
        [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 2], [3, 3, 3]]
    """
    types, tokens = whole_numbers("token_types", token_types), whole_numbers("input_ids", input_ids)
    if types.ndim not in (1, 2) or tokens.shape != types.shape:
        raise ValueError(
            f"token_types must have shape (n,) or (batch, n), that of input_ids; got {types.shape} and {tokens.shape}. "
            "Pass both."
        )
    marks = validation.instance("marks", marks, SliceMarks, "SliceMarks")
    side = validation.integer("merge", merge, 1, 1 << 10)
    named = {"target_sizes": target_sizes, "target_sizes_videos": target_sizes_videos}
    sizes = {kind: iter(_sizes(*each, side)) for kind, each in zip((IMAGE, VIDEO), named.items(), strict=True)}
    mask = np.atleast_2d(token_mask("token_types", types, attention_mask))
    kinds, ids = np.atleast_2d(types), np.atleast_2d(tokens)
    found = [_row(kinds[row, kept], ids[row, kept].tolist(), marks, sizes) for row, kept in enumerate(mask)]
    for kind, left in sizes.items():
        if more := sum(1 for _ in left):
            raise ValueError(
                f"{tuple(named)[kind - 1]} must have a row for each run of {KINDS[kind]} tokens; got {more} more. Pass "
                "what one call of the processor returned."
            )
    places = np.zeros((*kinds.shape, 3), np.int64)
    places[mask] = np.concatenate([np.zeros((0, 3), np.int64), *found])  # a batch may have no rows
    following = np.array([row.max(initial=-1) + 1 for row in found], np.int64)
    deltas = following - mask.sum(1)
    if types.ndim == 2:
        return PlacedTokens(places, deltas, following, 3)
    return PlacedTokens(places[0], deltas[0], following[0], 3)


def _sizes(name: str, values: Any, side: int) -> list[tuple[int, int]]:
    """Rows and columns of tokens of each crop."""
    if values is None:
        return []
    found = whole_numbers(name, values)
    if found.ndim != 2 or found.shape[1] != 2 or (found < side).any():
        raise ValueError(
            f"{name} must have shape (crops, 2), rows and columns of at least merge={side} patches; got {found.shape}. "
            "Pass it whole."
        )
    return [(rows // side, columns // side) for rows, columns in found.tolist()]


def _row(
    kinds: np.ndarray, ids: list[int], marks: SliceMarks, sizes: dict[int, Iterator[tuple[int, int]]]
) -> np.ndarray:
    """Coordinates of one row without padding."""
    places, position, cursor = np.empty((len(kinds), 3), np.int64), 0, 0
    for frame in _frames(kinds, ids, marks):
        gap = frame.begin - 1 - cursor
        places[cursor : frame.begin - 1] = position + np.arange(gap)[:, None]
        position = _place(places, frame, position + gap, sizes)
        cursor = frame.close
    places[cursor:] = position + np.arange(len(kinds) - cursor)[:, None]
    return places


def _frames(kinds: np.ndarray, ids: list[int], marks: SliceMarks) -> list[Frame]:
    """Images and frames of videos of a row, with their slices."""
    closing = {marks.slice_start, marks.slice_end, marks.image_start, marks.image_end, marks.newline}
    frames: list[Frame] = []
    for kind, begin, end in kind_runs(kinds):
        if kind == TEXT:
            continue
        if kind not in (IMAGE, VIDEO) or begin == 0:
            raise ValueError(
                f"token_types must be 0, 1 or 2, with a mark before each run of 1 or 2; got {kind} at token {begin}. "
                "Give mm_token_type_ids."
            )
        if frames and ids[begin - 1] == marks.slice_start:
            frames[-1].slices.append((begin, end))
        else:
            frames.append(Frame(kind, begin, end))
    for frame in frames:
        frame.close = frame.slices[-1][1] if frame.slices else frame.end
        while frame.close < len(ids) and ids[frame.close] in closing:
            frame.close += 1
    for earlier, later in itertools.pairwise(frames):
        earlier.close = min(earlier.close, later.begin - 1)
    return frames


def _place(places: np.ndarray, frame: Frame, origin: int, sizes: dict[int, Iterator[tuple[int, int]]]) -> int:
    """Write the coordinates of a frame into `places`, and return the position behind it."""
    whole = _size(sizes, frame.kind, frame.begin, frame.end)
    tiles = [_size(sizes, frame.kind, *tile) for tile in frame.slices]
    columns = _columns(frame.slices)
    height, width = tiles[0] if tiles else whole
    canvas = (len(tiles) // columns * height, columns * width) if tiles else whole
    places[frame.begin - 1 : frame.close] = origin
    places[frame.begin - 1, 1:] = max(origin - 1, 0)
    if frame.end < frame.close:
        places[frame.end, 1:] = origin + np.array(canvas)
    places[frame.begin : frame.end, 1:] = origin + _stretched(whole, canvas)
    for number, ((begin, end), own) in enumerate(zip(frame.slices, tiles, strict=True)):
        corner = origin + np.array([number // columns * height, number % columns * width])
        places[begin - 1, 1:] = corner
        if end < frame.close:
            places[end, 1:] = corner + np.array(own) - 1
        places[begin:end, 1:] = corner + _stretched(own, own)
    for number, ((_, end), (begin, _)) in enumerate(zip(frame.slices, frame.slices[1:], strict=False)):
        places[end + 1 : begin - 1, 1:] = origin + np.array([(number // columns + 1) * height - 1, columns * width])
    return origin + max(canvas) + 1


def _size(sizes: dict[int, Iterator[tuple[int, int]]], kind: int, begin: int, end: int) -> tuple[int, int]:
    """Rows and columns of tokens of the next crop, which must have end - begin tokens."""
    found = next(sizes[kind], None)
    if found is None or found[0] * found[1] != end - begin:
        got = "no size" if found is None else f"a size of {found[0] * found[1]}"
        raise ValueError(
            f"token_types must have a run of {KINDS[kind]} tokens for each target size, as long as its tokens; got a "
            f"run of {end - begin} and {got}. Pass what one call of the processor returned, merge included."
        )
    return found


def _columns(slices: list[tuple[int, int]]) -> int:
    """Slices a row: those before the first gap of more than two marks; all if that does not divide their number."""
    gaps = (later[0] - earlier[1] for earlier, later in itertools.pairwise(slices))
    columns = next((place for place, gap in enumerate(gaps, 1) if gap > 2), len(slices))
    return columns if columns and len(slices) % columns == 0 else len(slices)


def _stretched(size: tuple[int, int], canvas: tuple[int, int]) -> np.ndarray:
    """Rows and columns of a crop's tokens, stretched over a canvas; (tokens, 2)."""
    rows, columns = (_spread(count, over) for count, over in zip(size, canvas, strict=True))
    return np.stack([rows.repeat(len(columns)), np.tile(columns, len(rows))], -1)


def _spread(count: int, over: int) -> np.ndarray:
    """Whole numbers from 0 to over - 1, evenly spaced, in float32 and from both ends, as torch.linspace rounds them."""
    last, index = np.float32(over - 1), np.arange(count, dtype=np.float32)
    step = last / np.float32(max(count - 1, 1))
    even = np.where(index < count // 2, step * index, last - step * (count - 1 - index))
    even = even if count > 1 else np.zeros(1, np.float32)
    return np.round(even).astype(np.int64)
