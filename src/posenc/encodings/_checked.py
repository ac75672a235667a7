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
        bias, lib = self._bias(head, query, key, learned, dtype), query.lib
        if lib.name != "jax" or lib.concrete(head):
            return bias
        # JAX counts a negative index from the end and takes the last head for one beyond it.
        return lib.xp.where((head >= 0) & (head < self.heads), bias, float("nan"))

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
