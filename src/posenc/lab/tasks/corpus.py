"""A text as tokens, cut into a part to learn from and a part held out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from posenc.lab.tasks.data_sets import rows_of
from posenc.lab.tokens import default_text, encode, learn_pieces, long_enough, read_text

Pieces = Literal["characters", "bpe"]
HELD_OUT = 0.1
#: What a name of a data set begins with, as in "datasets:wikitext,wikitext-2-raw-v1".
DATASETS = "datasets:"


class Corpus(NamedTuple):
    """train, held_out: token numbers, int64.   words: what each of them stands for."""

    train: np.ndarray
    held_out: np.ndarray
    words: Sequence[str]


def text_of(source: str) -> str:
    """The text of a file, of a data set of the Hugging Face hub as "datasets:NAME" or "datasets:NAME,CONFIGURATION",
    or with "" the English that ships with Python. ValueError naming `text` where there is none."""
    if source.startswith(DATASETS):
        return long_enough(
            "\n".join(rows_of("text", source.removeprefix(DATASETS), "train", "text")["text"]), repr(source)
        )
    return read_text(Path(source)) if source else long_enough(default_text())


def digest(text: str) -> str:
    """16 hexadecimal digits that name a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def corpus(source: str, pieces: Pieces, vocabulary: int, expected: str = "") -> Corpus:
    """The corpus of a text; `expected` is the digest that it must have, if any.

    >>> found = corpus("", "characters", 0)
    >>> len(found.words), len(found.held_out) / (len(found.train) + len(found.held_out)) > 0.099
    (103, True)
    """
    text = text_of(source)
    if expected and digest(text) != expected:
        raise ValueError(
            f"text must be the one that this run was planned with, digest {expected}; got {digest(text)} in "
            f"{source!r}. Plan the run again."
        )
    return _tokens(text, pieces, vocabulary)


@lru_cache(maxsize=2)
def _tokens(text: str, pieces: Pieces, vocabulary: int) -> Corpus:
    """Kept for the next run in this process, which mostly reads the same text."""
    kept = len(text) - int(len(text) * HELD_OUT)
    if pieces == "characters":
        words = sorted(set(text))
        number = {character: index for index, character in enumerate(words)}
        tokens = np.array([number[character] for character in text], np.int64)
        return Corpus(tokens[:kept], tokens[kept:], words)
    tokenizer = learn_pieces(text[:kept], vocabulary)
    train, held_out = (encode(tokenizer, part) for part in (text[:kept], text[kept:]))
    words = [tokenizer.decode([index]) for index in range(tokenizer.get_vocab_size())]
    return Corpus(train, held_out, words)
