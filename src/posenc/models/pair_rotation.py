"""A rotation of pairs as data: which channels rotate together, along which axis, how fast, and their factor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import singledispatch

import numpy as np

from posenc.compose import Backward, Partial
from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.core.encoding import computes_anew
from posenc.core.rotation import Pairing
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.dual_base import DualBaseRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.phase import Frequencies


@dataclass(frozen=True)
class PairRotation:
    """For pair i, channels first[i] and second[i] rotate by position[axis[i]] · frequencies[i], times factor.

    Args:
        dim: Channels of the head; those of no pair pass unchanged.
        frequencies: Radians a step, to 100 digits.
        source: Frequencies that they come from, in the same order.
    """

    dim: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    axis: tuple[int, ...]
    frequencies: tuple[Decimal, ...]
    factor: float = 1.0
    source: Frequencies | None = field(default=None, compare=False, repr=False)

    @property
    def pairs(self) -> int:
        return len(self.first)

    def radians(self) -> np.ndarray:
        """The frequencies as float64; shape (pairs,)."""
        return np.array([float(frequency) for frequency in self.frequencies])

    def rounding(self) -> np.ndarray:
        """How far float32 arithmetic may put each frequency off, in radians a step; zeros without a source (pairs,)."""
        return np.zeros(self.pairs) if self.source is None else self.source.rounding()


def unwrapped(encoding: Encoding | None) -> Encoding | None:
    """Return the encoding inside `Partial` and `Backward` wrappers.

    Example:
        >>> from posenc import Backward, Partial, RoPE
        >>> unwrapped(Backward(Partial(RoPE(dim=4), dim=6))) == RoPE(dim=4)
        True
    """
    return unwrapped(encoding.encoding) if isinstance(encoding, Partial | Backward) else encoding


def pair_rotation(encoding: Encoding) -> PairRotation | None:
    """Return an encoding's rotation as plain data, if it rotates queries and keys alike and learns nothing.

    None for any other encoding, such as one that extends RoPE and overrides its `rotation`.

    Example:
        >>> from posenc import Partial, RoPE
        >>> pair_rotation(Partial(RoPE(dim=4, pairing="halves"), dim=6, start=2)).first
        (2, 3)
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    return None if computes_anew(encoding, _of_class.registry) else _of_class(encoding)


@singledispatch
def _of_class(encoding: Encoding) -> PairRotation | None:
    """Rotation that the class of an encoding has."""
    return None


@_of_class.register
def _(encoding: RoPE) -> PairRotation:
    return _of_pairs(
        Pairing(encoding.pairing, encoding.dim, encoding.dim), encoding.frequencies, encoding.attention_factor
    )


@_of_class.register
def _(encoding: DualBaseRoPE) -> PairRotation:
    blocks = 2 if encoding.pairing == "halves" else 1
    return _of_pairs(Pairing(encoding.pairing, encoding.dim, encoding.dim, 0, blocks), encoding.frequencies, 1.0)


@_of_class.register
def _(encoding: AxialRoPE) -> PairRotation:
    return _of_pairs(encoding.channels, encoding.frequencies, encoding.attention_factor, encoding.axis)


@_of_class.register
def _(encoding: Partial) -> PairRotation | None:
    inner = pair_rotation(encoding.encoding)
    if inner is None:
        return None
    first, second = (tuple(encoding.start + channel for channel in part) for part in (inner.first, inner.second))
    return replace(inner, dim=encoding.dim, first=first, second=second)


@_of_class.register
def _(encoding: Backward) -> PairRotation | None:
    inner = pair_rotation(encoding.encoding)
    return None if inner is None else replace(inner, first=inner.second, second=inner.first)


def _of_pairs(pairing: Pairing, frequencies: Frequencies, factor: float, axis: tuple[int, ...] = ()) -> PairRotation:
    first, second = (tuple(part.tolist()) for part in pairing.split(np.arange(pairing.dim)))
    axis = axis or (0,) * len(first)
    return PairRotation(pairing.dim, first, second, axis, frequencies.exact(), factor, frequencies)
