"""True or false: each answer opens the finding of `posenc.lab.claims`."""

import pytest

from posenc.explorer.lesson.lesson_page import lesson_page
from posenc.explorer.lesson.quiz import quiz

pytestmark = pytest.mark.browser
ANSWERS = {"supported": "True", "contradicted": "False", "undecided": "Not decided"}


def test_each_answer_opens_its_evidence_and_is_counted(watched, tmp_path, lesson_numbers):
    path = tmp_path / "quiz.html"
    path.write_text(lesson_page(lesson_numbers, ""), encoding="utf-8")
    view = watched().open(path.as_uri()).locator("#view-quiz")
    view.scroll_into_view_if_needed()
    view.locator(".statement").first.wait_for()
    for asked, item in zip(quiz(), view.locator(".statement").all(), strict=True):
        wrong = next(answer for verdict, answer in ANSWERS.items() if verdict != asked["verdict"])
        assert not item.locator(".evidence").is_visible()
        item.get_by_label(wrong, exact=True).check()
        assert item.locator(".evidence").inner_text().startswith("Not this time.")
        item.get_by_label(ANSWERS[asked["verdict"]], exact=True).check()
        shown = item.locator(".evidence").inner_text()
        assert shown.startswith("Right.")
        assert asked["note"] in shown
        assert all(figure in shown for figure in asked["figures"])
    assert view.locator(".score").inner_text() == f"{len(quiz())} of {len(quiz())} right."


def test_the_statements_have_every_verdict_and_no_other():
    verdicts = [asked["verdict"] for asked in quiz()]
    assert set(verdicts) == set(ANSWERS)
    assert max(verdicts.count(verdict) for verdict in ANSWERS) <= len(verdicts) / 2
