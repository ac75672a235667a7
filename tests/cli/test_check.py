"""The student check: right answers are recognised, planted mistakes named, unknown ones said to be unknown."""

from __future__ import annotations

import pytest

from diagnosis import students


@pytest.mark.parametrize("name", students.RIGHT)
def test_right_answers_are_recognised(student, name):
    code, record = students.RIGHT[name]
    ran = student(code, "--json")
    assert (ran.code, ran.data["right"], ran.data["convention"]) == (0, True, record), ran


@pytest.mark.parametrize("name", students.WRONG)
def test_planted_mistakes_are_named(student, name):
    code, mistakes = students.WRONG[name]
    ran = student(code, "--json")
    assert (ran.code, [mistake["name"] for mistake in ran.data["findings"]]) == (1, mistakes), ran


@pytest.mark.parametrize("name", students.UNKNOWN)
def test_what_no_mistake_explains_is_said_to_be_so(student, name):
    ran = student(students.UNKNOWN[name])
    assert ran.code == 1
    assert "none of the known mistakes explains it" in ran.out
    assert "first differs   position " in ran.out
    assert "expected" in ran.out
    assert "received" in ran.out


def test_the_answer_in_words(student):
    ran = student(students.WRONG["frequencies repeated, half rotation"][0])
    assert ran.code == 1
    assert "Frequencies right, pairs mixed" in ran.out
    assert "What to do: " in ran.out
    assert "compared with   RoPE(dim=16, pairing='halves')" in ran.out
    assert student(students.RIGHT["vectorised"][0]).out.startswith("right\nIt is Sinusoidal(dim=16).\n")


def test_the_article_s_start_is_named(student):
    ran = student(students.RIGHT["the article's rotation matrices"][0])
    assert ran.code == 0
    assert "Positions start at 1, as in the article's rotary code" in ran.out


def test_another_base_is_a_mistake_unless_it_is_meant(student):
    code = students.WRONG["base 1000"][0]
    assert "if this one is meant, say so with --base 1000." in student(code).out
    assert student(code, "--base", "1000").code == 0


def test_a_record_that_is_meant(student):
    code = students.WRONG["exponent i/d"][0]
    assert student(code, "--against", "Sinusoidal(dim=8, exponent='i/d')").code == 0
    ran = student(students.RIGHT["vectorised"][0], "--against", "Sinusoidal(dim=8, start=1)")
    assert (ran.code, "Positions start at -1." in ran.out) == (1, True)
    assert student(code, "--against", "ALiBi(heads=8)").err.startswith(
        "posenc check: against must be a record that adds or rotates"
    )


def test_the_layout_that_is_meant(student):
    code = students.RIGHT["module, sequence first"][0]
    assert student(code, "--layout", "sequence-first").code == 0
    ran = student(code, "--layout", "batch-first", "--json")
    assert (ran.code, [one["name"] for one in ran.data["findings"]]) == (1, ["batch and position mixed"])
    assert "layout must be one of" in student(code, "--layout", "upside-down").err


def test_a_table_that_ends_with_an_error_is_told_not_blamed(student):
    ran = student(students.RIGHT["plain class"][0])
    assert ran.code == 0
    assert "Beyond position 599 it refuses: ValueError." in ran.out


def test_a_record_of_one_s_own_meets_the_conformance_suite(student):
    base = "from dataclasses import dataclass\nfrom posenc import NoPE\n"
    right = student(base + "mine = NoPE(dim=4)\n", "--json")
    assert (right.code, right.data["right"], right.data["record"]) == (0, True, "NoPE(dim=4)")
    code = (
        base + "@dataclass(frozen=True)\nclass mine(NoPE):\n    def embed(self, *a, **k):\n        return 1 + "
        "super().embed(*a, **k)\n"
    )
    wrong = student(code, "--dim", "4")
    assert wrong.code == 1
    assert "failed   " in wrong.out
