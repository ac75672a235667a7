"""The head of a GGUF file, read strictly: metadata, and the few small tensors that concern positions."""

from __future__ import annotations

import math
import mmap
import re
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core import plain_file, validation
from posenc.models.checkpoints.stored_rows import BLOCKS, COLUMNS, PACKED, StoredTensor

#: struct formats of the plain types of values, by their number in the format.
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY, _FLOAT32 = 8, 9, 0
#: Far above any released file: keys, tensors, words of a vocabulary in all, and numbers in a list that is kept.
MOST_KEYS, MOST_TENSORS, MOST_WORDS, LONGEST_LIST = 1 << 14, 1 << 18, 1 << 20, 1 << 16
#: Tensors that belong to positions and are read: divisors of frequencies.
#: Types of tensors that are read, by their number in the format, and the bytes of a number.
_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K",
    13: "Q5_K", 14: "Q6_K", 20: "IQ4_NL", 23: "IQ4_XS", 28: "F64", 30: "BF16", 39: "MXFP4",
}  # fmt: skip
_BYTES = {"F32": 4, "F16": 2, "F64": 8, "BF16": 2}
DIVISORS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")


@dataclass(frozen=True)
class GGUFHead:
    """The head of a GGUF file, without its weights.

    Attributes:
        keys: Metadata, without long lists.
        tensors: Names of the tensors.
        divisors: Of frequencies: the small tensors rope_freqs.weight, rope_factors_long.weight and
            rope_factors_short.weight that are there.
        stored: Where each tensor lies in the file, by name.
        missing_parts: Of a model in several files, how many of them are not in the folder of the file that was read.
    """

    keys: dict[str, Any]
    tensors: tuple[str, ...]
    divisors: dict[str, tuple[float, ...]]
    stored: dict[str, StoredTensor] = field(default_factory=dict, repr=False, compare=False)
    missing_parts: int = 0


def read_gguf(path: str | Path) -> GGUFHead:
    """Read the head of a GGUF file (version 2 or 3, little-endian); weights are not touched. ValueError in one line.

    The other parts of a model that was split into several files are read with it where they lie in its folder.
    """
    if not isinstance(path, str | Path):
        raise TypeError(f"file must be a path or a head that was read; got {validation.shown(path)}. Give a path.")
    path = Path(path)
    head = _one_file(path)
    count = head.keys.get("split.count")
    return _with_other_parts(path, head, count) if isinstance(count, int) and count > 1 else head


def _one_file(path: Path) -> GGUFHead:
    if plain_file.plain_size(path) < 24:
        raise _bad(path, "it is too short")
    with plain_file.opened(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _Reader(path, data).head()
        except (struct.error, UnicodeDecodeError, OverflowError):
            raise _bad(path, "it is cut off or damaged") from None


def _with_other_parts(path: Path, head: GGUFHead, count: int) -> GGUFHead:
    """Merge the heads of all parts that are there, by the names that llama.cpp gives them; the first has the keys."""
    end = f"-of-{count:05d}.gguf"
    named = re.compile(rf"{re.escape(path.name.removesuffix(end)[:-5])}\d{{5}}{re.escape(end)}")
    others = [other for other in path.parent.iterdir() if named.fullmatch(other.name) and other.is_file()]
    heads = {path: head} | {other: _one_file(other) for other in others if other != path}
    parts = [heads[other] for other in sorted(heads)]
    tensors: list[str] = []
    divisors: dict[str, tuple[float, ...]] = {}
    stored: dict[str, StoredTensor] = {}
    for one in parts:
        tensors += one.tensors
        divisors |= one.divisors
        stored |= one.stored
    return GGUFHead(parts[0].keys, tuple(tensors), divisors, stored, count - len(parts))


class _Reader:
    """Sequential reader of a GGUF file's head; `at` is the next byte."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self.path, self.data, self.at, self.words = path, data, 0, 0

    def head(self) -> GGUFHead:
        if self.data[:4] != b"GGUF":
            raise _bad(self.path, "it does not begin with GGUF")
        self.at = 4
        version, tensors, keys = (self.number("I"), self.number("Q"), self.number("Q"))
        if version not in (2, 3):
            raise _bad(self.path, f"its version is {version}, and 2 and 3 are known (big-endian files are not read)")
        if tensors > MOST_TENSORS or keys > MOST_KEYS:
            raise _bad(self.path, f"it states {tensors} tensors and {keys} keys")
        metadata: dict[str, Any] = {}
        for _ in range(keys):
            key = self.text()
            value = self.value(self.number("I"))
            if key in metadata:
                raise _bad(self.path, f"{key!r:.80} occurs twice")
            metadata[key] = value
        entries = dict(self.tensor() for _ in range(tensors))
        start = self.start(metadata.get("general.alignment", 32))
        stored = {name: self.stored(name, start, *entry) for name, entry in entries.items()}
        return GGUFHead(metadata, tuple(entries), self.divisors(entries, start), stored)

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return value

    def text(self) -> str:
        length = self.number("Q")
        self.words += 1
        if length > len(self.data) - self.at or self.words > MOST_WORDS:
            raise _bad(self.path, "it is cut off, or has too many words")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8") if length <= LONGEST_LIST else ""

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.number(self.format(kind))
        inner, count = self.number("I"), self.number("Q")
        if inner == _STRING:
            self.skip(count)
            return None
        form = self.format(inner)
        size = struct.calcsize(f"<{form}") * count
        if size > len(self.data) - self.at:
            raise _bad(self.path, "it is cut off")
        self.at += size
        return struct.unpack_from(f"<{count}{form}", self.data, self.at - size) if count <= LONGEST_LIST else None

    def skip(self, count: int) -> None:
        """Skip `count` strings, such as the vocabulary, without decoding them."""
        self.words += count
        if self.words > MOST_WORDS:
            raise _bad(self.path, f"it states {self.words} words")
        data, at, length = self.data, self.at, struct.Struct("<Q").unpack_from
        for _ in range(count):
            at += 8 + length(data, at)[0]
        if at > len(data):
            raise _bad(self.path, "it is cut off")
        self.at = at

    def format(self, kind: int) -> str:
        if kind not in _FORMATS:
            raise _bad(self.path, f"it has a value of type {kind}")
        return _FORMATS[kind]

    def tensor(self) -> tuple[str, tuple[tuple[int, ...], int, int]]:
        """Read a tensor's entry: its name, and (shape, type, offset)."""
        name, axes = self.text(), self.number("I")
        if axes > 8:
            raise _bad(self.path, f"{name!r:.80} has {axes} axes")
        shape = tuple(self.number("Q") for _ in range(axes))
        return name, (shape[::-1], self.number("I"), self.number("Q"))

    def start(self, alignment: Any) -> int:
        """Where the first tensor begins."""
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20:
            raise _bad(self.path, f"its alignment is {alignment!r:.40}")
        return -(-self.at // alignment) * alignment

    def stored(self, name: str, start: int, shape: tuple[int, ...], kind: int, offset: int) -> StoredTensor:
        """Return where a tensor lies in the file; of size 0 where its type is not read, or it does not lie inside."""
        dtype, count = _TYPES.get(kind, f"type {kind}"), math.prod(shape)
        size = count * _BYTES.get(dtype, 0)
        numbers, width = (COLUMNS, BLOCKS[dtype]) if dtype in BLOCKS else PACKED.get(dtype, (0, 0, 0))[:2]
        if numbers and shape and shape[-1] % numbers == 0:
            size = count // numbers * width
        if not size or start + offset + size > len(self.data):
            return StoredTensor(self.path, 0, 0, dtype if dtype.startswith("type") else f"{dtype}, cut off", shape)
        return StoredTensor(self.path, start + offset, size, dtype, shape)

    def divisors(
        self, entries: dict[str, tuple[tuple[int, ...], int, int]], start: int
    ) -> dict[str, tuple[float, ...]]:
        divisors = {}
        for name in DIVISORS:
            if name in entries:
                shape, kind, offset = entries[name]
                count = math.prod(shape)
                if kind != _FLOAT32 or count > LONGEST_LIST or start + offset + 4 * count > len(self.data):
                    raise _bad(self.path, f"{name} is no short list of float32 inside the file")
                divisors[name] = tuple(np.frombuffer(self.data, "<f4", count, start + offset).astype(float).tolist())
        return divisors


def _bad(path: Path, what: str) -> ValueError:
    return ValueError(f"{path.name} must be a GGUF file; {what}. Name another one.")
