"""Models of the tour with losses of one's own, never trained."""

import numpy as np

from posenc.core.doors import Encoding
from posenc.lab.eight_bits import EightBitModel
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress, Result
from posenc.lab.tasks.task_table import experiment
from posenc.lab.tour_plan import LENGTHS, TASK, TourModel


def pretend_run(encoding: Encoding, **changes: object) -> Experiment:
    return experiment(repr(encoding), TASK, **{"steps": 10, "length": LENGTHS[0], "test_lengths": LENGTHS, **changes})


def pretend_model(name: str, run: Experiment, losses: np.ndarray, sample: tuple[int, ...] = (1, 2)) -> TourModel:
    """A model with the losses (windows, 16 contexts)."""
    result = Result(run, (Progress(1, 5.0), Progress(10, 3.0)), (), parameters=100)
    return TourModel(name, result, losses, sample, EightBitModel({}, {}, {}, {}))
