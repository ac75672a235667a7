"""Roles of the frequencies of a model of the lab: trained, then measured with each of its rotary pairs changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from posenc.compose import PerLayer
from posenc.core.doors import RotaryEncoding
from posenc.lab.frequency_roles.roles import Cost, FrequencyRoles, PairChange, RolesStudy, planned_changes
from posenc.lab.frequency_roles.rotated_layers import (
    RotatedLayer,
    altered_encoding,
    pair_norms,
    rotary_layers,
    weighted_norms,
)
from posenc.lab.machine import reproducible
from posenc.lab.models.transformer import Transformer, split_heads
from posenc.lab.prepare import Trial, prepare
from posenc.lab.result import Progress
from posenc.lab.scoring import Examination, Predictions
from posenc.lab.trial import train_trial


@dataclass(frozen=True, eq=False)
class LabSubject:
    """A trained model of the lab, measured on its task at the training length.

    Args:
        trial: With the trained model.
        windows: How many sequences are read.
    """

    trial: Trial
    windows: int

    @property
    def layers(self) -> tuple[RotatedLayer, ...]:
        """Layers that rotate.

        Raises:
            ValueError: None does, one rotates twice, or an encoding learns something.
        """
        inside = self.trial.model.stack.layers
        found = [[each for each in encodings if isinstance(each, RotaryEncoding)] for encodings in inside]
        learns = any(each.encoding.shapes for each in self.trial.model.stack.encodings)
        if not any(found) or max(map(len, found)) > 1 or self.trial.model.source is not None or learns:
            raise ValueError(
                "encoding must be one rotation, perhaps with encodings that learn nothing, in a decoder or an encoder; "
                f"got {self.trial.experiment.encoding} in {self.trial.experiment.model}. Use RoPE(dim=16), say."
            )
        heads = self.trial.experiment.heads
        return tuple(RotatedLayer(number, each[0], heads) for number, each in enumerate(found) if each)

    def cost(self, change: PairChange | None) -> Cost:
        model = self.trial.model if change is None else self.altered(change)
        found = self._predictions(model)
        return Cost(float(found.losses[found.predicted].mean()), float(found.right[found.predicted].mean()))

    def altered(self, change: PairChange) -> Transformer:
        """A model with the same weights and some pairs changed."""
        changed = {layer.number: altered_encoding(change, layer) for layer in self.layers}
        own = self.trial.model
        inside = [
            [changed[number] if isinstance(each, RotaryEncoding) else each for each in encodings]
            for number, encodings in enumerate(own.stack.layers)
        ]
        most = max(map(len, inside))
        schedules = [PerLayer(tuple(each[k] if k < len(each) else None for each in inside)) for k in range(most)]
        model = Transformer(own.shape, [*(each.encoding for each in own.stack.added), *schedules], seed=0)
        model.load_state_dict(own.state_dict())
        model.to(self.trial.device).eval()
        return model

    def norms(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        by_number = {layer.number: layer for layer in self.layers}
        sums: dict[int, list[tuple[np.ndarray, np.ndarray, int]]] = {number: [] for number in by_number}

        def note(number: int) -> Any:
            layer = by_number[number]

            def noting(block: Any, given: tuple[Any, ...]) -> None:
                q, k, _ = split_heads(block.norms[0](given[0]) @ block.project, 3, layer.heads)
                sums[number].append((pair_norms(q, layer), pair_norms(k, layer), len(q)))

            return noting

        with ExitStack() as stack:
            for number in by_number:
                block = self.trial.model.stack.blocks[number]
                stack.callback(block.register_forward_pre_hook(note(number)).remove)
            self._predictions(self.trial.model)
        return {number: weighted_norms(parts) for number, parts in sums.items()}

    def _predictions(self, model: Transformer) -> Predictions:
        trial, length = self.trial, self.trial.experiment.length
        exam = Examination(model.eval(), trial.task, trial.streams.samples, self.trial.place)
        found: Predictions = exam.predictions(exam.sequences(length, self.windows), length)
        return found


def study_roles(study: RolesStudy) -> Iterator[Progress | FrequencyRoles]:
    """Train the model of a study, and measure it with its rotary pairs stopped, averaged and removed.

    Args:
        study: What to train, and what to change.

    Yields:
        Progress, in steps of the experiment for the whole study, then the roles.

    Raises:
        ValueError: The experiment cannot be run, or its model does not rotate; raised before any training.
    """
    reproducible()
    one, last = study.experiment, Progress(0, 0.0)
    begun_roles(study)
    for report in train_trial(one):
        if isinstance(report, Progress):
            last = report
            yield Progress(report.step // 2, report.loss)
        else:
            subject = LabSubject(report.trial, study.windows)
    layers = rotary_layers(subject)
    changes, measured = planned_changes(layers, study.by), []
    for change in changes:
        measured.append((change, subject.cost(change)))
        yield Progress(one.steps * (len(changes) + len(measured)) // (2 * len(changes)), last.loss)
    versions = tuple((name, version(name)) for name in ("posenc", "torch", "numpy"))
    yield FrequencyRoles(
        subject_in_words(study), one.seed, one.length, study.windows, layers, subject.cost(None), tuple(measured),
        versions,
    )  # fmt: skip


def begun_roles(study: RolesStudy) -> Trial:
    """Prepare the trial of a study, and check that its model rotates by fixed frequencies.

    Raises:
        ValueError: The experiment cannot be run, or its model does not rotate.
    """
    trial = prepare(study.experiment)
    if not isinstance(trial.model, Transformer):
        raise ValueError(f"model must be one of the lab's; got {study.experiment.model}. Give its folder as --model.")
    for layer in LabSubject(trial, study.windows).layers:
        layer.radians()
    return trial


def subject_in_words(study: RolesStudy) -> str:
    """Describe the model of a study and its training in a line, without the seed.

    Example:
        >>> from posenc.lab.tasks.task_table import experiment
        >>> subject_in_words(RolesStudy(experiment("RoPE(dim=16)", "character-lm")))
        'RoPE(dim=16) on character-lm, decoder, width 64, 2 layers, 4 heads, 1500 steps of 32 sequences of 64'
    """
    one = study.experiment
    return (
        f"{one.encoding} on {one.task}, {one.model}, width {one.width}, {one.layers} layers, {one.heads} heads, "
        f"{one.steps} steps of {one.batch} sequences of {one.length}"
    )
