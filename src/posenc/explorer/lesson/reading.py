"""The text that the small models read, and its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.lab.data import Corpus, split
from posenc.lab.tokens import default_text, encode, learn_pieces, long_enough, read_text
from posenc.lab.tour_plan import TrainingRecipe

#: The share of the text that tokens are learned from; the rest is held out, for them too.
LEARNED = 0.9


@dataclass(frozen=True, eq=False)
class Reading:
    """A text with its tokenizer and its tokens."""

    source: str
    text: str
    tokenizer: Any
    corpus: Corpus

    @property
    def tokens(self) -> int:
        """How many tokens the text has."""
        return len(self.corpus.train) + len(self.corpus.held_out)

    def shown(self, numbers: list[int]) -> str:
        """Tokens as text."""
        return str(self.tokenizer.decode(numbers))


def read_tokens(path: Path | None) -> Reading:
    """Text of a file, or the English that ships with Python, cut into tokens learned from its first nine tenths."""
    text = long_enough(default_text()) if path is None else read_text(path)
    source = "the help on the Python language that ships with it (pydoc_data.topics)" if path is None else path.name
    tokenizer = learn_pieces(text[: int(len(text) * LEARNED)])
    vocabulary = tokenizer.get_vocab_size()
    corpus = split(encode(tokenizer, text), vocabulary, longest=TrainingRecipe(steps=1).longest)
    return Reading(source, text, tokenizer, corpus)
