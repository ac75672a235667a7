"""Base classes of encodings that wrap another one, and helpers that name its parameters "inner.name"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core.arrays import Array
from posenc.core.checked_positions import Positions
from posenc.core.declared_fields import Instance
from posenc.core.doors import (
    AdditiveEncoding,
    AttentionBias,
    AttentionScore,
    Claim,
    Encoding,
    Params,
    Role,
    RotaryEncoding,
)

#: What a bias may claim that still holds when content decides how much of it counts.
KEPT: frozenset[Claim] = frozenset({"relative", "streaming", "bounded", "unlimited", "fractional", "symmetric"})


@dataclass(frozen=True)
class OfOne(Encoding):
    """Base of encodings that wrap `encoding` and have its axes, claims, parameter shapes and initial values."""

    encoding: Any

    @property
    def axes(self) -> int:
        axes: int = self.encoding.axes
        return axes

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        claims: frozenset[Claim] = self.encoding.claims
        return claims

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = self.encoding.shapes
        return shapes

    def init(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        drawn: dict[str, np.ndarray] = self.encoding.init(rng)
        return drawn


@dataclass(frozen=True)
class AddsOne(OfOne, AdditiveEncoding):
    """Base of additive encodings that wrap another additive encoding and keep its width."""

    encoding: AdditiveEncoding

    @property
    def width(self) -> int:
        return self.encoding.width


@dataclass(frozen=True)
class RotatesOne(OfOne, RotaryEncoding):
    """Base of rotary encodings that wrap another rotary encoding and keep its roles, heads and head_dim."""

    encoding: RotaryEncoding

    @property
    def roles(self) -> tuple[Role, ...]:  # type: ignore[override]
        return self.encoding.roles

    @property
    def head_dim(self) -> int:
        return self.encoding.head_dim

    @property
    def roles_differ(self) -> str:  # type: ignore[override]
        return self.encoding.roles_differ

    @property
    def heads(self) -> int:
        """Heads of the wrapped encoding; an AttributeError, as there, where all heads rotate alike."""
        heads: int = self.encoding.heads  # type: ignore[attr-defined]
        return heads


@dataclass(frozen=True)
class BiasOfSomeHeads(OfOne, AttentionBias):
    """Bias of consecutive heads of a wrapped bias: head 0 here is head `first` of `encoding`."""

    encoding: AttentionBias
    first: int

    def bias(
        self,
        head: Array,
        query_positions: Array,
        key_positions: Array,
        params: Params | None = None,
        *,
        dtype: Any = None,
    ) -> Array:
        return self.encoding.bias(head + self.first, query_positions, key_positions, params, dtype=dtype)


def split_by_head(held: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Split encodings, each held with its parameters, for ranks that exchange tokens for heads.

    Args:
        held: What holds one `encoding` each, in the order in which they act.

    Returns:
        Rotations up to the last that differs by head, which need all heads at once; and all others. Both in their
        order.
    """
    rotations = [one for one in held if isinstance(one.encoding, RotaryEncoding)]
    others = [one for one in held if not isinstance(one.encoding, RotaryEncoding)]
    end = max((end for end, one in enumerate(rotations, 1) if getattr(one.encoding, "heads", None)), default=0)
    return rotations[:end], rotations[end:] + others


@dataclass(frozen=True)
class ScoresByBias(AttentionScore):
    """Base of learned scores that wrap an attention bias and have as many heads."""

    encoding: Annotated[AttentionBias, Instance("an encoding that biases")]

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return (self.encoding.claims & KEPT) | {"learned"}

    @property
    def heads(self) -> int:
        return self.encoding.heads


def inner_shapes(encoding: Encoding) -> dict[str, tuple[int, ...]]:
    """Return the parameter shapes of a wrapped encoding, each named "inner.name"."""
    return {f"inner.{name}": shape for name, shape in encoding.shapes.items()}


def inner_init(encoding: Encoding, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the initial parameters of a wrapped encoding, each named "inner.name"."""
    return {f"inner.{name}": value for name, value in encoding.init(rng).items()}


def inner_params(learned: Params, prefix: str = "inner") -> Params | None:
    """Return the parameters of a wrapped encoding under its own names; None where it learns nothing."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in learned.items() if name.startswith(start)} or None


def bias_matrix(
    encoding: AttentionBias, query_positions: Positions, key_positions: Positions, learned: Params, dtype: Any
) -> Array:
    """The bias of every head and pair of places, (*batch, heads, n, m)."""
    params = inner_params(learned)
    if encoding.axes == 1 and "relative" in encoding.claims and _rises(query_positions) and _rises(key_positions):
        return _of_distances(encoding, query_positions, key_positions, params, dtype)
    return encoding.matrix(query_positions.array, key_positions.array, params, dtype=dtype)


def _rises(positions: Positions) -> bool:
    """Whether positions (n,) are readable integers that rise by one from place to place."""
    array, lib = positions.array, positions.lib
    if not positions.integers or positions.bounds is None or array.ndim != 1:
        return False
    signed = lib.signed(array)
    steps = lib.extremes(signed[1:] - signed[:-1])
    return array.shape[0] == 1 or steps == (1, 1)


def _of_distances(
    encoding: AttentionBias, query_positions: Positions, key_positions: Positions, params: Params | None, dtype: Any
) -> Array:
    """Matrix (heads, n, m) of a relative bias between consecutive positions, from one value for each distance."""
    lib, xp, (queries,), (keys,) = (
        query_positions.lib,
        query_positions.lib.xp,
        query_positions.array.shape,
        key_positions.array.shape,
    )
    steps = lib.arange(queries + keys - 1) - (queries - 1)  # those of the first query, before it and after it
    there, here = lib.signed(query_positions.array), lib.signed(key_positions.array)
    there, here = there[0] - xp.clip(steps, None, 0), here[0] + xp.clip(steps, 0, None)
    numbers = encoding.bias(lib.arange(encoding.heads)[:, None], there, here, params, dtype=dtype)
    if queries == 1:
        return numbers[:, None, :]
    rows = xp.broadcast_to(numbers[:, None, :], (encoding.heads, queries, queries + keys - 1))
    # Each row begins one number earlier than the one before.
    flat = rows.reshape((encoding.heads, -1))[:, queries - 1 : queries - 1 + queries * (queries + keys - 2)]
    return flat.reshape((encoding.heads, queries, -1))[..., :keys]
