"""A rotation some of whose pairs of channels are stopped, averaged or removed, in all heads or in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from posenc.core import arrays
from posenc.core.arrays import Array
from posenc.core.declared_fields import Heads, Whole
from posenc.core.doors import Params, Role
from posenc.core.rotation import Operator, OperatorLayout, Rotation, of_pairs
from posenc.encodings._wrapped import RotatesOne

#: What may happen to a pair.
ALTERATIONS = ("stopped", "averaged", "removed")


@dataclass(frozen=True, eq=False)
class AveragedRotation(Operator):
    """Rotation of pairs, some of which are first replaced by their mean over the batch and the tokens.

    Args:
        rotation: Of all pairs.
        averaged: True for pairs that take their mean, (pairs,), or (heads, pairs) where `rotation` has heads.
    """

    rotation: Rotation
    averaged: Array

    @property
    def dim(self) -> int:
        return self.rotation.dim

    @property
    def heads(self) -> int | None:
        return self.rotation.heads

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        xp, averaged = arrays.library(x).xp, self.averaged
        heads = None if layout is None else layout.index("h")
        axes = tuple(axis for axis in range(x.ndim - 1) if axis != heads)
        if averaged.ndim == 2 and heads == x.ndim - 3:
            averaged = averaged[:, None]
        pairs = self.rotation.pairing.split(x)
        first, second = (xp.where(averaged, xp.mean(part, axes, keepdims=True), part) for part in pairs)
        return self.rotation(self.rotation.pairing.join(first, second, x), layout=layout)


@dataclass(frozen=True)
class AlteredPairs(RotatesOne):
    """Rotate as another encoding does, but stop, average or remove some pairs.

    A stopped pair is rotated by zero at every position: the query's and the key's pair still meet, and no longer tell
    where they stand. An averaged pair is the same for all tokens before it rotates, its mean over the batch: it tells
    where they stand, and no longer what they are. A removed pair is set to zero in queries and keys: it adds nothing to
    any score.

    Args:
        encoding: Rotates pairs of channels.
        stopped: Pairs, numbered as in the tables of cosines and sines.
        averaged: Pairs that are averaged.
        removed: Pairs that are removed.

    Raises:
        ValueError: A pair is not one of the encoding's, or named twice.

    Example:
        >>> from posenc import RoPE
        >>> AlteredPairs(RoPE(dim=6), stopped=(0,), removed=(2,)).rotation([1]).cos.round(4).tolist()
        [[1.0, 0.9989, 0.0]]
    """

    stopped: tuple[int, ...] = ()
    averaged: tuple[int, ...] = ()
    removed: tuple[int, ...] = ()

    def _check_together(self) -> None:
        most = of_pairs("encoding", self.encoding.rotation([0])).pairing.width // 2 - 1
        named = [(name, pair) for name in ALTERATIONS for pair in getattr(self, name)]
        for name, pair in named:
            Whole(0, most)(name, pair)
        pairs = [pair for _, pair in named]
        if twice := sorted({pair for pair in pairs if pairs.count(pair) > 1}):
            raise ValueError(f"{' and '.join(ALTERATIONS)} must name each pair once; got {twice} twice. Choose one.")

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Operator:
        own = of_pairs("encoding", self.encoding.rotation(positions, params, role=role, dtype=dtype))
        return self._altered(own, None)

    def _altered(self, own: Rotation, here: Any) -> Operator:
        """Change the pairs of all heads, or of those where `here`, (heads, 1), is true."""
        lib, pairs = arrays.library(own.cos), np.arange(own.pairing.width // 2)
        xp = lib.xp
        chosen = [np.isin(pairs, getattr(self, name)) & (True if here is None else here) for name in ALTERATIONS]
        stopped, _, removed = (lib.constant(mask if here is None else mask[:, None]) for mask in chosen)
        still = xp.hypot(own.cos, own.sin) if own.factor is None else xp.full_like(own.cos, own.factor)
        cos = xp.where(removed, 0.0 * still, xp.where(stopped, still, own.cos))
        sin = xp.where(stopped | removed, 0.0 * still, own.sin)
        changed = Rotation(cos, sin, own.pairing, None if self.removed else own.factor, own.heads)
        return AveragedRotation(changed, lib.constant(chosen[1])) if self.averaged else changed


@dataclass(frozen=True)
class AlteredHead(AlteredPairs):
    """Stop, average or remove some pairs in one head alone.

    Args:
        encoding: Rotates pairs of channels.
        stopped: Pairs that are stopped.
        averaged: Pairs that are averaged.
        removed: Pairs that are removed.
        heads: Heads of queries; shared keys are repeated for them.
        head: Number of the head.

    Raises:
        ValueError: A field breaks its rule; the message names it.

    Example:
        >>> from posenc import RoPE
        >>> AlteredHead(RoPE(dim=2), stopped=(0,), heads=2, head=1).rotation([1]).cos.round(4).tolist()
        [[[0.5403]], [[1.0]]]
    """

    heads: Heads = 1
    head: Annotated[int, Whole(0)] = 0

    def _check_together(self) -> None:
        super()._check_together()
        Whole(0, self.heads - 1)("head", self.head)

    def rotation(
        self, positions: Array, params: Params | None = None, *, role: Role = "both", dtype: Any = None
    ) -> Operator:
        own = of_pairs("encoding", self.encoding.rotation(positions, params, role=role, dtype=dtype))
        if own.heads is None:
            shape = (*own.cos.shape[:-2], self.heads, *own.cos.shape[-2:])
            xp = arrays.library(own.cos).xp
            cos, sin = (xp.broadcast_to(table[..., None, :, :], shape) for table in (own.cos, own.sin))
            own = Rotation(cos, sin, own.pairing, own.factor, self.heads)
        return self._altered(own, (np.arange(self.heads) == self.head)[:, None])
