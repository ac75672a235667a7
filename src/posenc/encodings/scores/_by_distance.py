"""Scores from products with one vector for each distance; consecutive positions need no look-up for each pair."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import NamedTuple, final

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.checked_content import content, inputs
from posenc.core.checked_positions import Positions, checked
from posenc.core.doors import Params
from posenc.encodings._checked import CheckedScore


class DistanceTerms(NamedTuple):
    """Terms of a score asked_m·of_queries[n - m] + factor·told_n·(of_keys[n - m] + of_all), n the key's position.

    A term that an encoding does not have is None.

    Attributes:
        asked: Vectors of the queries, (*batch, h, n, width).
        of_queries: A vector for each distance, (h or 1, distances, width).
        of_one_query: asked · of_queries of a single query, (*batch, h, 1, distances), in place of both.
        told: The keys, (*batch, h, m, dim).
        of_keys: A vector for each distance, (h or 1, distances, width).
        of_all: The vector that is asked of the key at every distance, (h, 1, dim).
        factor: Number by which the products of keys are multiplied.
        of_values: What the output gains for a weight at each distance, (distances, dim).
    """

    asked: Array = None
    of_queries: Array = None
    of_one_query: Array = None
    told: Array = None
    of_keys: Array = None
    of_all: Array = None
    factor: float = 1.0
    of_values: Array = None


@dataclass(frozen=True)
class ByDistance(CheckedScore):
    """Base of scores whose terms are products of a vector at the query or key with one vector for each distance."""

    @property
    @abc.abstractmethod
    def changes_within(self) -> tuple[int, int] | None:
        """Least and greatest n - m, key minus query position; distances beyond share the vectors of these.

        None where every distance has its own.
        """

    @abc.abstractmethod
    def _terms(self, q: Array, k: Array, x: Array, steps: Positions, learned: Params) -> DistanceTerms:
        """Compute terms for distances `steps` = n - m; q and k in float32 at least, x the inputs `reads` names."""

    @final
    def distance_terms(
        self, q: Array, k: Array, least: int, count: int, params: Params | None = None, *, hidden: Array | None = None
    ) -> DistanceTerms:
        """Compute the terms for `count` consecutive distances n - m from `least` on; q, k and hidden as for `score`.

        A pair at distance s reads row s - least of the tables, or the first or last where `changes_within` ends.
        """
        learned, dim = self.checked(params), getattr(self, "dim", None)
        heads = getattr(self, "heads", None)
        lib = arrays.library(arrays.floats("q", q), arrays.floats("k", k), *learned.values())
        q, k = content("q", q, dim, heads, lib), content("k", k, dim, heads if dim else None, lib)
        x = None if self.reads is None else inputs(hidden, q, int(getattr(self, "model_dim")))  # noqa: B009
        wide = {name: lib.astype(value, q.dtype) for name, value in learned.items()}
        return self._terms(q, k, x, checked(lib.arange(count) + least), wide)
