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


def worked_adds(encoding: AdditiveEncoding, request: Request) -> WorkedSteps:
    """Work out the value of every dimension."""
    row = _row_at(encoding, request, request.params_of(encoding))
    steps = request.steps(_formula(encoding, request), row, lambda dimension: f"PE({request.shown}, {dimension})")
    whole = (f"PE({request.shown}) = {text_lines.vector(row)}",) if request.dims is None else ()
    return WorkedSteps(steps.formula, steps.steps, (*whole, *steps.notes))


@singledispatch
def _formula(encoding: AdditiveEncoding, request: Request) -> Formula:
    """Formula of an encoding that adds; this default, a general sentence, serves encodings without their own."""
    return Formula(f"{type(encoding).__name__} gives a vector of {encoding.width} for every position.")


@_formula.register
def _(encoding: Sinusoidal, request: Request) -> Formula:
    dim = encoding.frequencies.dim
    exponent = {"2i/d": f"2i/{dim}", "i/d": f"i/{dim}"}.get(encoding.exponent, f"i/({dim}/2-1)")
    position = "p" if not encoding.start else f"(p + {encoding.start})"
    scale = factor_text(encoding.scale)
    both = [f"{scale}{name}({position} / {text_lines.number(encoding.base)}^({exponent}))" for name in ("sin", "cos")]
    first, second = both if encoding.first == "sine" else both[::-1]
    interleaved = f"PE(p, 2i) = {first}, PE(p, 2i+1) = {second}"
    concatenated = f"PE(p, i) = {first}, PE(p, {encoding.frequencies.pairs}+i) = {second}"
    text = interleaved if encoding.layout == "interleaved" else concatenated
    single = "Frequency, angle and function are taken in float32, as released models do."
    return _of_sinusoids(encoding, request, text)._replace(notes=() if encoding.numerics == "exact" else (single,))


@_formula.register
def _(encoding: OneSine, request: Request) -> Formula:
    return _of_sinusoids(encoding, request, "PE(p, 0) = sin(p)")


@_formula.register
def _(encoding: DivisorPairs, request: Request) -> Formula:
    return _of_sinusoids(encoding, request, "PE(p, 2i) = sin(p / divisor i), PE(p, 2i+1) = cos(p / divisor i)")


@_formula.register
def _(encoding: FourierFeatures, request: Request) -> Formula:
    text = "PE(p) = sin(f_k · π · p) and cos(f_k · π · p) for every band k"
    return Formula(f"{text}, behind p itself") if encoding.coordinate else _of_sinusoids(encoding, request, text)


@_formula.register
def _(encoding: RandomFourierFeatures, request: Request) -> Formula:
    text = "PE(p) = cos(2π · b_k · p) and sin(2π · b_k · p), every b_k drawn once"
    return Formula(f"{text} for each coordinate") if encoding.axes > 1 else _of_sinusoids(encoding, request, text)


@_formula.register
def _(encoding: TimestepEmbedding, request: Request) -> Formula:
    period, shift = text_lines.number(encoding.max_period), text_lines.number(encoding.shift)
    power = f"{period}^(i / ({encoding.dim // 2} - {shift}))"
    return _of_sinusoids(encoding, request, f"PE(t) = sin and cos of {factor_text(encoding.scale)}t / {power}")


@_formula.register
def _(encoding: Time2Vec, request: Request) -> Formula:
    omega, phi = (arrays.to_numpy(request.params[name]) for name in ("omega", "phi"))

    def right(dimension: int) -> str:
        line = f"{text_lines.number(omega[dimension])} · {request.shown} + {text_lines.number(phi[dimension])}"
        return f"sin({line})" if dimension else line

    return Formula("PE(p, 0) = ω0 · p + φ0, PE(p, c) = sin(ωc · p + φc), ω and φ learned", right)


@_formula.register
def _(encoding: AxialLearned, request: Request) -> Formula:
    channels = [(axis, channel) for axis, width in enumerate(encoding.dims) for channel in range(width)]

    def right(dimension: int) -> str:
        axis, channel = channels[dimension]
        digits = np.unravel_index(int(request.number), encoding.shape)
        return f"table_{axis}[{int(digits[axis])}, {channel}]"

    return Formula(f"PE(p) = a row of each table, by the digits of p in {' × '.join(map(str, encoding.shape))}", right)


@_formula.register
def _(encoding: Count, request: Request) -> Formula:
    return Formula(f"PE(p, 0) = p + {encoding.start}", lambda _: f"{request.shown} + {encoding.start}")


@_formula.register
def _(encoding: NormalisedCount, request: Request) -> Formula:
    start, length = encoding.start, encoding.length
    return Formula(f"PE(p, 0) = (p + {start}) / {length}", lambda _: f"({request.shown} + {start}) / {length}")


@_formula.register
def _(encoding: Learned, request: Request) -> Formula:
    row = _row_number(encoding, request)
    return Formula(f"PE(p, c) = table[p, c], {encoding.length} rows", lambda dimension: f"table[{row}, {dimension}]")


@_formula.register
def _(encoding: Scaled, request: Request) -> Formula:
    row = _row_at(encoding.encoding, request, request.params_of(encoding.encoding))
    factor = text_lines.number(encoding.factor)
    text = f"PE(p) = {factor} · {text_lines.short(encoding.encoding)}"
    return Formula(text, lambda dimension: f"{factor} · {text_lines.number(row[dimension])}")


@_formula.register
def _(encoding: LearnedScale, request: Request) -> Formula:
    row = _row_at(encoding.encoding, request, _params_of_part(encoding.encoding, request, "inner."))
    factor = text_lines.number(float(request.params["scale"]))
    text = f"PE(p) = scale · {text_lines.short(encoding.encoding)}, scale learned"
    return Formula(text, lambda dimension: f"{factor} · {text_lines.number(row[dimension])}")


@_formula.register
def _(encoding: Sum, request: Request) -> Formula:
    rows = [_row_at(part, request, _params_of_part(part, request, f"{at}.")) for at, part in enumerate(encoding.parts)]
    text = f"PE(p) = {' + '.join(text_lines.short(part) for part in encoding.parts)}"
    return Formula(text, lambda dimension: text_lines.signed_sum(row[dimension] for row in rows))


@_formula.register
def _(encoding: Concatenated, request: Request) -> Formula:
    inner = _formula(encoding.encoding, request)
    return inner._replace(notes=("The vector stands behind the embedding, which grows by its width.", *inner.notes))


def _of_sinusoids(encoding: AdditiveEncoding, request: Request, text: str) -> Formula:
    """Formula of an encoding that is made of sines and cosines."""
    channels = required_channels(encoding)
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


def _row_number(encoding: Learned, request: Request) -> str:
    """Table row for a position as text, with how a position outside the table is wrapped, clamped or stretched."""
    position = request.number
    if encoding.outside == "interpolate":
        return f"{request.shown} of {encoding.extent}, stretched"
    if 0 <= position < encoding.length or encoding.outside == "error":
        return request.shown
    if encoding.outside == "wrap":
        return f"{request.shown} mod {encoding.length} = {int(position) % encoding.length}"
    return f"{request.shown} clamped to {min(max(int(position), 0), encoding.length - 1)}"


def _row_at(encoding: AdditiveEncoding, request: Request, params: Params | None) -> np.ndarray:
    return np.asarray(arrays.to_numpy(encoding.embed(request.positions, params))[0], np.float64)


def _params_of_part(part: AdditiveEncoding, request: Request, prefix: str) -> Params | None:
    """Parameters of a part of a composition, under their own names."""
    if not part.shapes:
        return None
    return {name.removeprefix(prefix): value for name, value in request.params.items() if name.startswith(prefix)}
