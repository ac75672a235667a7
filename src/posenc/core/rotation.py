"""Rotation of pairs of channels: made once for a step's positions, used by every layer and head."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Annotated, Literal

from posenc.core import arrays, validation
from posenc.core.arrays import Array, Library
from posenc.core.declared_fields import Declared, EvenWidth, Whole, Width

Layout = Literal["bhtd", "bthd"]
LAYOUTS = ("bhtd", "bthd")
#: What an operator takes besides: tokens without a batch, and queries grouped by the key head (k) that they share.
OperatorLayout = Literal["bhtd", "bthd", "thd", "btkgd"]
OPERATOR_LAYOUTS = ("bhtd", "bthd", "thd", "btkgd")
#: How pairs lie in a head: channels (2i, 2i+1), or (i, i + width/2).
PairLayout = Literal["adjacent", "halves"]


@dataclass(frozen=True)
class Pairing(Declared):
    """Pairs of channels of a head that a rotation rotates.

    Args:
        layout: "adjacent" pairs channels (2i, 2i+1); "halves" pairs (i, i + width/2), inside each of `blocks` equal
            blocks.
        dim: Channels of the head.
        width: Number of them that rotate; the rest pass unchanged.
        start: First channel that rotates.
        blocks: Equal parts of the width, each with halves of its own.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is out of range, the rotated channels do not fit in the head, or blocks do not divide them.
    """

    layout: PairLayout
    dim: Annotated[int, Whole(2)]
    width: EvenWidth
    start: Annotated[int, Whole(0)] = 0
    blocks: Width = 1

    def _check_together(self) -> None:
        if self.start + self.width > self.dim:
            raise ValueError(
                f"width must fit in the head: start + width at most dim={self.dim}; got start={self.start}, "
                f"width={self.width}. Rotate fewer channels."
            )
        if self.width % (2 * self.blocks):
            raise ValueError(
                f"blocks must divide width={self.width} into even parts; got {self.blocks}. Use another number of "
                "blocks."
            )

    def split(self, x: Array) -> tuple[Array, Array]:
        """Split the channels of x, (..., dim), into the first and the second of every pair, (..., width/2) each.

        Args:
            x: Vectors, (..., dim).

        Returns:
            First and second channels, (..., width/2) each.
        """
        part = x[..., self.start : self.start + self.width]
        if self.layout == "adjacent":
            return part[..., 0::2], part[..., 1::2]
        shape = part.shape[:-1]
        halves = part.reshape((*shape, self.blocks, 2, self.width // (2 * self.blocks)))
        pairs = (*shape, self.width // 2)
        return halves[..., 0, :].reshape(pairs), halves[..., 1, :].reshape(pairs)

    def join(self, first: Array, second: Array, x: Array) -> Array:
        """Join pairs again, the inverse of `split`, with the channels that do not rotate taken from x.

        Args:
            first: First channels of the pairs, (..., width/2).
            second: Second channels, of the same shape.
            x: Vectors, (..., dim), whose other channels are kept.

        Returns:
            Vectors, (..., dim).
        """
        xp, shape = arrays.library(x).xp, x.shape[:-1]
        if self.layout == "adjacent":
            rotated_part = xp.stack([first, second], -1).reshape((*shape, self.width))
        else:
            cut = (*shape, self.blocks, 1, self.width // (2 * self.blocks))
            rotated_part = xp.concatenate([first.reshape(cut), second.reshape(cut)], -2).reshape((*shape, self.width))
        if self.width == self.dim:
            return rotated_part
        return xp.concatenate([x[..., : self.start], rotated_part, x[..., self.start + self.width :]], -1)


class Operator(abc.ABC):
    """Map of queries or keys at their positions: made once for a step's positions, applied in every layer."""

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Number of channels of an input vector."""

    @property
    def width(self) -> int:
        """Number of channels of an output vector."""
        return self.dim

    @property
    def heads(self) -> int | None:
        """Number of heads where each has a map of its own; None where all heads share one map."""
        return None

    @abc.abstractmethod
    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        """Apply the map to x.

        Args:
            x: Vectors of floats, (*batch, n, dim) without heads.
            layout: Order of the axes of x with heads: "bhtd" is (batch, heads, n, dim), "bthd" (batch, n, heads, dim),
                "thd" (n, heads, dim), and "btkgd" (batch, n, key heads, group, dim).

        Returns:
            Mapped vectors, in the dtype of x.

        Raises:
            TypeError: x holds no floats, or is more precise than the map.
            ValueError: x has other channels, tokens, heads or axes than the map.
        """


@dataclass(frozen=True, eq=False)
class Rotation(Operator):
    """(a, b) → (a·cos - b·sin, a·sin + b·cos) for every pair of channels.

    The product is formed in float32 at least and rounded once.

    Args:
        cos: Cosines, (*batch, n, pairs), or (*batch, heads, n, pairs) where `heads` is given.
        sin: Sines, likewise.
        pairing: Channels of each pair.
        factor: Attention factor that cos and sin have been multiplied by; vectors become so many times as long. None
            where every pair and place has a factor of its own.
        heads: Number of heads, where each rotates in its own way.
    """

    cos: Array
    sin: Array
    pairing: Pairing
    factor: float | None = 1.0
    heads: int | None = None

    @property
    def dim(self) -> int:
        return self.pairing.dim

    def __call__(self, x: Array, *, layout: OperatorLayout | None = None) -> Array:
        lib, y = as_precise("x", x, self.cos)
        tables = (with_heads(part, x, layout, self.dim, self.heads) for part in (self.cos, self.sin))
        cos, sin = (lib.astype(part, y.dtype) for part in tables)
        first, second = self.pairing.split(y)
        rotated = self.pairing.join(first * cos - second * sin, first * sin + second * cos, y)
        return lib.astype(rotated, x.dtype)

    def inverse(self) -> Rotation:
        """Rotation that undoes this one.

        Returns:
            The rotation, with the same pairing and heads.
        """
        if self.factor == 1.0:
            return Rotation(self.cos, -self.sin, self.pairing, 1.0, self.heads)
        if self.factor is None:  # divided twice, since the square of a small length may be no number
            length = arrays.library(self.cos).xp.hypot(self.cos, self.sin)
            return Rotation(self.cos / length / length, -self.sin / length / length, self.pairing, None, self.heads)
        square = self.factor**2
        return Rotation(self.cos / square, -self.sin / square, self.pairing, 1.0 / self.factor, self.heads)


def at_every_head(operator: Operator, x: Array) -> Array:
    """Apply an operator to x without heads, (*batch, n, dim): (*batch, heads, n, width) where its heads differ."""
    if operator.heads is None:
        return operator(x)
    rows = x if x.ndim == 3 else x[None]
    shape = (rows.shape[0], operator.heads, *rows.shape[1:])
    mapped = operator(arrays.library(x).xp.broadcast_to(rows[:, None], shape), layout="bhtd")
    return mapped if x.ndim == 3 else mapped[0]


def of_pairs(name: str, operator: Operator) -> Rotation:
    """Return an operator that rotates pairs of channels; TypeError about the argument `name` for another map."""
    if not isinstance(operator, Rotation):
        raise TypeError(
            f"{name} must rotate pairs of channels; got one that returns {type(operator).__name__}, another map. Call "
            "that map instead."
        )
    return operator


def as_precise(name: str, x: Array, table: Array) -> tuple[Library, Array]:
    """Library of x and of a table, and x in float32 at least; TypeError where x is more precise than the table."""
    lib = arrays.library(arrays.floats(name, x), table)
    y = lib.wide(x)
    if y.dtype == lib.xp.float64 and table.dtype == lib.xp.float32:
        raise TypeError(
            f"{name} must not be more precise than the rotation; got float64 for a float32 rotation. "
            "Make the rotation with dtype=float64."
        )
    return lib, y


def with_heads(
    part: Array, x: Array, layout: OperatorLayout | None, dim: int, heads: int | None = None, *, tail: int = 1
) -> Array:
    """Give a table (*batch, [heads,] n, …) an axis for every axis of x; ValueError for shapes that do not fit.

    The table has `tail` axes behind its places.
    """
    if x.ndim < 2 or x.shape[-1] != dim:
        raise ValueError(
            f"x must have {dim} channels in its last axis; got shape {tuple(x.shape)}. Give the whole head."
        )
    if layout is None:
        if x.ndim > 3 or heads is not None:
            raise ValueError(
                f"layout must be 'bhtd' or 'bthd' for {'a rotation with heads' if heads else 'x with heads'}; got None "
                f"for shape {tuple(x.shape)}. Say which axis is which."
            )
    else:
        validation.choice("layout", layout, OPERATOR_LAYOUTS)
        if x.ndim != len(layout):
            count = {3: "three", 4: "four", 5: "five"}[len(layout)]
            raise ValueError(
                f"x must have {count} axes, {layout!r}; got shape {tuple(x.shape)}. Leave layout out for x without "
                "heads."
            )
    axes = ("btd"[-x.ndim :] if layout is None else layout)[:-1]
    _check_table(part, x, axes, layout, heads, tail)
    own = "b" * (part.ndim - tail - (1 if heads is None else 2)) + ("t" if heads is None else "ht")
    if heads is not None and "ht" not in axes:
        part, own = part.swapaxes(-2 - tail, -1 - tail), own.replace("ht", "th")
    if heads is not None and "kg" in axes:
        at = own.index("h")
        part, own = part.reshape((*part.shape[:at], *x.shape[2:4], *part.shape[at + 1 :])), own.replace("h", "kg")
    # An axis for every axis of x, for jax_numpy_rank_promotion="raise".
    return part[tuple(slice(None) if axis in own else None for axis in axes)]


def _check_table(part: Array, x: Array, axes: str, layout: str | None, heads: int | None, tail: int) -> None:
    """Refuse a table that was not made for the places, the batch and the heads of x."""
    sizes = dict(zip(axes, x.shape, strict=False))
    plain = part.ndim - tail - (heads is not None)  # axes of the positions that it was made from
    fits = plain == 1 or (plain == 2 and "b" in axes and validation.equals_one_of(part.shape[0], 1, sizes["b"]))
    if not fits or sizes["t"] != part.shape[-1 - tail]:
        raise ValueError(
            f"x must have as many tokens as the rotation has positions, {tuple(part.shape[:-tail])}; got shape "
            f"{tuple(x.shape)}{f' ({layout})' if layout else ''}. Make the rotation from the positions of these tokens."
        )
    if heads is not None and sizes.get("h", sizes.get("k", 1) * sizes.get("g", 1)) != heads:
        raise ValueError(
            f"x must have {heads} heads, one for each rotation of the rotation; got shape {tuple(x.shape)} ({layout}). "
            "Repeat grouped heads first."
        )
