"""FoPE: the waves of a rotation as learned mixtures of all its frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import EvenWidth, Heads, Real, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, Rotation
from posenc.core.row import Row
from posenc.frequencies import Chosen, Geometric
from posenc.phase import cos_sin
from posenc.phase.frequencies import EXACT, TWO_PI


@dataclass(frozen=True)
class FoPE(RotaryEncoding):
    """(a, b) → (a·C - b·S, a·S + b·C) with C = Σ_j cos(p·ω_j)·cosines[h, j, i] for pair i.

    S is the same sum of sines with its own coefficients, S = Σ_j sin(p·ω_j)·sines[h, j, i].

    Hua et al. 2024, arXiv:2412.17739 (Fourier position embedding), ω_j = base^(-2j/dim). Frequencies that make less
    than one full revolution within `length` positions are dropped, and so are their pairs: their C is 1, and their S is
    given by `padding`. The authors' code keeps at most a quarter of the channels.

    Pairs are (i, i + dim/2). Positions (*batch, n), integers or float32/float64; params["cosines"] and params["sines"]
    (heads, kept, kept). Gives a `Rotation` with a table a head.

    Args:
        dim: Channels of a head.
        heads: Heads as they are rotated (repeat grouped ones first).
        length: Trained length, in steps.
        base: The b of ω_j = b^(-2j/dim), in radians per step.
        padding: S of a dropped pair: "zero" (no rotation; vLLM) or "one" (mixed and scaled; the authors' code).
        gain: Gain of the noise in the initial coefficients, 0.3 to 0.6 depending on the size of the model.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> encoding = FoPE(dim=4, heads=1, length=100)
        >>> encoding.kept
        1
        >>> encoding.rotation([1], {"cosines": np.ones((1, 1, 1)), "sines": np.ones((1, 1, 1))}).cos.round(4).tolist()
        [[[0.5403, 1.0]]]
    """

    dim: EvenWidth
    heads: Heads
    length: Annotated[int, Whole(7, 2**31)]
    base: Annotated[float, Real(1.0, 1e30)] = 10_000.0
    padding: Literal["zero", "one"] = "zero"
    gain: Annotated[float, Real(0.0, 1e3)] = 0.3

    claims = frozenset({"streaming", "bounded", "unlimited", "fractional", "learned"})

    def _check_together(self) -> None:
        validation.size("dim", self.heads * self.dim * self.dim)

    @cached_property
    def kept(self) -> int:
        """Number of frequencies that make more than one revolution within the trained length; ω_0 = 1 always does."""
        least = EXACT.divide(TWO_PI, self.length)
        return sum(frequency > least for frequency in Geometric(self.dim, self.base).exact())

    @cached_property
    def frequencies(self) -> Chosen:
        """The frequencies that are mixed."""
        return Chosen(Geometric(self.dim, self.base), tuple(range(self.kept)))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("cosines", "sines"), (self.heads, self.kept, self.kept))

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw I + N(0, gain²·2/(kept·(kept + heads))), the spread of the authors' xavier_normal_ for this shape."""
        spread = self.gain * (2 / (self.kept * (self.kept + self.heads))) ** 0.5
        return {name: np.eye(self.kept) + spread * rng.standard_normal(shape) for name, shape in self.shapes.items()}

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, learned, dtype = self.checked_call(positions, params, role, dtype)
        lib = positions.lib
        cosine, sine = cos_sin(positions, self.frequencies, lib.real)
        cosine = self._mixed(cosine, learned["cosines"], 1.0, dtype, lib)
        sine = self._mixed(sine, learned["sines"], float(self.padding == "one"), dtype, lib)
        return Rotation(cosine, sine, Pairing("halves", self.dim, self.dim), None, self.heads)

    def _mixed(self, table: Array, coefficients: Array, fill: float, dtype: Any, lib: Library) -> Array:
        """Mix a table (*batch, n, kept) for each head and fill it up to all pairs; (*batch, heads, n, pairs)."""
        xp = lib.xp
        mixed = lib.product(table[..., None, :, :], lib.widest(coefficients))
        rest = xp.full_like(mixed[..., :1], fill)
        rest = xp.broadcast_to(rest, (*mixed.shape[:-1], self.dim // 2 - self.kept))
        whole = xp.concatenate([mixed, rest], -1)
        return lib.astype(lib.astype(whole, lib.wide_dtype(dtype)), dtype)


ROW = Row(
    FoPE,
    (FoPE(dim=4, heads=2, length=100), FoPE(dim=8, heads=3, length=64, base=100.0, padding="one", gain=0.6)),
    "Hua et al. 2024, arXiv:2412.17739",
    ("FourierRotaryEmbedding (vLLM)", "FourierEmbedding (OLMo fork)"),
    "For decoders that run longer than they were trained: the frequencies that it keeps completed a full revolution in "
    "training.",
)
