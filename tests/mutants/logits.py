"""Broken biases and scores: each is `ALiBi`, `T5Bias` or `Shaw` with one mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mutants.bug import Bug
from posenc.core import arrays
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.scores.cope import CoPE
from posenc.encodings.scores.path import PaTH
from posenc.encodings.scores.shaw import Shaw
from posenc.positions.distance import steps


@dataclass(frozen=True)
class HeadIgnored(ALiBi):
    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        return super().bias(head * 0, query_positions, key_positions, params, dtype=dtype)


@dataclass(frozen=True)
class HeadsInOrder(ALiBi):
    """Whatever heads are asked for, the first ones answer."""

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        if hasattr(head, "detach"):
            return super().bias(
                head * 0 if head.ndim == 0 else head, query_positions, key_positions, params, dtype=dtype
            )
        head = np.asarray(head)
        return super().bias(
            np.arange(head.size).reshape(head.shape), query_positions, key_positions, params, dtype=dtype
        )


@dataclass(frozen=True)
class PowersOfTwo(ALiBi):
    def slopes(self) -> np.ndarray:
        return super().slopes()[: 1 << (self.heads.bit_length() - 1)]

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        if np.max(head, initial=0) >= len(self.slopes()):
            raise IndexError("no slope for this head")
        return super().bias(head, query_positions, key_positions, params, dtype=dtype)


@dataclass(frozen=True)
class Transposed(ALiBi):
    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        result = super().bias(head, query_positions, key_positions, params, dtype=dtype)
        return result.swapaxes(-1, -2) if result.ndim > 1 else result


@dataclass(frozen=True)
class AlwaysAMatrix(ALiBi):
    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        return super().bias(head, query_positions, key_positions, params, dtype=dtype)[None]


@dataclass(frozen=True)
class KeysAlone(ALiBi):
    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        with np.errstate(invalid="ignore"):
            query_positions = query_positions * 0
        return super().bias(head, query_positions, key_positions, params, dtype=dtype)


@dataclass(frozen=True)
class OneSided(ALiBi):
    """Keys ahead of the query are not biased, though symmetry is claimed."""

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        result = super().bias(head, query_positions, key_positions, params, dtype=dtype)
        return arrays.library(result).xp.where(
            arrays.as_array("key_positions", key_positions, like=result)
            > arrays.as_array("query_positions", query_positions, like=result),
            0 * result,
            result,
        )


@dataclass(frozen=True)
class QuietSymmetry(ALiBi):
    claims: ClassVar[Any] = frozenset({"relative", "streaming", "unlimited", "fractional"})


@dataclass(frozen=True)
class UnsignedDistance(T5Bias):
    """The distance in the positions' own unsigned type."""

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        if isinstance(query_positions, np.ndarray) and query_positions.dtype.kind == "u":
            with np.errstate(over="ignore"):
                key_positions = (key_positions - query_positions).astype(np.int64)
            query_positions = np.zeros_like(query_positions, np.int64)
        return super().bias(head, query_positions, key_positions, params, dtype=dtype)


@dataclass(frozen=True)
class NoContent(Shaw):
    def score(
        self, q: Any, k: Any, query_positions: Any, key_positions: Any, params: Any = None, *, hidden: Any = None
    ) -> Any:
        return super().score(0 * q + 1, k, query_positions, key_positions, params)


@dataclass(frozen=True)
class ValuesOfSoftmax(Shaw):
    def values(self, weights: Any, query_positions: Any, key_positions: Any, params: Any = None) -> Any:
        return super().values(weights + 0.125, query_positions, key_positions, params)


@dataclass(frozen=True)
class ScoreInHalf(Shaw):
    def score(
        self, q: Any, k: Any, query_positions: Any, key_positions: Any, params: Any = None, *, hidden: Any = None
    ) -> Any:
        if str(q.dtype) == "torch.bfloat16":
            params = {name: value.bfloat16().float() * 1.0 for name, value in params.items()}
            q = (q * q.shape[-1] ** -0.5).bfloat16().float() * q.shape[-1] ** 0.5
        return super().score(q, k, query_positions, key_positions, params)


@dataclass(frozen=True)
class FirstOfTheBatch(Shaw):
    """Every batch row is scored at the first row's places."""

    def score(
        self, q: Any, k: Any, query_positions: Any, key_positions: Any, params: Any = None, *, hidden: Any = None
    ) -> Any:
        if isinstance(query_positions, np.ndarray) and query_positions.ndim == 2 and query_positions.shape[0] > 1:
            query_positions = np.broadcast_to(query_positions[:1], query_positions.shape)
        return super().score(q, k, query_positions, key_positions, params)


@dataclass(frozen=True)
class DocumentsRunOn(PaTH):
    """Packed documents are taken for one long one."""

    def score(
        self,
        q: Any,
        k: Any,
        query_positions: Any,
        key_positions: Any,
        params: Any = None,
        *,
        hidden: Any = None,
        documents: Any = None,
    ) -> Any:
        if documents is not None:
            query_positions = key_positions = np.arange(k.shape[-2])
        return super().score(q, k, query_positions, key_positions, params, hidden=hidden)


@dataclass(frozen=True)
class PaddingCounted(CoPE):
    """Padding stands where the first token does."""

    def score(
        self,
        q: Any,
        k: Any,
        query_positions: Any,
        key_positions: Any,
        params: Any = None,
        *,
        hidden: Any = None,
        documents: Any = None,
    ) -> Any:
        if (
            isinstance(key_positions, np.ndarray)
            and key_positions.ndim == 2
            and key_positions.shape == query_positions.shape
            and (np.diff(key_positions) < 0).any()
        ):
            key_positions = key_positions - key_positions[:, :1] if documents is None else key_positions
        return super().score(q, k, query_positions, key_positions, params, documents=documents)


@dataclass(frozen=True)
class RootOfDistance(ALiBi):
    """-√|m - n|, whose slope is infinite at distance 0."""

    def bias(
        self, head: Any, query_positions: Any, key_positions: Any, params: Any = None, *, dtype: Any = None
    ) -> Any:
        head, query, key, _, dtype = self.checked_call(head, query_positions, key_positions, params, dtype)
        lib, distance = query.lib, steps(query, key, query.lib.real)
        root = lib.xp.sqrt(lib.xp.abs(distance))
        return lib.astype((0.0 - root) / lib.astype(head + 1, root.dtype), dtype)


BUGS = (
    Bug("the head is ignored", HeadIgnored(heads=4), "heads_differ"),
    Bug(
        "heads are numbered by their index in the array",
        HeadsInOrder(heads=4),
        "heads_can_be_chosen",
        ("score_mod_is_the_bias",),
    ),
    Bug("slopes only for powers of two", PowersOfTwo(heads=4), "twelve_heads"),
    Bug("queries and keys are exchanged", Transposed(heads=4), "queries_and_keys_of_unequal_number"),
    Bug("a single number is returned as a matrix", AlwaysAMatrix(heads=4), "bias_broadcasts"),
    Bug("query positions are ignored", KeysAlone(heads=4), "query_and_key_positions_are_both_used"),
    Bug("one side has no bias", OneSided(heads=4), "claim_symmetric"),
    Bug("symmetry holds but is not claimed", QuietSymmetry(heads=4), "claim_symmetric"),
    Bug("an unsigned distance", UnsignedDistance(heads=4), "integer_types_agree"),
    Bug(
        "a root without a slope at distance 0",
        RootOfDistance(heads=4),
        "gradients_are_finite_at_corners",
        ("jax_gradients_are_finite_at_corners",),
    ),
    Bug("content is ignored", NoContent(dim=4, clip=4), "score_reads_content"),
    Bug("values are not linear in the weights", ValuesOfSoftmax(dim=4, clip=4), "values_are_linear"),
    Bug("scores formed in bfloat16", ScoreInHalf(dim=4, clip=4), "score_of_half_content"),
    Bug(
        "packed documents are taken for one",
        DocumentsRunOn(dim=3, heads=2, model_dim=5, rank=4),
        "padded_and_packed_rows",
    ),
    Bug("padding comes before the tokens", PaddingCounted(dim=3), "padded_and_packed_rows"),
    Bug("all rows of a batch get the positions of the first", FirstOfTheBatch(dim=4, clip=4), "one_query_a_row"),
)
