"""Positions of text, images and videos that treat both ends of an image alike: VRoPE and RoPE-Tie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posenc.core import validation
from posenc.positions.mixed_media import Image, Text, Video, check_segments
from posenc.positions.sequences import LONGEST


def vrope(segments: Sequence[Text | Image | Video], *, start: int = 0) -> tuple[np.ndarray, int]:
    """Four coordinates of each token of text, images and videos, for VRoPE.

    Of a patch in row r and column c of h × w they are the distances from the four corners along both sides, r + c, r +
    c', r' + c and r' + c' with r' = h-1-r and c' = w-1-c. Each frame of a video begins h + w - 1 after the last, and so
    does the segment behind it. Text has its place in all four. For `axial("vrope", …)`, whose pairs take the four in
    turn.

    Args:
        segments: Segments of the sequence, in order; `interval` of a video must be 1, since the code counts frames.
        start: Position of the first segment.

    Returns:
        Coordinates, (tokens, 4), int64, and the position of the next token.

    Raises:
        TypeError: `segments` is no list of segments, or `start` no whole number.
        ValueError: A video has another interval, or `start` is out of range.

    References:
        Liu et al. 2025, arXiv:2502.11664, in the authors' code (johncaged/VRoPE).

    Example:
        >>> found, following = vrope([Text(1), Image(2, 3, merge=1)])
        >>> found[:3].tolist(), following
        ([[0, 0, 0, 0], [1, 3, 2, 4], [2, 2, 3, 3]], 5)
    """
    position, parts = _first(start), [np.empty((0, 4), np.int64)]
    for segment in _checked(segments):
        if isinstance(segment, Text):
            parts.append(np.repeat(position + np.arange(segment.length, dtype=np.int64)[:, None], 4, -1))
            position += segment.length
            continue
        rows, columns = segment.height // segment.merge, segment.width // segment.merge
        frame, row, column = segment.coordinates().T
        down, right = (row, rows - 1 - row), (column, columns - 1 - column)
        begins = position + frame * (rows + columns - 1)
        parts.append(np.stack([begins + r + c for r in down for c in right], -1))
        position += (int(frame.max()) + 1) * (rows + columns - 1)
    return np.concatenate(parts), position


def rope_tie(segments: Sequence[Text | Image], *, start: int = 0) -> tuple[np.ndarray, int]:
    """Two coordinates of each token of text and images, row and column, for RoPE-Tie.

    As HunyuanImage 3 computes it (`build_2d_rope`), an image of h × w tokens behind L others has rows from L + (hw -
    h)/2 and columns from L + (hw - w)/2, halves rounded down, so that its middle lies where that of hw tokens of text
    would; the segment behind it begins at L + hw. Text has its place in both. For `axial("neomme", …)`, which deals out
    its pairs in the same way. The overlapping places of that model's noised and clean images are not here: place each
    image by its own call with `start`.

    Args:
        segments: Segments of the sequence, in order.
        start: Position of the first segment.

    Returns:
        Coordinates, (tokens, 2), int64, and the position of the next token.

    Raises:
        TypeError: `segments` is no list of texts and images, or `start` no whole number.
        ValueError: `start` is out of range.

    References:
        Su 2024, kexue.fm/archives/10352.

    Example:
        >>> found, following = rope_tie([Text(1), Image(2, 4, merge=1)])
        >>> found[:5].tolist(), following
        ([[0, 0], [4, 3], [4, 4], [4, 5], [4, 6]], 9)
    """
    position, parts = _first(start), [np.empty((0, 2), np.int64)]
    for segment in _checked(segments):
        if isinstance(segment, Video):
            raise TypeError(
                f"segments must hold Text and Image alone; got {validation.shown(segment)}. Give each frame "
                "as an Image."
            )
        places = segment.coordinates()
        if isinstance(segment, Image):
            rows, columns = segment.height // segment.merge, segment.width // segment.merge
            first = [(rows * columns - rows) // 2, (rows * columns - columns) // 2]
            parts.append(places[:, 1:] + np.array(first) + position)
        else:
            parts.append(places[:, 1:] + position)
        position += len(places)
    return np.concatenate(parts), position


def _first(start: int) -> int:
    """Check `start`, the position of the first segment, and return it as an int."""
    return validation.integer("start", start, 0, 2**53 - LONGEST)


def _checked(segments: Sequence[Text | Image | Video]) -> Sequence[Text | Image | Video]:
    """Check that segments are text, images, or videos whose frames are counted."""
    check_segments(segments, Text, Image, Video)
    for segment in segments:
        if isinstance(segment, Video) and segment.interval != 1.0:
            raise ValueError(
                f"segments must hold videos of interval 1, whose frames are counted; got {segment.interval}. Drop "
                "frames instead."
            )
    return segments
