"""Positions of text, images, videos and sound in one sequence: three coordinates a token (time, height, width)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.positions.grid import grid
from posenc.positions.sequences import LONGEST


@dataclass(frozen=True)
class Text(Declared):
    """Tokens of text, or frames of sound: time, height and width go on together, one step a token.

    Args:
        length: Number of tokens.

    Raises:
        TypeError: `length` is no whole number.
        ValueError: `length` is out of range.
    """

    length: Annotated[int, Whole(1, LONGEST)]

    @property
    def extent(self) -> int:
        """Number of positions from its start to the segment behind it."""
        return self.length

    def coordinates(self) -> np.ndarray:
        """Coordinates counted from 0; shape (tokens, 3), int64.

        Returns:
            Coordinates (tokens, 3): time, row, column.
        """
        return np.repeat(np.arange(self.length, dtype=np.int64)[:, None], 3, -1)


@dataclass(frozen=True)
class Image(Declared):
    """An image of height × width patches, of which merge × merge become one token: one time, its rows and columns.

    Args:
        height: Rows of patches, a multiple of `merge`.
        width: Columns of patches, a multiple of `merge`.
        merge: Side of the square of patches that become a token.

    Raises:
        TypeError: A field is no whole number.
        ValueError: A field is out of range, or a side is no multiple of `merge`.
    """

    height: int
    width: int
    merge: int

    def _check_together(self) -> None:
        _sides(self)

    @property
    def extent(self) -> int:
        """Number of positions from its start to the segment behind it: its longer side."""
        return max(self.height, self.width) // self.merge

    def coordinates(self) -> np.ndarray:
        """Coordinates counted from 0; shape (tokens, 3), int64.

        Returns:
            Coordinates (tokens, 3): time, row, column.
        """
        return grid(self.height // self.merge, self.width // self.merge, frames=1)


@dataclass(frozen=True)
class Video(Declared):
    """A video of frames × height × width patches, merge × merge to a token.

    Args:
        frames: Number of frames.
        height: Rows of patches, a multiple of `merge`.
        width: Columns of patches, a multiple of `merge`.
        merge: Side of the square of patches that become a token.
        interval: Steps of time from frame to frame, which `multimodal` takes from the processor of a family: 1 counts
            frames (Qwen2-VL); seconds between frames times steps a second follows the clock (Qwen2.5-VL). The time of
            frame i is ⌊i·interval⌋, with the interval read as the nearest fraction of a denominator up to 2^20, so that
            thirty steps of 1/30 are one.

    Raises:
        TypeError: A field is no number.
        ValueError: A field is out of range, or a side is no multiple of `merge`.
    """

    frames: Annotated[int, Whole(1, 1 << 20)]
    height: int
    width: int
    merge: int
    interval: Annotated[float, Real(0.0, 1e6, above=True)]

    def _check_together(self) -> None:
        _sides(self)

    @property
    def extent(self) -> int:
        """Number of positions from its start to the segment behind it: its longer side, whatever its time."""
        return max(self.height, self.width) // self.merge

    def coordinates(self) -> np.ndarray:
        """Coordinates counted from 0; shape (tokens, 3), int64.

        Returns:
            Coordinates (tokens, 3): time, row, column.
        """
        cells = grid(self.height // self.merge, self.width // self.merge, frames=self.frames)
        step = Fraction(repr(self.interval)).limit_denominator(1 << 20)
        cells[:, 0] = cells[:, 0] * step.numerator // step.denominator
        return cells


@dataclass(frozen=True)
class Film(Declared):
    """A video and its sound in chunks of `chunk` steps of time; in each chunk the pictures come before the sound.

    In Qwen2.5-Omni a step is 40 ms and a chunk lasts 2 seconds.

    Args:
        video: The pictures.
        sound: The sound, one token a step of time.
        chunk: Steps of time in a chunk.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: `chunk` is out of range.

    References:
        Xu et al. 2025, arXiv:2503.20215.
    """

    video: Annotated[Video, Instance("a Video")]
    sound: Annotated[Text, Instance("a Text, one token a step of time")]
    chunk: Annotated[int, Whole(1, LONGEST)]

    @property
    def extent(self) -> int:
        """Number of positions from its start to the segment behind it."""
        return max(self.video.extent, self.sound.extent)

    def coordinates(self) -> np.ndarray:
        """Coordinates counted from 0, in the order of the tokens; shape (tokens, 3), int64.

        Returns:
            Coordinates (tokens, 3): time, row, column.
        """
        parts = np.concatenate([self.video.coordinates(), self.sound.coordinates()])
        return parts[np.argsort(parts[:, 0] // self.chunk, kind="stable")]


Segment: TypeAlias = Text | Image | Video | Film


def media(segments: Sequence[Segment], *, after: str, start: int = 0) -> tuple[np.ndarray, int]:
    """Coordinates (time, height, width) of text, images, videos and sound in one sequence.

    Each segment begins where the one before it ends.

    Args:
        segments: Segments of the sequence, in order.
        after: End of a segment: "largest", one beyond the largest coordinate of its tokens (the paper; Qwen2.5-Omni),
            or "extent", beyond its longer side whatever its time (Qwen2-VL to Qwen3-VL in transformers 5), so that the
            time of a long video overlaps the segment behind it. They differ for videos alone.
        start: Position of the first segment.

    Returns:
        Coordinates of all tokens, (tokens, 3), int64, and the position of the next token: one beyond the largest
        coordinate of all. With tokens decoded so far it is what is called the rope delta.

    Raises:
        TypeError: `segments` is no list of segments, or another argument has the wrong type.
        ValueError: `after` is unknown, or `start` out of range.

    References:
        Wang et al. 2024, arXiv:2409.12191 (M-RoPE).

    Example:
        >>> found, following = media([Text(2), Image(4, 4, merge=2), Text(1)], after="largest")
        >>> found.tolist()
        [[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4, 4, 4]]
        >>> following
        5
    """
    after = validation.choice("after", after, ("largest", "extent"))
    position = first = validation.integer("start", start, 0, 2**53 - LONGEST)
    check_segments(segments, Text, Image, Video, Film)
    parts = [np.empty((0, 3), np.int64)]
    for segment in segments:
        coordinates = segment.coordinates()
        parts.append(coordinates + position)
        position += segment.extent if after == "extent" else int(coordinates.max()) + 1
    cells = np.concatenate(parts)
    return cells, int(cells.max()) + 1 if len(cells) else first


def check_segments(segments: Any, *kinds: type) -> None:
    """Refuse an object that is no list of segments of these kinds."""
    *names, last = (kind.__name__ for kind in kinds)
    listed = f"{', '.join(names)} and {last}"
    if not isinstance(segments, list | tuple):
        raise TypeError(f"segments must be a list of {listed}; got {validation.shown(segments)}. Give [Text(5)], say.")
    for segment in segments:
        if not isinstance(segment, kinds):
            raise TypeError(f"segments must hold {listed}; got {validation.shown(segment)}. Give Text(5), say.")


def _sides(encoding: Image | Video) -> None:
    """Check the sides of an image or a video, which `merge` must divide."""
    merge = validation.integer("merge", encoding.merge, 1, 1 << 10)
    sides = {name: validation.integer(name, getattr(encoding, name), merge, 1 << 20) for name in ("height", "width")}
    for name, side in sides.items():
        if side % merge:
            raise ValueError(f"{name} must be a multiple of merge={merge}; got {side}. Pad the patches.")
    validation.settle(encoding, merge=merge, **sides)
