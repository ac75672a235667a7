"""Exercises, quick checks and the practice question of the sources, with the right answers and their grading."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posenc.core import validation
from posenc.core.text_lines import number
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.learn.course.errata import ERRATA

#: How far an answer may be off: two decimals, rounded or cut off. Two such numbers added may be off twice as far.
TWO_DECIMALS = 0.005
_PRACTICE = (5120, 1088, 0.488814)
#: What a grade of words begins its answer with.
BY_WORDS = "Graded by key words; compare it with this answer:"
BOOK = (0.02, 0.15, 0.31, 0.08, -0.26, 0.21, -0.58, 1.12, -0.38, -0.91, 0.52, 0.87, -0.17, 0.73, -0.38, 0.18)


@dataclass(frozen=True)
class Question:
    """A question of a source.

    Args:
        name: Name on the command line.
        source: The source that asks.
        asks: The question.
        kind: Kind of the answer; "words" are graded by their ideas.
        answer: The right answer in words.
        ideas: What an answer in words has to say, each as a name and a pattern; the first that is found suffices.
        numbers: Computes the right numbers.
        tolerance: How far a number may be off.
        note: A number that the source prints otherwise.
    """

    name: str
    source: str
    asks: str
    kind: Literal["number", "numbers", "position", "function", "words"]
    answer: str = ""
    numbers: Callable[[], tuple[float, ...]] | None = None
    tolerance: float = TWO_DECIMALS
    note: str = ""
    ideas: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Grade:
    """Grade of an answer.

    Attributes:
        right: Whether it is right.
        lines: Lines for the reader.
    """

    right: bool
    lines: tuple[str, ...]


def _row_at(encoding: Sinusoidal | DivisorPairs, position: int) -> tuple[float, ...]:
    return tuple(float(value) for value in encoding.embed([position])[0])


def _rotated(position: int, *vector: float) -> tuple[float, ...]:
    rotation = RoPE(dim=len(vector)).rotation([position], dtype=np.float64)
    return tuple(float(value) for value in np.asarray(rotation(np.array([vector])))[0])


#: Ways to say that a place is unknown, and that an order is; patterns that Python and a browser read alike.
_PLACE = "(?:position|order|sequence|where|place|first|index)"
_LACKS = "(?:no|not|without|lacks?|nothing|never|cannot|can't|doesn't|does not|ignores?|blind to|unaware of|missing)"


QUESTIONS: tuple[Question, ...] = (
    Question(
        "lecture-d4", "the lecture", "PE at position 3 for d = 4: the four numbers.", "numbers",
        numbers=lambda: _row_at(Sinusoidal(dim=4), 3), note="The lecture prints -0.9899 for cos 3 = -0.98999.",
    ),
    Question(
        "lecture-d8", "the lecture", "PE at position 3 for d = 8: the eight numbers.", "numbers",
        numbers=lambda: _row_at(Sinusoidal(dim=8), 3),
    ),
    Question(
        "article-rotary", "the article",
        "Write the efficient form of the rotary encoding: a function of x and positions.", "function",
        "(a, b) becomes (a cos - b sin, a sin + b cos) in every pair, at the angle position · 10000^(-2i/d).",
    ),
    Question(
        "article-rotated", "the article",
        "Rotary with d = 4, n = 10000, neighbours paired: rotate (1, 0, 1, 0) to position 3. The four numbers.",
        "numbers", numbers=lambda: _rotated(3, 1.0, 0.0, 1.0, 0.0),
    ),
    Question(
        "article-angle", "the article",
        "The same rotary: by how many radians does the second pair turn from position 0 to position 50?",
        "number", numbers=lambda: (50 * 10_000.0**-0.5,),
    ),
    Question(
        "article-relative", "the article",
        "q = k = (1, 0), d = 2: the product (R_m q)·(R_n k) for m = 5 and n = 3, and for m = 105 and n = 103.",
        "numbers", numbers=lambda: (math.cos(2), math.cos(2)), note="Only m - n = 2 counts: both are cos 2.",
    ),
    Question(
        "article-norm", "the article", "The length of (3, 4) after its rotation to position 99.", "number",
        numbers=lambda: (math.hypot(*_rotated(99, 3.0, 4.0)),), note="A rotation keeps every length.",
    ),
    Question(
        "article-slices", "the article",
        "The article's matrices count positions from 1: by which positions do its slices 0, 50 and 99 rotate?",
        "numbers", numbers=lambda: (1.0, 51.0, 100.0), note="The article calls them positions 0, 50 and 99.",
    ),
    Question(
        "lesson-1", "the lesson", "Why can self-attention alone not tell the order of words?", "words",
        "It compares every word with every word, and nothing in that says where a word stands. See: "
        'posenc explain "Dog bites man" --versus "Man bites dog"',
        ideas=(
            ("that nothing in it says where a word stands", rf"\b{_LACKS}\b.*{_PLACE}|{_PLACE}.*\b{_LACKS}\b"),
            ("that it sees a set", r"\b(?:sets?|bags?)\b|permut|(?:in|equi)varian|unordered|order-?less"),
        ),
    ),
    Question(
        "lesson-2", "the lesson", "What do sinusoidal encodings have over learned ones?", "words",
        "They are defined at every position, also beyond the lengths seen in training; whether a model then does well "
        "there is another matter.",
        ideas=(
            (
                "that they are defined at every position, beyond the lengths of training too",
                r"longer\b|beyond|unseen|not (?:\w+ )?seen|never (?:\w+ )?seen|any (?:length|position)|generali[sz]e|"
                r"extrapolat|every position|all positions|arbitrary|unlimited|infinite|no (?:maximum|limit)",
            ),
            (
                "that they have no parameters",
                r"(?:no|without|fewer|zero) (?:\w+ )?(?:parameters?|training|weights)|deterministic|parameter-free",
            ),
        ),
    ),
    Question(
        "lesson-check", "the lesson", "Are positional encodings learned or fixed?", "words",
        "There are both: sinusoidal ones are fixed, those of BERT and GPT-2 are learned.",
        ideas=(
            (
                "that there are both",
                r"\bboth\b|\beither\b|\bdepends\b|(?:learn|train).*\b(?:fixed|sinus)|\b(?:fixed|sinus).*(?:learn|train)",
            ),
        ),
    ),
    Question(
        "notes-cosines", "the notes", "The two cosines that are left blank: cos 3 and cos 4.", "numbers",
        numbers=lambda: (math.cos(3), math.cos(4)),
    ),
    Question(
        "notes-sines", "the notes", "One sine for four words: sin 1, sin 2, sin 3, sin 4.", "numbers",
        numbers=lambda: tuple(math.sin(k) for k in (1, 2, 3, 4)),
        note="The notes print 0.87 (and 0.71) for sin 2, 0.19 for sin 3 and -0.90 for sin 4.",
    ),
    Question(
        "notes-bank", "the notes", 'Pairs with divisors 1, 2, 3: the six numbers of "Bank", at position 2.', "numbers",
        numbers=lambda: _row_at(DivisorPairs(), 2),
    ),
    Question(
        "notes-river-bank", "the notes", 'PE of "bank" at position 1 for d = 6: the six numbers.', "numbers",
        numbers=lambda: _row_at(Sinusoidal(dim=6), 1),
        note="The notes print 0.94 for the first, 0.04 for the third, 0.99 for the fourth and the last.",
    ),
    Question(
        "chapter-book", "the chapter", 'PE of "book" at k = 2 for d = 16, n = 100: the sixteen numbers.', "numbers",
        numbers=lambda: _row_at(Sinusoidal(dim=16, base=100.0), 2), note="The chapter prints 0.41 for the fourth.",
    ),
    Question(
        "chapter-sum", "the chapter", 'The sum of the embedding of "book" and its encoding: the sixteen numbers.',
        "numbers",
        numbers=lambda: tuple(e + p for e, p in zip(BOOK, _row_at(Sinusoidal(dim=16, base=100.0), 2), strict=True)),
        tolerance=2 * TWO_DECIMALS + 1e-9, note="The chapter's sum goes wrong from the third number on.",
    ),
    Question(
        "chapter-085", "the chapter", "The position whose dimension 3 is 0.85, for d = 16, n = 100.", "number",
        numbers=lambda: (1.0,), tolerance=0.02,
        note='0.85 stands in the row of "the", k = 1, not of "book"; solved for, it gives k = 0.987.',
    ),
    Question(
        "chapter-binary", "the chapter", "150 in eight bits.", "number", numbers=lambda: (float(f"{150:b}"),),
    ),
    Question(
        "chapter-position", "the chapter", "The position k whose dimension 1088 is 0.488814, for d = 5120, n = 10000.",
        "position",
    ),
)  # fmt: skip


def question(name: str) -> Question:
    """Look up a question by its name, or raise ValueError."""
    validation.choice("question", name, [one.name for one in QUESTIONS])
    return next(one for one in QUESTIONS if one.name == name)


def grade(asked: Question, answer: str) -> Grade:
    """Grade an answer; ValueError where it is not of the kind that is asked for.

    Example:
        >>> grade(question("notes-cosines"), "-0.99 -0.65").right
        True
    """
    if asked.kind == "words":
        return _graded_words(asked, answer)
    if asked.kind == "function":
        raise ValueError(
            f"answer must be FILE.py:NAME for {asked.name}; got {answer!r}. Write the function and name it."
        )
    answers = _read_numbers(answer)
    if asked.kind == "position":
        return _graded_position(answers)
    expected = asked.numbers() if asked.numbers is not None else ()
    if len(answers) != len(expected):
        raise ValueError(
            f"answer must be {len(expected)} numbers for {asked.name}; got {len(answers)}. "
            "Write them with spaces between."
        )
    wrong = [
        f"number {index + 1}: {number(got)} was given, {number(right)} is right"
        for index, (got, right) in enumerate(zip(answers, expected, strict=True))
        if not abs(got - right) <= asked.tolerance
    ]
    note = (asked.note,) if asked.note else ()
    return Grade(not wrong, ("Right.", *note) if not wrong else (*wrong, *note))


def _graded_words(asked: Question, answer: str) -> Grade:
    """Grade of an answer in words, by the first idea that its key words express."""
    said = next((name for name, pattern in asked.ideas if re.search(pattern, answer, re.IGNORECASE)), None)
    if said is not None:
        return Grade(True, (f"Right: it says {said}.", f"{BY_WORDS} {asked.answer}"))
    wanted = ", or ".join(name for name, _ in asked.ideas)
    return Grade(False, (f"Not yet: it does not say {wanted}.", f"{BY_WORDS} {asked.answer}"))


def _read_numbers(answer: str) -> tuple[float, ...]:
    words = [word for word in re.split(r"[\s,;\[\]()]+", answer) if word]
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        raise ValueError(f"answer must be numbers; got {answer!r}. Write 0.1411 -0.99, say.") from None
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"answer must be finite numbers; got {answer!r}. Write 0.1411 -0.99, say.")
    return numbers


def _graded_position(answers: tuple[float, ...]) -> Grade:
    """Grade the practice question's position under the printed exponent 2i/d and under i/d, which the source used."""
    if len(answers) != 1 or not answers[0].is_integer() or not 0 <= answers[0] <= 2**53:
        raise ValueError("answer must be one position, a whole number from 0. Write 7, say.")
    k, (dim, dimension, value) = int(answers[0]), _PRACTICE
    lines, fits = [], []
    for exponent, name in (("2i/d", "the formula as printed"), ("i/d", "half the exponent")):
        encoding = Sinusoidal(dim=dim, exponent=exponent)  # type: ignore[arg-type]
        at = float(encoding.embed([k])[0, dimension])
        fit = abs(at - value) <= 1e-6
        fits.append(fit)
        lines.append(f"exponent {exponent} ({name}): k = {k:,} gives {at:.6f}; {'fits' if fit else 'does not fit'}")
    erratum = next(entry.line() for entry in ERRATA if entry.read == (dimension, value))
    right = "formula as printed" if fits[0] else "exponent i/d, which is what the chapter computed"
    verdict = f"Right under the {right}." if any(fits) else "Wrong under either formula."
    return Grade(any(fits), (verdict, *lines, erratum))
