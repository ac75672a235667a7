"""Recorder of the positions that the layers of a running model use."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from posenc.core.doors import AttentionBias
from posenc.diagnosis.tracing.trace_records import TracedCall, TracedLayer, TraceRecord
from posenc.models.model_positions import LayerGroup
from posenc.models.pair_rotation import PairRotation, pair_rotation, unwrapped
from posenc.transformers.attention_probe import measure_visible
from posenc.transformers.attention_recorder import CROSS, RecordedPlace, place_of
from posenc.transformers.model_changes import replace_attribute
from posenc.transformers.model_hooks import observe_attention, observe_rotations, position_tables
from posenc.transformers.recording import HOLDS_ALIBI
from posenc.transformers.traced_vectors import Projection, RotationCall, Sources, by_heads
from posenc.transformers.tracing.biased_keys import biased_keys
from posenc.transformers.tracing.call_request import CallRequests
from posenc.transformers.tracing.key_slots import KeyStore
from posenc.transformers.tracing.rotation_steps import RecoveredLayer, Rotated, RotationStep, RotationSteps
from posenc.transformers.tracing.visible_keys import (
    SightOfHeads,
    heeds_its_mask,
    no_mask_rule,
    seen_by_heads,
    visible_keys,
)

#: Numbers of vectors that are held before they are read, so that long prompts through many layers need no memory.
MOST_HELD = 1 << 22


class LayerStep(NamedTuple):
    """A layer in one call: its vectors where it rotates, and what attention was given."""

    place: RecordedPlace
    module: str
    rotation: RotationStep | None
    slots: np.ndarray | None
    seen: SightOfHeads | None
    dtype: str


@dataclass(eq=False)
class PositionRecorder:
    """Recorder of one model into a trace.

    Args:
        model: The model.
        record: The trace.
    """

    model: torch.nn.Module
    record: TraceRecord
    call: TracedCall | None = None
    pending: list[RotationCall] = field(default_factory=list)
    projections: list[Projection] = field(default_factory=list)
    steps: list[LayerStep] = field(default_factory=list)
    stores: dict[tuple[int, str], KeyStore] = field(default_factory=dict)
    masks: dict[object, tuple[Any, SightOfHeads | None]] = field(default_factory=dict)
    meant: dict[tuple[RecordedPlace, int], PairRotation | None] = field(default_factory=dict)
    reader: RotationSteps = field(default_factory=RotationSteps)
    held: int = 0

    def watch(self, stack: ExitStack) -> None:
        """Record every call of the model until the stack is closed."""
        self.names = {id(module): name for name, module in self.model.named_modules()}
        biases = (isinstance(one, AttentionBias) for group in self.record.model.groups for one in group.encodings)
        self.weighs_alike = not any(biases)  # a steep bias makes a weight of 0 in one head and not in another
        self.requests = CallRequests(self.model, self.record)
        self.requests.watch(stack)
        stack.callback(self.model.register_forward_pre_hook(self._begin, with_kwargs=True, prepend=True).remove)
        stack.callback(self.model.register_forward_hook(self._end, with_kwargs=True, always_call=True).remove)
        observe_rotations(stack, self.model, self._note_rotation)
        observe_attention(stack, self._at_attention)
        for module in self.model.modules():
            if isinstance(getattr(module, "layer_idx", None), int):
                stack.callback(module.register_forward_pre_hook(self._note_bias, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(self._after_layer).remove)
                for leaf in module.children():
                    if not list(leaf.children()):
                        stack.callback(leaf.register_forward_hook(self._note_projection).remove)
        tables, functional = position_tables(self.model), torch.nn.functional
        look_up = functional.embedding

        def embedding(rows: Any, weight: Any, *arguments: Any, **named: Any) -> Any:
            if self.call is not None and weight.data_ptr() in tables and rows.dim() <= 2:
                self._note_rows(tables[weight.data_ptr()], rows)
            return look_up(rows, weight, *arguments, **named)

        replace_attribute(stack, functional, "embedding", embedding)

    def _begin(self, module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._clear()
        self.call = self.requests.begin(arguments, named)
        self.record.calls.append(self.call)

    def _end(self, module: Any, arguments: Any, named: Any, output: Any) -> None:
        """Read the positions of the call; where it raised an error, what it did until then."""
        call = self.call
        if call is None:
            return
        self.requests.end(call, output)
        self._read_steps(call)
        self._clear()

    def _add(self, call: TracedCall, step: LayerStep) -> None:
        """Hold a layer's step, and read all held steps once they exceed `MOST_HELD` numbers."""
        self.steps.append(step)
        if step.rotation is not None:
            self.held += sum(one.numel() for side in step.rotation[2:] for one in side)
        if self.held > MOST_HELD:
            self._read_steps(call)

    def _read_steps(self, call: TracedCall) -> None:
        """Read the positions of the steps that are held."""
        given = [step.rotation for step in self.steps if step.rotation is not None]
        read = iter(self.reader.recovered(given, call.expected))
        for step in self.steps:
            recovered = None if step.rotation is None else next(read)
            self.record.layers.append(_traced(call, step, recovered, self._part(step.place)))
        self.steps.clear()
        self.held = 0

    def _clear(self) -> None:
        self.call, self.held = None, 0
        for held in (self.pending, self.projections, self.steps, self.masks):
            held.clear()

    def _part(self, place: RecordedPlace) -> str:
        model = self.record.model
        return place.part if place.part in model.parts or place.part in ("vision", "audio") else model.main_part

    def _note_projection(self, module: Any, given: tuple[Any, ...], output: Any) -> None:
        if self.call is not None and isinstance(output, torch.Tensor):
            before = given[0] if given and getattr(given[0], "shape", None) == output.shape else None
            self.projections.append(Projection(output, before))

    def _note_rotation(self, before: list[torch.Tensor], results: list[Any]) -> None:
        pairs = zip(before, results, strict=False)
        same = [(x, y) for x, y in pairs if isinstance(y, torch.Tensor) and x.shape == y.shape]
        if same and self.call is not None:
            self.pending.append(RotationCall(*map(list, zip(*same, strict=True))))

    def _note_rows(self, name: str, rows: torch.Tensor) -> None:
        """Note the rows that tokens read of a table of positions."""
        call = self.call
        if call is None:
            return
        read = np.atleast_2d(rows.detach().cpu().numpy()).astype(np.float64)
        if read.shape[1] != call.count or read.shape[0] not in (1, len(call.real)):
            return
        every = np.broadcast_to(read, (len(call.real), call.count))[:, None, :, None]
        part = self._part(place_of(name))
        self.record.layers.append(
            TracedLayer(call.number, None, part, name, every, np.zeros((len(every), 0, 0, 1)), kind="rows")
        )

    def _after_layer(self, module: Any, given: Any, output: Any) -> None:
        """Note a layer that rotates and calls no attention function of transformers."""
        self.projections.clear()
        if self.call is None or not self.pending:
            return
        name, place = self.names[id(module)], place_of(self.names[id(module)])
        vectors = [pair for call in self.pending for pair in zip(call.before, call.after, strict=True)]
        self.pending.clear()
        views = [view for before, after in vectors[:2] for view in self._views(before, after)]
        if len(views) < 2:
            return
        queries, keys = sorted(views, key=lambda one: -one.before.numel())
        rotation = self._as_meant(name, place, queries, keys)
        if rotation is not None:
            self._add(self.call, LayerStep(place, name, rotation, None, None, str(keys.after.dtype)[6:]))

    def _views(self, before: torch.Tensor, after: torch.Tensor) -> list[Rotated]:
        """View vectors as (batch, heads, n, d), in the first order of axes that fits; empty where none does."""
        if self.call is None:
            return []
        batch, count = self.call.expected.shape[:2]
        both = zip(by_heads(before.detach(), batch, count), by_heads(after.detach(), batch, count), strict=True)
        return [Rotated(*pair) for pair in both][:1]

    def _note_bias(self, module: Any, arguments: Any, named: dict[str, Any]) -> None:
        """Note the positions of keys that ALiBi's bias shows; layers that share one show it once."""
        bias = next((named[name] for name in HOLDS_ALIBI if isinstance(named.get(name), torch.Tensor)), None)
        if self.call is None or bias is None or bias.data_ptr() in self.masks:
            return
        self.masks[bias.data_ptr()] = bias, None
        traced = biased_keys(self.record.model, self.call, bias, self.names[id(module)])
        if traced is not None:
            self.record.layers.append(traced)

    def _at_attention(self, attend: Any, module: Any, vectors: tuple[Any, ...], rest: Any, named: Any) -> None:
        """Note a call of self-attention: its vectors before and after rotation, its mask and its slots."""
        name, call = self.names.get(id(module)), self.call
        sources = Sources([*self.pending], [*self.projections])
        self.pending.clear()
        self.projections.clear()
        if name is None or CROSS.search(name):
            return
        if call is None or vectors[0].shape[2] != call.count:
            self._note_other_tokens(place_of(name), vectors[0].shape[2])
            return
        q, k = vectors[0].detach(), vectors[1].detach()
        place = place_of(name)
        rotation = self._rotation(name, place, sources, q, k, call.start)
        new = k[:, :, -call.count :] if rotation is None else None
        written = None if rotation is None else _written(sources, rotation.keys.after)
        slots = self._slots(call, name, k, new, written)
        mask = rest[0] if rest else named.get("attention_mask")
        if heeds_its_mask(attend):
            seen = self._visible(module, q.shape[2], k.shape[2], mask, named)
        else:
            seen = seen_by_heads(measure_visible(attend, module, vectors, rest, named))
            seen = seen if self.weighs_alike else SightOfHeads(seen.visible)
        self._add(call, LayerStep(place, name, rotation, slots, seen, str(q.dtype).removeprefix("torch.")))

    def _note_other_tokens(self, place: RecordedPlace, count: int) -> None:
        """Note, once for each part of the model, that it attends over other tokens than those of the call."""
        part = self._part(place)
        note = f"positions and masks of {part}: it attends over {count} tokens or patches of its own"
        if not any(one.startswith(note.split(":")[0]) for one in self.record.not_seen):
            self.record.not_seen.append(note)

    def _group(self, place: RecordedPlace) -> LayerGroup | None:
        part = self._part(place)
        if part not in self.record.model.parts:
            return None
        groups = (group for group in self.record.model.of(part) if "cross" not in group.attention)
        return next((group for group in groups if place.layer in group.layers), None)

    def _rotation(
        self, name: str, place: RecordedPlace, sources: Sources, q: torch.Tensor, k: torch.Tensor, start: int
    ) -> RotationStep | None:
        """Expected rotation of a layer, with its queries and keys before and after; None where they were not traced."""
        group = self._group(place)
        if group is None or group.rotary_encoding is None:
            return None
        queries = _source(sources, q, 0)
        ends = (_reached(sources, own) for own in _new_keys(k, q.shape[2], start))
        keys = next((found for found in ends if found is not None), None)
        keys = keys or _beside(sources, queries, q.shape) or _source(sources, k[:, :, -q.shape[2] :], 1)
        return None if queries is None or keys is None else self._as_meant(name, place, queries, keys)

    def _as_meant(self, name: str, place: RecordedPlace, queries: Rotated, keys: Rotated) -> RotationStep | None:
        """Expected rotation for vectors of this width, with one query head a group; None where no rotation has it."""
        width = queries.before.shape[-1]
        if (place, width) not in self.meant:
            self.meant[place, width] = self._pairs_of(place, width)
        meant = self.meant[place, width]
        if meant is None or keys.before.shape[-1] != width:
            return None
        groups = keys.before.shape[1]
        every = max(1, queries.before.shape[1] // groups)
        # One query head of each group is read: another in each layer and call, so that all of them are soon seen.
        first = ((place.layer or 0) + (0 if self.call is None else self.call.number)) % every
        of_groups = Rotated(*(one[:, first::every][:, :groups] for one in (queries.before, queries.after)))
        return RotationStep(name, meant, of_groups, keys)

    def _pairs_of(self, place: RecordedPlace, width: int) -> PairRotation | None:
        """Expected rotation of a layer's vectors of this width; layers that rotate alike share one object."""
        group = self._group(place)
        encoding = None if group is None else group.rotary_encoding
        if encoding is None:
            return None
        every = (pair_rotation(encoding), pair_rotation(unwrapped(encoding) or encoding))
        found = next((one for one in every if one is not None and one.dim == width), None)
        return next((one for one in self.meant.values() if one == found), found)

    def _slots(
        self, call: TracedCall, name: str, k: torch.Tensor, new: torch.Tensor | None, written: torch.Tensor | None
    ) -> np.ndarray | None:
        """Token that wrote each key, by the rotated channels of the first key head, or all channels."""
        store = self.stores.setdefault((call.sequence, name), KeyStore())
        if written is None:
            own, added = k[:, 0], (k[:, 0, -call.count :] if k.shape[2] <= call.start + call.count else
                                   k[:, 0, call.start : call.start + call.count])  # fmt: skip
        else:
            added = written[:, 0]
            at = _window(added, k[:, 0])
            own = k[:, 0, :, at : at + added.shape[-1]]
        return store.slots(own, added, call.start)

    def _visible(self, module: Any, queries: int, keys: int, mask: Any, named: Any) -> SightOfHeads | None:
        """Keys that each query may see; layers share one mask, and without one those that are causal alike."""
        key = (no_mask_rule(module, named) if mask is None else id(mask), queries, keys)
        if key not in self.masks:
            seen = visible_keys(module, queries, keys, mask, named)
            self.masks[key] = mask, None if seen is None else seen_by_heads(seen)
        return self.masks[key][1]


def _new_keys(k: torch.Tensor, count: int, start: int) -> list[torch.Tensor]:
    """Candidate slices of `k` for the keys of this call: from `start` on in a cache with spare slots, and the last."""
    ends = [k[:, :, -count:]]
    if k.shape[2] > start + count:
        ends.insert(0, k[:, :, start : start + count])
    return ends


def _written(sources: Sources, rotated: torch.Tensor) -> torch.Tensor:
    """Keys (batch, heads, n, d) as they are cached: rotated ones, or the output of a norm that follows (Llama 4)."""
    batch, _, length, _ = rotated.shape
    for one in sources.projections:
        if one.input is None or one.input.data_ptr() != rotated.data_ptr():
            continue
        both = zip(by_heads(one.input, batch, length), by_heads(one.output, batch, length), strict=True)
        for start, end in both:
            if start.shape == rotated.shape and start.stride() == rotated.stride():
                return end.detach()
    return rotated


def _window(part: torch.Tensor, whole: torch.Tensor) -> int:
    """First channel of the rotated part in a head: 0 where its values match there, else the last that fits."""
    width = part.shape[-1]
    last: int = whole.shape[-1] - width
    if not last:
        return 0
    for at in dict.fromkeys((0, last)):
        if bool((whole[:1, :, None, at : at + width] == part[:1, None, -1:]).all(-1).any()):
            return at
    return last


def _reached(sources: Sources, x: torch.Tensor) -> Rotated | None:
    """Recorded rotation whose result these vectors (batch, heads, n, d) hold bit for bit; None without one."""
    batch, heads, length, dim = x.shape
    for call in reversed(sources.rotations):
        for before, after in zip(call.before, call.after, strict=True):
            for start, end in zip(by_heads(before, batch, length), by_heads(after, batch, length), strict=True):
                if end.shape == x.shape and end.data_ptr() == x.data_ptr() and end.stride() == x.stride():
                    return Rotated(start.detach(), end.detach())
                width = end.shape[-1]
                windows = dict.fromkeys((0, dim - width)) if width <= dim and heads % end.shape[1] == 0 else ()
                if any(torch.equal(x[:, 0, :, at : at + width], end[:, 0]) for at in windows):
                    return Rotated(start.detach(), end.detach())
    return None


def _beside(sources: Sources, queries: Rotated | None, shape: torch.Size) -> Rotated | None:
    """Keys rotated in the same call as the queries, for caches that give other keys to attention; else None."""
    if queries is None:
        return None
    for call in sources.rotations:
        if len(call.after) == 2 and call.after[0].data_ptr() == queries.after.data_ptr():
            both = (by_heads(one, shape[0], shape[2]) for one in (call.before[1], call.after[1]))
            return next((Rotated(*(one.detach() for one in pair)) for pair in zip(*both, strict=True)), None)
    return None


def _source(sources: Sources, x: torch.Tensor, number: int) -> Rotated | None:
    """Vectors before their rotation and as they reach attention; None where they cannot be traced."""
    found = _reached(sources, x)
    if found is not None:
        return found
    traced = sources.trace(x, number)
    return None if traced is None else Rotated(traced.before.detach(), traced.after.detach())


def _traced(call: TracedCall, step: LayerStep, read: RecoveredLayer | None, part: str) -> TracedLayer:
    """Record of a layer from its step and the positions that were read."""
    place = call.number, step.place.layer, part, step.module
    visible, every = (None, None) if step.seen is None else step.seen
    sight: dict[str, Any] = {"slots": step.slots, "visible": visible, "in_every_head": every}
    if read is None or step.rotation is None:
        empty = np.zeros((len(call.real), 0, 0, 1))
        return TracedLayer(*place, empty, empty, kind="none", dtype=step.dtype, **sight)
    vectors = {}
    if read.unexplained:
        _, _, queries, keys = step.rotation
        vectors = {"q": queries.before, "q_rotated": queries.after, "k": keys.before, "k_rotated": keys.after}
    arrays = {name: one.float().cpu().numpy() for name, one in vectors.items()}
    return TracedLayer(
        *place, read.queries, read.keys, read.amplitude, vectors=arrays, kind="rotation", dtype=step.dtype, **sight
    )
