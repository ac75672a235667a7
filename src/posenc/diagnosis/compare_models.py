"""Two models, layer by layer: which known mistakes make the second from the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.diagnosis.layers.layer_contents import Content, OtherLayers, layers_by_part
from posenc.diagnosis.layers.mistakes_layers import LAYERS
from posenc.diagnosis.layers.unlike_layers import Parts, in_common, other_kind
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.remedies_in_files import SET_IT
from posenc.diagnosis.rotation.rotation_evidence import OtherRotation
from posenc.diagnosis.rotation.rotation_mistakes import IN_CONFIGS
from posenc.diagnosis.rotation.rotation_usage import RotationUsage, rope_in_head
from posenc.diagnosis.search import Attempt, explain, one_mistake_more
from posenc.models.config.embedding_scale import WORDS, embedding_scales
from posenc.models.difference import ABSENT, encoding_fields, encodings_by_door
from posenc.models.fingerprints import canonical
from posenc.models.model_positions import ModelPositions, Role, layer_ranges
from posenc.models.pair_rotation import pair_rotation

#: The most mistakes that may come together.
MOST = 2
#: Findings on an encoding without a counterpart, which count only if nothing better explains the difference.
UNPAIRED = frozenset({"left out", "added"})


#: Where to look for what files state by keys of many names, or in another unit.
LOOK_AT = {
    "logit factor": "logits are q·k/√width times it; look at query_pre_attn_scalar, attention_multiplier, "
    "softmax_scale, scale_attn_weights, or mscale_all_dim of YaRN",
    "query temperature": "look at attn_temperature_tuning, attn_scale and floor_scale, or llama_4_scaling_beta",
}


def compare_models(expected: ModelPositions, actual: ModelPositions) -> tuple[Finding, ...] | None:
    """Find the mistakes that turn one model into the other: () where they are the same, None where no known ones do."""
    first, second = layers_by_part(expected), layers_by_part(actual)
    common = in_common(first, second)
    if common.findings:
        rest = _explained(common.first, common.second)
        return (*common.findings, *rest) if rest is not None and len(rest) <= MOST else None
    return _explained(first, second)


def _explained(first: Parts, second: Parts) -> tuple[Finding, ...] | None:
    """Mistakes that turn the first layers into the second, which have the same numbers; None where no known ones do."""
    differing = [key for key, layers in first.items() if not OtherLayers(second[key].contents).fits(layers.contents)]
    if not differing:
        return ()
    if len(differing) == 1:
        (key,) = differing
        explanation = explain([first[key].contents], LAYERS, OtherLayers(second[key].contents), most=1)
        if explanation is not None:
            return _in_part(explanation, key, first)
    by_layer = _layer_by_layer(first, second)
    if by_layer is not None and len(by_layer) <= MOST and not _unpaired(by_layer):
        return by_layer
    for key in differing:
        start, other = first[key].contents, OtherLayers(second[key].contents)
        for attempt in one_mistake_more([Attempt(start, start)], LAYERS, other, {start}):
            changed = {**first, key: first[key]._replace(contents=attempt.subject)}
            rest = _layer_by_layer(changed, second)
            if rest is not None and len(rest) < MOST and not _unpaired(rest):
                return *_in_part(attempt, key, first), *rest
    return by_layer if by_layer is not None and len(by_layer) <= MOST else None


def _in_part(attempt: Attempt[tuple[Content, ...]], key: tuple[str, str], parts: Parts) -> tuple[Finding, ...]:
    """Findings of an attempt, with the part where the model has several."""
    return tuple(replace(finding, where=key[0] if len(parts) > 1 else "") for finding in attempt.findings)


def _unpaired(findings: tuple[Finding, ...]) -> bool:
    return any(finding.name in UNPAIRED for finding in findings)


def _layer_by_layer(first: Parts, second: Parts) -> tuple[Finding, ...] | None:
    """Findings that explain every layer, each once with its layers; None where a layer is not explained."""
    layers_of: dict[Finding, list[tuple[str, int]]] = {}
    known: dict[tuple[int, int], tuple[Finding, ...] | None] = {}  # by identity: layers share their contents
    for key, layers in first.items():
        for layer, expected, actual in zip(*layers, second[key].contents, strict=True):
            pair = id(expected), id(actual)
            if pair not in known:
                known[pair] = () if expected.form == actual.form else _contents(expected, actual)
            explanation = known[pair]
            if explanation is None:
                return None
            for finding in explanation:
                layers_of.setdefault(finding, []).append((key[0], layer))
    count = sum(len(layers.numbers) for layers in first.values())
    return tuple(
        finding if len(layers) == count else replace(finding, where=_where(layers, len(first) > 1))
        for finding, layers in layers_of.items()
    )


def _where(layers: list[tuple[str, int]], several: bool) -> str:
    """Layers of each part in words, with the part where there are several."""
    parts = dict.fromkeys(part for part, _ in layers)
    runs = (
        layer_ranges(tuple(layer for placed_in, layer in layers if placed_in == part and layer >= 0)) for part in parts
    )
    return "; ".join(f"{part}, {run}" if several else run for part, run in zip(parts, runs, strict=True))


def _contents(expected: Content, actual: Content) -> tuple[Finding, ...] | None:
    """Findings that explain the contents of one layer; None where nothing does."""
    findings: list[Finding] = []
    names = ["offset", "logit_factor", "query_temperature", "bias_factor", "resizing", "patches"]
    if _of_other_kind(expected, actual):
        meant, used = ([repr(one) for one in side.encodings] for side in (expected, actual))
        findings.append(other_kind(meant, used))
        names.remove("bias_factor")  # which goes with the bias
    for one, other in [] if findings else encodings_by_door(expected.encodings, actual.encodings):
        explanation = _encodings(one, other)
        if explanation is None:
            return None
        findings += explanation
    for role in dict.fromkeys(rotation.role for rotation in (*expected.roles, *actual.roles)):
        found = _roles(role, expected, actual)
        if found is None:
            return None
        known = {finding.name for finding in findings}
        findings += [finding for finding in found if finding.name.split(": ")[-1] not in known]
    for name in names:
        if getattr(expected, name) != getattr(actual, name):
            findings.append(_field(name.replace("_", " "), getattr(expected, name), getattr(actual, name)))
    return tuple(findings) if len(findings) <= MOST else None


def _of_other_kind(expected: Content, actual: Content) -> bool:
    """Whether both layers have encodings, and none of the two share a door."""
    one, other = ({encoding.door for encoding in content.encodings} for content in (expected, actual))
    return bool(one) and bool(other) and not one & other


def _roles(role: Role, expected: Content, actual: Content) -> tuple[Finding, ...] | None:
    """Findings that explain the rotation of a role other than attention; None where nothing does."""
    one, other = (
        next((rotation for rotation in content.roles if rotation.role == role), None) for content in (expected, actual)
    )
    found = _encodings(one.encoding if one else None, other.encoding if other else None)
    if found is None:
        return None
    if one and other and one.rate != other.rate:
        found = (*found, _field("rate", one.rate, other.rate))
    return tuple(
        replace(finding, name=f"{role}: {finding.name}", sentence=f"In the {role}: {finding.sentence}")
        for finding in found
    )


def _encodings(expected: Encoding | None, actual: Encoding | None) -> tuple[Finding, ...] | None:
    if canonical(expected) == canonical(actual):
        return ()
    if expected is None:
        return (Finding("added", f"{actual!r} is used where nothing of its kind is meant.", "Leave it out."),)
    if actual is None:
        return (Finding("left out", f"{expected!r} is left out.", "Use it."),)
    pairs = pair_rotation(expected) and pair_rotation(actual)
    if pairs and isinstance(expected, RotaryEncoding) and isinstance(actual, RotaryEncoding):
        explanation = explain([RotationUsage(expected)], IN_CONFIGS, OtherRotation(actual))
        if explanation is not None or rope_in_head(expected) is not None:
            return None if explanation is None else explanation.findings
    return _fields(expected, actual)


def _fields(expected: Encoding, actual: Encoding) -> tuple[Finding, ...] | None:
    """Findings on the fields in which two encodings of one class differ; None where none or too many do."""
    one, other = encoding_fields(expected), encoding_fields(actual)
    differing = [name for name in one if one[name] != other.get(name, ABSENT) and name != "numerics"]
    if type(expected) is not type(actual) or not 0 < len(differing) <= MOST or set(one) != set(other):
        return None
    return tuple(_field(name, one[name], other[name]) for name in differing)


def _field(name: str, expected: object, actual: object) -> Finding:
    look = f": {LOOK_AT[name]}" if name in LOOK_AT else ""
    return Finding(name, f"{name} is {actual} where {expected} is meant.", f"{SET_IT}{expected}{look}.")


def compare_embedding_scales(
    expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None
) -> tuple[Finding, ...]:
    """Findings on parts whose token embeddings have another scale; none where a config is missing."""
    if expected is None or actual is None:
        return ()
    got = {one.where: one.scaled for one in embedding_scales(actual)}
    return tuple(
        Finding(
            "embedding scale",
            f"{meant.where}{meant.key} is {not meant.scaled} where {meant.scaled} is meant: token embeddings are "
            f"{WORDS[not meant.scaled]} before positions are added.",
            f"Set {meant.where}{meant.key}={meant.scaled}: it decides how much positions weigh compared with words.",
        )
        for meant in embedding_scales(expected)
        if got.get(meant.where, meant.scaled) is not meant.scaled
    )
