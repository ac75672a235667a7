"""Worked steps at the door that adds: one line a dimension."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from posenc.compose import Concatenated, LearnedScale, Scaled, Sum
from posenc.core import arrays, text_lines
from posenc.core.doors import AdditiveEncoding, Params
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
from posenc.inspect.sinusoid_channels import required_channels
from posenc.learn.worked_examples.steps import Formula, Request, WorkedSteps, angle_text, factor_text

SHORT = {"sine": "sin", "cosine": "cos"}


def worked_adds(record: AdditiveEncoding, request: Request) -> WorkedSteps:
    """The value of every dimension."""
    row = _row_at(record, request, request.params_of(record))
    steps = request.steps(_formula(record, request), row, lambda dimension: f"PE({request.shown}, {dimension})")
    whole = (f"PE({request.shown}) = {text_lines.vector(row)}",) if request.dims is None else ()
    return WorkedSteps(steps.formula, steps.steps, (*whole, *steps.notes))


@singledispatch
def _formula(record: AdditiveEncoding, request: Request) -> Formula:
    """What any record that adds can say without more being written for it."""
    return Formula(f"{type(record).__name__} gives a vector of {record.width} for every position.")


@_formula.register
def _(record: Sinusoidal, request: Request) -> Formula:
    dim = record.frequencies.dim
    exponent = {"2i/d": f"2i/{dim}", "i/d": f"i/{dim}"}.get(record.exponent, f"i/({dim}/2-1)")
    position = "p" if not record.start else f"(p + {record.start})"
    scale = factor_text(record.scale)
    both = [f"{scale}{name}({position} / {text_lines.number(record.base)}^({exponent}))" for name in ("sin", "cos")]
    first, second = both if record.first == "sine" else both[::-1]
    interleaved = f"PE(p, 2i) = {first}, PE(p, 2i+1) = {second}"
    concatenated = f"PE(p, i) = {first}, PE(p, {record.frequencies.pairs}+i) = {second}"
    text = interleaved if record.layout == "interleaved" else concatenated
    single = "Frequency, angle and function are taken in float32, as released models do."
    return _of_sinusoids(record, request, text)._replace(notes=() if record.numerics == "exact" else (single,))


@_formula.register
def _(record: OneSine, request: Request) -> Formula:
    return _of_sinusoids(record, request, "PE(p, 0) = sin(p)")


@_formula.register
def _(record: DivisorPairs, request: Request) -> Formula:
    return _of_sinusoids(record, request, "PE(p, 2i) = sin(p / divisor i), PE(p, 2i+1) = cos(p / divisor i)")


@_formula.register
def _(record: FourierFeatures, request: Request) -> Formula:
    text = "PE(p) = sin(f_k · π · p) and cos(f_k · π · p) for every band k"
    return Formula(f"{text}, behind p itself") if record.coordinate else _of_sinusoids(record, request, text)


@_formula.register
def _(record: RandomFourierFeatures, request: Request) -> Formula:
    text = "PE(p) = cos(2π · b_k · p) and sin(2π · b_k · p), every b_k drawn once"
    return Formula(f"{text} for each coordinate") if record.axes > 1 else _of_sinusoids(record, request, text)


@_formula.register
def _(record: TimestepEmbedding, request: Request) -> Formula:
    power = f"{text_lines.number(record.max_period)}^(i / ({record.dim // 2} - {text_lines.number(record.shift)}))"
    return _of_sinusoids(record, request, f"PE(t) = sin and cos of {factor_text(record.scale)}t / {power}")


@_formula.register
def _(record: Time2Vec, request: Request) -> Formula:
    omega, phi = (arrays.to_numpy(request.params[name]) for name in ("omega", "phi"))

    def right(dimension: int) -> str:
        line = f"{text_lines.number(omega[dimension])} · {request.shown} + {text_lines.number(phi[dimension])}"
        return f"sin({line})" if dimension else line

    return Formula("PE(p, 0) = ω0 · p + φ0, PE(p, c) = sin(ωc · p + φc), ω and φ learned", right)


@_formula.register
def _(record: AxialLearned, request: Request) -> Formula:
    channels = [(axis, channel) for axis, width in enumerate(record.dims) for channel in range(width)]

    def right(dimension: int) -> str:
        axis, channel = channels[dimension]
        digits = np.unravel_index(int(request.number), record.shape)
        return f"table_{axis}[{int(digits[axis])}, {channel}]"

    return Formula(f"PE(p) = a row of each table, by the digits of p in {' × '.join(map(str, record.shape))}", right)


@_formula.register
def _(record: Count, request: Request) -> Formula:
    return Formula(f"PE(p, 0) = p + {record.start}", lambda _: f"{request.shown} + {record.start}")


@_formula.register
def _(record: NormalisedCount, request: Request) -> Formula:
    start, length = record.start, record.length
    return Formula(f"PE(p, 0) = (p + {start}) / {length}", lambda _: f"({request.shown} + {start}) / {length}")


@_formula.register
def _(record: Learned, request: Request) -> Formula:
    row = _row_number(record, request)
    return Formula(f"PE(p, c) = table[p, c], {record.length} rows", lambda dimension: f"table[{row}, {dimension}]")


@_formula.register
def _(record: Scaled, request: Request) -> Formula:
    row, factor = (
        _row_at(record.encoding, request, request.params_of(record.encoding)),
        text_lines.number(record.factor),
    )
    text = f"PE(p) = {factor} · {text_lines.short(record.encoding)}"
    return Formula(text, lambda dimension: f"{factor} · {text_lines.number(row[dimension])}")


@_formula.register
def _(record: LearnedScale, request: Request) -> Formula:
    row = _row_at(record.encoding, request, _params_of_part(record.encoding, request, "encoding."))
    factor = text_lines.number(float(request.params["scale"]))
    text = f"PE(p) = scale · {text_lines.short(record.encoding)}, scale learned"
    return Formula(text, lambda dimension: f"{factor} · {text_lines.number(row[dimension])}")


@_formula.register
def _(record: Sum, request: Request) -> Formula:
    rows = [_row_at(part, request, _params_of_part(part, request, f"{at}.")) for at, part in enumerate(record.parts)]
    text = f"PE(p) = {' + '.join(text_lines.short(part) for part in record.parts)}"
    return Formula(text, lambda dimension: text_lines.signed_sum(row[dimension] for row in rows))


@_formula.register
def _(record: Concatenated, request: Request) -> Formula:
    inner = _formula(record.encoding, request)
    return inner._replace(notes=("The vector stands behind the embedding, which grows by its width.", *inner.notes))


def _of_sinusoids(record: AdditiveEncoding, request: Request, text: str) -> Formula:
    """The formula of a record that is made of sines and cosines."""
    channels = required_channels(record)
    position = request.shown if not channels.start else f"({request.shown} + {channels.start})"
    scale = factor_text(channels.factor)
    frequencies = np.empty(0) if channels.frequencies is None else channels.frequencies.radians()

    def right(dimension: int) -> str:
        kind, pair = channels.channel(dimension)
        if channels.frequencies is None or kind == "zero":
            return ""
        substituted = angle_text(position, channels.frequencies, pair)
        radians = text_lines.number((request.number + channels.start) * frequencies[pair])
        reduced = f" = {scale}{SHORT[kind]}({radians})" if substituted != radians else ""
        return f"{scale}{SHORT[kind]}({substituted}){reduced}"

    return Formula(text, right)


def _row_number(record: Learned, request: Request) -> str:
    """Which row of the table a position takes, in words where it lies outside."""
    position = request.number
    if record.outside == "interpolate":
        return f"{request.shown} of {record.extent}, stretched"
    if 0 <= position < record.length or record.outside == "error":
        return request.shown
    if record.outside == "wrap":
        return f"{request.shown} mod {record.length} = {int(position) % record.length}"
    return f"{request.shown} clamped to {min(max(int(position), 0), record.length - 1)}"


def _row_at(record: AdditiveEncoding, request: Request, params: Params | None) -> np.ndarray:
    return np.asarray(arrays.to_numpy(record.embed(request.positions, params))[0], np.float64)


def _params_of_part(part: AdditiveEncoding, request: Request, prefix: str) -> Params | None:
    """The parameters of a part of a composition, under their own names."""
    if not part.shapes:
        return None
    return {name.removeprefix(prefix): value for name, value in request.params.items() if name.startswith(prefix)}
