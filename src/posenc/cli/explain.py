"""`posenc explain`: an encoding in worked numbers, the order of a sentence, or the positions of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from posenc import parse
from posenc.cli.answer import Answer, Verb
from posenc.cli.explain_config import explain_config
from posenc.cli.explain_record import explain_record
from posenc.cli.explain_sentences import explain_sentences
from posenc.cli.inputs import encoding, is_config


@dataclass(frozen=True)
class ExplainVerb(Verb):
    """Show the worked numbers of an encoding at a position, with its frequencies, claims and paper; or, for two
    sentences with the same words, what self-attention can tell of their order without an encoding and with each; or
    what a model does with positions, layer group by layer group.

    A name with an opening bracket right behind it begins a record, RoPE(dim=8); a config.json, its folder or a .gguf
    file is a model; anything else is a sentence, and needs --versus. A record is read, never run: numbers, words in
    quotes, True, False, None, tuples and records may stand in it.

    examples:
      posenc explain "RoPE(dim=8)" --position 3
      posenc explain "Sinusoidal(dim=16, base=100)" --position 2 --dims 0 3
      posenc explain "ALiBi(heads=8)" --position 5 --key 3
      posenc explain "AxialRoPE(axis=(0, 1), rung=(0, 0), ladder=2)" --position 3 5
      posenc explain "Partial(RoPE(dim=4), dim=8)" --position 1
      posenc explain "Sinusoidal(dim=4)" --position 1 --json
      posenc explain "Dog bites man" --versus "Man bites dog"
      posenc explain "The cat sat on the mat" --versus "The mat sat on the cat"
      posenc explain "Dog bites man" --versus "Man bites dog" --encoding "RoPE(dim=8)"
      posenc explain config.json
      posenc explain model/config.json --length 131072 --waive rope_style --json
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RECORD|SENTENCE|CONFIG")]
    """A record, a sentence, or a model's config."""

    position: tuple[int | float, ...] = ()
    """The position of the token, or of the query: a number for each axis; 3 if left out, or 3 4 for two axes."""

    key: tuple[int | float, ...] = ()
    """The position of the key, for encodings that act on logits; 0 on every axis if left out."""

    dims: tuple[int, ...] = ()
    """The dimensions (or heads) to work out; the first 16 if left out."""

    all: bool = False
    """Every dimension, and every pair of the spectrum."""

    versus: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The same words in another order."""

    encoding: Annotated[str | None, tyro.conf.arg(metavar="RECORD")] = None
    """The one encoding to compare sentences with, in place of each of the catalog."""

    length: int | None = None
    """For a model: the length to serve, where frequencies depend on it."""

    waive: tuple[str, ...] = ()
    """For a model: keys of the config that concern positions and may go unread."""

    seed: int = 0
    """Draws the words' vectors, and what an encoding learns."""

    def run(self) -> Answer:
        if not parse.is_record(self.what) and is_config(self.what):
            return explain_config(self.what, length=self.length, waive=self.waive)
        if self.length is not None or self.waive:
            raise ValueError("length and waive must come with a config; got a record or a sentence. Leave them out.")
        if not parse.is_record(self.what):
            return explain_sentences(self.what, self._versus(), self.encoding, self.seed)
        if self.versus is not None:
            raise ValueError(
                "versus must come with a sentence; got a record. Leave --versus out, or give two sentences."
            )
        record = encoding("record", self.what, "Explain one of its layers.")
        dims = self.dims or None
        return explain_record(record, self.position, self.key, dims, every=self.all, seed=self.seed)

    def _versus(self) -> str:
        """The second sentence, or what to type for it."""
        if self.versus is None:
            name = self.what.strip()
            record = parse.classes().get(name)
            sentence = 'Add --versus "the same words in another order".'
            advice = f"Write it with its fields, {name}(...)." if record else sentence
            raise ValueError(f"versus must be given with a sentence; got {name!r} alone. {advice}")
        return self.versus
