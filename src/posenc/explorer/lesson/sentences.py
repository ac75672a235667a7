"""The sentences of the lesson: pairs of the same words in two orders."""

from __future__ import annotations

from posenc.core import validation
from posenc.inspect.order import words_of

PAIRS = (
    ("Dog bites man", "Man bites dog"),
    ("The cat sat on the mat", "The mat sat on the cat"),
    ("Rohan killed the lion", "lion killed the Rohan"),
)
#: More words than this make no readable table.
LONGEST, MOST = 24, 8


def same_words(pairs: tuple[tuple[str, str], ...]) -> None:
    """Refuse pairs that are not the same words in two orders."""
    if not 1 <= len(pairs) <= MOST:
        raise ValueError(
            f"sentences must come in 1 to {MOST} pairs; got {len(pairs)}. Give two sentences for each pair."
        )
    for pair in pairs:
        first, second = (words_of(sentence) for sentence in pair)
        if not 2 <= len(first) <= LONGEST:
            raise ValueError(
                f"sentences must have 2 to {LONGEST} words; got {len(first)} in {validation.shown(pair[0])}. "
                "Shorten or lengthen it."
            )
        if sorted(first) != sorted(second) or first == second:
            raise ValueError(
                f"sentences must come in pairs of the same words in two orders; got {pair[0]!r} and {pair[1]!r}. "
                "Reorder the words of one."
            )
