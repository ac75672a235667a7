"""Training of a model, then measurement of every way to a longer context, before and after tuning at that length."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np
import torch

from posenc.core.doors import Encoding
from posenc.encodings.rotates.rope import RoPE
from posenc.lab.extension_study.study import Extended, Extension, Study
from posenc.lab.extension_study.ways import Divisors, ExtensionCandidate, extension_candidates, search, searched
from posenc.lab.machine import reproducible
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import Trial, prepare
from posenc.lab.result import Progress
from posenc.lab.scoring import Examination, by_context, by_depth
from posenc.lab.tasks.lookup import Needle
from posenc.lab.train import train

#: Of the rate of training, what a model is tuned at.
TUNING_RATE = 0.1
#: Sequences of the training stream on which divisors are searched.
SEARCHED_ON = 16
#: Ways whose divisors the search begins with.
STARTS = ("as it is", "YaRN", "linear", "larger base")


def work(study: Study) -> Iterator[Progress | Extension]:
    """Run a study reproducibly, in a process of its own."""
    reproducible()
    yield from extend(study)


def extend(study: Study) -> Iterator[Progress | Extension]:
    """Train the model of a study, and measure every way to a longer context.

    Contexts within the trained length are read by the encoding that the way has for them. Tuning draws from the start
    of the training stream, the same for every way, as many tokens a step as training.

    Args:
        study: What to train, and how far to extend it.

    Yields:
        Progress, in steps of the experiment for the whole study, then the outcome.

    Raises:
        ValueError: The study cannot be done; raised before any training.
    """
    began, experiment = time.process_time(), study.experiment
    trial, encoding = begun(study)
    ways = extension_candidates(encoding, experiment.length, study.length, experiment.width)
    parts = 2 + len(ways)
    for step in _trained(trial, experiment.steps, experiment.rate):
        yield Progress(step.step // parts, step.loss)
    measured: list[Extended] = []
    for done, way in enumerate((*ways, _searched_way(study, trial, encoding)), 2):
        measured += _measured(study, trial, way)
        yield Progress(experiment.steps * done // parts, step.loss)
    versions = tuple((name, version(name)) for name in ("posenc", "torch", "numpy"))
    yield Extension(study, tuple(measured), time.process_time() - began, versions)


def begun(study: Study) -> tuple[Trial, RoPE]:
    """The model of a study before training, and its rotary encoding.

    Raises:
        ValueError: The study cannot be done; the message says why.
    """
    trial = prepare(dataclasses.replace(study.experiment, test_lengths=study.lengths))
    return trial, _rotation(trial)


def _rotation(trial: Trial) -> RoPE:
    """Rotary encoding of the model, its only encoding."""
    stack = trial.model.stack
    encodings = [*(each.encoding for each in stack.added), *stack.layers[0]]
    known = trial.task.cuttable or isinstance(trial.task, Needle)
    alone = len(encodings) == 1 and len(set(stack.layers)) == 1
    if known and alone and isinstance(encodings[0], RoPE) and encodings[0].scaling is None:
        return encodings[0]
    raise ValueError(
        "experiment must train a language model or the needle with one RoPE without a scaling; got "
        f"{trial.experiment.encoding} on {trial.experiment.task}. Use RoPE(dim=16) on character-lm, say."
    )


def _measured(study: Study, trial: Trial, way: ExtensionCandidate) -> Iterator[Extended]:
    """Measure a way before and after tuning."""
    yield Extended(way.name, repr(way.long), 0, _at_every_length(study, trial, way))
    if study.tuning:
        tuned = with_other_encoding(trial, way.long)
        for _ in _trained(tuned, study.tuning, trial.experiment.rate * TUNING_RATE, study.length):
            pass
        yield Extended(way.name, repr(way.long), study.tuning, _at_every_length(study, tuned, way))


def _at_every_length(study: Study, trial: Trial, way: ExtensionCandidate) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """Measure each length with the encoding that the way has for it."""
    found = []
    for length in study.lengths:
        exam = with_other_encoding(trial, way.at(length, study.experiment.length)).examination
        found.append((length, _measured_at(study, exam, length)))
    return tuple(found)


def _measured_at(study: Study, exam: Examination, length: int) -> tuple[float, ...]:
    if isinstance(exam.task, Needle):
        return by_depth(exam, length, sequences=study.sequences)
    ends = (study.experiment.length, study.length)
    ((_, loss),) = by_context(exam, ends, contexts=(length,), windows=study.sequences)
    return (loss,)


def _searched_way(study: Study, trial: Trial, encoding: RoPE) -> ExtensionCandidate:
    """Way whose divisors are searched for on training sequences of the new length."""
    trained, stretch = study.experiment.length, study.length / study.experiment.length
    rng = np.random.default_rng([trial.streams.batches, 2])
    batch = trial.place(trial.task.batch(rng, SEARCHED_ON, study.length), rng)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def loss(divisors: Divisors) -> float:
        model = with_other_encoding(trial, searched(encoding, divisors, trained, study.length).long).model.eval()
        return float(batch.loss(model))

    before = encoding.frequencies.radians()
    starts = [
        tuple(np.maximum(before / way.long.frequencies.radians(), 1.0).tolist())
        for way in extension_candidates(encoding, trained, study.length, study.experiment.width)
        if isinstance(way.long, RoPE) and way.name in STARTS
    ]
    divisors = search(starts, stretch, loss, study.candidates, trial.streams.batches)
    return searched(encoding, divisors, trained, study.length)


def _trained(trial: Trial, steps: int, rate: float, length: int | None = None) -> Iterator[Progress]:
    """Train a trial's model on sequences of its own length, or of `length` with as many tokens in each step."""
    experiment = trial.experiment
    if length is not None:
        batch = max(1, experiment.batch * experiment.length // length)
        trial = dataclasses.replace(trial, experiment=dataclasses.replace(experiment, length=length, batch=batch))
    examples = trial.examples()
    return train(trial.model.train(), examples, steps=steps, rate=rate, warmup=min(experiment.warmup, steps // 10))


def with_other_encoding(trial: Trial, encoding: Encoding) -> Trial:
    """Make a trial with the same weights and another encoding of positions.

    Args:
        trial: Trained or not.
        encoding: Without parameters of its own.

    Returns:
        The trial; its model is another one.
    """
    model = Transformer(trial.model.shape, [encoding], seed=0)
    model.load_state_dict(trial.model.state_dict())
    return dataclasses.replace(trial, model=model)
