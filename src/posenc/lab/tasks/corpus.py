"""Texts and data sets as tokens, cut into a part to learn from and a part held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc.lab.experiment import digest
from posenc.lab.tokens import default_text, encode, learn_pieces, long_enough, paragraphs, read_text

#: How a tokenizer reads a text as it is, of any length.
PLAIN = {"add_special_tokens": False, "verbose": False}
#: What a name of a data set begins with, as in "datasets:wikitext,wikitext-2-raw-v1".
DATASETS = "datasets:"


def data_set_rows(argument: str, name: str, split: str, column: str) -> Any:
    """Load the rows of a data set of the Hugging Face hub, or of a folder of files, through `datasets`.

    Args:
        argument: What messages call the name.
        name: "NAME" or "NAME,CONFIGURATION".
        split: Such as "train".
        column: That the rows must have.

    Returns:
        The rows.

    Raises:
        ValueError: `datasets` is not installed, or there is no such data set or column.
    """
    try:
        from datasets import load_dataset
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{argument} must be a file where the package datasets is missing ({error}). Install it: pip install "
            "datasets"
        ) from None
    path, _, configuration = name.partition(",")
    try:
        rows = load_dataset(path, configuration or None, split=split)
    except Exception as error:  # whatever the library raises is the reason, in its own words
        raise ValueError(
            f"{argument} must name a data set that can be loaded; got {name!r}: {' '.join(str(error).split())[:300]}. "
            "Check the name and the network, or give a folder."
        ) from None
    if column not in rows.column_names:
        raise ValueError(
            f"{argument} must name a data set with a column {column!r}; got {name!r} with "
            f"{', '.join(rows.column_names)}. Name another one."
        )
    return rows


class TextCorpus(NamedTuple):
    """A text as tokens.

    Args:
        train: Token numbers, int64.
        held_out: Token numbers, int64.
        words: The text of each token.
        blank: The number of a blanked token, behind them all unless a tokenizer has one of its own; None where that has
            none.
        tokenizer: That made the tokens; None for characters.
    """

    train: np.ndarray
    held_out: np.ndarray
    words: Sequence[str]
    blank: int | None
    tokenizer: Any = None


def text_of(source: str) -> str:
    """Read a text: a file, a data set as "datasets:NAME" or "datasets:NAME,CONFIGURATION", or "" for Python's own help.

    Raises:
        ValueError: There is no such text; the message names `text`.
    """
    if source.startswith(DATASETS):
        return long_enough(
            "\n".join(data_set_rows("text", source.removeprefix(DATASETS), "train", "text")["text"]), repr(source)
        )
    return read_text(Path(source)) if source else long_enough(default_text())


def text_options(source: str) -> tuple[tuple[str, str], ...]:
    """Options of a task that reads a text: where it is, and the digest that it must keep."""
    return ("digest", digest(text_of(source))), ("text", source)


def corpus(source: str, expected: str, cut: Callable[[str], TextCorpus]) -> TextCorpus:
    """Read a text, check its digest, and tokenize it by `cut`.

    Args:
        source: As `text_of` takes it.
        expected: The digest that the text must have; "" for any.
        cut: Makes the corpus of the text.

    Returns:
        The corpus.

    Raises:
        ValueError: There is no such text, or it has another digest.

    Example:
        >>> found = corpus("", "", lambda text: characters(text, 0.1))
        >>> len(found.words), len(found.held_out) / (len(found.train) + len(found.held_out)) > 0.099
        (103, True)
    """
    text = text_of(source)
    if expected and digest(text) != expected:
        raise ValueError(
            f"text must be the one that this run was planned with, digest {expected}; got {digest(text)} in "
            f"{source!r}. Plan the run again."
        )
    return cut(text)


# Each is kept for the next run in this process, which mostly reads the same text.


@lru_cache(maxsize=2)
def characters(text: str, held_out: float) -> TextCorpus:
    """Cut a text into characters, a share of them held out at its end."""
    words, kept = sorted(set(text)), _kept(text, held_out)
    number = {character: index for index, character in enumerate(words)}
    tokens = np.array([number[character] for character in text], np.int64)
    return TextCorpus(tokens[:kept], tokens[kept:], words, len(words))


@lru_cache(maxsize=2)
def learned_pieces(text: str, held_out: float, vocabulary: int) -> TextCorpus:
    """Tokenize a text by a byte-level BPE with at most `vocabulary` pieces, learned from its training part."""
    kept = _kept(text, held_out)
    tokenizer = learn_pieces(text[:kept], vocabulary)
    train, tested = (encode(tokenizer, part) for part in (text[:kept], text[kept:]))
    words = [tokenizer.decode([index]) for index in range(tokenizer.get_vocab_size())]
    return TextCorpus(train, tested, words, len(words), tokenizer)


@lru_cache(maxsize=2)
def pieces_of(text: str, held_out: float, folder: str) -> TextCorpus:
    """Tokenize a text by the tokenizer in a folder of transformers, without special tokens.

    Raises:
        ValueError: The folder has no tokenizer of transformers.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # whatever the library raises is the reason, in its own words
        raise ValueError(
            f"tokenizer must be a folder with a tokenizer of transformers; got {folder!r}: "
            f"{' '.join(str(error).split())[:200]}. Give the folder that save_pretrained wrote."
        ) from None
    kept = _kept(text, held_out)
    train, tested = (
        np.concatenate([np.array(row, np.int64) for row in tokenizer(paragraphs(part), **PLAIN)["input_ids"]])
        for part in (text[:kept], text[kept:])
    )
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    return TextCorpus(train, tested, words, tokenizer.mask_token_id, tokenizer)


def _kept(text: str, held_out: float) -> int:
    """Number of characters that are trained on."""
    return len(text) - int(len(text) * held_out)
