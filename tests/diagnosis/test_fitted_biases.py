"""Biases with parameters of their own for each head, named from their numbers alone; formulas are the tests' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from effort import calls_at_most
from posenc import ALiBi, T5Bias
from posenc.catalog import CATALOG
from posenc.core.doors import AttentionBias
from posenc.diagnosis import check_code, diagnose
from posenc.diagnosis.code.judge_bias_values import judge_bias_values
from posenc.diagnosis.code.observed_values import ProbedBias

N = 96
LATER = np.triu(np.ones((N, N), bool), 1)
GAP = np.abs(np.subtract.outer(np.arange(N), np.arange(N))).astype(float)
FORMS = {
    "both sides": lambda bias: bias,
    "masked": lambda bias: np.where(LATER, -np.inf, bias),
    "masked by a number": lambda bias: np.where(LATER, -3.4e38, bias),
    "later keys at distance 0": lambda bias: np.where(LATER, 0.0, bias),
    "a number for each row": lambda bias: bias + np.linspace(-3, 3, N)[:, None],
}


def own(heads: int, least: float, most: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(least, most, heads)[:, None, None]


def log(heads: int, seed: int = 0, gap: np.ndarray = GAP) -> np.ndarray:
    return -own(heads, 0.02, 2, seed) * np.log(1 + own(heads, 0.02, 1, seed + 99) * gap)


def power(heads: int, seed: int = 0, gap: np.ndarray = GAP) -> np.ndarray:
    return -own(heads, 0.02, 1, seed) * gap ** own(heads, 0.02, 1.6, seed + 99)


def sandwich(heads: int, dim: int = 96, base: float = 5000.0) -> np.ndarray:
    waves = np.cos(GAP[..., None] / base ** (np.arange(0, dim, 2) / dim)).sum(-1)
    return waves / (8 * np.arange(1, heads + 1) / heads)[:, None, None]


def bounded(heads: int) -> np.ndarray:
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)[:, None, None]
    return -np.minimum(0.7 * slopes * GAP, own(heads, 0.3, 4, 3))


def judged(bias: np.ndarray, dtype: Any = np.float32) -> Any:
    return judge_bias_values(ProbedBias(bias.astype(dtype).astype(float), np.dtype(dtype).name))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [log, power])
@pytest.mark.parametrize("heads", [8, 12])
def test_kerple_with_parameters_of_its_own_is_named(kind: Any, form: str, heads: int) -> None:
    for seed in range(heads // 4):
        report = judged(FORMS[form](kind(heads, seed)))
        name = {"log": "KerpleLog", "power": "KerplePower"}[kind.__name__]
        assert (report.right, report.convention) == (True, f"{name}(heads={heads})"), str(report)
        assert f"r1 {own(heads, 0.02, 2 if kind is log else 1, seed)[0, 0, 0]:.4g}" in str(report)


def test_other_kinds_with_numbers_of_their_own_are_named() -> None:
    assert judged(sandwich(12)).convention == "Sandwich(heads=12, dim=96, base=5000.0)"
    assert judged(bounded(12)).convention == "BoundedALiBi(heads=12, per_head=True)"
    assert judged(bounded(12)).right


def test_a_function_that_makes_kerple_is_named() -> None:
    def bias(heads: int, length: int) -> np.ndarray:
        return log(heads, 5, np.abs(np.subtract.outer(np.arange(length), np.arange(length))))

    report = check_code(bias)
    assert (report.right, report.exit_code, report.convention) == (True, 0, "KerpleLog(heads=8)")
    report = check_code(bias, against=ALiBi(8))
    assert [finding.name for finding in report.findings] == ["kind of bias"]


def test_the_doctor_names_the_kind_that_is_there() -> None:
    for meant in (ALiBi(12), T5Bias(12, bidirectional=False)):
        found = diagnose(meant, {"bias": log(12).astype(np.float32)})
        assert [finding.name for finding in found.findings] == ["kind of bias"], str(found)
        assert "KerpleLog(heads=12)" in str(found)


SLOPES = 2.0 ** (-8 * np.arange(1, 13) / 12)[:, None, None]
NO_KIND = {
    "a logarithm plus a sine": log(12) + 0.01 * np.sin(GAP),
    "a logarithm off by a thousandth": log(12) * (1 + 1e-3 * np.cos(GAP)),
    "one head of another kind": np.where(np.arange(12)[:, None, None] == 5, power(12), log(12)),
    "falls with the square root of a logarithm": -own(12, 0.1, 2, 1) * np.sqrt(np.log(1 + own(12, 0.1, 1, 2) * GAP)),
    "grows": -log(12),
    "steeper than any kernel": -own(12, 0.1, 1, 0) * GAP ** own(12, 2.1, 2.4, 1) * 1e-3,
    "slopes of its own": -own(12, 0.1, 1, 0) * GAP,
    "ALiBi over squared distances": -SLOPES * GAP**2 * 1e-2,
    "noise": np.random.default_rng(0).normal(size=(12, N, N)),
    "later keys off": np.where(LATER, 0.5 * log(12), log(12)),
}


@pytest.mark.parametrize("case", NO_KIND)
def test_what_is_no_kind_stays_unnamed(case: str) -> None:
    with calls_at_most():
        report = judged(NO_KIND[case])
    assert not report.right, str(report)
    assert report.findings == ()
    assert report.exit_code == 1


def test_an_unnamed_bias_says_which_kinds_were_tried_and_which_cannot_be() -> None:
    said = str(judged(NO_KIND["noise"]))
    for row in CATALOG:
        if issubclass(row.encoding, AttentionBias):
            assert row.name in said


def test_numbers_below_the_floor_of_the_authors_are_said_to_be() -> None:
    report = judged(np.where(np.arange(12)[:, None, None] == 5, 1e-3, 1.0) * log(12))
    assert (report.right, report.convention, [one.name for one in report.findings]) == (
        False, "KerpleLog(heads=12)", ["floor"])  # fmt: skip
    assert "in heads 5." in str(report)


@pytest.mark.parametrize(
    "bias", [-own(12, 0.1, 1, 0) * np.log1p(GAP), -own(12, 0.1, 1, 0) * GAP**0.7, log(1), power(1)]
)
def test_one_curve_for_all_heads_may_be_another_formula_and_is_no_all_clear(bias: np.ndarray) -> None:
    report = judged(bias)
    assert (report.right, report.exit_code, report.convention[:6]) == (False, 3, "Kerple"), str(report)


def test_the_rounding_of_sixteen_bits_names_no_line() -> None:
    """A line whose slopes are nobody's is not KERPLE, however coarse its numbers."""
    line = NO_KIND["slopes of its own"].astype(np.float32).view(np.uint32)
    bfloat16 = ((line + 0x7FFF + ((line >> 16) & 1)) & 0xFFFF0000).view(np.float32).astype(float)
    for values, dtype in ((bfloat16, "bfloat16"), (NO_KIND["slopes of its own"].astype(np.float16), "float16")):
        report = judge_bias_values(ProbedBias(values.astype(float), dtype))
        assert not report.right, str(report)


def test_a_published_bias_keeps_its_name_beside_the_fitted_kinds() -> None:
    assert judged(-(2.0 ** -np.arange(1, 9.0))[:, None, None] * GAP).convention == "ALiBi(heads=8)"
