"""Scores of a probe as evidence for the doctor, which names the mistake behind a difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

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
from posenc.probe.scores import LayerScores


@dataclass(frozen=True, eq=False, kw_only=True)
class ProbedScores(ObservedLogits):
    """Logits of unit queries and a key of ones, in one head, with their errors and what was read off them.

    Attributes:
        errors: How far rounding may put each logit, of the shape of `logits`.
        reading: What was read off without any config.
        vectors: The key, rotated back by each distance.
    """

    errors: np.ndarray
    reading: LayerRotation
    vectors: ObservedVectors

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
        return f"scores of {self.channels()} channels at distances up to {int(self.query_positions.max())}"


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
    q = np.eye(layout.head_dim)[np.repeat(channels, len(distances))]
    logits = scores.reshape(1, -1, 1)
    place = KEY_IN_ENCODER if layout.encoder else 0
    return ProbedScores(
        q=q[None],
        k=key[None],
        logits=logits,
        visible=np.ones(logits.shape, bool),
        query_positions=np.tile(distances + place, (len(channels), *(1,) * (distances.ndim - 1))),
        key_positions=np.full((1, *distances.shape[1:]), float(place)),
        scale=1.0,
        dtype="float32",
        errors=errors.reshape(logits.shape),
        reading=reading,
        vectors=_key_as_seen(layout, scores, distances, reading, key),
    )


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
