"""Rotary position embedding."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.arrays import Array
from posenc.core.declared_fields import Base, EvenWidth, Instance
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, PairLayout, Rotation
from posenc.core.row import Row
from posenc.frequencies import Geometric, Rescaled, Scaling
from posenc.phase import FixedFrequencies, Frequencies, Numerics, along_one, cos_sin, product_dtype


@dataclass(frozen=True)
class RoPE(RotaryEncoding):
    """Rotate pair i of a query or key at position p by the angle p·base^(-2i/dim).

    Su et al. 2021, arXiv:2104.09864, eq. 15 (the matrix) and eq. 34 (the efficient form). q·k then depends only on
    content and on the difference of positions, and vectors keep their length.

    Positions (*batch, n), integers or float32/float64; the Rotation holds cos and sin of shape (*batch, n, dim/2), in
    radians.

    Args:
        dim: Channels of a head, all of which rotate (wrap in `Partial` to rotate some).
        base: Frequency i is base^(-2i/dim), in radians per step.
        pairing: "adjacent" pairs channels (2i, 2i+1), as in the paper; "halves" pairs (i, i + dim/2), as in GPT-NeoX.
        numerics: "exact", or "float32" for what released models compute.
        scaling: How to change the frequencies for a longer context, for example `YaRN(factor=4.0, original=4096)`, or
            None. Its attention factor multiplies cos and sin, so vectors keep their length only if it is 1.

    Raises:
        ValueError: A field or `positions` breaks its rule; the message names it.
        TypeError: A field or `positions` has the wrong type.

    Example:
        >>> import numpy as np
        >>> RoPE(dim=4).rotation([0, 1])(np.array([[1.0, 0, 1, 0], [1, 0, 1, 0]])).round(4)
        array([[1.    , 0.    , 1.    , 0.    ],
               [0.5403, 0.8415, 1.    , 0.01  ]])
    """

    dim: EvenWidth
    base: Base = 10_000.0
    pairing: PairLayout = "adjacent"
    numerics: Numerics = "exact"
    scaling: Annotated[Scaling, Instance("a scaling such as Linear(factor=4.0), or None")] | None = None

    claims = frozenset({"relative", "isometry", "streaming", "bounded", "unlimited", "fractional"})

    def _check_together(self) -> None:
        if self.attention_factor != 1.0:
            validation.settle(self, claims=type(self).claims - {"isometry"})

    def __repr__(self) -> str:
        shown = [field.name for field in fields(self) if field.name != "scaling" or self.scaling is not None]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @cached_property
    def channels(self) -> Pairing:
        """Pairing of the channels."""
        return Pairing(self.pairing, self.dim, self.dim)

    @cached_property
    def frequencies(self) -> Frequencies:
        """Frequency of each pair."""
        unscaled = Geometric(self.dim, self.base)
        return unscaled if self.scaling is None else Rescaled(unscaled, self.scaling)

    @cached_property
    def attention_factor(self) -> float:
        """Factor of cos and sin; logits are multiplied by its square."""
        return 1.0 if self.scaling is None else self.scaling.attention_factor

    @cached_property
    def fixed_frequencies(self) -> FixedFrequencies | None:
        """The frequencies of the rotations, for compiled kernels."""
        return along_one(self.frequencies, self.channels, self.attention_factor) if self.numerics == "exact" else None

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib, factor = positions.lib, self.attention_factor
        wide = dtype if factor == 1.0 else product_dtype(self.numerics, lib)
        cosine, sine = cos_sin(positions, self.frequencies, wide, self.numerics)
        if factor != 1.0:
            cosine, sine = lib.astype(cosine * factor, dtype), lib.astype(sine * factor, dtype)
        return Rotation(cosine, sine, self.channels, factor)


ROW = Row(
    RoPE,
    (
        RoPE(dim=8),
        RoPE(dim=12, base=500_000.0, pairing="halves"),
        RoPE(dim=8, numerics="float32"),
    ),
    "Su et al. 2021, arXiv:2104.09864",
    ("LlamaRotaryEmbedding", "RotaryPositionalEmbeddings (torchtune)", "RotaryEmbedding"),
    "For decoders: relative, without parameters, works with every fast attention.",
)
