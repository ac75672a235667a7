"""Encodings made of another one: what they hand on, and its parameters under names of their own."""

from __future__ import annotations

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
    """An encoding that holds `encoding`, learns what that one learns and claims what that one claims."""

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
    """An encoding that adds, made of one that adds."""

    encoding: AdditiveEncoding

    @property
    def width(self) -> int:
        return self.encoding.width


@dataclass(frozen=True)
class RotatesOne(OfOne, RotaryEncoding):
    """An encoding that rotates, made of one that rotates."""

    encoding: RotaryEncoding

    @property
    def roles(self) -> tuple[Role, ...]:  # type: ignore[override]
        return self.encoding.roles

    @property
    def head_dim(self) -> int:
        return self.encoding.head_dim


@dataclass(frozen=True)
class BiasOfSomeHeads(OfOne, AttentionBias):
    """Bias of consecutive heads of an encoding: its own head 0 is head `first` of that one."""

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


@dataclass(frozen=True)
class ScoresByBias(AttentionScore):
    """A learned score made of an encoding that biases, for as many heads."""

    encoding: Annotated[AttentionBias, Instance("an encoding that biases")]

    @property
    def claims(self) -> frozenset[Claim]:  # type: ignore[override]
        return (self.encoding.claims & KEPT) | {"learned"}

    @property
    def heads(self) -> int:
        return self.encoding.heads


def inner_shapes(encoding: Encoding) -> dict[str, tuple[int, ...]]:
    """The shapes of the encoding, named "inner.name"."""
    return {f"inner.{name}": shape for name, shape in encoding.shapes.items()}


def inner_init(encoding: Encoding, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The first parameters of the encoding, named "inner.name"."""
    return {f"inner.{name}": value for name, value in encoding.init(rng).items()}


def inner_params(learned: Params, prefix: str = "inner") -> Params | None:
    """The parameters of the encoding under its own names; None where it learns nothing."""
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
    """Whether it can be seen that positions rise by one from place to place."""
    array, lib = positions.array, positions.lib
    if not positions.integers or positions.bounds is None or array.ndim != 1:
        return False
    signed = lib.signed(array)
    steps = lib.extremes(signed[1:] - signed[:-1])
    return array.shape[0] == 1 or steps == (1, 1)


def _of_distances(
    encoding: AttentionBias, query_positions: Positions, key_positions: Positions, params: Params | None, dtype: Any
) -> Array:
    """The matrix of a relative bias from one number a distance: (heads, n, m)."""
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
