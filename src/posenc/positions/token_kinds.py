"""Kinds of tokens, text, image, video and sound, from their ids or from where media lie among them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.positions.host_numbers import whole_numbers
from posenc.positions.picture_runs import KINDS
from posenc.positions.sequences import LONGEST


def token_types(
    input_ids: Any,
    *,
    image: int | Sequence[int] = (),
    video: int | Sequence[int] = (),
    audio: int | Sequence[int] = (),
) -> np.ndarray:
    """Kind of each token by its id: 0 text, 1 image, 2 video, 3 sound, as `mm_token_type_ids` of processors has them.

    Args:
        input_ids: Ids of tokens, any shape.
        image: Id or ids of the placeholder of images, `image_token_id` of the config.
        video: The same of videos.
        audio: The same of sound.

    Returns:
        Int64, in the shape of `input_ids`.

    Raises:
        TypeError: An argument holds no whole numbers.
        ValueError: An id stands for two kinds.

    Example:
        >>> token_types([[1, 151655, 151655, 2]], image=151655, video=151656).tolist()
        [[0, 1, 1, 0]]
    """
    tokens = whole_numbers("input_ids", input_ids)
    found = np.zeros(tokens.shape, np.int64)
    seen: dict[int, str] = {}
    for name, ids in zip(KINDS[1:], (image, video, audio), strict=True):
        listed = ids if isinstance(ids, Sequence) and not isinstance(ids, str | bytes) else [ids]
        for token in validation.integers(name, listed, 0, LONGEST):
            if token in seen:
                raise ValueError(f"{name} must have ids of its own; got {token}, which {seen[token]} has. Look there.")
            seen[token] = name
            found[tokens == token] = KINDS.index(name)
    return found


def span_types(
    length: int,
    *,
    image: Sequence[tuple[int, int]] = (),
    video: Sequence[tuple[int, int]] = (),
    audio: Sequence[tuple[int, int]] = (),
) -> np.ndarray:
    """Kind of each token by where media lie: 0 text, 1 image, 2 video, 3 sound.

    Args:
        length: Number of tokens.
        image: First token of each image, and the one behind it, as engines hold ranges of placeholders.
        video: The same of videos.
        audio: The same of sound.

    Returns:
        (length,), int64.

    Raises:
        TypeError: A number is no whole number, or a span no pair.
        ValueError: A span is empty or out of range, or two overlap.

    Example:
        >>> span_types(6, image=[(1, 3)], video=[(3, 5)]).tolist()
        [0, 1, 1, 2, 2, 0]
    """
    length = validation.integer("length", length, 0, LONGEST)
    found, spans = np.zeros(length, np.int64), []
    for kind, given in zip(KINDS[1:], (image, video, audio), strict=True):
        for span in validation.instance(kind, given, Sequence, "a list of pairs, [(1, 3)]"):
            if not isinstance(span, list | tuple) or len(span) != 2:
                raise TypeError(
                    f"{kind} must hold pairs (first, behind); got {validation.shown(span)}. Give (1, 3), say."
                )
            begin, end = validation.integers(kind, list(span), 0, length)
            if begin >= end:
                raise ValueError(f"{kind} must hold spans of a token or more; got ({begin}, {end}). Leave it out.")
            spans.append((begin, end, kind))
            found[begin:end] = KINDS.index(kind)
    spans.sort()
    for (begin, end, kind), (later, behind, other) in itertools.pairwise(spans):
        if later < end:
            raise ValueError(
                f"{other} must not overlap other spans; got ({later}, {behind}), where ({begin}, {end}) is of {kind}. "
                "Count from the first token of the whole prompt."
            )
    return found
