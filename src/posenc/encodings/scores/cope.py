"""Contextual position encoding: a position counts what the query chooses to count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc import _check
from posenc._array import Array
from posenc.checked_positions import Positions
from posenc.declared_fields import Whole, Width
from posenc.doors import Claim, Documents, Params, Scores
from posenc.positions.sums_between import each_once, from_last, reached, sigmoid
from posenc.row import Row


@dataclass(frozen=True)
class CoPE(Scores):
    """score(m, n) = (1-w)·q_m·table[a] + w·q_m·table[a+1], a + w = min(Σ σ(q_m·k_l / √dim), rows - 1) over keys l from
    n to m.

    Golovneva et al. 2024, arXiv:2405.18719, eq. 3 to 5, with the scaled gates and the unscaled q·table of its code.
    Causal by its definition: a key behind the query has the empty sum, row 0.
    Keys may stand in any order: give all of the sequence, each position once, and padding behind the tokens, as
    `positions.from_mask` numbers it. documents: of the queries and of the keys, numbers in the shape of their
    positions, where a row holds several.

    dim: channels of a head.     rows: length of the table; no position is counted beyond rows - 1 (`npos_max`).

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m); params["table"]
    (rows, dim), shared by all heads. Result in float32 at least. Raises ValueError or TypeError naming
    the argument.

    >>> q = np.ones((1, 1, 1, 1))
    >>> k = np.zeros((1, 1, 4, 1))  # every gate is σ(0) = 1/2
    >>> CoPE(dim=1, rows=3).score(q, k, [2], [0, 1, 2, 3], {"table": np.array([[0.0], [10.0], [20.0]])}).tolist()
    [[[[15.0, 10.0, 5.0, 0.0]]]]
    """

    dim: Width
    rows: Annotated[int, Whole(2, 1 << 20)] = 64

    claims: ClassVar[frozenset[Claim]] = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})
    gathers: ClassVar[bool] = True

    def _check_together(self) -> None:
        _check.size("rows", self.rows * self.dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.rows, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Zeros, as in appendix B: position says nothing at first."""
        _check.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
        return {"table": np.zeros((self.rows, self.dim))}

    def score(
        self,
        q: Array,
        k: Array,
        query: Array,
        key: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
        documents: Documents = None,
    ) -> Array:
        q, k, query, key, learned = self.checked_call(q, k, query, key, params, documents, hidden=hidden)
        lib, xp = query.lib, query.lib.xp
        counted = self._counted(q, k, query, key)
        values = lib.detach(counted)  # content of NaN selects row 0, and comes back in the step between two rows
        floor = xp.floor(xp.where(values == values, values, xp.zeros_like(values)))
        row = lib.astype(floor, lib.integer)
        products, step = q @ learned["table"].swapaxes(0, 1), counted - floor
        after = lib.take_along(products, xp.clip(row + 1, 0, self.rows - 1))
        guard = each_once(query, key, q.dtype)[..., None, :, None]
        return lib.take_along(products, row) * (1 - step) + after * step + guard

    def _counted(self, q: Array, k: Array, query: Positions, key: Positions) -> Array:
        """How much every query counts from every key to itself, 0 … rows - 1; shape (*batch, heads, n, m)."""
        gates = sigmoid(q @ k.swapaxes(-1, -2) / math.sqrt(self.dim))
        lib = query.lib
        gates = gates * lib.astype(reached(query, key), q.dtype)[..., None, :, :]
        return lib.xp.clip(from_last(gates, key), 0, self.rows - 1)


ROW = Row(
    CoPE,
    (CoPE(dim=4, rows=5), CoPE(dim=3)),
    "Golovneva et al. 2024, arXiv:2405.18719",
    ("CoPE (x-transformers)", "attn_use_cope"),
    "For decoders that must count words or sentences, not tokens.",
)
