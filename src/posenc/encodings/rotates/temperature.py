"""Query temperatures: queries scaled up at far positions, so that attention over many keys stays as sharp."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions, checked
from posenc.core.declared_fields import EvenWidth, Real, Whole
from posenc.core.doors import Params, Role, RotaryEncoding
from posenc.core.rotation import Pairing, Rotation
from posenc.core.row import Row

#: Above this a place counted from 1 would be no number of its own in 32 bits.
LONGEST = 2**30


@dataclass(frozen=True)
class Temperature(RotaryEncoding):
    """Base of encodings that multiply queries at position p by τ(p) and leave keys unchanged.

    Args:
        dim: Channels of a head.
    """

    dim: EvenWidth

    roles_differ: ClassVar[str] = "which lengthens queries alone"

    @abc.abstractmethod
    def _rise(self, positions: Positions) -> Array:
        """τ in the widest floats; shape (*batch, n)."""

    def factor(self, positions: Array, *, dtype: Any = None) -> Array:
        """τ for positions (*batch, n): what queries are multiplied by."""
        positions = checked(positions)
        lib = positions.lib
        return lib.astype(self._rise(positions) + positions.guard(), lib.result_dtype(dtype))

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Rotation:
        positions, _, dtype = self.checked_call(positions, params, role, dtype)
        lib = positions.lib
        factor = self.factor(positions, dtype=dtype)
        if role == "key":
            factor = lib.xp.ones_like(factor) + positions.guard(dtype)
        cosine = factor[..., None] * lib.constant(np.ones(self.dim // 2), dtype)
        return Rotation(cosine, lib.xp.zeros_like(cosine), Pairing("halves", self.dim, self.dim), None)


@dataclass(frozen=True)
class LogNTemperature(Temperature):
    """τ(p) = max(1, ln(p + start) / ln(length)): attention over n keys as sharp as over the trained length.

    Su 2021, kexue.fm/archives/8823 (log-n attention), with the trained length as the base, as released with Qwen
    (`use_logn_attn`), where places count from 1. Scores of n keys must grow like ln n for their entropy to stay.

    Positions (*batch, n), integers or float32/float64; role "query" or "key". The Rotation holds τ, or 1 for keys, as
    cos and zeros as sin, (*batch, n, dim/2).

    Args:
        dim: Channels of a head.
        length: The trained length, in tokens, from 2.
        start: The first place is position 0 plus this.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> LogNTemperature(dim=2, length=100).factor([0, 99, 9999]).tolist()
        [1.0, 1.0, 2.0]
    """

    length: Annotated[int, Whole(2, LONGEST)]
    start: Literal[0, 1] = 1

    claims = frozenset({"streaming", "unlimited", "fractional"})

    def _rise(self, positions: Positions) -> Array:
        xp, position = positions.lib.xp, positions.lib.widest(positions.array) + float(self.start)
        beyond = xp.where(position > self.length, position, xp.full_like(position, float(self.length)))
        return xp.where(position > self.length, xp.log(beyond) / math.log(self.length), xp.ones_like(position))


@dataclass(frozen=True)
class StepTemperature(Temperature):
    """τ(p) = 1 + scale · ln(1 + ⌊(p + start) / floor⌋): queries lengthen by a step every `floor` places.

    No paper: released code, Llama 4 (start=1, on its layers without rotation; after Nakanishi 2025, arXiv:2501.19399,
    which scales by the logarithm of the length) and Ministral 3 (start=0). Before position 0, τ = 1.

    Positions (*batch, n), integers or float32/float64; role "query" or "key". The Rotation holds τ, or 1 for keys, as
    cos and zeros as sin, (*batch, n, dim/2).

    Args:
        dim: Channels of a head.
        scale: How much a step counts.
        floor: Places between steps.
        start: The first place is position 0 plus this.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> StepTemperature(dim=2, scale=0.1, floor=4).factor([0, 3, 4, 40]).round(4).tolist()
        [1.0, 1.0693, 1.0693, 1.2398]
    """

    scale: Annotated[float, Real(0.0, 1e3)] = 0.1
    floor: Annotated[int, Whole(1, LONGEST)] = 8192
    start: Literal[0, 1] = 1

    claims = frozenset({"streaming", "unlimited"})

    def _rise(self, positions: Positions) -> Array:
        lib, xp = positions.lib, positions.lib.xp
        whole = lib.signed(lib.detach(positions.array))
        # By parts, since the last place of all plus one would be beyond its integers.
        steps = lib.widest(whole // self.floor) + lib.widest((whole % self.floor + self.start) // self.floor)
        return 1.0 + self.scale * xp.log1p(xp.where(steps > 0, steps, xp.zeros_like(steps)))


@dataclass(frozen=True)
class PowerTemperature(Temperature):
    """τ(p) = (1 + (p + start) / length)^exponent: queries lengthen as a power of the position.

    No paper: released code of BEAM, on its layers without rotation (exponent 0.1, length 2048, start=1), after the
    scalable softmax of Nakanishi 2025, arXiv:2501.19399. Before the first position, τ = 1.

    Positions (*batch, n), integers or float32/float64; role "query" or "key". The Rotation holds τ, or 1 for keys, as
    cos and zeros as sin, (*batch, n, dim/2).

    Args:
        dim: Channels of a head.
        exponent: How fast queries lengthen.
        length: The place where τ is 2^exponent, in tokens.
        start: The first place is position 0 plus this.

    Raises:
        ValueError: A field or argument breaks its rule; the message names it.
        TypeError: A field or argument has the wrong type.

    Example:
        >>> PowerTemperature(dim=2, exponent=0.5, length=4, start=0).factor([0, 12, 32]).round(4).tolist()
        [1.0, 2.0, 3.0]
    """

    exponent: Annotated[float, Real(0.0, 16.0)] = 0.1
    length: Annotated[int, Whole(1, LONGEST)] = 2048
    start: Literal[0, 1] = 1

    claims = frozenset({"streaming", "unlimited", "fractional"})

    def _rise(self, positions: Positions) -> Array:
        xp, place = positions.lib.xp, positions.lib.widest(positions.array) + float(self.start)
        place = xp.where(place > 0, place, xp.zeros_like(place))
        return xp.exp(self.exponent * xp.log1p(place / float(self.length)))


#: What queries of a model may be multiplied by.
QueryTemperature = LogNTemperature | StepTemperature | PowerTemperature

ROWS = (
    Row(
        LogNTemperature,
        (LogNTemperature(dim=8, length=3), LogNTemperature(dim=4, length=5, start=0)),
        "Su 2021, kexue.fm/archives/8823",
        ("use_logn_attn (Qwen)", "log-n scaling"),
        "Next to a rotation, so that attention over more keys than were trained on stays as sharp.",
    ),
    Row(
        StepTemperature,
        (StepTemperature(dim=8, floor=4), StepTemperature(dim=4, scale=0.5, floor=3, start=0)),
        "no paper: released code of Llama 4 and Ministral 3; after Nakanishi 2025, arXiv:2501.19399",
        ("attn_temperature_tuning (Llama 4)", "llama_4_scaling_beta (Ministral 3)"),
        "On layers without a rotation, whose attention would flatten over long contexts.",
    ),
    Row(
        PowerTemperature,
        (PowerTemperature(dim=8, length=300), PowerTemperature(dim=4, exponent=0.5, length=1000, start=0)),
        "no paper: released code of BEAM; after Nakanishi 2025, arXiv:2501.19399",
        ("compute_attention_scaling (BEAM)",),
        "On layers without a rotation, where queries should lengthen smoothly, and ever more slowly.",
    ),
)
