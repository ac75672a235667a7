"""Planned runs of a folder in `plan.json`, and failed ones in `failures.txt`.

The plan names the runs and digests of the files that they read. `failures.txt` says why runs of the last command
failed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posenc.core import plain_file
from posenc.lab.experiment import Experiment
from posenc.lab.models.model_folder import model_folder
from posenc.lab.write_whole import write_whole

NAME = "plan.json"
FAILURES = "failures.txt"
#: Room for a hundred thousand runs.
LARGEST_PLAN = 1 << 28
AGAIN = "Delete it and compare again: finished runs are kept"


def save(folder: str | os.PathLike[str], experiments: Sequence[Experiment]) -> None:
    """Add runs to the plan of a folder.

    A file of one's own encoding, FILE.py:NAME, or of one's own model must be what it was for the earlier runs: its name
    alone does not say what was trained.

    Args:
        folder: Of the results.
        experiments: To add.

    Raises:
        ValueError: Such a file has changed, or the plan is damaged.
    """
    earlier, files = _read_plan(folder)
    for own in sorted({name for each in experiments for name in own_files(each)}):
        with plain_file.opened(Path(own)) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if files.setdefault(own, digest) != digest:
            raise ValueError(
                f"{'encoding' if own.endswith('.py') else 'model'} must be what it was when {str(folder)!r} was begun; "
                f"{own} has changed since. Use another --out for the new one."
            )
    wanted = [each.fields() for each in dict.fromkeys((*earlier, *experiments))]
    lines = ",\n".join(json.dumps(each, sort_keys=True) for each in wanted)
    text = f'{{"files": {json.dumps(files)},\n"experiments": [\n{lines}\n]}}\n'
    write_whole(Path(folder) / NAME, text.encode())


def planned_experiments(folder: str | os.PathLike[str]) -> tuple[Experiment, ...]:
    """The runs of a folder's plan, none where there is no plan.

    Raises:
        ValueError: The plan is damaged.
    """
    return _read_plan(folder)[0]


def own_files(experiment: Experiment) -> tuple[str, ...]:
    """Files that decide what is trained: Python files of the encoding, and those of a model of transformers.

    Example:
        >>> own_files(Experiment("NoPE(dim=64) + mine.py:Mine", "copy"))
        ('mine.py',)
    """
    folder = model_folder(experiment.model)
    of_model = () if folder is None else tuple(map(str, folder.files()))
    return (*re.findall(r"(?:^|\+)\s*([^+()]+\.py):\w+", experiment.encoding), *of_model)


def save_failures(folder: str | os.PathLike[str], lines: Sequence[str]) -> Path:
    """Write `failures.txt` with a line for each failed run, or remove it where there are none."""
    path = Path(folder) / FAILURES
    if lines:
        return write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    path.unlink(missing_ok=True)
    return path


def _read_plan(folder: str | os.PathLike[str]) -> tuple[tuple[Experiment, ...], dict[str, str]]:
    path = Path(folder) / NAME
    if not path.exists():
        return (), {}
    text = plain_file.read_bytes(path, LARGEST_PLAN, advice=f"{AGAIN}.")
    try:
        held: dict[str, Any] = plain_file.json_of(text)
        files = {str(name): str(digest) for name, digest in held["files"].items()}
        return tuple(Experiment(**fields) for fields in held["experiments"]), files
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {' '.join(str(error).split())[:200].rstrip('.')}. {AGAIN}.") from None
