"""Worked steps at the door that biases: one line a head."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from posenc import _array
from posenc.doors import Biases
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.bounded_alibi import BoundedALiBi
from posenc.encodings.biases.dynamic_position_bias import DynamicPositionBias
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.biases.kerple import FLOOR, STEEPEST, KerpleLog, KerplePower
from posenc.encodings.biases.relative_bias import RelativeBias
from posenc.encodings.biases.sandwich import Sandwich
from posenc.encodings.biases.t5 import T5Bias
from posenc.inspect import _text
from posenc.inspect.worked_examples.steps import Request, Step, Steps


@singledispatch
def biases(record: Biases, question: Request) -> Steps:
    """The number for every head: what any record that biases can say without more being written for it."""
    return _lines(
        record,
        question,
        f"{type(record).__name__} adds one number to the logit of a head, a query and a key.",
        lambda _: "",
    )


@biases.register
def _(record: ALiBi, question: Request) -> Steps:
    slopes, symmetric = record.slopes(), record.form == "symmetric"
    key = question.there
    between = f"|{question.place} - {key}|" if symmetric else f"({key} - {question.place})"
    distance = _text.number(abs(question.one - question.one_key) if symmetric else question.one_key - question.one)
    # Where one power of two gives every slope.
    plain = record.rule == "geometric" or (record.rule == "paper" and record.heads & (record.heads - 1) == 0)
    sign = "-" if symmetric else ""

    def right(head: int) -> str:
        slope = _text.number(slopes[head])
        rule = f"{sign}2^(-{_text.number(record.steepest)}·{head + 1}/{record.heads})" if plain else f"{sign}{slope}"
        reduced = f" = {sign}{slope} · {distance}"
        return f"{rule} · {between}{reduced}"

    notes = (
        ()
        if plain or record.rule == "linear"
        else (
            f"{record.heads} is no power of two: the slopes of {1 << (record.heads.bit_length() - 1)} heads come first, "
            "then every second one of twice as many.",
        )
    )
    formula = "bias(h, m, n) = -slope_h · |m - n|" if symmetric else "bias(h, m, n) = slope_h · (n - m)"
    return _lines(record, question, formula, right, notes)


@biases.register
def _(record: T5Bias, question: Request) -> Steps:
    distance = int(question.one_key - question.one)
    bucket = int(np.asarray(record.bucket(np.array([distance])))[0])
    scale = "" if record.scale == 1.0 else f"{_text.number(record.scale)} · "
    said = f"distance = key - query = {question.there} - {question.place} = {distance}"
    return _lines(
        record,
        question,
        f"bias(h, m, n) = {scale}table[bucket(n - m), h]",
        lambda head: f"{scale}table[{bucket}, {head}]",
        (f"{said}: bucket {bucket}, {_why(record, distance, bucket)}.",),
    )


@biases.register
def _(record: KerpleLog, question: Request) -> Steps:
    r1, r2 = _within(record, question, None)
    distance = _text.number(abs(question.one - question.one_key))
    return _lines(
        record,
        question,
        "bias(h, m, n) = -r1_h · ln(1 + r2_h · |m - n|)",
        lambda head: f"-{_text.number(r1[head])} · ln(1 + {_text.number(r2[head])} · {distance})",
    )


@biases.register
def _(record: KerplePower, question: Request) -> Steps:
    r1, r2 = _within(record, question, STEEPEST)
    distance = _text.number(abs(question.one - question.one_key))
    return _lines(
        record,
        question,
        "bias(h, m, n) = -r1_h · |m - n|^r2_h",
        lambda head: f"-{_text.number(r1[head])} · {distance}^{_text.number(r2[head])}",
    )


@biases.register
def _(record: BoundedALiBi, question: Request) -> Steps:
    params = question.learned(record) or {}
    bound = np.abs(_array.to_numpy(params["bound"])) * np.ones(record.heads)
    scale, distance = _text.number(abs(float(params["scale"]))), _text.number(abs(question.one - question.one_key))
    return _lines(
        record,
        question,
        "bias(h, m, n) = max(-|scale| · slope_h · |m - n|, -|bound_h|)",
        lambda head: f"max(-{scale} · 2^(-8·{head + 1}/{record.heads}) · {distance}, -{_text.number(bound[head])})",
    )


@biases.register
def _(record: Sandwich, question: Request) -> Steps:
    distance, rates = question.one - question.one_key, record.frequencies.radians()
    waves = [f"cos({_text.number(distance)}·{_text.number(rate)})" for rate in rates]
    said = " + ".join(waves if len(waves) <= 4 else [*waves[:2], "…", waves[-1]])
    return _lines(
        record,
        question,
        "bias(h, m, n) = Σ_i cos((m - n)·ω_i) / r_h, r_h = 8(h+1)/heads",
        lambda head: f"({said}) / {_text.number(record.ratios()[head])}",
    )


@biases.register
def _(record: RelativeBias, question: Request) -> Steps:
    distance = int(question.one - question.one_key)
    row = record.clip + min(max(distance, -record.clip), record.clip)
    said = f"distance = query - key = {question.place} - {question.there} = {distance}"
    clipped = f", clipped to {row - record.clip}" if abs(distance) > record.clip else ""
    return _lines(
        record,
        question,
        "bias(h, m, n) = table[clip(m - n, -clip, clip) + clip, h]",
        lambda head: f"table[{row}, {head}]",
        (f"{said}{clipped}: row {row} of {2 * record.clip + 1}.",),
    )


@biases.register
def _(record: FIRE, question: Request) -> Steps:
    params = question.learned(record) or {}
    c, start = (abs(float(params[name])) for name in ("c", "multiplier"))
    reach = max(record.threshold * start, float(question.one))
    share = np.log1p(c * abs(question.one - question.one_key)) / (np.log1p(c * reach) + record.epsilon)
    distance, within = _text.number(abs(question.one - question.one_key)), _text.number(reach)
    return _lines(
        record,
        question,
        "bias(h, m, n) = f_h(ψ(|m - n|) / ψ(max(threshold, m))), ψ(x) = ln(1 + c·x)",
        lambda head: f"f_{head}({_text.number(share)})",
        (
            f"the share is ln(1 + {_text.number(c)}·{distance}) / ln(1 + {_text.number(c)}·{within}) = {_text.number(share)}.",
        ),
    )


@biases.register
def _(record: DynamicPositionBias, question: Request) -> Steps:
    distance = question.one - question.one_key
    read = np.sign(distance) * np.log1p(abs(distance)) if record.log_distance else distance
    said = "sgn(m - n)·ln(|m - n| + 1)" if record.log_distance else "m - n"
    return _lines(
        record,
        question,
        f"bias(h, m, n) = MLP({said})_h",
        lambda head: f"MLP({_text.number(read)})_{head}",
    )


def _within(record: KerpleLog | KerplePower, question: Request, most: float | None) -> list[np.ndarray]:
    """r1 and r2 of every head, as they act: within their bounds."""
    params = question.learned(record) or {}
    ends = (("r1", None), ("r2", most))
    return [np.clip(_array.to_numpy(params[name]), FLOOR, end) for name, end in ends]


def _why(record: T5Bias, distance: int, bucket: int) -> str:
    """Why a distance falls into its bucket."""
    one_way = record.buckets // 2 if record.bidirectional else record.buckets
    exact, steps = one_way // 2, abs(distance)
    if distance > 0 and not record.bidirectional:
        return "which all keys after the query share"
    half = f"{one_way} (keys after the query) + {bucket - one_way}, " if distance > 0 else ""
    if steps < exact:
        return f"{half}as each distance below {exact} has a bucket of its own"
    if steps >= record.max_distance:
        return f"{half}the last one, for all distances from {record.max_distance} on"
    inner = f"{exact} + ⌊{one_way - exact}·ln({steps}/{exact})/ln({record.max_distance}/{exact})⌋"
    return f"{half}as {inner} = {bucket % one_way if distance > 0 else bucket}"


def _lines(
    record: Biases, question: Request, formula: str, right: Callable[[int], str], notes: tuple[str, ...] = ()
) -> Steps:
    params = question.learned(record)
    numbers = _array.to_numpy(record.matrix(question.at, np.array([question.key]), params))[..., 0, 0].reshape(-1)
    steps = []
    for head in question.chosen(record.heads):
        middle, value = right(head), _text.number(numbers[head])
        between = f"{middle} = " if middle else ""
        key = question.there
        steps.append(
            Step(f"bias(head {head}, query {question.place}, key {key}) = {between}{value}", (float(numbers[head]),))
        )
    return Steps(formula, tuple(steps), (*notes, *question.notes()))
