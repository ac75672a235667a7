"""Running an experiment: made ready, trained, and measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from posenc.lab.data import Seeds, seeds
from posenc.lab.encodings import encodings
from posenc.lab.experiment import Experiment, Shape
from posenc.lab.machine import check_device, described, forget_peak, peak
from posenc.lab.models.example import Example, example, sampled_positions
from posenc.lab.models.generate import generate
from posenc.lab.models.model_folder import ModelFolder, model_folder
from posenc.lab.models.transformer import Transformer
from posenc.lab.result import Progress, Result
from posenc.lab.scoring import Examination, bleu_signature, by_context, scores
from posenc.lab.tasks.language import CharacterLM
from posenc.lab.tasks.task import Batch, Task
from posenc.lab.tasks.task_table import task_of, task_row
from posenc.lab.tasks.written import Written
from posenc.lab.train import OneProcess, Replicas, train

SAMPLE = 160


@dataclass(frozen=True, eq=False)
class Trial:
    """An experiment that is ready to run.

    Args:
        experiment: What is run.
        task: Of the experiment.
        model: Before training: a `Transformer`, or a `HuggingFaceModel`, which is called as one.
        streams: Seeds of its three streams of random numbers.
        device: Of PyTorch.
    """

    experiment: Experiment
    task: Task
    model: Any  # a Transformer, or a HuggingFaceModel, which is called as one
    streams: Seeds
    device: str = "cpu"

    @property
    def examination(self) -> Examination:
        """The model, which is measured from now on, and its test sequences."""
        return Examination(self.model.eval(), self.task, self.streams.samples, self.place)

    @property
    def limit(self) -> int:
        """No position reaches this number."""
        return _limit(self.experiment, self.task)

    def examples(self) -> Iterator[Example]:
        """Draw training examples without end; they depend on the task and the seed alone."""
        drawn, placed = (np.random.default_rng([self.streams.batches, use]) for use in (0, 1))
        length = self.experiment.length
        while True:
            items = int(drawn.integers(1, length, endpoint=True)) if self.task.varies else length
            yield self.place(self.task.batch(drawn, self.experiment.batch, items), placed, training=True)

    def place(self, batch: Batch, rng: np.random.Generator, *, training: bool = False) -> Example:
        """Place a batch at the positions that the experiment's sampler gives it.

        Args:
            batch: Of the task.
            rng: Draws the positions.
            training: Whether the batch is trained on.

        Returns:
            The batch as tensors on the trial's device.
        """
        sampler, limit = self.experiment.positions, self.limit
        source = None
        if batch.source is not None:
            source = sampled_positions(sampler, batch.source, None, limit, rng, training=training)
        own = sampled_positions(sampler, batch.tokens, batch.coupled, limit, rng, training=training)
        return example(batch, own, source, self.device)


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


def prepare(experiment: Experiment, device: str = "cpu") -> Trial:
    """Make an experiment ready to run, or say why it cannot be run.

    Args:
        experiment: What to run.
        device: Of PyTorch.

    Returns:
        The trial.

    Raises:
        ValueError: The task or an option is unknown, data is missing, the device is not there, the model would see the
            answer, or the encoding does not fit the model or the lengths. The message says which.

    Example:
        >>> prepare(Experiment("RoPE(dim=16)", "copy")).limit
        257
    """
    check_device(device)
    row, task = task_row(experiment.task), task_of(experiment)
    if experiment.kind not in row.models:
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
    streams = seeds(experiment.seed)
    folder = model_folder(experiment.model)
    build = _of_lab if folder is None else _of_folder(experiment, task, folder, streams.weights)
    try:
        trial = Trial(experiment, task, build(experiment, task, streams.weights).to(device), streams, device)
        _try_ends(trial)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"encoding must fit the model and the lengths; got {experiment.encoding}: {error}") from None
    return trial


def _limit(experiment: Experiment, task: Task) -> int:
    """Smallest number that no position reaches."""
    return max(map(task.tokens_at, (*experiment.test_lengths, experiment.length)))


def _of_lab(experiment: Experiment, task: Task, seed: int) -> Transformer:
    """A model of the lab."""
    shape = Shape(
        task.vocabulary,
        experiment.width,
        experiment.heads,
        experiment.layers,
        experiment.causal,
        reads_source=experiment.kind == "encoder-decoder",
        dropout=experiment.dropout,
    )
    return Transformer(shape, encodings(experiment.encoding, width=shape.width, heads=shape.heads), seed=seed)


def _of_folder(experiment: Experiment, task: Task, folder: ModelFolder, seed: int) -> Callable[..., Any]:
    """Builder of a model of transformers, which has the dropout of its config.

    The model is loaded here, so that its own faults are not taken for those of an encoding.
    """
    from posenc.lab.models.hugging_face_model import loaded, with_positions

    model, own = loaded(folder, seed)
    rows = int(model.config.get_text_config().vocab_size)
    if task.tokens > rows:
        raise ValueError(
            f"model must have a row for each of the {task.tokens} tokens of {experiment.task}; got vocab_size={rows}. "
            "Use a smaller vocabulary, or, from scratch, change config.json."
        )
    return lambda *_: with_positions(model, own, experiment.encoding, _limit(experiment, task), seed)


@torch.no_grad()  # type: ignore[untyped-decorator]
def _try_ends(trial: Trial) -> None:
    """Run the model at the first and the last position that the experiment has."""
    ends = torch.tensor([0, trial.limit - 1], device=trial.device)
    tokens = torch.zeros_like(ends)[None]
    memory = None if trial.model.source is None else trial.model.read(tokens, ends)
    if not bool(trial.model(tokens, ends, memory=memory).isfinite().all()):
        raise ValueError(f"it gives no finite numbers at position {trial.limit - 1}. Use shorter test lengths.")


def run(
    experiment: Experiment, *, every: int = 10, device: str = "cpu", replicas: Replicas | None = None
) -> Iterator[Progress | Result]:
    """Train and measure an experiment. Equal experiments give equal numbers on one thread.

    Args:
        experiment: What to run.
        every: Steps between two reports.
        device: Of PyTorch, such as "cuda"; the result names it among its versions where it is not the CPU.
        replicas: The processes that train together, of which number 0 alone gives the result; this one alone where
            None.

    Yields:
        Progress, and at last the result.

    Raises:
        ValueError: The experiment cannot be run (see `prepare`); raised before any training.
        DivergedError: The loss becomes infinite or NaN.
    """
    for report in train_trial(experiment, every=every, device=device, replicas=replicas):
        if isinstance(report, Progress):
            yield report
        elif replicas is None or replicas.rank == 0:
            yield result_of(report)


def train_trial(
    experiment: Experiment, *, every: int = 10, device: str = "cpu", replicas: Replicas | None = None
) -> Iterator[Progress | TrainedTrial]:
    """Train an experiment, as `run` does, and give its model before anything is measured.

    Args:
        experiment: What to train.
        every: Steps between two reports.
        device: Of PyTorch.
        replicas: The processes that train together; this one alone where None.

    Yields:
        Progress, and at last the trial with its trained model.

    Raises:
        ValueError: The experiment cannot be run (see `prepare`); raised before any training.
        DivergedError: The loss becomes infinite or NaN.
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
        trial.examples(),
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
    yield TrainedTrial(trial, tuple(curve), began, replicas.versions)


def result_of(trained: TrainedTrial) -> Result:
    """Measure a trained model at the lengths of its experiment.

    Args:
        trained: The trial with its trained model.

    Returns:
        The result of the experiment.
    """
    trial, exam = trained.trial, trained.trial.examination
    experiment, model, task = trial.experiment, trial.model, trial.task
    versions = [*((name, version(name)) for name in ("posenc", "torch", "numpy")), *trained.versions]
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
