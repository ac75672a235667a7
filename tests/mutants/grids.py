"""Broken encodings of several axes: each is right along a line, or nearly, and wrong on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mutants.bug import Bug
from posenc.core import arrays
from posenc.core.checked_positions import split_coordinates
from posenc.core.doors import AttentionBias
from posenc.core.rotation import Rotation
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.positions.distance import steps


@dataclass(frozen=True)
class NothingOffTheDiagonal(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        made = super().rotation(positions, params, role=role, dtype=dtype)
        if not isinstance(made.cos, np.ndarray):
            return made
        places = np.asarray(positions)
        hole = np.where((places == places[..., :1]).all(-1), 0.0, np.nan)[..., None].astype(made.cos.dtype)
        return Rotation(made.cos + hole, made.sin, made.pairing, made.factor)


@dataclass(frozen=True)
class FirstGridForAll(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if isinstance(positions, np.ndarray) and positions.ndim == 3 and len(positions):
            positions = np.broadcast_to(positions[:1], positions.shape)
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class RowsForColumns(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if isinstance(positions, np.ndarray) and positions.shape[-1:] == (self.axes,):
            positions = np.broadcast_to(positions[..., :1], positions.shape)
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class WidthFirstElsewhere(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if not isinstance(positions, np.ndarray | list):
            positions = arrays.library(positions).xp.flip(positions, (-1,))
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class MoreCoordinatesCut(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if isinstance(positions, np.ndarray):
            positions = positions[..., : self.axes]
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class KeysOfABatchTransposed(AxialRoPE):
    def rotation(self, positions: Any, params: Any = None, *, role: Any = "both", dtype: Any = None) -> Rotation:
        if role == "key" and isinstance(positions, np.ndarray) and positions.ndim == 3:
            positions = positions[..., ::-1]
        return super().rotation(positions, params, role=role, dtype=dtype)


@dataclass(frozen=True)
class OneNumberTransposed(AttentionBias):
    """The matrix is right; a number asked for by itself has rows for columns."""

    claims: ClassVar[Any] = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    @property
    def axes(self) -> int:
        return 2

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        head, query_positions, key_positions, _, dtype = self.checked_call(
            head, query_positions, key_positions, params, dtype
        )
        lib = query_positions.lib
        pairs = zip(split_coordinates(query_positions, 2), split_coordinates(key_positions, 2), strict=True)
        rows, columns = (lib.xp.abs(steps(m, n, dtype)) for m, n in pairs)
        if rows.ndim == 0:
            rows, columns = columns, rows
        slope = lib.astype(head + 1, rows.dtype)
        return lib.astype(-slope * (rows + 2 * columns), dtype)


GRID = {"axis": (0, 0, 1, 1), "frequency_index": (0, 1, 0, 1), "frequency_dim": 4}

BUGS = (
    Bug("cells off the diagonal are NaN", NothingOffTheDiagonal(**GRID), "grid_shape"),
    Bug("every image of a batch gets the grid of the first", FirstGridForAll(**GRID), "grids_in_a_batch"),
    Bug("columns are taken for rows", RowsForColumns(**GRID), "every_axis_counts"),
    Bug("width comes first in another library", WidthFirstElsewhere(**GRID), "grid_in_every_library"),
    Bug("an extra coordinate is cut off", MoreCoordinatesCut(**GRID), "wrong_number_of_coordinates_refused"),
    Bug("keys of a batch have rows and columns exchanged", KeysOfABatchTransposed(**GRID), "attention_over_grids"),
    Bug("a single number has rows and columns exchanged", OneNumberTransposed(heads=2), "grid_bias_is_pointwise"),
)
