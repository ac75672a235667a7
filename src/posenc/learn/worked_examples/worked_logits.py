"""Worked steps at the doors that act on logits, biases and scores: one line a head."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from posenc.core import arrays, text_lines
from posenc.core.doors import AttentionBias, AttentionScore
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.bounded_alibi import BoundedALiBi
from posenc.encodings.biases.dynamic_position_bias import DynamicPositionBias
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.biases.kerple import FLOOR, STEEPEST, KerpleLog, KerplePower
from posenc.encodings.biases.relative_bias import RelativeBias
from posenc.encodings.biases.sandwich import Sandwich
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.learn.worked_examples.steps import Formula, Request, WorkedStep, WorkedSteps, factor_text
from posenc.phase import cosine_sine


def worked_biases(encoding: AttentionBias, request: Request) -> WorkedSteps:
    """Work out the number that every head adds to the logit of a query and a key."""
    biases = encoding.matrix(request.positions, np.array([request.key]), request.params_of(encoding))
    values = arrays.to_numpy(biases)[..., 0, 0].reshape(-1)
    pair = f"query {request.shown}, key {request.key_shown}"
    return request.steps(_formula(encoding, request), values, lambda head: f"bias(head {head}, {pair})")


@singledispatch
def _formula(encoding: AttentionBias, request: Request) -> Formula:
    """Formula of a bias; this default, a general sentence, serves biases without their own below."""
    return Formula(f"{type(encoding).__name__} adds one number to the logit of a head, a query and a key.")


@_formula.register
def _(encoding: ALiBi, request: Request) -> Formula:
    slopes, heads, symmetric = encoding.slopes(), encoding.heads, encoding.form == "symmetric"
    sign, between, distance = "-", f"|{request.shown} - {request.key_shown}|", request.distance
    if not symmetric:
        sign, between = "", f"({request.key_shown} - {request.shown})"
        distance = text_lines.number(request.key_number - request.number)
    # Where one power of two gives every slope.
    of_two = encoding.rule == "geometric" or (encoding.rule == "paper" and heads & (heads - 1) == 0)

    def right(head: int) -> str:
        slope = f"{sign}{text_lines.number(slopes[head])}"
        rule = f"{sign}2^(-{text_lines.number(encoding.steepest)}·{head + 1}/{heads})" if of_two else slope
        return f"{rule} · {between} = {slope} · {distance}"

    note = (
        f"{heads} is no power of two: the slopes of {1 << (heads.bit_length() - 1)} heads come first, then every "
        "second one of twice as many."
    )
    text = "bias(h, m, n) = -slope_h · |m - n|" if symmetric else "bias(h, m, n) = slope_h · (n - m)"
    return Formula(text, right, () if of_two or encoding.rule == "linear" else (note,))


@_formula.register
def _(encoding: T5Bias, request: Request) -> Formula:
    distance = int(request.key_number - request.number)
    bucket = int(np.asarray(encoding.bucket(np.array([distance])))[0])
    scale = factor_text(encoding.scale)
    difference = f"distance = key - query = {request.key_shown} - {request.shown} = {distance}"
    note = f"{difference}: bucket {bucket}, {_bucket_reason(encoding, distance, bucket)}."
    text = f"bias(h, m, n) = {scale}table[bucket(n - m), h]"
    return Formula(text, lambda head: f"{scale}table[{bucket}, {head}]", (note,))


@_formula.register
def _(encoding: KerpleLog, request: Request) -> Formula:
    r1, r2 = _bounded(request, "r1"), _bounded(request, "r2")
    return Formula(
        "bias(h, m, n) = -r1_h · ln(1 + r2_h · |m - n|)",
        lambda head: f"-{text_lines.number(r1[head])} · ln(1 + {text_lines.number(r2[head])} · {request.distance})",
    )


@_formula.register
def _(encoding: KerplePower, request: Request) -> Formula:
    r1, r2 = _bounded(request, "r1"), _bounded(request, "r2", STEEPEST)
    return Formula(
        "bias(h, m, n) = -r1_h · |m - n|^r2_h",
        lambda head: f"-{text_lines.number(r1[head])} · {request.distance}^{text_lines.number(r2[head])}",
    )


@_formula.register
def _(encoding: BoundedALiBi, request: Request) -> Formula:
    heads = encoding.heads
    bound = np.abs(arrays.to_numpy(request.params["bound"])) * np.ones(heads)
    factor = f"{text_lines.number(abs(float(request.params['scale'])))} · 2^(-8·"
    return Formula(
        "bias(h, m, n) = max(-|scale| · slope_h · |m - n|, -|bound_h|)",
        lambda head: f"max(-{factor}{head + 1}/{heads}) · {request.distance}, -{text_lines.number(bound[head])})",
    )


@_formula.register
def _(encoding: Sandwich, request: Request) -> Formula:
    distance, ratios = request.number - request.key_number, encoding.ratios()
    terms = [f"cos({text_lines.number(distance)}·{text_lines.number(one)})" for one in encoding.frequencies.radians()]
    total = " + ".join(terms if len(terms) <= 4 else [*terms[:2], "…", terms[-1]])
    text = "bias(h, m, n) = Σ_i cos((m - n)·ω_i) / r_h, r_h = 8(h+1)/heads"
    return Formula(text, lambda head: f"({total}) / {text_lines.number(ratios[head])}")


@_formula.register
def _(encoding: RelativeBias, request: Request) -> Formula:
    distance, clip = int(request.number - request.key_number), encoding.clip
    row = clip + min(max(distance, -clip), clip)
    clipped = f", clipped to {row - clip}" if abs(distance) > clip else ""
    difference = f"distance = query - key = {request.shown} - {request.key_shown} = {distance}"
    note = f"{difference}{clipped}: row {row} of {2 * clip + 1}."
    text = "bias(h, m, n) = table[clip(m - n, -clip, clip) + clip, h]"
    return Formula(text, lambda head: f"table[{row}, {head}]", (note,))


@_formula.register
def _(encoding: FIRE, request: Request) -> Formula:
    c, start = (abs(float(request.params[name])) for name in ("c", "multiplier"))
    reach = max(encoding.threshold * start, float(request.number))
    share = np.log1p(c * abs(request.number - request.key_number)) / (np.log1p(c * reach) + encoding.epsilon)
    logs = (f"ln(1 + {text_lines.number(c)}·{distance})" for distance in (request.distance, text_lines.number(reach)))
    text = "bias(h, m, n) = f_h(ψ(|m - n|) / ψ(max(threshold, m))), ψ(x) = ln(1 + c·x)"
    note = f"the share is {' / '.join(logs)} = {text_lines.number(share)}."
    return Formula(text, lambda head: f"f_{head}({text_lines.number(share)})", (note,))


@_formula.register
def _(encoding: DynamicPositionBias, request: Request) -> Formula:
    distance = request.number - request.key_number
    read = np.sign(distance) * np.log1p(abs(distance)) if encoding.log_distance else distance
    argument = "sgn(m - n)·ln(|m - n| + 1)" if encoding.log_distance else "m - n"
    return Formula(f"bias(h, m, n) = MLP({argument})_h", lambda head: f"MLP({text_lines.number(read)})_{head}")


def _bounded(request: Request, name: str, most: float | None = None) -> np.ndarray:
    """Kerple's learned parameter `name` of every head, clipped to at least FLOOR and at most `most`."""
    return np.asarray(np.clip(arrays.to_numpy(request.params[name]), FLOOR, most))


def _bucket_reason(encoding: T5Bias, distance: int, bucket: int) -> str:
    """Reason why a distance falls into its bucket."""
    one_way = encoding.buckets // 2 if encoding.bidirectional else encoding.buckets
    exact, steps = one_way // 2, abs(distance)
    if distance > 0 and not encoding.bidirectional:
        return "which all keys after the query share"
    half = f"{one_way} (keys after the query) + {bucket - one_way}, " if distance > 0 else ""
    if steps < exact:
        return f"{half}as each distance below {exact} has a bucket of its own"
    if steps >= encoding.max_distance:
        return f"{half}the last one, for all distances from {encoding.max_distance} on"
    inner = f"{exact} + ⌊{one_way - exact}·ln({steps}/{exact})/ln({encoding.max_distance}/{exact})⌋"
    return f"{half}as {inner} = {bucket % one_way if distance > 0 else bucket}"


#: So many keys between a key and a query are made.
MOST_BETWEEN = 1 << 12


def worked_scores(encoding: AttentionScore, request: Request) -> WorkedSteps:
    """Work out the number that every head adds to the logit of a query and a key with some content."""
    steps = _steps(encoding, request)
    drawn = f"Query and key are drawn with seed {request.seed}."
    content = drawn if request.vector is None else "Query and key are the vector given."
    return WorkedSteps(steps.formula, steps.steps, (content, *steps.notes))


@singledispatch
def _steps(encoding: AttentionScore, request: Request) -> WorkedSteps:
    """Worked steps of a score; these defaults serve every score without its own below."""
    formula = Formula(f"{type(encoding).__name__} adds a score of content and position to the logit.")
    return request.steps(formula, _values(encoding, request), lambda head: _left(request, head))


@_steps.register
def _(encoding: Shaw, request: Request) -> WorkedSteps:
    q, _ = _content(encoding, request)
    (value,) = _values(encoding, request)
    clip, ahead = encoding.clip, encoding.clip_ahead
    row = int(np.clip(request.key_number - request.number, -clip, ahead)) + clip
    product, root = q[0] @ np.asarray(request.params["relative_keys"])[row], text_lines.number(math.sqrt(encoding.dim))
    bounds = f"-{clip}, {ahead}) + {clip}"
    index = f"row = clip(key - query, {bounds} = clip({request.key_shown} - {request.shown}, {bounds}"
    scored = f"q · relative_keys[{row}] / √{encoding.dim} = {text_lines.number(product)} / {root}"
    line = f"{_left(request, 0)} = {scored} = {text_lines.number(value)}"
    steps = (WorkedStep(f"{index} = {row}", (float(row),)), WorkedStep(line, (float(value),)))
    formula = "score(m, n) = q_m · relative_keys[clip(n - m) + clip] / √dim"
    return WorkedSteps(formula, steps, request.notes())


@_steps.register
def _(encoding: TransformerXL, request: Request) -> WorkedSteps:
    q, k = _content(encoding, request)
    values, root = _values(encoding, request), math.sqrt(encoding.dim)
    distance = request.number - request.key_number
    cosine, sine = cosine_sine(np.array([distance]), encoding.frequencies)
    r = np.concatenate([sine, cosine], -1)[0]
    u, v, projection = (np.asarray(request.params[name]) for name in ("u", "v", "W_R"))
    projected = r @ projection  # (heads, dim)
    steps = []
    for head in request.chosen(encoding.heads):
        terms = [q[head] @ projected[head] / root, u[head] @ k[head] / root, v[head] @ projected[head] / root]
        split = f"q·rW + u·k + v·rW, each over √{encoding.dim}"
        sides = (_left(request, head), split, text_lines.signed_sum(terms), text_lines.number(values[head]))
        steps.append(WorkedStep(" = ".join(sides), (*map(float, terms), float(values[head]))))
    formula = "score(m, n) = (q_m · r_{m-n}W_R + u · k_n + v · r_{m-n}W_R) / √dim"
    note = f"r of distance query - key = {text_lines.number(distance)}: {text_lines.vector(r)}"
    return WorkedSteps(formula, tuple(steps), (note, *request.notes()))


def score_width(encoding: AttentionScore) -> int:
    """Channels of a head."""
    return int(getattr(encoding, "head_dim", 0) or getattr(encoding, "dim", 8))


def _content(encoding: AttentionScore, request: Request) -> tuple[np.ndarray, np.ndarray]:
    """Query and key to score, (heads, dim) each: the given vector for both, else drawn from the seed."""
    shape = (int(getattr(encoding, "heads", 1)), score_width(encoding))
    if request.vector is not None:
        both = np.broadcast_to(request.vector, shape)
        return both, both
    q, k = np.random.default_rng([request.seed, 1]).standard_normal((2, *shape))
    return q, k


def _values(encoding: AttentionScore, request: Request) -> np.ndarray:
    q, k = _content(encoding, request)
    keys = _keys(encoding, request)
    k = np.broadcast_to(k[:, None], (len(k), len(keys), k.shape[-1]))
    x = None
    if encoding.reads:
        shape = (1, encoding.hidden_length(1, len(keys)), encoding.model_dim)  # type: ignore[attr-defined]
        x = np.random.default_rng([request.seed, 2]).standard_normal(shape)
    score = encoding.score(q[None, :, None], k[None], request.positions, keys, request.params_of(encoding), hidden=x)
    return np.asarray(arrays.to_numpy(score)[0, :, 0, 0], np.float64)


def _keys(encoding: AttentionScore, request: Request) -> np.ndarray:
    """Positions of keys: the key alone, or all from it to the query if the score depends on the keys between."""
    if encoding.axes > 1:
        return np.array([request.key])
    steps = request.number - request.key_number
    between = encoding.gathers and 0 <= steps <= MOST_BETWEEN and float(steps).is_integer()
    return request.key_number + np.arange(int(steps) + 1 if between else 1)


def _left(request: Request, head: int) -> str:
    return f"score(head {head}, query {request.shown}, key {request.key_shown})"
