"""ALiBi over several axes: a linear bias on the straight distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _window
from posenc.encodings._checked import CheckedBias
from posenc.encodings.biases.alibi import slopes_of_heads
from posenc.positions.distance import steps


@dataclass(frozen=True)
class GridALiBi(CheckedBias):
    """bias(h, m, n) = -slope_h · √(Σ_a (m_a - n_a)²), slope_h = 2^(-8(h+1)/heads) for a power of two of heads.

    2D-ALiBi of Fuller et al. 2023, arXiv:2311.00566 (CROMA), over two axes or more: the slopes of Press et al. 2022,
    arXiv:2108.12409, times the straight distance between two patches, not the sum over rows and columns. For another
    number of heads the slopes are those of `ALiBi(rule="paper")`, as in the authors' code.

    Positions (*batch, n, axes), also fractions, broadcast; distances in patches; the result has no unit. Computed in
    float64 if available.

    Args:
        heads: Heads of the layer.
        axes: Coordinates of a position.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> GridALiBi(heads=8).matrix([[0, 0]], [[0, 0], [0, 2], [3, 4]])[0].tolist()
        [[0.0, -1.0, -2.5]]
    """

    axes: Annotated[int, Whole(2, 16)] = 2

    claims = frozenset({"relative", "streaming", "unlimited", "fractional", "symmetric"})

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp = query.lib, query.lib.xp
        pairs = _window.coordinate_pairs(query, key, self.axes)
        sides = xp.stack([xp.abs(steps(m, n, lib.real)) for m, n in pairs], -1)
        # In units of the longest side: squares neither overflow nor vanish, and the root has a slope at distance 0.
        longest = xp.amax(sides, -1)
        somewhere = longest > 0
        unit = xp.where(somewhere, longest, 1.0)[..., None]
        distance = longest * xp.sqrt(xp.where(somewhere, ((sides / unit) ** 2).sum(-1), 1.0))
        return lib.astype(0.0 - lib.constant(slopes_of_heads(self), distance.dtype)[head] * distance, dtype)


ROW = Row(
    GridALiBi,
    (GridALiBi(heads=8), GridALiBi(heads=12), GridALiBi(heads=3, axes=3)),
    "Fuller et al. 2023, arXiv:2311.00566",
    ("2D-ALiBi (CROMA)", "get_2dalibi"),
    "For images that are larger than those of training, without parameters.",
)
