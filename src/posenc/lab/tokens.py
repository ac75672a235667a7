"""Text as tokens: byte-level pieces learned from the text itself."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from posenc.core import plain_file, validation

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: The shortest text that leaves enough to train on and to measure with, and the longest that is read.
FEWEST_CHARACTERS, MOST_BYTES = 4_000, 8 << 20
#: Pieces are learned from this much of the text at most; more changes them little and takes long.
LEARNED_FROM = 1_000_000


def default_text() -> str:
    """English that ships with Python: its help on the language, topic by topic in alphabetical order."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def read_text(path: str | os.PathLike[str]) -> str:
    r"""Read a UTF-8 text file.

    Args:
        path: Of the file, at most 8 MiB.

    Returns:
        The text, with "\n" at the ends of its lines.

    Raises:
        ValueError: The file cannot be read, is no UTF-8 text or is too short; the message names `text`.
    """
    file, rule = Path(path), "text must name a readable file of UTF-8 text"
    name = repr(str(path))
    try:
        if not file.is_file():
            kind = "a folder" if file.is_dir() else "no such file" if not file.exists() else "no ordinary file"
            raise ValueError(f"{rule}; got {name}: {kind}. Give the path of a text file.")
        data = plain_file.read_bytes(file, MOST_BYTES, name="text", advice=f"Cut {name}.")
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) and str(error).startswith("text "):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ValueError(f"{rule}; got {name}: {reason}. Check the path and its permissions.") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{rule}; got {name}: byte {data[error.start]:#04x} at {error.start} is not UTF-8. Convert it (iconv -t "
            "utf-8)."
        ) from None
    if "\0" in text:
        raise ValueError(f"{rule}; got {name}: it holds NUL, so it is no text. Give a text file.")
    return long_enough(text.replace("\r\n", "\n"), name)


def long_enough(text: str, name: str = "it") -> str:
    """Check that there is enough text to learn from.

    Args:
        text: The text.
        name: What the message calls it.

    Returns:
        The text.

    Raises:
        ValueError: It has fewer than 4,000 characters.
    """
    if len(text.strip()) < FEWEST_CHARACTERS:
        raise ValueError(
            f"text must have at least {FEWEST_CHARACTERS} characters to learn from; got {len(text.strip())} in {name}. "
            "Give a longer text."
        )
    return text


def learn_pieces(text: str, vocabulary: int = 512, *, most: int = LEARNED_FROM) -> Tokenizer:
    """Learn a byte-level BPE tokenizer (Sennrich et al. 2016, arXiv:1508.07909).

    All 256 bytes are pieces, so every text has tokens. No piece has more than 16 bytes.

    Args:
        text: To learn from.
        vocabulary: How many pieces at most, from 256.
        most: How many characters are read at most.

    Returns:
        The tokenizer.

    Raises:
        ValueError: `vocabulary` is out of range.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    vocabulary = validation.integer("vocabulary", vocabulary, 256, 1 << 16)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        max_token_length=16,
        show_progress=False,
    )
    tokenizer.train_from_iterator(paragraphs(text[:most]), trainer)
    return tokenizer


def encode(tokenizer: Tokenizer, text: str) -> np.ndarray:
    """Encode a text as token numbers.

    Returns:
        Shape (tokens,), int64.
    """
    parts = tokenizer.encode_batch(paragraphs(text))
    return np.array([number for part in parts for number in part.ids], dtype=np.int64)


def paragraphs(text: str) -> list[str]:
    """Split a text before every unindented line that follows an empty one.

    Returns:
        The parts; joined, they are the text again.
    """
    return re.split(r"(?<=\n\n)(?=\S)", text)
