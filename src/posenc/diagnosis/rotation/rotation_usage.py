"""How code applies a rotation: the default `RotationUsage` is right, and a mistake changes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from posenc.compose import Partial
from posenc.core.doors import RotaryEncoding
from posenc.diagnosis.mistake import unless_refused, with_fields
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Geometric, InRevolutions, Scaling
from posenc.inspect.rounding import NarrowType

#: What is wrong in a ramp: its two ends are exchanged, the frequencies that it blends, or these and those beyond its
#: ends; or its factor multiplies where it is to divide.
Reversal = Literal["ends", "blend", "everywhere", "multiplied"]
#: Products that are formed in TF32: of positions and frequencies, or of queries and keys.
Products = Literal["angles", "logits", "all"]
#: What code takes for the position of a token, or adds to it.
Axis = Literal["tokens", "heads", "batch", "tokens and heads", "tokens and batch"]


class RopeInHead(NamedTuple):
    """A RoPE, of one axis or several, in a head of `dim` channels; the first that rotates is `start`."""

    rope: RoPE | AxialRoPE
    dim: int
    start: int

    def encoding(self) -> RotaryEncoding | None:
        """Make the encoding again; None where the RoPE does not fit into the head."""
        if self.rope.head_dim == self.dim:
            return self.rope
        return unless_refused(lambda: Partial(self.rope, self.dim, self.start))


def rope_in_head(encoding: Any) -> RopeInHead | None:
    """The RoPE inside of an encoding and where it lies; None where there is none."""
    if isinstance(encoding, RoPE | AxialRoPE):
        return RopeInHead(encoding, encoding.head_dim, 0)
    inner = rope_in_head(encoding.encoding) if isinstance(encoding, Partial) else None
    return None if inner is None else RopeInHead(inner.rope, encoding.dim, encoding.start + inner.start)


def rope_base(rope: RoPE | AxialRoPE) -> float:
    """The base of the frequencies of a RoPE, also where they are whole revolutions."""
    frequencies = _in_revolutions(rope)
    return rope.base if frequencies is None else frequencies.base


def rope_with(rope: RoPE | AxialRoPE, **fields: Any) -> RoPE | AxialRoPE | None:
    """Replace fields of a RoPE, the base inside its frequencies if these are whole revolutions; None if refused."""
    frequencies = _in_revolutions(rope)
    if frequencies is None or "base" not in fields:
        return with_fields(rope, **fields)
    inside = with_fields(frequencies, base=fields["base"])
    others = {name: value for name, value in fields.items() if name != "base"}
    return None if inside is None else with_fields(rope, frequency_dim=InRevolutions(inside), **others)


def frequency_unit(rope: RoPE | AxialRoPE | None) -> float:
    """Factor from a model's inv_freq to radians: 2π for coordinates from -1 to 1, else 1."""
    return 1.0 if rope is None or _in_revolutions(rope) is None else 2 * math.pi


def _in_revolutions(rope: RoPE | AxialRoPE) -> Geometric | None:
    """The geometric frequencies that a RoPE takes in whole revolutions."""
    frequencies = rope.frequency_dim if isinstance(rope, AxialRoPE) else None
    inside = frequencies.frequencies if isinstance(frequencies, InRevolutions) else None
    return inside if isinstance(inside, Geometric) else None


@dataclass(frozen=True)
class RoleUsage:
    """How code treats queries, or keys.

    Args:
        shift: Added to positions, or to each coordinate.
        rotations: How often they are rotated; 0 is not at all, -1 backwards.
        attention_factors: How often they are multiplied by the attention factor.
        encoding: The encoding that rotates them, where it is another.
        moves: Coordinates that are meant, and those that are used in their place.
    """

    shift: int | tuple[int, ...] = 0
    rotations: float = 1.0
    attention_factors: float = 1.0
    encoding: RotaryEncoding | None = None
    moves: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = ()


class TableEnd(NamedTuple):
    """After how many positions a table ends, and whether positions beyond begin again or stay at the last one."""

    length: int
    beyond: Literal["repeat", "stay"]


@dataclass(frozen=True)
class RotationUsage:
    """How code applies a rotation.

    Args:
        encoding: The encoding that rotates.
        query: Treatment of queries.
        key: Treatment of keys.
        sine_for_cosine: Whether cosines and sines are exchanged.
        other_layout: Whether frequencies are laid out for the other pairing.
        position_type: 16-bit type that positions are cast to.
        frequency_type: 16-bit type that frequencies are cast to.
        table: End of a table of positions.
        axis: Axis that is taken for the tokens, or counted on top of them.
        frequency_factor: Multiplies every frequency.
        scalings: How often the scaling is applied.
        reversal: The part of the scaling's ramp that is exchanged, or multiplied.
        ramp_base: Base that places YaRN's ramp, where the frequencies are powers of another.
        logit_factor: Multiplies the logits besides.
        regrouped: Whether adjacent pairs come out as halves, as DeepSeek's code leaves them.
        crossed: Whether the second halves of queries and the first halves of keys are those of the other.
        zeros: Whether rows of zeros were never written.
        tf32: Products that are formed in TF32.
        head_order: The vectors of head `head_order[h]` stand where those of head h are meant; empty for h itself.
        head_order_of: Whether it is the order of queries or of keys alone; None for both.
    """

    encoding: RotaryEncoding
    query: RoleUsage = RoleUsage()
    key: RoleUsage = RoleUsage()
    sine_for_cosine: bool = False
    other_layout: bool = False
    position_type: NarrowType | None = None
    frequency_type: NarrowType | None = None
    table: TableEnd | None = None
    axis: Axis = "tokens"
    frequency_factor: float = 1.0
    scalings: int = 1
    reversal: Reversal | None = None
    ramp_base: float | None = None
    logit_factor: float = 1.0
    regrouped: bool = False
    crossed: bool = False
    zeros: bool = False
    tf32: Products | None = None
    head_order: tuple[int, ...] = ()
    head_order_of: Literal["query", "key"] | None = None

    @property
    def is_default(self) -> bool:
        """Whether the encoding is used as it is meant, so that the encoding alone says everything."""
        return self == RotationUsage(self.encoding)

    @cached_property
    def in_head(self) -> RopeInHead | None:
        """The RoPE that is used and where it lies; None for other encodings."""
        return rope_in_head(self.encoding)

    @property
    def rope(self) -> RoPE | AxialRoPE | None:
        return None if self.in_head is None else self.in_head.rope

    @property
    def scaling(self) -> Scaling | None:
        return None if self.rope is None else self.rope.scaling

    def with_head(self, **fields: Any) -> RotationUsage | None:
        """Replace the RoPE, its start or the head's width; None where there is no RoPE, or it does not fit."""
        encoding = None if self.in_head is None else self.in_head._replace(**fields).encoding()
        return None if encoding is None else replace(self, encoding=encoding)

    def with_rope(self, **fields: Any) -> RotationUsage | None:
        """Replace fields of the RoPE; None where there is none, or its constructor refuses them."""
        rope = None if self.rope is None else rope_with(self.rope, **fields)
        return None if rope is None else self.with_head(rope=rope)

    def with_scaling(self, **fields: Any) -> RotationUsage | None:
        """Replace fields of the RoPE's scaling; None where there is none, or they are refused."""
        scaling = None if self.scaling is None else with_fields(self.scaling, **fields)
        return None if scaling is None else self.with_rope(scaling=scaling)
