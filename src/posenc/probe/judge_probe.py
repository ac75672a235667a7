"""Judge what was read of every layer against the config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.layers.judge_windows import REMEDY
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.position_fields import GIVE, PositionField
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.verdict import Diagnosis, merged_diagnosis
from posenc.models.model_positions import LayerGroup, ModelPositions, Window, layer_ranges, windows_of_layers
from posenc.models.pair_rotation import pair_rotation
from posenc.probe.evidence import probed_scores
from posenc.probe.layout import ProbeLayout
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.scores import LayerScores, MovedKey

#: Layers whose scores differ by no more than so many errors are judged once.
ALIKE = 2.0
#: A number that was read is another than is meant if it is off by so many errors.
ERRORS = 8.0
#: Mistakes that scores show as 16-bit arithmetic does: a probe cannot tell what was rounded.
ROUNDED_ALIKE = frozenset({"products in TF32"})
#: Mistakes that change the size of all scores that rotate.
OF_SIZE = frozenset({"attention factor", "mscale dialect", "logit factor", "amplitude"})
#: Types in which an engine may have computed, and cached keys, the finer first.
COARSER = (("float32", "float16"), ("float16", "float16"), ("bfloat16", "bfloat16"))


def computed_in(dtype: str, verdict: Diagnosis) -> Diagnosis:
    """Mark a verdict that a coarser type's error bars explain: a note for keys cached in float16, else a finding."""
    if dtype == "float32":
        note = "scores are as coarse as keys that are cached in float16, and error bars allow for that"
        return replace(verdict, notes=(*verdict.notes, note))
    sentence = f"Scores are off by as much as {dtype} rounds, where the weights and the answers are float32."
    fix = "Compute cos and sin in float32, and products without TF32."
    fix = f"{fix} If the engine is meant to run in {dtype}, read with dtype={dtype!r}."
    finding = Finding("computed in 16 bits", sentence, fix)
    return replace(verdict, agree=False, findings=(*verdict.findings, finding), worst=())


def judge_layers(
    layout: ProbeLayout, expected: ModelPositions, shown: list[LayerScores], layers: tuple[LayerRotation, ...]
) -> Diagnosis:
    """Judge every layer against its group, equal layers only once, then the windows; merge the verdicts."""
    judged: list[tuple[int, Diagnosis]] = []
    by_layer = {reading.layer: scores for reading, scores in zip(layers, shown, strict=True)}
    for reading, scores in zip(layers, shown, strict=True):
        layer = reading.layer
        like = next((one for one, _ in judged if _alike(expected, one, layer, by_layer)), None)
        verdict = dict(judged)[like] if like is not None else _judge(layout, expected, layer, scores, reading)
        judged.append((layer, verdict))
    merged = merged_layers([verdict for _, verdict in judged], *_looked_at(expected, layers))
    findings = (*merged.findings, *_windows(expected, layers))
    return replace(merged, agree=merged.agree and not findings, findings=findings)


def merged_layers(verdicts: list[Diagnosis], *looked_at: PositionField) -> Diagnosis:
    """Merge the verdicts of all layers into one; `looked_at` are further fields that were compared."""
    merged = merged_diagnosis([replace(verdict, findings=()) for verdict in verdicts])
    fields = {*merged.looked_at, "other layers", *looked_at}
    shown = tuple(field for field in GIVE if field in fields)
    return replace(merged, findings=_with_layers(verdicts), looked_at=shown)


def _looked_at(expected: ModelPositions, layers: tuple[LayerRotation, ...]) -> tuple[PositionField, ...]:
    """Fields that the weights of whole prompts show besides those of each layer's scores.

    A score is right only if as many other keys are seen as stand before the query. Windows count where keys on both
    sides of every edge were asked for.
    """
    if layers[0].seen_to is None:
        return ()
    sides = [side for _, several in _sides_of_windows(expected, layers) for side in several]
    asked = all(size is None or nearest is not None or far > size for _, size, far, nearest in sides)
    return ("window", "causal mask") if asked else ("causal mask",)


def _alike(expected: ModelPositions, one: int, other: int, shown: Mapping[int, LayerScores]) -> bool:
    if expected.at(one) != expected.at(other):
        return False
    first, second = shown[one], shown[other]
    if first.moved is None or second.moved is None:
        return first.moved is second.moved and _same_scores(first, second)
    return _same_scores(first.moved, second.moved) and _same_scores(first, second)


def _same_scores(one: LayerScores | MovedKey, other: LayerScores | MovedKey) -> bool:
    """Whether scores are the same, up to rounding, wherever a key is seen, and seen in the same places."""
    gap = np.abs(one.scores - other.scores)
    hidden = np.isnan(one.scores) & np.isnan(other.scores)
    return bool(np.all(hidden | (gap <= ALIKE * one.errors)))


def _judge(
    layout: ProbeLayout, expected: ModelPositions, layer: int, scores: LayerScores, reading: LayerRotation
) -> Diagnosis:
    groups = expected.at(layer)
    axes = max([one.axes for group in groups if (one := group.rotary_encoding) is not None], default=1)
    evidence = probed_scores(layout, scores, reading, axes)
    if evidence is None:
        sentence = "The key is seen at none of the distances that were asked."
        return Diagnosis(False, (Finding("key never seen", sentence, "Check the mask and the window."),))
    verdict = judge_rotations(groups, expected, [("", evidence)], layout.length + 1)
    if verdict.explained or not (found := read_off(groups[0], reading)):
        return verdict
    return replace(verdict, findings=found, worst=())


def read_off(group: LayerGroup, reading: LayerRotation) -> tuple[Finding, ...]:
    """Findings on frequencies that all differ by one factor, and on the amplitude, where no known mistake explains it.

    None where frequencies differ in another way.
    """
    pairs = None if group.rotary_encoding is None else pair_rotation(group.rotary_encoding)
    if pairs is None or len(reading.frequencies) != pairs.pairs or reading.direction != 1:
        return ()
    ratios, errors = np.array([reading.frequencies, reading.errors]) / pairs.radians()
    still = np.abs(ratios) <= ERRORS * errors
    if np.any(still & (errors < 1 / ERRORS**2)) and np.all(still | (np.abs(ratios - 1) <= ERRORS * errors)):
        numbers = ", ".join(map(str, np.flatnonzero(still)[:3])) + (", ..." if still.sum() > 3 else "")
        sentence = f"{still.sum()} of {pairs.pairs} pairs stand still: {numbers}."
        return (Finding("pairs stand still", sentence, "Rotate every pair that the config rotates."),)
    factor = float(np.average(ratios, weights=errors**-2))
    if np.any(np.abs(ratios - factor) > ERRORS * errors):
        return ()
    findings = []
    if abs(factor - 1) > ERRORS * errors.min():
        sentence = f"Every frequency is {factor:.6g} times what is meant: positions are scaled besides."
        findings.append(Finding("frequencies scaled", sentence, "Scale positions or frequencies once."))
    meant = pairs.factor**2
    if abs(reading.amplitude - meant) > ERRORS * reading.amplitude_error:
        sentence = f"Scores of channels that rotate are {reading.amplitude / meant:.6g} times what is meant."
        findings.append(Finding("amplitude", sentence, "Multiply cos and sin by the attention factor that is meant."))
    return tuple(findings)


def _with_layers(verdicts: list[Diagnosis]) -> tuple[Finding, ...]:
    """Return each finding once, with its layers unless all have it."""
    layers_of: dict[Finding, list[int]] = {}
    for layer, verdict in enumerate(verdicts):
        for finding in verdict.findings:
            layers_of.setdefault(finding, []).append(layer)
    return tuple(
        finding if len(layers) == len(verdicts) else replace(finding, where=layer_ranges(tuple(layers)))
        for finding, layers in layers_of.items()
    )


class WindowDifference(NamedTuple):
    """Side of a layer's window that ends elsewhere than the config says."""

    layer: int
    side: str
    meant: str
    read: str


def windows_that_differ(expected: ModelPositions, layers: tuple[LayerRotation, ...]) -> Iterator[WindowDifference]:
    """Yield the windows that end elsewhere than the config says; of an encoder, each side by itself."""
    for layer, sides in _sides_of_windows(expected, layers):
        for side, size, far, nearest in sides:
            if _fits(far, nearest, size):
                continue
            own = 0 if side else 1  # a decoder's window counts the query's own key
            meant = None if size is None else size + own
            found = _keys_between(far + own, None if nearest is None else nearest + own)
            yield WindowDifference(layer, side, _keys(meant), found)


def _sides_of_windows(
    expected: ModelPositions, layers: tuple[LayerRotation, ...]
) -> Iterator[tuple[int, list[tuple[str, int | None, int, int | None]]]]:
    """Yield each layer with the sides of its window: name, distance that is meant, longest seen, shortest hidden."""
    stated = {layer: window for (_, layer), window in windows_of_layers(expected).items()}
    for reading in layers:
        window = stated.get(reading.layer)
        before, after = (window.before, window.after) if isinstance(window, Window) else (None, None)
        seen, ahead = reading.seen_to, reading.seen_ahead
        if ahead is not None:
            back = ("back", before, seen or 0, reading.hidden_from)
            yield reading.layer, [back, ("ahead", after, ahead, reading.hidden_ahead)]
        elif expected.windows_known and seen is not None:
            yield reading.layer, [("", before, seen, reading.hidden_from)]


def _fits(seen: int, hidden: int | None, size: int | None) -> bool:
    return hidden is None if size is None else seen <= size and (hidden is None or hidden > size)


def _keys(size: int | None) -> str:
    return "all keys" if size is None else f"{size} positions"


def _keys_between(seen: int, hidden: int | None) -> str:
    """Say how many keys are seen, as a range where the distances between were not asked."""
    if hidden is None or hidden == seen + 1:
        return _keys(None if hidden is None else seen)
    return f"{seen} to {hidden - 1} positions"


def _windows(expected: ModelPositions, layers: tuple[LayerRotation, ...]) -> tuple[Finding, ...]:
    """Findings on windows that end elsewhere, each with its layers."""
    layers_of: dict[tuple[str, str, str], list[int]] = {}
    for layer, *words in windows_that_differ(expected, layers):
        layers_of.setdefault((words[0], words[1], words[2]), []).append(layer)
    return tuple(
        _edge_finding(*key, "" if key[0] and len(numbers) == len(layers) else layer_ranges(tuple(numbers)))
        for key, numbers in layers_of.items()
    )


def _edge_finding(side: str, stated: str, found: str, where: str) -> Finding:
    if side == "ahead" and found == "0 positions":
        return Finding("causal mask", "Queries do not see later keys.", "Mask nothing in an encoder.", where)
    found = f"{found} {side}" if side else found
    return Finding("window", f"Queries see {found} where {stated} are meant.", REMEDY, where)
