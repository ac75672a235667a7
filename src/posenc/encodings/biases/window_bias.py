"""A learned number for each distance within a window of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.doors import Params
from posenc.core.row import Row
from posenc.encodings import _window
from posenc.encodings._checked import CheckedBias
from posenc.positions.whole_positions import guarded


@dataclass(frozen=True)
class WindowBias(CheckedBias):
    """bias(h, m, n) = table[(Δ_0 + M_0 - 1)·(2M_1 - 1) + Δ_1 + M_1 - 1, h], Δ = m - n in a window M_0 × M_1.

    Liu et al. 2021, arXiv:2103.14030, with the rows of the authors' code, over two axes or more (a window of video has
    three). Beyond the window each axis shares its outermost distance. Another window's table comes from
    `resize_table(table, (2·M_0 - 1, 2·M_1 - 1), (2·M'_0 - 1, 2·M'_1 - 1), prefix=0, method="bicubic",
    antialias=False)`.

    Positions are whole coordinates, (*batch, n, axes), and broadcast; params["table"] (Π (2M - 1), heads), 3 rows
    longer with a class token, as in Swin and BEiT checkpoints; the result has no unit.

    Args:
        heads: Heads of the layer.
        window: Places along each axis.
        class_token: Whether a token before the patches, at (-1, …), as `positions.prefixed` places it, has three rows
            of its own behind the others, as in BEiT: from it to any patch, from a patch to it, and from it to itself.

    Raises:
        ValueError: An argument breaks its rule; the message names it. A fraction that cannot be checked gives NaN.
        TypeError: An argument has the wrong type.

    Example:
        >>> import numpy as np
        >>> table = np.arange(15.0)[:, None]  # rows of 5
        >>> keys = [[0, 0], [0, 2], [1, 0], [1, 2]]
        >>> WindowBias(heads=1, window=(2, 3)).matrix([[0, 0]], keys, {"table": table})[0].tolist()
        [[7.0, 5.0, 2.0, 0.0]]
    """

    window: Annotated[tuple[int, ...], _window.sizes_of_window(1)] = (7, 7)
    class_token: bool = False

    claims = frozenset({"relative", "streaming", "bounded", "unlimited", "learned"})

    def _check_together(self) -> None:
        if max(self.window) == 1:
            raise ValueError(f"window must hold more than one position; got {self.window}. Give (7, 7), say.")
        validation.size("window", math.prod(self.shapes["table"]))
        if self.class_token:
            validation.settle(self, claims=type(self).claims - {"relative"})

    @property
    def axes(self) -> int:
        return len(self.window)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        rows = [2 * size - 1 for size in self.window]  # a list: torch.compile takes no generator here
        return {"table": (math.prod(rows) + 3 * self.class_token, self.heads)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw from N(0, 0.02²) as Swin's code does; its truncation at ±2 is 100 standard deviations out."""
        return {"table": rng.standard_normal(self.shapes["table"]) * 0.02}

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, wide = query.lib, query.lib.wide_dtype(dtype)
        steps, guard = _window.distances(query, key, self.axes)
        row = _window.window_rows(steps, self.window, lib)
        if self.class_token:
            row = self._with_token(row, query, key)
        return lib.astype(guarded(lib.astype(lib.entries(learned["table"], row, head), wide), guard), dtype)

    def _with_token(self, row: Array, query_positions: Positions, key_positions: Positions) -> Array:
        """Select the last three rows where the query, the key or both are the class token, in this order."""
        xp, last = query_positions.lib.xp, self.shapes["table"][0] - 1
        asking, asked = query_positions.array[..., 0] < 0, key_positions.array[..., 0] < 0
        return xp.where(asking, xp.where(asked, last, last - 2), xp.where(asked, last - 1, row))


ROW = Row(
    WindowBias,
    (
        WindowBias(heads=3, window=(3, 4)),
        WindowBias(heads=2, window=(2, 3, 2)),
        WindowBias(heads=2, window=(2, 3), class_token=True),
    ),
    "Liu et al. 2021, arXiv:2103.14030",
    ("SwinRelativePositionBias", "RelPosBias (timm)", "BeitRelativePositionBias"),
    "For windows of an image, with enough data at every distance.",
)
