"""The results of a folder, in `results.jsonl`, and as the table `results.parquet`. Imports no torch.

A line for each finished run is on disk before the next one begins. It holds a result and a digest of it, so that a
changed digit is noticed. Killing the process that writes can leave a last line without its end: it is cut off, that
run is repeated, and no other result is touched.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

from posenc.core import plain_file
from posenc.lab.experiment import Experiment, digest
from posenc.lab.result import LengthScore, Progress, Result

TABLE = "results.parquet"
#: A row for each run and test length. What only some tasks have is NULL elsewhere.
_WRITE = """
COPY (
    SELECT experiment.* EXCLUDE (options), CAST(to_json(experiment.options) AS VARCHAR) AS options,
           score.length AS test_length, score.accuracy, score.exact, score.loss, CAST(score.bleu AS DOUBLE) AS bleu,
           CAST(to_json(score) ->> '$.chance' AS DOUBLE) AS chance, score.by_position AS by_position,
           parameters, learned, seconds, memory, curve, by_context, sample,
           CAST(to_json(versions) AS VARCHAR) AS versions
    FROM (SELECT *, unnest(scores) AS score
          FROM read_json($source, format = 'newline_delimited', maximum_object_size = 1073741824, sample_size = -1))
) TO '{target}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)
"""
#: Columns that are neither of the experiment nor of a score.
_OF_RUN = ("parameters", "learned", "seconds", "memory", "curve", "by_context", "sample", "versions")
_OF_SCORE = ("test_length", "accuracy", "exact", "loss", "bleu", "chance", "by_position")


def write_results_table(folder: str | os.PathLike[str], results: Collection[Result]) -> Path:
    """Write results as `results.parquet`, with a row for each run and test length.

    Args:
        folder: Gets the table.
        results: At least one.

    Returns:
        The path of the table.

    Raises:
        ValueError: There are no results.
    """
    import duckdb

    if not results:
        raise ValueError(f"folder must hold results; got none in {str(folder)!r}. Run `posenc compare` first.")
    target = Path(folder) / TABLE
    unfinished = target.with_name(f".{TABLE}.part")
    unfinished.unlink(missing_ok=True)
    with TemporaryDirectory() as passing, duckdb.connect() as connection:
        source = Path(passing) / "results.jsonl"
        source.write_text("".join(f"{result.to_json()}\n" for result in results), encoding="utf-8")
        connection.execute(_WRITE.format(target=str(unfinished).replace("'", "''")), {"source": str(source)})
    unfinished.replace(target)
    return target


def read_results_table(folder: str | os.PathLike[str]) -> dict[str, Result]:
    """Read back the results of a folder's `results.parquet`.

    Args:
        folder: Without a table it gives no results.

    Returns:
        The results by the identity of their run, as they were written.

    Raises:
        ValueError: The table is damaged or of something else.
    """
    path = Path(folder) / TABLE
    if not path.exists():
        return {}
    import duckdb

    rows: dict[str, list[dict[str, Any]]] = {}
    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT * FROM read_parquet($path)", {"path": str(path)})
            names = [column[0] for column in found.description]
            for values in found.fetchall():
                row = dict(zip(names, values, strict=True))
                rows.setdefault(_fields_of_run(row), []).append(row)
        results = [_result_of_rows(fields, own) for fields, own in rows.items()]
    except (duckdb.Error, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must be a table of results as posenc writes it: {' '.join(str(error).split())[:200].rstrip('.')}. "
            "Move it away; its runs are then repeated."
        ) from None
    return {result.experiment.identity: result for result in results}


def _fields_of_run(row: dict[str, Any]) -> str:
    """Fields of the experiment as JSON. Older tables have its test lengths in its rows alone."""
    fields = {name: value for name, value in row.items() if name not in (*_OF_RUN, *_OF_SCORE)}
    return json.dumps({**fields, "options": json.loads(row["options"])})


def _result_of_rows(fields: str, rows: list[dict[str, Any]]) -> Result:
    run = rows[0]
    experiment = Experiment(**{"test_lengths": tuple(row["test_length"] for row in rows), **json.loads(fields)})
    return Result(
        experiment,
        tuple(Progress(**point) for point in run["curve"]),
        tuple(_score(row) for row in rows),
        _pairs(run["by_context"]),
        **{name: run[name] for name in ("parameters", "learned", "seconds", "memory", "sample") if name in run},
        versions=json.loads(run["versions"]),
    )


def _score(row: dict[str, Any]) -> LengthScore:
    measures = {name: row[name] for name in ("accuracy", "exact", "loss", "bleu", "chance") if name in row}
    return LengthScore(row["test_length"], **measures, by_position=_pairs(row.get("by_position")))


def _pairs(values: Any) -> tuple[tuple[int, float], ...]:
    return tuple((int(tokens), float(loss)) for tokens, loss in values or ())


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
        note: Sentences on a half-written line and on results that were restored, or "".
        restored: Those of the results that only `results.parquet` has.
    """

    results: dict[str, Result]
    whole: int
    torn: int
    note: str
    restored: dict[str, Result]


def line_of(result: Result) -> str:
    """A result as its line in the file, with the line break."""
    text = result.to_json()
    return f'{{"digest":"{digest(text)}","result":{text}}}\n'


def read(folder: str | os.PathLike[str]) -> Stored:
    """Read all results of a folder.

    Args:
        folder: Results that only its `results.parquet` has, as after a git pull, are included.

    Returns:
        The results.

    Raises:
        ValueError: A line is damaged or repeats a run, or the table is damaged; the message names it.
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
    restored = {run: result for run, result in read_results_table(folder).items() if run not in results}
    notes = []
    if torn:
        notes += [f"The last line of {NAME} is half-written ({torn} bytes without a line end): its run is not counted."]
    if restored:
        notes += [f"Results restored from {TABLE}: {len(restored)}."]
    return Stored(results | restored, whole, torn, " ".join(notes), restored)


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
    raise ValueError(
        f"{path}, line {number} is damaged: {reason}. Delete the line; its run is then repeated, or taken from {TABLE}."
    )


class Store:
    """A folder to which results are added, by one process at a time.

    Args:
        folder: Made where it does not exist. Runs that only its `results.parquet` has are restored from it.

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
            self._file.writelines(line_of(result).encode() for result in stored.restored.values())
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
    """Lock the file against a second writer, except on Windows. The lock ends with the process, however it ends."""
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
