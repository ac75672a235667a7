"""The bytes of a tensor with its rows in another order, a few megabytes at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from posenc.models.checkpoints.tensor_layout import Move
from posenc.models.formats.safetensors_header import BITS, Entry

#: Bytes held at once, unless one head has more.
CHUNK = 1 << 22
#: Bytes as read, and as they are to be written.
Chunks = Iterator[tuple[memoryview, memoryview]]


def copied_chunks(file: BinaryIO, size: int) -> Chunks:
    """The next bytes of a file, unchanged."""
    while size:
        chunk = memoryview(_read(file, min(size, CHUNK)))
        size -= len(chunk)
        yield chunk, chunk


def permuted_chunks(file: BinaryIO, entry: Entry, move: Move) -> Chunks:
    """The next tensor of a file with its rows moved. Raw bytes: no dtype is ever interpreted."""
    order = move.order()
    before = math.prod(entry.shape[: move.axis])
    rows = entry.shape[move.axis] if move.bits else len(order)
    row_size, rest = divmod(entry.size, before * rows)
    if rest:
        raise ValueError(
            f"{entry.name} must have rows of whole bytes; {BITS[entry.dtype]} bits are no byte. It cannot be moved."
        )
    by_head = before == 1 and move.block == 1 and not move.bits
    group = move.source.dim if by_head else rows  # rows that move among themselves
    groups, at_once = before * rows // group, max(1, CHUNK // (group * row_size))
    for first in range(0, groups, at_once):
        count = min(at_once, groups - first)
        chunk = np.frombuffer(_read(file, count * group * row_size), np.uint8).reshape(count, group, row_size)
        yield chunk.data.cast("B"), np.ascontiguousarray(_permuted(chunk, order, first, move)).data.cast("B")


def _permuted(chunk: np.ndarray, order: np.ndarray, first: int, move: Move) -> np.ndarray:
    """(groups, rows, bytes) with the rows of every group in order; `first` is the number of the first group."""
    if move.bits:
        return _pack(_unpack(chunk, move.bits)[:, order], move.bits)
    groups, rows, row_size = chunk.shape
    if rows == len(order):
        return chunk[:, order]
    group_order = order[first * rows : (first + groups) * rows] - first * rows
    return np.asarray(chunk.reshape(groups * rows, row_size)[group_order])


def _unpack(chunk: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of a few bits out of little-endian words, lowest bits first; (groups, words, 4) to (groups, numbers)."""
    flat = chunk.reshape(len(chunk), -1, 1)
    numbers = np.bitwise_and(flat >> np.arange(0, 8, bits, dtype=np.uint8), np.uint8((1 << bits) - 1))
    return np.asarray(numbers.reshape(len(chunk), -1))


def _pack(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The inverse of `_unpack`, as bytes."""
    parts = numbers.reshape(len(numbers), -1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(np.bitwise_or.reduce(parts, -1).astype(np.uint8))


def _read(file: BinaryIO, size: int) -> bytes:
    chunk = file.read(size)
    if len(chunk) != size:
        raise ValueError(
            f"checkpoint must not change while it is read; {size - len(chunk)} bytes are missing. Run it again."
        )
    return chunk
