"""One experiment: a model trained on a task with an encoding, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice

import torch

from posenc.lab.devices import described
from posenc.lab.experiment import Experiment
from posenc.lab.memory import forget_peak, peak
from posenc.lab.models.generate import generate
from posenc.lab.models.model_folder import model_folder
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import Trial, prepare
from posenc.lab.replicas import OneProcess, Replicas
from posenc.lab.result import Progress, Result
from posenc.lab.scoring import bleu_signature, by_context, scores
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.written import Written
from posenc.lab.train import train

SAMPLE = 160


def run(
    experiment: Experiment, *, every: int = 10, device: str = "cpu", replicas: Replicas | None = None
) -> Iterator[Progress | Result]:
    """Progress after every `every` steps, then the result; equal experiments give equal numbers on one thread.

    Args:
        device: Of PyTorch, such as "cuda"; the result names it among its versions where it is not the CPU.
        replicas: The processes that train together, of which number 0 alone gives the result; this one alone where left
            out.

    Raises:
        ValueError: Before any training for what cannot be run (see `prepare`), and `DivergedError` while training.
    """
    replicas = replicas or OneProcess()
    began = time.process_time()
    forget_peak()
    trial = replicas.agreed(lambda: prepare(experiment, device))
    # For dropout alone; everything else has a generator of its own.
    torch.manual_seed(trial.streams.weights + replicas.rank)
    curve = []
    steps = train(
        trial.model,
        islice(trial.examples(), experiment.steps),
        steps=experiment.steps,
        rate=experiment.rate,
        warmup=experiment.warmup,
        encoding_rate=experiment.encoding_rate,
        label_smoothing=experiment.label_smoothing,
        every=every,
        replicas=replicas,
    )
    for progress in steps:
        curve.append(progress)
        yield progress
    if replicas.rank == 0:
        yield _measured(trial, tuple(curve), began, replicas.versions)


def _measured(trial: Trial, curve: tuple[Progress, ...], began: float, training: tuple[tuple[str, str], ...]) -> Result:
    experiment, model, task = trial.experiment, trial.model.eval(), trial.task
    lengths, stream = experiment.test_lengths, trial.streams.samples
    versions = [*((name, version(name)) for name in ("posenc", "torch", "numpy")), *training]
    if trial.device != "cpu":
        versions.append(("device", described(trial.device)))
    if model_folder(experiment.model) is not None:
        versions.append(("transformers", version("transformers")))
    if isinstance(task, Written):
        versions.append(("sacrebleu", bleu_signature()))
    return Result(
        experiment,
        curve,
        scores(model, task, lengths, stream, trial.place),
        by_context(model, task, lengths, stream, trial.place),
        parameters=sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        sample=_sample(trial),
        versions=tuple(versions),
        seconds=time.process_time() - began,
        memory=peak(),
    )


def _sample(trial: Trial) -> str:
    """Text from a language model, behind the first held-out tokens."""
    task = trial.task
    if not isinstance(task, CharacterLM) or not isinstance(trial.model, Transformer) or not trial.experiment.causal:
        return ""
    prompt = task.corpus.held_out[: max(1, trial.experiment.length // 4)].tolist()
    count = min(SAMPLE, trial.limit - len(prompt))
    return "".join(
        task.corpus.words[token] for token in generate(trial.model, prompt, count, seed=trial.streams.samples)
    )
