"""Frequencies, cosines, sines and rotated vectors as code computes them, in plain float64."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from posenc.core.doors import RotaryEncoding
from posenc.diagnosis.rotation.comparison import ROUGH, angle_share
from posenc.diagnosis.rotation.rotation_usage import (
    Reversal,
    RoleUsage,
    RotationUsage,
    frequency_unit,
    rope_in_head,
)
from posenc.diagnosis.rotation.wrong_ramps import of_multiplied_ramp, of_other_ramp_base, of_reversed_ramp
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect.rounding import narrowed, to_tf32
from posenc.models.pair_rotation import pair_rotation

Role = Literal["query", "key"]
ROLES: tuple[Role, Role] = ("query", "key")


class RotatedPairs(NamedTuple):
    """Pairs of channels that rotate together, and the coordinate of each.

    Args:
        first: First channel of each pair, (pairs,).
        second: Second channel of each pair, (pairs,).
        axis: Coordinate that each pair reads, (pairs,).
        frequencies: Radians a step, (1, pairs), or (2, pairs) where the first and the second channel have their own.
        factor: Multiplies cosines and sines.
        dim: Channels of the head.
        angle_rounding: How far float32 may put each angle off, in radians a step; of the shape of `frequencies`.
    """

    first: np.ndarray
    second: np.ndarray
    axis: np.ndarray
    frequencies: np.ndarray
    factor: float
    dim: int
    angle_rounding: np.ndarray


def rotated_pairs(usage: RotationUsage, role: Role, exact: bool = True) -> RotatedPairs:
    """Find the pairs of queries or keys and their frequencies, which are float32, and faster, unless `exact`."""
    side: RoleUsage = getattr(usage, role)
    encoding = side.encoding or usage.encoding
    first, second, axis, factor, dim = _channels(encoding)
    frequencies = (
        _frequencies(encoding, usage.scalings, usage.reversal, usage.ramp_base, exact) * usage.frequency_factor
    )
    if usage.frequency_type:
        unit = frequency_unit(usage.rope)  # what a model holds, and casts, may be whole revolutions
        frequencies = narrowed(frequencies / unit, usage.frequency_type) * unit
    if usage.tf32 in ("angles", "all"):
        frequencies = to_tf32(frequencies)
    rounding = np.abs(frequencies) * _share_of_angle(encoding, exact)
    both, rounding = (
        _of_other_layout(each, first, second) if usage.other_layout else each[None] for each in (frequencies, rounding)
    )
    return RotatedPairs(first, second, axis, both, factor**side.attention_factors, dim, rounding)


@np.errstate(invalid="ignore")  # positions beyond what float16 holds
def used_positions(usage: RotationUsage, positions: np.ndarray, role: Role) -> np.ndarray:
    """Compute the positions that code really rotates by: shifted, moved, cut off, rounded, times the rotations."""
    side: RoleUsage = getattr(usage, role)
    used = positions.astype(np.float64) + np.asarray(side.shift, dtype=np.float64)
    if side.moves:
        used = _moved(used, dict(side.moves))
    if usage.table is not None:
        length, beyond = usage.table
        used = np.mod(used, length) if beyond == "repeat" else np.minimum(used, length - 1)
    if usage.position_type:
        used = narrowed(used, usage.position_type)
    if usage.tf32 in ("angles", "all"):
        used = to_tf32(used)
    return used * side.rotations


@np.errstate(invalid="ignore")
def used_cos_sin(
    usage: RotationUsage, positions: np.ndarray, role: Role, exact: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines, (1, n, pairs), or (2, n, pairs) where the two channels of a pair have their own."""
    pairs = rotated_pairs(usage, role, exact)
    angle = _of_each_pair(used_positions(usage, positions, role), pairs) * pairs.frequencies[:, None]
    cosine, sine = (np.sin, np.cos) if usage.sine_for_cosine else (np.cos, np.sin)
    return cosine(angle) * pairs.factor, sine(angle) * pairs.factor


def rotate_vectors(
    usage: RotationUsage, x: np.ndarray, positions: np.ndarray, role: Role, exact: bool = True
) -> np.ndarray:
    """Vectors (n, dim) as this usage rotates them."""
    pairs = rotated_pairs(usage, role, exact)
    cos, sin = used_cos_sin(usage, positions, role, exact)
    first, second = x[:, pairs.first], x[:, pairs.second]
    first_after, second_after = written_channels(usage, pairs)
    y = x.astype(np.float64)
    y[:, first_after] = first * cos[0] - second * sin[0]
    y[:, second_after] = second * cos[-1] + first * sin[-1]
    return y


def written_channels(usage: RotationUsage, pairs: RotatedPairs) -> tuple[np.ndarray, np.ndarray]:
    """Channels that the two rotated channels of each pair are written to."""
    if not usage.regrouped:
        return pairs.first, pairs.second
    start, half = min(pairs.first.min(), pairs.second.min()), len(pairs.first)
    return np.arange(start, start + half), np.arange(start + half, start + 2 * half)


def pairs_adjacent(encoding: RotaryEncoding) -> bool:
    """Whether the two channels of every pair are neighbours."""
    first, second, *_ = _channels(encoding)
    return bool(np.all(second - first == 1))


def _moved(positions: np.ndarray, moves: dict[tuple[float, ...], tuple[float, ...]]) -> np.ndarray:
    """Positions (n,) or (n, axes), with those that `moves` lists replaced."""
    rows, number = np.unique(positions.reshape(len(positions), -1), axis=0, return_inverse=True)
    moved = np.array([moves.get(row, row) for row in map(tuple, rows.tolist())])
    return np.asarray(moved[number.reshape(-1)].reshape(positions.shape))


def _of_each_pair(positions: np.ndarray, pairs: RotatedPairs) -> np.ndarray:
    """Coordinate that each pair reads: (n, 1) of positions (n,), or (n, pairs) of positions (n, axes)."""
    if positions.ndim == 1:
        return positions[:, None]
    if pairs.axis.max(initial=0) >= positions.shape[1]:
        raise ValueError(
            f"positions must have a coordinate for each axis; got {positions.shape[1]} for a rotation that reads "
            f"number {pairs.axis.max()}. Give (n, axes)."
        )
    return np.asarray(positions[:, pairs.axis])


def _of_other_layout(frequencies: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Frequencies (2, pairs) that the channels of each pair get from a layout made for the other pairing."""
    start, half = int(min(first.min(), second.min())), len(frequencies)
    adjacent = bool(np.all(second - first == 1))
    index = [(channels - start) % half if adjacent else (channels - start) // 2 for channels in (first, second)]
    return np.asarray(frequencies[np.stack(index)])


@lru_cache(maxsize=1024)
def _channels(encoding: RotaryEncoding) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, int]:
    head = rope_in_head(encoding)
    if head is None or isinstance(head.rope, AxialRoPE):
        pairs = pair_rotation(encoding)
        if pairs is None:
            raise TypeError(f"encoding must rotate pairs by fixed angles; got {encoding!r}. Compare fields.")
        return np.array(pairs.first), np.array(pairs.second), np.array(pairs.axis), pairs.factor, pairs.dim
    rope, half = head.rope, head.rope.head_dim // 2
    pair = np.arange(half)
    first, second = (2 * pair, 2 * pair + 1) if rope.pairing == "adjacent" else (pair, pair + half)
    return first + head.start, second + head.start, np.zeros(half, int), rope.attention_factor, head.dim


@lru_cache(maxsize=2048)
def _share_of_angle(encoding: RotaryEncoding, exact: bool) -> np.ndarray:
    """How far each float32 angle may be off, of itself; by twice as much where frequencies are float32 as well."""
    head = rope_in_head(encoding)
    rotation = pair_rotation(encoding) if head is None else head.rope.frequencies
    share = np.zeros(0) if rotation is None else angle_share(rotation.radians(), rotation.rounding())
    return share if exact else np.maximum(ROUGH, 2 * share)


@lru_cache(maxsize=2048)
def _frequencies(
    encoding: RotaryEncoding, scalings: int, reversal: Reversal | None, ramp_base: float | None, exact: bool
) -> np.ndarray:
    head = rope_in_head(encoding)
    if head is None:
        pairs = pair_rotation(encoding)
        return np.zeros(0) if pairs is None else pairs.radians()
    frequencies = head.rope.frequencies
    scaled = frequencies.radians() if exact else frequencies.float32(np.zeros(1, np.float32)).astype(np.float64)
    rope, scaling = head.rope, head.rope.scaling
    if scaling is None or (scalings == 1 and reversal is None and ramp_base is None):
        return scaled
    unscaled = replace(rope, scaling=None).frequencies.radians()
    if ramp_base is not None:
        rope, scaled = of_other_ramp_base(rope, unscaled, scaled, ramp_base)
    if reversal == "multiplied":
        return of_multiplied_ramp(scaling, unscaled, scaled)
    if reversal is not None and isinstance(rope, RoPE):
        return of_reversed_ramp(rope, unscaled, scaled, reversal)
    return np.asarray(unscaled * (scaled / unscaled) ** scalings)
