"""Rotary position embedding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from posenc import _array, _check
from posenc._array import Array
from posenc.doors import ROLES, Claim, Params, Role, Rotates
from posenc.frequencies import Geometric
from posenc.phase import Numerics, cosine_sine
from posenc.turn import Pairing, Turn


@dataclass(frozen=True)
class RoPE(Rotates):
    """Turn pair i of a query or key at position p by the angle p·base^(-2i/dim).

    Su et al. 2021, arXiv:2104.09864, eq. 15 (the matrix) and eq. 34 (the efficient form). q·k then depends on content and
    on the difference of positions alone, and lengths are kept.

    dim: channels of a head, all of which turn (wrap in `Partial` to turn some).
    pairing: "adjacent" pairs channels (2i, 2i+1), as in the paper; "halves" pairs (i, i + dim/2), as in GPT-NeoX.
    numerics: "exact", or "float32" for what released models compute.

    Positions (*batch, n), integers or float32/float64; the Turn holds cos and sin of shape (*batch, n, dim/2), in radians.
    Raises ValueError or TypeError naming the field or `positions`.

    >>> import numpy as np
    >>> RoPE(dim=4).turn([0, 1])(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0]])).round(4)
    array([[1.    , 0.    , 1.    , 0.    ],
           [0.5403, 0.8415, 1.    , 0.01  ]])
    """

    dim: int
    base: float = 10_000.0
    pairing: Literal["adjacent", "halves"] = "adjacent"
    numerics: Numerics = "exact"

    claims: ClassVar[frozenset[Claim]] = frozenset(
        {"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"}
    )

    def __post_init__(self) -> None:
        _check.settle(
            self,
            dim=_check.integer("dim", self.dim, 2, even=True),
            base=_check.real("base", self.base, 0.0, 1e30, above=True),
            pairing=_check.choice("pairing", self.pairing, ("adjacent", "halves")),
            numerics=_check.choice("numerics", self.numerics, ("exact", "float32")),
        )
        _ = self.frequencies  # settled now: torch.compile takes a record that exists, not one made while tracing

    @property
    def head_dim(self) -> int:
        return self.dim

    @cached_property
    def frequencies(self) -> Geometric:
        """How fast each pair turns."""
        return Geometric(self.dim, self.base)

    def turn(self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None) -> Turn:
        self.checked(params)
        _check.choice("role", role, ROLES)
        positions = _array.as_array("positions", positions)
        cosine, sine = cosine_sine(positions, self.frequencies, numerics=self.numerics, dtype=dtype)
        return Turn(cosine, sine, Pairing(self.pairing, self.dim, self.dim))
