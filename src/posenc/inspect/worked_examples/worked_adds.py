"""Worked steps at the door that adds: one line a dimension."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from posenc import _array
from posenc.compose import Concatenated, LearnedScale, Scaled, Sum
from posenc.doors import Adds, Params
from posenc.encodings.adds.axial_learned import AxialLearned
from posenc.encodings.adds.count import Count, NormalisedCount
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.fourier_features import FourierFeatures
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.one_sine import OneSine
from posenc.encodings.adds.random_fourier_features import RandomFourierFeatures
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.adds.time2vec import Time2Vec
from posenc.encodings.adds.timestep_embedding import TimestepEmbedding
from posenc.inspect import _text
from posenc.inspect.sinusoid_channels import required_channels
from posenc.inspect.worked_examples.steps import Request, Step, Steps, angle

SHORT = {"sine": "sin", "cosine": "cos"}


@singledispatch
def adds(record: Adds, question: Request) -> Steps:
    """The value of every dimension: what any record that adds can say without more being written for it."""
    return _lines(
        record, question, f"{type(record).__name__} gives a vector of {record.width} for every position.", lambda _: ""
    )


@adds.register
def _(record: Sinusoidal, question: Request) -> Steps:
    notes = (
        ()
        if record.numerics == "exact"
        else ("Frequency, angle and function are taken in float32, as released models do.",)
    )
    return _waving(record, question, _sinusoidal(record), notes)


@adds.register
def _(record: OneSine, question: Request) -> Steps:
    return _waving(record, question, "PE(p, 0) = sin(p)")


@adds.register
def _(record: DivisorPairs, question: Request) -> Steps:
    return _waving(record, question, "PE(p, 2i) = sin(p / divisor i), PE(p, 2i+1) = cos(p / divisor i)")


@adds.register
def _(record: FourierFeatures, question: Request) -> Steps:
    formula = "PE(p) = sin(f_k · π · p) and cos(f_k · π · p) for every band k"
    if record.coordinate:
        return _lines(record, question, f"{formula}, behind p itself", lambda _: "")
    return _waving(record, question, formula)


@adds.register
def _(record: RandomFourierFeatures, question: Request) -> Steps:
    return _waving(record, question, "PE(p) = cos(2π · b_k · p) and sin(2π · b_k · p), every b_k drawn once")


@adds.register
def _(record: TimestepEmbedding, question: Request) -> Steps:
    scale = "" if record.scale == 1.0 else f"{_text.number(record.scale)} · "
    rung = f"{_text.number(record.max_period)}^(i / ({record.dim // 2} - {_text.number(record.shift)}))"
    return _waving(record, question, f"PE(t) = sin and cos of {scale}t / {rung}")


@adds.register
def _(record: Time2Vec, question: Request) -> Steps:
    omega, phi = question.params["omega"], question.params["phi"]

    def right(dimension: int) -> str:
        line = f"{_text.number(float(omega[dimension]))} · {question.place} + {_text.number(float(phi[dimension]))}"
        return f"sin({line})" if dimension else line

    return _lines(record, question, "PE(p, 0) = ω0 · p + φ0, PE(p, c) = sin(ωc · p + φc), ω and φ learned", right)


@adds.register
def _(record: AxialLearned, question: Request) -> Steps:
    places = [(axis, channel) for axis, width in enumerate(record.dims) for channel in range(width)]

    def right(dimension: int) -> str:
        axis, channel = places[dimension]
        digits = np.unravel_index(int(question.one), record.shape)
        return f"table_{axis}[{int(digits[axis])}, {channel}]"

    sizes = " × ".join(map(str, record.shape))
    return _lines(record, question, f"PE(p) = a row of each table, by the digits of p in {sizes}", right)


@adds.register
def _(record: Count, question: Request) -> Steps:
    return _lines(record, question, f"PE(p, 0) = p + {record.start}", lambda _: f"{question.place} + {record.start}")


@adds.register
def _(record: NormalisedCount, question: Request) -> Steps:
    start, length = record.start, record.length
    return _lines(
        record, question, f"PE(p, 0) = (p + {start}) / {length}", lambda _: f"({question.place} + {start}) / {length}"
    )


@adds.register
def _(record: Learned, question: Request) -> Steps:
    row = _row(record, question)
    return _lines(
        record,
        question,
        f"PE(p, c) = table[p, c], {record.length} rows",
        lambda dimension: f"table[{row}, {dimension}]",
    )


@adds.register
def _(record: Scaled, question: Request) -> Steps:
    row = _values(record.encoding, question, question.learned(record.encoding))
    factor = _text.number(record.factor)
    formula = f"PE(p) = {factor} · {_text.short(record.encoding)}"
    return _lines(record, question, formula, lambda dimension: f"{factor} · {_text.number(row[dimension])}")


@adds.register
def _(record: LearnedScale, question: Request) -> Steps:
    row = _values(record.encoding, question, _own(record.encoding, question, "encoding."))
    factor = _text.number(float(question.params["scale"]))
    formula = f"PE(p) = scale · {_text.short(record.encoding)}, scale learned"
    return _lines(record, question, formula, lambda dimension: f"{factor} · {_text.number(row[dimension])}")


@adds.register
def _(record: Sum, question: Request) -> Steps:
    rows = [_values(part, question, _own(part, question, f"{index}.")) for index, part in enumerate(record.parts)]
    formula = f"PE(p) = {' + '.join(_text.short(part) for part in record.parts)}"
    return _lines(record, question, formula, lambda dimension: _text.added(row[dimension] for row in rows))


@adds.register
def _(record: Concatenated, question: Request) -> Steps:
    inner = adds(record.encoding, question)
    return Steps(
        inner.formula, inner.steps, ("The vector stands behind the embedding, which grows by its width.", *inner.notes)
    )


def _waving(record: Adds, question: Request, formula: str, notes: tuple[str, ...] = ()) -> Steps:
    """Lines of a record that is made of sines and cosines."""
    made = required_channels(record)
    place = question.place if not made.start else f"({question.place} + {made.start})"
    rates = made.frequencies.radians() if made.frequencies is not None else np.empty(0)
    scale = "" if made.factor == 1.0 else f"{_text.number(made.factor)} · "

    def right(dimension: int) -> str:
        kind, pair = made.channel(dimension)
        if made.frequencies is None or kind == "zero":
            return ""
        written = angle(place, made.frequencies, pair)
        turned = _text.number((question.one + made.start) * rates[pair])
        reduced = f" = {scale}{SHORT[kind]}({turned})" if written != turned else ""
        return f"{scale}{SHORT[kind]}({written}){reduced}"

    return _lines(record, question, formula, right, notes)


def _lines(
    record: Adds, question: Request, formula: str, right: Callable[[int], str], notes: tuple[str, ...] = ()
) -> Steps:
    """PE(position, dimension) = the right-hand side, if there is one, = the value."""
    row = _values(record, question, question.learned(record))
    steps = []
    for dimension in question.chosen(record.width):
        middle, value = right(dimension), _text.number(row[dimension])
        between = f"{middle} = " if middle and middle != value else ""
        steps.append(Step(f"PE({question.place}, {dimension}) = {between}{value}", (float(row[dimension]),)))
    whole = (f"PE({question.place}) = {_text.vector(row)}",) if question.dims is None else ()
    return Steps(formula, tuple(steps), (*whole, *question.notes(), *notes))


def _sinusoidal(record: Sinusoidal) -> str:
    exponent = {"2i/d": f"2i/{record.frequencies.dim}", "i/d": f"i/{record.frequencies.dim}"}.get(
        record.exponent, f"i/({record.frequencies.dim}/2-1)"
    )
    place = "p" if not record.start else f"(p + {record.start})"
    scale = "" if record.scale == 1.0 else f"{_text.number(record.scale)} · "
    waves = [f"{scale}{name}({place} / {_text.number(record.base)}^({exponent}))" for name in ("sin", "cos")]
    first, second = waves if record.first == "sine" else waves[::-1]
    if record.layout == "interleaved":
        return f"PE(p, 2i) = {first}, PE(p, 2i+1) = {second}"
    return f"PE(p, i) = {first}, PE(p, {record.frequencies.pairs}+i) = {second}"


def _row(record: Learned, question: Request) -> str:
    """Which row of the table a position takes, in words where it lies outside."""
    place = question.one
    if record.outside == "interpolate":
        return f"{question.place} of {record.extent}, stretched"
    if 0 <= place < record.length or record.outside == "error":
        return question.place
    if record.outside == "wrap":
        return f"{question.place} mod {record.length} = {int(place) % record.length}"
    return f"{question.place} clamped to {min(max(int(place), 0), record.length - 1)}"


def _values(record: Adds, question: Request, params: Params | None) -> np.ndarray:
    return np.asarray(_array.to_numpy(record.embed(question.at, params))[0], np.float64)


def _own(part: Adds, question: Request, prefix: str) -> Params | None:
    """The parameters of a part of a composition, under their own names."""
    if not part.shapes:
        return None
    return {name.removeprefix(prefix): value for name, value in question.params.items() if name.startswith(prefix)}
