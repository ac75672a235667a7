"""Words of a sentence: as they are compared, and as they are shown."""

from __future__ import annotations

import string
from typing import Any

from posenc.core import validation

#: What may stand around a word, and is no part of it.
PUNCTUATION = string.punctuation + "“”„‘’‚«»‹›…–—¿¡"


def words_of(sentence: str) -> list[str]:
    """The words of a sentence, without capitals and without the punctuation around them.

    Example:
        >>> words_of("The dog bites the man.")
        ['the', 'dog', 'bites', 'the', 'man']
    """
    return [word for word in (part.strip(PUNCTUATION) for part in sentence.lower().split()) if word]


def spelling(*sentences: str) -> dict[str, str]:
    """Map each word, lower-case as from `words_of`, to the spelling to show: a name keeps its capital.

    A word is shown without a capital if it stands somewhere without one, or only ever begins one of several sentences.

    Example:
        >>> spelling("Dog bites Ann", "Ann bites dog")
        {'dog': 'dog', 'bites': 'bites', 'ann': 'Ann'}
    """
    seen: dict[str, list[tuple[str, bool]]] = {}
    for sentence in sentences:
        typed = [word for word in (part.strip(PUNCTUATION) for part in sentence.split()) if word]
        for index, word in enumerate(typed):
            seen.setdefault(word.lower(), []).append((word, index == 0))
    return {word: _shown(word, places) for word, places in seen.items()}


def _shown(word: str, places: list[tuple[str, bool]]) -> str:
    """Spelling of a word inside a sentence; lower case if it only ever begins sentences, more than once."""
    inside = [typed for typed, begins in places if not begins]
    if not inside:
        return places[0][0] if len(places) == 1 else word
    return word if word in inside else inside[0]


def checked_words(name: str, sentence: Any) -> list[str]:
    """Return the words of an argument; TypeError if it is no text, ValueError for no words or more than 4,096."""
    words = words_of(validation.instance(name, sentence, str, "a sentence"))
    validation.integer(f"{name}'s number of words", len(words), 1, 1 << 12)
    return words
