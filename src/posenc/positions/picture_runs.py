"""Coordinates of one row of tokens, run after run of text, pictures and sound."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posenc.positions.families import Family
from posenc.positions.grid import grid

#: Kinds of tokens by their number in mm_token_type_ids.
TEXT, IMAGE, VIDEO, AUDIO = range(4)
KINDS = ("text", "image", "video", "audio")


@dataclass
class Pictures:
    """Queue of a batch's pictures that no token has used yet, in order, and settings that place their tokens.

    Attributes:
        images: Coordinates of each image from 0; for HunYuan-VL frames, rows and columns of patches.
        videos: Coordinates of each video, or frame, from 0.
        chunk: Steps of time in a chunk of pictures and their sound; 0 where they are not cut.
        mixed: Whether videos hold their sound.
        axes: Axes of HunYuan-VL.
        merge: Side of the square of patches that become a token, for HunYuan-VL.
        seen: Number of images used by HunYuan-VL.
    """

    images: Iterator[Any] = field(default_factory=lambda: iter(()))
    videos: Iterator[np.ndarray] = field(default_factory=lambda: iter(()))
    chunk: int = 0
    mixed: bool = False
    axes: int = 3
    merge: int = 1
    seen: int = 0


def picture(thw: Any, side: int, times: np.ndarray) -> np.ndarray:
    """Coordinates of the tokens of one picture or video from 0, with the time of each frame.

    Example:
        >>> picture((1, 2, 4), 2, np.array([0])).tolist()
        [[0, 0, 0], [0, 0, 1]]
    """
    frames, height, width = (int(count) for count in thw)
    cells = grid(height // side, width // side, frames=frames)
    found = cells.astype(times.dtype)
    found[:, 0] = times[cells[:, 0]]
    return found


def kind_runs(kinds: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Kind, begin and end of every run of tokens of one kind.

    Example:
        >>> list(kind_runs(np.array([0, 0, 1])))
        [(0, 0, 2), (1, 2, 3)]
    """
    cuts = np.flatnonzero(np.diff(kinds)) + 1
    edges = [0, *cuts.tolist(), len(kinds)] if len(kinds) else [0]
    for begin, end in itertools.pairwise(edges):
        yield int(kinds[begin]), begin, end


def counted_row(kinds: np.ndarray, pictures: Pictures, rule: Family, family: str) -> np.ndarray:
    """Number every token, whatever its kind, on one axis from `rule.first`; (n,), int64.

    Example:
        >>> counted_row(np.array([1, 0]), Pictures(), Family("counted", first=1), "paligemma").tolist()
        [1, 2]
    """
    for kind, _, _ in kind_runs(kinds):
        _known(kind, 4, family)
    return np.arange(rule.first, rule.first + len(kinds), dtype=np.int64)


def overlaid_row(kinds: np.ndarray, pictures: Pictures, rule: Family, family: str) -> np.ndarray:
    """Index of each token on all axes, with column, row and number of the image on the last three; (n, axes).

    Every row of an image has one token more, which ends the line. A run may hold the two marks around the image.

    Example:
        >>> row = np.array([1, 1, 1, 1])
        >>> overlaid_row(row, Pictures(iter([(1, 1, 1)])), Family("overlaid"), "hunyuan-vl").tolist()
        [[0, 0, 0], [0, 0, 0], [1, 0, 0], [3, 3, 3]]
    """
    places = np.repeat(np.arange(len(kinds), dtype=np.int64)[:, None], pictures.axes, 1)
    for kind, begin, end in kind_runs(kinds):
        _known(kind, 2, family)
        if kind == TEXT:
            continue
        thw = next(pictures.images, None)
        cells = None if thw is None else grid(int(thw[1]) // pictures.merge, int(thw[2]) // pictures.merge + 1)
        if cells is None or end - begin not in (len(cells), len(cells) + 2):
            raise _no_grid(kind, end - begin, cells, family)
        first = begin + (end - begin - len(cells)) // 2
        places[first : first + len(cells), -3:-1] = cells[:, ::-1]
        places[first : first + len(cells), -1] = pictures.seen
        pictures.seen += 1
    return places


def segments_row(kinds: np.ndarray, pictures: Pictures, rule: Family, family: str) -> np.ndarray:
    """Coordinates (time, height, width) of text and pictures one after the other; (n, 3).

    Example:
        >>> row, image = np.array([0, 1, 0]), np.zeros((1, 3), np.int64)
        >>> segments_row(row, Pictures(iter([image])), Family(), "qwen2-vl").tolist()
        [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    """
    real = np.float32 if rule.sound == "times" else np.int64
    start, parts, behind_film = real(0), [np.empty((0, 3), real)], False
    for begin, end, kind in _segments(kinds, rule, pictures.mixed, family):
        if kind in (TEXT, AUDIO):
            steps = np.arange(end - begin)
            if behind_film and rule.sound == "chunks":
                steps = np.maximum(steps - 1, 0)  # both marks behind a video with sound share a position
            cells = np.repeat(steps[:, None].astype(real), 3, -1)
        elif pictures.mixed and kind == VIDEO:
            if rule.sound == "chunks":  # and so do both before it
                parts[-1] = np.concatenate([parts[-1][:-1], parts[-1][-2:-1]])
                start = start - 1
            cells = _film(kinds[begin:end], pictures, rule, family)
        else:
            cells = _taken(pictures.images if kind == IMAGE else pictures.videos, kind, end - begin, family)
        behind_film = pictures.mixed and kind == VIDEO
        parts.append(cells + start)
        start = real(start + _extent(cells, kind, rule))
    return np.concatenate(parts)


def _segments(kinds: np.ndarray, rule: Family, mixed: bool, family: str) -> Iterator[tuple[int, int, int]]:
    """Begin, end and kind of every segment; pictures and their sound are one, of the kind of a video."""
    joined = kinds
    if mixed:
        joined = kinds.copy()
        for pictured, begin, end in kind_runs((kinds == VIDEO) | (kinds == AUDIO)):
            if pictured and (kinds[begin:end] == VIDEO).any():
                joined[begin:end] = VIDEO
                marks = begin - int(np.flatnonzero(np.r_[True, kinds[:begin] != TEXT])[-1])
                if marks < 2:
                    raise ValueError(
                        f"token_types must have two marks, of a video and of its sound, before a video that holds its "
                        f"sound; got {marks} of text before token {begin}. Pass what the processor returned."
                    )
    for kind, begin, end in kind_runs(joined):
        _known(kind, 4 if rule.sound else 3, family)
        yield begin, end, kind


def _extent(cells: np.ndarray, kind: int, rule: Family) -> Any:
    """Number of positions from the start of a segment to the next."""
    if kind in (TEXT, AUDIO) or rule.after == "last":
        return cells[-1].max() + 1
    return (cells[:, 1:] if rule.after == "extent" else cells).max() + 1


def _film(kinds: np.ndarray, pictures: Pictures, rule: Family, family: str) -> np.ndarray:
    """Coordinates of a video and its sound from 0, in the order of their tokens."""
    seen = int((kinds == VIDEO).sum())
    frames = _taken(pictures.videos, VIDEO, seen, family)
    sound = np.repeat(np.arange(len(kinds) - seen)[:, None].astype(frames.dtype), 3, -1)
    both = np.concatenate([frames, sound])
    key = both[:, 0]
    if rule.sound == "chunks":
        key = np.concatenate([_chunks(frames[:, 0], pictures.chunk), _chunks(sound[:, 0], pictures.chunk)])
    order = np.argsort(key, kind="stable")
    expected = np.where(order < seen, VIDEO, AUDIO)
    if not np.array_equal(expected, kinds):
        place = int(np.flatnonzero(expected != kinds)[0])
        raise ValueError(
            f"token_types must hold video and sound in the order of time for {family!r}; got {kinds[place]} where "
            f"{expected[place]} is due, at token {place} of a video of {len(kinds)} tokens. Check second_per_grid_ts."
        )
    return both[order]


def _chunks(times: np.ndarray, chunk: int) -> np.ndarray:
    """Number of the chunk of each token: as in the model, a token opens one chunk at most, however late."""
    found, opened = np.zeros(len(times), np.int64), 0
    for place, time in enumerate(times.tolist()):
        opened += time >= (opened + 1) * chunk
        found[place] = opened
    return found


def _taken(cells: Iterator[np.ndarray], kind: int, count: int, family: str) -> np.ndarray:
    """Coordinates of the next picture, which must have `count` tokens."""
    found = next(cells, None)
    if found is None or len(found) != count:
        raise _no_grid(kind, count, found, family)
    return found


def _no_grid(kind: int, count: int, cells: np.ndarray | None, family: str) -> ValueError:
    """ValueError for a run of picture tokens without a grid, or with a grid of another size."""
    got = "no grid" if cells is None else f"a grid of {len(cells)}"
    return ValueError(
        f"token_types must have a run of {KINDS[kind]} tokens for each grid of {family!r}, as long as its tokens; got "
        f"a run of {count} and {got}. Pass what one call of this family's processor returned, merge included; "
        "neither lengths nor attention_mask may cut it."
    )


def _known(kind: int, kinds: int, family: str) -> None:
    """Refuse a kind of token that the family does not have."""
    if kind not in range(kinds):
        *some, last = map(str, range(kinds))
        raise ValueError(
            f"token_types must be {', '.join(some)} or {last} for {family!r}; got {kind}. Give mm_token_type_ids."
        )
