"""The results of a folder, in `results.jsonl`. Loads no torch.

A line for each finished run is on disk before the next one begins. It holds a result and a digest of it, so that a
changed digit is noticed. Killing the process that writes can leave a last line without its end: it is cut off, that
run is repeated, and no other result is touched.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from posenc.core import plain_file
from posenc.lab.experiment import digest
from posenc.lab.result import Result
from posenc.lab.results_table import TABLE, read_results_table

NAME = "results.jsonl"
#: A result takes some thousand bytes, with a long curve and a long sample a hundred thousand.
LONGEST_LINE = 1 << 24
LARGEST_FILE = 1 << 34
NO_RESULTS = "It is no file of results: move it away, or name another folder."
_LINE = re.compile(r'\{"digest":"([0-9a-f]{16})","result":(.*)\}')


class Stored(NamedTuple):
    """Contents of a results file.

    Attributes:
        results: By the identity of their run.
        whole: How many bytes of the file are whole lines.
        torn: How many bytes of a half-written line follow.
        note: A sentence on a half-written line or on results that were restored, or "".
    """

    results: dict[str, Result]
    whole: int
    torn: int
    note: str = ""


def line_of(result: Result) -> str:
    """A result as its line in the file, with the line break."""
    text = result.to_json()
    return f'{{"digest":"{digest(text)}","result":{text}}}\n'


def read(folder: str | os.PathLike[str]) -> Stored:
    """Read all results of a folder.

    Args:
        folder: Without results in a results file it gives those of its `results.parquet`, if there is one.

    Returns:
        The results.

    Raises:
        ValueError: A line is damaged or repeats a run; the message names it.
    """
    path = Path(folder) / NAME
    results: dict[str, Result] = {}
    whole = torn = 0
    for number, line in enumerate(_lines(path), 1):
        if not line.endswith(b"\n"):
            torn = len(line)
            break
        whole += len(line)
        result = _result(path, number, line.rstrip(b"\r\n"))
        if result.experiment.identity in results:
            raise ValueError(
                f"{path}, line {number}: its run is already in an earlier line. Delete one of the two lines."
            )
        results[result.experiment.identity] = result
    if not results and not torn and (restored := read_results_table(folder)):
        return Stored(restored, 0, 0, f"{len(restored)} results were restored from {TABLE}.")
    note = f"The last line of {NAME} is half-written ({torn} bytes without a line end): its run is not counted."
    return Stored(results, whole, torn, note if torn else "")


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a results file, one after another. The last one may lack its end."""
    if not path.exists():
        return
    with plain_file.opened(path, LARGEST_FILE, advice=NO_RESULTS) as file:
        for number in itertools.count(1):
            line = file.readline(LONGEST_LINE + 1)
            if not line:
                return
            if len(line) > LONGEST_LINE:
                raise ValueError(
                    f"{path}, line {number} must have at most {LONGEST_LINE} bytes; it has more. {NO_RESULTS}"
                )
            yield line


def _result(path: Path, number: int, line: bytes) -> Result:
    match = _LINE.fullmatch(line.decode("utf-8", "replace"))
    reason = "it is not a result with its digest"
    if match is not None:
        reason = "its digest does not fit: something in it was changed"
        if digest(match[2]) == match[1]:
            try:
                return Result.from_json(match[2])
            except ValueError as error:
                reason = " ".join(str(error).split())[:300]
    raise ValueError(f"{path}, line {number} is damaged: {reason}. Delete the line; its run is then repeated.")


class Store:
    """A folder to which results are added, by one process at a time.

    Args:
        folder: Made where it does not exist. Where it has `results.parquet` and no results, they are restored from it.

    Attributes:
        results: By the identity of their run.
        note: A sentence on what was repaired while opening it, or "".

    Raises:
        ValueError: `folder` is a file, holds damaged results, or another process writes to it.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"out must be a folder; got the file {str(self.folder)!r}. Name a folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if (self.folder / NAME).exists():  # a pipe would be waited for
            plain_file.plain_size(self.folder / NAME, advice=NO_RESULTS)
        self._file: IO[bytes] = (self.folder / NAME).open("ab")
        try:
            lock(self._file, self.folder)
            stored = read(self.folder)
            if stored.torn:
                self._file.truncate(stored.whole)
            elif not stored.whole:
                self._file.writelines(line_of(result).encode() for result in stored.results.values())
            _synced(self._file)
            _folder_synced(self.folder)
        except BaseException:
            self._file.close()
            raise
        self.results = stored.results
        self.note = stored.note

    def add(self, result: Result) -> None:
        """Append a result. When this returns, it is on disk.

        Args:
            result: Of a run that the store lacks.
        """
        self._file.write(line_of(result).encode())
        _synced(self._file)
        self.results[result.experiment.identity] = result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _synced(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _folder_synced(folder: Path) -> None:
    """Write the name of a new file to disk, too, where a system can."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def lock(file: IO[bytes], folder: Path) -> None:
    """Lock the file, since two writers would mix their lines. The lock ends with the process, however it ends."""
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(
            f"out must not be in use; another comparison writes to {str(folder)!r}. Wait for it or use another folder."
        ) from None
