"""Configs with one thing changed: every key set to another value, left out, null or of another type of number, and the
same rotation in another spelling."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from model_peers import draw
from model_peers.ledger import SETTINGS
from model_peers.rotary import Peer
from posenc.models.config.config_classes import config_classes, nested

#: A config, and in words what was done to it.
Changed = tuple[str, dict[str, Any]]
#: Both names of an object that states a rotation.
OBJECTS = ("rope_parameters", "rope_scaling")


def changed_rotations(one: Peer, seed: str) -> Iterator[Changed]:
    """Configs of every rope_type of a class, as drawn and with one thing changed."""
    source = random.Random(seed)
    needed = SETTINGS.get(one.model_type, {})
    kept = {key: value for key, value in needed.items() if key not in ("head_dim", "partial_rotary_factor")}
    for kind in draw.kinds(one):
        drawn = kept | draw.settings(one, source, kind)
        yield f"{kind} as drawn", drawn
        for done, file in (*_other_keys(drawn), *_other_objects(drawn), *_other_spellings(one, drawn)):
            yield f"{kind}, {done}", file


def other_values(value: Any) -> dict[str, Any]:
    """Values that a key may have in place of this one, by what is done to it."""
    made: dict[str, Any] = {"null": None}
    if isinstance(value, bool):
        made["the other"] = not value
    elif isinstance(value, int):
        made |= {"doubled": 2 * value, "halved": value // 2, "as a float": float(value)}
    elif isinstance(value, float):
        made |= {"doubled": 2 * value, "halved": value / 2, "rounded": round(value)}
    elif isinstance(value, list | tuple) and value:
        made |= {"moved on": [*value[1:], value[0]], "cut": list(value[:-1])}
    elif value is None:
        made = {"stated": 4, "true": True}
    return made


def _changed(
    file: dict[str, Any], path: tuple[str, ...], value: Any = None, *, left_out: bool = False
) -> dict[str, Any]:
    made = copy.deepcopy(file)
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    if left_out:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return made


def _other_keys(file: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[Changed]:
    """Every key left out and set to other values, inside objects too."""
    inside: Any = file
    for key in path:
        inside = inside[key]
    for key, value in inside.items():
        place = (*path, key)
        name = ".".join(place)
        yield f"{name} left out", _changed(file, place, left_out=True)
        for done, other in other_values(value).items():
            yield f"{name} {done}", _changed(file, place, other)
        if isinstance(value, dict):
            yield f"{name} empty", _changed(file, place, {})
            yield from _other_keys(file, place)


def _other_objects(file: dict[str, Any]) -> Iterator[Changed]:
    """Keys next to an object that say otherwise than it does."""
    for key, value in (
        ("rope_theta", 4321.0),
        ("partial_rotary_factor", 0.5),
        ("original_max_position_embeddings", 512),
    ):
        if key not in file:
            yield f"with {key} next to it", {**copy.deepcopy(file), key: value}
    yield "with rope_scaling null", {**copy.deepcopy(file), "rope_scaling": None}
    if "rope_scaling" in file:
        yield "with rope_parameters next to it", {**copy.deepcopy(file), "rope_parameters": {"rope_type": "default"}}


def _other_spellings(one: Peer, file: dict[str, Any]) -> Iterator[Changed]:
    """The same values with the older type, in the other object, outside of it, and for each type of layer."""
    name = next((name for name in OBJECTS if file.get(name)), None)
    if name is None:
        return
    rope, rest = file[name], {key: value for key, value in file.items() if key != name}
    if nested(rope):
        first = next(inner for inner in rope.values() if inner)
        yield "flat", {**rest, "rope_parameters": first}
        yield "the first type alone", {**rest, "rope_parameters": {next(iter(rope)): first}}
        yield "in rope_scaling", {**rest, "rope_scaling": rope}
        older = {key: None if inner is None else _older(inner) for key, inner in rope.items()}
        yield "with type for rope_type", {**rest, "rope_parameters": older}
        return
    other = OBJECTS[name == OBJECTS[0]]
    theta = rope.get("rope_theta", rest.get("rope_theta"))
    yield f"in {other}", {**rest, other: rope}
    yield f"in {other} with type", {**rest, other: _older(rope)}
    yield "with type for rope_type", {**rest, name: _older(rope)}
    yield "with another type next to rope_type", {**rest, name: {**rope, "type": "linear"}}
    outside = {key: value for key, value in rope.items() if key != "rope_theta"}
    yield "with the base outside", {**rest, name: outside, "rope_theta": theta}
    yield "with the base inside", {**rest, name: {**rope, "rope_theta": theta}}
    labels = config_classes()[one.model_type].absent or {}
    types = list(labels) if nested(labels) else ["full_attention", "sliding_attention"]
    yield (
        "for each type of layer",
        {**rest, "rope_parameters": {label: {**rope, "rope_theta": theta} for label in types}},
    )
    yield "for one type of layer", {**rest, "rope_parameters": {types[0]: {**rope, "rope_theta": theta}}}


def _older(rope: dict[str, Any]) -> dict[str, Any]:
    return {"type" if key == "rope_type" else key: value for key, value in rope.items()}
