"""Positions that a vision tower gives the patches of an image, in the order in which it takes the patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import validation
from posenc.core.declared_fields import Declared, Real, Whole
from posenc.encodings.adds.resize_table import grid_sizes
from posenc.positions.grid import LONGEST, centres, grid, prefixed

#: Names of the coordinates, in words.
IN_WORDS = {
    "hw": "row and column",
    "wh": "column and row",
    "thw": "frame, row and column",
    "number": "number of the patch, row after row",
}


@dataclass(frozen=True)
class PatchPositions(Declared):
    """How a vision tower counts the patches of an image.

    Attributes:
        coordinates: Of a position, in order: "hw", row and column; "wh"; "thw", with the frame in front; "number", one
            number, row after row.
        start: Number from which rows and columns count.
        merge: Side of the squares of patches that follow one another; None where the processor states it for each
            image.
        centred: Whether coordinates are those of the centres, from -1 to 1 over the image.
        span: What rows and columns are stretched to, so that the last column ends there; None where they are counted.
        front: Tokens in front of the patches that have positions of their own, as `positions.prefixed` gives them.
        behind: Tokens behind the patches that have numbers of their own.
        sizes: The grid of the table that positions are on, where images are not resized to it and it is not resized to
            them; None for any grid.
        shared: Whether patches of an image of another grid read `sizes` by their share of height and width.
        transposed: Whether patches, in their order, are counted on the grid of the transposed image.

    Raises:
        ValueError: A field breaks its rule; the message names it.
        TypeError: A field has the wrong type.

    Example:
        >>> PatchPositions("wh", start=1, merge=2).of(2, 4).tolist()
        [[1, 1], [2, 1], [1, 2], [2, 2], [3, 1], [4, 1], [3, 2], [4, 2]]
    """

    coordinates: Literal["hw", "wh", "thw", "number"] = "hw"
    start: Annotated[int, Whole(0, 1)] = 0
    merge: Annotated[int, Whole(1, 1 << 10)] | None = 1
    centred: bool = False
    span: Annotated[float, Real(0.0, 1e6)] | None = None
    front: Annotated[int, Whole(0, LONGEST)] = 0
    behind: Annotated[int, Whole(0, LONGEST)] = 0
    sizes: Annotated[tuple[int, ...], grid_sizes(2)] | None = None
    shared: bool = False
    transposed: bool = False

    def of(self, height: int, width: int, *, frames: int = 1, merge: int | None = None) -> np.ndarray:
        """Positions of the patches of one image or video.

        Args:
            height: Rows of patches.
            width: Columns of patches.
            frames: Frames; an image has one.
            merge: Side of the squares of patches that follow one another, where the processor states it for each image.

        Returns:
            (patches, coordinates), or (patches,) where a position is a number; int64, or float64 where coordinates are
            fractions. Frame after frame: each is counted anew, with the tokens in front of it and behind it.

        Raises:
            ValueError: A number is out of range, or the tower takes no image of that grid.
            TypeError: An argument has the wrong type.
        """
        height, width = (
            validation.integer(name, side, 1, LONGEST) for name, side in (("height", height), ("width", width))
        )
        frames, side = validation.integer("frames", frames, 1, LONGEST), self._side(merge)
        self._check_grid(height, width, side)
        if self.coordinates == "number":
            return np.tile(np.arange(height * width + self.behind, dtype=np.int64), frames)
        cells = self._cells(*((width, height) if self.transposed else (height, width))) + self.start
        in_blocks = cells.reshape(height // side, side, width // side, side, 2).swapaxes(1, 2).reshape(-1, 2)
        counted = in_blocks[:, ::-1] if self.coordinates == "wh" else in_blocks
        frame = prefixed(counted, self.front) if self.front else counted
        made = np.tile(frame, (frames, 1))
        if self.coordinates == "thw":
            made = np.concatenate([np.repeat(np.arange(frames), len(frame))[:, None], made], -1)
        return made

    def _side(self, merge: int | None) -> int:
        """The side of the squares, from the config or the caller."""
        if self.merge is None:
            if merge is None:
                raise ValueError(
                    "merge must be given, since this tower takes it for each image; got None. Give the image's "
                    "merge_sizes of the processor."
                )
            return validation.integer("merge", merge, 1, 1 << 10)
        if merge is not None and validation.integer("merge", merge, 1, 1 << 10) != self.merge:
            raise ValueError(f"merge must be that of the config, {self.merge}; got {merge}. Drop it.")
        return self.merge

    def _check_grid(self, height: int, width: int, side: int) -> None:
        for name, length in (("height", height), ("width", width)):
            if length % side:
                raise ValueError(f"{name} must be a multiple of merge={side}; got {length}. Pad the patches.")
        if not (self.sizes is None or self.shared or self.sizes == (height, width)):
            raise ValueError(
                f"height and width must be {self.sizes}, the only grid of this tower's positions; got "
                f"{(height, width)}. Resize the image."
            )

    def _cells(self, height: int, width: int) -> np.ndarray:
        """Row and column of each patch, row after row, as coordinates of this tower."""
        if self.centred:
            return centres(height, width)
        cells = grid(height, width)
        if self.shared and self.sizes is not None:
            shares = [_shared(size, length) for size, length in zip(self.sizes, (height, width), strict=True)]
            return np.stack([shares[axis][cells[:, axis]] for axis in (0, 1)], -1)
        return cells if self.span is None else cells * (self.span / width)

    def __str__(self) -> str:
        words = [IN_WORDS[self.coordinates]]
        if self.centred:
            words.append("of the centres, from -1 to 1")
        elif self.coordinates != "number":
            words.append(f"from {self.start}")
        if self.span is not None:
            words.append(f"stretched to {self.span:g} over the width")
        if self.merge != 1:
            side = "the processor's merge_sizes" if self.merge is None else f"{self.merge} × {self.merge}"
            words.append(f"in squares of {side}")
        if self.transposed:
            words.append("counted on the transposed image")
        if self.sizes is not None:
            words.append(f"{'by shares of' if self.shared else 'on'} a grid of {' × '.join(map(str, self.sizes))}")
        return ", ".join(words)


def _shared(size: int, length: int) -> Any:
    """Row of a table of `size` rows for each of `length` patches, in the float32 of the released code."""
    share = np.arange(length, dtype=np.float32) * (np.float32(1.0) / np.float32(length))
    bounds = np.arange(1, size, dtype=np.float64) * (1.0 / size)
    return np.searchsorted(bounds.astype(np.float32), np.minimum(share, np.float32(1.0 - 1e-6)), side="right")
