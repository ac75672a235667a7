"""Checks of the encoding as data: plain, frozen, equal by value, rebuilt by its repr, and every field matters."""

from __future__ import annotations

import ast
import copy
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Claim, Encoding, RotaryEncoding
from posenc.diagnosis.mistake import with_fields
from posenc.frequencies import Linear, Scaling
from posenc.testing.budgets import parts_inside
from posenc.testing.door_probe import (
    SOME,
    applied,
    content_width,
    last_position,
    moved_parameters,
    probed_rows,
    program,
    sides,
)
from posenc.testing.named_check import DOORS, ensure, named_check, same_bits
from posenc.testing.one_coordinate import one_coordinate

#: Doors at which a claim means something; elsewhere nobody may make it.
MEANING = {"isometry": ("rotates",), "symmetric": ("biases", "scores"), "shift-linear": ("adds",)}


@named_check("An encoding that changes under its users gives yesterday's key today's value.")
def encoding_is_frozen(encoding: Encoding) -> None:
    for name in [field.name for field in fields(encoding)] + ["anything_else"]:
        try:
            setattr(encoding, name, getattr(encoding, name, None))
        except FrozenInstanceError:
            continue
        ensure(False, f"{encoding!r}: expected a frozen encoding, but {name} could be set.")


@named_check("Encodings are dictionary keys and test ids; equality must be by value.")
def equal_encodings_are_equal(encoding: Encoding) -> None:
    again = replace(encoding)
    ensure(again == encoding, f"{encoding!r}: expected an encoding with equal fields to be equal, got {again!r}.")
    ensure(hash(again) == hash(encoding), f"{encoding!r}: expected equal encodings to have equal hashes.")


@named_check("A field left out of comparison lets one encoding stand for another.")
def different_encodings_differ(encoding: Encoding) -> None:
    for field in fields(encoding):
        for other in variants(encoding, field.name):
            same = getattr(other, field.name) == getattr(encoding, field.name)
            ensure(
                same or other != encoding,
                f"{other!r} differs from {encoding!r} in {field.name}: expected unequal encodings.",
            )


@named_check("The printed encoding is how people pass encodings around.")
def repr_rebuilds_the_encoding(encoding: Encoding) -> None:
    try:
        again = rebuilt(repr(encoding), encoding)
    except (ValueError, TypeError, SyntaxError) as error:
        again = f"{type(error).__name__}: {error}"
    ensure(again == encoding, f"repr: expected {encoding!r} to be rebuilt from its text, got {again!r}.")


@named_check("A field that changes nothing is a setting that is silently ignored.")
def every_field_matters(encoding: Encoding) -> None:
    expected = observable_results(encoding)
    for field in fields(encoding):
        changed_ones = variants(encoding, field.name)
        if not changed_ones or any(observable_results(other) != expected for other in changed_ones):
            continue  # what is refused is not ignored
        ensure(
            _matters_elsewhere(encoding, field.name),
            f"{field.name}: expected it to change something seen, but no value does.",
        )


def _matters_elsewhere(encoding: Encoding, name: str) -> bool:
    """Whether the field matters once another field has another value (what an odd width does, say)."""
    values = (getattr(encoding, name), *other_values(encoding, name))
    for field in fields(encoding):
        if field.name == name:
            continue
        for alternative in other_values(encoding, field.name):
            both = [with_fields(encoding, **{field.name: alternative, name: value}) for value in values]
            if both[0] is None and any(both):  # with that value, this field's own is refused and another is not
                return True
            if len({observable_results(other) for other in both if other is not None}) > 1:
                return True
    return False


@named_check("Casts, copies and meta devices lose arrays and hidden state.")
def encoding_is_plain(encoding: Encoding) -> None:
    before = dict(vars(encoding))
    for side in sides(encoding):
        probed_rows(encoding, list(SOME), side=side)
    ensure(dict(vars(encoding)) == before, f"{encoding!r}: expected no attribute to appear or change by use.")
    for name, value in before.items():
        ensure(_is_plain(value), f"{name}: expected plain numbers, words or encodings, got {type(value).__name__}.")


def _is_plain(value: Any) -> bool:
    """Whether a value is plain numbers, words or dataclasses of them."""
    if isinstance(value, tuple | frozenset):
        return all(_is_plain(item) for item in value)
    if is_dataclass(value):
        return all(_is_plain(getattr(value, field.name)) for field in fields(value))
    return value is None or type(value) in (bool, int, float, str)


@named_check("Workers and checkpoints copy encodings; a copy must be the encoding.")
def copies_are_equal(encoding: Encoding) -> None:
    for way, other in (("deepcopy", copy.deepcopy(encoding)), ("pickle", pickle.loads(pickle.dumps(encoding)))):
        ensure(other == encoding, f"{way}: expected {encoding!r}, got {other!r}.")
        same_bits(f"rows after {way}", probed_rows(other, list(SOME)), probed_rows(encoding, list(SOME)))


@named_check("Matrices, decode rows and plots are derived from the one door of an encoding.")
def one_door(encoding: Encoding) -> None:
    kinds = {"adds": AdditiveEncoding, "rotates": RotaryEncoding, "biases": AttentionBias, "scores": AttentionScore}
    ensure(encoding.door in DOORS, f"door: expected one of {', '.join(DOORS)}, got {encoding.door!r}.")
    entered = [name for name, kind in kinds.items() if isinstance(encoding, kind)]
    ensure(entered == [encoding.door], f"door: expected one door, {encoding.door}, got {entered}.")


@named_check("A misspelt claim is a claim without a check.")
def claims_are_known(encoding: Encoding) -> None:
    unknown = sorted(set(encoding.claims) - set(get_args(Claim)))
    ensure(not unknown, f"claims: expected words from {sorted(get_args(Claim))}, got {unknown}.")
    for claim in sorted(encoding.claims):
        doors = MEANING.get(claim, DOORS)
        ensure(encoding.door in doors, f"claims: {claim!r} can be claimed at {doors} alone, got it at {encoding.door}.")


@named_check("Earlier calls must not change later results.")
def nothing_remembered(encoding: Encoding) -> None:
    most = last_position(encoding)
    spans = [np.arange(min(length, most + 1)) for length in (4, 40, 1, 9, 0)] + [np.array([min(most, 5_000)])]
    calls = [(span, side, dtype) for span in spans for side in sides(encoding) for dtype in ("float64", "float32")]
    first, second = (
        [probed_rows(encoding, span, side=side, dtype=dtype) for span, side, dtype in order]
        for order in (calls, calls[::-1])
    )
    for call, one, other in zip(calls, first, second[::-1], strict=True):
        same_bits(f"{len(call[0])} positions, {call[1]}, {call[2]}, again after other calls", other, one)


@named_check("A cached array that is handed out can be overwritten by any caller.")
def result_is_the_callers(encoding: Encoding) -> None:
    call, positions = program(encoding), np.arange(3)
    result = call(positions)
    before = np.array(result)
    if result.flags.writeable:
        result[...] = 7.0
    same_bits("rows after the caller wrote into an earlier result", call(positions), before)


@named_check("A call that writes into its arguments breaks the next layer.")
def inputs_are_left_alone(encoding: Encoding) -> None:
    positions, params = np.array(SOME), moved_parameters(encoding)
    before = {name: value.copy() for name, value in params.items()}
    for side in sides(encoding):
        probed_rows(encoding, positions, side=side, params=params)
    same_bits("positions after a call", positions, np.array(SOME))
    for name, value in before.items():
        same_bits(f"params[{name!r}] after a call", params[name], value)


def variants(encoding: Any, name: str) -> list[Any]:
    """Encodings that differ in the named field; those that the constructor refuses are left out."""
    changed = (with_fields(encoding, **{name: value}) for value in other_values(encoding, name))
    return [other for other in changed if other is not None]


def observable_results(encoding: Encoding) -> tuple[bytes | str, ...]:
    """All that a caller can see of an encoding at a few positions, so chosen that different encodings differ."""
    observed = [_bytes(lambda: encoding.init(np.random.default_rng(0))), repr(sorted(encoding.shapes.items()))]
    params, line = moved_parameters(encoding), one_coordinate(encoding, spread=True)
    for positions in (
        np.arange(3),
        np.arange(8),
        np.array([40, 90, 1_003]),
        np.array([100_003, 1_000_003]),
        np.array([0.5, 2.75]),
        np.array([-3, -1]),
    ):
        for side in sides(encoding):
            observed.append(_bytes(lambda p=positions, s=side: probed_rows(line, p, side=s, params=params)))
    return (*observed, _content_with_positions(encoding))


def rebuilt(text: str, encoding: Encoding) -> Any:
    """Encoding that a repr describes: calls of its own class and of those inside it, with plain values."""
    classes = {type(part).__name__: type(part) for part in _within(encoding)}
    return _value(ast.parse(text, mode="eval").body, classes)


def other_values(encoding: Any, name: str) -> Iterator[Any]:
    """Values of the same kind as the field's own, good or bad."""
    value = getattr(encoding, name)
    if value is not None and any(field.name == name and field.default is None for field in fields(encoding)):
        yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value + 2, value * 2, value - 1)
    elif isinstance(value, float):
        yield from (value * 1.5 + 0.25, value * 0.5)
    elif isinstance(value, str):
        yield from (option for option in _options(encoding, name) if option != value)
    elif value is None:
        yield from (3, 7, 7.5)
        if Scaling in _options(encoding, name):
            yield Linear(factor=2.5)
    elif is_dataclass(value):
        yield from (other for field in fields(value) for other in variants(value, field.name))
    elif isinstance(value, tuple) and value:
        yield value[:-1]
        if isinstance(value[0], Encoding):
            for field in fields(value[0]):
                yield from ((other, *value[1:]) for other in variants(value[0], field.name))
        else:
            yield (*value[:-1], _last_doubled(value[-1], 1))
            yield (*value[:-1], _last_doubled(value[-1], 0))
            yield value[::-1]
            yield (*value[1:], value[0])


def _last_doubled(value: Any, more: int) -> Any:
    """Compute 2·value + more for a number; for a (nested) tuple, replace its last number so."""
    return (*value[:-1], _last_doubled(value[-1], more)) if isinstance(value, tuple) else value * 2 + more


def _options(encoding: Any, name: str) -> tuple[Any, ...]:
    """Values or types that the annotation of a field allows."""
    try:
        return get_args(get_type_hints(type(encoding)).get(name))
    except NameError:  # a class defined inside a function, whose annotations cannot be read
        return ()


def _content_with_positions(encoding: Encoding) -> bytes | str:
    """Bytes of content after `applied`, which show the width and the channels that rotate together; else b""."""
    encoding, params = one_coordinate(encoding, spread=True), moved_parameters(encoding) or None
    if isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        x = np.arange(1.0, content_width(encoding) + 1)[None] * np.ones((3, 1))
        return _bytes(lambda: applied(encoding, x, [0, 1, 2], params, np.float64))
    return b""


def _bytes(call: Any) -> bytes | str:
    """Bytes of what a call returns, or the name of its error."""
    try:
        result = call()
    except (ValueError, TypeError) as error:
        return type(error).__name__
    if isinstance(result, dict):
        return b"".join(np.asarray(value).tobytes() for value in result.values())
    return np.asarray(result).tobytes() + repr(np.shape(result)).encode()


def _within(encoding: Any) -> list[Any]:
    """List an encoding and all parts inside it."""
    return [encoding, *(deep for part in parts_inside(encoding) for deep in _within(part))]


def _value(node: ast.expr, classes: dict[str, type]) -> Any:
    """Value of an expression of a repr."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes and not node.args:
        return classes[node.func.id](**{str(word.arg): _value(word.value, classes) for word in node.keywords})
    if isinstance(node, ast.Tuple):
        return tuple(_value(item, classes) for item in node.elts)
    return ast.literal_eval(node)
