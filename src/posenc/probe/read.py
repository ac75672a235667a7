"""Read an engine's positions off its answers to a probe, and name the mistake where they are not the config's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from posenc.core import text_lines, validation
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers, read_answers
from posenc.probe.bias_reading import LayerBias, judge_bias, read_biases
from posenc.probe.bucket_reading import LayerBuckets, judge_buckets, later_key_finding, merged_parts, read_buckets
from posenc.probe.judge_probe import COARSER, OF_SIZE, ROUNDED_ALIKE, computed_in, judge_layers, merged_layers
from posenc.probe.layout import ProbeLayout, read_layout
from posenc.probe.prompts import Prompt
from posenc.probe.rotation_reading import LayerRotation, read_rotation
from posenc.probe.row_reading import TableRows, judge_rows, read_rows
from posenc.probe.scores import ROUNDOFF, layer_scores
from posenc.probe.value_reading import asks_values, values_finding


@dataclass(frozen=True)
class ProbeReading(text_lines.Lines):
    """Positions that an engine applied, and how they differ from the config.

    Attributes:
        layers: What each layer does, in order.
        diagnosis: Whether that is what the config states, and the mistake if not.
        engine: The engine, as the answer names it; "" where it does not.
        dtype: Precision that the error bars are of.
    """

    layers: tuple[LayerRotation | LayerBias | LayerBuckets | TableRows, ...]
    diagnosis: Diagnosis
    engine: str = ""
    dtype: str = "float32"

    @property
    def explained(self) -> bool:
        """Whether the engine agrees with the config or every difference has a name."""
        return self.diagnosis.explained

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        engine = f"engine: {self.engine}, " if self.engine else ""
        read = [layer.sentence() for layer in self.layers]
        return [*self.diagnosis.lines(), f"{engine}error bars of {self.dtype}", *read]


def read_probe(
    folder: str | Path, answers: Mapping[str, Any] | str | Path, *, dtype: str | None = None
) -> ProbeReading:
    """Read which positions an engine applied to a probe.

    Args:
        folder: The folder that `write_probe` wrote.
        answers: Logits or log-probabilities, (rows, vocabulary) for each prompt by its name: a dict, an .npz, or JSON
            lines of {"name": ..., "logits": ...} or {"name": ..., "response": a completion with logprobs}. "engine" and
            "version" may stand besides.
        dtype: Precision in which the engine computes, "float32", "float16" or "bfloat16"; that of the numbers if None.

    Returns:
        What each layer does, with error bars, and the difference from the config with the mistake by name.

    Raises:
        ValueError: The folder holds no probe, or an answer is missing or has another shape.
        TypeError: `answers` is neither a mapping nor a path.
    """
    folder = Path(folder)
    layout, prompts = read_layout(folder)
    given = read_answers(answers, prompts, layout.stream)
    precision = given.dtype if dtype is None else validation.choice("dtype", dtype, tuple(ROUNDOFF))
    expected = from_config(load_config(folder))
    evidence = AnsweredProbe(layout, prompts, given, expected)
    reading = evidence.read(precision)
    if dtype is None and precision == "float32":
        reading = evidence.read_as_coarsely_as_needed(reading)
    return reading


class AnsweredProbe(NamedTuple):
    """A probe, its answers and the config, before they are read."""

    layout: ProbeLayout
    prompts: Sequence[Prompt]
    answers: Answers
    expected: ModelPositions

    def read(self, dtype: str, keys: str = "float32") -> ProbeReading:
        """The reading with the error bars of a type, and of the one that keys are cached in."""
        layers, diagnosis = self._read(dtype, keys)
        return ProbeReading(layers, diagnosis.looked_at_in(self.expected), self.answers.engine, dtype)

    def _read(self, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
        rotated = values_finding(self.layout, self.prompts, self.answers, dtype)
        if rotated is not None:  # sums of rotated values show no weights
            return (), Diagnosis(False, (rotated,), compared="sums of equal values", looked_at=("values",))
        layers, diagnosis = _READERS[self.layout.quantity](self, dtype, keys)
        if asks_values(self.prompts):
            diagnosis = replace(diagnosis, looked_at=(*diagnosis.looked_at, "values"))
        return layers, diagnosis

    def read_as_coarsely_as_needed(self, exact: ProbeReading) -> ProbeReading:
        """The reading with the error bars of a narrow type where only these explain it, with what that means.

        Many engines compute in float32 and keep keys in float16. A mistake that explains the scores to float32 stands:
        wide error bars would hide one that is small at the distances that were asked. Another size of
        all scores goes where the rounding of cached keys explains it: a key of ones times a factor is rounded as one.
        """
        named = {finding.name for finding in exact.diagnosis.findings}
        if exact.explained and named & OF_SIZE and self.layout.quantity == "rotation":
            reading = self.read(*COARSER[0])
            gone = named - {finding.name for finding in reading.diagnosis.findings}
            if reading.explained and gone and gone <= OF_SIZE:
                return replace(reading, diagnosis=computed_in("float32", reading.diagnosis))
        if self.layout.quantity == "row" or (exact.explained and not named & ROUNDED_ALIKE):
            return exact
        fewest = len(exact.diagnosis.findings) if exact.explained else math.inf
        for dtype, keys in COARSER:
            reading = self.read(dtype, keys)
            shown = reading.explained and _rotating(reading) == _rotating(exact)
            if shown and len(reading.diagnosis.findings) < fewest:
                return replace(reading, diagnosis=computed_in(dtype, reading.diagnosis))
        return exact


def _rotating(reading: ProbeReading) -> int:
    """Layers that are seen to rotate: error bars may be too wide to see it."""
    return sum(isinstance(layer, LayerRotation) and layer.rotates for layer in reading.layers)


def _rotations(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    shown = layer_scores(evidence.layout, evidence.prompts, evidence.answers, dtype, keys)
    layers = tuple(read_rotation(layer, scores) for layer, scores in enumerate(shown))
    return layers, judge_layers(evidence.layout, evidence.expected, shown, layers)


def _biases(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    layers = read_biases(evidence.layout, evidence.answers, dtype)
    verdicts = [judge_bias(evidence.expected, layer, evidence.layout.head_dim) for layer in layers]
    return layers, merged_layers(verdicts, "biases", "causal mask")


def _buckets(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    layout, expected = evidence.layout, evidence.expected
    counts = {one.buckets for group in expected.groups for one in group.encodings if isinstance(one, T5Bias)}
    layers = read_buckets(layout, evidence.prompts, evidence.answers, dtype, max(counts))
    later = later_key_finding(layout, evidence.answers)
    verdict = merged_parts(layers, [judge_buckets(expected, layer, layout.head_dim) for layer in layers])
    findings = (*verdict.findings, *(() if later is None else (later,)))
    return layers, replace(verdict, agree=verdict.agree and later is None, findings=findings)


def _rows(evidence: AnsweredProbe, dtype: str, keys: str) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    rows = read_rows(evidence.layout, evidence.prompts, evidence.answers)
    return (rows,), judge_rows(evidence.expected, rows)


#: A layer's rotation or biases, or the rows of a table that all layers share.
LayerReading = LayerRotation | LayerBias | LayerBuckets | TableRows
_READERS = {"rotation": _rotations, "bias": _biases, "row": _rows, "bucket": _buckets}
