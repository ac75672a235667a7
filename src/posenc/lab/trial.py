"""One experiment: a model trained on a task with an encoding, and measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice

import numpy as np
import torch

from posenc.lab.data import Seeds, seeds
from posenc.lab.encodings import records
from posenc.lab.experiment import Experiment
from posenc.lab.memory import forget_peak, peak
from posenc.lab.models.example import Example, example
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress, Result
from posenc.lab.run_config import Shape
from posenc.lab.samplers import positions
from posenc.lab.scoring import bleu_signature, by_context, scores
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.table import task_of, task_row
from posenc.lab.tasks.task import Batch, Task
from posenc.lab.tasks.written import Written
from posenc.lab.train import train

SAMPLE = 160


@dataclass(frozen=True, eq=False)
class Trial:
    """An experiment that can be run: its task, its model before training, and its three streams of random numbers."""

    experiment: Experiment
    task: Task
    model: Transformer
    streams: Seeds
    device: str = "cpu"

    @property
    def limit(self) -> int:
        """No position reaches this number."""
        lengths = (*self.experiment.test_lengths, self.experiment.length)
        return max(map(self.task.tokens_at, lengths))

    def examples(self) -> Iterator[Example]:
        """Training examples without end; what is drawn depends on the task and the seed alone."""
        drawn, placed = (np.random.default_rng([self.streams.batches, use]) for use in (0, 1))
        length = self.experiment.length
        while True:
            items = int(drawn.integers(1, length, endpoint=True)) if self.task.varies else length
            yield self.place(self.task.batch(drawn, self.experiment.batch, items), placed, training=True)

    def place(self, batch: Batch, rng: np.random.Generator, *, training: bool = False) -> Example:
        """A batch at the positions that the experiment's sampler gives it."""
        sampler, limit = self.experiment.positions, self.limit
        source = None
        if batch.source is not None:
            source = positions(sampler, batch.source, None, limit, rng, training=training)
        own = positions(sampler, batch.tokens, batch.coupled, limit, rng, training=training)
        return example(batch, own, source, self.device)


def run(experiment: Experiment, *, every: int = 10, device: str = "cpu") -> Iterator[Progress | Result]:
    """Progress after every `every` steps, then the result; equal experiments give equal numbers on one thread.

    device: of PyTorch, such as "cuda"; the result names it among its versions where it is not the CPU.
    Raises ValueError before any training for what cannot be run (see `prepare`), and `DivergedError` while training.
    """
    began = time.process_time()
    forget_peak()
    trial = prepare(experiment, device)
    torch.manual_seed(trial.streams.weights)  # for dropout alone; everything else has a generator of its own
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
    )
    for progress in steps:
        curve.append(progress)
        yield progress
    yield _measured(trial, tuple(curve), began)


def prepare(experiment: Experiment, device: str = "cpu") -> Trial:
    """The experiment, ready to run, or the ValueError that says in a sentence why it cannot be run: an unknown task or
    option, missing data, a model that would see the answer, an encoding that does not fit the model or the lengths."""
    row, task = task_row(experiment.task), task_of(experiment)
    if experiment.model not in row.models:
        raise ValueError(
            f"model must be {' or '.join(row.models)} for the task {row.name}; got {experiment.model!r}. Another one "
            "would see the answer, or have no source to read."
        )
    if experiment.positions == "coupled" and task.batch(np.random.default_rng(0), 1, experiment.length).coupled is None:
        raise ValueError(
            f"positions must not be 'coupled' for the task {row.name}, which has no coupled ids. Use 'range'."
        )
    for length in (experiment.length, experiment.test_lengths[-1]):
        task.require(length)
    shape = Shape(
        task.vocabulary,
        experiment.width,
        experiment.heads,
        experiment.layers,
        experiment.causal,
        reads_source=experiment.model == "encoder-decoder",
        dropout=experiment.dropout,
    )
    encodings = records(experiment.encoding, width=experiment.width, heads=experiment.heads)
    streams = seeds(experiment.seed)
    try:
        model = Transformer(shape, encodings, seed=streams.weights).to(device)
        trial = Trial(experiment, task, model, streams, device)
        _try_ends(trial)
    except (ValueError, TypeError) as error:
        raise ValueError(f"encoding must fit the model and the lengths; got {experiment.encoding}: {error}") from None
    return trial


@torch.no_grad()  # type: ignore[untyped-decorator]
def _try_ends(trial: Trial) -> None:
    """Run the model at the first and the last position that the experiment has."""
    ends = torch.tensor([0, trial.limit - 1], device=trial.device)
    tokens = torch.zeros_like(ends)[None]
    memory = None if trial.model.source is None else trial.model.read(tokens, ends)
    if not bool(trial.model(tokens, ends, memory=memory).isfinite().all()):
        raise ValueError(f"it gives no finite numbers at position {trial.limit - 1}. Use shorter test lengths.")


def _measured(trial: Trial, curve: tuple[Progress, ...], began: float) -> Result:
    experiment, model, task = trial.experiment, trial.model.eval(), trial.task
    lengths, stream = experiment.test_lengths, trial.streams.samples
    versions = [(name, version(name)) for name in ("posenc", "torch", "numpy")]
    if trial.device != "cpu":
        versions.append(("device", torch.cuda.get_device_name() if "cuda" in trial.device else trial.device))
    if isinstance(task, Written):
        versions.append(("sacrebleu", bleu_signature()))
    return Result(
        experiment,
        curve,
        scores(model, task, lengths, stream, trial.place),
        by_context(model, task, lengths, stream, trial.place),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        learned=sum(parameter.numel() for parameter in model.encoding_parameters()),
        sample=_sample(trial),
        versions=tuple(versions),
        seconds=time.process_time() - began,
        memory=peak(),
    )


def _sample(trial: Trial) -> str:
    """Text from a language model, behind the first held-out tokens."""
    task = trial.task
    if not isinstance(task, CharacterLM) or not trial.experiment.causal:
        return ""
    prompt = task.corpus.held_out[: max(1, trial.experiment.length // 4)].tolist()
    count = min(SAMPLE, trial.limit - len(prompt))
    return "".join(
        task.corpus.words[token] for token in generate(trial.model, prompt, count, seed=trial.streams.samples)
    )
