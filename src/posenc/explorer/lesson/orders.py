"""The same words in several orders through one layer: numbers of the first sections, and of the reader's words."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.explorer.lesson.rounded import rounded
from posenc.inspect import input_sum, order_by_architecture
from posenc.inspect.order import usual_encodings, word_layer
from posenc.inspect.words import spelling, words_of

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


#: Channels of a word's output that are shown, of the sixteen it has.
SHOWN = 8
#: Sentences of so many words come in every order.
EVERY_ORDER = 3


def compared(longest: int) -> tuple[tuple[str, Encoding | None, bool], ...]:
    """List the layers to compare as (name, encoding, causal), for sentences of up to `longest` words."""
    names = ("sinusoidal", "learned (untrained)", "rotary", "ALiBi", "T5 (untrained)", "Shaw (untrained)")
    encodings = zip(names, usual_encodings(longest), strict=True)
    return (
        ("no encoding", None, False),
        ("no encoding, causal mask", None, True),
        *((name, encoding, False) for name, encoding in encodings),
    )


def orders_of(pair: tuple[str, str], seed: int, *, every: int = EVERY_ORDER) -> dict[str, Any]:
    """Run attention with each encoding over all orders of up to `every` words; of longer pairs, over their two."""
    words, other = words_of(pair[0]), words_of(pair[1])
    orders = _every_order(words) if len(words) <= every else [tuple(range(len(words))), _order(words, other)]
    choices = []
    for name, encoding, causal in compared(len(words)):
        layer = word_layer(encoding, causal=causal, seed=seed)
        results = [[words[index] for index in order] for order in orders]
        outputs = layer.outputs(results)
        idle = layer.idle(results, outputs)
        against = [
            layer.blindness((" ".join(words), outputs[0]), (" ".join(result), output), idle[0] and unchanged)
            for result, output, unchanged in zip(results, outputs, idle, strict=True)
        ]
        choices.append(
            {
                "name": name,
                "encoding": "" if encoding is None else short(encoding),
                "outputs": [rounded(output[:, :SHOWN]) for output in outputs],
                "changes": [{word.here: word.shown for word in result.words} for result in against],
                "reasons": [list(result.reasons) for result in against],
            }
        )
    first = orders.index(_order(words, other)) if _order(words, other) in orders else 1
    shown = [spelling(*pair)[word] for word in words]
    return {"sentence": pair[0], "words": shown, "orders": orders, "other": first, "choices": choices}


def _every_order(words: list[str]) -> list[tuple[int, ...]]:
    """Permutations of word indices, without those that only swap equal words."""
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}
    for order in permutations(range(len(words))):
        seen.setdefault(tuple(words[index] for index in order), order)
    return list(seen.values())


def _order(words: list[str], other: list[str]) -> tuple[int, ...]:
    """Index in the first sentence of each word of the other."""
    left = list(enumerate(words))
    order = []
    for word in other:
        index = next(position for position, one in left if one == word)
        left.remove((index, word))
        order.append(index)
    return tuple(order)


def architectures_of(pair: tuple[str, str], seed: int) -> list[dict[str, Any]]:
    """Outputs of a recurrence, a convolution and attention for both orders of the words."""
    return [
        {
            "name": one.architecture,
            "blind": one.blind,
            "here": rounded(one.here[:, :SHOWN]),
            "there": rounded(one.there[:, :SHOWN]),
            "words": [[word.word, word.here, word.there, word.shown] for word in one.words],
        }
        for one in order_by_architecture(*pair, seed=seed)
    ]


#: The words whose vectors the reader's first, second, ... word takes.
VECTORS_OF = ("dog", "bites", "man", "today")
FEWEST = 2


def own_words(seed: int) -> dict[str, Any]:
    """Outputs for two to four words in every order, and E, P and X of each word at each position.

    The layers of the lesson know a word by its vector alone. So what is computed here for four words holds for any four
    different words that take their vectors, and the page needs no Python for a sentence of the reader. X has the shape
    (words, positions, channels).
    """
    sentences, architectures = {}, {}
    for count in range(FEWEST, len(VECTORS_OF) + 1):
        words = VECTORS_OF[:count]
        pair = (" ".join(words), " ".join(words[::-1]))
        sentences[count] = orders_of(pair, seed, every=count)
        architectures[count] = architectures_of(pair, seed)
    encoding = Sinusoidal(dim=8)
    places = [input_sum(" ".join([word] * len(VECTORS_OF)), encoding, seed=seed) for word in VECTORS_OF]
    return {
        "vectors": VECTORS_OF,
        "sentences": sentences,
        "architectures": architectures,
        "sums": {
            "encoding": short(encoding),
            "E": [rounded(place.embeddings[0]) for place in places],
            "P": rounded(places[0].positional),
            "X": [rounded(place.total) for place in places],
        },
    }
