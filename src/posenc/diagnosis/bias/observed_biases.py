"""Biases of distance in arrays: what was added to logits, or logits with the queries and keys that they came from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.logit_forms import LOGIT_NAMES, shown_logits
from posenc.diagnosis.named_arrays import Arrays, scalar
from posenc.diagnosis.rotation.comparison import ROUNDING, subsample
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias

#: Below this a logit is masked, however the mask was written.
MASKED = -1e4
#: Keys of a subsample.
KEYS = 96


@dataclass(frozen=True, eq=False)
class ObservedBiases:
    """Observed logits, their q·k part without any bias, and the positions of queries and keys.

    Args:
        logits: Logits, (heads, n, m).
        product: Product of queries and keys in them, (heads, n, m); zeros where the bias itself was observed.
        query_positions: Positions of queries, (n,).
        key_positions: Positions of keys, (m,).
        tolerance: How far rounding may change a logit, (heads, n, m).
        table: Learned table of T5, where it is given.
        causal: Whether later keys are masked, so that their biases count for nothing.
        head_dim: Channels of a head, where they are known.
        up_to_rows: Whether every row may differ by a number of its own, as probabilities show them.
    """

    logits: np.ndarray
    product: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    tolerance: np.ndarray
    table: np.ndarray | None
    causal: bool
    head_dim: int | None
    up_to_rows: bool = False

    def fits(self, usage: BiasUsage, exact: bool = True) -> bool:
        """Whether the usage explains every logit, up to a constant for each row, which softmax ignores."""
        if not exact:
            return self.subsample.fits(usage)
        gap = self.gap(usage)
        finite = np.isfinite(gap)
        if not (finite.sum(-1) > 1).any():
            return False
        if not (self.reads_table_off(usage) and usage.factor):
            gap = gap - _middle(gap)
        return bool(np.all(np.abs(gap[finite]) <= self.tolerance[finite]))

    def gap(self, usage: BiasUsage) -> np.ndarray:
        """Logits minus q·k and the biases of the usage, (heads, n, m); NaN where they are masked."""
        finite = np.isfinite(self.logits) & (self.logits > MASKED)
        if self.causal:
            finite &= self.key_positions <= self.query_positions[:, None]
        rest = np.where(finite, self.logits - usage.product_factor * self.product, np.nan)
        if self.reads_table_off(usage):
            buckets = usage.buckets(self.query_positions, self.key_positions)
            rest = self._less_own_key(rest) if self.up_to_rows else rest
            return _less_its_bucket(rest, buckets) if usage.factor else rest
        return np.asarray(rest - usage.biases(self.query_positions, self.key_positions, self.table))

    def _less_own_key(self, rest: np.ndarray) -> np.ndarray:
        """Subtract from each row its value at the query's own position; NaN where that is not shown."""
        own = self.key_positions == self.query_positions[:, None]
        shown = own.any(1) & np.isfinite(rest[:, np.arange(len(own)), own.argmax(1)]).all(0)
        less = rest - rest[:, np.arange(len(own)), own.argmax(1)][..., None]
        return np.where(shown[:, None], less, np.nan)

    def reads_table_off(self, usage: BiasUsage) -> bool:
        """Whether T5's table is not given, so that any one value per bucket explains the logits."""
        return isinstance(usage.encoding, T5Bias) and self.table is None

    def rows_shifted(self, usage: BiasUsage) -> bool:
        """Whether rows differ from the usage by a constant each, by more than rounding."""
        middle = _middle(self.gap(usage))
        return bool(np.any(np.abs(middle[np.isfinite(middle)]) > self.tolerance.max()))

    def width(self) -> str:
        """Heads, queries and keys that were observed, in words."""
        heads, queries, keys = self.logits.shape
        return f"biases of {heads} heads, {queries} queries and {keys} keys"

    def numbers(self) -> dict[str, np.ndarray]:
        """The arrays that must hold numbers; an infinity masks a logit."""
        return {"bias or logits": np.where(np.isinf(self.logits), 0.0, self.logits), "q·k": self.product}

    def describe_worst(self, usage: BiasUsage) -> str:
        """Describe the largest difference from the biases that `usage` gives: how much, which head, query and key."""
        gap = self.gap(usage)
        gap = np.abs(gap if self.reads_table_off(usage) else gap - _middle(gap))
        head, query, key = index = np.unravel_index(int(np.nanargmax(gap)), gap.shape)
        return (
            f"off by {gap[index]:.6g} in head {head}, query at {self.query_positions[query]}, key at "
            f"{self.key_positions[key]}, where rounding allows {self.tolerance[index]:.2g}"
        )

    @cached_property
    def subsample(self) -> ObservedBiases:
        """Sample of queries and keys for a quick check: a usage that does not fit it does not fit the whole."""
        rows = subsample(self.query_positions)
        own = np.flatnonzero(np.isin(self.key_positions, self.query_positions[rows]))
        columns = np.union1d(np.linspace(0, len(self.key_positions) - 1, KEYS).astype(int), own)
        arrays = {name: getattr(self, name)[:, rows][:, :, columns] for name in ("logits", "product", "tolerance")}
        query_positions, key_positions = self.query_positions[rows], self.key_positions[columns]
        return replace(self, query_positions=query_positions, key_positions=key_positions, **arrays)


def observed_biases(
    arrays: Arrays, encoding: ALiBi | T5Bias, logit_factor: float, causal: bool, as_stored: bool = False
) -> ObservedBiases:
    """Collect the bias in named arrays; with `as_stored`, a bfloat16 bias may be off by bfloat16 rounding.

    Raises:
        ValueError: The arrays do not fit together, or show no bias.
    """
    name = next((name for name in ("bias", *LOGIT_NAMES) if name in arrays), "")
    if not name:
        raise ValueError(
            f"actual must hold bias, or q, k and logits, for {type(encoding).__name__}; got {', '.join(arrays)}. "
            "Dump one of these."
        )
    shown = None if name == "bias" else shown_logits(arrays)
    values = arrays[name].values if shown is None else np.where(shown.visible, shown.values, -np.inf)
    logits = _by_head(name, values, encoding.heads)
    product, size, head_dim = (0.0, 0.0, None) if shown is None else _product(arrays, logits.shape, logit_factor)
    queries, keys = logits.shape[1:]
    query_positions, key_positions = _positions(arrays, "query", queries), _positions(arrays, "key", keys)
    if queries != keys and not {"query_positions", "positions"} & set(arrays):
        raise ValueError(
            f"query_positions must be given where queries and keys differ in number; got {queries} and {keys}. "
            "Give both."
        )
    unmasked = np.where(np.isfinite(logits) & (logits > MASKED), np.abs(logits), 0.0)
    # A bias that is rounded to bfloat16 before it is added is a mistake, and no rounding of a result.
    exact = name == "bias" and arrays[name].dtype == "bfloat16" and not as_stored
    dtype = "float32" if exact else arrays[name].dtype
    tolerance = ROUNDING[dtype] * (unmasked.max(-1, keepdims=True) + size) + 1e-9
    if shown is not None and shown.up_to_rows:
        tolerance = 2 * (tolerance + shown.rounding)
    table = arrays["table"].values.astype(np.float64) if "table" in arrays and isinstance(encoding, T5Bias) else None
    if table is not None and table.shape != encoding.shapes["table"]:
        raise ValueError(f"table must have shape {encoding.shapes['table']}, buckets and heads; got {table.shape}.")
    product, tolerance = (np.broadcast_to(part, logits.shape) for part in (product, tolerance))
    observed = ObservedBiases(logits, product, query_positions, key_positions, tolerance, table, causal, head_dim)
    return replace(observed, up_to_rows=shown is not None and shown.up_to_rows)


def _less_its_bucket(rest: np.ndarray, buckets: np.ndarray) -> np.ndarray:
    """Subtract from each number the midpoint of its bucket's range, head by head."""
    flat, bucket = rest.reshape(len(rest), -1), buckets.reshape(-1)
    order = np.argsort(bucket, kind="stable")
    starts = np.flatnonzero(np.diff(bucket[order], prepend=bucket[order][0] - 1))
    least, most = (
        end.reduceat(np.where(np.isfinite(flat), flat, none)[:, order], starts, axis=1)
        for end, none in ((np.minimum, np.inf), (np.maximum, -np.inf))
    )
    with np.errstate(invalid="ignore"):
        middle = (least + most) / 2
    number = np.searchsorted(bucket[order][starts], bucket)
    return np.asarray((flat - middle[:, number]).reshape(rest.shape))


def _middle(gap: np.ndarray) -> np.ndarray:
    """Midpoint of the least and the largest finite number of each row."""
    low = np.where(np.isfinite(gap), gap, np.inf).min(-1, keepdims=True)
    high = np.where(np.isfinite(gap), gap, -np.inf).max(-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray((low + high) / 2)


def _by_head(name: str, array: np.ndarray, heads: int) -> np.ndarray:
    """Array as float64 (heads, n, m), without a leading batch axis of 1."""
    by_head = array[0] if array.ndim == 4 and len(array) == 1 else array
    by_head = by_head[None] if by_head.ndim == 2 and heads == 1 else by_head
    if by_head.ndim != 3 or len(by_head) != heads:
        raise ValueError(
            f"{name} must have shape ({heads}, n, m), a matrix for every head; got {array.shape}. "
            "Give one row of the batch, all heads."
        )
    return by_head.astype(np.float64)


def _product(arrays: Arrays, shape: tuple[int, ...], logit_factor: float) -> tuple[np.ndarray, np.ndarray, int]:
    """scale·q·k, (heads, n, m); the size that its rounding is relative to; and the width of a head."""
    missing = [name for name in ("q", "k") if name not in arrays]
    if missing:
        raise ValueError(f"actual must hold q, k and logits together; got no {missing[0]}. Give it, or bias alone.")
    q, k = (_by_head(name, arrays[name].values, shape[0]) for name in ("q", "k"))
    if q.shape[-1] != k.shape[-1] or (q.shape[1], k.shape[1]) != shape[1:]:
        raise ValueError(
            f"logits must have shape (heads, n, m) for q (heads, n, dim) and k (heads, m, dim); got {shape}."
        )
    head_dim = q.shape[-1]
    scale = scalar(arrays, "scale", logit_factor * head_dim**-0.5)
    size = np.linalg.norm(q, axis=-1)[..., None] * np.linalg.norm(k, axis=-1)[:, None] * abs(scale)
    return q @ k.swapaxes(-1, -2) * scale, size, head_dim


def _positions(arrays: Arrays, role: str, count: int) -> np.ndarray:
    side_positions = arrays.get(f"{role}_positions") or arrays.get("positions")
    positions = np.arange(count) if side_positions is None else side_positions.values.reshape(-1)
    if len(positions) != count or np.any(positions != np.floor(positions)):
        raise ValueError(
            f"{role}_positions must hold a whole number for each of {count}; got {positions.shape}. "
            "Give the positions of these rows."
        )
    return np.asarray(positions.astype(np.int64))
