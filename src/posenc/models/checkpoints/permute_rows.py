"""The bytes of a tensor with its rows in another order, a few at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from posenc.models.checkpoints.tensor_layout import Move
from posenc.models.formats.safetensors_header import BITS, Entry

#: Bytes held at once, unless one head has more.
CHUNK = 1 << 22


def copied(file: BinaryIO, size: int) -> Iterator[tuple[memoryview, memoryview]]:
    """The next bytes of a file, as read and as they are to be written: the same."""
    while size:
        part = memoryview(_read(file, min(size, CHUNK)))
        size -= len(part)
        yield part, part


def moved(file: BinaryIO, entry: Entry, move: Move) -> Iterator[tuple[memoryview, memoryview]]:
    """The next tensor of a file, as read and with its rows moved. Raw bytes: no dtype is ever interpreted."""
    order = move.order()
    lead = math.prod(entry.shape[: move.axis])
    words = entry.shape[move.axis] if move.bits else len(order)
    cell, rest = divmod(entry.size, lead * words)
    if rest:
        raise ValueError(
            f"{entry.name} must have rows of whole bytes; {BITS[entry.dtype]} bits are no byte. It cannot be moved."
        )
    by_head = lead == 1 and move.block == 1 and not move.bits
    together = move.source.dim if by_head else words  # rows that move among themselves
    count = max(1, CHUNK // (together * cell))
    for at in range(0, lead * words // together, count):
        groups = min(count, lead * words // together - at)
        part = np.frombuffer(_read(file, groups * together * cell), np.uint8).reshape(groups, together, cell)
        yield part.data.cast("B"), np.ascontiguousarray(_ordered(part, order, at, move)).data.cast("B")


def _ordered(part: np.ndarray, order: np.ndarray, at: int, move: Move) -> np.ndarray:
    """(groups, together, cell) with every group's rows in order."""
    if move.bits:
        return _packed(_unpacked(part, move.bits)[:, order], move.bits)
    groups, together, cell = part.shape
    if together == len(order):
        return part[:, order]
    own = order[at * together : (at + groups) * together] - at * together
    return np.asarray(part.reshape(groups * together, cell)[own])


def _unpacked(part: np.ndarray, bits: int) -> np.ndarray:
    """The numbers of several bits in little-endian words, the lowest bits first; (groups, words, 4) to (groups, numbers)."""
    flat = part.reshape(len(part), -1, 1)
    numbers = np.bitwise_and(flat >> np.arange(0, 8, bits, dtype=np.uint8), np.uint8((1 << bits) - 1))
    return np.asarray(numbers.reshape(len(part), -1))


def _packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The inverse of `_unpacked`, as bytes."""
    parts = numbers.reshape(len(numbers), -1, 8 // bits) << np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(np.bitwise_or.reduce(parts, -1).astype(np.uint8))


def _read(file: BinaryIO, size: int) -> bytes:
    part = file.read(size)
    if len(part) != size:
        raise ValueError(
            f"checkpoint must stay as it is while it is read; {size - len(part)} bytes are gone. Run it again."
        )
    return part
