"""Biases of distance as seen in arrays: what was added to logits, or logits with the queries and keys that they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.rotation_evidence import ROUNDING, few
from posenc.diagnosis.rotation.usage import cast
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias

#: Below this a logit is masked, however the mask was written.
MASKED = -1e4
#: Keys that a first look takes.
KEYS = 96
Arrays = Mapping[str, tuple[np.ndarray, str]]


@dataclass(frozen=True)
class BiasUse:
    """What is done with a bias of distance.

    factor: of every bias.   heads: what stands where head h is meant, `order[h]`; empty for h itself.
    query_shift: added to positions of queries.   swapped: query for key.   position_type, bias_type: cast to that type.
    root: what the product of queries and keys is multiplied by besides.
    """

    record: ALiBi | T5Bias
    factor: float = 1.0
    order: tuple[int, ...] = ()
    query_shift: int = 0
    swapped: bool = False
    position_type: str = ""
    bias_type: str = ""
    root: float = 1.0


class Seen(NamedTuple):
    """logits (heads, n, m), what of them is no bias (the same shape, or 0), positions, the table of T5 where it is given.

    causal: whether later keys are masked, so that their biases count for nothing.   width: of a head, where it is known.
    """

    logits: np.ndarray
    product: np.ndarray
    query: np.ndarray
    key: np.ndarray
    slack: np.ndarray
    table: np.ndarray | None
    causal: bool
    width: int | None

    def gap(self, use: BiasUse) -> np.ndarray:
        """What is left of the logits, (heads, n, m); NaN where nothing is to be seen."""
        there = np.isfinite(self.logits) & (self.logits > MASKED)
        if self.causal:
            there &= self.key <= self.query[:, None]
        rest = np.where(there, self.logits - use.root * self.product, np.nan)
        if isinstance(use.record, T5Bias) and self.table is None:
            return _beside_their_bucket(rest, self._buckets(use)) if use.factor else rest
        return np.asarray(rest - self.expected(use))

    def fits(self, use: BiasUse) -> bool:
        """Whether the use explains every logit, up to a number for each row, which no softmax sees."""
        gap = self.gap(use)
        seen = np.isfinite(gap)
        if not (seen.sum(-1) > 1).any():
            return False
        if not (isinstance(use.record, T5Bias) and self.table is None and use.factor):
            gap = gap - _middle(gap)
        return bool(np.all(np.abs(gap[seen]) <= self.slack[seen]))

    def expected(self, use: BiasUse) -> np.ndarray:
        """The biases of a use, (heads, n, m)."""
        query, key = self._places(use)
        record, params = use.record, None
        if isinstance(record, T5Bias):
            params = {"table": self.table}
        made = np.asarray(record.matrix(query, key, params, dtype=np.float64)) * use.factor
        if use.order:
            made = made[list(use.order)]
        return cast(made, use.bias_type) if use.bias_type else made

    def _places(self, use: BiasUse) -> tuple[np.ndarray, np.ndarray]:
        query, key = self.query + use.query_shift, self.key
        if use.position_type:
            query, key = (cast(places, use.position_type).astype(np.int64) for places in (query, key))
        return (-query, -key) if use.swapped else (query, key)

    def _buckets(self, use: BiasUse) -> np.ndarray:
        query, key = self._places(use)
        return np.asarray(use.record.bucket(key - query[:, None]))  # type: ignore[union-attr]


def _beside_their_bucket(rest: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """How far each number is from the middle of what its bucket holds, head by head."""
    flat, where = rest.reshape(len(rest), -1), buckets.reshape(-1)
    order = np.argsort(where, kind="stable")
    starts = np.flatnonzero(np.diff(where[order], prepend=where[order][0] - 1))
    least, most = (
        end.reduceat(np.where(np.isfinite(flat), flat, none)[:, order], starts, axis=1)
        for end, none in ((np.minimum, np.inf), (np.maximum, -np.inf))
    )
    with np.errstate(invalid="ignore"):
        middle = (least + most) / 2
    number = np.searchsorted(where[order][starts], where)
    return np.asarray((flat - middle[:, number]).reshape(rest.shape))


def _middle(gap: np.ndarray) -> np.ndarray:
    """Between the least and the largest of each row."""
    low = np.where(np.isfinite(gap), gap, np.inf).min(-1, keepdims=True)
    high = np.where(np.isfinite(gap), gap, -np.inf).max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((low + high) / 2)


def seen(arrays: Arrays, record: ALiBi | T5Bias, logit_factor: float, causal: bool) -> Seen:
    """What arrays show of a bias. Raises ValueError where they do not belong together."""
    name = "bias" if "bias" in arrays else "logits"
    given = arrays.get(name)
    if given is None:
        raise ValueError(
            f"second must hold bias, or q, k and logits, for {type(record).__name__}; got {', '.join(arrays)}. Dump one of these."
        )
    logits, dtype = _by_head(name, given[0], record.heads), given[1]
    product, size, width = _product(arrays, logits.shape, logit_factor) if name == "logits" else (0.0, 0.0, None)
    queries, keys = logits.shape[1:]
    query, key = (_places(arrays, role, count) for role, count in (("query", queries), ("key", keys)))
    if queries != keys and not {"query_positions", "positions"} & set(arrays):
        raise ValueError(f"query_positions must be given where there are other keys than queries; got {queries} and {keys}. Give both.")  # fmt: skip
    there = np.where(np.isfinite(logits) & (logits > MASKED), np.abs(logits), 0.0)
    slack = ROUNDING[dtype] * (there.max(-1, keepdims=True) + size) + 1e-9
    table = None
    if "table" in arrays and isinstance(record, T5Bias):
        table = arrays["table"][0].astype(np.float64)
        if table.shape != record.shapes["table"]:
            raise ValueError(f"table must have shape {record.shapes['table']}, buckets and heads; got {table.shape}.")
    whole = np.broadcast_to(product, logits.shape)
    return Seen(logits, whole, query, key, np.broadcast_to(slack, logits.shape), table, causal, width)


def _by_head(name: str, array: np.ndarray, heads: int) -> np.ndarray:
    """(heads, n, m); a leading axis of one batch row is left out."""
    found = array[0] if array.ndim == 4 and len(array) == 1 else array
    found = found[None] if found.ndim == 2 and heads == 1 else found
    if found.ndim != 3 or len(found) != heads:
        raise ValueError(
            f"{name} must have shape ({heads}, n, m), a matrix for every head; got {array.shape}. Give one row of the batch, all heads."
        )
    return found.astype(np.float64)


def _product(arrays: Arrays, shape: tuple[int, ...], logit_factor: float) -> tuple[np.ndarray, np.ndarray, int]:
    """scale·q·k, (heads, n, m); how large its rounding may be taken to be; and the width of a head."""
    missing = [name for name in ("q", "k") if name not in arrays]
    if missing:
        raise ValueError(f"second must hold q, k and logits together; got no {missing[0]}. Give it, or bias alone.")
    q, k = (_by_head(name, arrays[name][0], shape[0]) for name in ("q", "k"))
    if q.shape[-1] != k.shape[-1] or (q.shape[1], k.shape[1]) != shape[1:]:
        raise ValueError(
            f"logits must have shape (heads, n, m) for q (heads, n, dim) and k (heads, m, dim); got {shape}."
        )
    width = q.shape[-1]
    scale = float(arrays["scale"][0].reshape(-1)[0]) if "scale" in arrays else logit_factor * width**-0.5
    size = np.linalg.norm(q, axis=-1)[..., None] * np.linalg.norm(k, axis=-1)[:, None] * abs(scale)
    return q @ k.swapaxes(-1, -2) * scale, size, width


def _places(arrays: Arrays, role: str, count: int) -> np.ndarray:
    given = arrays.get(f"{role}_positions") or arrays.get("positions")
    found = np.arange(count) if given is None else given[0].reshape(-1)
    if len(found) != count or np.any(found != np.floor(found)):
        raise ValueError(
            f"{role}_positions must hold a whole number for each of {count}; got {found.shape}. Give the positions of these rows."
        )
    return np.asarray(found.astype(np.int64))


def glimpse(shown: Seen) -> Seen:
    """A few queries and keys of it: what does not fit these fits nothing."""
    rows, columns = few(shown.query), np.unique(np.linspace(0, len(shown.key) - 1, KEYS).astype(int))
    parts = {name: getattr(shown, name)[:, rows][:, :, columns] for name in ("logits", "product", "slack")}
    return shown._replace(query=shown.query[rows], key=shown.key[columns], **parts)


def shifted_rows(shown: Seen, use: BiasUse) -> bool:
    """Whether rows that fit differ by a number each all the same."""
    if isinstance(use.record, T5Bias) and shown.table is None:
        return False
    middle = _middle(shown.gap(use))
    return bool(np.any(np.abs(middle[np.isfinite(middle)]) > shown.slack.max()))
