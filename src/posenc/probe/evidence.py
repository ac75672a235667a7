"""Scores of a probe as evidence for the doctor, which names the mistake behind a difference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import Role
from posenc.diagnosis.rotation.comparison import Comparison
from posenc.diagnosis.rotation.observed_logits import ObservedLogits
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations
from posenc.diagnosis.rotation.observed_vectors import ObservedVectors
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RopeInHead, RotationUsage
from posenc.probe.layout import ProbeLayout
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.scores import LayerScores


@dataclass(frozen=True, eq=False)
class ProbedScores(ObservedLogits):
    """Logits of unit queries and a key of ones, with their errors and what was read off them."""

    errors: np.ndarray
    reading: LayerRotation
    vectors: ObservedVectors

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        comparison = super().compare(usage, exact)
        if comparison is None:
            return None
        errors = self.errors if exact else self.errors[self._subsample[0]]
        return comparison._replace(tolerance=comparison.tolerance + errors)

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        return self.vectors.rotations(usage, role)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        return self.vectors.frequencies(usage)

    def attention_factor(self) -> float | None:
        return float(np.sqrt(self.reading.amplitude)) if self.reading.amplitude > 0 else None

    def rotary_dim(self) -> int | None:
        return self.reading.width if self.reading.pairing in ("halves", "adjacent") else None

    def starts(self, head: RopeInHead) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*super().starts(head), self.reading.start)))

    def unchanged(self) -> bool:
        return not self.reading.rotates

    def width(self) -> str:
        return f"scores of {self.q.shape[1]} channels at distances up to {int(self.query_positions.max())}"


def rotation_evidence(layout: ProbeLayout, shown: LayerScores, reading: LayerRotation) -> RotationEvidence | None:
    """The scores of a layer as evidence; None where no key was seen."""
    usable = np.isfinite(shown.scores).all(0)
    if not usable.any():
        return None
    scores, errors, distances = shown.scores[:, usable], shown.errors[:, usable], shown.distances[usable]
    channels = layout.first + np.arange(layout.stream.queries)
    key = np.zeros((1, layout.head_dim))
    key[0, channels] = 1
    q = np.eye(layout.head_dim)[np.repeat(channels, len(distances))]
    return ProbedScores(
        q=q,
        k=key,
        logits=scores.reshape(-1, 1),
        query_positions=np.tile(distances, len(channels)),
        key_positions=np.zeros(1),
        scale=1.0,
        dtype="float32",
        errors=errors.reshape(-1, 1),
        reading=reading,
        vectors=_key_as_seen(layout, scores, distances, reading, key),
    )


def _key_as_seen(
    layout: ProbeLayout, scores: np.ndarray, distances: np.ndarray, reading: LayerRotation, key: np.ndarray
) -> ObservedVectors:
    """The key of ones, rotated back by each distance; scores hold the amplitude of query and key, and keys have one."""
    rotated = np.repeat(key, len(distances), axis=0)
    channels = layout.first + np.arange(layout.stream.queries)
    rotated[:, channels] = scores.T
    start = reading.start
    rotated[:, start : start + reading.width] /= np.sqrt(max(reading.amplitude, 1e-12))
    nowhere = np.zeros(len(distances), int)
    return ObservedVectors(
        "key", np.repeat(key, len(distances), axis=0), rotated, -distances.astype(float), nowhere, nowhere, "float32"
    )
