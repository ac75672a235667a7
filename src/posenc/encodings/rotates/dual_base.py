"""Rotary position embedding with two sets of frequencies: one base for each half of the head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric, Joined
from posenc.phase import FixedFrequencies, Numerics, along_one, cos_sin


@dataclass(frozen=True)
class DualBaseRoPE(RotaryEncoding):
    """RoPE of width dim/2 with `base` on the first half of the channels, and with `second_base` on the second half.

    The rotation of Su et al. 2021, arXiv:2104.09864, eq. 15, on each half: pair i of a half rotates by
    p·base^(-4i/dim) (`DualRotaryEncoder` of fairseq2). High frequencies for near tokens and low ones for far tokens in
    one head.

    Positions (*batch, n), integers or float32/float64; the Rotation holds cos and sin of shape (*batch, n, dim/2), in
    radians.

    Args:
        dim: Channels of a head, a multiple of 4.
        base: Base of the frequencies of the first half, which are in radians per step.
        second_base: Base of the frequencies of the second half.
        pairing: "adjacent" pairs channels (2i, 2i+1); "halves" pairs (i, i + dim/4) inside each half of the head.
        numerics: "exact", or "float32" for what released models compute.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> import numpy as np
        >>> DualBaseRoPE(dim=4, base=100.0, second_base=100.0).rotation([1])(np.array([[1.0, 0, 1, 0]])).round(4)
        array([[0.5403, 0.8415, 0.5403, 0.8415]])
    """

    dim: Annotated[int, Whole(4, even=True)]
    base: Base = 10_000.0
    second_base: Base = 100_000.0
    pairing: PairLayout = "adjacent"
    numerics: Numerics = "exact"

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        if self.dim % 4:
            raise ValueError(
                f"dim must be a multiple of 4, for whole pairs in each half; got {self.dim}. Widen the head."
            )

    @cached_property
    def channels(self) -> Pairing:
        """Pairing of the channels."""
        return Pairing(self.pairing, self.dim, self.dim, 0, 2 if self.pairing == "halves" else 1)

    @cached_property
    def frequencies(self) -> Joined:
        """Frequency of each pair."""
        return Joined((Geometric(self.dim // 2, self.base), Geometric(self.dim // 2, self.second_base)))

    @cached_property
    def fixed_frequencies(self) -> FixedFrequencies | None:
        """The frequencies of the rotations, for compiled kernels."""
        return along_one(self.frequencies, self.channels) if self.numerics == "exact" else None

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        return Rotation(*cos_sin(positions, self.frequencies, dtype, self.numerics), self.channels)


ROW = Row(
    DualBaseRoPE,
    (
        DualBaseRoPE(dim=8),
        DualBaseRoPE(dim=12, base=500.0, second_base=2e6, pairing="halves"),
        DualBaseRoPE(dim=8, numerics="float32"),
    ),
    "no paper: released code; the rotation is Su et al. 2021, arXiv:2104.09864",
    ("DualRotaryEncoder (fairseq2)",),
    "To give near and far tokens frequencies of their own within one head.",
)
