"""The header of a safetensors file, read strictly: names, dtypes, shapes and places, and no tensor."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.core import plain_file

#: Bits of one number of each dtype of the format.
BITS = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16,
    "I16": 16, "U16": 16,
    "I8": 8, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
#: Room for a hundred thousand tensors; a longer header is an attack, or a file that is no safetensors.
LARGEST_HEADER = 1 << 24
MOST_AXES = 16


@dataclass(frozen=True)
class Entry:
    """A tensor: its name, dtype and shape, and where its bytes lie, counted from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Size of the tensor in bytes."""
        return self.end - self.begin


@dataclass(frozen=True)
class Header:
    """A file's entries in the order of their bytes; `start` is where the first byte of the first one lies."""

    start: int
    size: int
    entries: tuple[Entry, ...]


def read_header(path: str | Path) -> Header:
    """The header of a safetensors file; nothing else of it is read.

    Every statement of the header is checked against the length of the file: dtypes are known, sizes follow from shapes,
    and the tensors lie one behind another without gap or overlap.

    Raises:
        ValueError: In one line, naming the file.
    """
    path = Path(path)
    with plain_file.opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        first = file.read(9)
        if first[8:] != b"{":  # which a header begins with: its length may well look like the first bytes of a pickle
            _no_pickle(path, first)
        length = int.from_bytes(first[:8], "little")
        if size < 10 or not 2 <= length <= size - 8:
            raise _bad(
                path,
                f"its header would be {length} bytes in a file of {size}",
                "The file is cut off, or no safetensors",
            )
        if length > LARGEST_HEADER:
            raise _bad(
                path, f"its header would be {length} bytes, above {LARGEST_HEADER}", "The file is no safetensors"
            )
        header = _parsed(path, first[8:] + file.read(length - 1))
    return Header(8 + length, size, _laid_out(path, header, size - 8 - length))


def _no_pickle(path: Path, first: bytes) -> None:
    if first.startswith(b"PK\x03\x04") or (first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")):
        raise _bad(
            path,
            "it is a pickle file (or a zip of one), which can run any code when loaded",
            "posenc never loads it: save it as safetensors",
        )


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    """Parse the header as a JSON object; ValueError for anything else, repeated names included."""
    try:
        if not text.startswith(b"{"):
            raise ValueError("no object")
        return plain_file.json_of(text)  # type: ignore[no-any-return]
    except ValueError as error:
        problem = f"its header is no JSON object ({error})"
        raise _bad(path, problem, "The file is damaged, or no safetensors") from None


def _laid_out(path: Path, header: dict[str, Any], room: int) -> tuple[Entry, ...]:
    """Return the entries in byte order; ValueError unless they fill the `room` bytes without gap or overlap."""
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(value, str) for value in notes.values()):
        raise _bad(path, "__metadata__ is no object of strings")
    entries = sorted(
        (_entry(path, name, value) for name, value in header.items()), key=lambda one: (one.begin, one.end)
    )
    end_of_last = 0
    for entry in entries:
        if entry.begin != end_of_last:
            raise _bad(path, f"{entry.name!r:.80} begins at byte {entry.begin}, where {end_of_last} is next")
        end_of_last = entry.end
    if end_of_last != room:
        raise _bad(
            path, f"its tensors take {end_of_last} bytes, and {room} are there", "The file is cut off or damaged"
        )
    return tuple(entries)


def _entry(path: Path, name: str, value: Any) -> Entry:
    if not name.isprintable():
        raise _bad(path, f"a tensor's name has a control character: {name!r:.80}", "Save it under a plain name")
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise _bad(path, f"{name!r:.80} has no dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BITS:
        raise _bad(path, f"{name!r:.80} has the dtype {dtype!r:.40}", "posenc does not know it")
    if not _whole(shape) or len(shape) > MOST_AXES or not _whole(offsets) or len(offsets) != 2:
        raise _bad(path, f"{name!r:.80} has a shape or offsets that are no whole numbers")
    bits = math.prod(shape) * BITS[dtype]
    if bits % 8 or offsets[1] - offsets[0] != bits // 8:
        raise _bad(path, f"{name!r:.80} has {offsets[1] - offsets[0]} bytes for {dtype} in shape {shape}")
    return Entry(name, dtype, tuple(shape), offsets[0], offsets[1])


def _whole(values: Any) -> bool:
    """Whether `values` is a list of whole numbers from 0 to below 2^62."""
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 62 for value in values)


def _bad(path: Path, what: str, then: str = "The file is damaged") -> ValueError:
    return ValueError(f"{path.name} must be a safetensors file; {what}. {then}.")


def shards(path: Path) -> dict[str, str] | None:
    """Return the file of each tensor of a sharded checkpoint, from its index; None for a folder without an index."""
    indices = sorted(path.glob("*.safetensors.index.json"))
    if not indices:
        return None
    if len(indices) > 1:
        raise ValueError(f"{path.name} must have one index; got {len(indices)}. Name a single file.")
    named = _parsed(indices[0], plain_file.read_bytes(indices[0], LARGEST_HEADER * 2)).get("weight_map")
    if not isinstance(named, dict) or not named or not all(_plain(value) for value in named.values()):
        raise ValueError(f"{indices[0].name} must name a file of this folder for every tensor. The index is damaged.")
    return named


def _plain(name: Any) -> bool:
    """Whether a name is that of a .safetensors file in this folder: no path and no hidden file."""
    return (
        isinstance(name, str) and name.endswith(".safetensors") and Path(name).name == name and not name.startswith(".")
    )
