"""Judge two models: what their configs say of every layer, and how rows lie in their checkpoints."""

from __future__ import annotations

from dataclasses import replace

from posenc.core.doors import Encoding
from posenc.diagnosis.checkpoint_tables import compare_resized
from posenc.diagnosis.compare_models import compare_embedding_scales, compare_models
from posenc.diagnosis.judge_weights import compare_weights, layout_of_side, weights_of
from posenc.diagnosis.layers.judge_windows import compare_windows
from posenc.diagnosis.layers.mistakes_layers import LAYERS
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_source import ModelSource, in_layout
from posenc.diagnosis.position_fields import GIVE, shown_by
from posenc.diagnosis.remedies_in_files import by_keys_of_the_file, note_of_keys
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.checkpoints.conversion import RECEIPT
from posenc.models.difference import diff, drafts_of_one
from posenc.models.model_positions import DRAFT, LayerGroup, ModelPositions
from posenc.models.reordered_rows import in_same_terms, with_encodings
from posenc.models.served_length import other_lengths, served_at

#: Mistakes about which layer does what, from which its windows follow.
ABOUT_LAYERS = frozenset(mistake.name for mistake in LAYERS) - {
    "one base for all layers", "scaling on every layer", "query temperature"
}  # fmt: skip
#: Names of files with weights that are not read.
PICKLED = ("pytorch_model*.bin", "consolidated*.pth")


def judge_models(first: ModelSource, second: ModelSource, length: int | None = None) -> Diagnosis:
    """Compare two configs, encodings or folders with weights.

    Of two folders, the order of rows is compared in place of the layout of pairs, and a learned table of patches with
    the one that it was resized from.

    Args:
        first: The side that is meant.
        second: The side that is there.
        length: Tokens that are served; prompts of any length if None.
    """
    table = compare_resized(first, second)
    if table is None:
        return _judge_sides(first, second, length)
    verdict = _judge_sides(first, second._replace(positions=table.positions), length, resized=True)
    return _with_weights(verdict, table.compared, (table.finding,) if table.finding else ())


def _judge_sides(first: ModelSource, second: ModelSource, length: int | None, *, resized: bool = False) -> Diagnosis:
    receipts = tuple(finding for side in (first, second) for finding in _against_receipt(side))
    rows = compare_weights(first, second, resized=resized)
    looked_at = shown_by("configs", *(("rows of two checkpoints",) if rows else ()))
    if rows is None:
        verdict = judge_configs(first, second, length)
        agree, findings = verdict.agree and not receipts, (*receipts, *verdict.findings)
        return replace(
            verdict, agree=agree, findings=findings, looked_at=looked_at, not_shown=_rows_not_shown(first, second)
        )
    findings = rows.findings
    if receipts:
        findings = tuple(finding for finding in findings if finding.name != "order of rows")
    positions = in_layout(second.positions, layout_of_side(first))  # type: ignore[arg-type]
    verdict = judge_configs(first, second._replace(positions=positions), length)
    verdict = _with_weights(verdict, rows.compared, receipts, findings, rows.notes)
    left = tuple(f"order of rows ({what}): give the same weights under the same names" for what in rows.left)
    return replace(verdict, looked_at=looked_at, not_shown=left)


def _rows_not_shown(first: ModelSource, second: ModelSource) -> tuple[str, ...]:
    """Advice on comparing the order of rows, where weights were given but could not be compared."""
    given = any(weights_of(side) is not None or _has_pickled_weights(side) for side in (first, second))
    return () if not given else (f"order of rows: give {GIVE['order of rows']}",)


def _has_pickled_weights(side: ModelSource) -> bool:
    """Whether the side's folder has weights that only PyTorch can open, which are not read."""
    return side.folder is not None and any(next(side.folder.glob(name), None) is not None for name in PICKLED)


def _with_weights(
    verdict: Diagnosis,
    compared: str,
    before: tuple[Finding, ...],
    after: tuple[Finding, ...] = (),
    notes: tuple[str, ...] = (),
) -> Diagnosis:
    """Add what weights show to the verdict on two configs, unless the configs differ for no known reason."""
    compared = f"{verdict.compared}, and {compared}"
    if not verdict.explained:
        return replace(verdict, compared=compared)
    findings = (*before, *verdict.findings, *after)
    agree = verdict.agree and not findings
    return replace(verdict, agree=agree, findings=findings, notes=(*verdict.notes, *notes), compared=compared)


def _against_receipt(side: ModelSource) -> tuple[Finding, ...]:
    """Finding on a config that states the pair layout from before its rows were converted; () for others."""
    stated = None if side.converted is None else layout_of_side(side)
    if stated is None or side.converted == stated:
        return ()
    sentence = f"{RECEIPT} says that pairs were converted to {side.converted}, and config.json says {stated}."
    fix = "Use the config.json that posenc convert writes, or convert the rows back."
    return (Finding("converted rows under the old config", sentence, fix),)


def judge_configs(first: ModelSource, second: ModelSource, length: int | None = None) -> Diagnosis:
    """Compare what two configs say of every layer, and of those that draft further tokens."""
    expected, actual = first.positions, second.positions
    notes: tuple[str, ...] = ()
    if isinstance(expected, Encoding) and isinstance(actual, Encoding):
        one, other = (
            ModelPositions("encoding", (LayerGroup("text", "", (0,), (side,)),)) for side in (expected, actual)
        )
        difference, length = diff(expected, actual), 0  # each states its own
    else:
        one, other = _as_model(expected, actual), _as_model(actual, expected)
        one, other, notes = in_same_terms(one, other)
        difference, notes = diff(one, other), (*notes, *drafts_of_one(one, other))
    findings, of_drafts = _mistakes(one, other, length), _mistakes_of_drafts(one, other, length)
    if findings is not None:
        findings = (*findings, *compare_embedding_scales(first.config, second.config))
    if findings is not None:
        of_layers = {finding.name for finding in findings} & ABOUT_LAYERS
        windows = () if of_layers else compare_windows(one, other)
        findings = by_keys_of_the_file((*findings, *windows), one, other)
    if findings is not None:
        said = {finding.sentence for finding in findings}
        drafts = None if of_drafts is None else [finding for finding in of_drafts if finding.sentence not in said]
        findings = None if drafts is None else (*findings, *drafts)
    if findings is None:
        notes = (*notes, *note_of_keys(one, other))
    compared, not_compared = "what two configs say of every layer", difference.not_compared
    if other_lengths(one, other) != other_lengths(one, other, served=length or None):
        compared = f"{compared}, where up to {length:,} tokens are served"
    return Diagnosis(findings == (), findings or (), notes, difference, compared, not_compared=not_compared)


def _mistakes(one: ModelPositions, other: ModelPositions, length: int | None) -> tuple[Finding, ...] | None:
    """Mistakes that turn one model into the other, at the length of their configs or at another that is served."""
    findings = compare_models(one, other)
    for served in other_lengths(one, other, served=length):
        if findings == ():
            findings = compare_models(served_at(one, served), served_at(other, served))
    return findings


def _mistakes_of_drafts(one: ModelPositions, other: ModelPositions, length: int | None) -> tuple[Finding, ...] | None:
    """Mistakes in the layers that draft further tokens; () where a side has none, since a model runs without them."""
    if not (one.draft and other.draft):
        return ()
    first, second = (replace(model, groups=model.draft, draft=()) for model in (one, other))
    findings = _mistakes(first, second, length)
    if findings is None:
        return None
    several = (*findings, *compare_windows(first, second))
    return tuple(replace(finding, where=", ".join(filter(None, (DRAFT, finding.where)))) for finding in several)


def _as_model(model: Encoding | ModelPositions, other: Encoding | ModelPositions) -> ModelPositions:
    """The other model with its encodings of the same door replaced by this lone encoding; a model stays as it is."""
    if isinstance(model, ModelPositions):
        return model
    if not isinstance(other, ModelPositions):
        raise TypeError("other must be what from_config returns; got an encoding. Compare encodings with encodings.")
    lone = model
    replaced = with_encodings(other, lambda encoding, group: lone if encoding.door == lone.door else encoding)
    return ModelPositions(other.model_type, replaced.groups, other.notes)
