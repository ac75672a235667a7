"""The first 32 numbers of every row of a tensor in a file, memory-mapped, with an error bound for each."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc.core import plain_file

#: Numbers of each row that are read: rows of weights differ in their first ones. A block of GGUF has as many.
COLUMNS = 32
#: How far numbers may be off, of themselves, that were rounded to a 16-bit type; small ones of the largest.
ROUNDED = 2.0**-8
SMALL = 1e-3
NUMBERS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
#: Bytes of a block of 32 numbers, which begins with its step in float16.
BLOCKS = {"Q8_0": 34, "Q4_0": 18}
#: Of types that the package gguf unpacks: numbers and bytes of a block, and the steps between its least and its most.
PACKED = {
    "Q4_1": (32, 20, 15), "Q5_0": (32, 22, 31), "Q5_1": (32, 24, 31), "Q2_K": (256, 84, 3), "Q3_K": (256, 110, 7),
    "Q4_K": (256, 144, 15), "Q5_K": (256, 176, 31), "Q6_K": (256, 210, 63), "IQ4_NL": (32, 18, 8),
    "IQ4_XS": (256, 136, 8), "MXFP4": (32, 17, 6),
}  # fmt: skip
#: Steps by which a number of these may be off: files may be made for other errors than the least of each number.
STEPS = 1.5


class StoredTensor(NamedTuple):
    """A tensor in a file.

    Args:
        path: The file.
        start: Its first byte.
        size: Its bytes.
        dtype: "F32" or "Q8_0", for example, as its format names it.
        shape: The rows first, as PyTorch has them.
    """

    path: Path
    start: int
    size: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def in_blocks(self) -> bool:
        """Whether numbers of a row share quantised blocks, so that rows can be read along axis 0 alone."""
        return self.dtype in BLOCKS or self.dtype in PACKED


class RowNumbers(NamedTuple):
    """The first numbers of every row and their error bounds, both (rows, columns)."""

    values: np.ndarray
    tolerance: np.ndarray

    def taken(self, rows: np.ndarray) -> RowNumbers:
        """Return the rows with these indices, in this order."""
        return RowNumbers(self.values[rows], self.tolerance[rows])


def leading_numbers(tensor: StoredTensor, axis: int = 0) -> RowNumbers:
    """Read the first numbers of each row along `axis` (0 for quantised blocks); raw bytes if NumPy lacks the dtype."""
    if tensor.dtype in BLOCKS:
        return _of_blocks(tensor)
    if tensor.dtype in PACKED:
        return _unpacked(tensor)
    if tensor.dtype in NUMBERS:
        array = _mapped(tensor, NUMBERS[tensor.dtype], tensor.shape)
    else:
        width = tensor.size // max(math.prod(tensor.shape), 1)
        array = _mapped(tensor, np.uint8, (*tensor.shape, width))
    rows: np.ndarray = np.moveaxis(np.asarray(array), axis, 0)
    rows = rows.reshape(len(rows), -1)[:, :COLUMNS] if rows.ndim > 1 else rows[:, None]
    if tensor.dtype == "BF16":
        rows = (rows.astype(np.uint32) << 16).view(np.float32)
    values = np.asarray(rows, dtype=np.float64)
    size = float(np.abs(values).max(initial=0.0))
    return RowNumbers(values, ROUNDED * np.maximum(np.abs(values), SMALL * size))


def _mapped(tensor: StoredTensor, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    with plain_file.opened(tensor.path) as file:
        array: np.ndarray = np.memmap(file, dtype, "r", tensor.start, shape)
    return array


def _of_blocks(tensor: StoredTensor) -> RowNumbers:
    """Dequantise the first block of each row; error bounds are one quantisation step, which also covers clipping."""
    width = BLOCKS[tensor.dtype]
    rows = math.prod(tensor.shape[:-1])
    blocks = _mapped(tensor, np.uint8, (rows, tensor.shape[-1] // COLUMNS, width))[:, 0]
    step = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float64)
    numbers = np.ascontiguousarray(blocks[:, 2:])
    if tensor.dtype == "Q4_0":
        whole = np.concatenate([numbers & 15, numbers >> 4], 1).astype(np.float64) - 8
    else:
        whole = numbers.view(np.int8).astype(np.float64)
    values = step * whole
    return RowNumbers(values, np.broadcast_to(1.01 * np.abs(step), values.shape) + ROUNDED * np.abs(values))


def can_unpack() -> bool:
    """Whether the package gguf, which unpacks other quantised types, is installed."""
    return find_spec("gguf") is not None


def _unpacked(tensor: StoredTensor) -> RowNumbers:
    """Unpack the first numbers of each row with gguf; their range estimates the quantisation step of error bounds."""
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    numbers, width, steps = PACKED[tensor.dtype]
    rows = math.prod(tensor.shape[:-1])
    blocks = _mapped(tensor, np.uint8, (rows, tensor.shape[-1] // numbers, width))[:, 0]
    whole = dequantize(np.ascontiguousarray(blocks), GGMLQuantizationType[tensor.dtype])
    values = np.asarray(whole[:, :COLUMNS], dtype=np.float64)
    step = np.ptp(values, axis=1, keepdims=True) / steps
    return RowNumbers(values, STEPS * step + ROUNDED * np.abs(values))


def same_rows(one: RowNumbers, other: RowNumbers) -> np.ndarray:
    """Return for each row whether both agree within their error bounds; all False where shapes differ."""
    if one.values.shape != other.values.shape:
        return np.zeros(len(other.values), bool)
    tolerance = np.maximum(one.tolerance, other.tolerance)
    return np.asarray(np.all(np.abs(one.values - other.values) <= tolerance, axis=1))


def order_of_rows(one: RowNumbers, other: RowNumbers) -> np.ndarray:
    """Return for each row of `other` the index of the equal row of `one`, its own index if equal; -1 for none.

    The nearest row is looked for in pieces, so memory stays bounded, and accepted within the tolerance.
    """
    order = np.full(len(other.values), -1)
    if one.values.shape[1:] != other.values.shape[1:]:
        return order
    if len(one.values) == len(other.values):
        order[same_rows(one, other)] = np.flatnonzero(same_rows(one, other))
    left = np.flatnonzero(order < 0)
    table = one.values.astype(np.float32)
    lengths = (table * table).sum(1)
    piece = max(1, (1 << 24) // max(len(table), 1))
    for begin in range(0, len(left), piece):
        rows = left[begin : begin + piece]
        distance = lengths - 2 * (other.values[rows].astype(np.float32) @ table.T)
        nearest = distance.argmin(1)
        order[rows] = np.where(same_rows(one.taken(nearest), other.taken(rows)), nearest, -1)
    return order
