"""Measurements that a long command keeps as they come, so that it goes on where it was stopped. Imports no torch."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from posenc.core import plain_file
from posenc.core.plain_file import json_of
from posenc.lab.experiment import digest
from posenc.lab.store import lock

LARGEST = 1 << 30
_LINE = re.compile(r'\{"digest":"([0-9a-f]{16})","measured":(.*)\}')


class KeptMeasurements:
    """A file of measurements, a line for each, to which one process at a time adds.

    A line is on disk before the next measurement begins, and has a digest, so that a changed digit is noticed. A last
    line without its end, as a killed process leaves it, is cut off.

    Args:
        path: Of the file; its folder is made where it does not exist.

    Attributes:
        known: Measurements by their names.

    Raises:
        ValueError: A line is damaged, the folder is a file, or another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path, folder = path, path.parent
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"out must be a folder; got the file {str(folder)!r}. Name a folder.")
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():  # a pipe would be waited for
            plain_file.plain_size(path, advice="Name another folder.")
        self._file: IO[bytes] = path.open("ab")
        try:
            lock(self._file, folder)
            data = plain_file.read_bytes(path, LARGEST, advice="Name another folder.")
            whole = data[: data.rfind(b"\n") + 1]
            self.known = dict(self._measured(number, line) for number, line in enumerate(whole.split(b"\n")[:-1], 1))
            self._file.truncate(len(whole))
        except BaseException:
            self._file.close()
            raise

    def add(self, name: str, value: Any) -> None:
        """Append a measurement. When this returns, it is on disk.

        Args:
            name: That the file lacks.
            value: What JSON can hold.
        """
        text = json.dumps([name, value], allow_nan=False)
        self._file.write(f'{{"digest":"{digest(text)}","measured":{text}}}\n'.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.known[name] = json.loads(text)[1]

    def _measured(self, number: int, line: bytes) -> tuple[str, Any]:
        match = _LINE.fullmatch(line.decode("utf-8", "replace"))
        if match is None or digest(match[2]) != match[1]:
            raise ValueError(
                f"{self.path}, line {number} is damaged: it is not a measurement with its digest. Delete the line; it "
                "is then measured again."
            )
        name, value = json_of(match[2])
        return name, value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
