"""Contextual position encoding: a position counts what the query chooses to count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._layers import blocks
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.positions.ordered_keys import OrderedKeys

#: How many keys are counted at once.
BLOCK = 128


@dataclass(frozen=True)
class CoPE(Gathers):
    """score(m, n) = (1-w)·q_m·table[a] + w·q_m·table[a+1].

    The position is a + w = min(Σ σ(q_m·k_l / √dim), rows - 1) over the keys l from n to m, a whole and w below 1.

    Golovneva et al. 2024, arXiv:2405.18719, eq. 3 to 5, with the scaled gates and the unscaled q·table of its code.
    Causal by its definition: a key behind the query has the empty sum, row 0. Keys may stand in any order: give all of
    the sequence, each position once, and padding behind the tokens, as `positions.from_mask` numbers it. documents: of
    the queries and of the keys, numbers in the shape of their positions, where a row holds several.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m); params["table"]
    (rows, dim), shared by all heads. Result in float32 at least.

    Args:
        dim: Channels of a head.
        rows: Length of the table; no position is counted beyond rows - 1 (`npos_max`).

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> q = np.ones((1, 1, 1, 1))
        >>> k = np.zeros((1, 1, 4, 1))  # every gate is σ(0) = 1/2
        >>> CoPE(dim=1, rows=3).score(q, k, [2], [0, 1, 2, 3], {"table": np.array([[0.0], [10.0], [20.0]])}).tolist()
        [[[[15.0, 10.0, 5.0, 0.0]]]]
    """

    dim: Width
    rows: Annotated[int, Whole(2, 1 << 20)] = 64

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        validation.size("rows", self.rows * self.dim)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.rows, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Zeros, as in appendix B: position says nothing at first."""
        return {"table": np.zeros((self.rows, self.dim))}

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        return (k,)

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        lib, xp, table = query.lib, query.lib.xp, learned["table"]
        products = q @ table.swapaxes(0, 1)
        steps = q @ xp.concatenate([table[1:] - table[:-1], xp.zeros_like(table[:1])], 0).swapaxes(0, 1)
        counted, parts, keys = xp.zeros_like(q[..., :1]), [], prepared.arrays[0].shape[-2]
        # Keys from the last to the first, as a position counts them, until no query counts any further.
        for block in blocks(keys, BLOCK, lib)[::-1]:
            counted = counted[..., -1:] + xp.cumsum(self._gates(q, query, prepared, block), -1)
            parts.append(xp.flip(self._interpolated(counted, products, steps, lib), (-1,)))
            ends = lib.extremes(lib.detach(counted[..., -1:]))
            if ends is not None and ends[0] >= self.rows - 1:
                parts.append(xp.broadcast_to(products[..., -1:], (*products.shape[:-1], block.start)))
                break
        return xp.concatenate(parts[::-1], -1)

    def _interpolated(self, counted: Array, products: Array, steps: Array, lib: Library) -> Array:
        """Interpolate between a query's products with the two table rows around each counted position."""
        xp = lib.xp
        counted = xp.clip(counted, None, self.rows - 1)
        floor = xp.floor(xp.fmax(lib.detach(counted), xp.zeros_like(counted[..., :1])))  # row 0 for content of NaN
        row = lib.astype(floor, lib.integer)
        return lib.take_along(products, row) + (counted - floor) * lib.take_along(steps, row)

    def _gates(self, q: Array, query: Positions, prepared: PreparedKeys, block: slice) -> Array:
        """Gates 0 … 1 with which each query counts each key of a block, last key first; (*batch, heads, n, keys)."""
        lib, k, keys = query.lib, prepared.arrays[0][..., block, :], prepared.keys.part(block)
        gates = lib.sigmoid((q / math.sqrt(self.dim)) @ lib.xp.flip(k, (-2,)).swapaxes(-1, -2))
        return gates * lib.astype(lib.xp.flip(keys.reached(query), (-1,)), q.dtype)[..., None, :, :]


ROW = Row(
    CoPE,
    (CoPE(dim=4, rows=5), CoPE(dim=3)),
    "Golovneva et al. 2024, arXiv:2405.18719",
    ("CoPE (x-transformers)", "attn_use_cope"),
    "For decoders that must count words or sentences, not tokens.",
)
