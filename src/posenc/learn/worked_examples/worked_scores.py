"""Worked steps at the door that scores content against position: one line a head."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from posenc.core import arrays, text_lines
from posenc.core.doors import AttentionScore
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.learn.worked_examples.steps import Formula, Request, WorkedStep, WorkedSteps
from posenc.phase import cosine_sine

#: So many keys between a key and a query are made.
MOST_BETWEEN = 1 << 12


def worked_scores(encoding: AttentionScore, request: Request) -> WorkedSteps:
    """What every head adds to the logit of a query and a key with some content."""
    steps = _steps(encoding, request)
    drawn = f"Query and key are drawn with seed {request.seed}."
    content = drawn if request.vector is None else "Query and key are the vector given."
    return WorkedSteps(steps.formula, steps.steps, (content, *steps.notes))


@singledispatch
def _steps(encoding: AttentionScore, request: Request) -> WorkedSteps:
    """What any encoding that scores can say without more being written for it."""
    formula = Formula(f"{type(encoding).__name__} adds a score of content and position to the logit.")
    return request.steps(formula, _values(encoding, request), lambda head: _left(request, head))


@_steps.register
def _(encoding: Shaw, request: Request) -> WorkedSteps:
    q, _ = _content(encoding, request)
    (value,) = _values(encoding, request)
    key_positions, query_positions, clip, ahead = request.key_shown, request.shown, encoding.clip, encoding.clip_ahead
    row = int(np.clip(request.key_number - request.number, -clip, ahead)) + clip
    product, root = q[0] @ np.asarray(request.params["relative_keys"])[row], text_lines.number(math.sqrt(encoding.dim))
    index = f"row = clip(key - query, -{clip}, {ahead}) + {clip} = clip({key_positions} - {query_positions}, -{clip}, {ahead}) + {clip}"
    sides = (
        _left(request, 0),
        f"q · relative_keys[{row}] / √{encoding.dim}",
        f"{text_lines.number(product)} / {root}",
        text_lines.number(value),
    )
    steps = (WorkedStep(f"{index} = {row}", (float(row),)), WorkedStep(" = ".join(sides), (float(value),)))
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
    """The query and key that are scored: the vector given as both, or two drawn from the seed; (heads, dim) each."""
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
    """The key's position; before a query that counts what lies between, every position up to its own."""
    if encoding.axes > 1:
        return np.array([request.key])
    steps = request.number - request.key_number
    between = encoding.gathers and 0 <= steps <= MOST_BETWEEN and float(steps).is_integer()
    return request.key_number + np.arange(int(steps) + 1 if between else 1)


def _left(request: Request, head: int) -> str:
    return f"score(head {head}, query {request.shown}, key {request.key_shown})"
