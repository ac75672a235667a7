"""Difference between the config that is meant and the model's own, where a run did what its own config says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from posenc.diagnosis.degenerate import NOT_FINITE
from posenc.diagnosis.judge_models import judge_configs
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.model_capture import Capture
from posenc.diagnosis.model_source import ModelSource
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions

Judge = Callable[[ModelPositions, Mapping[str, Any]], Sequence[Diagnosis]]
BUILT_SO = "the model was built so: its own config says it, and the run does what its own config says"
NOT_SHOWN = "the model's own config differs in what this run does not show: {}"


def built_otherwise(
    model: ModelPositions, config: Mapping[str, Any], captured: Capture, judge: Judge
) -> tuple[Finding, ...]:
    """Findings on the fields in which a model was built otherwise than is meant.

    Args:
        model: What is meant.
        config: What is meant as plain data.
        captured: A run, with the config of the model that ran.
        judge: Compares the run with positions that a config says.

    Returns:
        Findings; none where both configs say the same, or the difference is not known, or the run does something else
        than the model's own config says.
    """
    try:
        own = from_config(dict(captured.config))
        stated = judge_configs(ModelSource(model, config), ModelSource(own, captured.config))
        as_built = not stated.agree and bool(stated.findings) and _all_agree(judge(own, captured.config))
    except (ValueError, TypeError):  # a config that posenc does not read says nothing
        return ()
    return stated.findings if as_built else ()


def with_built(verdict: Diagnosis, built: tuple[Finding, ...]) -> Diagnosis:
    """Add the fields in which the model was built otherwise to the verdict on its run, as findings or as a note."""
    if not built:
        return verdict
    if verdict.agree:
        unseen = NOT_SHOWN.format(" ".join(finding.sentence for finding in built))
        return replace(verdict, notes=(*verdict.notes, unseen))
    return replace(verdict, findings=built, worst=(), notes=(*verdict.notes, BUILT_SO))


def _all_agree(verdicts: Sequence[Diagnosis]) -> bool:
    return bool(verdicts) and all(verdict.agree for verdict in verdicts)


def not_finite_vectors(captured: Capture, verdicts: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Verdict on vectors with NaN or infinities that no rotation made; none where one made them, or all are finite."""
    broken = [one for one in captured.attention if not one.finite]
    if not broken or NOT_FINITE in {finding.name for verdict in verdicts for finding in verdict.findings}:
        return ()
    sentence = f"Queries, keys or values that reach attention hold NaN or infinities, first in layer {broken[0].layer}."
    fix = "Look at what comes before: weights, the embedding, a row of the mask that hides every key."
    return (Diagnosis(False, (Finding(NOT_FINITE, sentence, fix),)),)
