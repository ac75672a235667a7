"""Whether arrays show the bias of distance that is meant, and which mistake it is if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import AttentionBias
from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.mistakes_bias import BIASES
from posenc.diagnosis.bias.observed_biases import ObservedBiases, observed_biases
from posenc.diagnosis.degenerate import not_finite
from posenc.diagnosis.named_arrays import named_arrays
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.search import explain
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.model_positions import LayerGroup


def judge_biases(groups: tuple[LayerGroup, ...], arrays: Mapping[str, Any], is_model: bool) -> Diagnosis:
    """Compare the bias in these groups with arrays; `is_model`: whether the groups were read from a config."""
    kinds = {
        (encoding, group.bias_factor, group.logit_factor)
        for group in groups
        for encoding in group.encodings
        if isinstance(encoding, AttentionBias)
    }
    if len(kinds) > 1:
        raise ValueError("part must say which part of the model these arrays belong to. Give 'encoder', say.")
    encoding, factor, logit_factor = kinds.pop()
    if not isinstance(encoding, ALiBi | T5Bias):
        raise ValueError(
            f"expected must be ALiBi or T5Bias to be compared with arrays of a bias; got {encoding!r:.100}. "
            "Compare encodings instead."
        )
    looked_at = shown_by("bias" if "bias" in arrays else "logits")
    verdict = _judge(encoding, factor, logit_factor, arrays, is_model)
    return replace(verdict, looked_at=looked_at)


def _judge(
    encoding: ALiBi | T5Bias, factor: float, logit_factor: float, arrays: Mapping[str, Any], is_model: bool
) -> Diagnosis:
    # Models with ALiBi mask later keys, whatever their code writes there.
    evidence = observed_biases(
        named_arrays(arrays), encoding, logit_factor, causal=is_model and isinstance(encoding, ALiBi)
    )
    return judge_observed_biases(BiasUsage(encoding, factor), evidence)


def judge_observed_biases(usage: BiasUsage, evidence: ObservedBiases) -> Diagnosis:
    """Compare the bias that is meant with one that was observed."""
    compared = evidence.width()
    wrong = not_finite(evidence.numbers())
    if wrong is not None:
        return Diagnosis(False, (wrong,), compared=compared)
    read_off = evidence.reads_table_off(usage)
    # Where the table is read off, logits without any bias fit every table.
    if not evidence.fits(usage) or (read_off and evidence.fits(replace(usage, factor=0.0))):
        explanation = explain([usage], BIASES, evidence)
        if explanation is None:
            return Diagnosis(False, compared=compared, worst=(evidence.describe_worst(usage),))
        return Diagnosis(False, explanation.findings, compared=compared)
    if read_off:
        note = "the table was read off these numbers: they show its buckets alone; give table to check its values"
        return Diagnosis(True, notes=(note,), compared=compared)
    shifted = evidence.rows_shifted(usage)
    notes = ("rows differ by a number each, which no softmax sees",) if shifted else ()
    return Diagnosis(True, notes=notes, compared=compared)
