"""HARoPE: a learned matrix for each head before the rotation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Heads
from posenc.core.doors import Claim, Params, Role, RotaryEncoding
from posenc.core.operators import MatrixRotation
from posenc.core.rotation import of_pairs
from posenc.core.row import Row
from posenc.encodings import _wrapped
from posenc.encodings._wrapped import OfOne
from posenc.encodings.rotates.axial_layouts import axial
from posenc.encodings.rotates.learned_rope import LearnedRoPE
from posenc.phase import exponential

#: What the authors add to each singular value, so that none is 0.
SMALLEST = 1e-6


@dataclass(frozen=True)
class HARoPE(OfOne, RotaryEncoding):
    """q → R(p)·M·q and k → R(p)·M⁻ᵀ·k, with a learned M = U·Σ·Vᵀ for each head before the rotation R of `encoding`.

    Li et al. 2025, arXiv:2510.10489, as in the authors' code (`SVDBasedMatrix`): U = exp((A_u - A_uᵀ)/2), V likewise of
    A_v, and Σ = softplus(sigma) + 1e-6. A_u and A_v begin at zero and softplus(sigma) at 1, so that training starts
    from the rotation alone. M cancels where positions are equal, so q·k depends on what `encoding` lets it depend on.

    Positions are those of the encoding; params["A_u"] and params["A_v"] (heads, dim, dim), params["sigma"] (heads,
    dim), and what the encoding learns as params["inner.name"]. role must be "query" or "key", which differ. Gives a
    `MatrixRotation`.

    Args:
        encoding: An encoding that rotates pairs of queries and keys; the authors' is axial(dim=64).
        heads: Heads as they are rotated (repeat grouped ones first).

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> from posenc import RoPE
        >>> encoding, x = HARoPE(RoPE(dim=2), heads=1), np.array([[[[1.0, 0.0]]]])
        >>> params = encoding.init(np.random.default_rng(0)) | {"sigma": np.log(np.expm1([[2.0, 1.0]]))}
        >>> [encoding.rotation([0], params, role=role)(x, layout="bhtd").round(4).tolist() for role in ("query", "key")]
        [[[[[2.0, 0.0]]]], [[[[0.5, 0.0]]]]]
    """

    encoding: RotaryEncoding
    heads: Heads

    roles_differ: ClassVar[str] = "which multiplies keys by the inverse of the transposed matrix"

    def _check_together(self) -> None:
        encoding = validation.instance(
            "encoding", self.encoding, RotaryEncoding, "an encoding that rotates queries and keys"
        )
        if "query" not in encoding.roles:
            raise ValueError(f"encoding must rotate queries and keys; got {encoding!r}. Give RoPE(dim=64), say.")
        own = getattr(encoding, "heads", None)
        if own not in (None, self.heads):
            raise ValueError(f"heads must be those of the encoding, {own}; got {self.heads}. Give heads={own}.")
        validation.size("heads", self.heads * self.head_dim**2)

    @property
    def head_dim(self) -> int:
        return self.encoding.head_dim

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return (self.encoding.claims - {"isometry"}) | {"learned"}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        square = (self.heads, self.head_dim, self.head_dim)
        return {"A_u": square, "A_v": square, "sigma": square[:2], **_wrapped.inner_shapes(self.encoding)}

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Start from M = (1 + 1e-6)·I: A_u and A_v zero, softplus(sigma) 1; draw the parameters of `encoding` alone."""
        shapes = self.shapes
        first = {"A_u": np.zeros(shapes["A_u"]), "A_v": np.zeros(shapes["A_v"])}
        return (
            first
            | {"sigma": np.full(shapes["sigma"], math.log(math.expm1(1.0)))}
            | _wrapped.inner_init(self.encoding, rng)
        )

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> MatrixRotation:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib, wide = positions.lib, positions.lib.wide_dtype(dtype)
        inner = self.encoding.rotation(positions, _wrapped.inner_params(learned), role=role, dtype=wide)
        left, right = _orthogonal(lib.xp.stack([lib.widest(learned[name]) for name in ("A_u", "A_v")]))
        sigma = lib.widest(learned["sigma"])
        stretch = lib.xp.logaddexp(sigma, lib.xp.zeros_like(sigma)) + SMALLEST
        stretch = 1.0 / stretch if role == "key" else stretch
        matrix = lib.product(left * stretch[:, None, :], right.swapaxes(-1, -2))
        return MatrixRotation(of_pairs("encoding", inner), lib.astype(matrix, wide))


def _orthogonal(matrices: Array) -> Array:
    """The exponential of half of A - Aᵀ, for A_u and A_v at once."""
    half = (matrices - matrices.swapaxes(-1, -2)) / 2
    return exponential(half, "params['A_u'] and params['A_v']", "Give smaller numbers.")


ROW = Row(
    HARoPE,
    (
        HARoPE(encoding=axial(dim=4), heads=2),
        HARoPE(encoding=LearnedRoPE(dim=4, pairing="halves"), heads=3),
    ),
    "Li et al. 2025, arXiv:2510.10489",
    ("SVDBasedMatrix",),
    "For images whose heads should each find their own planes of rotation, from a model that already rotates.",
)
