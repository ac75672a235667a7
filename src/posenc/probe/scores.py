"""Weights and scores of attention, from the logits of a probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc.probe.answers import Answers
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import MOVED, Prompt
from posenc.probe.stream import FIRST_QUERY, KEY

#: Rounding of one operation, by type.
ROUNDOFF = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
#: How often a weight is rounded on its way through a model, in roundings of one operation.
OPERATIONS = 8.0
#: The most that one rounding of a rotated key of ones, by pairs of length √2, moves the score of a unit query.
WIDE = 2.0**0.5
#: A weight below this is none: the key is not seen.
UNSEEN = 1e-9
#: What the rounding of a mean, which a norm subtracts, adds to a weight, of one rounding.
SHARE_OF_MEAN = 2.0**-3
#: What is lost where a masked prediction lifts all numbers above zero.
SHARE_OF_LIFT = 4.0
#: Rows are log-probabilities if their exponentials sum to one as nearly as this.
SUMS_TO_ONE = 0.02


#: Distances at which a key is seen, and those at which it is not.
Sides = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class MovedKey:
    """Scores with a key at another position than 0; positions have an axis of coordinates where each is asked.

    Attributes:
        channels: Channel of each query, (queries,).
        query_positions: Of each query.
        key_position: Of the key.
        scores: Of each query, NaN where the key is not seen or a window may hide other keys.
        errors: How far rounding may put them.
    """

    channels: np.ndarray
    query_positions: np.ndarray
    key_position: np.ndarray
    scores: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True, eq=False)
class LayerScores:
    """Scores of one layer.

    Attributes:
        distances: From the key to the query, (distances,), or (distances, coordinates) where each is asked by itself.
        scores: Of each query channel at each distance, (channels, distances), 1 where nothing rotates; NaN where the
            key is not seen.
        errors: How far rounding may put them, of the same shape.
        seen: Distances of the window's prompt at which the key is seen, and those at which it is not.
        ahead: The same of keys that come later, in an encoder.
        moved: Scores with a key at another position; None where none are seen.
    """

    distances: np.ndarray
    scores: np.ndarray
    errors: np.ndarray
    seen: Sides
    ahead: Sides = ((), ())
    moved: MovedKey | None = None

    def of_text(self) -> LayerScores:
        """Return the scores at distances that are equal in all coordinates, as in text, by one distance each."""
        if self.distances.ndim == 1:
            return self
        alike = (self.distances == self.distances[:, :1]).all(1)
        scores, errors = self.scores[:, alike], self.errors[:, alike]
        return replace(self, distances=self.distances[alike, 0], scores=scores, errors=errors)


def layer_scores(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtype: str, keys: str = "float32"
) -> list[LayerScores]:
    """Scores of query channels by distance in each layer, for a rotation probe; `keys` is the dtype of cached keys."""
    asked = [prompt for prompt in prompts if prompt.name.startswith("channel_")]
    steps = sorted({step for prompt in asked for step in prompt.steps()})
    column = {step: number for number, step in enumerate(steps)}
    distances = np.array(steps) if len(steps[0]) > 1 else np.array(steps)[:, 0]
    result = []
    for layer in range(layout.stream.layers):
        scores = np.full((layout.stream.queries, len(steps)), np.nan)
        errors = scores.copy()
        for prompt in asked:
            channel = int(prompt.name.split("_")[1])
            columns = [column[step] for step in prompt.steps()]
            score = _scores(layout, answers.rows[prompt.name], layer, np.array(prompt.rows), dtype)
            scores[channel, columns], errors[channel, columns] = score
        if keys != "float32":
            errors += ROUNDOFF[keys] * np.abs(scores)
        seen, ahead = (_seen(layout, prompts, answers, layer, side) for side in (1, -1))
        reach = max(seen[0], default=0) if any(seen) else np.inf
        moved = _moved_key(layout, prompts, answers, layer, reach, dtype)
        if moved is not None:
            rounding = ROUNDOFF[keys] * WIDE * max(1.0, float(np.nanmax(np.abs(scores), initial=0.0)))
            moved = moved if keys == "float32" else replace(moved, errors=moved.errors + rounding)
        result.append(LayerScores(distances, scores, errors, seen, ahead, moved))
    return result


def _moved_key(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, layer: int, reach: float, dtype: str
) -> MovedKey | None:
    """Scores with a key at another position; NaN in rows from which a window may hide keys, beyond `reach`."""
    asked = [prompt for prompt in prompts if prompt.name.startswith(MOVED)]
    if not asked:
        return None
    channels, positions, scores, errors = [], [], [], []
    for prompt in asked:
        rows = np.array(prompt.rows)
        score, error = _scores(layout, answers.rows[prompt.name], layer, rows, dtype)
        scores.append(np.where(rows <= reach, score, np.nan))
        errors.append(error)
        channels += [prompt.tokens[row] - FIRST_QUERY for row in prompt.rows]
        positions += [[one[row] for one in prompt.coordinates()] for row in prompt.rows]
    together = np.concatenate(scores)
    if not np.isfinite(together).any():
        return None
    place = [one[asked[0].tokens.index(KEY)] for one in asked[0].coordinates()]
    several = len(place) > 1
    queries, key = np.array(positions), np.array(place)
    queries, key = (queries, key) if several else (queries[:, 0], key[0])
    return MovedKey(np.array(channels), queries, key, together, np.concatenate(errors))


def key_weights(layout: ProbeLayout, rows: np.ndarray, layer: int, head: int = 0) -> np.ndarray:
    """The weight of attention on the key token in each row, (rows,)."""
    stream = layout.stream
    zero = rows[:, stream.constant]
    with np.errstate(all="ignore"):
        key, whole = (
            _without_cap(rows[:, token] - zero, layout.output_cap)
            for token in (stream.weight(layer, head), stream.whole(layer))
        )
        return np.asarray(key / whole, np.float64)


def _without_cap(numbers: np.ndarray, cap: float) -> np.ndarray:
    """Numbers before a softcap, cap·tanh(number/cap)."""
    return cap * np.arctanh(numbers / cap) if cap else numbers


def _scores(
    layout: ProbeLayout, rows: np.ndarray, layer: int, others: np.ndarray, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """Compute scores and errors in rows that see the key and `others` further tokens, whose score is zero."""
    if layout.encoder:
        return _compared(layout, rows, layer, others, dtype)
    weight = key_weights(layout, rows, layer)
    weight[~(weight > UNSEEN) | ~(weight < 1)] = np.nan
    error = weight_errors(layout, rows, dtype) / weight / (1 - weight)
    rounding = OPERATIONS * ROUNDOFF[dtype] + layout.stream.drift(layer)
    with np.errstate(all="ignore"):
        scores = _without_cap(np.log(weight * others / (1 - weight)), layout.attention_cap) / layout.gain
    return scores, error / layout.gain + rounding * (1 + np.abs(scores))


def _compared(
    layout: ProbeLayout, rows: np.ndarray, layer: int, others: np.ndarray, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """Compute scores and errors where the key's weight is relative to that of one token, whose score is zero."""
    ratio = key_weights(layout, rows, layer)
    ratio = np.where((ratio > UNSEEN) & (ratio < 1 / UNSEEN), ratio, np.nan)
    tokens = np.max(others) + 1
    error = weight_errors(layout, rows, dtype) * (tokens + ratio) * (1 + 1 / ratio)
    rounding = OPERATIONS * ROUNDOFF[dtype] + layout.stream.drift(layer)
    with np.errstate(all="ignore"):
        scores = _without_cap(np.log(ratio), layout.attention_cap) / layout.gain
    return scores, error / layout.gain + rounding * (1 + np.abs(scores))


def weight_errors(layout: ProbeLayout, rows: np.ndarray, dtype: str) -> np.ndarray:
    """Bound the absolute error of a weight, (rows,), from log-probabilities, subtracted means and masked prediction."""
    with np.errstate(all="ignore"):
        total = np.nansum(np.exp(rows), 1)
    largest = np.nanmax(np.abs(np.where(np.abs(rows) < 1e4, rows, 0.0)), 1, initial=1.0)
    are_probable = np.isnan(rows).any(1) | (np.abs(total - 1) < SUMS_TO_ONE)
    of_mean = ROUNDOFF[dtype] * SHARE_OF_MEAN if layout.stream.balanced else 0.0
    of_mean = ROUNDOFF[dtype] * SHARE_OF_LIFT if layout.encoder else of_mean
    return np.asarray(np.where(are_probable, 2 * ROUNDOFF[dtype] * largest, 0.0) + of_mean)


def _seen(layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, layer: int, side: int) -> Sides:
    """Return the distances at which queries after the key (side 1) or before it (-1) see it, and do not see it."""
    prompt = next((prompt for prompt in prompts if prompt.name == "window"), None)
    if prompt is None:
        return (), ()
    weights = key_weights(layout, answers.rows["window"], layer)
    distances = side * np.array(prompt.distances())
    asked = distances > 0
    # Below half of what a key of score zero would have.
    others = len(prompt.tokens) if layout.encoder else distances + 1
    visible = weights * others > 0.5
    return tuple(sorted(distances[asked & visible].tolist())), tuple(sorted(distances[asked & ~visible].tolist()))
