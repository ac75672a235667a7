"""The order experiment: the same words in two orders, without an encoding and with several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.core import validation
from posenc.explorer.views.view import View, bounded, encoding_of, script, written
from posenc.inspect import OrderBlindness, order_blindness
from posenc.inspect.order import usual_encodings
from posenc.inspect.plain import as_plain
from posenc.inspect.words import words_of

#: The most words of a sentence, and letters of a word's row, that the page shows.
MOST_WORDS, MOST_LETTERS = 40, 1000


@dataclass(frozen=True)
class OrderView(View):
    """Two sentences of the same words, and one more encoding as text, shown with the usual ones; "" for none."""

    sentence: str = "Dog bites man"
    other: str = "Man bites dog"
    encoding: str = ""
    causal: bool = False

    def facts(self) -> dict[str, Any]:
        longest = max(_words("sentence", self.sentence), _words("other", self.other))
        own = [bounded(encoding_of("encoding", self.encoding))] if self.encoding else []
        encodings = [None, *own, *usual_encodings(longest)]
        found = [order_blindness(self.sentence, self.other, encoding, causal=self.causal) for encoding in encodings]
        return {
            "results": [_result(one) for one in found],
            "code": script(f"print(inspect.order_blindness({self.sentence!r}, {self.other!r}, causal={self.causal}))"),
        }


def _words(name: str, sentence: object) -> int:
    if not isinstance(sentence, str):
        raise TypeError(f"{name} must be text; got {validation.shown(sentence)}. Write a sentence.")
    count = len(words_of(sentence[:MOST_LETTERS]))
    if len(sentence) > MOST_LETTERS or count > MOST_WORDS:
        raise ValueError(f"{name} must have at most {MOST_WORDS} words; got more. Write a shorter sentence.")
    return count


def _result(one: OrderBlindness) -> dict[str, Any]:
    return {
        "encoding": "no encoding" if one.encoding is None else written(one.encoding),
        "blind": one.blind,
        "largest": one.largest,
        "words": [{**as_plain(word), "shown": word.shown} for word in one.words],
        "notes": one.lines()[2 + len(one.words) :],
    }
