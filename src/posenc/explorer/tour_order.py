"""The tour's second stage: what attention makes of the same words in another order."""

from __future__ import annotations

from posenc import _check
from posenc.doors import Encoding
from posenc.explorer.report import Section
from posenc.inspect import OrderBlindness, order_blindness
from posenc.inspect.order import usual_records, words_of

ORDER_TITLE = "Attention is blind to order"
PAIRS = (
    ("Dog bites man", "Man bites dog"),
    ("The cat sat on the mat", "The mat sat on the cat"),
    ("Rohan killed the lion", "lion killed the Rohan"),
)
#: More words than this make no readable table.
LONGEST, MOST = 24, 8


def compared(longest: int) -> tuple[tuple[str, Encoding | None, bool], ...]:
    """(name, encoding, causal) of every row of the tables, for sentences of at most so many words; the encodings are
    those of `posenc explain SENTENCE --versus SENTENCE`, so that both show the same numbers."""
    records = usual_records(longest)
    return (
        ("no encoding", None, False),
        ("no encoding, causal mask", None, True),
        *((f"{type(one).__name__}{' (untrained)' if one.shapes else ''}", one, False) for one in records),
    )


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
                f"sentences must have 2 to {LONGEST} words; got {len(first)} in {_check.shown(pair[0])}. "
                "Shorten or lengthen it."
            )
        if sorted(first) != sorted(second) or first == second:
            raise ValueError(
                f"sentences must come in pairs of the same words in two orders; got {pair[0]!r} and {pair[1]!r}. "
                "Reorder the words of one."
            )


def orders(section: Section, pairs: tuple[tuple[str, str], ...], seed: int) -> None:
    """A table for each pair: how much each word's output differs between the two orders."""
    section.text(
        "One layer of self-attention with random weights reads each sentence in two orders. The tables hold, for "
        "every word, the largest difference between its output in the one order and in the other: 0.0 means that the "
        "layer cannot tell them apart (beyond rounding). Above each column stands the word with its place in the one "
        "and in the other. A word's meaning should depend on the order here: it matters to the dog who bites whom."
    )
    for sentence, other in pairs:
        longest = len(words_of(sentence))
        results = [
            (name, order_blindness(sentence, other, encoding, causal=causal, seed=seed))
            for name, encoding, causal in compared(longest)
        ]
        section.heading(f"“{sentence}” / “{other}”")
        words = [f"{word.word} {word.here}→{word.there}" for word in results[0][1].words]
        section.table(["", *words], [[name, *(word.shown for word in result.words)] for name, result in results])
        section.bullets(_observations(dict(results)))
    section.text(
        "What to take away: without an encoding every word comes out the same in both orders. A causal mask, in which "
        "a word sees only those before it, breaks the tie by itself: that is why a decoder without an encoding still "
        "learns something. And an encoding that looks at distance alone, in both directions alike (ALiBi), cannot "
        "tell a sentence from its mirror image."
    )


def _observations(results: dict[str, OrderBlindness]) -> list[str]:
    """What this pair shows, from its own numbers."""
    bare, causal = results["no encoding"], results["no encoding, causal mask"]
    distinguishing = [name for name, result in results.items() if result.encoding is not None and not result.blind]
    blind = [name for name, result in results.items() if result.encoding is not None and result.blind]
    sentences = [
        "Without an encoding: no difference in any word."
        if bare.blind
        else f"Without an encoding: up to {bare.largest:.3g}."
    ]
    if not causal.blind:
        sentences.append(f"A causal mask alone makes a difference of up to {causal.largest:.3g}.")
    if distinguishing:
        sentences.append(f"The order is seen with: {', '.join(distinguishing)}.")
    if blind:
        sentences.append(f"Still blind: {', '.join(blind)}.")
    reasons: dict[str, list[str]] = {}
    for name, result in results.items():
        for reason in result.reasons:
            reasons.setdefault(reason, []).append(name)
    return [*sentences, *(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())]
