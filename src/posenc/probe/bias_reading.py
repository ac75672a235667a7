"""Bias of a layer's heads by distance, read off the weights of the key token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.judge_biases import judge_observed_biases
from posenc.diagnosis.bias.observed_biases import ObservedBiases
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.alibi import ALiBi
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.probe.answers import Answers
from posenc.probe.layout import ProbeLayout
from posenc.probe.scores import OPERATIONS, ROUNDOFF, key_weights, weight_errors

#: A weight below this is lost in the rounding of larger ones.
LEAST_WEIGHT = 1e-5
#: A bias is linear in distance if no step is off by more errors than these.
LINEAR = 8.0


@dataclass(frozen=True, eq=False)
class LayerBias:
    """Biases that an engine applied in one layer.

    Attributes:
        layer: Its number, from 0.
        biases: Of each head, for distances 0, 1, 2, ...; the first is 0, since a softmax sees differences alone.
            (heads, distances), NaN where the weight is too small to be read.
        errors: How far each may be off.
    """

    layer: int
    biases: np.ndarray
    errors: np.ndarray

    def slopes(self) -> tuple[tuple[float, float], ...]:
        """Divide each head's bias at the longest distance that was read by this distance.

        Returns:
            Slope and error of each head.
        """
        last = [int(np.flatnonzero(np.isfinite(row))[-1]) for row in self.biases]
        return tuple(
            (float(row[end] / max(end, 1)), float(error[end] / max(end, 1)))
            for row, error, end in zip(self.biases, self.errors, last, strict=True)
        )

    def is_linear(self) -> bool:
        """Whether every head's bias is its slope times the distance.

        Returns:
            True if no bias is off by more than rounding.
        """
        slopes, of_slopes = np.array(self.slopes()).T[..., None]
        distances = np.arange(self.biases.shape[1])
        gap = np.abs(self.biases - slopes * distances)
        return bool(np.all(np.isnan(gap) | (gap <= LINEAR * (self.errors + of_slopes * distances))))

    def sentence(self) -> str:
        """Say what was read, in one line.

        Returns:
            The sentence.
        """
        if np.all(np.isnan(self.biases) | (np.abs(self.biases) <= LINEAR * self.errors)):
            return f"layer {self.layer}: no bias"
        if not self.is_linear():
            return f"layer {self.layer}: biases that are not linear in the distance, of {len(self.biases)} heads"
        shown = ", ".join(f"{slope:.6g} ± {error:.1g}" for slope, error in self.slopes()[:3])
        more = ", ..." if len(self.biases) > 3 else ""
        return f"layer {self.layer}: linear biases, a position {shown}{more} in {len(self.biases)} heads"


def read_biases(layout: ProbeLayout, answers: Answers, dtype: str) -> tuple[LayerBias, ...]:
    """The biases of every layer."""
    rows = answers.rows["bias"]
    return tuple(_layer_bias(layout, rows, layer, dtype) for layer in range(layout.stream.layers))


def _layer_bias(layout: ProbeLayout, rows: np.ndarray, layer: int, dtype: str) -> LayerBias:
    """Read a layer's biases b off weights w = e^b(t) / S(t); S(t) sums e^b up to t, so that S(t-1) = S(t)·(1 - w)."""
    heads = range(layout.stream.heads)
    weights = np.array([key_weights(layout, rows, layer, head) for head in heads])
    lost = ~(weights > LEAST_WEIGHT) | ~(weights < 1)
    weights = np.where(lost, np.nan, weights)
    logarithm = np.where(lost, 0.0, -np.log1p(-np.where(lost, 0.0, weights)))
    sums = np.cumsum(logarithm, axis=1)
    biases = np.log(weights) + sums
    rounding = OPERATIONS * ROUNDOFF[dtype] + layout.stream.drift(layer)
    relative = weight_errors(layout, rows, dtype) / weights + rounding
    summed = np.cumsum(np.where(lost, 0.0, relative * weights / (1 - np.where(lost, 0.0, weights))), axis=1)
    errors = relative + summed + rounding * np.abs(biases)
    start = np.zeros((len(weights), 1))
    return LayerBias(layer, np.hstack([start, biases]), np.hstack([start, errors]))


def judge_bias(expected: ModelPositions, reading: LayerBias, head_dim: int) -> Diagnosis:
    """Compare the biases of a layer with those of its group; `head_dim` is the width of the probe's heads."""
    group = expected.at(reading.layer)[0]
    encoding = _alibi(group)
    distances = reading.biases.shape[1]
    apart = np.subtract.outer(np.arange(distances), np.arange(distances))
    seen = apart >= 0
    logits = np.where(seen, reading.biases[:, apart], -np.inf)
    logits[np.isnan(logits)] = -np.inf
    tolerance = np.where(seen, reading.errors[:, apart], 0.0)
    tolerance = np.where(np.isnan(tolerance), 0.0, tolerance).max(-1, keepdims=True) + 1e-9
    positions = np.arange(distances)
    tolerance = np.broadcast_to(2 * tolerance, logits.shape)
    product = np.zeros_like(logits)
    observed = ObservedBiases(logits, product, positions, positions, tolerance, None, True, head_dim)
    return judge_observed_biases(BiasUsage(encoding, group.bias_factor), observed)


def _alibi(group: LayerGroup) -> ALiBi:
    for encoding in group.encodings:
        if isinstance(encoding, ALiBi):
            return encoding
    raise ValueError(f"folder must hold a probe of ALiBi; its config has {group.encodings!r:.100}. Write it anew.")
