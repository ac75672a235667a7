"""A trained model at a longer context: each way that the planner knows, as it is and after a little training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from posenc.encodings.rotates.rope import RoPE
from posenc.lab.experiment import Experiment
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import Trial, prepare
from posenc.lab.scoring import by_context
from posenc.lab.train import train
from posenc.models.context_extension.candidates import ways

#: Of the rate of training, what a model is tuned at.
TUNING_RATE = 0.1


@dataclass(frozen=True)
class Extended:
    """How well a way reaches a length.

    way, record: as the planner has them.   steps: of training on sequences of the new length.
    losses: (context, loss) of the same last tokens, as `Result.by_context` has them.
    """

    way: str
    record: str
    steps: int
    losses: tuple[tuple[int, float], ...]


def extend(experiment: Experiment, length: int, *, steps: int = 0) -> Iterator[Extended]:
    """Train the model of an experiment at its length, then measure each way to reach `length`, and each again after so
    many steps on sequences of that length.

    experiment: of a language model, whose encoding is one RoPE.   length: longer than the experiment's. Contexts within
    the trained length are read by the rotation that the way has for them. Raises ValueError naming the argument.
    """
    if length <= experiment.length:
        raise ValueError(f"length must exceed the trained length, {experiment.length}; got {length}. Ask for a longer.")
    trial = prepare(dataclasses.replace(experiment, test_lengths=(experiment.length, length)))
    records = [each.record for each in trial.model.stack.encodings]
    if not trial.task.cuttable or len(records) != 1 or not isinstance(records[0], RoPE):
        raise ValueError(
            f"experiment must train a language model with one RoPE; got {experiment.encoding} on {experiment.task}. "
            "Use character-lm, say."
        )
    for _ in _trained(trial, experiment.steps, experiment.rate):
        pass
    for way in ways(records[0], experiment.length, length, experiment.length):
        long, short = _with(trial, way.record), _with(trial, way.short)
        yield Extended(way.name, repr(way.record), 0, _losses(long, short))
        if steps:
            for _ in _trained(long, steps, experiment.rate * TUNING_RATE, length):
                pass
            short.model.load_state_dict(long.model.state_dict())
            yield Extended(way.name, repr(way.record), steps, _losses(long, short))


def _trained(trial: Trial, steps: int, rate: float, length: int | None = None) -> Iterator[object]:
    """Training of a trial's model, on sequences of its own length or another."""
    experiment = trial.experiment
    if length is not None:
        trial = dataclasses.replace(trial, experiment=dataclasses.replace(experiment, length=length))
    examples = islice(trial.examples(), steps)
    return train(trial.model.train(), examples, steps=steps, rate=rate, warmup=min(experiment.warmup, steps // 10))


def _with(trial: Trial, record: RoPE) -> Trial:
    """The trial's weights with another rotation."""
    model = Transformer(trial.model.shape, [record], seed=0)
    model.load_state_dict(trial.model.state_dict())
    return dataclasses.replace(trial, model=model)


def _losses(long: Trial, short: Trial) -> tuple[tuple[int, float], ...]:
    """Contexts within the trained length as the one model reads them, longer ones as the other does."""
    trained = long.experiment.length
    by_length = [
        dict(
            by_context(
                trial.model.eval(), trial.task, trial.experiment.test_lengths, trial.streams.samples, trial.place
            )
        )
        for trial in (long, short)
    ]
    return tuple((context, by_length[context <= trained][context]) for context in by_length[0])
