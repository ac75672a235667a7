"""Positions of a loaded model of transformers: what its modules hold, where that is not what its config says."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from posenc.compose import Backward, Partial
from posenc.core import validation
from posenc.diagnosis.live_module import held_frequencies
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Geometric, LongRoPE
from posenc.models import LayerGroup, ModelPositions, Window, from_config
from posenc.models.pair_rotation import pair_rotation, unwrapped
from posenc.transformers.attention_recorder import CROSS, place_of
from posenc.transformers.swapping.attention_interface import INTERFACE

#: How far frequencies that a module formed in float32 are from exact ones: powers of the base, and their blends.
FLOAT32 = 4e-6


@dataclass(frozen=True, eq=False)
class HeldRotation:
    """Frequencies that a module holds.

    Args:
        part: Of the model, as the name of the module says.
        name: Of the buffer.
        label: Type of layer that it is for; "" for all.
        frequencies: Radians a position.
        factor: Of cosines and sines; None where the module has none.
    """

    part: str
    name: str
    label: str
    frequencies: np.ndarray
    factor: float | None


@dataclass(frozen=True, eq=False)
class BuiltAttention:
    """A module of attention, and the one that its class makes of the config.

    Args:
        part: Of the model, as the name of the module says.
        name: Of the module.
        module: As it is.
        built: As its class makes it.
    """

    part: str
    name: str
    module: Any
    built: Any


def live_positions(model: Any) -> ModelPositions:
    """Read the positions of a loaded model from its modules, and from its config what no module holds.

    Modules hold frequencies, the factor of cosines and sines, the scale of logits and the window. A config that was
    changed after loading, a cast to 16 bits, or a length that dynamic scaling has met changes one and not the other. A
    note names every module that holds something else than the config says.

    Args:
        model: A model of transformers.

    Returns:
        The positions, as `from_config` returns them; `posenc.models.manifest` makes a manifest of them.

    Raises:
        TypeError: `model` is no loaded model of transformers.
        ValueError: Its config is not read, or a module holds frequencies that fit no layer.
    """
    if not callable(getattr(model, "named_modules", None)) or not hasattr(model, "config"):
        raise TypeError(
            f"model must be a loaded model of transformers; got {validation.shown(model)}. Give what from_pretrained "
            "returns."
        )
    read = from_config(model.config)
    rotations = tuple(_rotations(model))
    attentions = tuple(_attentions(model))
    groups = [one for group in read.groups for one in _by_layer(group, read, attentions)]
    return replace(read, groups=tuple(_with_rotation(group, read, rotations) for group in groups))


def _part_in(read: ModelPositions, part: str) -> str:
    """Part of the model for the `part` that a module's name says; text, or the first part, if it is none of them."""
    if part in read.parts or part in ("vision", "audio"):
        return part
    return read.main_part


def _rotations(model: Any) -> Iterator[HeldRotation]:
    for name, module in model.named_modules():
        for label, held in held_frequencies(module):
            buffer = f"{name}.{label}_inv_freq" if label else f"{name}.inv_freq"
            yield HeldRotation(place_of(name).part, buffer, label, np.asarray(held.values, np.float64), held.attention)


def _attentions(model: Any) -> Iterator[BuiltAttention]:
    """Modules of self-attention that state their layer, each with the one that its class makes of the config."""
    again = _built_again(model)
    built = {} if again is None else dict(again.named_modules())
    for name, module in model.named_modules():
        code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        is_attention = code is not None and INTERFACE in code.co_names and not CROSS.search(name)
        if is_attention and type(getattr(module, "layer_idx", None)) is int and name in built:
            yield BuiltAttention(place_of(name).part, name, module, built[name])


def _built_again(model: Any) -> Any:
    """A new model of the same class and config on the meta device; None where the class cannot be built so."""
    try:
        with torch.device("meta"):
            return type(model)(copy.deepcopy(model.config))
    except Exception:  # a class that is made in another way
        return None


def _by_layer(group: LayerGroup, read: ModelPositions, attentions: tuple[BuiltAttention, ...]) -> Iterator[LayerGroup]:
    """Split a layer group where modules hold another window or scale than their class builds from the config."""
    if not group.layers or "cross" in group.attention:
        yield group
        return
    modules = {one.module.layer_idx: one for one in attentions if _part_in(read, one.part) == group.part}
    held: dict[LayerGroup, list[int]] = {}
    for layer in group.layers:
        own = _as_held(group, modules[layer]) if layer in modules else group
        held.setdefault(replace(own, layers=()), []).append(layer)
    for own, layers in held.items():
        yield replace(own, layers=tuple(layers))


def _as_held(group: LayerGroup, attention: BuiltAttention) -> LayerGroup:
    """The group with the window and scale of one attention module, where these were changed after it was built.

    A `sliding_window` attribute alone proves no window: some classes keep it in layers that do not use it.
    """
    for key in ("sliding_window", "scaling"):
        held, built = (getattr(module, key, None) for module in (attention.module, attention.built))
        are_numbers = all(isinstance(value, int | float | None) for value in (held, built))
        if not are_numbers or held == built:
            continue
        kind = f"{key} of attention in {group.attention} is {held!r}, where its class makes {built!r} of the config"
        group = replace(group, notes=(*group.notes, kind))
        if key == "scaling" and held is not None and built:
            group = replace(group, logit_factor=group.logit_factor * held / built)
        elif key == "sliding_window" and isinstance(group.window, Window | None):
            after = group.window.after if group.window else 0
            group = replace(group, window=Window(held - 1, after) if held else None)
    return group


def _with_rotation(group: LayerGroup, read: ModelPositions, rotations: tuple[HeldRotation, ...]) -> LayerGroup:
    """The group with the frequencies that its module holds."""
    encoding = group.rotary_encoding
    pairs = None if encoding is None else pair_rotation(encoding)
    own = [one for one in rotations if _part_in(read, one.part) == group.part]
    held = [one for one in own if one.label in ("", group.attention)] or own
    if encoding is None or pairs is None or not held:
        return group
    meant, rope, one = pairs.radians(), unwrapped(encoding), held[0]
    if any(_agrees(each, meant, pairs.factor, in_order=isinstance(rope, RoPE)) for each in held):
        return group
    if isinstance(rope, RoPE) and isinstance(rope.scaling, LongRoPE):
        # A module holds one list at a time: the one for the longest input that it met since it was reset.
        short = pair_rotation(replace(rope, scaling=replace(rope.scaling, length=rope.scaling.original)))
        if short is not None and any(_agrees(each, short.radians(), short.factor, in_order=True) for each in held):
            return group
    if len(held) > 1 or len(one.frequencies) != len(meant) or not isinstance(rope, RoPE):
        raise ValueError(
            f"model must hold the frequencies of {group.attention} in one module; got "
            f"{', '.join(f'{each.name} with {len(each.frequencies)}' for each in held)}, none of them the config's "
            f"{len(meant)}. Compare it with posenc.diagnosis.diagnose(config, model)."
        )
    change = np.max(np.abs(one.frequencies - meant) / np.maximum(meant, np.finfo(float).tiny))
    factor = "" if one.factor is None else f", and cosines and sines times {one.factor:.6g}"
    note = f"{one.name} holds other frequencies than the config says, by up to {change:.2g} of them{factor}"
    return _replaced(replace(group, notes=(*group.notes, note)), rope, one)


def _agrees(held: HeldRotation, meant: np.ndarray, factor: float, *, in_order: bool) -> bool:
    """Whether a module holds the frequencies and factor that the config means; in any order unless `in_order`."""
    if len(held.frequencies) != len(meant):
        return False
    if held.factor is not None and not math.isclose(held.factor, factor, rel_tol=FLOAT32):
        return False
    one, other = (held.frequencies, meant) if in_order else (np.sort(held.frequencies), np.sort(meant))
    return np.allclose(one, other, rtol=FLOAT32, atol=0)


def _replaced(group: LayerGroup, meant: RoPE, held: HeldRotation) -> LayerGroup:
    """The group with the frequencies of `held` in every RoPE that equals `meant` but for the pairing."""

    def changed(encoding: Any) -> Any:
        if isinstance(encoding, Partial | Backward):
            return replace(encoding, encoding=changed(encoding.encoding))
        is_meant = isinstance(encoding, RoPE) and replace(encoding, pairing=meant.pairing) == meant
        return replace(encoding, scaling=_listed(encoding, held)) if is_meant else encoding

    roles = tuple(replace(role, encoding=changed(role.encoding)) for role in group.roles)
    return replace(group, encodings=tuple(map(changed, group.encodings)), roles=roles)


def _listed(encoding: RoPE, held: HeldRotation) -> LongRoPE:
    """LongRoPE scaling that gives the frequencies of `held`, with a divisor for each pair."""
    unscaled = Geometric(encoding.dim, encoding.base).radians()
    divisors = tuple((unscaled / held.frequencies).tolist())
    factor = encoding.attention_factor if held.factor is None else held.factor
    return LongRoPE(divisors, divisors, 2, 2, 1.0, factor)
