"""Whether arrays show the bias of distance that is meant, and which mistake it is if not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import AttentionBias
from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.fitted_biases import fitted_bias
from posenc.diagnosis.bias.mistakes_bias import BIASES
from posenc.diagnosis.bias.observed_biases import ObservedBiases, observed_biases
from posenc.diagnosis.degenerate import not_finite
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.named_arrays import named_arrays, on_host
from posenc.diagnosis.position_fields import shown_by
from posenc.diagnosis.search import explain
from posenc.diagnosis.verdict import Diagnosis
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.inspect.rounding import NARROW_TYPES
from posenc.models.model_positions import LayerGroup

SAME_CONFIG = "Build the model from the config that is meant: these numbers decide slopes, or buckets of distance."
ROUNDED_BIAS = "the bias is rounded to {}, as the model's vectors are: far from the query neighbours share one number"


def judge_biases(
    groups: tuple[LayerGroup, ...], arrays: Mapping[str, Any], is_model: bool, in_model: bool = False
) -> Diagnosis:
    """Compare the bias in these groups with arrays.

    Args:
        groups: Layers whose bias is meant.
        arrays: The bias by name.
        is_model: Whether the groups were read from a config.
        in_model: Whether a running model showed the arrays, in the type that its vectors have.
    """
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
    verdict = _judge(encoding, factor, logit_factor, arrays, is_model, in_model)
    return replace(verdict, looked_at=looked_at)


def _judge(
    encoding: ALiBi | T5Bias,
    factor: float,
    logit_factor: float,
    arrays: Mapping[str, Any],
    is_model: bool,
    in_model: bool,
) -> Diagnosis:
    # Models with ALiBi mask later keys, whatever their code writes there.
    named, causal = named_arrays(arrays), is_model and isinstance(encoding, ALiBi)
    usage, evidence = BiasUsage(encoding, factor), observed_biases(named, encoding, logit_factor, causal)
    dtype = on_host(arrays["bias"]).dtype if in_model else "float32"  # not that of numbers which happen to be round
    if dtype in NARROW_TYPES and not evidence.fits(usage):
        rounded = observed_biases(named, encoding, logit_factor, causal, as_stored=True)
        if rounded.fits(usage):
            return Diagnosis(True, notes=(ROUNDED_BIAS.format(dtype),), compared=evidence.width())
    return judge_observed_biases(usage, evidence)


def other_sizes(groups: tuple[LayerGroup, ...], arrays: Mapping[str, Any]) -> Diagnosis | None:
    """Verdict on a running model whose bias has other numbers of heads or buckets; None where it has those meant."""
    encoding = next(one for group in groups for one in group.encodings if isinstance(one, AttentionBias))
    shapes = {name: array.values.shape for name, array in named_arrays(arrays).items()}
    bias, table = shapes.get("bias", ()), shapes.get("table", ())
    meant = {"heads": getattr(encoding, "heads", None), "buckets": getattr(encoding, "buckets", None)}
    found = {"heads": bias[-3] if len(bias) > 2 else None, "buckets": table[0] if len(table) == 2 else None}
    findings = tuple(
        Finding(f"{name} of the bias", f"The bias has {found[name]} {name} where {meant[name]} are meant.", SAME_CONFIG)
        for name in meant
        if None not in (meant[name], found[name]) and meant[name] != found[name]
    )
    looked_at = shown_by("bias")
    return Diagnosis(False, findings, compared="the shape of the bias", looked_at=looked_at) if findings else None


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
            fitted = fitted_bias(evidence)
            if fitted is not None and not fitted.of_one_formula:
                return Diagnosis(False, (fitted.finding(usage.encoding),), compared=compared)
            return Diagnosis(False, compared=compared, worst=(evidence.describe_worst(usage),))
        return Diagnosis(False, explanation.findings, compared=compared)
    if read_off:
        note = "the table was read off these numbers: they show its buckets alone; give table to check its values"
        return Diagnosis(True, notes=(note,), compared=compared)
    shifted = evidence.rows_shifted(usage)
    notes = ("rows differ by a number each, which no softmax sees",) if shifted else ()
    return Diagnosis(True, notes=notes, compared=compared)
