"""Worked steps at the door that scores content against position: one line a head."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from posenc import _array
from posenc.doors import Scores
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.inspect import _text
from posenc.inspect.worked_examples.steps import Request, Step, Steps
from posenc.phase import cosine_sine

#: So many keys between a key and a query are made.
MOST_BETWEEN = 1 << 12


@singledispatch
def scores(record: Scores, question: Request) -> Steps:
    """The score for every head: what any record that scores can say without more being written for it."""
    values = _values(record, question)
    steps = [
        Step(f"{_left(question, head)} = {_text.number(values[head])}", (float(values[head]),))
        for head in question.chosen(len(values))
    ]
    return Steps(
        f"{type(record).__name__} adds a score of content and position to the logit.", tuple(steps), _notes(question)
    )


@scores.register
def _(record: Shaw, question: Request) -> Steps:
    q, _ = content(record, question)
    values = _values(record, question)
    key, place, clip = question.there, question.place, record.clip
    row = int(np.clip(question.one_key - question.one, -clip, clip)) + clip
    product = q[0] @ np.asarray(question.params["relative_keys"])[row]
    said = (
        f"{_left(question, 0)} = q · relative_keys[{row}] / √{record.dim} = {_text.number(product)} / "
        f"{_text.number(math.sqrt(record.dim))} = {_text.number(values[0])}"
    )
    index = (
        f"row = clip(key - query, -{clip}, {clip}) + {clip} = clip({key} - {place}, -{clip}, {clip}) + {clip} = {row}"
    )
    formula = "score(m, n) = q_m · relative_keys[clip(n - m) + clip] / √dim"
    return Steps(formula, (Step(index, (float(row),)), Step(said, (float(values[0]),))), _notes(question))


@scores.register
def _(record: TransformerXL, question: Request) -> Steps:
    q, k = content(record, question)
    values = _values(record, question)
    distance = question.one - question.one_key
    cosine, sine = cosine_sine(np.array([distance]), record.frequencies)
    r = np.concatenate([sine, cosine], -1)[0]
    seen = r @ np.asarray(question.params["W_R"])  # (heads, dim)
    u, v = np.asarray(question.params["u"]), np.asarray(question.params["v"])
    root = math.sqrt(record.dim)
    steps = []
    for head in question.chosen(record.heads):
        terms = [q[head] @ seen[head] / root, u[head] @ k[head] / root, v[head] @ seen[head] / root]
        said = f"{_left(question, head)} = q·rW + u·k + v·rW, each over √{record.dim} = {_text.added(terms)} = {_text.number(values[head])}"
        steps.append(Step(said, (*map(float, terms), float(values[head]))))
    formula = "score(m, n) = (q_m · r_{m-n}W_R + u · k_n + v · r_{m-n}W_R) / √dim"
    waves = f"r of distance query - key = {_text.number(distance)}: {_text.vector(r)}"
    return Steps(formula, tuple(steps), (waves, *_notes(question)))


def content(record: Scores, question: Request) -> tuple[np.ndarray, np.ndarray]:
    """The query and key that are scored: the vector that was given as both, or two drawn from the seed; (heads, dim) each."""
    shape = (int(getattr(record, "heads", 1)), width(record))
    if question.vector is not None:
        both = np.broadcast_to(question.vector, shape)
        return both, both
    q, k = np.random.default_rng([question.seed, 1]).standard_normal((2, *shape))
    return q, k


def width(record: Scores) -> int:
    """Channels of a head."""
    return int(getattr(record, "head_dim", 0) or getattr(record, "dim", 8))


def _values(record: Scores, question: Request) -> np.ndarray:
    q, k = content(record, question)
    keys = _keys(record, question)
    k = np.broadcast_to(k[:, None], (len(k), len(keys), k.shape[-1]))
    x = None
    if record.reads:
        shape = (1, record.places_read(1, len(keys)), record.model_dim)  # type: ignore[attr-defined]
        x = np.random.default_rng([question.seed, 2]).standard_normal(shape)
    score = record.score(q[None, :, None], k[None], question.at, keys, question.learned(record), hidden=x)
    return np.asarray(_array.to_numpy(score)[0, :, 0, 0], np.float64)


def _keys(record: Scores, question: Request) -> np.ndarray:
    """The key's position; before a query that counts what lies between, every position up to its own."""
    if record.axes > 1:
        return np.array([question.key])
    steps = question.one - question.one_key
    between = record.gathers and 0 <= steps <= MOST_BETWEEN and float(steps).is_integer()
    return question.one_key + np.arange(int(steps) + 1 if between else 1)


def _left(question: Request, head: int) -> str:
    return f"score(head {head}, query {question.place}, key {question.there})"


def _notes(question: Request) -> tuple[str, ...]:
    drawn = (
        f"Query and key are drawn with seed {question.seed}."
        if question.vector is None
        else "Query and key are the vector given."
    )
    return (drawn, *question.notes())
