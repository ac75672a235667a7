"""Whether two models agree: what their configs say of every layer, and how rows lie in their checkpoints."""

from __future__ import annotations

from dataclasses import replace

from posenc.diagnosis.checkpoint_rows import checkpoint_of, compare_rows
from posenc.diagnosis.compare_models import compare_models
from posenc.diagnosis.embedding_scale import compare_embedding_scales
from posenc.diagnosis.layers.mistakes_layers import LAYERS
from posenc.diagnosis.layers.windows import compare_windows
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.same_terms import as_converted, in_layout, is_gguf, longest_trained, served_longer
from posenc.diagnosis.sides import Side
from posenc.diagnosis.verdict import Diagnosis
from posenc.doors import Encoding
from posenc.models.checkpoints.conversion import RECEIPT
from posenc.models.checkpoints.converted_config import layout_of
from posenc.models.checkpoints.head_shapes_from_config import head_shapes
from posenc.models.difference import diff
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import PairLayout

#: Mistakes about which layer does what, from which its windows follow.
ABOUT_LAYERS = frozenset(mistake.name for mistake in LAYERS)


def judge_models(first: Side, second: Side) -> Diagnosis:
    """Compare two configs or records; of two folders with weights,
    the order of rows in place of the layout of pairs."""
    receipts = tuple(finding for side in (first, second) for finding in _against_receipt(side))
    rows = _compare_folders(first, second)
    if rows is None:
        verdict = _judge_configs(first, second)
        return replace(verdict, agree=verdict.agree and not receipts, findings=(*receipts, *verdict.findings))
    findings, compared, notes = rows
    if receipts:
        findings = tuple(finding for finding in findings if finding.name != "order of rows")
    layout = _layout(first)
    verdict = _judge_configs(first, second._replace(positions=in_layout(second.positions, layout)))  # type: ignore[arg-type]
    every = (*receipts, *verdict.findings, *findings)
    agree = verdict.agree and not every
    together = f"{verdict.compared}, and {compared}"
    if not verdict.agree and not verdict.findings:  # an unexplained difference of the configs stays one
        return replace(verdict, compared=together)
    return replace(verdict, agree=agree, findings=every, notes=(*verdict.notes, *notes), compared=together)


def _layout(side: Side) -> PairLayout | None:
    """How pairs lie in a side, by its config."""
    return layout_of(side.positions) if isinstance(side.positions, ModelPositions) else None


def _against_receipt(side: Side) -> tuple[Finding, ...]:
    """A config that was copied beside converted rows, and says the layout that they had."""
    stated = _layout(side)
    if side.converted is None or stated is None or side.converted == stated:
        return ()
    sentence = f"{RECEIPT} says that pairs were converted to {side.converted}, and config.json says {stated}."
    fix = "Use the config.json that posenc convert writes, or convert the rows back."
    return (Finding("converted rows under the old config", sentence, fix),)


def _compare_folders(first: Side, second: Side) -> tuple[tuple[Finding, ...], str, tuple[str, ...]] | None:
    """The rows of two folders with weights; None where one has none, or nothing in them rotates."""
    if first.folder is None or second.folder is None or first.config is None:
        return None
    one, other = (
        checkpoint_of(side.folder, side.converted or _layout(side))
        for side in (first, second)
        if side.folder is not None
    )
    if one is None or other is None or _layout(first) is None or _layout(second) is None:
        return None
    try:
        heads = head_shapes(first.config)
    except ValueError as error:
        return (), "no rows", (f"rows were not compared: {error}",)
    return compare_rows(one._replace(layout=_layout(first)), other._replace(layout=_layout(second)), heads)


def _judge_configs(first: Side, second: Side) -> Diagnosis:
    """Compare what two configs say of every layer."""
    expected, actual = first.positions, second.positions
    notes: tuple[str, ...] = ()
    if isinstance(expected, Encoding) and isinstance(actual, Encoding):
        one, other = (
            ModelPositions("record", (LayerGroup("text", "", (0,), (model,)),)) for model in (expected, actual)
        )
        difference = diff(expected, actual)
    else:
        one, other = _as_model(expected, actual), _as_model(actual, expected)
        if is_gguf(other) and not is_gguf(one):
            other, notes = as_converted(other, one)
        elif is_gguf(one) and not is_gguf(other):
            one, notes = as_converted(one, other)
        difference = diff(one, other)
    findings = compare_models(one, other)
    length = longest_trained(one, other)
    if findings == () and length is not None:
        # Dynamic NTK does nothing up to its trained length, and both configs may be no longer than that.
        findings = compare_models(served_longer(one, 2 * length), served_longer(other, 2 * length))
    scale = compare_embedding_scales(first.config, second.config)
    if scale is not None and findings is not None:
        findings = (*findings, scale)
    if findings is not None and not {finding.name for finding in findings} & ABOUT_LAYERS:
        findings = (*findings, *compare_windows(one, other))
    return Diagnosis(findings == (), findings or (), notes, difference, "what two configs say of every layer")


def _as_model(model: Encoding | ModelPositions, other: Encoding | ModelPositions) -> ModelPositions:
    """A lone record as the other model, in which it stands for every record of its door."""
    if isinstance(model, ModelPositions):
        return model
    if not isinstance(other, ModelPositions):
        raise TypeError("other must be what from_config returns; got a record. Compare records with records.")
    groups = []
    for group in other.groups:
        encodings = tuple(model if record.door == model.door else record for record in group.encodings)
        groups.append(replace(group, encodings=encodings))
    return ModelPositions(other.model_type, tuple(groups))
