"""Judge what attention functions of a model did: masks, the scale of logits, values, and keys in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from posenc.core.doors import AttentionBias, AttentionScore
from posenc.diagnosis.judge_masks import compare_mask
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_capture import Capture, MeasuredAttention, part_in, spread_over_seen
from posenc.diagnosis.named_arrays import on_host
from posenc.diagnosis.placed_media import MEDIA, tokens_together
from posenc.diagnosis.position_fields import PositionField, shown_by
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.config.rotation_rules import NO_SELF_ATTENTION
from posenc.models.config.sight_rules import sees_later_keys
from posenc.models.model_positions import LayerGroup, ModelPositions, layer_ranges

#: How far a factor of logits may be off, of itself, by the type of the vectors.
FACTOR_TOLERANCE = {"float32": 3e-3, "float64": 3e-3}
NARROW_TOLERANCE = 0.03
READ_SCALE = (
    "Divide q·k by the root of the width of the head, once, unless the config says otherwise: "
    "query_pre_attn_scalar, attention_multiplier, or mscale_all_dim of YaRN."
)
VALUES_ROTATED = Finding(
    "values rotated", "Values are rotated before attention sums them.", "Rotate queries and keys alone."
)
VALUES_CHANGED = Finding(
    "values changed inside attention",
    "The attention function returns other sums than those of the values that it is given.",
    "Look for a rotation of values in the attention function: they carry no positions.",
)
VECTORS_CHANGED = Finding(
    "queries or keys changed inside attention",
    "Logits are not proportional to q·k: the attention function changes the queries or keys that it is given.",
    "Look for a second rotation or a norm inside the attention function; rotate once, before it is called.",
)
BIAS_ADDED = Finding(
    "bias added",
    "A number is added to the logits that is not the same for all keys that a query sees, where no bias is meant.",
    "Look at the mask that reaches attention: it holds 0 where a key is seen, and no other number.",
)
BIAS_CHANGED = Finding(
    "bias changed on its way",
    "Attention adds another bias to the logits than the one that was computed for this part of the model.",
    "Add the bias that the first layer computes in every layer, once and unchanged.",
)
HEADS_DIFFER = Finding(
    "heads see other keys",
    "Heads of one query see different keys, where one mask is meant for all.",
    "Look at the mask that reaches attention: it is the same for every head.",
)
CACHE_CHANGED = Finding(
    "cached keys changed",
    "Keys that earlier steps put into the cache are others when a later step reads them.",
    "Rotate keys once, before they are cached.",
)


class LayerLookedAt(NamedTuple):
    """Findings in one layer of a part, and the fields that its record shows."""

    part: str
    layer: int
    findings: tuple[Finding, ...]
    looked_at: frozenset[PositionField]
    notes: tuple[str, ...] = ()


def judge_attention(model: ModelPositions, captured: Capture, config: Mapping[str, Any] | None) -> Diagnosis | None:
    """Compare what every layer's attention function did with the model; None where nothing of it was recorded.

    A field counts as looked at where every layer with self-attention shows it, in the parts that ran.
    """
    layers = list(_layers(model, captured, config or captured.config))
    if not layers:
        return None
    findings = _with_layers(layers, several=len({one.part for one in layers}) > 1)
    meant = {(part, layer) for part, layer in self_attention_layers(model) if part in {one.part for one in layers}}
    shown = frozenset.intersection(*(one.looked_at for one in layers))
    if not meant <= {(one.part, one.layer) for one in layers}:
        shown = frozenset()
    notes = tuple(dict.fromkeys(note for one in layers for note in one.notes))
    compared = f"what attention does in {len(layers)} layers"
    looked_at = tuple(name for name in shown_by("configs") if name in shown)
    return Diagnosis(not findings, findings, notes, compared=compared, looked_at=looked_at)


def self_attention_layers(model: ModelPositions) -> set[tuple[str, int]]:
    """Layers with self-attention, by part."""
    return {
        (group.part, layer)
        for group in model.groups
        if group.attention not in NO_SELF_ATTENTION and "cross" not in group.attention
        for layer in group.layers
    }


def _layers(model: ModelPositions, captured: Capture, config: Mapping[str, Any]) -> Iterator[LayerLookedAt]:
    for attended in captured.attention:
        part = part_in(model.parts, attended.part)
        group = None if part is None or attended.layer is None else _group(model, part, attended.layer)
        if group is not None:
            causal = _is_causal(group.part, captured, config)
            mask = _mask(group, attended, captured, causal, model.windows_known, config)
            # What is added before layer 0 says nothing of the scale in the layers.
            scaled = bool(group.layers) and attended.logit_factor is not None
            factor = _factor(group, attended) if scaled else ()
            kinds = [
                "every layer",
                *(["logits of an attention function"] if scaled else []),
                *(["values of an attention function"] if attended.values != "other" else []),
            ]
            added = _other_bias(captured, attended) if _adds(group) else _added(attended)
            findings = (*mask.findings, *factor, *_vectors(group, attended), *added)
            shown = frozenset((*shown_by(*kinds), *mask.looked_at))
            yield LayerLookedAt(group.part, attended.layer or 0, findings, shown, mask.notes)


def _group(model: ModelPositions, part: str, layer: int) -> LayerGroup | None:
    """The group whose self-attention a layer has; that before layer 0 where no group has layers; None if unclear."""
    every = [group for group in model.of(part) if "cross" not in group.attention]
    groups = [group for group in every if layer in group.layers]
    if not any(group.layers for group in every):
        groups = every[:1]
    return groups[0] if len(groups) == 1 else None


def _is_causal(part: str, captured: Capture, config: Mapping[str, Any]) -> bool | None:
    """Whether queries of a part are to see no later keys; None where its type does not say."""
    if part in ("encoder", "decoder", "vision"):
        return part == "decoder" and config.get("is_causal") is not False
    if part != "text" or not captured.attends:
        return None
    text = config.get("text_config") or config
    sees = sees_later_keys(config)
    if sees or captured.attends == "both":
        return False
    if sees is None:
        return None
    return bool(text.get("is_decoder")) if captured.attends == "either" else True


def _mask(
    group: LayerGroup,
    attended: MeasuredAttention,
    captured: Capture,
    causal: bool | None,
    windows_known: bool,
    config: Mapping[str, Any],
) -> Diagnosis:
    """Compare the mask of each row of the batch, without its padding; the first that differs counts."""
    if (group.window is None and not windows_known) or attended.values == "inside attention":
        return Diagnosis(True)
    verdicts, padded = [], captured.padded
    blocks = tokens_together(config, captured.given) if group.part == "text" else None
    for number, visible in enumerate(attended.visible):
        real = np.ones(len(visible), dtype=bool)
        if padded is not None and padded.shape == attended.visible.shape[:2]:
            real = ~padded[number]
        seen = visible[real][:, real]
        together = None
        if blocks is not None and blocks.shape == attended.visible.shape[:2]:
            block = blocks[number][real]
            together = (block[:, None] == block) & (block >= 0)
        if seen.any():
            positions = np.arange(len(seen))
            verdicts.append(compare_mask(group.window, seen, positions, positions, causal, together))
    wrong = [verdict for verdict in verdicts if not verdict.agree]
    return next(iter(wrong or verdicts), Diagnosis(True))


def _factor(group: LayerGroup, attended: MeasuredAttention) -> Iterator[Finding]:
    """A factor of logits that is another than the config's."""
    found, meant = attended.logit_factor, group.logit_factor
    if found is None or abs(found - meant) <= FACTOR_TOLERANCE.get(attended.dtype, NARROW_TOLERANCE) * abs(meant):
        return
    sentence = f"Logits are multiplied by {found:.5g}/√d where {meant:.5g}/√d is meant."
    yield Finding("scale of the logits", sentence, READ_SCALE)


def _vectors(group: LayerGroup, attended: MeasuredAttention) -> Iterator[Finding]:
    """Vectors that are changed on their way: values rotated, queries inside attention, keys in the cache."""
    if not any(rotation.role in ("values", "output") for rotation in group.roles):
        if attended.values == "rotation":
            yield VALUES_ROTATED
        elif attended.values == "inside attention":
            yield VALUES_CHANGED
    if not attended.multiplies:
        yield VECTORS_CHANGED
    if not attended.keeps_keys:
        yield CACHE_CHANGED


def _adds(group: LayerGroup) -> bool:
    """Whether a layer is to add to its logits."""
    return any(isinstance(encoding, AttentionBias | AttentionScore) for encoding in group.encodings)


def _added(attended: MeasuredAttention) -> Iterator[Finding]:
    """Numbers that are added to q·k where no bias is meant, and masks of single heads."""
    if attended.part in MEDIA:
        return
    if attended.added > FACTOR_TOLERANCE.get(attended.dtype, NARROW_TOLERANCE):
        yield BIAS_ADDED
    if not attended.heads_alike:
        yield HEADS_DIFFER


def _biases(captured: Capture, attended: MeasuredAttention) -> list[np.ndarray]:
    """Biases (heads, n, n) of all tokens that were computed for the part of a layer, with their steps joined."""
    joined: list[np.ndarray] = []
    for one in captured.biases:
        step = on_host(one.arrays["bias"]).values
        if one.part != attended.part or step.ndim != 3:  # blocks of LongT5 have four axes
            continue
        heads, queries, keys = step.shape
        before = keys - queries
        earlier = next((number for number, bias in enumerate(joined) if bias.shape[1] == before), None)
        if earlier is None and before:
            continue
        whole = np.zeros((heads, keys, keys))
        whole[:, before:] = step
        if earlier is not None:
            whole[:, :before, :before] = joined.pop(earlier)
        joined.append(whole)
    return [bias for bias in joined if bias.shape[1:] == attended.visible.shape[1:]]


def _other_bias(captured: Capture, attended: MeasuredAttention) -> Iterator[Finding]:
    """A layer whose logits differ by more or less than by the bias that was computed for its part (T5)."""
    biases = _biases(captured, attended)
    if not biases or attended.values == "inside attention" or not attended.finite:
        return
    seen = attended.visible
    if captured.padded is not None and captured.padded.shape == seen.shape[:2]:
        seen = seen & ~captured.padded[:, :, None]
    meant = [spread_over_seen(bias, seen[:, None]) for bias in biases]  # UMT5 computes one in each layer
    tolerance = FACTOR_TOLERANCE.get(attended.dtype, NARROW_TOLERANCE)
    if all(abs(attended.added - one) > tolerance * (1.0 + one) for one in meant):
        yield BIAS_CHANGED


def _with_layers(layers: list[LayerLookedAt], several: bool) -> tuple[Finding, ...]:
    """Each finding once, with its layers where not all have it."""
    places: dict[Finding, list[LayerLookedAt]] = {}
    for one in layers:
        for finding in one.findings:
            places.setdefault(finding, []).append(one)
    return tuple(
        finding if len(found) == len(layers) else replace(finding, where=_where(found, several))
        for finding, found in places.items()
    )


def _where(found: list[LayerLookedAt], several: bool) -> str:
    """Layers in words, with their part where the model has several."""
    parts = dict.fromkeys(one.part for one in found)
    runs = [layer_ranges(tuple(sorted({one.layer for one in found if one.part == part}))) for part in parts]
    return "; ".join(f"{part}, {run}" if several else run for part, run in zip(parts, runs, strict=True))
