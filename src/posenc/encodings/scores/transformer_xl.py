"""Transformer-XL: a sinusoid of the distance, scored by the query and by learned vectors that all queries share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library, remembered
from posenc.core.checked_positions import Positions, checked
from posenc.core.declared_fields import Base, EvenWidth, Heads, Width
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._layers import blocks, joined
from posenc.encodings.scores._by_distance import ByDistance, DistanceTerms
from posenc.frequencies import Geometric
from posenc.phase import cos_sin

#: Sinusoids of how many distances are made at once.
DISTANCES = 1024


@dataclass(frozen=True)
class TransformerXL(ByDistance):
    """score(m, n) = (q_m · r_{m-n}W_R + u · k_n + v · r_{m-n}W_R) / √dim, the terms b, c and d of the source.

    Dai et al. 2019, arXiv:1901.02860, §3.3. r_p is the sinusoid (sin ω_0p … sin ω_{w-1}p, cos ω_0p … cos ω_{w-1}p) of
    width model_dim = 2w, ω_i = base^(-2i/model_dim); m is the query's position, n the key's; attention adds term a,
    q·k, itself.

    q: (*batch, heads, n, dim), k: (*batch, heads, m, dim); positions (*batch, n) and (*batch, m), any, also fractions;
    params["W_R"] (heads, model_dim, dim), params["u"] and params["v"] (heads, dim). Result in float32 at least.

    Args:
        dim: Channels of a head.
        heads: Heads of the layer.
        model_dim: Width of the sinusoid, even.
        base: The b of ω_i = b^(-2i/model_dim), in radians per step.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> encoding = TransformerXL(dim=2, heads=1, model_dim=2)
        >>> params = {"W_R": np.eye(2)[None], "u": np.zeros((1, 2)), "v": np.zeros((1, 2))}
        >>> q = np.array([[[[2**0.5, 0.0]]]])
        >>> encoding.score(q, q.repeat(3, 2), [3], [1, 2, 3], params).round(4).tolist()  # sin 2, sin 1, sin 0
        [[[[0.9093, 0.8415, 0.0]]]]
    """

    dim: Width
    heads: Heads
    model_dim: EvenWidth
    base: Base = 10_000.0

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("model_dim", self.heads * self.model_dim * self.dim)

    @cached_property
    def frequencies(self) -> Geometric:
        """How fast each pair of the sinusoid rotates."""
        return Geometric(self.model_dim, self.base)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"W_R": (self.heads, self.model_dim, self.dim), "u": (self.heads, self.dim), "v": (self.heads, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """N(0, 0.02²), as the authors' code draws them."""
        return {name: rng.standard_normal(shape) * 0.02 for name, shape in self.shapes.items()}

    @property
    def changes_within(self) -> None:
        return None

    def _terms(self, q: Array, k: Array, x: Array, steps: Positions, learned: Params) -> DistanceTerms:
        lib, count = steps.lib, steps.array.shape[0]
        terms = DistanceTerms(told=k, of_all=learned["u"][:, None, :], factor=1 / math.sqrt(self.dim))
        if q.shape[-2] == 1 and steps.bounds is not None:
            return terms._replace(of_one_query=self._of_one_query(q, steps, learned))
        made = (self._vectors(checked(-steps.array[some]), q.dtype, learned) for some in blocks(count, DISTANCES, lib))
        return terms._replace(asked=q + learned["v"][:, None, :], of_queries=joined(made, -2, count, lib))

    def _vectors(self, steps: Positions, dtype: Any, learned: Params) -> Array:
        """The projected sinusoid of some distances m - n, (heads, distances, dim)."""
        cosine, sine = cos_sin(steps, self.frequencies, dtype)
        return steps.lib.xp.concatenate([sine, cosine], -1) @ learned["W_R"] / math.sqrt(self.dim)

    def _score(self, q: Array, k: Array, query: Positions, key: Positions, learned: Params, hidden: Array) -> Array:
        terms = self._products(q, self._cos_sin(query, q.dtype), self._cos_sin(key, k.dtype), learned, query.lib)
        return (terms + learned["u"][:, None, :] @ k.swapaxes(-1, -2)) / math.sqrt(self.dim)

    def _products(
        self, q: Array, of_query: tuple[Array, Array], of_key: tuple[Array, Array], learned: Params, lib: Library
    ) -> Array:
        """(q + v) · r_{m-n}W_R, (*batch, h, n, m), from cosines and sines at m and n; one query may have several m."""
        xp, half = lib.xp, self.model_dim // 2
        asked = (q + learned["v"][:, None, :]) @ learned["W_R"].swapaxes(-1, -2)
        asked_sine, asked_cosine = asked[..., :half], asked[..., half:]
        # r of a difference is a rotation of r of the key, so the query's position turns what is asked, and no vector
        # is made for each pair of positions: sin(m-n) = sin m cos n - cos m sin n, cos(m-n) = cos m cos n + sin m sin
        # n.
        cosine, sine = of_query
        of_cosine = asked_sine * sine + asked_cosine * cosine
        of_sine = asked_cosine * sine - asked_sine * cosine
        cosine, sine = of_key
        return xp.concatenate([of_cosine, of_sine], -1) @ xp.concatenate([cosine, sine], -1).swapaxes(-1, -2)

    def _of_one_query(self, q: Array, steps: Positions, learned: Params) -> Array:
        """(q + v) · r_{m-n}W_R / √dim of one query at consecutive distances, (*batch, h, 1, distances).

        The query stands at the nearest distance of each block of about √distances, and keys at the steps within a
        block: sinusoids of so few distances are made, the same in every step of decoding.
        """
        lib, count, nearest = steps.lib, steps.array.shape[0], -int((steps.bounds or (0, 0))[1])
        size = 1 << (count.bit_length() + 1) // 2
        of_blocks, of_steps = (nearest, size, -(-count // size)), (0, -1, size)
        of_query, of_key = (
            tuple(lib.constant(rows_of_sinusoid(self.frequencies, *places), q.dtype))
            for places in (of_blocks, of_steps)
        )
        products = self._products(q, of_query, of_key, learned, lib) / math.sqrt(self.dim)
        flat = products.reshape((*products.shape[:-2], 1, products.shape[-2] * size))
        return lib.xp.flip(flat[..., :count], (-1,))

    def _cos_sin(self, positions: Positions, dtype: Any) -> tuple[Array, Array]:
        """Cosine and sine of every position and frequency, with an axis for the heads."""
        cosine, sine = cos_sin(positions, self.frequencies, dtype)
        return cosine[..., None, :, :], sine[..., None, :, :]


@remembered(4)
def rows_of_sinusoid(frequencies: Geometric, first: int, step: int, count: int) -> np.ndarray:
    """Cosines and sines at first, first + step, …, as float64; shape (2, count, pairs)."""
    return np.stack(cos_sin(checked(first + step * np.arange(count)), frequencies, np.float64))


ROW = Row(
    TransformerXL,
    (TransformerXL(dim=4, heads=3, model_dim=8), TransformerXL(dim=6, heads=2, model_dim=10, base=100.0)),
    "Dai et al. 2019, arXiv:1901.02860",
    ("RelPartialLearnableMultiHeadAttn", "XLNetRelativeAttention", "RelPositionMultiHeadedAttention (Conformer)"),
    "For models with a memory of earlier segments, and speech encoders.",
)
