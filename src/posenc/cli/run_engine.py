"""Choice of the execution engine (local processes, Ray, Slurm or Accelerate) from a verb's options."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from posenc.cli.answer import Verb
from posenc.lab.engines import cluster, local
from posenc.lab.running import Engine

#: Engines that do many runs at once; and the one that does each on all processes.
Name = Literal["local", "ray", "slurm"]
Together = Literal["accelerate"]
#: How a run is done with --engine accelerate.
TOGETHER = "posenc.lab.engines.all_processes:train_together"


@dataclasses.dataclass(frozen=True)
class EngineVerb(Verb):
    """A verb that trains, with the options of its engine."""

    workers: Annotated[int | None, tyro.conf.arg(metavar="INT")] = dataclasses.field(default=None, kw_only=True)
    """Processes of the local engine; one for each core if left out."""

    slurm: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE")] = dataclasses.field(default=(), kw_only=True)
    """Parameters of submitit for --engine slurm."""

    def check_trains(self, why_not: str) -> None:
        """Refuse the engine's options where nothing is trained: "with --model", say."""
        for name, left_out in (("engine", "local"), ("workers", None), ("slurm", ())):
            if (value := getattr(self, name)) != left_out:
                raise ValueError(f"{name} must be left out {why_not}; got {value!r:.80}. Leave it out.")

    def engine_in(self, folder: Path, name: Name | Together, device: str = "cpu") -> Engine:
        """Engine of a name, whose results are kept in a folder."""
        return engine(name, workers=self.workers, folder=folder, options=self.slurm, device=device)


def engine(
    name: Name | Together, *, workers: int | None, folder: Path, options: Sequence[str], device: str = "cpu"
) -> Engine:
    """Return the function that runs jobs on the engine `name`, after checking the options against it.

    `workers` are those of the local engine, `options` are KEY=VALUE, parameters of submitit; `device` is that of each
    run, "" with Accelerate, which finds one for each process.
    """
    if workers is not None and (name != "local" or workers < 1):
        raise ValueError(f"workers must be 1 or more, with --engine local; got {workers} with {name}. Leave it out.")
    if options and name != "slurm":
        raise ValueError(f"slurm must be left out with --engine {name}; got {' '.join(options):.100}. Leave it out.")
    if name in ("ray", "slurm") and device not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda with --engine {name}, which chooses the GPU; got {device!r}.")
    gpus = int(device == "cuda")
    if name == "accelerate":
        from posenc.lab.engines import all_processes

        return functools.partial(all_processes.run, device=device)
    if name == "local":
        return functools.partial(local.run, workers=workers, gpus=_gpus(device))
    if name == "ray":
        return functools.partial(cluster.run_on_ray, gpus=gpus)
    parameters = dict(map(_parameter, options))
    return functools.partial(cluster.run_on_slurm, folder=folder / "slurm", parameters=parameters, gpus=gpus)


def _gpus(device: str) -> tuple[str, ...]:
    """GPU ids to share among worker processes, in the form of CUDA_VISIBLE_DEVICES; () unless device is "cuda"."""
    if device != "cuda":
        return ()
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return tuple(visible.split(",") if visible else map(str, range(torch.cuda.device_count())))


def _parameter(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise ValueError(f"slurm must be KEY=VALUE, slurm_partition=gpu, say; got {text!r:.100}. Write it so.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def follow_unless_first(device: str) -> None:
    """In a torchrun process other than rank 0, take part in rank 0's runs, then exit; only rank 0 prints the answer."""
    from posenc.lab.engines import all_processes

    if not all_processes.leads():
        all_processes.follow(device)
        raise SystemExit(0)
