"""Running an experiment: trained, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

import torch

from posenc.lab.experiment import Experiment
from posenc.lab.machine import described, forget_peak, peak
from posenc.lab.models.generate import generate
from posenc.lab.models.model_folder import model_folder
from posenc.lab.models.transformer import Transformer
from posenc.lab.own_code import blaming
from posenc.lab.prepare import Trial, prepare
from posenc.lab.result import Progress, Result, package_versions
from posenc.lab.scoring import bleu_signature, by_context, scores
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.written import Written
from posenc.lab.train import OneProcess, Replicas, RunCheckpoint, train

SAMPLE = 160


@dataclass(frozen=True, eq=False)
class TrainedTrial:
    """A trial whose model is trained.

    Args:
        trial: Of the experiment.
        curve: The training loss.
        began: The processor time at which the run began, in seconds.
        versions: Of what the training depends on beside this process.
    """

    trial: Trial
    curve: tuple[Progress, ...]
    began: float
    versions: tuple[tuple[str, str], ...] = ()


def run(
    experiment: Experiment,
    *,
    every: int = 10,
    device: str = "cpu",
    replicas: Replicas | None = None,
    checkpoint: RunCheckpoint | None = None,
) -> Iterator[Progress | Result]:
    """Train and measure an experiment. Equal experiments give equal numbers on one thread.

    Args:
        experiment: What to run.
        every: Steps between two reports.
        device: Of PyTorch, such as "cuda"; the result names it among its versions where it is not the CPU.
        replicas: The processes that train together, of which number 0 alone gives the result; this one alone where
            None.
        checkpoint: Goes on from a run that was stopped, and keeps this one; not for several processes.

    Yields:
        Progress, and at last the result.

    Raises:
        ValueError: The experiment cannot be run (see `prepare`); raised before any training.
        DivergedError: The loss becomes infinite or NaN.
    """
    for report in train_trial(experiment, every=every, device=device, replicas=replicas, checkpoint=checkpoint):
        if isinstance(report, Progress):
            yield report
        elif replicas is None or replicas.rank == 0:
            yield result_of(report)


def train_trial(
    experiment: Experiment,
    *,
    every: int = 10,
    device: str = "cpu",
    replicas: Replicas | None = None,
    checkpoint: RunCheckpoint | None = None,
) -> Iterator[Progress | TrainedTrial]:
    """Train an experiment, as `run` does, and give its model before anything is measured.

    Args:
        experiment: What to train.
        every: Steps between two reports.
        device: Of PyTorch.
        replicas: The processes that train together; this one alone where None.
        checkpoint: Goes on from a run that was stopped, and keeps this one.

    Yields:
        Progress, and at last the trial with its trained model.

    Raises:
        ValueError: The experiment cannot be run (see `prepare`); raised before any training.
        DivergedError: The loss becomes infinite or NaN.
    """
    with blaming(experiment):
        yield from _trained(experiment, every, device, replicas or OneProcess(), checkpoint)


def _trained(
    experiment: Experiment, every: int, device: str, replicas: Replicas, checkpoint: RunCheckpoint | None
) -> Iterator[Progress | TrainedTrial]:
    began = time.process_time()
    forget_peak()
    trial = replicas.agreed(lambda: prepare(experiment, device))
    # For dropout alone; everything else has a generator of its own.
    torch.manual_seed(trial.streams.weights + replicas.rank)
    curve = []
    steps = train(
        trial.model,
        trial.examples(),
        steps=experiment.steps,
        rate=experiment.rate,
        warmup=experiment.warmup,
        encoding_rate=experiment.encoding_rate,
        label_smoothing=experiment.label_smoothing,
        every=every,
        replicas=replicas,
        keeper=checkpoint,
    )
    for progress in steps:
        curve.append(progress)
        yield progress
    if checkpoint is not None:  # whose curve begins before the stop
        curve, began = checkpoint.curve, began - checkpoint.spent
    yield TrainedTrial(trial, tuple(curve), began, replicas.versions)


def result_of(trained: TrainedTrial) -> Result:
    """Measure a trained model at the lengths of its experiment.

    Args:
        trained: The trial with its trained model.

    Returns:
        The result of the experiment.
    """
    with blaming(trained.trial.experiment):
        return _measured(trained)


def _measured(trained: TrainedTrial) -> Result:
    trial, exam = trained.trial, trained.trial.examination
    experiment, model, task = trial.experiment, trial.model, trial.task
    versions = [*package_versions(), *trained.versions]
    if trial.device != "cpu":
        versions.append(("device", described(trial.device)))
    if model_folder(experiment.model) is not None:
        versions.append(("transformers", version("transformers")))
    if isinstance(task, Written):
        versions.append(("sacrebleu", bleu_signature()))
    return Result(
        experiment,
        trained.curve,
        scores(exam, experiment.test_lengths),
        by_context(exam, experiment.test_lengths),
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        sample=_sample(trial),
        versions=tuple(versions),
        seconds=time.process_time() - trained.began,
        memory=peak(),
    )


def sample_tokens(trial: Trial) -> tuple[int, ...]:
    """Tokens that a language model of the lab writes behind the first held-out ones; none for other tasks."""
    task = trial.task
    if not isinstance(task, CharacterLM) or not isinstance(trial.model, Transformer) or not trial.experiment.causal:
        return ()
    prompt = task.corpus.held_out[: max(1, trial.experiment.length // 4)].tolist()
    count = min(SAMPLE, trial.limit - len(prompt))
    tokens: tuple[int, ...] = generate(trial.model, prompt, count, seed=trial.streams.samples)
    return tokens


def _sample(trial: Trial) -> str:
    """Text from a language model; "" for other tasks."""
    tokens = sample_tokens(trial)
    return "".join(trial.task.corpus.words[token] for token in tokens) if isinstance(trial.task, CharacterLM) else ""
