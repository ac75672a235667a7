"""Submissions of a class: the Python files of each entry of a folder, read before any of them runs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from posenc.core import plain_file
from posenc.diagnosis.code.user_file import LARGEST_SOURCE

#: Python files of one submission.
MOST_FILES = 100


@dataclass(frozen=True)
class Submission:
    """An entry of a folder of submissions.

    Args:
        name: Name of its file or folder.
        file: The Python file that is checked; "" where there is a problem.
        files: Bytes of its Python files by name.
        problem: Why it cannot be checked; "" where it can.
    """

    name: str
    file: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    problem: str = ""

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Context manager: a temporary folder with a copy of this submission's Python files and nothing else.

        No submission can then change another before that one is checked, and none needs the folder of the class.
        """
        with tempfile.TemporaryDirectory(prefix="posenc-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            for file, data in self.files.items():
                (folder / file).write_bytes(data)
            yield folder


def submissions(folder: Path, file: str | None, output: Path | None) -> list[Submission]:
    """Read the submissions of a class: each Python file and each folder of `folder` is one.

    Args:
        folder: Of the class. Names that begin with "." or "__" are left out.
        file: The file that is checked in the folder of each submission; its only Python file if None.
        output: A file that is no submission, wherever it lies.

    Returns:
        The submissions by name. What is no Python file has a problem.

    Raises:
        ValueError: There is none.
    """
    found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "__")))
    read = [_read(entry, file) for entry in found if output is None or entry.absolute() != output.absolute()]
    if not read:
        raise ValueError(
            f"target must be a folder that holds submissions; got {str(folder)!r}. Put Python files in it."
        )
    return read


def _read(entry: Path, file: str | None) -> Submission:
    try:
        files = {path.name: _bytes(path) for path in _python_files(entry)}
        return Submission(entry.name, _checked(entry, file, files), files)
    except ValueError as error:
        return Submission(entry.name, problem=" ".join(str(error).split()))
    except OSError as error:
        return Submission(entry.name, problem=f"it cannot be read: {error.strerror}")


def _python_files(entry: Path) -> list[Path]:
    if entry.is_symlink():
        raise ValueError("it must be a file or folder of its own; it is a link")
    if not entry.is_dir():
        return [entry]
    files = sorted(path for path in entry.iterdir() if path.suffix == ".py" and not path.name.startswith("."))
    if len(files) > MOST_FILES:
        raise ValueError(f"it must hold at most {MOST_FILES} Python files; it holds {len(files):,}")
    return files


def _bytes(path: Path) -> bytes:
    if path.suffix != ".py":
        raise ValueError("it must be a Python file, NAME.py, or a folder")
    if path.is_symlink():
        raise ValueError(f"{path.name} must be a file of its own; it is a link")
    return plain_file.read_bytes(path, LARGEST_SOURCE, name=path.name, advice="Hand in a Python file.")


def _checked(entry: Path, file: str | None, files: Mapping[str, bytes]) -> str:
    """Name of the file to check: `file`, or a submission's only Python file; ValueError where there is none."""
    if file is not None and (file not in files or not entry.is_dir()):
        raise ValueError(f"it must be a folder that holds {file}")
    if file is None and len(files) != 1:
        raise ValueError(f"it must hold one Python file; it holds {', '.join(files) or 'none'}. --file says which")
    return file or next(iter(files))
