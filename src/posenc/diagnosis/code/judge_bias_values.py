"""Judge biases by themselves: the published encoding that they are, or the mistake in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from posenc.core.doors import AttentionBias, Encoding
from posenc.core.text_lines import short
from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.fitted_biases import TRIED, FittedBias, fitted_bias
from posenc.diagnosis.bias.mistakes_bias import BIASES
from posenc.diagnosis.bias.observed_biases import MASKED, ObservedBiases
from posenc.diagnosis.code.biases_of_tensors import bias_of_tensors
from posenc.diagnosis.code.code_report import CodeReport, FirstBiasDifference, looked_at, measured
from posenc.diagnosis.code.observed_values import ProbedBias
from posenc.diagnosis.code.user_code import Tensor
from posenc.diagnosis.degenerate import degenerate
from posenc.diagnosis.rotation.comparison import ROUNDING
from posenc.diagnosis.search import explain
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias

#: What is meant, the table that it has learned, and the tensor that this is.
Candidate = tuple[ALiBi | T5Bias, np.ndarray | None, str]

READ_OFF = "Its table was read off its numbers, which show the buckets alone."
OF_DISTANCE = (
    "Every number depends on its head and distance alone, as a learned bias does: give the encoding that is meant."
)


def judge_bias_values(
    probed: ProbedBias, tensors: Sequence[Tensor] = (), *, against: Encoding | None = None
) -> CodeReport:
    """Name the bias that the numbers are, or the mistake in them.

    Args:
        probed: Biases that code returned.
        tensors: Tensors of the module, in which a table of T5 is looked for.
        against: The encoding that is meant, in place of the published ones.

    Raises:
        ValueError: `against` has no biases, or other heads.
    """
    candidates = _candidates(probed, tensors, against)
    broken = degenerate(probed.values, masked=True)
    if broken is not None:
        return _report(probed, *candidates[0][:2], findings=(broken,))
    fitting = _fitting(probed, candidates)
    if fitting is not None:
        (encoding, table, name), shifted = fitting
        notes = [f"Its own table, {name}, was read."] if name else []
        notes += [READ_OFF] if table is None and isinstance(encoding, T5Bias) else []
        notes += ["Rows differ from it by a number each, which no softmax sees."] if shifted else []
        return _report(probed, encoding, table, right=True, notes=tuple(notes))
    learned = bias_of_tensors(probed, tensors) if against is None else None
    if learned is not None:
        note = (f"Its own tensors, {', '.join(learned.tensors)}, were read.",) if learned.tensors else ()
        return CodeReport(
            True,
            "biases",
            short(learned.encoding),
            notes=note,
            compared=int(probed.values.size),
            **looked_at(np.arange(probed.values.shape[-1])),
        )
    fitted = fitted_bias(_evidence(probed, None))
    if fitted is not None and against is None and not fitted.of_one_formula:
        return _fitted_report(probed, fitted)
    for most in (1, 2):  # one mistake in any of them before two
        for encoding, table, _ in candidates:
            attempt = explain([BiasUsage(encoding)], BIASES, _evidence(probed, table), most)
            if attempt is not None:
                return _report(probed, encoding, table, findings=attempt.findings)
    return _unnamed(_report(probed, *candidates[0][:2]), probed, fitted, against)


def _unnamed(report: CodeReport, probed: ProbedBias, fitted: FittedBias | None, against: Encoding | None) -> CodeReport:
    """Report where no mistake explains the numbers: a fitted bias of another kind, or a note of what was tried."""
    if fitted is not None and isinstance(against, AttentionBias) and not fitted.of_one_formula:
        return replace(report, findings=(fitted.finding(against),))
    if against is not None:
        return report
    if fitted is not None and not fitted.bent_line and not fitted.below_floor:
        return _fitted_report(probed, fitted)
    notes = [f"{short(fitted.encoding)} gives them too, with one r2 for all heads. {fitted.line()}"] if fitted else []
    notes += [OF_DISTANCE] if _of_distance(probed) else []
    return replace(report, notes=(*report.notes, *notes, TRIED))


def _fitted_report(probed: ProbedBias, fitted: FittedBias) -> CodeReport:
    """Report on a fitted bias: right where every head has a curve of its own, only consistent where all share one."""
    report = CodeReport(
        not (fitted.below_floor or fitted.of_one_formula),
        "biases",
        short(fitted.encoding),
        largest_difference=fitted.largest,
        compared=int((probed.values > MASKED).sum()),
        **looked_at(np.arange(probed.values.shape[-1])),
    )
    if fitted.below_floor:
        return replace(report, findings=(fitted.floor(),))
    return replace(report, notes=(fitted.line(),), consistent=not report.right)


def _of_distance(probed: ProbedBias) -> bool:
    """Whether every number depends on head and distance alone."""
    first = probed.values[:, :-1, :-1]
    return bool(np.allclose(first, probed.values[:, 1:, 1:], rtol=1e-5, atol=1e-6))


def fitting_encoding(probed: ProbedBias, tensors: Sequence[Tensor] = ()) -> ALiBi | T5Bias | None:
    """The published encoding whose biases the numbers are; None where there is none."""
    fitting = _fitting(probed, _candidates(probed, tensors, None))
    return None if fitting is None else fitting[0][0]


def _fitting(probed: ProbedBias, candidates: Sequence[Candidate]) -> tuple[Candidate, bool] | None:
    """First candidate whose biases the numbers are, and whether rows differ from it by a constant each; else None."""
    for candidate in candidates:
        evidence, usage = _evidence(probed, candidate[1]), BiasUsage(candidate[0])
        if evidence.fits(usage):
            return candidate, evidence.rows_shifted(usage)
    return None


def _candidates(probed: ProbedBias, tensors: Sequence[Tensor], against: Encoding | None) -> list[Candidate]:
    """Encodings that may be meant, the likeliest first."""
    tables = [(tensor, table) for tensor in tensors for table in _tables(tensor, probed.heads)]
    if against is None:
        directions = [(*each, bidirectional) for each in tables for bidirectional in (True, False)]
        t5 = [
            (T5Bias(probed.heads, buckets=len(table), bidirectional=both), table, tensor.name)
            for tensor, table, both in directions
            if len(table) % 2 == 0 and len(table) >= 4
        ]
        alibi: list[ALiBi | T5Bias] = [ALiBi(probed.heads), ALiBi(probed.heads, form="signed")]
        read_off = [] if t5 else [T5Bias(probed.heads, bidirectional=both) for both in (True, False)]
        return [*t5, *((encoding, None, "") for encoding in (*alibi, *read_off))]
    if not isinstance(against, AttentionBias) or against.heads != probed.heads:
        raise ValueError(
            f"against must be an encoding that biases the logits of {probed.heads} heads; got {against!r:.100}. Give "
            "the encoding that the code implements."
        )
    if not isinstance(against, ALiBi | T5Bias):
        raise ValueError(
            f"against must be ALiBi or T5Bias for a bias; got {against!r:.100}. Write its class as an encoding."
        )
    if isinstance(against, ALiBi):
        return [(against, None, "")]
    fitting = [(against, table, tensor.name) for tensor, table in tables if table.shape == against.shapes["table"]]
    return list(fitting) or [(against, None, "")]


def _tables(tensor: Tensor, heads: int) -> Iterator[np.ndarray]:
    """Tensor as (buckets, heads), if it may be T5's table."""
    if tensor.values is not None and len(tensor.shape) == 2 and heads in tensor.shape:
        yield tensor.values if tensor.shape[1] == heads else tensor.values.T


def _evidence(probed: ProbedBias, table: np.ndarray | None) -> ObservedBiases:
    position = np.arange(probed.values.shape[-1])
    largest = np.where(probed.values > MASKED, np.abs(probed.values), 0.0).max(-1, keepdims=True)
    rounding = max(ROUNDING.get(probed.dtype, 0.0), ROUNDING["float32"])
    tolerance = np.broadcast_to(rounding * largest + 1e-6, probed.values.shape)
    product = np.broadcast_to(0.0, probed.values.shape)
    return ObservedBiases(probed.values, product, position, position, tolerance, table, causal=False, head_dim=None)


def _report(
    probed: ProbedBias, encoding: ALiBi | T5Bias, table: np.ndarray | None, right: bool = False, **rest: object
) -> CodeReport:
    position = np.arange(probed.values.shape[-1])
    report = CodeReport(right, "biases", short(encoding), **looked_at(position), **rest)  # type: ignore[arg-type]
    if table is None and isinstance(encoding, T5Bias):  # its table was read off the numbers
        return report
    expected = BiasUsage(encoding).biases(position, position, table)
    visible = probed.values > MASKED
    numbers = measured(
        expected,
        np.where(visible, probed.values, expected),
        1e-5 * (1 + np.abs(expected)),
        lambda index, *numbers: FirstBiasDifference(*index, *numbers),
    )
    numbers |= {"compared": int(visible.sum())} | ({"first_difference": None} if right else {})
    return replace(report, **numbers)
