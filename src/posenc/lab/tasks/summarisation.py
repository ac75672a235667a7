"""Summarisation in small: what matters of each marked sentence, in the order of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.lab.tasks.task import TaskRow
from posenc.lab.tasks.written import Written

NOUNS, VERBS, DETAILS = 24, 12, 24
NOUN, VERB, DETAIL = 2, 2 + NOUNS, 2 + NOUNS + VERBS
MARK, STOP = DETAIL + DETAILS, DETAIL + DETAILS + 1


@dataclass(frozen=True)
class Summarisation(Written):
    """A text of sentences "noun verb details stop", some with a mark after their noun; the summary is the noun and the verb of each marked one, in order.

    One to four details a sentence; length counts sentences, of which the first is always marked and half of the others
    are.
    """

    @property
    def words(self) -> Sequence[str]:
        kinds = [("noun", NOUNS), ("verb", VERBS), ("detail", DETAILS)]
        return ["begin", "end", *(f"{kind}{i}" for kind, count in kinds for i in range(count)), "mark", "stop"]

    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        text: list[int] = []
        summary: list[int] = []
        for sentence in range(length):
            noun, verb = NOUN + int(rng.integers(NOUNS)), VERB + int(rng.integers(VERBS))
            details = (DETAIL + rng.integers(0, DETAILS, rng.integers(1, 5))).tolist()
            marked = sentence == 0 or rng.random() < 0.5
            text += [noun, *([MARK] if marked else []), verb, *details, STOP]
            summary += [noun, verb] if marked else []
        return text, summary

    def tokens_at(self, length: int) -> int:
        return 8 * length + 1


ROW = TaskRow(
    "summary",
    Summarisation,
    "What matters in a text, in its order?",
    "extractive summarisation in small; BLEU by sacrebleu",
    ("encoder-decoder",),
    length=4,
    test_lengths=(4, 6, 8),
    steps=2000,
    unit="sentences",
    metric="bleu",
)
