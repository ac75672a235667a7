"""A short name for what an encoding computes, made of plain data that is equal where the mathematics is equal.

Rotations become a list of pairs, sinusoids a list of waves, ALiBi its slopes, T5 the ends of its buckets, however they
were spelled. Any other encoding is its name and its fields, without those that only draw fresh parameters and without
`numerics`, which says how numbers are formed and not which numbers are meant.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from decimal import Context, Decimal
from functools import singledispatch
from typing import Any

import numpy as np

from posenc.compose import Concatenated, Partial, PerLayer, Scaled, Sum
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.core.encoding import computes_anew
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.temperature import PowerTemperature, QueryTemperature, StepTemperature
from posenc.inspect.sinusoid_channels import sinusoid_channels
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import PairRotation, pair_rotation
from posenc.models.served_length import other_lengths, served_at

#: Characters of a fingerprint, four bits each: among a million encodings, two share one by chance once in 37 million
#: tries.
LENGTH = 16


def fingerprint(encoding: Any) -> str:
    """Return sixteen hexadecimal digits that are equal exactly where the mathematics is equal.

    They stay the same in every release. Equal: other spellings of one function, such as `Partial` of its own full
    width, a scaling by 1, the slopes of ALiBi by two rules that agree for this number of heads. Different: the pairing,
    since it says which channels of a checkpoint belong together; and your own encoding that extends one of posenc and
    overrides what it computes. Not part of it: `numerics`, which says how numbers are rounded, how learned parameters
    are first drawn, and the keys that a query sees (`LayerGroup.window`). Encodings inside encodings are compared one
    by one. Frequencies count to 40 digits, factors to 12. A model serves many lengths: its fingerprint covers them all,
    where that of an encoding is of the one length that it states.

    Args:
        encoding: An encoding, `PerLayer`, or what `from_config` returns; None is a layer without positions.

    Returns:
        The digits.

    Raises:
        TypeError: `encoding` is none of these.

    Example:
        >>> from posenc import Linear, RoPE
        >>> fingerprint(RoPE(dim=64)), fingerprint(RoPE(dim=64, scaling=Linear(factor=1.0)))
        ('d8fdfb247d052c29', 'd8fdfb247d052c29')
    """
    text = json.dumps(canonical(encoding), separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


#: Plain data: words, whole numbers and tuples of them.
Form = str | int | tuple[Any, ...]

#: Digits of a frequency that count; each is known to about 98, so two ways to one frequency agree in these.
FREQUENCY = Context(prec=40)
#: Digits of a factor, which is computed as a float64 and may differ in its last bits between mathematics libraries.
FACTOR = Context(prec=12)
#: Fields that say where a learned parameter begins, in addition to std, initial... and the base of learned frequencies.
INITIAL_FIELDS = frozenset({("PoPE", "phase"), ("FoPE", "gain")})
#: The form of what does nothing.
NOTHING: Form = ("nothing",)


def canonical(encoding: Any) -> Form:
    """Return plain data that is equal where two encodings, schedules or models compute the same; None is no encoding.

    Example:
        >>> from posenc import Partial, RoPE
        >>> canonical(Partial(RoPE(dim=4), dim=4)) == canonical(RoPE(dim=4))
        True
    """
    if encoding is None:
        return NOTHING
    return _fields(encoding) if computes_anew(encoding, _form.registry) else _form(encoding)


@singledispatch
def _form(encoding: Any) -> Form:
    validation.instance(
        "encoding", encoding, Encoding, "an encoding, a schedule of encodings or what from_config returns"
    )
    if isinstance(encoding, RotaryEncoding):
        rotation = pair_rotation(encoding)
        return _fields(encoding) if rotation is None else _pairs(rotation)
    terms = _terms(encoding) if isinstance(encoding, AdditiveEncoding) else None
    return _fields(encoding) if terms is None else _channels(terms)


@_form.register
def _(encoding: PerLayer) -> Form:
    return ("layers", *(canonical(layer) for layer in encoding.layers))


@_form.register
def _(encoding: ModelPositions) -> Form:
    """What every layer uses, also at other served lengths, where frequencies depend on the length."""
    parts = _parts(encoding)
    served = ((length, _parts(served_at(encoding, length))) for length in other_lengths(encoding))
    return ("model", *parts, *(("served", length, *other) for length, other in served if other != parts))


def _parts(encoding: ModelPositions) -> list[Form]:
    """Part by part, what every layer uses; names of layer types count only where a layer has several attentions."""
    parts: list[Form] = []
    for part in sorted(encoding.parts):
        forms_of: dict[int, list[tuple[str, Form]]] = {}
        for group in encoding.of(part):
            form = canonical(group)
            for layer in group.layers or (-1,):
                forms_of.setdefault(layer, []).append((group.attention, form))
        layers_of: dict[Form, list[int]] = {}
        for layer, forms in sorted(forms_of.items()):
            layers_of.setdefault(forms[0][1] if len(forms) == 1 else tuple(sorted(forms)), []).append(layer)
        parts.append((part, *((form, *layers) for form, layers in layers_of.items())))
    return parts


@_form.register
def _(group: LayerGroup) -> Form:
    """Make the form of a group, whatever its layers are called."""
    forms = [form for form in map(canonical, group.encodings) if form != NOTHING]
    factors: list[Form] = []
    if group.query_temperature is not None:
        factors += _temperature(group.query_temperature)
    if group.bias_factor != 1.0 and any(encoding.door == "biases" for encoding in group.encodings):
        factors.append(("biases times", to_digits(group.bias_factor, FACTOR)))
    factors += [(rotation.role, rotation.rate, canonical(rotation.encoding)) for rotation in group.roles]
    return ("group", group.offset if forms else 0, to_digits(group.logit_factor, FACTOR), *factors, *forms)


def _temperature(encoding: QueryTemperature) -> list[Form]:
    """Make the form of a factor of queries, whatever the width of a head; nothing where it is 1 everywhere."""
    if isinstance(encoding, StepTemperature):
        form: list[Form] = [("query temperature", to_digits(encoding.scale, FACTOR), encoding.floor, encoding.start)]
        return form if encoding.scale else []
    idle = isinstance(encoding, PowerTemperature) and not encoding.exponent
    return [] if idle else [("query temperature", *_fields(replace(encoding, dim=2)))]  # type: ignore[misc]


@_form.register
def _(encoding: ALiBi) -> Form:
    return ("linear bias", encoding.form, *(to_digits(float(slope), FACTOR) for slope in encoding.slopes()))


@_form.register
def _(encoding: T5Bias) -> Form:
    """Make the form of T5's bias: the distances at which buckets begin, whatever parameters led to them."""
    reach = np.arange(-encoding.max_distance, encoding.max_distance + 1)
    buckets = np.asarray(encoding.bucket(reach))
    begins = np.flatnonzero(np.diff(buckets)) + 1
    edges = tuple((int(reach[at]), int(buckets[at])) for at in begins)
    return (
        "bucketed bias",
        encoding.heads,
        encoding.buckets,
        to_digits(encoding.scale, FACTOR),
        int(buckets[0]),
        *edges,
    )


@_form.register
def _(encoding: Partial) -> Form:
    rotation = pair_rotation(encoding)
    if rotation is not None:
        return _pairs(rotation)
    if encoding.dim == encoding.encoding.head_dim:
        return canonical(encoding.encoding)
    return ("part", encoding.dim, encoding.start, canonical(encoding.encoding))


@_form.register
def _(encoding: Scaled) -> Form:
    terms = _terms(encoding) or _own_terms(encoding)
    if terms is not None:
        return _channels(terms)
    factor, inner = encoding.factor, encoding.encoding
    while isinstance(inner, Scaled) and not computes_anew(inner, (Scaled,)):
        factor, inner = factor * inner.factor, inner.encoding
    return canonical(inner) if factor == 1.0 else ("scaled", to_digits(factor, FACTOR), canonical(inner))


@_form.register
def _(encoding: Sum) -> Form:
    terms = _terms(encoding)
    return ("sum", *(canonical(part) for part in encoding.parts)) if terms is None else _channels(terms)


@_form.register
def _(encoding: Concatenated) -> Form:
    return ("concatenated", canonical(encoding.encoding))


def to_digits(value: Decimal | float, digits: Context) -> str:
    """Round a number to the context's digits, as text that is the same for equal numbers; -0 is 0."""
    rounded = digits.create_decimal(value)
    return str(rounded.normalize(digits)) if rounded else "0"


def _pairs(rotation: PairRotation) -> Form:
    """Make the form of a rotation: every pair that changes anything, lower channel first, its frequency signed."""
    factor = to_digits(rotation.factor, FACTOR)
    pairs = zip(rotation.first, rotation.second, rotation.axis, rotation.frequencies, strict=True)
    forms = [
        (min(a, b), max(a, b), axis, to_digits(frequency if a < b else frequency.copy_negate(), FREQUENCY))
        for a, b, axis, frequency in pairs
        if frequency or factor != "1"
    ]
    return ("rotation", rotation.dim, factor, *sorted(forms))


#: Of each channel: how much of which sinusoid, (kind, frequency, start).
Terms = list[dict[tuple[str, str, int], float]]


def _channels(terms: Terms) -> Form:
    def form(channel: dict[tuple[str, str, int], float]) -> tuple[Any, ...]:
        return tuple(sorted((*key, to_digits(amount, FACTOR)) for key, amount in channel.items() if amount))

    return ("waves", len(terms), *(form(channel) for channel in terms))


def _terms(encoding: AdditiveEncoding) -> Terms | None:
    """The sinusoids of every channel, through sums and factors; None where an encoding is not made of them alone."""
    if computes_anew(encoding, (Scaled, Sum)):
        return None
    if isinstance(encoding, Scaled):
        inner = _terms(encoding.encoding)
        return inner and [{key: amount * encoding.factor for key, amount in channel.items()} for channel in inner]
    if isinstance(encoding, Sum):
        parts = [terms for part in encoding.parts if (terms := _terms(part)) is not None]
        return (
            [_added(channels) for channels in zip(*parts, strict=True)] if len(parts) == len(encoding.parts) else None
        )
    return None if isinstance(encoding, Concatenated) else _own_terms(encoding)


def _own_terms(encoding: AdditiveEncoding) -> Terms | None:
    """Return the sinusoids in each channel of an encoding without parts; frequency 0 is a constant."""
    sinusoids = sinusoid_channels(encoding)
    if sinusoids is None:
        return None
    channels: Terms = [{} for _ in range(sinusoids.width)]
    exact = sinusoids.frequencies.exact() if sinusoids.frequencies is not None else ()
    for pair, frequency in enumerate(exact):
        size, start = to_digits(frequency.copy_abs(), FREQUENCY), sinusoids.start if frequency else 0
        if sinusoids.sine[pair] >= 0 and frequency:
            channels[sinusoids.sine[pair]]["sine", size, start] = sinusoids.factor * (1 if frequency > 0 else -1)
        if sinusoids.cosine[pair] >= 0:
            channels[sinusoids.cosine[pair]]["cosine", size, start] = sinusoids.factor
    return channels


def _added(channels: Iterable[dict[tuple[str, str, int], float]]) -> dict[tuple[str, str, int], float]:
    total: dict[tuple[str, str, int], float] = {}
    for channel in channels:
        for key, amount in channel.items():
            total[key] = total.get(key, 0.0) + amount
    return total


def _fields(encoding: Any) -> Form:
    """The name of an encoding's class and its fields by name, without those that change no value."""
    kept = sorted(field.name for field in fields(encoding) if field.init and not _idle(encoding, field.name))
    return (type(encoding).__name__, *((name, _value(getattr(encoding, name))) for name in kept))


def _idle(encoding: Any, name: str) -> bool:
    """Say whether a field says only how numbers are formed, or from where training starts."""
    learned = getattr(encoding, "shapes", {})
    if name == "numerics" or (type(encoding).__name__, name) in INITIAL_FIELDS:
        return True
    if name == "base":
        return "frequencies" in learned
    return bool(learned) and (name == "std" or name.startswith("initial"))


def _value(value: Any) -> Form:
    if isinstance(value, tuple):
        return ("tuple", *(_value(part) for part in value))
    if isinstance(value, Encoding):
        return canonical(value)
    if is_dataclass(value):
        return _fields(value)
    return repr(value)
