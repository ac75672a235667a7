"""Models of the tour with losses of one's own, never trained."""

from dataclasses import replace

import numpy as np

from posenc.core.doors import Encoding
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Linear, NTKAware, YaRN
from posenc.lab.eight_bits import EightBitModel
from posenc.lab.experiment import Experiment
from posenc.lab.result import Progress, Result
from posenc.lab.tasks.task_table import experiment
from posenc.lab.tour_plan import LENGTHS, TASK, ScaledLosses, TourModel


def pretend_run(encoding: Encoding, **changes: object) -> Experiment:
    return experiment(repr(encoding), TASK, **{"steps": 10, "length": LENGTHS[0], "test_lengths": LENGTHS, **changes})


def pretend_model(name: str, run: Experiment, losses: np.ndarray, sample: tuple[int, ...] = (1, 2)) -> TourModel:
    """A model with the losses (windows, 16 contexts)."""
    result = Result(run, (Progress(1, 5.0), Progress(10, 3.0)), (), parameters=100)
    return TourModel(name, result, losses, sample, EightBitModel({}, {}, {}, {}))


def pretend_scaled() -> tuple[ScaledLosses, ...]:
    """Losses of a rotary model that rise past the training length, the less the more its frequencies are scaled."""
    read, rising = (32, 64, 96, 128, 192, 256), np.array([0, 0, 0.5, 1.0, 1.5, 2.0])
    noise = np.random.default_rng(0).random((48, len(read))) / 100
    plain = RoPE(dim=16)

    def made(way: str, factor: float, encoding: RoPE) -> ScaledLosses:
        return ScaledLosses(way, factor, encoding, read, 3 + rising / factor + 0.1 * (factor > 1) + noise)

    scalings = {"linear": Linear, "larger base": NTKAware, "YaRN": lambda factor: YaRN(factor, 64)}
    ways = [
        made(name, factor, replace(plain, scaling=scaling(factor)))
        for factor in (2.0, 4.0)
        for name, scaling in scalings.items()
    ]
    return (made("as it is", 1.0, plain), *ways)
