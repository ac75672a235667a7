"""Judge what was read of every layer against the config."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posenc.diagnosis.layers.judge_windows import REMEDY
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.position_fields import GIVE, PositionField
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.models.model_positions import ModelPositions, Window, layer_ranges, windows_of_layers
from posenc.probe.evidence import rotation_evidence
from posenc.probe.layout import ProbeLayout
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.scores import LayerScores

#: Layers whose scores differ by no more than so many errors are judged once.
ALIKE = 2.0


def judge_layers(
    layout: ProbeLayout, expected: ModelPositions, shown: list[LayerScores], layers: tuple[LayerRotation, ...]
) -> Diagnosis:
    """Every layer against its group, those with the same scores and group once; then the windows."""
    judged: list[tuple[int, Diagnosis]] = []
    for layer, scores in enumerate(shown):
        like = next((one for one, _ in judged if _alike(expected, one, layer, shown)), None)
        verdict = dict(judged)[like] if like is not None else _judge(layout, expected, layer, scores, layers[layer])
        judged.append((layer, verdict))
    merged = merged_layers([verdict for _, verdict in judged], *_looked_at(layers))
    findings = (*merged.findings, *_windows(expected, layers))
    return replace(merged, agree=merged.agree and not findings, findings=findings)


def merged_layers(verdicts: list[Diagnosis], *looked_at: PositionField) -> Diagnosis:
    """The verdicts of all layers as one, which looked at these fields besides."""
    merged = merged_diagnosis([replace(verdict, findings=()) for verdict in verdicts])
    fields = {*merged.looked_at, "other layers", *looked_at}
    shown = tuple(field for field in GIVE if field in fields)
    return replace(merged, findings=_with_layers(verdicts), looked_at=shown)


def _looked_at(layers: tuple[LayerRotation, ...]) -> tuple[PositionField, ...]:
    """Fields that the weights of whole prompts show besides those of each layer's scores.

    A score is right only if as many other keys are seen as stand before the query.
    """
    return () if layers[0].seen_to is None else ("window", "causal mask")


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


def _with_layers(verdicts: list[Diagnosis]) -> tuple[Finding, ...]:
    """Findings of the layers, each once, with its layers where it is not in all."""
    layers_of: dict[Finding, list[int]] = {}
    for layer, verdict in enumerate(verdicts):
        for finding in verdict.findings:
            layers_of.setdefault(finding, []).append(layer)
    return tuple(
        finding if len(layers) == len(verdicts) else replace(finding, where=layer_ranges(tuple(layers)))
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
