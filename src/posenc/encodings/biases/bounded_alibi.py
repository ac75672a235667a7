"""ALiBi with a learned scale and a learned floor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Real
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.encodings.biases.alibi import slopes_of_heads
from posenc.positions.distance import steps


@dataclass(frozen=True)
class BoundedALiBi(CheckedBias):
    """bias(h, m, n) = max(-|scale| · slope_h · |m - n|, -|bound_h|), slope_h = 2^(-8(h+1)/heads).

    The slopes hold for any number of heads. `BoundedALiBi` of google-research/meliad (transformer/position_alibi.py);
    no paper. The scale is one number of the layer and starts at 1; the floor keeps far tokens from vanishing.

    Positions broadcast; distances in steps; params["scale"] (), params["bound"] (1,) or (heads,); the result has no
    unit.

    Args:
        heads: Heads of the layer.
        per_head: Whether each head has its own bound, or the layer one.
        initial_bound: Where the bound starts, as a number that is added to a logit.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"scale": np.array(2.0), "bound": np.array([5.0])}
        >>> BoundedALiBi(heads=8).matrix([4], [4, 2, 0, -9], params)[0].tolist()
        [[0.0, -2.0, -4.0, -5.0]]
    """

    per_head: bool = False
    initial_bound: Annotated[float, Real(0.0, 1e6)] = 1.0

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "learned", "symmetric"})

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"scale": (), "bound": (self.heads if self.per_head else 1,)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """A scale of 1 and a bound of `initial_bound`; nothing is drawn."""
        return {"scale": np.array(1.0), "bound": np.full(self.shapes["bound"], self.initial_bound)}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp = query.lib, query.lib.xp
        distance = xp.abs(steps(query, key, dtype))
        slopes = lib.constant(slopes_of_heads(self, "geometric"), distance.dtype)
        scale, bound = (xp.abs(lib.astype(learned[name], slopes.dtype)) for name in ("scale", "bound"))
        # Written with a minimum, so that a token's bias towards itself is 0.0 and not -0.0.
        fallen = xp.minimum(scale * slopes[head] * distance, bound[head if self.per_head else head * 0])
        return lib.astype(0.0 - fallen, dtype)


ROW = Row(
    BoundedALiBi,
    (BoundedALiBi(heads=8), BoundedALiBi(heads=3, per_head=True, initial_bound=0.25)),
    "no paper: google-research/meliad",
    ("BoundedALiBi (meliad)",),
    "For ALiBi whose far tokens must stay visible, with one parameter in all or one for each head.",
)
