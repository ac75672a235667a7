"""Checks of claims, both ways: what is claimed must hold, and what is not claimed must fail to hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionScore, Claim, Encoding, RotaryEncoding
from posenc.core.rotation import at_every_head
from posenc.testing import budgets
from posenc.testing.checks.grid_axes import uneven_grid
from posenc.testing.door_probe import (
    ANCHORS,
    FAR,
    accepts,
    last_position,
    line_logits,
    logits_at,
    moved_parameters,
    probed_rows,
    read_only,
    sides,
)
from posenc.testing.named_check import DOORS, PAIRWISE, Check, differ, ensure
from posenc.testing.one_coordinate import Line

QUERY = read_only(0, 1, 2, 5, 3)
KEY = read_only(0, 1, 3, 4, 2, 5)
SHIFTS = (1, 7, 1_000, 100_000, 10**6, 2**40, -3)
#: Largest error of an angle, in radians, at which released arithmetic is still compared.
USEFUL_ANGLE = 0.02


def _claim(
    claim: Claim, explains: str, doors: tuple[str, ...] = DOORS
) -> Callable[[Callable[[Any], Iterator[str]]], Check]:
    """Decorate a function that yields reasons against `claim`, to check that it holds exactly where it is claimed."""

    def check_of(against: Callable[[Any], Iterator[str]]) -> Check:
        def run(encoding: Encoding) -> None:
            result, is_claimed = next(against(encoding), None), claim in encoding.claims
            holds = f"{claim} is not claimed, but it holds wherever it was tried: expected it to fail or to be claimed."
            ensure((result is None) == is_claimed, f"{claim} is claimed, but {result}." if is_claimed else holds)

        return Check(against.__name__, run, explains, doors)

    return check_of


@_claim("relative", "A relative encoding depends only on distances, so shifting a prompt changes nothing.")
def claim_relative(encoding: Encoding) -> Iterator[str]:
    expected = line_logits(encoding, QUERY, KEY)
    budget = budgets.product(budgets.arithmetic(encoding), 64, budgets.rounding_size(expected))
    for shift in SHIFTS:
        lost = budgets.angle(encoding, shift + 5)
        if shift + 5 > last_position(encoding) or lost > USEFUL_ANGLE or (shift < 0 and not accepts(encoding, shift)):
            continue
        result = line_logits(encoding, QUERY + shift, KEY + shift)
        if differ(result, expected, budget + 4 * lost * _length(encoding)):
            error = float(np.nanmax(np.abs(result - expected)))
            yield f"moving queries and keys by {shift} changes a logit by {error:.2g}"
    if isinstance(encoding, Line):
        yield from _shifted_on_an_axis(encoding.encoding)


def _shifted_on_an_axis(encoding: Encoding) -> Iterator[str]:
    """Yield a message for each axis along which shifting a grid changes logits, as with non-commuting rotations."""
    query_positions, key_positions = uneven_grid(encoding.axes)[::-2], uneven_grid(encoding.axes)[:6]
    expected = logits_at(encoding, query_positions, key_positions)
    budget = budgets.product(budgets.arithmetic(encoding), 64, 16 * budgets.rounding_size(expected))
    lost = budgets.angle(encoding, 8) * encoding.axes
    for axis in range(encoding.axes):
        shift = 3 * np.eye(encoding.axes, dtype=np.int64)[axis]
        try:
            result = logits_at(encoding, query_positions + shift, key_positions + shift)
        except (ValueError, TypeError):  # a grid that ends
            continue
        if differ(result, expected, budget + 4 * lost * _length(encoding)):
            change = np.nanmax(np.abs(result - expected))
            yield f"moving queries and keys by 3 along axis {axis} changes a logit by {change:.2g}"


def _length(encoding: Encoding) -> float:
    """Estimate of the largest |q|·|k| of drawn content, the factor from an angle's error to a logit's error."""
    return 4.0 * (encoding.head_dim if isinstance(encoding, RotaryEncoding) else 16)


@_claim("isometry", "A rotation that changes lengths changes the weight of a token.", ("rotates",))
def claim_isometry(encoding: RotaryEncoding) -> Iterator[str]:
    yield from _longer_at(encoding, np.array([0, 1, 2, 50, min(last_position(encoding), 10**6)]))
    if isinstance(encoding, Line):  # off the line: what cuts through a pair rotates it only where coordinates are alike
        yield from _longer_at(encoding.encoding, uneven_grid(encoding.encoding.axes)[-5:])


def _longer_at(encoding: RotaryEncoding, positions: np.ndarray) -> Iterator[str]:
    """Yield a message for each role whose vectors change in length, with the position where they change most."""
    x = np.random.default_rng(3).standard_normal((5, encoding.head_dim))
    budget = budgets.product(budgets.arithmetic(encoding), encoding.head_dim, 1.0)
    budget += budgets.angle(encoding, float(positions.max())) if budgets.formed(encoding) else 0.0
    for role in encoding.roles:
        rotated = at_every_head(encoding.rotation(positions, moved_parameters(encoding) or None, role=role), x)
        change = np.abs(np.linalg.norm(rotated, axis=-1) / np.linalg.norm(x, axis=-1) - 1).reshape(-1, 5).max(0)
        if not change.max() <= budget:  # what is no number is not as long
            where, factor = positions[change.argmax()], 1 + change.max()
            yield f"the length of a {role} at position {where} changes by a factor of {factor:.6g}"


@_claim("streaming", "Decoding computes a row alone; training computed it among the others.")
def claim_streaming(encoding: Encoding) -> Iterator[str]:
    whole = np.arange(min(9, last_position(encoding) + 1))
    for side in sides(encoding):
        together = probed_rows(encoding, whole, side=side)
        budget = budgets.own_value(encoding, together)
        for position in whole:
            alone = probed_rows(encoding, whole[position : position + 1], side=side)[..., 0, :]
            if differ(alone, together[..., position, :], budget):
                yield f"the row of position {position} ({side}) alone is not its row among {len(whole)}"


@_claim("bounded", "Values that grow with position drown the content.")
def claim_bounded(encoding: Encoding) -> Iterator[str]:
    """Values that are more than twice as large from 2^20 on as they are below 2^10 have no bound."""
    if isinstance(encoding, AttentionScore) and encoding.gathers:
        yield from _growth_with_keys(encoding)
        return
    most = last_position(encoding)
    sign = np.array([1, -1] if accepts(encoding, -most) else [1])[:, None]
    near = np.arange(min(most, 1 << 10) + 1)
    far = np.array(
        [position for power in range(20, 51) for position in (1 << power, (1 << power) - 1) if position <= most]
        or [position for position in (most, most - 1) if position > 1 << 10],
        np.int64,
    )
    for side in sides(encoding) if len(far) else ():
        low, high = (
            float(np.abs(probed_rows(encoding, (sign * inputs).ravel(), side=side)).max()) for inputs in (near, far)
        )
        if high > 2 * low + 1e-9:
            yield (
                f"the largest value grows from {low:.3g} below position 1024 to {high:.3g} at 2^20 and beyond ({side})"
            )


def _growth_with_keys(encoding: Encoding) -> Iterator[str]:
    """Yield a message if a score that reads the keys between two places grows with their number."""
    short, long = (
        float(np.abs(probed_rows(encoding, np.array([count - 1]), anchors=np.arange(count))).max())
        for count in (128, 2_048)
    )
    if long > 2 * short + 1e-9:
        yield f"the largest value grows from {short:.3g} for 128 keys to {long:.3g} for 2048"


@_claim("unlimited", "A last position limits the length that can be served.")
def claim_unlimited(encoding: Encoding) -> Iterator[str]:
    """Try all far and negative positions before reporting, so that a refused one does not hide one that crashes."""
    return iter(list(_refused_or_infinite(encoding)))


def _refused_or_infinite(encoding: Encoding) -> Iterator[str]:
    """Yield a message for each far or negative position that is refused or gives numbers that are not finite."""
    for position in (2**31 + 3, 2**40 + 1, FAR, -1, -(2**40)):
        for side in sides(encoding):
            try:
                if np.isfinite(probed_rows(encoding, np.array([position]), side=side)).all():
                    continue
            except (ValueError, TypeError) as error:
                yield f"position {position} ({side}) is refused: {str(error)[:60]}"
                continue
            yield f"position {position} ({side}) gives numbers that are not finite"


@_claim("fractional", "Fractional coordinates must be used as they are or raise an error, never be rounded.")
def claim_fractional(encoding: Encoding) -> Iterator[str]:
    for side in sides(encoding):
        try:
            low, middle, high = np.moveaxis(probed_rows(encoding, np.array([2.0, 2.5, 3.0]), side=side), -2, 0)
        except (ValueError, TypeError) as error:
            yield f"position 2.5 ({side}) is refused: {str(error)[:60]}"
            continue
        if not np.isfinite(middle).all():
            yield f"position 2.5 ({side}) gives numbers that are not finite"
        elif not np.array_equal(low, high) and (np.array_equal(low, middle) or np.array_equal(middle, high)):
            yield f"position 2.5 ({side}) is taken for a whole one"


@_claim("symmetric", "A symmetric bias cannot distinguish a sentence from its mirror image.", PAIRWISE)
def claim_symmetric(encoding: Encoding) -> Iterator[str]:
    # Also far apart: what is measured against a position or a length may be symmetric close to the start.
    inputs = np.array([*ANCHORS, *(position for position in (700, 3_000) if position <= last_position(encoding))])
    params = moved_parameters(encoding)
    result = probed_rows(encoding, inputs, params=params, anchors=inputs)
    other = np.swapaxes(result, -1, -2)
    if differ(result, other, budgets.own_value(encoding, result)):
        head, m, n = np.unravel_index(int(np.abs(result - other).argmax()), result.shape)
        yield (
            f"head {head} gives {result[head, m, n]:.6g} for ({inputs[m]}, {inputs[n]}) and {other[head, m, n]:.6g} "
            f"for ({inputs[n]}, {inputs[m]})"
        )


@_claim("shift-linear", "The lecture's argument for sinusoids: a shift is one matrix.", ("adds",))
def claim_shift_linear(encoding: AdditiveEncoding) -> Iterator[str]:
    """Fit M(k) on half of the rows and test it on the other half; an error is compared with what the shift changes."""
    most = min(last_position(encoding), 1_000 if budgets.released(encoding) else 10**6)
    # Near rows, where tables differ, and far ones, where slow waves have rotated.
    near = np.arange(min(most, 6 * encoding.width + 16))
    rng = np.random.default_rng(1)
    starts = rng.permutation(np.concatenate([near, rng.integers(0, most, 8 * encoding.width)]))
    params = moved_parameters(encoding)
    before = probed_rows(encoding, starts, params=params)
    for shift in (1, 3):
        if shift + int(starts.max(initial=0)) > last_position(encoding):
            starts = starts[starts + shift <= last_position(encoding)]
            before = probed_rows(encoding, starts, params=params)
        after = probed_rows(encoding, starts + shift, params=params)
        matrix = np.linalg.lstsq(before[0::2], after[0::2], rcond=None)[0]
        error = np.abs(before[1::2] @ matrix - after[1::2]).max(initial=0.0)
        change = np.abs(after - before).max(initial=0.0)
        # A double angle loses at most a few bits of 53 in the fit; released arithmetic loses its angles' error.
        if error > (1e-6 + 40 * budgets.angle(encoding, most)) * change + 1e-12:
            yield (
                f"no matrix takes row t to row t+{shift}: the best one errs by {error:.2g} where the rows change by "
                f"{change:.2g}"
            )
