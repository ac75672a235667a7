"""How code applies ALiBi or T5's bias: the default `BiasUsage` is right, and a mistake changes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.inspect.rounding import NarrowType, narrowed


@dataclass(frozen=True)
class BiasUsage:
    """How code applies a bias of distance.

    Args:
        encoding: The bias.
        factor: Multiplies the bias.
        order: The bias of head `order[h]` stands where head h is meant; empty for h itself.
        query_shift: Added to positions of queries.
        swapped: Whether distances are taken from key to query.
        position_type: 16-bit type that positions are cast to.
        bias_type: 16-bit type that biases are cast to.
        product_factor: Multiplies the product of queries and keys besides.
        head_factors: Multiplies the bias of each head; empty for 1.
        unclamped: Whether far distances fall into buckets beyond the last one of T5.
    """

    encoding: ALiBi | T5Bias
    factor: float = 1.0
    order: tuple[int, ...] = ()
    query_shift: int = 0
    swapped: bool = False
    position_type: NarrowType | None = None
    bias_type: NarrowType | None = None
    product_factor: float = 1.0
    head_factors: tuple[float, ...] = ()
    unclamped: bool = False

    @property
    def of_shard(self) -> bool:
        """Whether `order` spreads the slopes of an encoding with fewer heads over all heads, as those of one shard."""
        return bool(self.order) and len(self.order) != self.encoding.heads

    def biases(self, query_positions: np.ndarray, key_positions: np.ndarray, table: np.ndarray | None) -> np.ndarray:
        """Biases that are added to the logits, (heads, n, m); `table` is the learned one of T5, (buckets, heads)."""
        if table is not None and isinstance(self.encoding, T5Bias):
            table = table[: self.encoding.buckets]  # code that makes fewer buckets reads the first rows
        params = {"table": table} if isinstance(self.encoding, T5Bias) else None
        if self.unclamped and table is not None and isinstance(self.encoding, T5Bias):
            buckets = self.buckets(query_positions, key_positions)
            biases = table[buckets].transpose(2, 0, 1) * self.encoding.scale
        else:
            used = self._used_positions(query_positions, key_positions)
            biases = np.asarray(self.encoding.matrix(*used, params, dtype=np.float64))
        biases = biases * self.factor
        if self.head_factors:
            biases = biases * np.array(self.head_factors)[:, None, None]
        biases = biases[list(self.order)] if self.order else biases
        return narrowed(biases, self.bias_type) if self.bias_type else biases

    def buckets(self, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray:
        """The bucket of T5 for each query and key, (n, m)."""
        if not isinstance(self.encoding, T5Bias):
            raise TypeError(f"encoding must be T5Bias to have buckets; got {self.encoding!r}. Ask for biases.")
        query_positions, key_positions = self._used_positions(query_positions, key_positions)
        relative = key_positions - query_positions[:, None]
        if self.unclamped:
            return _unclamped_buckets(self.encoding, relative)
        return np.asarray(self.encoding.bucket(relative))

    def _used_positions(self, query_positions: np.ndarray, key_positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        query_positions = query_positions + self.query_shift
        if self.position_type:
            both = (narrowed(part, self.position_type).astype(np.int64) for part in (query_positions, key_positions))
            query_positions, key_positions = both
        return (-query_positions, -key_positions) if self.swapped else (query_positions, key_positions)


def _unclamped_buckets(encoding: T5Bias, relative: np.ndarray) -> np.ndarray:
    """Buckets of T5 without the limit that keeps far keys in the last one of their direction."""
    count = encoding.buckets // 2 if encoding.bidirectional else encoding.buckets
    distance = np.abs(relative) if encoding.bidirectional else np.maximum(-relative, 0)
    exact = count // 2
    with np.errstate(divide="ignore"):
        share = np.log(np.maximum(distance, 1) / exact) / np.log(encoding.max_distance / exact)
    far = exact + (share * (count - exact)).astype(np.int64)
    buckets = np.where(distance < exact, distance, far) + (count * (relative > 0) if encoding.bidirectional else 0)
    return np.asarray(np.clip(buckets, 0, encoding.buckets - 1))
