"""Tasks whose model reads a source and writes a text: a summary, a translation."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.lab.tasks.task import NOTHING, Batch, Task, TaskRow

#: The token before the first that is written, which is padding too, and the one behind the last.
BEGIN, END = 0, 1


@dataclass(frozen=True)
class Written(Task):
    """Task with a source to read and a text to write, of different lengths. Scores include BLEU."""

    varies: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def words(self) -> Sequence[str]:
        """The text of each token. The first two are `BEGIN` and `END`."""

    @abc.abstractmethod
    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        """Draw a source of `length` items, and its target."""

    @property
    def vocabulary(self) -> int:
        return len(self.words)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        return padded([self.pair(rng, length) for _ in range(size)])

    def written(self, tokens: Sequence[int]) -> str:
        return " ".join(self.words[token] for token in self.until_end(tokens))

    def until_end(self, tokens: Sequence[int]) -> list[int]:
        """Tokens before the first END, without BEGIN."""
        kept = list(tokens)
        kept = kept[: kept.index(END)] if END in kept else kept
        return [token for token in kept if token >= 2]


def padded(pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
    """Make a batch of (source, target) pairs, padded at the end of each row.

    Example:
        >>> batch = padded([([5, 6], [7]), ([8], [9, 4])])
        >>> batch.source.tolist(), batch.visible.tolist()
        ([[5, 6], [8, 0]], [[True, True], [True, False]])
        >>> batch.tokens.tolist(), batch.targets.tolist()
        ([[0, 7, 0], [0, 9, 4]], [[7, 1, -100], [9, 4, 1]])
    """
    sources, targets = zip(*pairs, strict=True)
    source = _padded_rows(sources, BEGIN)
    visible = np.arange(source.shape[1]) < np.array([[len(row)] for row in sources])
    return Batch(
        _padded_rows([[BEGIN, *row] for row in targets], BEGIN),
        _padded_rows([[*row, END] for row in targets], NOTHING),
        source=source,
        visible=visible,
    )


def _padded_rows(rows: Sequence[list[int]], padding: int) -> np.ndarray:
    result = np.full((len(rows), max(1, *map(len, rows))), padding, np.int64)
    for row, into in zip(rows, result, strict=True):
        into[: len(row)] = row
    return result


SUMMARY_NOUNS, SUMMARY_VERBS, SUMMARY_DETAILS = 24, 12, 24
SUMMARY_NOUN, SUMMARY_VERB, SUMMARY_DETAIL = 2, 2 + SUMMARY_NOUNS, 2 + SUMMARY_NOUNS + SUMMARY_VERBS
SUMMARY_MARK, SUMMARY_STOP = SUMMARY_DETAIL + SUMMARY_DETAILS, SUMMARY_DETAIL + SUMMARY_DETAILS + 1


@dataclass(frozen=True)
class Summarisation(Written):
    """Write the noun and the verb of each marked sentence, in order.

    The text has sentences "noun verb details stop", some with a mark after their noun, with one to four details each.
    Length counts sentences, of which the first is always marked and half of the others are.
    """

    @property
    def words(self) -> Sequence[str]:
        kinds = [("noun", SUMMARY_NOUNS), ("verb", SUMMARY_VERBS), ("detail", SUMMARY_DETAILS)]
        return ["begin", "end", *(f"{kind}{i}" for kind, count in kinds for i in range(count)), "mark", "stop"]

    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        text: list[int] = []
        summary: list[int] = []
        for sentence in range(length):
            noun, verb = (
                SUMMARY_NOUN + int(rng.integers(SUMMARY_NOUNS)),
                SUMMARY_VERB + int(rng.integers(SUMMARY_VERBS)),
            )
            details = (SUMMARY_DETAIL + rng.integers(0, SUMMARY_DETAILS, rng.integers(1, 5))).tolist()
            marked = sentence == 0 or rng.random() < 0.5
            text += [noun, *([SUMMARY_MARK] if marked else []), verb, *details, SUMMARY_STOP]
            summary += [noun, verb] if marked else []
        return text, summary

    def tokens_at(self, length: int) -> int:
        return 8 * length + 1


NOUNS, ADJECTIVES, VERBS = 24, 12, 12
#: The first word of each kind in the source language; those of the other language stand `WORDS` later.
NOUN, ADJECTIVE, VERB, AND = 2, 2 + NOUNS, 2 + NOUNS + ADJECTIVES, 2 + NOUNS + ADJECTIVES + VERBS
WORDS = NOUNS + ADJECTIVES + VERBS + 1
SUBJECT_MARK, OBJECT_MARK = 2 + 2 * WORDS, 3 + 2 * WORDS


@dataclass(frozen=True)
class Translation(Written):
    """Translate between two artificial languages with different word orders.

    A source has clauses "adjectives noun verb adjectives noun", joined by "and", up to three adjectives to a noun. The
    other language has a word for each word, and another order: subject, object, verb; adjectives behind their noun in
    reverse order; a particle behind each subject and object. Length counts clauses.
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


ROWS = (
    TaskRow(
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
    ),
    TaskRow(
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
    ),
)
