"""Mistakes that make another record of a rotation: base, exponent, layout and width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from posenc.compose import Backward
from posenc.diagnosis.mistake import Changed, Hints, Mistake, with_rope
from posenc.diagnosis.rotation.usage import Parts, Use, parts
from posenc.frequencies import Proportional

PAIRINGS = {"adjacent": "halves", "halves": "adjacent"}


def base(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    for value in hints.bases(use) if own else ():
        changed = with_rope(use, base=value)
        if own and changed and value != own.rope.base:
            yield changed, {"got": value, "meant": own.rope.base}


def exponent(of: str) -> Callable[[Use, Hints], Changed]:
    """Frequencies base^(-2i/d) with another d: the same as another base."""

    def change(use: Use, hints: Hints) -> Changed:
        own = parts(use.record)
        if own is None or own.rope.head_dim < 4:
            return
        width = own.rope.head_dim
        power = {"head": width / own.dim, "half": 0.5, "double": 2.0, "ends": width / (width - 2)}[of]
        if power != 1.0 and hints.target is None:
            changed = with_rope(use, base=own.rope.base**power)
            if changed:
                yield changed, {"dim": own.dim, "width": width}

    return change


def layout(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    changed = with_rope(use, pairing=PAIRINGS[own.rope.pairing]) if own else None
    if own and changed and own.rope.head_dim > 2:
        yield changed, {"got": PAIRINGS[own.rope.pairing], "meant": own.rope.pairing}


def whole_head(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own and own.rope.head_dim < own.dim:
        changed = with_rope(use, dim=own.dim)
        if changed:
            yield (
                Use(changed.record.encoding) if hasattr(changed.record, "encoding") else changed,
                {
                    "got": own.dim,
                    "meant": own.rope.head_dim,
                },
            )


def share_twice(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own and own.rope.head_dim < own.dim:
        width = int(own.rope.head_dim * own.rope.head_dim / own.dim)
        changed = with_rope(use, dim=width) if width >= 2 else None
        if changed:
            yield changed, {"got": width, "meant": own.rope.head_dim, "dim": own.dim}


def width(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    for got in hints.widths(use) if own else ():
        if own and got != own.rope.head_dim and got <= own.dim - own.start:
            changed = with_rope(use, dim=got)
            if changed:
                yield changed, {"got": got, "meant": own.rope.head_dim, "dim": own.dim}


def start(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own is None or own.rope.head_dim == own.dim:
        return
    asked = {hints.record.start} if hints.record else {0, own.dim - own.rope.head_dim}
    for got in sorted(asked - {own.start}):
        if got + own.rope.head_dim <= own.dim:
            yield Use(own._replace(start=got).whole()), {"got": got, "meant": own.start, "width": own.rope.head_dim}


def head_width(use: Use, hints: Hints) -> Changed:
    own, other = parts(use.record), hints.record
    if own is None or other is None or other.dim == own.dim:
        return
    turned = own.rope.head_dim * other.dim // own.dim
    changed = with_rope(Use(Parts(own.rope, max(own.dim, other.dim), 0).whole()), dim=turned)
    inner = parts(changed.record) if changed else None
    if inner:
        yield Use(inner._replace(dim=other.dim).whole()), {"got": other.dim, "meant": own.dim}


def proportional(use: Use, hints: Hints) -> Changed:
    """Some pairs of the whole ladder, against a ladder of the part that turns."""
    own = parts(use.record)
    if own is None:
        return
    scaling = own.rope.scaling
    if own.rope.head_dim < own.dim and scaling is None and own.start == 0:
        changed = with_rope(Use(own.rope), dim=own.dim, scaling=Proportional(own.rope.head_dim / own.dim))
        if changed:
            yield changed, {"got": "the ladder of the whole head", "meant": "a ladder of its own"}
    if isinstance(scaling, Proportional) and scaling.factor == 1.0:
        turning = 2 * int(scaling.fraction * own.rope.head_dim // 2)
        changed = with_rope(use, dim=turning, scaling=None) if turning >= 2 else None
        if changed:
            yield changed, {"got": "a ladder of its own", "meant": "the ladder of the whole head"}


def other_way(use: Use, hints: Hints) -> Changed:
    """Between configs alone: running code that does so is found among its uses."""
    if hints.target is not None:
        turned = use.record.encoding if isinstance(use.record, Backward) else Backward(use.record)
        yield replace(use, record=turned), {}


_THETA = "Read rope_theta (in new files rope_parameters.rope_theta) and use {meant:g}."

RECORD: tuple[Mistake, ...] = (
    Mistake("exponent of the head", "The frequencies have the exponent -2i/{dim}, of the whole head, where {width} channels turn.", "Divide by the rotated width: base^(-2i/{width}).", exponent("head"), True),
    Mistake("exponent i/d", "The exponent is i/d in place of 2i/d: every frequency is the square root of what it should be.", "Use base^(-2i/{width}), where i counts pairs.", exponent("half"), True),
    Mistake("exponent doubled", "The exponent is 4i/d: i already runs in steps of two, and is doubled once more.", "Use base^(-2i/{width}), where i counts pairs.", exponent("double"), True),
    Mistake("exponent to the ends", "The exponent is i/(d/2-1), that of tensor2tensor's sinusoids.", "Use base^(-2i/{width}).", exponent("ends"), True),
    Mistake("base", "The base is {got:g} where {meant:g} is meant.", _THETA, base),
    Mistake("sign", "Queries and keys turn the other way round.", "Negate the sine, or swap the two channels of every pair in the query and key weights: NanoChat alone turns by -position·frequency.", other_way),
    Mistake("layout", "Channels are paired {got} where {meant} is meant.", "Pair them {meant}, or convert the query and key weights with posenc.models.convert_qk.", layout),
    Mistake("partial ignored", "The whole head of {got} channels turns where only {meant} do.", "Turn the first {meant} channels; partial_rotary_factor or rotary_dim is not read.", whole_head),
    Mistake("partial twice", "Only {got} of {dim} channels turn where {meant} are meant: the share is taken twice.", "Take the share of the head once.", share_twice),
    Mistake("proportional", "The part that turns has {got} where {meant} is meant.", "rope_type 'proportional' is not a partial_rotary_factor of the default type: they divide by different widths.", proportional),
    Mistake("rotated width", "{got} of {dim} channels turn where {meant} are meant.", "Turn {meant} channels: look at partial_rotary_factor and rotary_dim.", width),
    Mistake("start", "The {width} channels that turn begin at {got} where {meant} is meant.", "Turn the channels from {meant} on.", start),
    Mistake("head width", "The head has {got} channels where {meant} is meant.", "Read head_dim where the file has it; it need not be hidden_size / num_attention_heads.", head_width),
)  # fmt: skip
