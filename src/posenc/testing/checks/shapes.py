"""Checks of shapes: sequences, batches, nothing at all, one query, odd lengths, neighbours in a batch."""

from __future__ import annotations

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding
from posenc.testing.door_probe import (
    ANCHORS,
    SOME,
    heads_rotated,
    moved_parameters,
    number_of_heads,
    operates,
    probed_rows,
    sides,
    with_twelve_heads,
)
from posenc.testing.effects import called
from posenc.testing.named_check import PAIRWISE, ensure, named_check, same_but_for_rounding


@named_check("(n,) positions give n rows, also when n is odd or one.")
def shape_of_a_sequence(encoding: Encoding) -> None:
    for length in (1, 2, 7):
        _shaped(encoding, (length,))


@named_check("(batch, n) positions give a row for each, whatever the sizes.")
def shape_of_a_batch(encoding: Encoding) -> None:
    for shape in ((3, 4), (1, 5), (2, 1), (2, 3, 4)):
        if len(shape) < 3 or not operates(encoding):  # what a map makes of a vector is seen for one batch axis
            _shaped(encoding, shape)


@named_check("A prompt can be empty; its result must be empty.")
def empty_sequence(encoding: Encoding) -> None:
    _shaped(encoding, (0,))
    _shaped(encoding, (2, 0))
    ensure(probed_rows(encoding, []).shape[-2] == 0, "positions []: expected no rows.")


@named_check("The last shard of a data set can be empty.")
def empty_batch(encoding: Encoding) -> None:
    _shaped(encoding, (0, 4))


@named_check("Decoding has one query for each batch row, at its own position.")
def one_query_a_row(encoding: Encoding) -> None:
    """Decoding: one query a batch row, each at its own place, and five keys."""
    query_positions = np.array([[4], [2], [0]])
    key_positions = np.broadcast_to(np.arange(5), (3, 5))

    def among(rows: slice) -> np.ndarray:
        return np.asarray(
            called(encoding, query_positions[rows], key_positions[rows], moved_parameters(encoding) or None)
        )

    alone = np.stack([among(slice(i, i + 1))[0] for i in range(3)])
    same_but_for_rounding(encoding, "one query a row, rows together against rows alone", among(slice(None)), alone)


@named_check("A sequence must not see who shares its batch.")
def batch_mates_do_not_leak(encoding: Encoding) -> None:
    batch = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [1, 1, 4, 0]])
    for side in sides(encoding):
        together = probed_rows(encoding, batch, side=side)
        for index, row in enumerate(batch):
            alone = probed_rows(encoding, row, side=side)
            what = f"row {index} of a batch ({side}) against itself alone"
            same_but_for_rounding(encoding, what, together[index], alone)


@named_check("Caches and cross-attention have fewer queries than keys.", doors=PAIRWISE)
def queries_and_keys_of_unequal_number(encoding: Encoding) -> None:
    for lengths in ((2, 5), (5, 2)):
        query_positions, key_positions = (np.arange(length) for length in lengths)
        result = called(encoding, query_positions, key_positions, moved_parameters(encoding) or None)
        ensure(
            result.shape[-2:] == lengths,
            f"{lengths[0]} queries and {lengths[1]} keys: expected (..., {lengths}), got {result.shape}.",
        )


@named_check("Real models have head counts that are no power of two.", doors=PAIRWISE)
def twelve_heads(encoding: Encoding) -> None:
    twelve = with_twelve_heads(encoding)
    result = probed_rows(twelve, list(SOME))
    count = 12 if hasattr(encoding, "heads") else number_of_heads(encoding)
    ensure(
        result.shape == (count, len(SOME), len(ANCHORS)),
        f"{twelve!r}: expected {(count, len(SOME), len(ANCHORS))}, got {result.shape}.",
    )
    ensure(bool(np.isfinite(result).all()), f"{twelve!r}: expected finite numbers at every head.")


@named_check("The model's width is checked against the encoding's.", doors=("adds",))
def width_is_stated(encoding: Encoding) -> None:
    ensure(
        isinstance(encoding, AdditiveEncoding) and encoding.width >= 1,
        f"width: expected at least one channel, got {getattr(encoding, 'width', None)}.",
    )


def _shaped(encoding: Encoding, shape: tuple[int, ...]) -> None:
    """Fail unless positions of a shape give a result of the shape that belongs to it."""
    positions = np.arange(int(np.prod(shape))).reshape(shape) % 5
    for side in sides(encoding):
        result = probed_rows(encoding, positions, side=side)
        wanted = _wanted(encoding, shape, result.shape[-1], heads_rotated(encoding, side))
        ensure(result.shape == wanted, f"positions of shape {shape} ({side}): expected {wanted}, got {result.shape}.")


def _wanted(encoding: Encoding, shape: tuple[int, ...], last: int, own_heads: int | None) -> tuple[int, ...]:
    """Shape of the result for positions of a shape."""
    if isinstance(encoding, AdditiveEncoding):
        return (*shape, encoding.width)
    if encoding.door in PAIRWISE:
        return (*shape[:-1], number_of_heads(encoding), shape[-1], len(ANCHORS))
    return (*shape, last) if own_heads is None else (*shape[:-1], own_heads, shape[-1], last)


@named_check("Kernels ask for one number at a time or for any block of them.", doors=("biases",))
def bias_broadcasts(encoding: Encoding) -> None:
    """bias(head, query, key) broadcasts its three arguments like any elementwise function."""
    if not isinstance(encoding, AttentionBias):
        return
    params = moved_parameters(encoding) or None
    for shapes in (((), (), ()), ((2,), (2,), (2,)), ((3, 1), (4,), ()), ((1,), (5, 1), (1, 4))):
        head, query_positions, key_positions = (np.zeros(shape, np.int64) for shape in shapes)
        result = np.shape(encoding.bias(head, query_positions, key_positions, params))
        ensure(
            result == np.broadcast_shapes(*shapes),
            f"bias of shapes {shapes}: expected {np.broadcast_shapes(*shapes)}, got {result}.",
        )
