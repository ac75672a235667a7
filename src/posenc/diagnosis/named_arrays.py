"""Arrays of evidence by name, from a dict or a file, as numbers on the host. Nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc.core import plain_file, validation
from posenc.core.checked_positions import LARGEST_POSITION
from posenc.inspect.rounding import NARROW_TYPES, narrowed
from posenc.models.formats.safetensors_header import Entry, read_header

#: The arrays that are understood, and what they are.
ARRAY_NAMES = {
    "inv_freq": "frequencies (pairs,), radians a step",
    "attention_factor": "what cos and sin are multiplied by",
    "cos": "(n, pairs), or (n, channels) with every frequency twice",
    "sin": "as cos",
    "positions": "(n,), or (batch, n), or (n, axes); 0, 1, 2, ... where left out",
    "q": "queries (n, dim), (heads, n, dim), or with a batch and a layout",
    "k": "keys",
    "q_rotated": "the queries once rotated",
    "k_rotated": "the keys once rotated",
    "query_positions": "of q, where they differ from those of k",
    "key_positions": "of k",
    "logits": "before the softmax, (n, m) or (heads, n, m); also less a number a row, log-softmax, or masked",
    "probabilities": "after the softmax, as logits: what output_attentions gives",
    "cos_sin_cache": "row p of position p: (n, 2·pairs), cosines before sines, or (n, pairs, 2)",
    "embeddings": "of tokens, (n, dim), before positions are added",
    "hidden_states": "(n, dim), embeddings with positions added",
    "scale": "what q·k is multiplied by; 1/√dim, or what the model multiplies by, where left out",
    "bias": "of ALiBi or T5, (heads, n, m)",
    "table": "of T5, (buckets, heads); of sinusoids that are added, (n, dim)",
}
POSITION_NAMES = ("positions", "query_positions", "key_positions")
#: Arrays whose numbers show the type that they were rounded to, whatever type the file has.
COMPUTED = frozenset({"cos", "sin", "q", "k", "q_rotated", "k_rotated", "logits", "probabilities", "cos_sin_cache"})
#: So many different numbers must all be held by a narrow type before it is believed that they were rounded to it.
ENOUGH_NUMBERS = 16
#: The most numbers of one array that are compared.
MOST = 1 << 24
#: Types of safetensors that are read, as NumPy reads them; bfloat16 as the upper half of a float32.
SAFETENSORS_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")
#: Files that are read as arrays, or refused as pickles.
ARRAY_FILES = (".npz", ".safetensors", *PICKLES)


class NamedArray(NamedTuple):
    """Numbers, and the name of the type that they came in."""

    values: np.ndarray
    dtype: str


Arrays = Mapping[str, NamedArray]


def on_host(value: Any) -> NamedArray:
    """An array of any library as one of NumPy, and its type by name; bfloat16, which NumPy lacks, as float32."""
    if isinstance(value, NamedArray):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value, dtype = (value.float(), "bfloat16") if str(value.dtype) == "torch.bfloat16" else (value, "")
        return NamedArray(value.numpy(), dtype or str(value.dtype).rpartition(".")[2])
    array = np.asarray(value)
    return NamedArray(array.astype(np.float32) if array.dtype.name == "bfloat16" else array, array.dtype.name)


def host_numbers(name: str, value: Any) -> NamedArray:
    """An array of any library as float64 or int64.

    Raises:
        ValueError: It holds no numbers, or too many.
    """
    if str(getattr(value, "device", "")) == "meta":
        raise ValueError(f"{name} must hold numbers; got a tensor on the meta device. Load the weights first.")
    array, dtype = on_host(value)
    if array.dtype.kind not in "iuf" or array.size > MOST or not array.size:
        raise ValueError(
            f"{name} must hold up to {MOST} real numbers; got {array.dtype} of shape {array.shape}. "
            "Give the array itself."
        )
    if name in POSITION_NAMES:
        _check_positions(name, array)
    if array.dtype.kind in "iu":
        return NamedArray(array.astype(np.int64), "float64")
    return NamedArray(array.astype(np.float64), dtype if dtype in ("float16", "bfloat16", "float32") else "float64")


def _check_positions(name: str, positions: np.ndarray) -> None:
    """Refuse positions beyond ±2^53; NaN and infinities pass, to be named as mistakes later."""
    finite = positions[np.isfinite(positions)]
    outside = finite[(finite > LARGEST_POSITION) | (finite < -LARGEST_POSITION)]
    if outside.size:
        raise ValueError(
            f"{name} must be of magnitude at most 2^53; got {outside[0]}, and {outside.size} such in all. "
            "Look at how they are made: memory that was never set, say."
        )


def named_arrays(arrays: Mapping[str, Any]) -> Arrays:
    """Convert arrays named as in `ARRAY_NAMES` to NumPy; `COMPUTED` ones under the narrowest dtype that holds them.

    Raises:
        ValueError: A name is not known.
    """
    unknown = sorted(set(map(str, arrays)) - set(ARRAY_NAMES))
    if unknown or not arrays:
        raise ValueError(
            f"actual must hold arrays named as {', '.join(ARRAY_NAMES)}; got {', '.join(unknown)[:200] or 'none'}. "
            "Rename them, or leave them out."
        )
    numbers = {name: host_numbers(name, value) for name, value in arrays.items()}
    return {name: as_rounded(array) if name in COMPUTED else array for name, array in numbers.items()}


def as_rounded(array: NamedArray) -> NamedArray:
    """The array under the narrowest type that holds all its numbers: bfloat16 is often widened to be saved.

    Example:
        >>> as_rounded(NamedArray(np.arange(64) / 64, "float32")).dtype
        'bfloat16'
        >>> as_rounded(NamedArray(np.ones(64), "float32")).dtype
        'float32'
    """
    values = array.values[np.isfinite(array.values)]
    if array.dtype in ("float32", "float64") and len(np.unique(values[: 1 << 12])) >= ENOUGH_NUMBERS:
        for dtype in NARROW_TYPES:
            if np.array_equal(narrowed(values, dtype), values):
                return NamedArray(array.values, dtype)
        if np.array_equal(values.astype(np.float32), values):
            return NamedArray(array.values, "float32")
    return array


def scalar(arrays: Arrays, name: str, default: float) -> float:
    """The one number of an array, or the default where it is left out.

    Raises:
        ValueError: The array holds several numbers that differ.
    """
    if name not in arrays:
        return default
    numbers = np.unique(arrays[name].values)
    if len(numbers) > 1:
        raise ValueError(f"{name} must be one number; got {len(numbers)} that differ. Give those of one head or layer.")
    return float(numbers[0])


def from_file(path: Path) -> dict[str, NamedArray]:
    """The arrays of an .npz or .safetensors file under known names; of a checkpoint, its frequencies alone.

    Raises:
        ValueError: The file is of another kind, damaged, or a pickle, which is not opened.
    """
    if path.suffix in PICKLES:
        raise ValueError(
            f"actual must not be a pickle, which can run any code when loaded; got {path.name}. "
            "Save it as .safetensors or .npz."
        )
    if not path.is_file():
        raise ValueError(f"actual must be a file that exists; got {validation.shown(str(path))}. Check the path.")
    return _from_npz(path) if path.suffix == ".npz" else _from_safetensors(path)


def _from_npz(path: Path) -> dict[str, NamedArray]:
    try:
        with plain_file.opened(path) as file, zipfile.ZipFile(file) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            wanted = {name: entry for name, entry in entries.items() if name in ARRAY_NAMES} or entries
            arrays = {name: on_host(_npz_entry(archive, entry)) for name, entry in wanted.items()}
    # NotImplementedError: a way of compressing that zipfile does not know; RuntimeError: an entry with a password.
    except (ValueError, OSError, EOFError, NotImplementedError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"actual must be a readable .npz file; got {path.name}: {str(error)[:150]}.") from None
    _all_known(path.name, entries)
    return arrays


def _all_known(file: str, names: Iterable[str]) -> list[str]:
    """The names that are understood, or none.

    Raises:
        ValueError: Some are, and others are not, as where an s is missing.
    """
    names = list(names)
    known = [name for name in names if name in ARRAY_NAMES]
    unknown = [name for name in names if name not in ARRAY_NAMES]
    if known and unknown:
        raise ValueError(
            f"actual must hold no arrays besides those that are read; got {', '.join(unknown)[:200]} in {file}. Leave "
            f"that out of the file, or rename it: {', '.join(ARRAY_NAMES)} are read."
        )
    return known


def _npz_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """Read an array after checking that its header states a plain array no larger than the entry."""
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{entry.filename} is of version {version}, where plain arrays are of (1, 0)")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    count = math.prod(shape)
    if dtype.hasobject or count > MOST or count * dtype.itemsize > entry.file_size:
        raise ValueError(f"{entry.filename} holds no plain array of {shape} {dtype} within {MOST} numbers")
    with archive.open(entry) as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _from_safetensors(path: Path) -> dict[str, NamedArray]:
    header = read_header(path)
    entries = {entry.name: entry for entry in header.entries}
    frequencies = [name for name in entries if name.endswith("inv_freq") and not name.endswith("original_inv_freq")]
    if frequencies and not set(entries) & set(ARRAY_NAMES) - {"inv_freq"}:  # a checkpoint, or a module's state
        return {"inv_freq": _of_all_layers([(name, _safetensors_entry(path, header.start, entries[name]))
                                            for name in frequencies])}  # fmt: skip
    wanted = {name: entries[name] for name in _all_known(path.name, entries)}
    if not wanted:
        raise ValueError(
            f"actual must hold arrays of a positional encoding; {path.name} has {len(header.entries)} tensors and "
            f"none named {', '.join(ARRAY_NAMES)}. Dump cos and sin, or q, k and the rotated ones."
        )
    return {name: _safetensors_entry(path, header.start, entry) for name, entry in wanted.items()}


def _of_all_layers(held: list[tuple[str, NamedArray]]) -> NamedArray:
    """The frequencies that all layers of a checkpoint hold.

    Raises:
        ValueError: Those of some layers are others.
    """
    (first, frequencies), *rest = held
    for name, other in rest:
        if not np.array_equal(other.values, frequencies.values, equal_nan=True):
            raise ValueError(
                f"actual must hold the same inv_freq in every layer; {first} and {name} differ. Give that of one "
                "layer as {'inv_freq': ...}, and its layer."
            )
    return frequencies


def _safetensors_entry(path: Path, start: int, entry: Entry) -> NamedArray:
    if not entry.size:
        raise ValueError(f"{entry.name} must hold numbers; got none, of shape {list(entry.shape)}. Dump it again.")
    if entry.dtype not in SAFETENSORS_TYPES or entry.size > 8 * MOST:
        raise ValueError(
            f"{entry.name} must be of floats or integers, at most {8 * MOST} bytes; got {entry.dtype} of {entry.size}."
        )
    with plain_file.opened(path) as file:
        file.seek(start + entry.begin)
        array = np.frombuffer(file.read(entry.size), SAFETENSORS_TYPES[entry.dtype]).reshape(entry.shape)
    if entry.dtype == "BF16":
        return NamedArray((array.astype(np.uint32) << 16).view(np.float32), "bfloat16")
    return on_host(array)
