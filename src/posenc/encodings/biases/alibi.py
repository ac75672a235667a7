"""Attention with linear biases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array, remembered
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Real
from posenc.core.doors import Claim, Params
from posenc.core.row import Row
from posenc.encodings._checked import CheckedBias
from posenc.positions.distance import steps

Rule = Literal["paper", "geometric", "linear"]
Form = Literal["symmetric", "signed"]


@dataclass(frozen=True)
class ALiBi(CheckedBias):
    """bias(h, m, n) = -slope_h · |m - n|, slope_h = 2^(-8(h+1)/heads) for a power of two of heads.

    Press et al. 2022, arXiv:2108.12409, §3. For another number of heads, `rule` gives the slopes; for a power of two,
    "paper" and "geometric" are the same.

    Positions broadcast; distances in steps; the result has no unit.

    Args:
        heads: Heads of the layer.
        steepest: The 8 of the formula (`alibi_bias_max` in MPT).
        rule: "paper", the authors' code: the slopes of the power of two below, then every second slope of the power of
            two above. "geometric": 2^(-steepest·(h+1)/heads) for any number of heads (attention-gym, meliad, MLX before
            2026). "linear": exponents evenly spaced from -1 to -steepest (foundation-model-stack), which differs for 16
            heads too.
        form: "symmetric", for attention to both sides; "signed": slope_h · (n - m), the formula of the paper, which is
            meant for keys up to the query and would favour later ones. With a causal mask the two are the same.

    Raises:
        ValueError: An argument breaks its rule; the message names it.
        TypeError: An argument has the wrong type.

    Example:
        >>> ALiBi(heads=8).matrix([2], [0, 1, 2])[:2].tolist()
        [[[-1.0, -0.5, 0.0]], [[-0.5, -0.25, 0.0]]]
    """

    steepest: Annotated[float, Real(0.0, 64.0, above=True)] = 8.0
    rule: Rule = "paper"
    form: Form = "symmetric"

    def _check_together(self) -> None:
        if self.rule == "linear" and self.heads < 2:
            raise ValueError(
                "heads must be at least 2 for rule='linear', which spaces exponents between two ends; got 1. Use "
                "rule='paper'."
            )

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        always: frozenset[Claim] = frozenset({"relative", "streaming", "unlimited", "fractional"})
        return always | {"symmetric"} if self.form == "symmetric" else always

    def slopes(self) -> np.ndarray:
        """Positive slope of each head.

        Returns:
            Slopes as float64, (heads,).

        Example:
            >>> ALiBi(heads=3, rule="linear", steepest=3.0).slopes().tolist()
            [0.5, 0.25, 0.125]
        """
        return slopes_of(self.heads, self.steepest, self.rule)

    def _bias(self, head: Array, query: Positions, key: Positions, learned: Params, dtype: Any) -> Array:
        lib, distance = query.lib, steps(query, key, dtype)
        slope = lib.constant(_slopes(self), distance.dtype)[head]
        if self.form == "symmetric":
            distance = 0.0 - lib.xp.abs(distance)  # 0.0 and not -0.0 for a token's bias towards itself
        return lib.astype(slope * distance, dtype)


@arrays.host  # of an encoding: torch.compile takes no field of one as a constant by itself
def _slopes(encoding: ALiBi) -> np.ndarray:
    return encoding.slopes()


@arrays.host
def slopes_of_heads(encoding: Any, rule: Rule = "paper") -> np.ndarray:
    """The slopes of ALiBi for as many heads as an encoding has, as float64; shape (heads,)."""
    return slopes_of(encoding.heads, rule=rule)


@remembered(256)
def slopes_of(heads: int, steepest: float = 8.0, rule: Rule = "paper") -> np.ndarray:
    """The slopes of ALiBi's fields, as float64; shape (heads,)."""
    if rule == "geometric":
        return _geometric(heads, steepest)
    if rule == "linear":
        return np.exp2(-1.0 - (steepest - 1.0) * np.arange(heads) / (heads - 1))
    below = 1 << int(math.log2(heads))
    extra = _geometric(2 * below, steepest)[0::2][: heads - below]
    return np.concatenate([_geometric(below, steepest), extra])


def _geometric(count: int, steepest: float) -> np.ndarray:
    """2^(-steepest·(h+1)/count) for h = 0 … count-1, as float64; shape (count,)."""
    return np.exp2(-steepest * np.arange(1, count + 1) / count)


ROW = Row(
    ALiBi,
    (
        ALiBi(heads=8),
        ALiBi(heads=12),
        ALiBi(heads=3, steepest=4.0),
        ALiBi(heads=12, rule="geometric"),
        ALiBi(heads=5, rule="linear", form="signed"),
    ),
    "Press et al. 2022, arXiv:2108.12409",
    ("AlibiPositionalBias", "build_alibi_tensor (BLOOM)", "alibi_slopes (flash-attention)"),
    "For decoders that must run longer than they were trained, when nearer tokens matter more.",
)
