"""Mission row 21: exercises, quick checks and the practice question; a student's mistake is named."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from diagnosis import students
from posenc.cli import main
from posenc.learn.course.questions import QUESTIONS, grade, question

#: The right answers, from the formulas by a calculator, to the digits that the sources would print.
ANSWERS = {
    "lecture-d4": "0.1411 -0.98999 0.0300 0.99955",
    "lecture-d8": "0.1411 -0.9900 0.2955 0.9553 0.0300 0.9996 0.0030 1.0000",
    "article-rotated": "-0.98999 0.1411 0.99955 0.0300",
    "article-angle": "0.5",
    "article-relative": "-0.4161 -0.4161",
    "article-norm": "5",
    "article-slices": "1 51 100",
    "notes-cosines": "-0.9900, -0.6536",
    "notes-sines": "0.8415 0.9093 0.1411 -0.7568",
    "notes-bank": "0.9093 -0.4161 0.8415 0.5403 0.6184 0.7859",
    "notes-river-bank": "0.8415 0.5403 0.0464 0.9989 0.0022 1.0000",
    "chapter-book": "0.91 -0.42 0.90 0.43 0.59 0.81 0.35 0.94 0.20 0.98 0.11 0.99 0.06 1.00 0.04 1.00",
    "chapter-sum": "[0.93,-0.27,1.21,0.51,0.33,1.02,-0.23,2.06,-0.18,0.07,0.63,1.86,-0.11,1.73,-0.34,1.18]",
    "chapter-085": "1",
    "chapter-binary": "10010110",
    "chapter-position": "7",
}
#: What the sources print and is wrong.
PRINTED = {
    "article-slices": "0 50 99",
    "notes-sines": "0.84 0.87 0.19 -0.90",
    "notes-river-bank": "0.94 0.54 0.04 0.99 0.00 0.99",
    "chapter-book": "0.91 -0.42 0.90 0.41 0.59 0.81 0.35 0.94 0.20 0.98 0.11 0.99 0.06 1.00 0.04 1.00",
    "chapter-sum": "0.93 -0.27 -0.59 -0.33 -0.85 -0.6 -0.93 0.18 -0.58 -1.89 0.41 -0.12 -0.23 -0.27 -0.42 -0.82",
    "chapter-085": "2",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers(name):
    assert grade(question(name), ANSWERS[name]).right is True


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_wrongly_is_graded_wrong_and_told(name):
    result = grade(question(name), PRINTED[name])
    assert result.right is False
    assert question(name).note in result.lines


#: Answers of the sources, of posenc and of readers, and answers that miss the point.
IN_WORDS = {
    "lesson-1": (
        "Because self-attention has no inherent notion of token position.",
        "It sees a set",
        "attention is permutation equivariant",
        "the order isn't there: nothing tells it",
    ),
    "lesson-2": (
        "They generalize to sequence lengths not seen during training.",
        "no parameters to train",
        "defined for any position",
    ),
    "lesson-check": (
        "They can be either fixed (sinusoidal) or learned.",
        "both",
        "BERT learns them, Vaswani's are fixed",
    ),
}
WRONG_WORDS = {
    "lesson-1": ("because", "It is too slow.", "because the words are embedded"),
    "lesson-2": ("They are prettier.", "They are faster to write"),
    "lesson-check": ("learned", "fixed", "They are added."),
}


@pytest.mark.parametrize("name", IN_WORDS)
def test_answers_in_words_are_graded_by_their_ideas(name):
    asked = question(name)
    for answer in (*IN_WORDS[name], asked.answer):
        assert grade(asked, answer).right, answer
    for answer in ("", *WRONG_WORDS[name]):
        graded = grade(asked, answer)
        assert not graded.right, answer
        assert graded.lines[0].startswith("Not yet: it does not say that")
        assert asked.answer in graded.lines[1]


def test_every_source_with_questions_and_every_question_with_an_answer():
    assert {one.source for one in QUESTIONS} == {"the lecture", "the article", "the lesson", "the notes", "the chapter"}
    assert {one.name for one in QUESTIONS if one.kind not in ("words", "function")} == set(ANSWERS)
    assert all(one.answer for one in QUESTIONS if one.kind in ("words", "function"))
    assert {one.name for one in QUESTIONS if one.ideas} == {one.name for one in QUESTIONS if one.kind == "words"}
    assert len({one.name for one in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize(
    ("k", "right", "under"),
    [(7, True, "i/d"), (60_676, True, "i/d"), (929_505, True, "the formula as printed"), (8, False, "either")],
)
def test_the_practice_question_is_graded_for_each_convention(k, right, under):
    result = grade(question("chapter-position"), str(k))
    assert result.right is right
    assert under in result.lines[0]
    told = " ".join(result.lines)
    assert "0.835354" in told
    assert "929,505" in told
    if k == 7:
        assert f"k = 7 gives {math.sin(7 / 10_000 ** (1088 / 5120)):.6f}; does not fit" in told
        assert f"k = 7 gives {math.sin(7 / 10_000 ** (544 / 5120)):.6f}; fits" in told


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("lecture-d4", "1 2 3", "answer must be 4 numbers for lecture-d4; got 3"),
        ("lecture-d4", "one two", "answer must be numbers; got 'one two'"),
        ("lecture-d4", "nan 1 1 1", "answer must be finite numbers"),
        ("chapter-position", "7.5", "answer must be one position, a whole number from 0"),
        ("article-rotary", "7", "answer must be FILE.py:NAME for article-rotary; got '7'"),
    ],
)
def test_answers_of_the_wrong_kind(name, answer, says):
    with pytest.raises(ValueError, match=says):
        grade(question(name), answer)


def test_on_the_command_line(capsys):
    assert main(["check", "--questions"]) == 0
    listed = capsys.readouterr().out
    assert all(one.name in listed for one in QUESTIONS)
    assert main(["check", "--question", "chapter-position", "--answer", "7"]) == 0
    assert "exponent i/d" in capsys.readouterr().out
    assert main(["check", "--question", "chapter-position", "--answer", "8"]) == 1
    assert main(["check", "--question", "lesson-1", "--answer", "because"]) == 1
    assert "Graded by key words" in capsys.readouterr().out
    assert main(["check", "--question", "lesson-1", "--answer", "It sees a bag of words."]) == 0


def test_the_exercise_of_the_article(capsys, tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(students.RIGHT["rotary, adjacent"][0])
    assert main(["check", "--question", "article-rotary", "--answer", f"{path}:mine"]) == 0
    path.write_text(students.WRONG["minus missing"][0])
    assert main(["check", "--question", "article-rotary", "--answer", f"{path}:mine"]) == 1
    assert "mistake: minus missing" in capsys.readouterr().out
    path.write_text(students.RIGHT["vectorised"][0])
    assert main(["check", "--question", "article-rotary", "--answer", f"{path}:mine"]) == 1
    assert "a rotation is asked for" in capsys.readouterr().out


def test_frequencies_right_pairs_mixed(capsys, tmp_path: Path):
    path = tmp_path / "mine.py"
    path.write_text(students.WRONG["frequencies repeated, half rotation"][0])
    assert main(["check", f"{path}:mine"]) == 1
    assert "Frequencies right, pairs mixed" in capsys.readouterr().out
