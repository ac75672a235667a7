"""Whether two models agree: what their configs say of every layer, and how rows lie in their checkpoints."""

from __future__ import annotations

from dataclasses import replace

from posenc.core.rotation import PairLayout
from posenc.diagnosis.checkpoint_rows import checkpoint_of, compare_rows
from posenc.diagnosis.judge_configs import judge_configs
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.resized_tables import compare_resized
from posenc.diagnosis.same_terms import in_layout
from posenc.diagnosis.sides import Side
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.checkpoints.conversion import RECEIPT
from posenc.models.checkpoints.head_shape import head_shapes
from posenc.models.config.converted_type import layout_of
from posenc.models.model_positions import ModelPositions


def judge_models(first: Side, second: Side) -> Diagnosis:
    """Compare two configs or encodings.

    Of two folders with weights, the order of rows in place of the layout of pairs, and a learned table of patches with
    the one that it was resized from.
    """
    table = compare_resized(first, second)
    if table is None:
        return _judge_sides(first, second)
    verdict = _judge_sides(first, second._replace(positions=table.positions))
    return _with_weights(verdict, table.compared, (table.finding,) if table.finding else ())


def _judge_sides(first: Side, second: Side) -> Diagnosis:
    receipts = tuple(finding for side in (first, second) for finding in _against_receipt(side))
    rows = _compare_folders(first, second)
    if rows is None:
        verdict = judge_configs(first, second)
        return replace(verdict, agree=verdict.agree and not receipts, findings=(*receipts, *verdict.findings))
    findings, compared, notes = rows
    if receipts:
        findings = tuple(finding for finding in findings if finding.name != "order of rows")
    layout = _layout(first)
    positions = in_layout(second.positions, layout)  # type: ignore[arg-type]
    verdict = judge_configs(first, second._replace(positions=positions))
    return _with_weights(verdict, compared, receipts, findings, notes)


def _with_weights(
    verdict: Diagnosis,
    compared: str,
    before: tuple[Finding, ...],
    after: tuple[Finding, ...] = (),
    notes: tuple[str, ...] = (),
) -> Diagnosis:
    """The verdict of two configs with what their weights show; an unexplained difference of the configs stays one."""
    compared = f"{verdict.compared}, and {compared}"
    if not verdict.explained:
        return replace(verdict, compared=compared)
    findings = (*before, *verdict.findings, *after)
    agree = verdict.agree and not findings
    return replace(verdict, agree=agree, findings=findings, notes=(*verdict.notes, *notes), compared=compared)


def _layout(side: Side) -> PairLayout | None:
    """How pairs lie in a side, by its config."""
    return layout_of(side.positions) if isinstance(side.positions, ModelPositions) else None


def _against_receipt(side: Side) -> tuple[Finding, ...]:
    """A config that was copied next to converted rows, and says the layout that they had."""
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
