"""Checks of the encoding: plain, equal where equal, rebuilt by its repr, and with no field for show."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace
from typing import Any, get_args

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Claim, Encoding, RotaryEncoding
from posenc.diagnosis.mistake import with_fields
from posenc.testing.door_probe import SOME, last_position, moved_parameters, probed_rows, program, sides
from posenc.testing.named_check import DOORS, ensure, named_check, same_bits
from posenc.testing.vary import observable_results, others, rebuilt, variants

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
    values = (getattr(encoding, name), *others(encoding, name))
    for field in fields(encoding):
        if field.name == name:
            continue
        for alternative in others(encoding, field.name):
            both = [with_fields(encoding, **{field.name: alternative, name: value}) for value in values]
            if both[0] is None and any(both):  # with that value, this field's own is refused and another is not
                return True
            if len({observable_results(record) for record in both if record is not None}) > 1:
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
