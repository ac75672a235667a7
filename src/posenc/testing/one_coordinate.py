"""Wrappers that let an encoding with several coordinates take one number per position, as most checks need.

Positions lie on a line: every coordinate is that number (or 1, 2, 3 … times it), so that differences of positions
stay differences and NaN stays NaN. Positions off the line are checked in `checks.grid_axes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, Params, Role, RotaryEncoding
from posenc.core.rotation import Operator
from posenc.encodings._wrapped import AddsOne, OfOne, RotatesOne


def one_coordinate(encoding: Any, *, spread: bool = False) -> Any:
    """Return an encoding that takes one number per position: itself, or a wrapper that derives all coordinates from it.

    Args:
        encoding: Encoding.
        spread: Whether coordinate a is a+1 times the number, so that axes are told apart; else all are the number.
    """
    if encoding.axes == 1:
        return encoding
    kinds: dict[str, type[Any]] = {"adds": LineAdds, "rotates": LineRotates, "biases": LineBiases, "scores": LineScores}
    heads = {"heads": encoding.heads} if encoding.door == "biases" else {}
    return kinds[encoding.door](encoding=encoding, spread=spread, **heads)


def along(encoding: Any, name: str, positions: Any) -> Array:
    """Convert numbers (*batch, n) to positions (*batch, n, axes) on the line."""
    positions = arrays.as_array(name, positions)
    xp, axes = arrays.library(positions).xp, encoding.encoding.axes
    if arrays.kind(positions) == "other":  # nothing to stack; the encoding is to refuse it
        return positions
    copies = [positions * (axis + 1) if encoding.spread else positions for axis in range(axes)]
    return xp.stack(copies, -1)


def spread_over_axes(encoding: Encoding, positions: Array) -> Array:
    """Convert numbers (*batch, n) to positions that the encoding takes; coordinate a is a+1 times the number."""
    if encoding.axes == 1:
        return positions
    return arrays.library(positions).xp.stack([positions * (axis + 1) for axis in range(encoding.axes)], -1)


class Line(OfOne):
    """Wrapper with one axis around an encoding with several; its other attributes are those of the encoding."""

    spread: bool

    @property
    def axes(self) -> int:
        return 1

    def __getattr__(self, name: str) -> Any:
        if name in ("encoding", "spread") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.encoding, name)


@dataclass(frozen=True)
class LineAdds(Line, AddsOne):
    """Additive encoding along a line."""

    encoding: AdditiveEncoding
    spread: bool = False

    def embed(self, positions: Array, params: Params | None = None, *, dtype: Any = None) -> Array:
        return self.encoding.embed(along(self, "positions", positions), params, dtype=dtype)


@dataclass(frozen=True)
class LineRotates(Line, RotatesOne):
    """Rotary encoding along a line."""

    encoding: RotaryEncoding
    spread: bool = False

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Operator:
        return self.encoding.rotation(along(self, "positions", positions), params, role=role, dtype=dtype)


@dataclass(frozen=True)
class LineBiases(Line, AttentionBias):
    """Attention bias along a line."""

    encoding: AttentionBias
    spread: bool = False

    def _check_together(self) -> None:
        if self.heads != self.encoding.heads:
            object.__setattr__(self, "encoding", replace(self.encoding, heads=self.heads))

    def bias(
        self,
        head: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        dtype: Any = None,
    ) -> Array:
        query_positions = along(self, "query_positions", query_positions)
        key_positions = along(self, "key_positions", key_positions)
        return self.encoding.bias(head, query_positions, key_positions, params, dtype=dtype)


@dataclass(frozen=True)
class LineScores(Line, AttentionScore):
    """Attention score along a line."""

    encoding: AttentionScore
    spread: bool = False

    @property
    def reads(self) -> Any:  # type: ignore[override]
        return self.encoding.reads

    @property
    def gathers(self) -> bool:  # type: ignore[override]
        return self.encoding.gathers

    def score(
        self,
        q: Array,
        k: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        hidden: Array | None = None,
    ) -> Array:
        query_positions = along(self, "query_positions", query_positions)
        key_positions = along(self, "key_positions", key_positions)
        return self.encoding.score(q, k, query_positions, key_positions, params, hidden=hidden)

    def values(
        self, weights: Array, query_positions: Array, key_positions: Array, params: Params | None = None
    ) -> Array | None:
        query_positions = along(self, "query_positions", query_positions)
        key_positions = along(self, "key_positions", key_positions)
        return self.encoding.values(weights, query_positions, key_positions, params)
