"""Check of planned runs, and the processor time that they will take, from a few steps of each candidate."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from posenc.core.text_lines import count
from posenc.lab.comparison.rate_sweep import RateSweep
from posenc.lab.experiment import Experiment
from posenc.lab.own_code import OwnCodeError
from posenc.lab.prepare import Trial, prepare
from posenc.lab.scoring import CONTEXTS, SEQUENCES, WINDOWS
from posenc.lab.train import train

#: Steps that are timed, after one that is not.
TIMED = 2
#: Weights times tokens of a step that is timed at most; a larger batch is cut and the time scaled.
WORK = 1 << 31
#: Time of a token that is read, as a share of one that is trained on; and of a generated text, in steps.
READ, SAMPLED = 1 / 3, 20


@dataclass(frozen=True)
class PlanCost:
    """Runs that can be done, and what they cost.

    Args:
        runs: Those that are judged.
        pilots: Those that choose learning rates.
        seconds: Of processor time for a run, by `candidate_of` it; None where they are not known.
        left_out: For each candidate whose own code raises an error, a line that says which and where.
    """

    runs: tuple[Experiment, ...]
    pilots: tuple[Experiment, ...]
    seconds: Mapping[Experiment, float] | None
    left_out: tuple[str, ...]

    def total(self, runs: Sequence[Experiment]) -> float:
        """Processor time of some of the runs, in seconds; NaN where it is not known."""
        if self.seconds is None:
            return float("nan")
        return sum(self.seconds[candidate_of(run)] for run in runs)

    def sentence(self) -> str:
        """Number of runs and their processor time."""
        runs = (*self.runs, *self.pilots)
        pilots = f", {len(self.pilots)} of them to choose learning rates" if self.pilots else ""
        if self.seconds is None:
            return f"{count(len(runs), 'run')}{pilots}; their time on this device was not estimated."
        return f"{count(len(runs), 'run')}{pilots}: about {duration(self.total(runs))} of one core of this machine."


def duration(seconds: float) -> str:
    """Time in the unit that suits it.

    Example:
        >>> duration(42.0), duration(500.0), duration(40000.0)
        ('42 seconds', '8 minutes', '11 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    minutes = seconds / 60
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.{1 if minutes < 600 else 0}f} hours"


def plan_cost(runs: Sequence[Experiment], sweep: RateSweep | None = None, device: str = "cpu") -> PlanCost:
    """Check that each candidate can be run, and estimate its processor time.

    Two training steps are timed on this processor, after a first one, with a smaller batch where the model is large.
    The time to measure is worked out from them: a token that is read takes a third of one that is trained on. A
    candidate whose code is the user's own and raises an error is left out.

    Args:
        runs: Planned.
        sweep: How their learning rates are chosen.
        device: Of PyTorch; time is estimated for the CPU alone.

    Returns:
        The runs that can be done.

    Raises:
        ValueError: An encoding does not fit its task, model or lengths, or the device is not there.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as runs are done
    seconds, left_out = dict[Experiment, float](), dict[Experiment, str]()
    try:
        for one in dict.fromkeys(map(candidate_of, runs)):
            try:
                trial = prepare(one, device)
                seconds[one] = _seconds(trial) if device == "cpu" else 0.0
            except OwnCodeError as error:
                left_out[one] = f"{one.encoding} on {one.task} is left out: {error}"
    finally:
        torch.set_num_threads(threads)
    kept = tuple(run for run in runs if candidate_of(run) in seconds)
    pilots = () if sweep is None else sweep.pilot_runs(kept)
    return PlanCost(kept, pilots, seconds if device == "cpu" else None, tuple(left_out.values()))


def candidate_of(run: Experiment) -> Experiment:
    """Replace what does not change a run's cost, its seed and its learning rates, by fixed values."""
    return dataclasses.replace(run, seed=0, rate=1e-3, encoding_rate=1.0)


def _seconds(trial: Trial) -> float:
    one = trial.experiment
    tokens, weights = trial.task.tokens_at(one.length), sum(each.numel() for each in trial.model.parameters())
    batch = min(one.batch, max(1, WORK // (weights * tokens)))
    small = dataclasses.replace(trial, experiment=dataclasses.replace(one, batch=batch))
    steps = train(small.model, small.examples(), steps=1 + TIMED, rate=1e-6, warmup=0, every=1)
    next(steps)
    began = time.process_time()
    for _ in islice(steps, TIMED):
        pass
    step = (time.process_time() - began) / TIMED * one.batch / batch
    lengths = [trial.task.tokens_at(length) for length in one.test_lengths]
    read = SEQUENCES * sum(lengths)
    if trial.task.cuttable:
        read = int(WINDOWS * (sum(lengths) + lengths[-1] * (CONTEXTS + 1) / 2))
    sampled = SAMPLED if trial.task.cuttable else 0
    return float(step * (one.steps + READ * read / (one.batch * tokens) + sampled))
