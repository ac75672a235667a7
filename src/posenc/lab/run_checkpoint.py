"""A run under way on disk: one that was stopped goes on from there, and gives the same numbers."""

from __future__ import annotations

import dataclasses
import io
import time
from pathlib import Path
from typing import Any

import torch

from posenc.core import plain_file
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress, package_versions
from posenc.lab.write_whole import write_whole

#: Seconds between two savings: what a stop costs at most.
SECONDS = 30.0
LARGEST = 1 << 40


class RunCheckpoint:
    """File that keeps weights, optimizer, generator and training loss of one run.

    Numbers of another version of posenc, PyTorch or NumPy are not continued: the run begins anew.

    Args:
        path: Of the file; its folder is made.
        experiment: The run.
        seconds: Between two savings.

    Attributes:
        curve: The training loss up to the step from which the run goes on.
        spent: Processor time up to there, in seconds.
    """

    def __init__(self, path: Path, experiment: Experiment, seconds: float = SECONDS) -> None:
        self.path, self.curve, self.spent = path, list[Progress](), 0.0
        self._run, self._seconds = {"identity": experiment.identity, "versions": dict(package_versions())}, seconds
        self._began, self._saved = time.process_time(), time.monotonic()

    def resume(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Put back what the file keeps.

        Args:
            model: Gets its weights.
            optimizer: Gets its state.

        Returns:
            Steps that are done; 0 where there is nothing to go on from.

        Raises:
            ValueError: The file is damaged; the message names it.
        """
        if not self.path.exists():
            return 0
        try:
            data = plain_file.read_bytes(self.path, LARGEST, advice="Delete it; its run then begins anew.")
            kept: dict[str, Any] = torch.load(io.BytesIO(data), weights_only=True)
            if kept["run"] != self._run:
                return 0
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            torch.set_rng_state(kept["generator"])
            if kept["generators_of_gpus"]:
                torch.cuda.set_rng_state_all(kept["generators_of_gpus"])
            self.curve, self.spent = [Progress(*point) for point in kept["curve"]], float(kept["spent"])
        except Exception as error:  # whatever PyTorch raises for bytes that are no checkpoint
            raise ValueError(
                f"{self.path} must be the checkpoint of a run; it is damaged: {' '.join(str(error).split())[:120]}. "
                "Delete it; its run then begins anew."
            ) from None
        return self.curve[-1].step

    def reached(self, progress: Progress, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Add a report to the curve, and save if enough time has passed."""
        self.curve.append(progress)
        if time.monotonic() - self._saved < self._seconds:
            return
        kept = {
            "run": self._run,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "generator": torch.get_rng_state(),
            "generators_of_gpus": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
            "curve": [dataclasses.astuple(point) for point in self.curve],
            "spent": self.spent + time.process_time() - self._began,
        }
        file = io.BytesIO()
        torch.save(kept, file)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, file.getvalue())
        self._saved = time.monotonic()
