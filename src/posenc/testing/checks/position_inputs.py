"""Checks of positions: any order, any integer type, lists, fractions, far away; nothing else is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.core.doors import Encoding
from posenc.testing import budgets
from posenc.testing.door_probe import ANCHORS, SOME, last_position, moved_parameters, probed_rows, sides
from posenc.testing.effects import called
from posenc.testing.named_check import PAIRWISE, differ, ensure, named_check, refused, same_but_for_rounding

#: The arguments that hold positions, as each door names them.
PAIR = ("query_positions", "key_positions")
NAMES = {"adds": ("positions",), "rotates": ("positions",), "biases": PAIR, "scores": PAIR}


@named_check("Packed and padded batches hold positions in any order, in views of other arrays.")
def positions_in_any_order(encoding: Encoding) -> None:
    orders = {
        f"positions {list(SOME)}": np.array(SOME),
        "a strided view of positions": np.repeat(np.array(SOME), 3)[::3],
        "a reversed view of positions": np.array(SOME[::-1])[::-1],
    }
    for side in sides(encoding):
        wanted = probed_rows(encoding, np.arange(5), side=side)[..., list(SOME), :]
        for what, positions in orders.items():
            rows = probed_rows(encoding, positions, side=side)
            same_but_for_rounding(encoding, f"{what} ({side}) against sorted ones", rows, wanted)


@named_check("The integer type of a position must not change the result.")
def integer_types_agree(encoding: Encoding) -> None:
    for side in sides(encoding):
        wanted = probed_rows(encoding, np.array(SOME, np.int64), side=side)
        for kind in ("int8", "uint8", "int16", "int32", "uint32", "uint64"):
            narrow = probed_rows(encoding, np.array(SOME, kind), side=side, anchors=np.array(ANCHORS, kind))
            same_but_for_rounding(encoding, f"{kind} positions ({side}) against int64", narrow, wanted)


@named_check("Differences of small or unsigned integers wrap around unless widened.")
def integers_do_not_wrap(encoding: Encoding) -> None:
    """A difference of two uint8 or int16 positions, or a position times two, must not wrap."""
    for kind, most in (("uint8", 255), ("int16", 32_767), ("int32", 2**31 - 1)):
        if last_position(encoding) < most:
            continue
        positions = [most, 0, most - 1]
        for side in sides(encoding):
            narrow = probed_rows(encoding, np.array(positions, kind), side=side, anchors=np.array([most, 1, 0], kind))
            wanted = probed_rows(encoding, np.array(positions, np.int64), side=side, anchors=np.array([most, 1, 0]))
            same_but_for_rounding(encoding, f"{kind} positions up to {most} ({side})", narrow, wanted)


@named_check("A list of positions is what a newcomer types.")
def lists_are_arrays(encoding: Encoding) -> None:
    for inputs in (list(SOME), tuple(SOME), range(4), [[0, 1], [2, 3]]):
        what = f"positions as a {type(inputs).__name__} of shape {np.shape(inputs)}"
        same_but_for_rounding(encoding, what, probed_rows(encoding, inputs), probed_rows(encoding, np.array(inputs)))


@named_check("3.0 is position 3, or an error; never something else.")
def whole_floats_are_integers(encoding: Encoding) -> None:
    wanted = probed_rows(encoding, np.array(SOME))
    for kind in ("float32", "float64"):
        try:
            result = probed_rows(encoding, np.array(SOME, kind), dtype="float64")
        except (ValueError, TypeError) as error:
            ensure("fractional" not in encoding.claims, f"{kind} positions: expected them to be taken, got: {error}")
            continue
        same_but_for_rounding(encoding, f"whole {kind} positions against integers", result, wanted)


@named_check("A negative position must not count from the end of a table.")
def negative_positions(encoding: Encoding) -> None:
    for side in sides(encoding):
        try:
            result = probed_rows(encoding, np.array([-1, -5]), side=side)
        except (ValueError, TypeError) as error:
            ensure(
                "unlimited" not in encoding.claims,
                f"negative positions ({side}): expected them to be taken, got: {error}",
            )
            ensure(
                str(error).startswith(NAMES[encoding.door]),
                f"negative positions ({side}): expected a message that begins with the argument, got "
                f"{str(error)[:80]!r}.",
            )
            continue
        ensure(
            bool(np.isfinite(result).all()),
            f"negative positions ({side}): expected finite numbers, got some that are not.",
        )
        if encoding.door in PAIRWISE and "relative" in encoding.claims:
            moved = probed_rows(encoding, np.array([4, 0]), side=side, anchors=np.array([0, 1, 2, 3, 5]) + 5)
            same_but_for_rounding(encoding, f"positions -1 and -5 ({side}) against the same distances", result, moved)


@named_check(
    "Rounded to float32 or bfloat16, large positions collide with their neighbours.", unasked=budgets.without_float64
)
def far_neighbours_differ(encoding: Encoding) -> None:
    """Where 0 and 1 differ, so do p and p+1 near the largest position: nothing was rounded to a shorter float."""
    most = last_position(encoding)
    if most < 2:
        return
    for position in {min(most, limit) - 1 for limit in (300, 2_050, 2**24 + 2, 2**31 + 2, 2**40 + 2, 2**50)}:
        for side in sides(encoding):
            near = probed_rows(encoding, np.arange(2), side=side, anchors=np.arange(2))
            far = probed_rows(encoding, position + np.arange(2), side=side, anchors=position + np.arange(2))
            if differ(near[..., 0, :], near[..., 1, :], 1e-3) and _is_smooth(encoding):
                ensure(
                    differ(far[..., 0, :], far[..., 1, :], 1e-9 * min(1.0, float(np.abs(far).max()))),
                    f"positions {position} and {position + 1} ({side}): expected different rows, got equal ones.",
                )


def _is_smooth(encoding: Encoding) -> bool:
    """Whether neighbours differ wherever they are: not clipped at a distance, and no table that repeats."""
    return encoding.door in PAIRWISE or "fractional" in encoding.claims


@named_check("Every accepted position must give finite numbers.")
def finite_up_to_the_limit(encoding: Encoding) -> None:
    most = last_position(encoding)
    for side in sides(encoding):
        result = probed_rows(encoding, np.array([most, most // 2, most - 1 if most else 0]), side=side)
        ensure(bool(np.isfinite(result).all()), f"positions up to {most} ({side}): expected finite numbers.")


@named_check("16-bit floats cannot represent every integer above 256 (bfloat16) or 2048 (float16).")
def sixteen_bit_positions_refused(encoding: Encoding) -> None:
    _refused(encoding, "float16 positions", np.array([0, 1, 2], np.float16))


@named_check("A NaN position would be noticed only later, as a NaN loss.")
def nan_positions_refused(encoding: Encoding) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        _refused(encoding, f"a position that is {bad}", np.array([0.0, bad, 1.0]))


@named_check("The error belongs at the argument, not ten frames below.")
def what_is_no_number_refused(encoding: Encoding) -> None:
    for what, bad in (
        ("bool positions", np.array([True, False])),
        ("complex positions", np.array([1j, 2.0])),
        ("text as positions", "012"),
        ("None as positions", None),
        ("an object array as positions", np.array([0, None], object)),
        ("a ragged list of positions", [[0, 1], [2]]),
        ("positions beyond any integer", [10**30]),
        ("a mapping as positions", {"0": 1}),
    ):
        _refused(encoding, what, bad)


@named_check("Beyond 2^53, neighbouring positions are the same float64.")
def positions_beyond_range_refused(encoding: Encoding) -> None:
    _refused(encoding, "positions beyond 2^53", np.array([0, 2**60]))
    _refused(encoding, "positions below -2^53", np.array([-(2**60), 0]))


def _refused(encoding: Encoding, what: str, bad: Any) -> None:
    """Fail unless bad positions are refused in each argument that holds some."""
    good, params = np.array([0, 1]), moved_parameters(encoding) or None
    names = NAMES[encoding.door]
    refused(what, lambda: called(encoding, bad, good, params), names[0])
    if len(names) == 2:
        refused(f"{what} (key)", lambda: called(encoding, good, bad, params), names[1])
