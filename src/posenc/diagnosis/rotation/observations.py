"""Arrays, files and live modules as evidence of what a rotation does. Nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posenc import _check
from posenc.diagnosis.rotation.rotation_evidence import (
    Evidence,
    FrequenciesSeen,
    LogitsSeen,
    TableSeen,
    Together,
    TurnedSeen,
)
from posenc.models.formats.safetensors_header import Entry, read_header

#: The arrays that are understood, and what they are.
NAMES = {
    "inv_freq": "frequencies (pairs,), radians a step",
    "attention_factor": "what cos and sin are multiplied by",
    "cos": "(n, pairs), or (n, channels) with every frequency twice",
    "sin": "as cos",
    "positions": "(n,), or (batch, n), or (n, axes); 0, 1, 2, ... where left out",
    "q": "queries (n, dim), or with heads and a layout",
    "k": "keys",
    "q_rotated": "the queries once turned",
    "k_rotated": "the keys once turned",
    "query_positions": "of q, where they differ from those of k",
    "key_positions": "of k",
    "logits": "(n, m), before the softmax",
    "scale": "what q·k is multiplied by; 1/√dim, or what the model multiplies by, where left out",
    "bias": "of ALiBi or T5, (heads, n, m)",
    "table": "of T5, (buckets, heads)",
}
#: The most numbers of one array that are compared.
MOST = 1 << 24
FLOATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def numbers(name: str, value: Any) -> tuple[np.ndarray, str]:
    """An array of any library as float64 or int64 on the host, and the name of the type that it came in."""
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if kind == "bfloat16" else value
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    if array.dtype.kind not in "iuf" or array.size > MOST or not array.size:
        raise ValueError(
            f"{name} must hold up to {MOST} real numbers; got {array.dtype} of shape {array.shape}. Give the array itself."
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64), "float64"
    return array.astype(np.float64), kind if kind in ("float16", "bfloat16", "float32") else "float64"


def read(given: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, str]]:
    """Named arrays as numbers. Raises ValueError for a name that is not known."""
    unknown = sorted(set(map(str, given)) - set(NAMES))
    if unknown or not given:
        raise ValueError(
            f"second must hold arrays named as {', '.join(NAMES)}; got {', '.join(unknown)[:200] or 'none'}. Rename them."
        )
    return {name: numbers(name, value) for name, value in given.items()}


def evidence(given: Mapping[str, Any], layout: str | None = None) -> Evidence:
    """What named arrays show of a rotation. Raises ValueError for a name that is not known, or arrays that do not belong together."""
    arrays = read(given)
    found: list[Evidence] = []
    if "cos" in arrays or "sin" in arrays:
        found.append(_table(arrays))
    elif "inv_freq" in arrays:
        found.append(_frequencies(arrays))
    if "logits" in arrays:
        found.append(_logits(arrays))
    found += [_turned(arrays, role, layout) for role in ("query", "key") if f"{role[0]}_rotated" in arrays]
    if not found:
        raise ValueError(
            f"second must show what a rotation does: inv_freq, cos and sin, q and q_rotated, or q, k and logits; got {', '.join(given)}. Give more."
        )
    return found[0] if len(found) == 1 else Together(tuple(found))


Arrays = Mapping[str, tuple[np.ndarray, str]]


def _need(arrays: Arrays, *names: str) -> list[np.ndarray]:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"second must hold {' and '.join(names)} together; got no {missing[0]}. Give it.")
    return [arrays[name][0] for name in names]


def _frequencies(arrays: Arrays) -> FrequenciesSeen:
    values = arrays["inv_freq"][0].reshape(-1)
    factor = float(arrays["attention_factor"][0].reshape(-1)[0]) if "attention_factor" in arrays else None
    return FrequenciesSeen(values, factor)


def _table(arrays: Arrays) -> TableSeen:
    cos, sin = _need(arrays, "cos", "sin")
    if cos.shape != sin.shape or cos.ndim < 2:
        raise ValueError(f"cos and sin must have one shape (n, pairs); got {cos.shape} and {sin.shape}. Give both.")
    positions = _positions(arrays, "positions", cos.shape[:-1])
    cos, sin, layout = _singled(cos.reshape(-1, cos.shape[-1]), sin.reshape(-1, sin.shape[-1]))
    held = _frequencies(arrays) if "inv_freq" in arrays else None
    return TableSeen(cos, sin, positions, arrays["cos"][1], held, layout)


def _singled(cos: np.ndarray, sin: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Every frequency once, and the pairing that a table with each twice was laid out for."""
    half = cos.shape[1] // 2
    if cos.shape[1] % 2 == 0 and half:
        if np.array_equal(cos[:, :half], cos[:, half:]) and np.array_equal(sin[:, :half], sin[:, half:]):
            return cos[:, :half], sin[:, :half], "halves"
        if half > 1 and np.array_equal(cos[:, ::2], cos[:, 1::2]) and np.array_equal(sin[:, ::2], sin[:, 1::2]):
            return cos[:, ::2], sin[:, ::2], "adjacent"
    return cos, sin, ""


def _positions(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """One position for every row of a shape (n,) or (batch, n); with a last axis where there are several coordinates."""
    given = arrays.get(name) or arrays.get("positions")
    found = np.arange(shape[-1]) if given is None else given[0]
    if found.ndim == 2 and len(shape) == 1 and len(found) == shape[0]:
        return found
    try:
        return np.broadcast_to(found, shape).reshape(-1)
    except ValueError:
        raise ValueError(
            f"{name} must have one number for each of {shape}; got shape {found.shape}. Give the positions of these rows."
        ) from None


def _turned(arrays: Arrays, role: str, layout: str | None) -> TurnedSeen:
    letter = role[0]
    x, y = _need(arrays, letter, f"{letter}_rotated")
    if x.shape != y.shape or x.ndim < 2:
        raise ValueError(f"{letter} and {letter}_rotated must have one shape (n, dim); got {x.shape} and {y.shape}.")
    if x.ndim == 2:
        x, y, order = x[None, None], y[None, None], "bhtd"
    elif x.ndim == 4 and layout in ("bhtd", "bthd"):
        order = layout
    else:
        raise ValueError(
            f"layout must be 'bhtd' or 'bthd' for {letter} with heads, four axes; got {layout!r} for shape {x.shape}. Say which axis is which."
        )
    if order == "bthd":
        x, y = x.swapaxes(1, 2), y.swapaxes(1, 2)
    batch, heads, length, dim = x.shape
    kind = arrays[f"{letter}_rotated"][1]
    if (batch, heads) == (1, 1):
        rows, none = _positions(arrays, f"{role}_positions", (length,)), np.zeros(length)
        return TurnedSeen(role, x[0, 0], y[0, 0], rows, none, none, kind)
    numbers_of = np.indices((batch, heads, length)).reshape(3, -1)
    places = _positions(arrays, f"{role}_positions", (batch, length)).reshape(batch, 1, length)
    rows = np.broadcast_to(places, (batch, heads, length)).reshape(-1)
    return TurnedSeen(role, x.reshape(-1, dim), y.reshape(-1, dim), rows, numbers_of[1], numbers_of[0], kind)


def _logits(arrays: Arrays) -> LogitsSeen:
    q, k, logits = _need(arrays, "q", "k", "logits")
    if q.ndim != 2 or k.ndim != 2 or logits.shape != (len(q), len(k)) or q.shape[1] != k.shape[1]:
        raise ValueError(
            f"logits must have shape (n, m) for q (n, dim) and k (m, dim); got {logits.shape}, {q.shape} and {k.shape}. Give one head."
        )
    scale = float(arrays["scale"][0].reshape(-1)[0]) if "scale" in arrays else q.shape[1] ** -0.5
    query, key = (_positions(arrays, f"{role}_positions", (len(x),)) for role, x in (("query", q), ("key", k)))
    return LogitsSeen(q, k, logits, query, key, scale, arrays["logits"][1])


def from_file(path: Path) -> dict[str, Any]:
    """The arrays of an .npz or .safetensors file; of a checkpoint, its frequencies alone."""
    if not path.is_file():
        raise ValueError(f"second must be a file that is there; got {_check.shown(str(path))}. Look again.")
    return _of_npz(path) if path.suffix == ".npz" else _of_safetensors(path)


def _of_npz(path: Path) -> dict[str, Any]:
    """Arrays under known names, each no larger than the file says it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            wanted = {name: entry for name, entry in entries.items() if name in NAMES} or entries
            return {name: _of_entry(archive, entry) for name, entry in wanted.items()}
    # NotImplementedError: a way of compressing that zipfile does not know; RuntimeError: an entry with a password.
    except (ValueError, OSError, EOFError, NotImplementedError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"second must be a readable .npz file; got {path.name}: {str(error)[:150]}.") from None


def _of_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{entry.filename} is of version {version}, where plain arrays are of (1, 0)")
        shape, _, kind = np.lib.format.read_array_header_1_0(file)
    count = math.prod(shape)
    if kind.hasobject or count > MOST or count * kind.itemsize > entry.file_size:
        raise ValueError(f"{entry.filename} holds no plain array of {shape} {kind} within {MOST} numbers")
    with archive.open(entry) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _of_safetensors(path: Path) -> dict[str, Any]:
    header = read_header(path)
    wanted = {entry.name: entry for entry in header.entries if entry.name in NAMES}
    held = {entry.name: entry for entry in header.entries if entry.name.endswith("inv_freq")}
    if not wanted and held:
        wanted = {"inv_freq": next(iter(held.values()))}
    if not wanted:
        raise ValueError(
            f"second must hold something of positions; {path.name} has {len(header.entries)} tensors and none named "
            f"{', '.join(NAMES)}. Dump cos and sin, or q, k and the turned ones."
        )
    return {name: _tensor(path, header.start, entry) for name, entry in wanted.items()}


def _tensor(path: Path, start: int, entry: Entry) -> np.ndarray:
    kinds = {**FLOATS, "I64": "<i8", "I32": "<i4"}
    if entry.dtype not in kinds or entry.size > 8 * MOST:
        raise ValueError(
            f"{entry.name} must be of floats or integers, at most {8 * MOST} bytes; got {entry.dtype} of {entry.size}."
        )
    with path.open("rb") as file:
        file.seek(start + entry.begin)
        array = np.frombuffer(file.read(entry.size), kinds[entry.dtype]).reshape(entry.shape)
    if entry.dtype == "BF16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array
