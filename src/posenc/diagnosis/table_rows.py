"""Rows of learned tables of positions in two checkpoints: shifted, cut, extended or of another model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from posenc.diagnosis.attention_tensors import Checkpoint, counterparts
from posenc.diagnosis.checkpoint_tables import OF_DISTANCES, OF_POSITIONS, OF_WINDOWS
from posenc.diagnosis.mistake import Finding
from posenc.models.checkpoints.stored_rows import NUMBERS, StoredTensor, leading_numbers, order_of_rows

#: The part of a table's rows that must follow one rule for it to be named.
MOST = 0.5
FIX = "Take the table of the first checkpoint row by row; to change its length: posenc.models.fitted_table."


def compare_table_rows(
    first: Checkpoint, second: Checkpoint, *, same_weights: bool, resized: bool
) -> tuple[tuple[Finding, ...], int, tuple[str, ...]]:
    """Compare learned tables of positions and distances; return findings, the number of tables, and notes on the rest.

    Args:
        first: The checkpoint that is meant.
        second: The checkpoint to check.
        same_weights: Whether other tensors hold the same numbers, so that a table of other numbers is a mistake.
        resized: Whether tables of patches are those of another grid, which are compared elsewhere.
    """
    endings = OF_DISTANCES + OF_WINDOWS + (() if resized else OF_POSITIONS)
    names = counterparts(first.tensors, second.tensors)
    findings, left, count = [], _alone(endings, names, first, second), 0
    for name, other in names.items():
        pair = first.tensors[name], second.tensors[other]
        unread = [one.dtype for one in pair if one.dtype not in NUMBERS]
        if name.endswith(endings) and unread:
            left.append(f"{name} of type {unread[0]}")
        elif name.endswith(endings):
            count += 1
            found = _compare(name, *map(_as_rows, pair))
            if found is None and not same_weights:
                left.append(f"{name} holds other numbers")
            elif found is None:
                sentence = f"{name} holds other numbers, and the weights of attention hold the same."
                findings.append(Finding("table of another model", sentence, FIX))
            findings += list(found or ())
    return tuple(findings), count, tuple(left)


def _alone(endings: tuple[str, ...], names: Mapping[str, str], first: Checkpoint, second: Checkpoint) -> list[str]:
    """Tables that one checkpoint has alone, or under a name that the other does not use, in words."""
    other = {*names.values()}
    of_first = [name for name in first.tensors if name.endswith(endings) and name not in names]
    of_second = [name for name in second.tensors if name.endswith(endings) and name not in other]
    where = "not looked for in a .gguf file" if second.is_gguf else "in the first alone"
    return [f"{name} {where}" for name in of_first] + [f"{name} in the second alone" for name in of_second]


def _as_rows(table: StoredTensor) -> StoredTensor:
    return table._replace(shape=(math.prod(table.shape[:-1]), table.shape[-1]))


def _compare(name: str, one: StoredTensor, other: StoredTensor) -> tuple[Finding, ...] | None:
    """Findings on two tables; None where the second holds other numbers."""
    if one.shape[1] != other.shape[1]:
        return None
    order = order_of_rows(leading_numbers(one), leading_numbers(other))
    known = np.flatnonzero(order >= 0)
    if one.shape == other.shape and np.array_equal(order, np.arange(len(order))):
        return ()
    if len(known) <= len(order) * MOST and one.shape == other.shape and name.endswith(OF_DISTANCES + OF_WINDOWS):
        heads = order_of_rows(leading_numbers(one, 1), leading_numbers(other, 1))
        if (heads >= 0).all():
            head = int(np.flatnonzero(heads != np.arange(len(heads)))[0])
            sentence = f"Heads of {name} are in another order: head {head} is head {heads[head]} of the first."
            return (Finding("order of heads", sentence, FIX),)
    if not len(known):
        return None
    return tuple(_findings(name, order, one.shape[0]))


def _findings(name: str, order: np.ndarray, rows: int) -> Iterator[Finding]:
    """Name the mistake in a table by the row of the first that each row holds, negative where none."""
    known = np.flatnonzero(order >= 0)
    steps, counts = np.unique(order[known] - known, return_counts=True)
    step, count = int(steps[counts.argmax()]), int(counts.max())
    has = f"{name} has {len(order)} rows" + (f" where {rows} are meant" if len(order) != rows else "")
    in_place = np.flatnonzero(order == np.arange(len(order)))
    if step and count > MOST * len(known):
        begin = int(known[0])
        sentence = f"{has}, shifted by {abs(step)}: row {begin} holds row {order[begin]} of the first."
        yield Finding("table shifted", sentence, FIX)
    elif len(known) < len(order) and np.array_equal(in_place, known):
        changed = np.flatnonzero(order < 0)
        where = (
            f"from row {changed[0]} on" if changed[-1] - changed[0] + 1 == len(changed) else f"in {len(changed)} rows"
        )
        sentence = f"{has}, of which {len(known)} are those of the first; {where} it holds other numbers."
        yield Finding("table extended" if len(order) > rows else "other rows in a table", sentence, FIX)
    elif len(order) < rows and len(in_place) == len(order):
        yield Finding("table cut", f"{has}, the first {len(order)} of them.", FIX)
    else:
        moved = int(np.flatnonzero(order != np.arange(len(order)))[0])
        held = f"row {order[moved]} of the first" if order[moved] >= 0 else "other numbers"
        yield Finding("order of rows", f"{has}, in another order: row {moved} holds {held}.", FIX)
