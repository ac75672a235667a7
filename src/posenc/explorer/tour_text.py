"""The tour's first stage: the text as tokens, each with a place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.explorer.report import Section
from posenc.lab.data import Corpus, split
from posenc.lab.run_config import Recipe
from posenc.lab.tokens import default_text, encode, learn_pieces, long_enough, read_text

TEXT_TITLE = "From text to tokens and places"
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
        return len(self.corpus.train) + len(self.corpus.held_out)

    def shown(self, numbers: list[int]) -> str:
        """Tokens as text."""
        return str(self.tokenizer.decode(numbers))


def read(path: Path | None) -> Reading:
    """The text of a file, or the English that ships with Python, cut into tokens learned from its first nine tenths."""
    text = long_enough(default_text()) if path is None else read_text(path)
    source = "the help on the Python language that ships with it (pydoc_data.topics)" if path is None else path.name
    tokenizer = learn_pieces(text[: int(len(text) * LEARNED)])
    vocabulary = tokenizer.get_vocab_size()
    corpus = split(encode(tokenizer, text), vocabulary, longest=Recipe(steps=1).longest)
    return Reading(source, text, tokenizer, corpus)


def tokens_and_positions(section: Section, reading: Reading, pairs: tuple[tuple[str, str], ...]) -> None:
    """What a model is given in place of a text: numbers, each with a place."""
    characters = len(reading.text)
    section.text(
        f"The text is {reading.source}: {characters:,} characters. A model reads numbers, so the text is cut into "
        f"pieces that were learned from it (byte-level BPE): {reading.corpus.vocabulary} different ones, "
        f"{reading.tokens:,} in all, {characters / reading.tokens:.1f} characters each on average. The last "
        f"{len(reading.corpus.held_out):,} are held out: no model trains on them, all are measured on them."
    )
    numbers = reading.corpus.held_out[:12].tolist()
    section.table(
        ["place", *map(str, range(len(numbers)))],
        [
            ["token", *(reading.shown([number]).replace("\n", "⏎").replace(" ", "␣") for number in numbers)],
            ["number", *map(str, numbers)],
        ],
        caption="The first held-out tokens. ␣ is a space, ⏎ a line break.",
    )
    words = pairs[0][0].lower().split()
    section.text("The sentences of the next part are simply split into words:")
    section.table(["place", *map(str, range(len(words)))], [["word", *words]])
    section.text(
        "Attention receives the tokens alone, without the row of places above them: that a token stands at place 3 is "
        "nowhere in it, unless a positional encoding says so."
    )
