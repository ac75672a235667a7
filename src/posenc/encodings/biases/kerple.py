"""KERPLE: biases that fall with the logarithm or a power of the distance, learned for each head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.positions.distance import steps

#: The authors' code keeps every parameter at or above this.
FLOOR = 1e-2
#: The largest power of a distance whose negative is still a conditionally positive definite kernel.
STEEPEST = 2.0


@dataclass(frozen=True)
class _Kerple(CheckedBias):
    """A kernel of the distance with two parameters a head."""

    claims = frozenset({"relative", "streaming", "unlimited", "fractional", "learned", "symmetric"})

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"r1": (self.heads,), "r2": (self.heads,)}

    def _parts(
        self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any, most: float | None = None
    ) -> tuple[Array, Array, Array]:
        """r1 and r2 of the heads asked for, within their bounds; and |m - n|."""
        lib, distance = query.lib, query.lib.xp.abs(steps(query, key, dtype))
        r1 = lib.clamped(lib.astype(learned["r1"], distance.dtype), FLOOR)
        r2 = lib.clamped(lib.astype(learned["r2"], distance.dtype), FLOOR, most)
        return r1[head], r2[head], distance


@dataclass(frozen=True)
class KerpleLog(_Kerple):
    """bias(h, m, n) = -r1_h · ln(1 + r2_h · |m - n|), r1 and r2 at least 0.01.

    Chi et al. 2022, arXiv:2205.09921, the logarithmic kernel; the floor and the first values are those of the authors'
    code. A parameter below the floor acts as the floor and has no gradient: the authors' code writes the floor back
    into it before each step, which keeps it learning.

    Positions broadcast; distances in steps; params["r1"] and params["r2"] (heads,); the result has no unit.

    Args:
        heads: Heads of the layer.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"r1": np.array([2.0]), "r2": np.array([1.0])}
        >>> KerpleLog(heads=1).matrix([3], [3, 2, 0], params).round(4).tolist()
        [[[0.0, -1.3863, -2.7726]]]
    """

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """r1 uniform from 0 to 2 and r2 from 0 to 1, each raised to the floor, as the authors' code draws them."""
        return _drawn(rng, self.heads, r1=2.0, r2=1.0)

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, (r1, r2, distance) = query.lib, self._parts(head, query, key, learned, dtype)
        # Taken from zero, so that a token's bias towards itself is 0.0 and not -0.0.
        return lib.astype(0.0 - r1 * lib.xp.log1p(r2 * distance), dtype)


@dataclass(frozen=True)
class KerplePower(_Kerple):
    """bias(h, m, n) = -r1_h · |m - n|^r2_h, r1 at least 0.01 and r2 from 0.01 to 2.

    Chi et al. 2022, arXiv:2205.09921, the power kernel; bounds and first values are those of the authors' code (`a` and
    `p` there). With r2 = 1 it is ALiBi with learned slopes. A parameter outside its bounds acts as the bound and has no
    gradient: the authors' code writes the bound back into it before each step, which keeps it learning.

    Positions broadcast; distances in steps; params["r1"] and params["r2"] (heads,); the result has no unit.

    Args:
        heads: Heads of the layer.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> params = {"r1": np.array([0.5]), "r2": np.array([2.0])}
        >>> KerplePower(heads=1).matrix([3], [3, 2, 0], params).tolist()
        [[[0.0, -0.5, -4.5]]]
    """

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """r1 uniform from 0 to 1 and r2 from 0 to 2, each raised to the floor, as the authors' code draws them."""
        return _drawn(rng, self.heads, r1=1.0, r2=2.0)

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, xp = query.lib, query.lib.xp
        r1, r2, distance = self._parts(head, query, key, learned, dtype, STEEPEST)
        # The slope of |x|^r at 0 is infinite for r < 1: no gradient may pass there.
        here = distance == 0
        power = xp.where(here, xp.zeros_like(distance), xp.where(here, xp.ones_like(distance), distance) ** r2)
        return lib.astype(0.0 - r1 * power, dtype)


def _drawn(rng: np.random.Generator, heads: int, **ends: float) -> dict[str, np.ndarray]:
    return {name: np.maximum(rng.uniform(0.0, end, heads), FLOOR) for name, end in ends.items()}


ROWS = (
    Row(
        KerpleLog,
        (KerpleLog(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerpleLog (KERPLE)",),
        "For decoders that must run longer than they were trained and should learn how fast attention fades.",
    ),
    Row(
        KerplePower,
        (KerplePower(heads=3),),
        "Chi et al. 2022, arXiv:2205.09921",
        ("ParallelKerplePower (KERPLE)",),
        "For ALiBi with learned slopes and learned curvature.",
    ),
)
