"""Convert a checkpoint by its plan: streamed, proved by converting it back, and written atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import posenc
from posenc.core import plain_file
from posenc.core.rotation import PairLayout
from posenc.models.checkpoints.conversion_plan import ConversionPlan, TensorStep, converted_config
from posenc.models.checkpoints.tensor_layout import Move
from posenc.models.config.converted_type import as_converted_from
from posenc.models.config.json_file import load_config
from posenc.models.formats.safetensors_header import BITS, LARGEST_HEADER, Entry, Header, read_header

#: Called with the bytes done and the bytes in all.
Progress = Callable[[int, int], None]
RECEIPT = "posenc-receipt.json"
CONFIG = "config.json"
#: Files that a folder of weights needs next to them, to be copied: configs, tokenizers, templates, licences.
COMPANIONS = (".json", ".txt", ".model", ".jinja", ".tiktoken", ".md")
LARGEST_COMPANION = 1 << 28
#: A receipt lists every tensor; a larger file is none.
LARGEST_RECEIPT = 1 << 26


def convert_checkpoint(plan: ConversionPlan, output: str | Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Convert a checkpoint from one pairing of channels to the other, by a plan, into new files.

    No tensor is held whole: a few megabytes at a time are read, moved as raw bytes, and written. The written file is
    then read again, moved back, and must have the hash of the original; only then does it get its name. A conversion
    that is killed leaves the original untouched and nothing under the new name. A folder also gets the tokenizer and
    other small files, and a config.json for the new layout: with the key of its type that says it, or under a model
    type that no loader knows.

    Args:
        plan: From `plan_conversion`.
        output: A new file, or a new folder where the plan is of a folder.
        progress: Called with the bytes done and the bytes in all; None for no calls.

    Returns:
        The receipt, which says what was done; it is also written next to the output as a JSON file.

    Raises:
        ValueError: The output exists, the disk is full, the original changed since it was planned or was converted
            before, or the proof fails.
    """
    output = require_unused("output", Path(output))
    is_folder = plan.path.is_dir()
    if not is_folder:
        require_unused("output", receipt_path(output))
    receipt_of(plan)
    headers = {file: read_header(plan.path_of(file)) for file in plan.files}
    for file, header in headers.items():
        _require_unchanged(plan, file, header)
    size = sum(header.size for header in headers.values())
    require_space(output, size)
    count = _Counter(progress, 2 * size)
    with atomic_path(output, folder=is_folder) as target:
        paths = {file: target / file if is_folder else target for file in plan.files}
        proofs = [_converted_file(plan, file, headers[file], paths[file], count) for file in plan.files]
        receipt = _receipt(plan, output, proofs)
        text = (json.dumps(receipt, indent=1, ensure_ascii=False) + "\n").encode()
        if is_folder:
            for index in plan.path.glob("*.safetensors.index.json"):
                write_synced(target / index.name, plain_file.read_bytes(index, 2 * LARGEST_HEADER))
            for name, content in _companions(plan).items():
                write_synced(target / name, content)
            write_synced(target / RECEIPT, text)
        else:
            # The receipt appears first: a converted file without one could be converted twice.
            with atomic_path(receipt_path(output), folder=False) as temporary:
                write_synced(temporary, text)
    return receipt


def _companions(plan: ConversionPlan) -> dict[str, bytes]:
    """The other small files of a folder as they are, tokenizers for example, and its config for the new layout."""
    files = {
        file.name: plain_file.read_bytes(file, LARGEST_COMPANION)
        for file in sorted(plan.path.iterdir())
        if file.suffix in COMPANIONS and file.is_file() and file.stat().st_size <= LARGEST_COMPANION
        and not file.name.endswith((".safetensors.index.json", RECEIPT)) and file.name != CONFIG
    }  # fmt: skip
    if plan.config is not None:
        config = converted_config(as_converted_from(load_config(plan.config))[0], plan.target)
        files[CONFIG] = (json.dumps(config, indent=2, ensure_ascii=False) + "\n").encode()
    return files


def receipt_path(path: Path) -> Path:
    """Return the path of the receipt of a file or folder."""
    return path / RECEIPT if path.is_dir() else path.with_name(f"{path.name}.receipt.json")


def receipt_of(plan: ConversionPlan) -> dict[str, Any] | None:
    """Return the receipt of an earlier conversion, None without one; ValueError where it contradicts plan.source."""
    path = receipt_path(plan.path)
    if not path.is_file() or path.stat().st_size > LARGEST_RECEIPT:
        return None
    try:
        receipt = plain_file.json_of(plain_file.read_bytes(path, LARGEST_RECEIPT))
        layout, size = receipt["target"], receipt["files"][0]["size"]
    except (ValueError, TypeError, LookupError):
        raise ValueError(f"{path.name} must be a receipt of posenc; it is not. Move it away, or repair it.") from None
    same_file = plan.path.is_dir() or size == plan.path.stat().st_size
    if same_file and layout != plan.source:
        raise ValueError(
            f"source must be {layout!r}, to which this checkpoint was converted according to {path.name}; got "
            f"{plan.source!r}. A second conversion would scramble it."
        )
    return receipt  # type: ignore[no-any-return]


def layout_of_receipt(path: Path | None) -> PairLayout | None:
    """Return the layout that rows were converted to, by the receipt in a folder; None where there is none."""
    receipt = None if path is None else path / RECEIPT
    if receipt is None or not receipt.is_file() or receipt.stat().st_size > LARGEST_RECEIPT:
        return None
    try:
        target = plain_file.json_of(plain_file.read_bytes(receipt, LARGEST_RECEIPT))["target"]
    except (ValueError, TypeError, LookupError):
        raise ValueError(f"{RECEIPT} must be a receipt of posenc; it is not. Move it away, or repair it.") from None
    return target if target in ("adjacent", "halves") else None


class _Counter:
    """Counts bytes and reports them."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, count: int) -> None:
        self.done += count
        if self.progress is not None:
            self.progress(self.done, self.total)


def _require_unchanged(plan: ConversionPlan, file: str, header: Header) -> None:
    planned = {name: step.shape for name, step in plan.of_file(file).items()}
    if {entry.name: entry.shape for entry in header.entries} != planned:
        raise ValueError(f"plan must be of this checkpoint; {file} has changed since. Plan it again.")


def _converted_file(plan: ConversionPlan, file: str, header: Header, output: Path, count: _Counter) -> dict[str, Any]:
    """Write one converted file, check that converting it back restores the original, and return both SHA-256 hashes."""
    steps, before, after, back = plan.of_file(file), hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    with plain_file.opened(plan.path_of(file)) as read, output.open("xb") as write:
        for old, new in _converted_chunks(read, header, steps, inverse=False):
            before.update(old)
            after.update(new)
            write.write(new)
            count(len(old))
        write.flush()
        os.fsync(write.fileno())
    with output.open("rb") as read:
        for _, old in _converted_chunks(read, header, steps, inverse=True):
            back.update(old)
            count(len(old))
    if back.digest() != before.digest():
        raise ValueError(
            f"{file} must come back byte for byte when converted back; it does not. "
            "Nothing was kept: check disk and memory."
        )
    return {"name": file, "size": header.size, "sha256_before": before.hexdigest(), "sha256_after": after.hexdigest()}


def _converted_chunks(read: BinaryIO, header: Header, steps: dict[str, TensorStep], *, inverse: bool) -> Chunks:
    """Yield a whole file as chunks (read, to write): header and tensors that stay unchanged, others with moved rows."""
    yield from copied_chunks(read, header.start)
    for entry in header.entries:
        move = steps[entry.name].move
        if move is None or not entry.size:
            yield from copied_chunks(read, entry.size)
        else:
            yield from permuted_chunks(read, entry, move.inverse() if inverse else move)


def _receipt(plan: ConversionPlan, output: Path, files: list[dict[str, Any]]) -> dict[str, Any]:
    """Make the receipt of a conversion as plain data."""
    return {
        "made_by": f"posenc {posenc.__version__}",
        "input": plan.path.name,
        "output": output.name,
        "source": plan.source,
        "target": plan.target,
        "round_trip": "every file, converted back, has the hash it had before",
        "files": files,
        "moved": [
            {"tensor": step.name, "file": step.file, "why": step.reason, "how": repr(step.move)} for step in plan.moves
        ],
        "left": [{"tensor": step.name, "file": step.file, "why": step.reason} for step in plan.stays],
    }


#: Bytes held at once, unless one head has more.
CHUNK = 1 << 22
#: Bytes as read, and as they are to be written.
Chunks = Iterator[tuple[memoryview, memoryview]]


def copied_chunks(file: BinaryIO, size: int) -> Chunks:
    """Yield the next `size` bytes of a file in chunks, unchanged."""
    while size:
        chunk = memoryview(_read(file, min(size, CHUNK)))
        size -= len(chunk)
        yield chunk, chunk


def permuted_chunks(file: BinaryIO, entry: Entry, move: Move) -> Chunks:
    """Yield the next tensor of a file in chunks, each as read and with its rows moved; values are never converted."""
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
    """Reorder the rows of each group in a chunk (groups, rows, bytes) whose first group is number `first`."""
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


def require_unused(name: str, path: Path) -> Path:
    """Return a path where nothing exists yet and whose folder does; ValueError for any other."""
    if path.exists() or path.is_symlink():
        raise ValueError(f"{name} must not exist yet; {path.name} does. Choose another name: nothing is overwritten.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{name} must be in an existing folder; {path.parent} does not exist. Create it first.")
    return path


def require_space(path: Path, size: int) -> None:
    """Refuse a file that does not fit on the disk."""
    free = shutil.disk_usage(path.absolute().parent).free
    if free < size:
        raise ValueError(
            f"output must fit on the disk; it takes {size:,} bytes and {free:,} are free. Choose another disk."
        )


@contextlib.contextmanager
def atomic_path(path: Path, *, folder: bool) -> Iterator[Path]:
    """A temporary path next to the final one: renamed to it when the block ends well, removed when it does not.

    Names are synced to the disk before the rename, so that a killed process or a power cut leaves the whole or nothing.
    """
    temporary = path.absolute().parent / f".{path.name}.{os.getpid()}.partial"
    try:
        if folder:
            temporary.mkdir()
        yield temporary
        if folder:
            _sync(temporary)
        require_unused("output", path)
        temporary.rename(path)
        _sync(path.absolute().parent)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def write_synced(path: Path, text: bytes) -> None:
    """Write a small file, which is on the disk when this returns."""
    with path.open("wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Sync the entries of a folder to disk (fsync), where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
