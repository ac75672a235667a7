"""Which engine a verb runs on, by its options."""

from __future__ import annotations

import ast
import functools
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Literal

from posenc.lab.engines import local, ray_core, slurm
from posenc.lab.engines.events import Event, Job
from posenc.lab.running import Engine

Name = Literal["local", "ray", "slurm"]


def engine(name: Name, *, workers: int | None, folder: Path, options: Sequence[str]) -> Engine:
    """The engine of a name. workers: of the local one.   options: KEY=VALUE, parameters of submitit."""
    if workers is not None and (name != "local" or workers < 1):
        raise ValueError(f"workers must be 1 or more, with --engine local; got {workers} with {name}. Leave it out.")
    if options and name != "slurm":
        raise ValueError(f"slurm must be left out with --engine {name}; got {' '.join(options):.100}. Leave it out.")
    if name == "local":
        return functools.partial(local.run, workers=workers)
    if name == "ray":
        return ray_core.run
    return functools.partial(_slurm, folder=folder, parameters=dict(map(_parameter, options)))


def _slurm(jobs: Sequence[Job], folder: Path, parameters: dict[str, Any]) -> Generator[Event, None, None]:
    return slurm.run(jobs, folder / "slurm", parameters)


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise ValueError(f"slurm must be KEY=VALUE, slurm_partition=gpu, say; got {text!r:.100}. Write it so.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
