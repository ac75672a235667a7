"""What comes of every field report, held against the ledger; and that the page says what the ledger says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from field_reports.cases import README, REPORTS, ledger
from field_reports.judge import OF_HARMLESS, OF_MISTAKES, judge, names
from field_reports.misses import MISSES
from field_reports.report import Report
from field_reports.write import page

#: Those that `make test` runs: quick, and right.
QUICK = {
    "another_declared_length_of_plain_rotations",
    "base_written_into_a_module_of_ones_own",
    "every_frequency_once",
    "explicit_attention_factor_ignored",
    "extended_length_taken_for_the_trained_one",
    "frequencies_in_an_old_checkpoint_of_another_base",
    "layers_without_rotation_inverted",
    "linear_factor_of_gemma_3_in_local_layers_too",
    "no_freq_base_in_the_file",
    "one_series_of_slopes_for_12_heads",
    "rotary_dim_of_minimax_dropped",
    "scaling_factor_of_the_command_line_not_passed_on",
    "stock_bloom_bias_by_keys",
    "table_of_opt_with_two_rows_more",
    "the_same_in_the_spelling_of_transformers_5",
    "theta_of_a_v5_file_overwritten_by_a_v4_default",
    "type_and_rope_type_side_by_side",
}


def cases() -> list[object]:
    night = pytest.mark.nightly
    return [pytest.param(one, id=one.name, marks=() if one.name in QUICK else night) for one in REPORTS]


@pytest.mark.parametrize("report", cases())
def test_the_ledger_says_what_comes_of_it(report: Report, tmp_path: Path):
    verdict, written = judge(report, tmp_path), ledger()[report.name]["outcome"]
    assert verdict.outcome == written, (
        f"{verdict.message}\n\nIf this is intended, run python -m field_reports.write {report.name}"
    )


def test_the_page_says_what_the_ledger_says():
    held = ledger()
    assert list(held) == [report.name for report in REPORTS], "run python -m field_reports.write"
    assert README.read_text(encoding="utf-8") == page({name: one["outcome"] for name, one in held.items()})


def test_each_miss_is_argued_and_nothing_else():
    right = {OF_MISTAKES[0], OF_HARMLESS[0]}
    assert set(MISSES) == {name for name, one in ledger().items() if one["outcome"] not in right}


def test_no_harmless_difference_is_flagged_and_nearly_every_mistake_is_named():
    held = ledger()
    mistakes = [held[one.name]["outcome"] for one in REPORTS if not one.is_harmless]
    assert "flagged" not in {one["outcome"] for one in held.values()}
    assert mistakes.count("named") >= 0.95 * len(mistakes)


def test_reports_are_many_distinct_and_cited():
    assert len({report.name for report in REPORTS}) == len(REPORTS)
    assert sum(not report.is_harmless for report in REPORTS) >= 60
    assert sum(report.is_harmless for report in REPORTS) >= 20
    for report in REPORTS:
        assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", thread) for thread in report.threads), report.name


def test_what_runs_in_make_test_is_right():
    held = ledger()
    assert {held[name]["outcome"] for name in QUICK} == {OF_MISTAKES[0], OF_HARMLESS[0]}


def test_a_mistake_is_named_where_each_is_found_and_nothing_else():
    two = (frozenset({"base"}), frozenset({"scaling"}))
    assert names(two, ["base: The base is 1.", "scaling ignored: No scaling."])
    assert not names(two, ["base: The base is 1."])
    assert not names(two[:1], ["base: The base is 1.", "sign: The sign is wrong."])
