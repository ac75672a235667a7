"""Recovery of positions from the angles by which vectors were rotated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.comparison import angle_share
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations
from posenc.models.pair_rotation import PairRotation

#: Roundings on the way to a rotated channel: cosine, two products and their sum, of both channels of a pair.
ROUNDINGS = 12
#: Whole numbers that are tried where angles alone do not say how often a pair went round.
MOST_TRIED = 4096


class Speeds(NamedTuple):
    """Radians a position of pairs that read one coordinate, and how far each angle may be off, of itself; (pairs,)."""

    radians: np.ndarray
    share: np.ndarray


def recovered_positions(products: np.ndarray, meant: PairRotation, guess: np.ndarray, rounding: float) -> np.ndarray:
    """Recover positions from how far pairs of channels were rotated.

    Args:
        products: conj(before)·after of each pair, (..., pairs); its angle is position · frequency.
        meant: The rotation that is meant.
        guess: Positions (..., axes) that are tried first, of as many axes as products; NaN for those that do not count.
        rounding: Unit roundoff of the vectors' dtype.

    Returns:
        Positions (..., axes): the guess where it explains every pair, else whole ones, else fractions; NaN where none
        does, and where the guess is NaN.
    """
    axis, radians, share = np.array(meant.axis), meant.radians(), share_of_angle(meant)
    shape = (*products.shape[:-1], int(axis.max()) + 1)
    found = np.broadcast_to(guess, shape).copy()
    for number in range(shape[-1]):
        own = axis == number
        speeds = Speeds(radians[own], share[own])
        tried = guess[..., number]
        wrong = ~_explain(products[..., own], speeds, tried, rounding) & ~np.isnan(found[..., number])
        if wrong.any():
            these, places = products[..., own][wrong], np.broadcast_to(tried, wrong.shape)[wrong]
            read = _read(these, speeds, rounding)
            found[..., number][wrong] = _tried(these, speeds, places, rounding, read)
    return found + 0.0  # a zero with a sign is the same position


def _read(products: np.ndarray, speeds: Speeds, rounding: float) -> np.ndarray:
    """Positions (tokens,) read off the angles of all pairs (tokens, pairs), whole where that fits; else NaN."""
    observed = ObservedRotations(np.zeros(len(products)), products, np.abs(products), coarse=rounding > 1e-4)
    read = observed.used_positions(speeds.radians, np.zeros(len(speeds.radians), dtype=int))
    found = np.full(len(products), np.nan)
    for candidate in (read, np.round(read)):
        fits = _explain(products, speeds, candidate, rounding)
        found[fits] = candidate[fits]
    return found


def _tried(products: np.ndarray, speeds: Speeds, guess: np.ndarray, rounding: float, found: np.ndarray) -> np.ndarray:
    """Positions (tokens,) by trying whole numbers, where even the slowest pair makes more than half a revolution."""
    far = 4 * np.nanmax(np.abs(guess), initial=0.0) + 64
    if speeds.radians.min() * far < np.pi or far > MOST_TRIED:
        return found
    for number in range(int(far)):
        left = np.isnan(found)
        if not left.any():
            break
        fits = _explain(products[left], speeds, np.full(int(left.sum()), float(number)), rounding)
        found[np.flatnonzero(left)[fits]] = number
    return found


def _explain(products: np.ndarray, speeds: Speeds, positions: np.ndarray, rounding: float) -> np.ndarray:
    """Whether positions (...,) explain the angle of every pair, within rounding."""
    angles = positions[..., None] * speeds.radians
    allowed = allowed_share(angles, speeds.share, rounding).astype(products.real.dtype)
    with np.errstate(invalid="ignore"):
        left = products * np.exp(-1j * angles).astype(products.dtype)
        fits: np.ndarray = ((np.abs(left.imag) <= allowed * np.abs(left)) & (left.real >= 0)).all(-1)
    return fits


def allowed_share(angles: np.ndarray, of_angle: np.ndarray, rounding: float) -> np.ndarray:
    """Share of a pair's length by which rounding may move it perpendicular to its expected direction.

    Args:
        angles: Angles in radians by which pairs are rotated, (..., pairs).
        of_angle: How far each angle may be off, of itself, (pairs,): see `share_of_angle`.
        rounding: Unit roundoff of the vectors' dtype.
    """
    share: np.ndarray = ROUNDINGS * rounding + of_angle * np.abs(angles)
    return share


def share_of_angle(meant: PairRotation) -> np.ndarray:
    """How far the float32 angle of each pair may be off, of itself, (pairs,)."""
    return angle_share(meant.radians(), meant.rounding())
