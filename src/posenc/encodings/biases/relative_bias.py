"""A learned number for each distance up to a clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Whole
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.positions.whole_positions import guarded, whole_difference


@dataclass(frozen=True)
class RelativeBias(CheckedBias):
    """bias(h, m, n) = table[clip(m - n, -clip, clip) + clip, h]: no buckets, a row of the table for every distance.

    The table of Liu et al. 2021, arXiv:2103.14030, §3.2, along one axis; for windows of M tokens, clip = M - 1. Beyond
    the clip, distances share the last row, as in Shaw et al. 2018, arXiv:1803.02155, §3.2. Row 0 is for the key
    farthest after the query, as in Swin checkpoints.

    Positions are whole numbers and broadcast; params["table"] (2·clip+1, heads); the result has no unit.

    Args:
        heads: Heads of the layer.
        clip: The distance, in steps, from which on all distances share a row.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = np.arange(5.0)[:, None]
        >>> RelativeBias(heads=1, clip=2).matrix([4], [0, 2, 3, 4, 5, 9], {"table": table})[0].tolist()
        [[4.0, 4.0, 3.0, 2.0, 1.0, 0.0]]
    """

    clip: Annotated[int, Whole(1, 1 << 20)] = 6

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        validation.size("clip", (2 * self.clip + 1) * self.heads)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (2 * self.clip + 1, self.heads)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw from N(0, 0.02²) as Swin's code does; its truncation at ±2 is 100 standard deviations out."""
        return {"table": rng.standard_normal(self.shapes["table"]) * 0.02}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, wide = query.lib, query.lib.wide_dtype(dtype)
        distance, guard = whole_difference(query, key)
        row = self.clip - lib.xp.clip(distance, -self.clip, self.clip)
        return lib.astype(guarded(lib.astype(lib.entries(learned["table"], row, head), wide), guard), dtype)


ROW = Row(
    RelativeBias,
    (RelativeBias(heads=3), RelativeBias(heads=2, clip=3)),
    "Liu et al. 2021, arXiv:2103.14030",
    ("relative_position_bias_table (Swin, one axis)",),
    "For windows of a few dozen tokens, with enough data at every distance.",
)
