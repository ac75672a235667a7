"""`posenc explain`: an encoding in worked numbers, the order of a sentence, or the positions of a model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import tyro

from posenc import parse
from posenc.cli.answer import Answer, Verb
from posenc.cli.explain_config import explain_config
from posenc.cli.explain_encoding import explain_encoding, explain_product, explain_table
from posenc.cli.explain_model import explain_model, model_advice, named_model
from posenc.cli.explain_sentences import explain_sentences
from posenc.cli.inputs import draws, encoding, is_config
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding


@dataclass(frozen=True)
class ExplainVerb(Verb):
    """Show the worked numbers of an encoding, what a model does with positions, or whether attention sees word order.

    Give one of these:
      an encoding   RoPE(dim=8): its numbers at a position, its frequencies, claims and paper
      a config      a config.json, its folder or a .gguf file: what the model does with positions, layer group by group
      a model       llama-3, gpt2, qwen2-vl: a released model whose config comes with posenc (`posenc list --models`)
      a sentence    with --versus, the same words in another order: what self-attention can tell of their order,
                    without an encoding and with six, or with every one

    An encoding is parsed, never executed: it may hold numbers, words in quotes, True, False, None, tuples and
    encodings.

    Some examples:
      posenc explain "RoPE(dim=8)" --position 3
      posenc explain "RoPE(dim=4)" --position 7 --key 3 --query-vector 1 0 2 1 --key-vector 0.5 1 -1 2
      posenc explain "Sinusoidal(dim=4)" --position 7 --key 3 --query-vector 1 0 2 1 --key-vector 0.5 1 -1 2
      posenc explain "Sinusoidal(dim=16, base=100)" --position 2 --dims 0 3
      posenc explain "Sinusoidal(dim=16, base=100)" --position 0 1 2
      posenc explain "ALiBi(heads=8)" --position 5 --key 3
      posenc explain "AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)" --position 3 5
      posenc explain "Partial(RoPE(dim=4), dim=8)" --position 1
      posenc explain "Sinusoidal(dim=4)" --position 1 --json
      posenc explain "Dog bites man" --versus "Man bites dog"
      posenc explain "The cat sat on the mat" --versus "The mat sat on the cat"
      posenc explain "Dog bites man" --versus "Man bites dog" --encoding "RoPE(dim=8)"
      posenc explain "Dog bites man" --versus "Man bites dog" --all
      posenc explain llama-3
      posenc explain config.json
      posenc explain model/config.json --json
      posenc explain dynamic.json --length 131072 --waive rope_style
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENCODING|SENTENCE|CONFIG|MODEL")]
    """An encoding, a sentence, a model's config, or the name of a released model."""

    position: tuple[int | float, ...] = ()
    """The position of the token, or of the query: a number for each axis; 3 if left out, or 3 4 for two axes. Several
    numbers for an encoding of one axis that adds make a table of their rows."""

    key: tuple[int | float, ...] = ()
    """The position of the key, for encodings that act on logits and for --key-vector; 0 on every axis if left out."""

    query_vector: tuple[float, ...] = ()
    """A query: with --key-vector, the product of both at their positions, derived step by step where the encoding
    rotates, or split into its four terms where it adds."""

    key_vector: tuple[float, ...] = ()
    """A key, with as many numbers as --query-vector."""

    dims: tuple[int, ...] = ()
    """The dimensions (or heads) to work out; the first 16 if left out."""

    all: bool = False
    """Everything: every dimension, and every pair of the spectrum; for sentences, every encoding of the catalog."""

    versus: Annotated[str | None, tyro.conf.arg(metavar="SENTENCE")] = None
    """The same words in another order."""

    encoding: Annotated[str | None, tyro.conf.arg(metavar="ENCODING")] = None
    """The one encoding to compare sentences with, in place of the usual six."""

    length: int | None = None
    """For a model: the length to serve, where frequencies depend on it."""

    waive: tuple[str, ...] = ()
    """For a model: keys of the config that concern positions and may go unread."""

    seed: int | None = None
    """Draws the words' vectors, and what an encoding learns; 0 if left out."""

    def run(self) -> Answer:
        if parse.is_record(self.what):
            self._only("an encoding", "position", "key", "query_vector", "key_vector", "dims", "all", "seed")
            return self._of_encoding(encoding("encoding", self.what, "Explain one of its layers."))
        if is_config(self.what):
            self._only("a config", "length", "waive")
            return explain_config(self.what, length=self.length, waive=self.waive)
        model = named_model(self.what) if self.versus is None else None
        if model is not None and self.what.strip() not in parse.classes():
            self._only("a model by name")
            return explain_model(model, self.what)
        self._only("a sentence", "versus", "encoding", "all", "seed")
        if self.all and self.encoding is not None:
            raise ValueError("all must come without --encoding, which names one; got both. Leave one out.")
        return explain_sentences(self.what, self._versus(), self.encoding, self.all, self.seed or 0)

    def _of_encoding(self, encoding: Encoding) -> Answer:
        if self.query_vector or self.key_vector:
            self._only("a product of two vectors", "position", "key", "query_vector", "key_vector")
            return explain_product(encoding, self.position, self.key, self.query_vector, self.key_vector)
        if self.seed is not None and not draws(encoding) and not isinstance(encoding, AttentionScore):
            raise ValueError(f"seed must be left out for {self.what:.100}, which draws nothing; got one. Leave it out.")
        if self.key and not isinstance(encoding, AttentionBias | AttentionScore):
            raise ValueError(f"key must come with an encoding that acts on logits; got {self.what:.100}. Leave it out.")
        if self.all and self.dims:
            raise ValueError("all must come without --dims, which chooses some; got both. Leave one out.")
        if isinstance(encoding, AdditiveEncoding) and encoding.axes == 1 and len(self.position) > 1:
            self._only("a table of several positions", "position", "seed")
            return explain_table(encoding, self.position, self.seed or 0)
        dims = self.dims or None
        return explain_encoding(encoding, self.position, self.key, dims, every=self.all, seed=self.seed or 0)

    def _only(self, what: str, *names: str) -> None:
        """Refuse the options that say nothing about such an argument."""
        options = ", ".join(f"--{name}".replace("_", "-") for name in names) or "none"
        for field in fields(self):
            if field.name not in ("what", "json", *names) and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name} must be left out for {what}; got one. Options for {what}: {options}.")

    def _versus(self) -> str:
        """Second sentence, or the error that says what to type for it."""
        if self.versus is None:
            name = self.what.strip()
            encoding = parse.classes().get(name)
            sentence = f'Add --versus "the same words in another order". {model_advice(name)}'
            advice = f"Write it with its fields, {name}(...)." if encoding else sentence
            raise ValueError(f"versus must be given with a sentence; got {name!r} alone. {advice}")
        return self.versus
