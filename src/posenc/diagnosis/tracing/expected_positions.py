"""Positions that a request asks for: tokens counted within their document, without padding."""

from __future__ import annotations

import numpy as np

from posenc.diagnosis.tracing.trace_records import StatedRequest, TracedCall


def expected_call(
    number: int,
    sequence: int,
    start: int,
    shape: tuple[int, int],
    stated: StatedRequest,
    mask: np.ndarray | None = None,
    ids: np.ndarray | None = None,
    axes: int = 1,
    media: np.ndarray | None = None,
) -> TracedCall:
    """Describe a call by what its request asks for.

    Args:
        number: Number of the call.
        sequence: Number of its sequence.
        start: Tokens of each row that were read before.
        shape: (batch, tokens) that it reads.
        stated: What the caller stated of the request.
        mask: Mask of the tokens, 0 for padding, (batch, start + n) or (batch, n); None for no padding.
        ids: position_ids that the caller gave, (batch, n): where they begin again, a document does. They are not
            otherwise believed.
        axes: Coordinates of a position.
        media: Positions (batch, n, axes) by images and videos; NaN where there are none. None for text alone.

    Raises:
        ValueError: The request states fewer positions or documents than the model reads tokens.
    """
    batch, count = shape
    real = _real(mask, batch, start, count)
    documents = _documents(stated, real, ids, start)
    total = max(start + count, sum(stated.documents))
    if stated.positions is not None:
        total = stated.positions.shape[1]
        if start + count > total:
            raise ValueError(
                f"positions must be those of all tokens that the model reads; got {total} for {start + count} tokens. "
                "Give one for each."
            )
        rows = np.broadcast_to(stated.positions, (batch, *stated.positions.shape[1:]))
        expected = np.broadcast_to(rows[:, start : start + count], (batch, count, axes)).astype(np.float64)
    elif media is not None:
        expected = media.astype(np.float64)
    else:
        counted = counted_within(documents, real)[:, start:] + float(stated.offset)
        expected = np.repeat(counted[..., None], axes, -1)
    expected = np.where(real[:, start:, None], expected, np.nan)
    return TracedCall(number, sequence, start, expected, real, documents, total)


def counted_within(documents: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Count of the real tokens before each one in its document, (batch, n)."""
    counted = np.maximum(np.cumsum(real, 1) - 1, 0)
    begins = np.diff(documents, axis=1, prepend=documents[:, :1] - 1) != 0
    first = np.where(begins, counted, 0)
    result: np.ndarray = counted - np.maximum.accumulate(first, 1)
    return result


def _real(mask: np.ndarray | None, batch: int, start: int, count: int) -> np.ndarray:
    """Mask (batch, start + n) of tokens that are not padding; tokens before a shorter mask count as real."""
    real = np.ones((batch, start + count), dtype=bool)
    if mask is not None and mask.ndim == 2 and mask.shape[0] == batch:
        own = mask[:, : start + count] != 0
        real[:, real.shape[1] - own.shape[1] :] = own
    return real


def _documents(stated: StatedRequest, real: np.ndarray, ids: np.ndarray | None, start: int) -> np.ndarray:
    """Number of the document of each token: as stated, or a new one where ids begin again within the call."""
    batch, total = real.shape
    if stated.documents:
        if sum(stated.documents) < total:
            raise ValueError(
                f"documents must hold every token of a row; got lengths that sum to {sum(stated.documents)} for "
                f"{total} tokens. Give the length of each."
            )
        numbers = np.repeat(np.arange(len(stated.documents)), stated.documents)[:total]
        return np.broadcast_to(numbers, (batch, total))
    documents = np.zeros((batch, total), dtype=np.int64)
    if ids is not None and ids.ndim == 2 and ids.shape[1] > 1 and real.all():
        again = np.zeros_like(documents)
        rows = np.broadcast_to(ids, (batch, ids.shape[1]))
        again[:, start + 1 :] = (rows[:, 1:] == 0) & (rows[:, :-1] >= 0)
        documents = np.cumsum(again, 1)
    return documents
