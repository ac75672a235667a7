"""Convert a checkpoint by its plan: streamed, proved by the way back, and there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import posenc
from posenc.models.checkpoints.atomic_write import beside, room, unused, written
from posenc.models.checkpoints.conversion_plan import ConversionPlan, Step
from posenc.models.checkpoints.permute_rows import copied, moved
from posenc.models.formats.safetensors_header import Header, read_header

#: Called with the bytes done and the bytes in all.
Progress = Callable[[int, int], None]
RECEIPT = "posenc-receipt.json"


def convert_checkpoint(plan: ConversionPlan, output: str | Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Write the converted checkpoint to a new file, or a new folder where the plan is of a folder; return its receipt.

    No tensor is held whole: a few megabytes at a time are read, moved as raw bytes, and written. What was written is then
    read again, moved back, and must have the hash of the original. Only then does it get its name; killed at any moment,
    it leaves the original untouched and nothing under the new name. The receipt, a JSON file, says what was done.
    Raises ValueError where the output exists, the original changed since it was planned, or the proof fails.
    """
    output = unused("output", Path(output))
    if not plan.path.is_dir():
        unused("output", receipt_path(output))
    receipt_of(plan)
    headers = {file: read_header(plan.place(file)) for file in plan.files}
    for file, header in headers.items():
        _same(plan, file, header)
    total = 2 * sum(header.size for header in headers.values())
    room(output, total // 2)
    count = _Counter(progress, total)
    if not plan.path.is_dir():
        return _one_file(plan, output, headers[plan.files[0]], count)
    with beside(output, folder=True) as folder:
        hashes = {file: _proved(plan, file, headers[file], folder / file, count) for file in plan.files}
        for index in plan.path.glob("*.safetensors.index.json"):
            written(folder / index.name, index.read_bytes())
        receipt = _receipt(plan, output, hashes)
        written(folder / RECEIPT, _json(receipt))
    return receipt


def _one_file(plan: ConversionPlan, output: Path, header: Header, count: _Counter) -> dict[str, Any]:
    file = plan.files[0]
    with beside(output, folder=False) as temporary:
        receipt = _receipt(plan, output, {file: _proved(plan, file, header, temporary, count)})
        # The receipt first: a converted file without one could be converted twice.
        with beside(receipt_path(output), folder=False) as other:
            written(other, _json(receipt))
    return receipt


def receipt_path(path: Path) -> Path:
    """Where the receipt of a file or folder lies."""
    return path / RECEIPT if path.is_dir() else path.with_name(f"{path.name}.receipt.json")


def receipt_of(plan: ConversionPlan) -> dict[str, Any] | None:
    """The receipt of an earlier conversion, if there is one; ValueError where it says that this one would be wrong."""
    path = receipt_path(plan.path)
    if not path.is_file() or path.stat().st_size > 1 << 26:
        return None
    try:
        receipt = json.loads(path.read_bytes())
        made, size = receipt["target"], receipt["files"][0]["size"]
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ValueError(f"{path.name} must be a receipt of posenc; it is not. Move it away, or mend it.") from None
    same = plan.path.is_dir() or size == plan.path.stat().st_size
    if same and made != plan.source:
        raise ValueError(
            f"source must be {made!r}, which is what {path.name} says this checkpoint was converted to; got {plan.source!r}. "
            "Converted twice it would be wrong."
        )
    return receipt  # type: ignore[no-any-return]


class _Counter:
    """Counts bytes and tells whoever asked."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, count: int) -> None:
        self.done += count
        if self.progress is not None:
            self.progress(self.done, self.total)


def _same(plan: ConversionPlan, file: str, header: Header) -> None:
    """Refuse a file whose tensors are not those that were planned for."""
    if {entry.name: entry.shape for entry in header.entries} != {
        n: step.shape for n, step in plan.of_file(file).items()
    }:
        raise ValueError(f"plan must be of this checkpoint; {file} has changed since. Plan it again.")


def _proved(plan: ConversionPlan, file: str, header: Header, output: Path, count: _Counter) -> dict[str, Any]:
    """Write one converted file, read it back the other way, and return the hashes."""
    steps, before, after, back = plan.of_file(file), hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    with plan.place(file).open("rb") as read, output.open("xb") as write:
        for taken, given in _streamed(read, header, steps, inverse=False):
            before.update(taken)
            after.update(given)
            write.write(given)
            count(len(taken))
        write.flush()
        os.fsync(write.fileno())
    with output.open("rb") as read:
        for _, given in _streamed(read, header, steps, inverse=True):
            back.update(given)
            count(len(given))
    if back.digest() != before.digest():
        raise ValueError(f"{file} must come back byte for byte when converted back; it does not. Nothing was kept: check disk and memory.")  # fmt: skip
    return {"name": file, "size": header.size, "sha256_before": before.hexdigest(), "sha256_after": after.hexdigest()}


def _streamed(read: BinaryIO, header: Header, steps: dict[str, Step], *, inverse: bool) -> Any:
    """A whole file, part by part: its header and what stays as they are, what moves moved."""
    yield from copied(read, header.start)
    for entry in header.entries:
        move = steps[entry.name].move
        if move is None or not entry.size:
            yield from copied(read, entry.size)
        else:
            yield from moved(read, entry, move.inverse() if inverse else move)


def _receipt(plan: ConversionPlan, output: Path, hashes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What was done, as plain data."""
    return {
        "made_by": f"posenc {posenc.__version__}",
        "input": plan.path.name,
        "output": output.name,
        "source": plan.source,
        "target": plan.target,
        "round_trip": "every file, converted back, has the hash it had before",
        "files": list(hashes.values()),
        "moved": [
            {"tensor": step.name, "file": step.file, "why": step.reason, "how": repr(step.move)} for step in plan.moves
        ],
        "left": [{"tensor": step.name, "file": step.file, "why": step.reason} for step in plan.stays],
    }


def _json(receipt: dict[str, Any]) -> bytes:
    return (json.dumps(receipt, indent=1, ensure_ascii=False) + "\n").encode()
