"""Buckets of T5's bias by distance, read off the weights of the key token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.judge_biases import judge_observed_biases
from posenc.diagnosis.bias.observed_biases import ObservedBiases
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers
from posenc.probe.bucket_weights import HEADS, bucket_codes
from posenc.probe.judge_probe import merged_layers
from posenc.probe.layout import ProbeLayout
from posenc.probe.prompts import LATER_KEY, Prompt
from posenc.probe.scores import OPERATIONS, ROUNDOFF, key_weights, weight_errors

#: A weight below this is none.
UNSEEN = 1e-9
#: A bias is read off a sum of so many roundings.
ERRORS = 4.0
#: Distances up to this are all asked.
NEAR = 8
PARTS = ("encoder", "decoder")


@dataclass(frozen=True, eq=False)
class LayerBuckets:
    """Buckets that an engine applied in one layer.

    Attributes:
        part: "encoder" or "decoder".
        layer: Its number in this part, from 0.
        distances: Position of the key less that of the query, (distances,).
        buckets: Row of the table at each distance, (distances,); -1 where no row fits.
        biases: Of each head, less those at distance 0, (heads, distances).
        errors: How far each may be off.
    """

    part: str
    layer: int
    distances: np.ndarray
    buckets: np.ndarray
    biases: np.ndarray
    errors: np.ndarray

    def sentence(self) -> str:
        """Say what was read, in one line.

        Returns:
            The sentence.
        """
        found = [f"{distance} → {bucket}" for distance, bucket in zip(self.distances, self.buckets, strict=True)]
        shown = found if len(found) <= 6 else [*found[:2], "...", *found[-3:]]
        return f"{self.part}, layer {self.layer}: buckets by distance from query to key {', '.join(shown)}"


def asked_buckets(positions: ModelPositions, length: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return distances to ask, to earlier and to later keys: near ones, both sides of bucket edges, and the longest."""
    encodings = [one for group in positions.groups for one in group.encodings if isinstance(one, T5Bias)]
    longest = min(length, 2 * max(one.max_distance for one in encodings))
    distances = np.arange(longest + 1)
    found = {*range(1, min(NEAR, longest) + 1), longest}
    for encoding in encodings:
        for side in (distances, -distances):
            edges = np.flatnonzero(np.diff(np.asarray(encoding.bucket(side)))) + 1
            found |= {edge + step for edge in edges.tolist() for step in (-1, 0)}
    asked = tuple(sorted(found - {0}))
    return asked, asked


def read_buckets(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtypes: tuple[str, str], buckets: int
) -> tuple[LayerBuckets, ...]:
    """Read the buckets of every layer, the encoder's first; `dtypes` are those of the engine and of cached keys."""
    layers = layout.stream.layers // 2
    return tuple(
        _layer_buckets(
            layout, _by_distance(part, prompts, answers), (part, layer, layer + layers * number), dtypes, buckets
        )
        for number, part in enumerate(PARTS)
        for layer in range(layers)
    )


def _by_distance(part: str, prompts: Sequence[Prompt], answers: Answers) -> dict[int, np.ndarray]:
    named = [prompt.name for prompt in prompts if prompt.name.startswith(f"{part}_distance_")]
    return {int(name.rpartition("_")[2]): answers.rows[name] for name in named}


def _layer_buckets(
    layout: ProbeLayout, rows: dict[int, np.ndarray], place: tuple[str, int, int], dtypes: tuple[str, str], buckets: int
) -> LayerBuckets:
    """Read a layer's buckets off weights e^b(distance) / sum, whose sum is the same wherever the key stands."""
    part, layer, number = place
    distances = np.array(sorted(rows))
    weights = np.array(
        [[key_weights(layout, rows[one], number, head)[0] for one in distances] for head in range(HEADS)]
    )
    weights = np.where(weights > UNSEEN, weights, np.nan)
    logits = np.log(weights)
    biases = logits - logits[:, distances == 0]
    dtype, cached = dtypes
    rounding = OPERATIONS * ROUNDOFF[dtype] + layout.stream.drift(number)
    rounding += 0.0 if cached == "float32" else ROUNDOFF[cached]
    absolute = np.array([weight_errors(layout, rows[one], dtype)[0] for one in distances])
    relative = absolute / weights + rounding
    errors = ERRORS * (relative + relative[:, distances == 0])
    return LayerBuckets(part, layer, distances, _decoded(biases, errors, buckets), biases, errors)


def _decoded(biases: np.ndarray, errors: np.ndarray, buckets: int) -> np.ndarray:
    """Find the table row of each distance, (distances,), -1 for none; distance 0 gets the row by which all fit best."""
    codes = bucket_codes(buckets)
    gap = np.abs(biases.T[None, :, None] - (codes[None] - codes[:, None])[:, None]).max(-1)  # (start, distance, row)
    gap = np.where(np.isnan(gap), np.inf, gap)
    start = int(gap.min(-1).max(1).argmin())
    fits = gap[start].min(-1) <= np.nan_to_num(errors.max(0), nan=0.0) + 0.05
    return np.where(fits, gap[start].argmin(-1), -1)


def judge_buckets(expected: ModelPositions, reading: LayerBuckets, head_dim: int) -> Diagnosis:
    """Compare the biases of a layer, whose heads have this width, with those of its part, by the probe's table."""
    group = expected.at(reading.layer, reading.part)[0]
    encoding = next(one for one in group.encodings if isinstance(one, T5Bias))
    own = reading.distances == 0
    seen = np.isfinite(reading.biases)
    logits = np.where(seen, reading.biases, -np.inf)[:, None]
    tolerance = np.where(seen, reading.errors, 0.0)[:, None] + 1e-9
    middle = int(-reading.distances.min())
    observed = ObservedBiases(
        logits, np.zeros_like(logits), np.array([middle]), middle + reading.distances, 2 * tolerance,
        bucket_codes(encoding.buckets), False, head_dim, bool(own.any()),
    )  # fmt: skip
    usage = BiasUsage(replace(encoding, heads=HEADS), group.bias_factor)
    verdict = judge_observed_biases(usage, observed)
    return replace(verdict, notes=(), compared=f"buckets at {len(reading.distances)} distances in the {reading.part}")


def later_key_finding(layout: ProbeLayout, answers: Answers) -> Finding | None:
    """Name a decoder that sees a key after the query."""
    layers = range(layout.stream.layers // 2, layout.stream.layers)
    if all(abs(key_weights(layout, answers.rows[LATER_KEY], layer)[0]) < UNSEEN for layer in layers):
        return None
    sentence = "Queries of the decoder see keys that come later."
    return Finding("causal mask", sentence, "Mask later keys in the decoder.")


def merged_parts(layers: Sequence[LayerBuckets], verdicts: Sequence[Diagnosis]) -> Diagnosis:
    """Merge the verdicts of all layers; a finding in only the encoder or only the decoder names that part."""
    by_part = {
        part: merged_layers([one for one, layer in zip(verdicts, layers, strict=True) if layer.part == part])
        for part in PARTS
    }
    found = {part: merged.findings for part, merged in by_part.items()}
    shared = [finding for finding in found["encoder"] if finding in found["decoder"]]
    findings = list(shared)
    for part in PARTS:
        others = (finding for finding in found[part] if finding not in shared)
        findings += [replace(one, where=", ".join(filter(None, (part, one.where)))) for one in others]
    whole = merged_layers(list(verdicts), "biases", "causal mask")
    return replace(whole, findings=tuple(findings))
