"""Finished studies in a folder, a file for each, so that a stopped command goes on where it was. Loads no torch."""

from __future__ import annotations

import os
from pathlib import Path

from posenc.core import plain_file
from posenc.lab.extension_study.study import Extension, Study
from posenc.lab.write_whole import write_whole

#: A study has a few numbers for each way and length.
LARGEST_FILE = 1 << 24


def read_extension(folder: str | os.PathLike[str], study: Study) -> Extension | None:
    """What a study gave, or None where it is not finished; ValueError names a damaged file."""
    path = _path(folder, study)
    if not path.exists():
        return None
    text = plain_file.read_bytes(path, LARGEST_FILE, advice="Move it away; its run is then repeated.")
    try:
        extension = Extension.from_json(text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {str(error).rstrip('.')}. Delete it; its run is then repeated.") from None
    if extension.study != study:
        raise ValueError(f"{path} holds another study than its name says. Delete it; its run is then repeated.")
    return extension


def write_extension(folder: str | os.PathLike[str], extension: Extension) -> Path:
    """File an extension; when this returns it is on disk as a whole."""
    path = _path(folder, extension.study)
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(path, (extension.to_json() + "\n").encode())


def _path(folder: str | os.PathLike[str], study: Study) -> Path:
    one = study.experiment
    return Path(folder) / f"{one.task}-seed-{one.seed}-{study.identity}.json"
