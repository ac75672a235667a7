"""A probe with an engine's answers, and what each of its layers shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers
from posenc.probe.bias_reading import LayerBias, judge_bias, read_biases
from posenc.probe.bucket_reading import LayerBuckets, judge_buckets, later_key_finding, merged_parts, read_buckets
from posenc.probe.judge_probe import judge_layers, merged_layers
from posenc.probe.layout import ProbeLayout
from posenc.probe.manifest_difference import manifest_difference
from posenc.probe.prompts import Prompt
from posenc.probe.rotation_reading import LayerRotation, read_rotation
from posenc.probe.row_reading import TableRows, judge_rows, read_rows
from posenc.probe.scores import layer_scores
from posenc.probe.value_reading import asks_values, values_finding

#: A layer's rotation or biases, or the rows of a table that all layers share.
LayerReading = LayerRotation | LayerBias | LayerBuckets | TableRows


class AnsweredProbe(NamedTuple):
    """A probe, its answers and the config, before they are read."""

    layout: ProbeLayout
    prompts: Sequence[Prompt]
    answers: Answers
    expected: ModelPositions

    def read_layers(self, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
        """Read and judge every layer; error bars are those of `dtype` and of `keys`, the dtype of cached keys."""
        rotated = values_finding(self.layout, self.prompts, self.answers, dtype)
        if rotated is not None:  # sums of rotated values show no weights
            return (), Diagnosis(False, (rotated,), compared="sums of equal values", looked_at=("values",))
        layers, diagnosis = _READERS[self.layout.quantity](self, dtype, keys)
        if not diagnosis.agree:
            difference = manifest_difference(self.expected, self.layout, layers)
            diagnosis = replace(diagnosis, difference=difference)
        if asks_values(self.prompts):
            diagnosis = replace(diagnosis, looked_at=(*diagnosis.looked_at, "values"))
        return layers, diagnosis


def _rotations(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    shown = layer_scores(evidence.layout, evidence.prompts, evidence.answers, dtype, keys)
    layers = tuple(read_rotation(layer, scores) for layer, scores in enumerate(shown))
    verdict = judge_layers(evidence.layout, evidence.expected, shown, layers)
    if any(one.moved is None for one in shown) and not evidence.layout.encoder:  # at 0 a key rotates by nothing
        looked_at = tuple(field for field in verdict.looked_at if field != "key positions")
        verdict = replace(verdict, looked_at=looked_at)
    return layers, verdict


def _biases(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    layers = read_biases(evidence.layout, evidence.answers, dtype)
    verdicts = [judge_bias(evidence.expected, layer, evidence.layout.head_dim) for layer in layers]
    return layers, merged_layers(verdicts, "biases", "causal mask")


def _buckets(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    layout, expected = evidence.layout, evidence.expected
    counts = {one.buckets for group in expected.groups for one in group.encodings if isinstance(one, T5Bias)}
    layers = read_buckets(layout, evidence.prompts, evidence.answers, (dtype, keys), max(counts))
    later = later_key_finding(layout, evidence.answers)
    verdict = merged_parts(layers, [judge_buckets(expected, layer, layout.head_dim) for layer in layers])
    findings = (*verdict.findings, *(() if later is None else (later,)))
    return layers, replace(verdict, agree=verdict.agree and later is None, findings=findings)


def _rows(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    rows = read_rows(evidence.layout, evidence.prompts, evidence.answers)
    return (rows,), judge_rows(evidence.expected, rows)


_READERS = {"rotation": _rotations, "bias": _biases, "row": _rows, "bucket": _buckets}
