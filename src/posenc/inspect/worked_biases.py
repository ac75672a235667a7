"""Worked steps at the door that biases: one line a head."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from posenc import _array
from posenc.doors import Biases
from posenc.encodings.alibi import ALiBi
from posenc.encodings.t5 import T5Bias
from posenc.inspect import _text
from posenc.inspect.steps import Question, Step, Steps


@singledispatch
def biases(record: Biases, question: Question) -> Steps:
    """The number for every head: what any record that biases can say without more being written for it."""
    return _lines(
        record,
        question,
        f"{type(record).__name__} adds one number to the logit of a head, a query and a key.",
        lambda _: "",
    )


@biases.register
def _(record: ALiBi, question: Question) -> Steps:
    slopes = record.slopes()
    distance = _text.number(abs(question.position - question.key))
    between = f"|{question.place} - {_text.number(question.key)}|"
    power = record.heads & (record.heads - 1) == 0

    def right(head: int) -> str:
        slope = _text.number(slopes[head])
        rule = f"-2^(-{_text.number(record.steepest)}·{head + 1}/{record.heads})" if power else f"-{slope}"
        reduced = f" = -{slope} · {distance}"
        return f"{rule} · {between}{reduced}"

    notes = (
        ()
        if power
        else (
            f"{record.heads} is no power of two: the slopes of {1 << (record.heads.bit_length() - 1)} heads come first, "
            "then every second one of twice as many.",
        )
    )
    return _lines(record, question, "bias(h, m, n) = -slope_h · |m - n|", right, notes)


@biases.register
def _(record: T5Bias, question: Question) -> Steps:
    distance = int(question.key - question.position)
    bucket = int(np.asarray(record.bucket(np.array([distance])))[0])
    said = f"distance = key - query = {_text.number(question.key)} - {question.place} = {distance}"
    return _lines(
        record,
        question,
        "bias(h, m, n) = table[bucket(n - m), h]",
        lambda head: f"table[{bucket}, {head}]",
        (f"{said}: bucket {bucket}, {_why(record, distance, bucket)}.",),
    )


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
    record: Biases, question: Question, formula: str, right: Callable[[int], str], notes: tuple[str, ...] = ()
) -> Steps:
    params = question.learned(record)
    numbers = _array.to_numpy(record.matrix(question.at, np.array([question.key]), params))[..., 0, 0].reshape(-1)
    steps = []
    for head in question.chosen(record.heads):
        middle, value = right(head), _text.number(numbers[head])
        between = f"{middle} = " if middle else ""
        key = _text.number(question.key)
        steps.append(
            Step(f"bias(head {head}, query {question.place}, key {key}) = {between}{value}", (float(numbers[head]),))
        )
    return Steps(formula, tuple(steps), (*notes, *question.notes()))
