"""Language models: the next token of a text, or the tokens that are blanked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np

from posenc.core.declared_fields import Instance, Real, Whole
from posenc.lab.data import masked
from posenc.lab.tasks.corpus import TextCorpus, characters, corpus, learned_pieces, pieces_of
from posenc.lab.tasks.task import Batch, Task, TaskRow

Name = Annotated[str, Instance("a word")]


@dataclass(frozen=True)
class CharacterLM(Task):
    """Predict the next character of a text, in windows at random places.

    Args:
        text: A file, "datasets:NAME", or "" for the English that ships with Python.
        digest: Of the text, which is refused where it has changed; "" for any.
        held_out: Share of the text, at its end, that is not trained on but measured with.
    """

    cuttable: ClassVar[bool] = True
    text: Name = ""
    digest: Name = ""
    held_out: Annotated[float, Real(0.01, 0.5)] = 0.1

    @cached_property
    def corpus(self) -> TextCorpus:
        """The text as tokens, read on first use."""
        return corpus(self.text, self.digest, partial(characters, held_out=self.held_out))

    @property
    def vocabulary(self) -> int:
        return len(self.corpus.words)

    def batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        train = self.corpus.train
        self._require("train on", train, length)
        return self.batch_of(rng, train[rng.integers(0, len(train) - length, (size, 1)) + np.arange(length + 1)])

    def test_batch(self, rng: np.random.Generator, size: int, length: int) -> Batch:
        """Windows spread evenly over what is held out."""
        held_out = self.corpus.held_out
        self._require("measure with", held_out, length)
        starts = np.linspace(0, len(held_out) - length - 1, size).astype(np.int64)
        return self.batch_of(rng, held_out[starts[:, None] + np.arange(length + 1)])

    def batch_of(self, rng: np.random.Generator, windows: np.ndarray) -> Batch:
        """Make a batch from windows (batch, n + 1): the first n tokens are read, the last n are targets."""
        return Batch(windows[:, :-1], windows[:, 1:])

    def require(self, length: int) -> None:
        self._require("measure with", self.corpus.held_out, length)

    def require_training(self, length: int) -> None:
        self._require("train on", self.corpus.train, length)

    def _require(self, purpose: str, tokens: np.ndarray, length: int) -> None:
        if len(tokens) <= length:
            raise ValueError(
                f"text must have more than {length} tokens to {purpose}; got {len(tokens)}. Give a longer text, or "
                "shorter lengths."
            )


@dataclass(frozen=True)
class SubwordLM(CharacterLM):
    """Predict the next piece of a text, pieces learned from what is trained on (byte-level BPE).

    Args:
        text: As in `CharacterLM`.
        digest: As in `CharacterLM`.
        held_out: As in `CharacterLM`.
        vocabulary_size: Pieces, at most.
        tokenizer: A folder with that of a model of transformers, whose pieces are taken instead; "" for none.
    """

    vocabulary_size: Annotated[int, Whole(256, 1 << 16)] = 1024
    tokenizer: Name = ""

    @cached_property
    def corpus(self) -> TextCorpus:
        own = partial(pieces_of, folder=self.tokenizer)
        learned = partial(learned_pieces, vocabulary=self.vocabulary_size)
        return corpus(self.text, self.digest, partial(own if self.tokenizer else learned, held_out=self.held_out))

    @property
    def tokens(self) -> int:
        return self.vocabulary + (not self.tokenizer)


@dataclass(frozen=True)
class MaskedLM(SubwordLM):
    """Predict the pieces that are blanked, 15 % of them, at least one in a window (Devlin et al. 2019, §3.1)."""

    def batch_of(self, rng: np.random.Generator, windows: np.ndarray) -> Batch:
        if self.corpus.blank is None:
            raise ValueError(f"tokenizer must have a mask token for masked-lm; got {self.tokenizer!r} without.")
        tokens, targets = masked(windows[:, :-1], self.corpus.blank, rng)
        return Batch(tokens, targets)


ROWS = (
    *(
        TaskRow(
            name,
            kind,
            question,
            "Press et al. 2022, arXiv:2108.12409: train short, test long",
            length=64,
            test_lengths=(64, 128, 256, 512),
            steps=1500,
            unit=unit,
            metric="loss",
        )
        for name, kind, question, unit in (
            ("character-lm", CharacterLM, "Which character comes next?", "characters"),
            ("bpe-lm", SubwordLM, "Which piece of a word comes next?", "tokens"),
        )
    ),
    TaskRow(
        "masked-lm",
        MaskedLM,
        "Which pieces are blanked?",
        "Devlin et al. 2019, arXiv:1810.04805, §3.1",
        ("encoder",),
        length=64,
        test_lengths=(64, 128, 256),
        steps=1500,
        metric="loss",
    ),
)
