"""What a folder of results is to hold, in `plan.json`.

Its runs, and the state of the files that they read; and which of the last command's runs failed, in `failures.txt`.
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
    """Write down which runs a folder is to have, besides those that it was to have before.

    A file of one's own encoding, FILE.py:NAME, or of one's own model must be what it was for the earlier runs: its name
    alone does not say what was trained.
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
    """The runs that a folder is to have; none where there is no plan."""
    return _read_plan(folder)[0]


def own_files(experiment: Experiment) -> tuple[str, ...]:
    """The Python files that an experiment's encoding names, and the files of its model of transformers.

    Example:
        >>> own_files(Experiment("NoPE(dim=64) + mine.py:Mine", "copy"))
        ('mine.py',)
    """
    folder = model_folder(experiment.model)
    of_model = () if folder is None else tuple(map(str, folder.files()))
    return (*re.findall(r"(?:^|\+)\s*([^+()]+\.py):\w+", experiment.encoding), *of_model)


def save_failures(folder: str | os.PathLike[str], lines: Sequence[str]) -> Path:
    """Write down why runs failed, a line for each; without failures there is no such file."""
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
