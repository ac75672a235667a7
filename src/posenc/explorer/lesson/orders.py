"""The same words in several orders through one layer: the numbers of the first two sections."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.explorer.lesson.rounded import rounded
from posenc.inspect import order_by_architecture
from posenc.inspect.order import usual_encodings, word_layer, words_of

#: Channels of a word's output that are shown, of the sixteen it has.
SHOWN = 8
#: Sentences of so many words come in every order.
EVERY_ORDER = 3


def compared(longest: int) -> tuple[tuple[str, Encoding | None, bool], ...]:
    """(name, encoding, causal) of every choice, for sentences of at most so many words."""
    names = ("sinusoidal", "learned (untrained)", "rotary", "ALiBi", "T5 (untrained)", "Shaw (untrained)")
    encodings = zip(names, usual_encodings(longest), strict=True)
    return (
        ("no encoding", None, False),
        ("no encoding, causal mask", None, True),
        *((name, encoding, False) for name, encoding in encodings),
    )


def orders_of(pair: tuple[str, str], seed: int, *, every: int = EVERY_ORDER) -> dict[str, Any]:
    """Outputs of one layer of attention with each choice of an encoding, in every order of at most `every` words."""
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
    return {"sentence": pair[0], "words": words, "orders": orders, "other": first, "choices": choices}


def _every_order(words: list[str]) -> list[tuple[int, ...]]:
    """All orders that read differently."""
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}
    for order in permutations(range(len(words))):
        seen.setdefault(tuple(words[index] for index in order), order)
    return list(seen.values())


def _order(words: list[str], other: list[str]) -> tuple[int, ...]:
    """For each word of the other sentence its index in the first."""
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
