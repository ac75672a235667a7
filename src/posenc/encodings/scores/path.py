"""PaTH: the query is multiplied by a reflection-like matrix I - β·w·wᵀ for each token after the key, up to its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Heads, Real, Whole, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._layers import blocks, joined, uniform_layers
from posenc.encodings.scores._gathers import Gathers, PreparedKeys
from posenc.positions.ordered_keys import OrderedKeys
from posenc.positions.sums_between import over_keys, sigmoid

#: How many keys' reflections are composed at once: their matrices take as many numbers a key and head.
BLOCK = 32
#: Of how many heads the directions are filtered at once.
HEADS = 2


@dataclass(frozen=True)
class PaTH(Gathers):
    """score(m, n) = (q_m·H_m … H_{n+1} k_n - q_m·k_n) / √dim, H_s = I - β_s w_s w_sᵀ for every key s with n < s ≤ m.

    Yang et al. 2025, arXiv:2505.16381, as in the authors' flash-linear-attention. Both are read from x, the input of
    the layer, given as `hidden` with one vector a key: β_s = 2σ(beta_weight·x_s + beta_bias), and w_s is silu of a
    filter of `taps` steps over w_out·w_in·x, divided by its length. Attention adds q·k itself. A key that is not behind
    the query scores 0. Keys may stand in any order: give all of the sequence, each position once, and padding behind
    the tokens, as `positions.from_mask` numbers it. documents: of the queries and of the keys, numbers in the shape of
    their positions, where a row holds several.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim), hidden: (*batch, m, model_dim); positions (*batch, n) and
    (*batch, m); params "w_in" (rank, model_dim), "w_out" (heads, dim, rank), "filter" (heads, dim, taps), "beta_weight"
    (heads, model_dim), "beta_bias" (heads,). Result in float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        model_dim: Channels of the layer's input.
        rank: Width between w_in and w_out.
        taps: How many keys the filter reads, the last of which is its own (`conv_size`).
        epsilon: Added to the squared length by which w is divided.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> encoding = PaTH(dim=2, heads=1, model_dim=1, rank=1, taps=1, epsilon=0.0)
        >>> params = {"w_in": np.ones((1, 1)), "w_out": np.array([[[1.0], [0.0]]]), "filter": np.ones((1, 2, 1))}
        >>> params |= {"beta_weight": np.zeros((1, 1)), "beta_bias": np.zeros(1)}  # H projects on the second channel
        >>> q, k, x = np.full((1, 1, 1, 2), 2**0.5), np.array([[[[1.0, 10.0]] * 3]]), np.ones((1, 3, 1))
        >>> encoding.score(q, k, [1], [0, 1, 2], params, hidden=x).round(12).tolist()
        [[[[-1.0, 0.0, 0.0]]]]
    """

    dim: Width
    heads: Heads
    model_dim: Width
    rank: Width = 32
    taps: Annotated[int, Whole(1, 64)] = 3
    epsilon: Annotated[float, Real(0.0, 1.0)] = 1e-6

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})
    reads: ClassVar = "key"

    def _check_together(self) -> None:
        validation.size("dim", self.heads * self.dim * (self.rank + self.taps))
        validation.size("model_dim", self.model_dim * (self.rank + self.heads))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        low = {"w_in": (self.rank, self.model_dim), "w_out": (self.heads, self.dim, self.rank)}
        beta = {"beta_weight": (self.heads, self.model_dim), "beta_bias": (self.heads,)}
        return {**low, "filter": (self.heads, self.dim, self.taps), **beta}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw each layer uniformly within ±1/√(its inputs), PyTorch's rule, as the authors' layer alone does.

        Their language model then draws all of them anew, from N(0, 0.02²), with 0 for beta_bias.
        """
        return uniform_layers(rng, self.shapes, {"w_out": self.rank, "filter": self.taps}, self.model_dim)

    def of_keys(self, k: Array, x: Array, keys: OrderedKeys, learned: Params) -> tuple[Array, ...]:
        # What the reflections of a block take from a vector is u = A⁻¹ β w·vector, A = I + β (w·w) below the diagonal:
        # the reflection at s acts on what those before it have left. Of a key, nothing is taken up to its own place.
        made = self._directions(x, keys, learned), self._strengths(x, learned)
        # x may begin with inputs of keys before, which the filter reads.
        w, beta = (each[..., each.shape[-2] - k.shape[-2] :, :] for each in made)
        solved = joined(self._solved(k, w, beta, keys), -2, k.shape[-2], keys.key.lib)
        return k, w, solved[..., : -self.dim], solved[..., -self.dim :]

    def _solved(self, k: Array, w: Array, beta: Array, keys: OrderedKeys) -> Iterator[Array]:
        """Solve each block of reflections for what they subtract: from its keys, a column each, and from any vector."""
        lib, xp = keys.key.lib, keys.key.lib.xp
        sizes = blocks(k.shape[-2], BLOCK, lib)
        for block in sizes:
            own, columns, strength = w[..., block, :], w[..., block, :].swapaxes(-1, -2), beta[..., block, :]
            later = lib.astype(keys.later(block), k.dtype)[..., None, :, :]
            index = lib.arange(block.stop - block.start)
            unit = lib.astype(index[:, None] == index, k.dtype)
            chain = unit + strength * (own @ columns) * later
            of_keys = (own @ k[..., block, :].swapaxes(-1, -2)) * later
            missing = sizes[0].stop - (block.stop - block.start)  # of the last block, which may be smaller
            none = xp.broadcast_to(xp.zeros_like(own[..., :1]), (*own.shape[:-1], missing))
            yield xp.linalg.solve(chain, strength * xp.concatenate([of_keys, none, own], -1))

    def of_queries(self, q: Array, x: Array, query: Positions, prepared: PreparedKeys, learned: Params) -> Array:
        reached = query.lib.astype(prepared.keys.reached(query), q.dtype)[..., None, :, :]
        return reflect(q, prepared, reached)[0] * reached / math.sqrt(self.dim)

    def _directions(self, x: Array, keys: OrderedKeys, learned: Params) -> Array:
        """Directions w of every head and key, (*batch, heads, m, dim), filtered over the keys in order; of length 1."""
        lib, low = keys.key.lib, (x @ learned["w_in"].swapaxes(0, 1))[..., None, :, :]

        def of_heads(some: slice) -> Array:
            each = over_keys(low @ learned["w_out"][some].swapaxes(-1, -2), keys, learned["filter"][some])
            each = each * sigmoid(each)
            return each / lib.xp.sqrt((each * each).sum(-1)[..., None] + self.epsilon)

        return joined(map(of_heads, blocks(self.heads, HEADS, lib)), -3, self.heads, lib)

    def _strengths(self, x: Array, learned: Params) -> Array:
        """β of every head and key, from 0 to 2; shape (*batch, heads, m, 1)."""
        logits = x @ learned["beta_weight"].swapaxes(0, 1) + learned["beta_bias"]
        return 2 * sigmoid(logits.swapaxes(-1, -2))[..., None]


def reflect(q: Array, prepared: PreparedKeys, reached: Array) -> tuple[Array, Array]:
    """Reflect queries by each key that they reach, from the last to the first of the keys in `prepared`.

    Args:
        q: Queries, (*batch, heads, n, dim).
        prepared: Keys in order, which begin at a multiple of `BLOCK` of those that were prepared.
        reached: 1.0 where a query reaches a key, else 0.0, (..., n, m).

    Returns:
        q_m·H_m … H_{n+1} k_n - q_m·k_n for every pair that is reached, (*batch, heads, n, m), and what the queries
        have become before the first key, in the shape of q.
    """
    lib, (k, w, taken, left) = prepared.keys.key.lib, prepared.arrays
    seen, parts = q, []
    for block in blocks(k.shape[-2], BLOCK, lib)[::-1]:  # from the query back to the first key
        visible = (seen @ w[..., block, :].swapaxes(-1, -2)) * reached[..., block]
        lost = visible @ taken[..., block, : block.stop - block.start]
        parts.append((seen - q) @ k[..., block, :].swapaxes(-1, -2) - lost)
        seen = seen - visible @ left[..., block, :]
    return lib.xp.concatenate(parts[::-1], -1), seen


ROW = Row(
    PaTH,
    (
        PaTH(dim=4, heads=3, model_dim=6, rank=2),
        PaTH(dim=3, heads=2, model_dim=5, rank=4, taps=2, epsilon=0.01),
    ),
    "Yang et al. 2025, arXiv:2505.16381",
    ("PaTHAttention (flash-linear-attention)",),
    "For decoders that must track state along a text, instead of a rotation.",
)
