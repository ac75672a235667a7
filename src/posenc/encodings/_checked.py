"""Biases and scores whose arguments are checked once, before they compute."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.doors import AttentionBias, AttentionScore, Params


@dataclass(frozen=True)
class CheckedBias(AttentionBias):
    """A bias computed by `_bias` from checked arguments."""

    def bias(
        self,
        head: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        dtype: Any = None,
    ) -> Array:
        head, query, key, learned, dtype = self.checked_call(head, query_positions, key_positions, params, dtype)
        if query.lib.concrete(head):
            return self._bias(head, query, key, learned, dtype)
        # Unread, a negative number would count from the end, and one beyond the last head is taken for the last by JAX
        # and ends a program of PyTorch.
        exists, where = (head >= 0) & (head < self.heads), query.lib.xp.where
        known = where(exists, head, 0)
        if known.ndim == 0 < max(query.array.ndim, key.array.ndim) - (self.axes > 1):
            known = known[None]  # PyTorch compiles no index by one number that is computed
        return where(exists, self._bias(known, query, key, learned, dtype), float("nan"))

    def _at_checked(self, head: Array, query: Positions, key: Positions, params: Params | None, dtype: Any) -> Array:
        if type(self).bias is not CheckedBias.bias:  # a subclass that computes another bias
            return super()._at_checked(head, query, key, params, dtype)
        return self._bias(head, query, key, self.checked(params), query.lib.result_dtype(dtype))

    @abc.abstractmethod
    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        """Bias of positions that broadcast against each other, in `dtype`."""


@dataclass(frozen=True)
class CheckedScore(AttentionScore):
    """A score computed by `_score` from checked arguments."""

    def score(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
    ) -> Array:
        checked = self.checked_call(q, k, query_positions, key_positions, params, hidden=hidden)
        return self._score(*checked, hidden)

    @abc.abstractmethod
    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        """Score of queries (*batch, h, n, d) and keys (*batch, h, m, d), with unchecked `hidden`."""
