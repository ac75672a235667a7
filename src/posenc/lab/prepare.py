"""Experiments made ready to run, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from posenc.lab.data import Seeds, seeds
from posenc.lab.encodings import encodings
from posenc.lab.experiment import Experiment, Shape
from posenc.lab.machine import check_device
from posenc.lab.models.example import Example, example, sampled_positions
from posenc.lab.models.model_folder import ModelFolder, model_folder
from posenc.lab.models.transformer import Transformer
from posenc.lab.own_code import blame, blaming, check_own_task
from posenc.lab.scoring import Examination
from posenc.lab.tasks.task import Batch, Task
from posenc.lab.tasks.task_table import task_of, task_row


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
        """Examination of the model on its test sequences; it puts the model into evaluation mode."""
        return Examination(self.model.eval(), self.task, self.streams.samples, self.place)

    @property
    def limit(self) -> int:
        """No position reaches this number."""
        return _limit(self.experiment, self.task)

    def examples(self) -> Iterator[Example]:
        """Draw training examples without end; the same seed draws the same ones whatever the encoding."""
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
        OwnCodeError: An encoding or a task of the user's own raises an error or gives something else.

    Example:
        >>> prepare(Experiment("RoPE(dim=16)", "copy")).limit
        257
    """
    check_device(device)
    with blaming(experiment):
        return _prepared(experiment, device)


def _prepared(experiment: Experiment, device: str) -> Trial:
    row, task = task_row(experiment.task), task_of(experiment)
    if ".py" in experiment.task:
        check_own_task(task, experiment)
    if experiment.kind not in row.models:
        raise ValueError(
            f"model must be {' or '.join(row.models)} for the task {row.name}; got {experiment.model!r}. Another one "
            "would see the answer, or have no source to read."
        )
    if experiment.positions == "coupled" and task.batch(np.random.default_rng(0), 1, experiment.length).coupled is None:
        raise ValueError(
            f"positions must not be 'coupled' for the task {row.name}, which has no coupled ids. Use 'range'."
        )
    task.require_training(experiment.length)
    for length in experiment.test_lengths:
        task.require(length)
    streams = seeds(experiment.seed)
    folder = model_folder(experiment.model)
    build = _of_lab if folder is None else _of_folder(experiment, task, folder, streams.weights)
    try:
        trial = Trial(experiment, task, build(experiment, task, streams.weights).to(device), streams, device)
        _try_ends(trial)
    except (ValueError, TypeError, IndexError) as error:
        blame(error, experiment)
        raise ValueError(f"encoding must fit the model and the lengths; got {experiment.encoding}: {error}") from None
    return trial


def _limit(experiment: Experiment, task: Task) -> int:
    """Smallest number that no position reaches."""
    return max(map(task.tokens_at, (*experiment.test_lengths, experiment.length)))


def _of_lab(experiment: Experiment, task: Task, seed: int) -> Transformer:
    """Build an untrained `Transformer` of the lab with the experiment's encodings."""
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
    """Check that logits at the first and the last position of the experiment are finite."""
    ends = torch.tensor([0, trial.limit - 1], device=trial.device)
    tokens = torch.zeros_like(ends)[None]
    memory = None if trial.model.source is None else trial.model.read(tokens, ends)
    if not bool(trial.model(tokens, ends, memory=memory).isfinite().all()):
        raise ValueError(f"it gives no finite numbers at position {trial.limit - 1}. Use shorter test lengths.")
