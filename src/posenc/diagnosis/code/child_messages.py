"""Messages between two processes: words and numbers as JSON, arrays as their bytes. Nothing is unpickled.

A message is a length, JSON of that length, and the bytes of each array in turn. What the other side wrote is not
trusted: sizes are bounded before anything is allocated.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, BinaryIO

import numpy as np

#: The most bytes of the words of a message, and of its arrays together.
MOST_TEXT = 1 << 20
MOST_BYTES = 1 << 28
_TYPES = ("<f8", "<f4", "<i8", "|b1")


class BrokenMessageError(Exception):
    """Bytes that are no complete message."""


def send(stream: BinaryIO, body: Any) -> None:
    """Write one message: None, words, numbers, arrays, and lists and dicts of these."""
    arrays: list[np.ndarray] = []
    text = json.dumps(_without_arrays(body, arrays)).encode()
    described = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
    stream.write(struct.pack(">II", len(text), len(described)) + text + described)
    for array in arrays:
        stream.write(array.tobytes())
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message.

    Raises:
        EOFError: The other side has ended.
        BrokenMessageError: The bytes are no message.
    """
    lengths = struct.unpack(">II", _exactly(stream, 8))
    if max(lengths) > MOST_TEXT:
        raise BrokenMessageError(f"a message of {max(lengths)} bytes")
    text, described = (_exactly(stream, length) for length in lengths)
    try:
        body, shapes = json.loads(text), [(kind, tuple(map(int, shape))) for kind, shape in json.loads(described)]
    except (ValueError, TypeError, RecursionError):
        raise BrokenMessageError("words that are no JSON") from None
    sizes = [_size(kind, shape) for kind, shape in shapes]
    if sum(sizes) > MOST_BYTES:
        raise BrokenMessageError(f"arrays of {sum(sizes)} bytes")
    arrays = [
        np.frombuffer(_exactly(stream, size), dtype=kind).reshape(shape).copy()
        for size, (kind, shape) in zip(sizes, shapes, strict=True)
    ]
    try:
        return _with_arrays(body, arrays)
    except RecursionError:
        raise BrokenMessageError("words too deep in one another") from None


def _size(kind: Any, shape: tuple[int, ...]) -> int:
    if kind not in _TYPES or any(length < 0 for length in shape):
        raise BrokenMessageError("an array of another type")
    return int(math.prod(shape) * np.dtype(kind).itemsize)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        part = stream.read(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _without_arrays(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        kind = {"f": "<f8" if value.dtype.itemsize == 8 else "<f4", "b": "|b1"}.get(value.dtype.kind, "<i8")
        arrays.append(np.ascontiguousarray(value, dtype=kind).reshape(value.shape))
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": {str(name): _without_arrays(each, arrays) for name, each in value.items()}}
    if isinstance(value, list | tuple):
        return [_without_arrays(each, arrays) for each in value]
    return value


def _with_arrays(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_with_arrays(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value and isinstance(value["dict"], dict):
        return {name: _with_arrays(each, arrays) for name, each in value["dict"].items()}
    index = value.get("array")
    if type(index) is not int or not 0 <= index < len(arrays):
        raise BrokenMessageError("an array that was not sent")
    return arrays[index]
