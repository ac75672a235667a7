"""Read an engine's positions off its answers to a probe, and name the mistake where they are not the config's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from posenc.core import text_lines, validation
from posenc.diagnosis.layers.judge_windows import REMEDY
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.position_fields import GIVE, PositionField
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions, Window, layer_ranges, windows_of_layers
from posenc.probe.answers import read_answers
from posenc.probe.evidence import rotation_evidence
from posenc.probe.layout import ProbeLayout, read_layout
from posenc.probe.rotation_reading import LayerRotation, read_rotation
from posenc.probe.scores import ROUNDOFF, LayerScores, layer_scores

#: Layers whose scores differ by no more than so many errors are judged once.
ALIKE = 2.0


@dataclass(frozen=True)
class ProbeReading(text_lines.Lines):
    """Positions that an engine applied, and how they differ from the config.

    Attributes:
        layers: What each layer does, in order.
        diagnosis: Whether that is what the config states, and the mistake if not.
        engine: The engine, as the answer names it; "" where it does not.
        dtype: Precision that the error bars are of.
    """

    layers: tuple[LayerRotation, ...]
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
    given = read_answers(answers, prompts, layout.stream.vocabulary)
    precision = given.dtype if dtype is None else validation.choice("dtype", dtype, tuple(ROUNDOFF))
    expected = from_config(load_config(folder))
    shown = layer_scores(layout, prompts, given, precision)
    layers = tuple(read_rotation(layer, scores) for layer, scores in enumerate(shown))
    return ProbeReading(layers, _diagnosis(layout, expected, shown, layers), given.engine, precision)


def _diagnosis(
    layout: ProbeLayout, expected: ModelPositions, shown: list[LayerScores], layers: tuple[LayerRotation, ...]
) -> Diagnosis:
    """Every layer against its group, those with the same scores and group once; then the windows."""
    judged: list[tuple[int, Diagnosis]] = []
    for layer, scores in enumerate(shown):
        like = next((one for one, _ in judged if _alike(expected, one, layer, shown)), None)
        verdict = dict(judged)[like] if like is not None else _judge(layout, expected, layer, scores, layers[layer])
        judged.append((layer, verdict))
    verdicts = [verdict for _, verdict in judged]
    merged = merged_diagnosis([replace(verdict, findings=()) for verdict in verdicts])
    findings = (*_with_layers(judged), *_windows(expected, layers))
    looked_at = tuple(field for field in GIVE if field in {*merged.looked_at, *_looked_at(layers)})
    agree = merged.agree and not findings
    return replace(merged, agree=agree, findings=findings, looked_at=looked_at).looked_at_in(expected)


def _looked_at(layers: tuple[LayerRotation, ...]) -> tuple[PositionField, ...]:
    """Fields that the weights of whole prompts show besides those of each layer's scores.

    A score is right only if as many other keys are seen as stand before the query.
    """
    return ("other layers",) if layers[0].seen_to is None else ("other layers", "window", "causal mask")


def _alike(expected: ModelPositions, one: int, other: int, shown: list[LayerScores]) -> bool:
    if expected.at(one) != expected.at(other):
        return False
    gap = np.abs(shown[one].scores - shown[other].scores)
    hidden = np.isnan(shown[one].scores) & np.isnan(shown[other].scores)
    return bool(np.all(hidden | (gap <= ALIKE * shown[one].errors)))


def _judge(
    layout: ProbeLayout, expected: ModelPositions, layer: int, scores: LayerScores, reading: LayerRotation
) -> Diagnosis:
    evidence = rotation_evidence(layout, scores, reading)
    if evidence is None:
        sentence = "The key is seen at none of the distances that were asked."
        return Diagnosis(False, (Finding("key never seen", sentence, "Check the mask and the window."),))
    groups = expected.at(layer)
    return judge_rotations(groups, expected, [("", evidence)], layout.length + 1)


def _with_layers(judged: list[tuple[int, Diagnosis]]) -> tuple[Finding, ...]:
    """Findings of the layers, each once, with its layers where it is not in all."""
    layers_of: dict[Finding, list[int]] = {}
    for layer, verdict in judged:
        for finding in verdict.findings:
            layers_of.setdefault(finding, []).append(layer)
    return tuple(
        finding if len(layers) == len(judged) else replace(finding, where=layer_ranges(tuple(layers)))
        for finding, layers in layers_of.items()
    )


def _windows(expected: ModelPositions, layers: tuple[LayerRotation, ...]) -> tuple[Finding, ...]:
    """Findings on windows that end elsewhere than the config says."""
    meant = {layer: window for (_, layer), window in windows_of_layers(expected).items()}
    layers_of: dict[tuple[str, str], list[int]] = {}
    for reading in layers:
        window = meant.get(reading.layer)
        size = window.before + 1 if isinstance(window, Window) else None
        if not expected.windows_known or reading.seen_to is None or _fits(reading, size):
            continue
        found = "all keys" if reading.hidden_from is None else f"{reading.seen_to + 1} positions"
        layers_of.setdefault((found, "all keys" if size is None else f"{size} positions"), []).append(reading.layer)
    return tuple(
        Finding("window", f"Queries see {found} where {stated} are meant.", REMEDY, layer_ranges(tuple(numbers)))
        for (found, stated), numbers in layers_of.items()
    )


def _fits(reading: LayerRotation, size: int | None) -> bool:
    seen, hidden = reading.seen_to or 0, reading.hidden_from
    if size is None:
        return hidden is None
    return seen < size and (hidden is None or hidden >= size)
