"""Record of the calls of transformers' attention functions: measured, with queries, keys and values traced back."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from posenc.diagnosis.model_capture import MeasuredAttention, Recorded, ValueSource
from posenc.transformers.attention_probe import Attend, measure_attention
from posenc.transformers.model_hooks import observe_attention
from posenc.transformers.traced_vectors import Projection, RotationCall, Sources

#: Names of modules that attend to another sequence.
CROSS = re.compile(r"cross|encdec|encoder_att|enc_att", re.IGNORECASE)
#: Words in dotted names, and the part of a model that they say.
PARTS = {"vision": "vision", "visual": "vision", "image": "vision", "audio": "audio", "encoder": "encoder",
         "decoder": "decoder"}  # fmt: skip


class RecordedPlace(NamedTuple):
    """Layer number of a module, and part of the model ("vision", "decoder", …; "" if its name says none)."""

    layer: int | None
    part: str


class Step(NamedTuple):
    """Call of an attention function: what it did, and the vectors that reached it."""

    seen: MeasuredAttention
    arrays: dict[str, torch.Tensor]


def place_of(name: str) -> RecordedPlace:
    """The layer and the part of a module, by its dotted name."""
    words = name.split(".")
    layer = next((int(word) for word in words if word.isdigit()), None)
    part = next((part for key, part in PARTS.items() if any(key in word.lower() for word in words)), "")
    return RecordedPlace(layer, part)


class AttentionRecorder:
    """Recorder of the vectors that reach attention, and of what attention does with them."""

    def __init__(self, model: torch.nn.Module, padded: np.ndarray | None = None) -> None:
        self.model, self.padded = model, padded
        self.names = {id(module): name for name, module in model.named_modules()}
        self.pending: list[RotationCall] = []
        self.projections: list[Projection] = []
        self.keys: dict[tuple[RecordedPlace, int], torch.Tensor] = {}
        self.values: list[tuple[torch.Tensor, ValueSource]] = []
        self.calls_of: Counter[RecordedPlace] = Counter()
        self.steps: dict[tuple[RecordedPlace, int], list[Step]] = {}

    def watch(self, stack: ExitStack) -> None:
        """Hook the model so that each call of its attention function is measured, until `stack` is closed."""
        stack.callback(self.model.register_forward_pre_hook(self._begin).remove)
        for module in self.model.modules():
            if not list(module.children()) and (list(module.parameters()) or "Norm" in type(module).__name__):
                stack.callback(module.register_forward_hook(self._note_projection).remove)
        observe_attention(stack, self._note)

    def _begin(self, module: Any, arguments: tuple[Any, ...]) -> None:
        self.calls_of.clear()
        self.values.clear()

    def _note_projection(self, module: Any, given: tuple[Any, ...], output: Any) -> None:
        """Record the output of a linear layer or norm, recomputed by its class where a hook or patch may change it."""
        if not isinstance(output, torch.Tensor) or not output.is_floating_point() or not given:
            return
        changed = "forward" in vars(module) or len(module._forward_hooks) > 1
        own = type(module).forward(module, *given) if changed and not hasattr(module, "_hf_hook") else output
        before = given[0] if isinstance(given[0], torch.Tensor) and given[0].shape == output.shape else None
        self.projections.append(Projection(own.clone(), None if before is None else before.clone()))

    def _note(self, attend: Attend, module: Any, vectors: tuple[Any, Any, Any], rest: Any, named: Any) -> None:
        """Note a call of self-attention."""
        sources = Sources(self.pending, self.projections)
        self.pending, self.projections = [], []
        name = self.names.get(id(module))
        if name is None or CROSS.search(name):
            return
        q, k, v = vectors
        shown = measure_attention(attend, module, vectors, rest, named)
        place, new = place_of(name), q.shape[2]
        key = place, self.calls_of[place]
        self.calls_of[place] += 1
        query, keys = sources.trace(q, 0), sources.trace(k[:, :, -new:], 1)
        arrays: dict[str, torch.Tensor] = {}
        for letter, traced in (("q", query), ("k", keys)):
            if traced is not None:
                arrays |= {letter: traced.before, f"{letter}_rotated": traced.after}
        factor = shown.scale
        for traced in (query, keys):
            known = factor is not None and traced is not None and traced.factor is not None
            factor = factor * traced.factor if known else None  # type: ignore[operator, union-attr]
        factor = None if factor is None else factor * q.shape[-1] ** 0.5
        values = self._values_from(sources, v[:, :, -new:]) if shown.sums_values else "inside attention"
        kept = self._keeps_keys(key, k, new)
        dtype = str(q.dtype).removeprefix("torch.")
        finite = all(map(self._is_finite, (q, k[:, :, -new:], v[:, :, -new:])))
        seen = MeasuredAttention(
            shown.visible.numpy(), *place, factor, values, shown.multiplies, kept, dtype, finite,
            added=shown.added, heads_alike=shown.heads_alike,
        )  # fmt: skip
        self.steps.setdefault(key, []).append(Step(seen, arrays))

    def _values_from(self, sources: Sources, v: torch.Tensor) -> ValueSource:
        """Source of values; that of the earlier layer where a layer shares the values of one (Gemma 3n)."""
        known = next((source for given, source in self.values if torch.equal(given, v)), None)
        source = sources.of_values(v) if known is None else known
        self.values.append((v.clone(), source))
        return source

    def _is_finite(self, x: torch.Tensor) -> bool:
        """Whether vectors (batch, heads, n, d) are finite at every token that is no padding."""
        rows = torch.isfinite(x).all(-1).all(1).cpu().numpy()
        padded = self.padded
        return bool(rows.all() if padded is None or padded.shape != rows.shape else rows[~padded].all())

    def _keeps_keys(self, key: tuple[RecordedPlace, int], k: torch.Tensor, new: int) -> bool:
        """Whether the cached keys are bit-identical to those of the step before."""
        earlier, kept = self.keys.get(key), k.shape[2] - new
        self.keys[key] = k.clone()
        if earlier is None or kept == 0:
            return True
        one, other = earlier[:, :, -kept:], k[:, :, :kept]
        return bool(((one == other) | (one.isnan() & other.isnan())).all())

    def attention(self) -> tuple[MeasuredAttention, ...]:
        """Return what attention does in each layer, with the steps of a layer joined."""
        return tuple(_joined([step.seen for step in steps]) for steps in self.steps.values())

    def rotations(self) -> list[Recorded]:
        """Return the queries and keys that reached attention in each layer, before and after rotation."""
        recorded = []
        for (place, _), steps in self.steps.items():
            names = set.intersection(*(set(step.arrays) for step in steps))
            arrays = {name: torch.cat([step.arrays[name] for step in steps], 2) for name in sorted(names)}
            if arrays:
                recorded.append(Recorded(arrays, place.layer, place.part, "bhtd"))
        return recorded


def _joined(steps: list[MeasuredAttention]) -> MeasuredAttention:
    """Join the steps of a layer into a record: their queries one below the other, all keys side by side."""
    batch, _, _ = steps[0].visible.shape
    total = sum(step.visible.shape[1] for step in steps)
    visible = np.zeros((batch, total, total), dtype=bool)
    end = 0
    for step in steps:
        start, end = end, end + step.visible.shape[1]
        keys = step.visible[:, :, -end:]  # a cache of a fixed size has room for later ones
        visible[:, start:end, end - keys.shape[2] : end] = keys
    factors = [step.logit_factor for step in steps if step.logit_factor is not None]
    farthest = max(factors, key=lambda one: abs(np.log(abs(one / factors[0]))), default=None)
    values: ValueSource = next((step.values for step in steps if step.values != "projection"), "projection")
    return replace(
        steps[0],
        visible=visible,
        logit_factor=farthest if len(factors) == len(steps) else None,
        values=values,
        multiplies=all(step.multiplies for step in steps),
        keeps_keys=all(step.keeps_keys for step in steps),
        finite=all(step.finite for step in steps),
        added=max(step.added for step in steps),
        heads_alike=all(step.heads_alike for step in steps),
    )
