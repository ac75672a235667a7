"""Checks of padded and packed rows: a sequence gets the numbers that it gets alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.positions import documents, from_mask, packed
from posenc.testing import budgets
from posenc.testing.door_probe import head_width, last_position, moved_parameters, number_of_heads, sides
from posenc.testing.named_check import PAIRWISE, close, named_check
from posenc.testing.one_coordinate import one_coordinate

#: What stands in place of a token: large, so that whoever reads it shows.
JUNK = 4.0


@dataclass(frozen=True)
class Tokens:
    """Content and positions of rows.

    Args:
        q: Queries (rows, heads, n, d).
        k: Keys (rows, heads, n, d).
        x: Inputs of the layer (rows, n, width), or None.
        positions: Positions (rows, n).
        documents: Numbers of documents (rows, n), or None.
    """

    q: np.ndarray
    k: np.ndarray
    x: np.ndarray | None
    positions: np.ndarray
    documents: np.ndarray | None = None


@named_check(
    "A sequence must get the numbers that it gets alone, wherever padding or other documents stand in its row."
)
def padded_and_packed_rows(encoding: Encoding) -> None:
    line = one_coordinate(encoding)
    longest = min(5, last_position(line) + 1)
    lengths = (longest, max(1, longest - 2))
    sequences = [_sequence(line, length, seed) for seed, length in enumerate(lengths)]
    alone = [_effects(line, tokens) for tokens in sequences]
    for what, rows, indices in _layouts(sequences, lengths):
        for side, result in _effects(line, rows).items():
            for number, ((row, index), effects) in enumerate(zip(indices, alone, strict=True)):
                wanted, of_row = effects[side][0], result[row][:, index]
                of_row = of_row[:, :, index] if line.door in PAIRWISE else of_row
                budget = budgets.product(budgets.arithmetic(line), 256, 16 * budgets.rounding_size(wanted))
                close(f"sequence {number} in {what} ({side})", of_row, wanted, budget)


def _sequence(encoding: Encoding, length: int, seed: int) -> Tokens:
    """Draw one sequence in a row of its own."""
    rng = np.random.default_rng(seed)
    q, k = rng.standard_normal((2, 1, number_of_heads(encoding), length, head_width(encoding)))
    reads = isinstance(encoding, AttentionScore) and encoding.reads is not None
    x = rng.standard_normal((1, length, cast(Any, encoding).model_dim)) if reads else None
    return Tokens(q, k, x, np.arange(length)[None])


def _layouts(
    sequences: list[Tokens], lengths: tuple[int, ...]
) -> Iterator[tuple[str, Tokens, list[tuple[int, np.ndarray]]]]:
    """Yield rows that hold the sequences, padded or packed, with the row and indices of each."""
    longest = max(lengths)
    for what, first in (
        ("a batch padded on the left", lambda n: longest - n),
        ("a batch padded on the right", lambda n: 0),
    ):
        indices = [(row, first(length) + np.arange(length)) for row, length in enumerate(lengths)]
        mask = np.zeros((len(lengths), longest), bool)
        for row, index in indices:
            mask[row, index] = True
        yield what, _placed(sequences, indices, from_mask(mask)), indices
    starts = np.cumsum(lengths) - lengths
    indices = [(0, start + np.arange(length)) for start, length in zip(starts, lengths, strict=True)]
    rows = _placed(sequences, indices, packed(lengths)[None], documents(lengths)[None])
    yield "a row of packed documents", rows, indices


def _placed(
    sequences: list[Tokens],
    indices: list[tuple[int, np.ndarray]],
    positions: np.ndarray,
    numbers: np.ndarray | None = None,
) -> Tokens:
    """Put each sequence at its indices into rows of junk."""
    count, length = positions.shape
    first = sequences[0]
    q, k = (np.full((count, x.shape[1], length, x.shape[3]), JUNK) for x in (first.q, first.k))
    x = None if first.x is None else np.full((count, length, first.x.shape[-1]), JUNK)
    for tokens, (row, index) in zip(sequences, indices, strict=True):
        q[row][:, index], k[row][:, index] = tokens.q[0], tokens.k[0]
        if x is not None and tokens.x is not None:
            x[row, index] = tokens.x[0]
    return Tokens(q, k, x, positions, numbers)


def _effects(encoding: Encoding, tokens: Tokens) -> dict[str, np.ndarray]:
    """Effect of the encoding on tokens, (rows, heads, n, …), on each side that differs."""
    params, positions = moved_parameters(encoding) or None, tokens.positions
    if isinstance(encoding, AdditiveEncoding):
        return {"input": np.asarray(encoding.embed(positions, params))[:, None]}
    if isinstance(encoding, RotaryEncoding):
        rotations = {side: encoding.rotation(positions, params, role=cast(Any, side)) for side in sides(encoding)}
        return {side: np.asarray(rotation(tokens.q, layout="bhtd")) for side, rotation in rotations.items()}
    if isinstance(encoding, AttentionBias):
        return {"logits": np.asarray(encoding.matrix(positions, positions, params))}
    scores, x = cast(AttentionScore, encoding), tokens.x
    hidden = np.concatenate([x, x], 1) if x is not None and scores.reads == "both" else x
    packed_rows = (
        {"documents": (tokens.documents, tokens.documents)} if scores.gathers and tokens.documents is not None else {}
    )
    score = scores.score(tokens.q, tokens.k, positions, positions, params, hidden=hidden, **packed_rows)
    return {"logits": np.asarray(score)}
