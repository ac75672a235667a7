"""Needles in a user's own text: a pass key at some depth, and the question for it at the end."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from posenc.lab.models.checkpoint import LoadedDecoder

#: Where the needle stands, from the start of the text to its end.
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: After Mohtashami and Jaggi 2023, arXiv:2305.16300, §4.2.
NEEDLE = "\nThe pass key is {key}. Remember it. {key} is the pass key.\n"
QUESTION = "\nWhat is the pass key? The pass key is"
#: Keys that are drawn for one whose tokens are as many as those of the others.
TRIES = 16


class PassKey(NamedTuple):
    """A pass key as tokens.

    Attributes:
        needle: The sentences that give it.
        question: The question at the end.
        answer: The key, behind the question.
    """

    needle: np.ndarray
    question: np.ndarray
    answer: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Tokens of each part."""
        return len(self.needle), len(self.question), len(self.answer)


def needle_rows(
    checkpoint: LoadedDecoder, windows: np.ndarray, length: int, count: int
) -> list[tuple[np.ndarray, int]]:
    """Rows with a needle at each depth.

    Args:
        checkpoint: Reads the sentences.
        windows: Of the text, with the mark of a begin, (windows, n).
        length: Tokens that are read, the last token of the answer left out.
        count: Rows for each depth.

    Returns:
        For each depth the rows, (count, length + 1), and how many tokens at their end are the answer.

    Raises:
        ValueError: The length has no room for a needle.
    """
    keys, start = pass_keys(checkpoint, count), len(checkpoint.start)
    room = length + 1 - start - sum(keys[0].sizes)
    if room < 0:
        raise ValueError(
            f"length must be at least {length - room} tokens for a needle and its question; got {length}. Ask for a "
            "longer trained length."
        )
    found = []
    for depth in DEPTHS:
        at, rows = round(depth * room), []
        for index, key in enumerate(keys):
            text = windows[index % len(windows)][start : start + room]
            parts = (windows[0][:start], text[:at], key.needle, text[at:], key.question, key.answer)
            rows.append(np.concatenate(parts))
        found.append((np.stack(rows), len(keys[0].answer)))
    return found


def pass_keys(checkpoint: LoadedDecoder, count: int) -> list[PassKey]:
    """Draw pass keys of five digits, all of as many tokens.

    Args:
        checkpoint: Reads them.
        count: How many.

    Returns:
        The keys, the same for equal counts.
    """
    rng = np.random.default_rng(0)
    drawn = [_pass_key(checkpoint, str(rng.integers(10_000, 100_000))) for _ in range(TRIES * count)]
    usual, _ = Counter(each.sizes for each in drawn).most_common(1)[0]
    fitting = [each for each in drawn if each.sizes == usual]
    return [fitting[index % len(fitting)] for index in range(count)]


def _pass_key(checkpoint: LoadedDecoder, key: str) -> PassKey:
    question, asked = checkpoint.tokens(QUESTION), checkpoint.tokens(f"{QUESTION} {key}")
    whole = len(asked) > len(question) and bool((asked[: len(question)] == question).all())
    answer = asked[len(question) :] if whole else checkpoint.tokens(f" {key}")
    return PassKey(checkpoint.tokens(NEEDLE.format(key=key)), question, answer)
