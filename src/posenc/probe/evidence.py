"""Scores of a probe as evidence for the doctor, which names the mistake behind a difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import Role
from posenc.diagnosis.rotation.comparison import Comparison
from posenc.diagnosis.rotation.observed_logits import ObservedLogits
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations
from posenc.diagnosis.rotation.observed_vectors import ObservedVectors
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RopeInHead, RotationUsage
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import KEY_IN_ENCODER
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.scores import LayerScores, MovedKey


@dataclass(frozen=True, eq=False, kw_only=True)
class ProbedScores(ObservedLogits):
    """Logits of unit queries and a key of ones, as in one head, with their errors and what was read off them.

    Attributes:
        errors: How far rounding may put each logit, of the shape of `logits`.
        reading: What was read off without any config.
        vectors: The key, rotated back by each distance.
        heads: Heads of queries whose mean the logits are, and heads of keys.
    """

    errors: np.ndarray
    reading: LayerRotation
    vectors: ObservedVectors
    heads: tuple[int, int]

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        comparison = super().compare(usage, exact)
        if comparison is None:
            return None
        part = self if exact or usage.head_order else self._subsample
        return comparison._replace(tolerance=comparison.tolerance + part.errors)

    def of_tokens(self, queries: np.ndarray, keys: np.ndarray) -> Self:
        return replace(super().of_tokens(queries, keys), errors=self.errors[:, queries][..., keys])

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        return self.vectors.rotations(usage, role)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        return self.vectors.frequencies(usage)

    def attention_factor(self) -> float | None:
        return float(np.sqrt(self.reading.amplitude)) if self.reading.amplitude > 0 else None

    def rotary_dim(self) -> int | None:
        return self.reading.width if self.reading.pairing in ("halves", "adjacent") else None

    def starts(self, head: RopeInHead) -> tuple[int, ...]:
        # In channels that no query asks, every rotation would fit.
        first = int(np.flatnonzero(self.k[0, 0])[0])
        return tuple(start for start in dict.fromkeys((*super().starts(head), self.reading.start)) if start >= first)

    def unchanged(self) -> bool:
        return not self.reading.rotates

    def width(self) -> str:
        channels, (queries, keys) = self.channels(), self.heads
        of_heads = f", the mean of {queries} query heads with {keys} of keys," if queries > 1 else ""
        return f"scores of {channels} channels{of_heads} at distances up to {int(self.query_positions.max())}"


def probed_scores(
    layout: ProbeLayout, shown: LayerScores, reading: LayerRotation, axes: int
) -> RotationEvidence | None:
    """Turn a layer's scores into evidence; text distances count for all `axes` coordinates. None if no key is seen."""
    usable = np.isfinite(shown.scores).all(0)
    if not usable.any():
        return None
    scores, errors, distances = shown.scores[:, usable], shown.errors[:, usable], shown.distances[usable]
    if axes > 1 and distances.ndim == 1:
        distances = np.tile(distances[:, None], axes)
    channels = layout.first + np.arange(layout.stream.queries)
    key = np.zeros((1, layout.head_dim))
    key[0, channels] = 1
    place = KEY_IN_ENCODER if layout.encoder else 0
    queries = np.tile(distances + place, (len(channels), *(1,) * (distances.ndim - 1)))
    asked = _Asked(np.repeat(channels, len(distances)), queries, scores.reshape(-1), errors.reshape(-1))
    keys = [(np.full(distances.shape[1:], float(place)), asked)]
    if shown.moved is not None:
        keys.append(_moved(layout, shown.moved, axes))
    logits, visible, rounding = _by_key([asked for _, asked in keys])
    return ProbedScores(
        q=np.eye(layout.head_dim)[np.concatenate([asked.channels for _, asked in keys])][None],
        k=np.repeat(key, len(keys), 0)[None],
        logits=logits,
        visible=visible,
        query_positions=np.concatenate([asked.positions for _, asked in keys]),
        key_positions=np.stack([position for position, _ in keys]),
        scale=1.0,
        dtype="float32",
        errors=rounding,
        reading=reading,
        vectors=_key_as_seen(layout, scores, distances, reading, key),
        heads=(layout.heads, layout.key_heads),
    )


class _Asked(NamedTuple):
    """Queries of one channel each, with their scores with one key."""

    channels: np.ndarray
    positions: np.ndarray
    scores: np.ndarray
    errors: np.ndarray


def _moved(layout: ProbeLayout, moved: MovedKey, axes: int) -> tuple[np.ndarray, _Asked]:
    """Position of a key that does not stand at 0, and the queries that see it."""
    seen = np.isfinite(moved.scores)
    queries, key = moved.query_positions[seen], moved.key_position
    if axes > 1 and queries.ndim == 1:
        queries, key = np.tile(queries[:, None], axes), np.tile(key, axes)
    asked = _Asked(layout.first + moved.channels[seen], queries, moved.scores[seen], moved.errors[seen])
    return key.astype(float), asked


def _by_key(asked: list[_Asked]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, whether they were asked, and errors, (1, queries, keys), of queries that were asked with one key each."""
    column = np.repeat(np.arange(len(asked)), [len(one.channels) for one in asked])
    shape = 1, len(column), len(asked)
    logits, visible, errors = np.zeros(shape), np.zeros(shape, bool), np.zeros(shape)
    place = 0, np.arange(len(column)), column
    visible[place] = True
    logits[place] = np.concatenate([one.scores for one in asked])
    errors[place] = np.concatenate([one.errors for one in asked])
    return logits, visible, errors


def _key_as_seen(
    layout: ProbeLayout, scores: np.ndarray, distances: np.ndarray, reading: LayerRotation, key: np.ndarray
) -> ObservedVectors:
    """Recover the key of ones as rotated back by each distance: scores over the square root of their amplitude."""
    rotated = np.repeat(key, len(distances), axis=0)
    channels = layout.first + np.arange(layout.stream.queries)
    rotated[:, channels] = scores.T
    start = reading.start
    rotated[:, start : start + reading.width] /= np.sqrt(max(reading.amplitude, 1e-12))
    nowhere = np.zeros(len(distances), int)
    return ObservedVectors(
        "key", np.repeat(key, len(distances), axis=0), rotated, -distances.astype(float), nowhere, nowhere, "float32"
    )
