"""Learned absolute positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Spread, Whole, Width
from posenc.core.doors import AdditiveEncoding, Claim, Params
from posenc.core.row import Row
from posenc.positions.stretched_table import Stretch, inside, resized
from posenc.positions.whole_positions import whole

__all__ = ["Learned", "resized"]

Outside = Literal["error", "clamp", "interpolate", "wrap"]


@dataclass(frozen=True)
class Learned(AdditiveEncoding):
    """embed(p) = table[p]: a trainable vector for each position, drawn from N(0, std²).

    Gehring et al. 2017, arXiv:1705.03122, §3.1; Devlin et al. 2018, arXiv:1810.04805, §3 (std 0.02).

    Positions (*batch, n), whole numbers except for "interpolate"; params["table"] (length, dim); result (*batch, n,
    dim).

    Args:
        dim: Channels of the embedding.
        length: Rows of the table.
        outside: What a position beyond the table does. "error" refuses it; "clamp" takes the nearest row, the first for
            negative positions; "wrap" takes row p mod length; "interpolate" stretches the table over `extent`
            positions, as `resized` does, takes fractions, and refuses positions beyond 0 … extent-1.
        extent: Positions the stretched table covers; required by "interpolate" and refused without it.
        std: Standard deviation of the fresh table.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it. An invalid position that cannot be
            checked gives NaN.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> import numpy as np
        >>> Learned(dim=2, length=3, outside="wrap").embed([0, 4], {"table": np.array([[0.0, 1], [2, 3], [4, 5]])})
        array([[0., 1.],
               [2., 3.]])
    """

    dim: Width
    length: Annotated[int, Whole(1, 1 << 30)]
    outside: Outside = "error"
    extent: Annotated[int, Whole(1, 1 << 24)] | None = None
    std: Spread = 0.02

    def _check_together(self) -> None:
        validation.size("length", self.length * self.dim)
        if (self.extent is None) == (self.outside == "interpolate"):
            raise ValueError(
                f"extent must be given with outside='interpolate' and only then; got extent={self.extent!r} with "
                f"outside={self.outside!r}. Say how many positions the table is stretched over, or leave extent out."
            )

    @cached_property
    def stretch(self) -> Stretch | None:
        """Linear stretch of the table over `extent` positions; None unless outside is "interpolate"."""
        return None if self.extent is None else Stretch(self.length, self.extent)

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        claim_of: dict[str, Claim] = {"interpolate": "fractional", "clamp": "unlimited", "wrap": "unlimited"}
        always: frozenset[Claim] = frozenset({"streaming", "bounded", "learned"})
        return always | {claim_of[self.outside]} if self.outside in claim_of else always

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"table": (self.length, self.dim)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"table": rng.standard_normal((self.length, self.dim)) * self.std}

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        positions, learned, dtype = self.checked_call(positions, params, dtype)
        lib = positions.lib
        table, wide = learned["table"], lib.wide_dtype(dtype)
        stretch = self.stretch
        rows = stretch.mixed(table, positions.array, lib, wide) if stretch else self._rows(table, positions, wide)
        return lib.astype(rows, dtype)

    def _rows(self, table: Array, positions: Positions, dtype: Any) -> Array:
        """Look up the row of every position; `outside` says if those beyond the table wrap, clamp or raise."""
        lib = positions.lib
        index, guard = whole("positions", positions)
        if self.outside == "wrap":
            index = index % self.length
        elif self.outside == "error":
            guard = guard + inside(index, self.length - 1, lib)
        index = lib.xp.clip(index, 0, self.length - 1)
        return lib.rows(table, index, dtype) + lib.astype(guard, dtype)[..., None]


ROW = Row(
    Learned,
    (
        Learned(dim=8, length=32),
        Learned(dim=6, length=12, outside="clamp", std=0.5),
        Learned(dim=5, length=9, outside="wrap", std=1.0),
        Learned(dim=4, length=7, outside="interpolate", extent=25, std=1.0),
    ),
    "Gehring et al. 2017, arXiv:1705.03122",
    (
        "BertEmbeddings.position_embeddings",
        "wpe (GPT-2)",
        "PositionEmbedding (Keras)",
        "AbsolutePositionalEmbedding",
    ),
    "For a fixed largest length with enough data at every position.",
)
