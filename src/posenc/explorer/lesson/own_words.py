"""The reader's own words: the numbers of two to four words in every order, whatever the words are.

The layers of the lesson know a word by its vector alone. So what is computed here for four words holds for any four
different words that take their vectors, and the page needs no Python for a sentence of the reader.
"""

from __future__ import annotations

from typing import Any

from posenc.core.text_lines import short
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.explorer.lesson.orders import architectures_of, orders_of
from posenc.explorer.lesson.rounded import rounded
from posenc.inspect import input_sum

#: The words whose vectors the reader's first, second, ... word takes.
VECTORS_OF = ("dog", "bites", "man", "today")
FEWEST = 2


def own_words(seed: int) -> dict[str, Any]:
    """For each number of words: outputs in every order of all layers; and E, P and X of each word at each position.

    sums.X: (words, positions, channels).
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
