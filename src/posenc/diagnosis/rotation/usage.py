"""How code uses a rotation, in the ways that are easily got wrong: a plain `Use` is right, a mistake is a change of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from posenc.compose import Partial
from posenc.doors import Rotates
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.models.pair_rotation import pair_rotation

#: Two to the number of significant bits of bfloat16.
BFLOAT16 = 2.0**8


@dataclass(frozen=True)
class Use:
    """What is done with a record.

    cached: what turned the keys, where that is another record.   query_shift, key_shift: added to positions.
    query_turns, key_turns: how often each is turned; 0 is not at all, -1 backwards.   swapped: sine for cosine.
    mixed: frequencies laid out by the other pairing.   position_type, frequency_type: cast to that type.
    repeats, holds: the length after which positions begin again, or stay what they are.   axis: what was taken for the
    position, "heads" or "batch".   speed: of every frequency.   scalings: how often the scaling is applied.
    query_factor, key_factor: how often the attention factor is.   logits: what these are multiplied by besides.
    """

    record: Rotates
    cached: Rotates | None = None
    query_shift: int = 0
    key_shift: int = 0
    query_turns: float = 1.0
    key_turns: float = 1.0
    swapped: bool = False
    mixed: bool = False
    position_type: str = ""
    frequency_type: str = ""
    repeats: int = 0
    holds: int = 0
    axis: str = ""
    speed: float = 1.0
    scalings: int = 1
    query_factor: float = 1.0
    key_factor: float = 1.0
    logits: float = 1.0

    @property
    def plain(self) -> bool:
        """Whether the record is used as it is meant, so that the record alone says everything."""
        return self == Use(self.record)

    @property
    def harmless(self) -> bool:
        """Whether all that is unusual is one shift of queries and keys together, which no logit sees."""
        return self.query_shift == self.key_shift != 0 and replace(self, query_shift=0, key_shift=0).plain


class Pairs(NamedTuple):
    """Which channels turn together, by which coordinate and at which rate: each (pairs,); the factor."""

    first: np.ndarray
    second: np.ndarray
    axis: np.ndarray
    rate_first: np.ndarray
    rate_second: np.ndarray
    factor: float
    dim: int


class Parts(NamedTuple):
    """A rotation taken apart: the RoPE inside, of one axis or several, the width of the head, and the first channel that turns."""

    rope: RoPE | AxialRoPE
    dim: int
    start: int

    def whole(self) -> Rotates:
        """The record again."""
        return self.rope if self.rope.head_dim == self.dim else Partial(self.rope, self.dim, self.start)


def parts(record: Rotates | None) -> Parts | None:
    """The parts of a RoPE or of a part of a head that is one; None for other records."""
    if isinstance(record, RoPE | AxialRoPE):
        return Parts(record, record.head_dim, 0)
    if isinstance(record, Partial):
        inner = parts(record.encoding)
        return None if inner is None else Parts(inner.rope, record.dim, record.start + inner.start)
    return None


def pairs(use: Use, role: str, exact: bool = True) -> Pairs:
    """The pairs of queries ("query") or keys ("key"); rates to float32 alone where `exact` is False, which is faster."""
    record = use.cached if role == "key" and use.cached is not None else use.record
    first, second, axis, factor, dim = _channels(record)
    rates = _rates(record, use.scalings, exact) * use.speed
    if use.frequency_type:
        rates = cast(rates.astype(np.float32), use.frequency_type)
    one = other = rates
    if use.mixed:
        one, other = _mixed(rates, first, second)
    times = use.query_factor if role == "query" else use.key_factor
    return Pairs(first, second, axis, one, other, factor**times, dim)


def places(use: Use, positions: np.ndarray, role: str) -> np.ndarray:
    """The positions that are really used, times how often the vector is turned."""
    shift, turns = (use.query_shift, use.query_turns) if role == "query" else (use.key_shift, use.key_turns)
    found = positions.astype(np.float64) + shift
    if use.repeats:
        found = np.mod(found, use.repeats)
    if use.holds:
        found = np.minimum(found, use.holds - 1)
    if use.position_type:
        found = cast(found, use.position_type)
    return found * turns


def waves(use: Use, positions: np.ndarray, role: str, exact: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin for the first channel of every pair, (n, pairs)."""
    made = pairs(use, role, exact)
    angle = _of_pairs(places(use, positions, role), made) * made.rate_first
    cosine, sine = np.cos(angle) * made.factor, np.sin(angle) * made.factor
    return (sine, cosine) if use.swapped else (cosine, sine)


def turned(use: Use, x: np.ndarray, positions: np.ndarray, role: str, exact: bool = True) -> np.ndarray:
    """Vectors (n, dim) as this use turns them."""
    made = pairs(use, role, exact)
    where = _of_pairs(places(use, positions, role), made)
    cosine, sine = (wave(where * made.rate_first) * made.factor for wave in (np.cos, np.sin))
    if use.mixed:
        cosine_second, sine_second = (wave(where * made.rate_second) * made.factor for wave in (np.cos, np.sin))
    else:
        cosine_second, sine_second = cosine, sine
    if use.swapped:
        cosine, sine, cosine_second, sine_second = sine, cosine, sine_second, cosine_second
    y = x.astype(np.float64)
    y[:, made.first] = x[:, made.first] * cosine - x[:, made.second] * sine
    y[:, made.second] = x[:, made.second] * cosine_second + x[:, made.first] * sine_second
    return y


def _of_pairs(where: np.ndarray, made: Pairs) -> np.ndarray:
    """Positions (n,) or (n, axes) as what each pair reads; (n, 1) or (n, pairs)."""
    if where.ndim == 1:
        return where[:, None]
    if made.axis.max(initial=0) >= where.shape[1]:
        raise ValueError(
            f"positions must have a coordinate for each axis; got {where.shape[1]} for a rotation that reads number "
            f"{made.axis.max()}. Give (n, axes)."
        )
    return np.asarray(where[:, made.axis])


def adjacent(use: Use) -> bool:
    """Whether neighbours turn together, or the one pair there is."""
    first, second, *_ = _channels(use.record)
    return bool(np.all(second - first == 1))


def cast(values: np.ndarray, kind: str) -> np.ndarray:
    """Numbers rounded to "float16" or "bfloat16", to the nearest and to even.

    >>> cast(np.array([257.0, 1000.0]), "bfloat16").tolist()
    [256.0, 1000.0]
    """
    if kind == "float16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float64)
    mantissa, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.round(mantissa * BFLOAT16) / BFLOAT16, exponent)


def _mixed(rates: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rate that each channel of a pair gets where frequencies lie as the other pairing lays them."""
    start, half = int(min(first.min(), second.min())), len(rates)
    neighbours = bool(np.all(second - first == 1))
    index = [(channels - start) % half if neighbours else (channels - start) // 2 for channels in (first, second)]
    return rates[index[0]], rates[index[1]]


@lru_cache(maxsize=1024)
def _channels(record: Rotates) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int]:
    own = parts(record)
    if own is None or isinstance(own.rope, AxialRoPE):
        made = pair_rotation(record)
        if made is None:
            raise TypeError(f"record must turn pairs of channels by fixed angles; got {record!r}. Compare its fields.")
        return np.array(made.first), np.array(made.second), np.array(made.axis), made.factor, made.dim
    rope, half = own.rope, own.rope.head_dim // 2
    number = np.arange(half)
    neighbours = rope.pairing == "adjacent"
    first, second = (2 * number, 2 * number + 1) if neighbours else (number, number + half)
    return first + own.start, second + own.start, np.zeros(half, int), rope.attention_factor, own.dim


@lru_cache(maxsize=2048)
def _rates(record: Rotates, scalings: int, exact: bool) -> np.ndarray:
    own = parts(record)
    if own is None:
        made = pair_rotation(record)
        return np.zeros(0) if made is None else made.radians()
    frequencies = own.rope.frequencies
    like = np.zeros(1, np.float32)
    rates = frequencies.radians() if exact else frequencies.float32(like).astype(np.float64)
    if scalings == 1 or own.rope.scaling is None:
        return rates
    before = replace(own.rope, scaling=None).frequencies.radians()
    return np.asarray(before * (rates / before) ** scalings)
