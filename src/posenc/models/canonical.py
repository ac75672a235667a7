"""What a record computes, as plain data that is equal exactly where the mathematics is equal.

Rotations become a list of pairs, sinusoids a list of waves, ALiBi its slopes, T5 the ends of its buckets: however they
were spelled. Any other record is its name and its fields, those left out that only draw fresh parameters, and `numerics`,
which says how numbers are formed and not which numbers are meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from decimal import Context, Decimal
from functools import singledispatch
from typing import Any

import numpy as np

from posenc import _check
from posenc.compose import Concatenated, Partial, PerLayer, Scaled, Sum
from posenc.doors import Adds, Encoding, Rotates
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.inspect.sinusoid_channels import SinusoidChannels, sinusoid_channels
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import PairRotation, pair_rotation

#: Plain data: words, whole numbers and tuples of them.
Form = str | int | tuple[Any, ...]

#: Digits of a frequency that count; each is known to about 98, so two ways to one frequency agree in these.
FREQUENCY = Context(prec=40)
#: Digits of a factor, which is computed as a float64 and may differ in its last bits between mathematics libraries.
FACTOR = Context(prec=12)
#: Fields that say where a learned parameter begins, beside those called std, initial... and the base of learned frequencies.
BEGUN = frozenset({("PoPE", "phase"), ("FoPE", "gain")})
#: The form of what does nothing.
NOTHING: Form = ("nothing",)


def canonical(record: Any) -> Form:
    """The form of a record, a schedule of records, or None for a layer without one.

    >>> from posenc import Partial, RoPE
    >>> canonical(Partial(RoPE(dim=4), dim=4)) == canonical(RoPE(dim=4))
    True
    """
    return NOTHING if record is None else _form(record)


@singledispatch
def _form(record: Any) -> Form:
    _check.instance("record", record, Encoding, "a record, a schedule of records or what from_config returns")
    if isinstance(record, Rotates):
        turned = pair_rotation(record)
        return _fields(record) if turned is None else _pairs(turned)
    if isinstance(record, Adds):
        made = sinusoid_channels(record)
        return _fields(record) if made is None else _channels(made.width, _terms(made))
    return _fields(record)


@_form.register
def _(record: PerLayer) -> Form:
    return ("layers", *(canonical(layer) for layer in record.layers))


@_form.register
def _(record: ModelPositions) -> Form:
    """Part by part, what every layer uses; what layers are called matters only where one has several kinds of attention."""
    parts = []
    for part in sorted(record.parts):
        uses: dict[int, list[LayerGroup]] = {}
        for group in record.of(part):
            for layer in group.layers or (-1,):
                uses.setdefault(layer, []).append(group)
        alike: dict[Form, list[int]] = {}
        for layer, groups in sorted(uses.items()):
            alike.setdefault(_together(groups), []).append(layer)
        parts.append((part, *((form, *layers) for form, layers in alike.items())))
    return ("model", *parts)


@_form.register
def _(record: LayerGroup) -> Form:
    """What a group does, whatever its layers are called."""
    made = [form for form in map(canonical, record.encodings) if form != NOTHING]
    warm: tuple[Form, ...] = ()
    if record.query_temperature is not None and record.query_temperature.scale:
        heat = record.query_temperature
        warm = (("query temperature", number(heat.scale, FACTOR), heat.floor, heat.start),)
    if record.bias_factor != 1.0 and any(own.door == "biases" for own in record.encodings):
        warm = (*warm, ("biases times", number(record.bias_factor, FACTOR)))
    offset = record.offset if made else 0
    return ("group", offset, number(record.logit_factor, FACTOR), *warm, *made)


def _together(groups: list[LayerGroup]) -> Form:
    if len(groups) == 1:
        return canonical(groups[0])
    return tuple(sorted((group.attention, canonical(group)) for group in groups))


@_form.register
def _(record: ALiBi) -> Form:
    return ("linear bias", record.form, *(number(float(slope), FACTOR) for slope in record.slopes()))


@_form.register
def _(record: T5Bias) -> Form:
    """The distances at which a bucket begins decide everything, whatever numbers led to them."""
    reach = np.arange(-record.max_distance, record.max_distance + 1)
    buckets = np.asarray(record.bucket(reach))
    begins = np.flatnonzero(np.diff(buckets)) + 1
    edges = tuple((int(reach[at]), int(buckets[at])) for at in begins)
    return ("bucketed bias", record.heads, record.buckets, number(record.scale, FACTOR), int(buckets[0]), *edges)


@_form.register
def _(record: Partial) -> Form:
    turned = pair_rotation(record)
    if turned is not None:
        return _pairs(turned)
    if record.dim == record.encoding.head_dim:
        return canonical(record.encoding)
    return ("part", record.dim, record.start, canonical(record.encoding))


@_form.register
def _(record: Scaled) -> Form:
    if sinusoid_channels(record) is not None or _of_waves(record.encoding):
        return _channels(record.width, _all_terms(record))
    factor, inner = record.factor, record.encoding
    while isinstance(inner, Scaled):
        factor, inner = factor * inner.factor, inner.encoding
    return canonical(inner) if factor == 1.0 else ("scaled", number(factor, FACTOR), canonical(inner))


@_form.register
def _(record: Sum) -> Form:
    if _of_waves(record):
        return _channels(record.width, _all_terms(record))
    return ("sum", *(canonical(part) for part in record.parts))


@_form.register
def _(record: Concatenated) -> Form:
    return ("concatenated", canonical(record.encoding))


def number(value: Decimal | float, digits: Context) -> str:
    """A number to so many digits, the same text for every way in which it was written; -0 is 0."""
    rounded = digits.create_decimal(value)
    return str(rounded.normalize(digits)) if rounded else "0"


def _pairs(turned: PairRotation) -> Form:
    """Every pair that does something, its lower channel first: turning it the other way round is turning it backwards."""
    factor = number(turned.factor, FACTOR)
    found = []
    for one, other, axis, frequency in zip(turned.first, turned.second, turned.axis, turned.frequencies, strict=True):
        if frequency or factor != "1":
            signed = frequency if one < other else -frequency
            found.append((min(one, other), max(one, other), axis, number(signed, FREQUENCY)))
    return ("rotation", turned.dim, factor, *sorted(found))


#: Of each channel: how much of which wave, (kind, frequency, start).
Terms = list[dict[tuple[str, str, int], float]]


def _terms(made: SinusoidChannels) -> Terms:
    """The waves of every channel; a frequency of 0 is a constant, and sin(-x) = -sin(x)."""
    channels: Terms = [{} for _ in range(made.width)]
    exact = made.frequencies.exact() if made.frequencies is not None else ()
    for pair, frequency in enumerate(exact):
        size = number(abs(frequency), FREQUENCY)
        start = made.start if frequency else 0
        if made.sine[pair] >= 0 and frequency:
            channels[made.sine[pair]]["sine", size, start] = made.factor * (1 if frequency > 0 else -1)
        if made.cosine[pair] >= 0:
            channels[made.cosine[pair]]["cosine", size, start] = made.factor
    return channels


def _of_waves(record: Adds) -> bool:
    """Whether a record, or all that it is made of, are waves."""
    if isinstance(record, Sum):
        return all(_of_waves(part) for part in record.parts)
    if isinstance(record, Scaled):
        return _of_waves(record.encoding)
    return not isinstance(record, Concatenated) and sinusoid_channels(record) is not None


def _all_terms(record: Adds) -> Terms:
    """As `_terms`, through sums and factors."""
    if isinstance(record, Scaled):
        return [
            {wave: amount * record.factor for wave, amount in channel.items()}
            for channel in _all_terms(record.encoding)
        ]
    if isinstance(record, Sum):
        return [_added(channels) for channels in zip(*(_all_terms(part) for part in record.parts), strict=True)]
    made = sinusoid_channels(record)
    return [] if made is None else _terms(made)


def _added(channels: Iterable[dict[tuple[str, str, int], float]]) -> dict[tuple[str, str, int], float]:
    total: dict[tuple[str, str, int], float] = {}
    for channel in channels:
        for wave, amount in channel.items():
            total[wave] = total.get(wave, 0.0) + amount
    return total


def _channels(width: int, terms: Terms) -> Form:
    def shown(channel: dict[tuple[str, str, int], float]) -> tuple[Any, ...]:
        return tuple(sorted((*wave, number(amount, FACTOR)) for wave, amount in channel.items() if amount))

    return ("waves", width, *(shown(channel) for channel in terms))


def _fields(record: Any) -> Form:
    """The name of a record's class and its fields by name, those left out that change no value."""
    kept = [field.name for field in fields(record) if field.init and not _idle(record, field.name)]
    return (type(record).__name__, *((name, _value(getattr(record, name))) for name in sorted(kept)))


def _idle(record: Any, name: str) -> bool:
    """Whether a field says only how numbers are formed, or from where training starts."""
    learned = getattr(record, "shapes", {})
    drawn = bool(learned) and (name == "std" or name.startswith("initial"))
    begun = (name == "base" and "frequencies" in learned) or (type(record).__name__, name) in BEGUN
    return name == "numerics" or drawn or begun


def _value(value: Any) -> Form:
    if isinstance(value, tuple):
        return ("tuple", *(_value(part) for part in value))
    if isinstance(value, Encoding):
        return canonical(value)
    if is_dataclass(value):
        return _fields(value)
    return repr(value)
