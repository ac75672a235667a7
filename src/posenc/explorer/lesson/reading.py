"""The text that the small models read, and its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.lab.experiment import Experiment
from posenc.lab.tasks.corpus import TextCorpus, text_of
from posenc.lab.tasks.language import SubwordLM


@dataclass(frozen=True, eq=False)
class Reading:
    """A text and its tokens."""

    source: str
    text: str
    corpus: TextCorpus

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, learned from what is trained on."""
        return self.corpus.tokenizer

    @property
    def tokens(self) -> int:
        """How many tokens the text has."""
        return len(self.corpus.train) + len(self.corpus.held_out)

    def shown(self, numbers: list[int]) -> str:
        """Tokens as text."""
        return str(self.tokenizer.decode(numbers))


def read_tokens(experiment: Experiment) -> Reading:
    """The text of an experiment of the tour, and its tokens.

    Raises:
        ValueError: The text cannot be read, or too little of it is held out; the message names `text`.
    """
    options: dict[str, Any] = dict(experiment.options)
    path, task = options["text"], SubwordLM(**options)
    task.require(experiment.test_lengths[-1])
    source = Path(path).name if path else "the help on the Python language that ships with it (pydoc_data.topics)"
    return Reading(source, text_of(path), task.corpus)
