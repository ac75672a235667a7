"""The order of rows in words: heads that were exchanged, and channels that moved in each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posenc.core.rotation import Pairing
from posenc.models.checkpoints.head_shape import HeadShape
from posenc.models.checkpoints.row_permutation import channel_order

#: So many heads are listed one by one.
LISTED = 4
AS_THEY_WERE, TO_HALVES, TO_ADJACENT = "as they were", "from adjacent to halves", "from halves to adjacent"
GROUPS = "each group of heads with its own q, k and v"
KINDS = "all queries, then all keys, then all values"


class Heads(NamedTuple):
    """The heads of a tensor in the order of its rows.

    Args:
        labels: The name of each: "head 0", or "q 0", "k 0" and "v 0" where one tensor makes all three.
        dim: Rows of each.
        elsewhere: The names in the other order that projections of all three have; empty where there is none.
    """

    labels: tuple[str, ...]
    dim: int
    elsewhere: tuple[str, ...] = ()

    @property
    def rotates(self) -> np.ndarray:
        """Whether each head rotates: those of values do not."""
        return np.array([not label.startswith("v ") for label in self.labels])

    def order(self, move: np.ndarray) -> np.ndarray:
        """Return the order of all rows in which the channels of every rotating head are reordered by `move`."""
        orders = np.where(self.rotates[:, None], move, np.arange(self.dim))
        return (orders + self.dim * np.arange(len(self.labels))[:, None]).reshape(-1)


def heads_of(count: int, dim: int) -> Heads:
    """Describe `count` heads of one kind, of `dim` rows each."""
    return Heads(tuple(f"head {index}" for index in range(count)), dim)


def fused_heads(shape: HeadShape, *, grouped: bool) -> Heads:
    """Describe the heads of a fused projection: group by group, or all queries, then all keys, then all values."""
    each = shape.heads // shape.kv_heads
    groups = [
        label
        for group in range(shape.kv_heads)
        for label in (*(f"q {group * each + index}" for index in range(each)), f"k {group}", f"v {group}")
    ]
    kinds = sorted(groups, key=lambda label: "qkv".index(label[0]))
    here, elsewhere = (groups, kinds) if grouped else (kinds, groups)
    return Heads(tuple(here), shape.head_dim, tuple(elsewhere))


def by_kind(labels: Sequence[str]) -> bool:
    """Whether all queries come before all keys, and these before all values."""
    kinds = [label[0] for label in labels]
    return kinds == sorted(kinds, key="qkv".index)


def channel_moves(pairing: Pairing) -> dict[str, np.ndarray]:
    """Known ways to move the channels of a head, by name."""
    dim, width, start = pairing.dim, pairing.width, pairing.start
    moves = {}
    if width % 2 == 0:
        pair = Pairing("adjacent", dim, width, start), Pairing("halves", dim, width, start)
        moves = {TO_HALVES: channel_order(*pair), TO_ADJACENT: channel_order(*reversed(pair))}
    if width < dim and dim % 2 == 0:
        whole = Pairing("adjacent", dim, dim), Pairing("halves", dim, dim)
        words = f"over all {dim} channels of a head, of which {width} rotate"
        moves[f"{TO_HALVES} {words}"] = channel_order(*whole)
        moves[f"{TO_ADJACENT} {words}"] = channel_order(*reversed(whole))
    channels = np.arange(dim)
    if width < dim:
        moves[f"the first {width} channels of a head last"] = np.roll(channels, -width)
        moves[f"the last {width} channels of a head first"] = np.roll(channels, width)
    swapped = channels.copy()
    swapped[start : start + width] = np.roll(channels[start : start + width], width // 2)
    moves["the halves of each head exchanged"] = swapped
    moves["channels of each head in reverse"] = channels[::-1].copy()
    return moves


def heads_taken(order: np.ndarray, heads: Heads) -> np.ndarray | None:
    """The head that each head is taken from; None where rows of one come from several."""
    if len(order) != len(heads.labels) * heads.dim or (order < 0).any():
        return None
    taken = order.reshape(-1, heads.dim) // heads.dim
    return taken[:, 0] if (taken == taken[:, :1]).all() else None


def order_in_words(order: np.ndarray, heads: Heads, moves: Mapping[str, np.ndarray]) -> str:
    """An order of rows in words."""
    taken = heads_taken(order, heads)
    if taken is None:
        return _rows_in_words(order)
    inner = order.reshape(-1, heads.dim) % heads.dim
    words = [_heads_in_words(taken, heads), *_channels_in_words(inner, heads, moves)]
    return "; ".join(word for word in words if word)


def _rows_in_words(order: np.ndarray) -> str:
    """Describe an order that takes rows of one head from several."""
    moved = np.flatnonzero(order != np.arange(len(order)))
    return f"{len(moved)} of {len(order)} rows moved: row {moved[0]} is row {order[moved[0]]} of the first"


def _heads_in_words(taken: np.ndarray, heads: Heads) -> str:
    """Describe the heads that moved; "" where none did."""
    labels, moved = heads.labels, np.flatnonzero(taken != np.arange(len(taken)))
    if not len(moved):
        return ""
    if heads.elsewhere and heads.elsewhere == tuple(labels[index] for index in taken):
        return f"{GROUPS}, in place of {KINDS}" if by_kind(labels) else f"{KINDS}, in place of {GROUPS}"
    if len(moved) == 2 and taken[moved[0]] == moved[1] and taken[moved[1]] == moved[0]:
        return f"{labels[moved[0]]} and {labels[moved[1]]} exchanged"
    steps = (taken - np.arange(len(taken))) % len(taken)
    if (steps == steps[0]).all():
        return f"every head is the one {steps[0]} further on in the first"
    listed = [f"{labels[index]} is {labels[taken[index]]} of the first" for index in moved[:LISTED]]
    return ", ".join(listed) + (f" and {len(moved) - LISTED} more" if len(moved) > LISTED else "")


def _channels_in_words(inner: np.ndarray, heads: Heads, moves: Mapping[str, np.ndarray]) -> list[str]:
    """How channels moved in each head, with the heads that it concerns where it does not concern all that rotate."""
    heads_of_move: dict[str, list[int]] = {}
    for index, order in enumerate(inner):
        if not np.array_equal(order, np.arange(len(order))):
            known = (name for name, move in moves.items() if np.array_equal(order, move))
            heads_of_move.setdefault(next(known, _unknown(order)), []).append(index)
    rotating = np.flatnonzero(heads.rotates).tolist()
    return [
        name if which == rotating else f"{name} in {_listed([heads.labels[index] for index in which], heads.labels)}"
        for name, which in heads_of_move.items()
    ]


def _unknown(order: np.ndarray) -> str:
    channel = int(np.flatnonzero(order != np.arange(len(order)))[0])
    return f"channels of a head in another order, channel {channel} is channel {order[channel]} of the first"


def _listed(names: Sequence[str], labels: Sequence[str]) -> str:
    """List heads in words, all heads of one kind as "every q", for example."""
    kinds = [kind for kind in "qkv" if (own := [one for one in labels if one[0] == kind]) and set(own) <= set(names)]
    words = [f"every {kind}" for kind in kinds] + [name for name in names if name[0] not in kinds]
    return ", ".join(words[:LISTED]) + (f" and {len(words) - LISTED} more" if len(words) > LISTED else "")
