"""Embedding + encoding of sentences, and one embedding at three places, for the page."""

from __future__ import annotations

from typing import Any

from posenc.core.text_lines import short
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.rounded import rounded
from posenc.inspect import input_sum, position_change
from posenc.inspect.words import spelling, words_of
from posenc.learn.course.questions import BOOK


def input_sums(pair: tuple[str, str], seed: int) -> list[dict[str, Any]]:
    """Compute E, P and X = E + P of both sentences, and of the chapter's example with its embedding of "book"."""
    small, chapter = Sinusoidal(dim=8), Sinusoidal(dim=16, base=100.0)
    shown = spelling(*pair)
    sums = (
        *(input_sum(" ".join(shown[word] for word in words_of(one)), small, seed=seed) for one in pair),
        input_sum("classify the book", chapter, embeddings={"book": BOOK}, seed=seed),
    )
    return [
        {
            "words": one.words,
            "encoding": short(one.encoding),
            "E": rounded(one.embeddings),
            "P": rounded(one.positional),
            "X": rounded(one.total),
        }
        for one in sums
    ]


def at_three_places() -> list[dict[str, Any]]:
    """Encode the article's vector at positions 0, 50 and 99, once by a sinusoidal sum and once by rotation."""
    return [_moved("sinusoidal", Sinusoidal(dim=128)), _moved("rotary", RoPE(dim=128))]


def _moved(name: str, encoding: Sinusoidal | RoPE) -> dict[str, Any]:
    change = position_change(encoding)
    return {
        "name": name,
        "positions": change.positions.tolist(),
        "vector": rounded(change.vector),
        "encoded": rounded(change.encoded),
        "differences": rounded(change.differences),
        "shares": rounded(change.shares),
    }
