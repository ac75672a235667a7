"""Roles of the frequencies of a user's own model, measured one change after another and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

import numpy as np

from posenc.core.declared_fields import Declared, Instance, Whole
from posenc.core.doors import RotaryEncoding
from posenc.lab.experiment import LONGEST, digest
from posenc.lab.frequency_roles.roles import Cost, FrequencyRoles, Level, PairChange, RotaryLayer, planned_changes
from posenc.lab.frequency_roles.rotated_layers import (
    RotatedLayer,
    altered_encoding,
    pair_norms,
    rotary_layers,
    weighted_norms,
)
from posenc.lab.kept_measurements import KeptMeasurements
from posenc.lab.models.checkpoint import LoadedDecoder, spread_windows, state_of_folder
from posenc.transformers.model_hooks import observe_attention
from posenc.transformers.swapping.swap import swap


@dataclass(frozen=True, eq=False)
class CheckpointSubject:
    """A user's own model, measured on windows of a text.

    Args:
        checkpoint: The model.
        windows: Token numbers, (windows, n).
    """

    checkpoint: LoadedDecoder
    windows: np.ndarray

    @property
    def layers(self) -> tuple[RotatedLayer, ...]:
        """Layers that rotate.

        Raises:
            ValueError: None does.
        """
        found = tuple(
            RotatedLayer(layer.number, layer.rotation, layer.heads)
            for layer in self.checkpoint.own.layers
            if layer.rotation is not None
        )
        if not found:
            raise ValueError(
                f"model must rotate queries and keys; got {self.checkpoint.path!r}, which does not. Use a model with "
                "RoPE."
            )
        return found

    def cost(self, change: PairChange | None) -> Cost:
        with ExitStack() as stack:
            for encoding, numbers in ({} if change is None else self._changed(change)).items():
                stack.enter_context(swap(self.checkpoint.model, encoding, layers=numbers))
            found = self.checkpoint.scores(self.windows)
        return Cost(float(found.losses.mean()), float(found.right.mean()))

    def _changed(self, change: PairChange) -> dict[RotaryEncoding, list[int]]:
        """Numbers of the layers that are changed, by their new encoding."""
        by_encoding: dict[RotaryEncoding, list[int]] = {}
        for layer in self.layers:
            altered = altered_encoding(change, layer)
            if altered != layer.encoding:
                by_encoding.setdefault(altered, []).append(layer.number)
        return by_encoding

    def norms(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        by_number = {layer.number: layer for layer in self.layers}
        sums: dict[int, list[tuple[np.ndarray, np.ndarray, int]]] = {number: [] for number in by_number}

        def note(attend: Any, module: Any, vectors: tuple[Any, ...], rest: Any, named: Any) -> None:
            layer = by_number.get(getattr(module, "layer_idx", -1))
            if layer is not None:
                q, k, _ = vectors
                sums[layer.number].append((pair_norms(q, layer), pair_norms(k, layer), len(q)))

        with ExitStack() as stack:
            observe_attention(stack, note)
            self.checkpoint.scores(self.windows)
        return {number: weighted_norms(parts) for number, parts in sums.items()}


@dataclass(frozen=True)
class CheckpointPlan(Declared):
    """Plan of the measurements of a user's own model.

    Args:
        text: That it reads.
        by: What is changed at once.
        length: Tokens that are predicted in a window.
        windows: How many windows are read.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.
    """

    text: Annotated[str, Instance("a text")]
    by: Level
    length: Annotated[int, Whole(1, LONGEST)]
    windows: Annotated[int, Whole(1, 1 << 16)]

    def identity(self, checkpoint: LoadedDecoder) -> str:
        """Digest that names the measurements; it changes with files, dtype, device, batch, text, length and windows.

        A pair is averaged over the windows that are read at once, so their number is part of it.
        """
        facts = [state_of_folder(checkpoint.path), digest(self.text), self.length, self.windows, checkpoint.batch]
        return digest(json.dumps([*facts, str(checkpoint.model.dtype), checkpoint.device]))


def roles_of_checkpoint(
    checkpoint: LoadedDecoder, plan: CheckpointPlan, kept: KeptMeasurements
) -> Iterator[tuple[int, int] | FrequencyRoles]:
    """Measure what changes of rotary pairs cost a checkpoint, except those measured in an earlier run.

    Args:
        checkpoint: The model.
        plan: What is measured.
        kept: Gets each measurement when it comes.

    Yields:
        (done, planned) after each measurement, and at last the roles.

    Raises:
        ValueError: The model does not rotate, or the text is too short; raised before any measurement.
    """
    windows = spread_windows(checkpoint, plan.text, plan.length + 1, plan.windows, purpose="for a window")
    subject, identity = CheckpointSubject(checkpoint, windows), plan.identity(checkpoint)
    for layer in subject.layers:
        layer.radians()
    layers = _kept_layers(subject, kept, f"{identity} layers")
    changes = planned_changes(layers, plan.by)
    names = {change: f"{identity} {change.name}" for change in changes}
    known = {change: Cost(*kept.known[name]) for change, name in names.items() if name in kept.known}
    if f"{identity} unchanged" not in kept.known:
        kept.add(f"{identity} unchanged", subject.cost(None))
    yield len(known), len(changes)
    for change in changes:
        if change not in known:
            known[change] = subject.cost(change)
            kept.add(names[change], known[change])
            yield len(known), len(changes)
    versions = tuple((name, version(name)) for name in ("posenc", "torch", "transformers"))
    kind = f"{checkpoint.model.dtype}, {checkpoint.device}, {checkpoint.batch} windows at once".replace("torch.", "")
    name = f"{checkpoint.path} ({kind})"
    unchanged, costs = Cost(*kept.known[f"{identity} unchanged"]), tuple((change, known[change]) for change in changes)
    yield FrequencyRoles(name, None, plan.length, len(windows), layers, unchanged, costs, versions)


def _kept_layers(subject: CheckpointSubject, kept: KeptMeasurements, name: str) -> tuple[RotaryLayer, ...]:
    """Rotary layers with the share of each pair, read from `kept`, or measured and added to it."""
    if name not in kept.known:
        kept.add(name, [[layer.number, layer.radians, layer.shares] for layer in rotary_layers(subject)])
    return tuple(
        RotaryLayer(number, tuple(radians), tuple(map(tuple, shares))) for number, radians, shares in kept.known[name]
    )
