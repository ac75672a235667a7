"""Planned runs of a folder in `plan.json`, and failed ones in `failures.txt`.

The plan names the runs and digests of the files that they read, and `costs.json` says what a run of each will take, in
another file because it depends on the machine. `failures.txt` says why runs of the last command
failed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import plain_file
from posenc.core.plain_file import write_whole
from posenc.lab.comparison.rate_sweep import RateSweep
from posenc.lab.encodings import own_python_files
from posenc.lab.experiment import Experiment, digest
from posenc.lab.models.model_folder import model_folder
from posenc.lab.result import Result

NAME = "plan.json"
FAILURES = "failures.txt"
COSTS = "costs.json"
#: Room for a hundred thousand runs.
LARGEST_PLAN = 1 << 28
AGAIN = "Delete it and compare again: finished runs are kept"


class ComparisonPlan(NamedTuple):
    """Plan of a folder.

    Attributes:
        experiments: Runs that are judged; where rates are swept, at any of them.
        files: SHA-256 of the files that they read, by name.
        sweep: How their learning rates are chosen, or None where they are as planned.
    """

    experiments: tuple[Experiment, ...] = ()
    files: Mapping[str, str] = {}
    sweep: RateSweep | None = None

    @property
    def runs(self) -> int:
        """How many runs there are, pilots among them."""
        pilots = () if self.sweep is None else self.sweep.pilot_runs(self.experiments)
        return len(self.experiments) + len(pilots)

    def judged(self, results: Mapping[str, Result]) -> tuple[Experiment, ...]:
        """Runs that are judged, at their rates; without those whose rate the results leave undecided."""
        return self.experiments if self.sweep is None else self.sweep.at_best_rates(self.experiments, results)

    def missing(self, results: Mapping[str, Result]) -> int:
        """How many runs have no result."""
        pilots = () if self.sweep is None else self.sweep.pilot_runs(self.experiments)
        done = sum(each.identity in results for each in (*pilots, *self.judged(results)))
        return self.runs - done


def save(folder: str | os.PathLike[str], experiments: Sequence[Experiment], sweep: RateSweep | None = None) -> None:
    """Add runs to the plan of a folder.

    A file of one's own encoding, FILE.py:NAME, or of one's own model must be what it was for the earlier runs: its name
    alone does not say what was trained.

    Args:
        folder: Of the results.
        experiments: To add.
        sweep: How their learning rates are chosen.

    Raises:
        ValueError: Such a file has changed, the folder's rates are chosen in another way, or the plan is damaged.
    """
    earlier, files, before = read_plan(folder)
    if earlier and before != sweep:
        raise ValueError(
            f"rate must be as it was when {str(folder)!r} was begun, {_rates(before)}; got {_rates(sweep)}. Use "
            "another --out."
        )
    files = dict(files)
    for own in sorted({name for each in experiments for name in own_files(each)}):
        with plain_file.opened(Path(own)) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if files.setdefault(own, found) != found:
            raise ValueError(
                f"{'FILE.py' if own.endswith('.py') else 'model'} must be what it was when {str(folder)!r} was begun; "
                f"{own} has changed since. Use another --out for the new one."
            )
    wanted = [each.fields() for each in dict.fromkeys((*earlier, *experiments))]
    common = {name: value for name, value in wanted[0].items() if all(each[name] == value for each in wanted)}
    differing = [{name: value for name, value in each.items() if name not in common} for each in wanted]
    lines = ",\n".join(json.dumps(each, sort_keys=True) for each in differing)
    parts = {"files": files, **({} if sweep is None else {"sweep": dataclasses.asdict(sweep)}), "common": common}
    head = "".join(f"{json.dumps(name)}: {json.dumps(part)},\n" for name, part in parts.items())
    text = f'{{{head}"experiments": [\n{lines}\n]}}\n'
    write_whole(Path(folder) / NAME, text.encode())


def own_files(experiment: Experiment) -> tuple[str, ...]:
    """Files that decide what is trained: Python files of the encoding and the task, and those of a model.

    Example:
        >>> own_files(Experiment("NoPE(dim=64) + mine.py:Mine", "copy"))
        ('mine.py',)
    """
    folder = model_folder(experiment.model)
    of_model = () if folder is None else tuple(map(str, folder.files()))
    return (*own_python_files(experiment), *of_model)


def save_costs(folder: str | os.PathLike[str], seconds: Mapping[Experiment, float]) -> Path:
    """Write `costs.json`, the estimated processor time of a run in seconds, by task and encoding."""
    costs: dict[str, dict[str, float]] = {}
    for run, each in seconds.items():
        costs.setdefault(run.task, {})[run.encoding] = round(each, 1)
    return write_whole(Path(folder) / COSTS, (json.dumps(costs, indent=1) + "\n").encode())


def plan_digest(folder: str | os.PathLike[str]) -> str:
    """16 hexadecimal digits of SHA-256 that name the plan of a folder."""
    return digest(plain_file.read_bytes(Path(folder) / NAME, LARGEST_PLAN, advice=f"{AGAIN}.").decode())


def save_failures(folder: str | os.PathLike[str], lines: Sequence[str]) -> Path:
    """Write `failures.txt` with a line for each failed run, or remove it where there are none."""
    path = Path(folder) / FAILURES
    if lines:
        return write_whole(path, "".join(f"{line}\n" for line in lines).encode())
    path.unlink(missing_ok=True)
    return path


def read_plan(folder: str | os.PathLike[str]) -> ComparisonPlan:
    """Plan of a folder, without runs where there is none.

    Raises:
        ValueError: The plan is damaged.
    """
    path = Path(folder) / NAME
    if not path.exists():
        return ComparisonPlan()
    text = plain_file.read_bytes(path, LARGEST_PLAN, advice=f"{AGAIN}.")
    try:
        held: dict[str, Any] = plain_file.json_of(text)
        files = {str(name): str(digest) for name, digest in held["files"].items()}
        sweep = RateSweep(**held["sweep"]) if "sweep" in held else None
        common = dict(held["common"])
        return ComparisonPlan(tuple(Experiment(**common, **fields) for fields in held["experiments"]), files, sweep)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {' '.join(str(error).split())[:200].rstrip('.')}. {AGAIN}.") from None


def _rates(sweep: RateSweep | None) -> str:
    return "one rate for all" if sweep is None else f"the best of {', '.join(f'{rate:g}' for rate in sweep.rates)}"
