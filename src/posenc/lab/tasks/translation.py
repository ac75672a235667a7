"""Translation in small: between two languages that order their words differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc.lab.tasks.task import TaskRow
from posenc.lab.tasks.written import Written

NOUNS, ADJECTIVES, VERBS = 24, 12, 12
#: The first word of each kind in the source language; those of the other language stand `WORDS` later.
NOUN, ADJECTIVE, VERB, AND = 2, 2 + NOUNS, 2 + NOUNS + ADJECTIVES, 2 + NOUNS + ADJECTIVES + VERBS
WORDS = NOUNS + ADJECTIVES + VERBS + 1
SUBJECT_MARK, OBJECT_MARK = 2 + 2 * WORDS, 3 + 2 * WORDS


@dataclass(frozen=True)
class Translation(Written):
    """A source of clauses "adjectives noun verb adjectives noun", joined by "and", up to three adjectives to a noun.

    The other language has a word for each word, and another order: subject, object, verb; adjectives behind their noun
    in reverse order; a particle behind each subject and object. length counts clauses.
    """

    @property
    def words(self) -> Sequence[str]:
        kinds = [("noun", NOUNS), ("adjective", ADJECTIVES), ("verb", VERBS), ("and", 1)]
        named = [f"{kind}{index}" for kind, count in kinds for index in range(count)]
        return ["begin", "end", *named, *(word.upper() for word in named), "SUBJECT", "OBJECT"]

    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        source: list[int] = []
        target: list[int] = []
        for clause in range(length):
            subject, verb, direct = _phrase(rng), VERB + int(rng.integers(VERBS)), _phrase(rng)
            joint = [AND] if clause else []
            source += [*joint, *subject, verb, *direct]
            parts = [*subject[::-1], SUBJECT_MARK, *direct[::-1], OBJECT_MARK, verb]
            target += [word if word >= SUBJECT_MARK else word + WORDS for word in [*joint, *parts]]
        return source, target

    def tokens_at(self, length: int) -> int:
        return 12 * length


def _phrase(rng: np.random.Generator) -> list[int]:
    """Up to three adjectives and a noun."""
    adjectives = ADJECTIVE + rng.integers(0, ADJECTIVES, rng.integers(0, 4))
    return [*adjectives.tolist(), NOUN + int(rng.integers(NOUNS))]


ROW = TaskRow(
    "translation",
    Translation,
    "Which word comes where in another language?",
    "Vaswani et al. 2017, arXiv:1706.03762, §6.1, in small; BLEU by sacrebleu",
    ("encoder-decoder",),
    length=2,
    test_lengths=(1, 2, 3, 4),
    steps=2000,
    unit="clauses",
    metric="bleu",
)
