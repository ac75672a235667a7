"""WMT 2014, or another data set of translations, through `datasets`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from posenc.core.declared_fields import Instance, Whole
from posenc.lab.tasks.corpus import data_set_rows
from posenc.lab.tasks.task import Batch, TaskRow
from posenc.lab.tasks.written import Written, padded
from posenc.lab.tokens import learn_pieces

Name = Annotated[str, Instance("a word")]
#: Characters that pieces are learned from, at most.
LEARNED_FROM = 1 << 28


class Translations(NamedTuple):
    """A tokenizer of both languages, and the sentences.

    Attributes:
        tokenizer: Of both languages together.
        train: A generator draws from these.
        test: These are measured.
    """

    tokenizer: Any
    train: Any
    test: Any


@dataclass(frozen=True)
class WMT14(Written):
    """Translate sentences, in pieces of both languages together (byte-level BPE).

    Length counts tokens: longer sentences are left out of training, and of the test.

    Args:
        data: The name of a data set of the Hugging Face hub and of its configuration after a comma, or a folder with
            train.jsonl and test.jsonl; each row has `translation`, a sentence for each language.
        source: The language that is read.
        target: The language that is written.
        vocabulary_size: Pieces; 37,000 in Vaswani et al. 2017, §5.1.
    """

    varies: ClassVar[bool] = False
    data: Name = "wmt14,de-en"
    source: Name = "en"
    target: Name = "de"
    vocabulary_size: Annotated[int, Whole(256, 1 << 16)] = 37_000

    @cached_property
    def translations(self) -> Translations:
        """The data, loaded on first use."""
        train = data_set_rows("data", self.data, "train", "translation")
        test = data_set_rows("data", self.data, "test", "translation")
        missing = {self.source, self.target} - set(train[0]["translation"])
        if missing:
            languages = ", ".join(train[0]["translation"])
            raise ValueError(f"data must have the languages {', '.join(missing)}; got {languages}. Name two of these.")
        text = "\n".join(_sentences(train, self.source, self.target))
        return Translations(learn_pieces(text, self.vocabulary_size, most=LEARNED_FROM), train, test)

    @property
    def words(self) -> Sequence[str]:
        return ["begin", "end", *(str(index) for index in range(self.translations.tokenizer.get_vocab_size()))]

    @property
    def vocabulary(self) -> int:
        return 2 + int(self.translations.tokenizer.get_vocab_size())

    def written(self, tokens: Sequence[int]) -> str:
        return str(self.translations.tokenizer.decode([token - 2 for token in self.until_end(tokens)]))

    def pair(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        """Draw a sentence and its translation, both shorter than `length` tokens, from the training part."""
        train = self.translations.train
        start = int(rng.integers(len(train)))
        for index in range(len(train)):
            found = self._tokens(train[(start + index) % len(train)]["translation"])
            if max(map(len, found)) < length:
                return found
        raise ValueError(f"length must hold the shortest sentence of data; got {length}. Ask for a longer one.")

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """The first sentences of the test part that are short enough."""
        pairs = (self._tokens(row["translation"]) for row in self.translations.test)
        kept = list(islice((pair for pair in pairs if max(map(len, pair)) < length), size))
        if not kept:
            raise ValueError(f"length must hold some sentence of the test part; got {length}. Ask for a longer one.")
        return padded(kept)

    def require(self, length: int) -> None:
        self.test_batch(np.random.default_rng(0), 1, length)

    def require_training(self, length: int) -> None:
        self.pair(np.random.default_rng(0), length)

    def _tokens(self, translation: dict[str, str]) -> tuple[list[int], list[int]]:
        tokenizer = self.translations.tokenizer
        source, target = (tokenizer.encode(translation[name]).ids for name in (self.source, self.target))
        return [token + 2 for token in source], [token + 2 for token in target]


def _sentences(rows: Any, *languages: str) -> Iterator[str]:
    """Sentences of each row in the given languages, until they have more than LEARNED_FROM characters."""
    seen = 0
    for row in rows:
        for language in languages:
            sentence = row["translation"][language]
            seen += len(sentence)
            yield sentence
        if seen > LEARNED_FROM:
            return


#: What Vaswani et al. 2017 train as the base model (§5, Table 3): fields of `Experiment`, and what differs here.
BASE_TRANSFORMER = {
    "width": 512,
    "layers": 6,
    "heads": 8,
    "model": "encoder-decoder",
    "steps": 100_000,
    "batch": 800,
    "rate": 7e-4,
    "warmup": 4000,
    "dropout": 0.1,
    "label_smoothing": 0.1,
    "length": 128,
    "test_lengths": (128,),
}

ROW = TaskRow(
    "wmt14",
    WMT14,
    "Does an encoding help to translate?",
    "Vaswani et al. 2017, arXiv:1706.03762, §6.1; Su et al. 2021, arXiv:2104.09864, Table 1",
    ("encoder-decoder",),
    length=128,
    test_lengths=(128,),
    steps=100_000,
    metric="bleu",
)
