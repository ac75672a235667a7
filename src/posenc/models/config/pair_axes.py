"""Rotations over several axes: which coordinate and frequency every pair reads, for each layout that models use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from posenc import _check

#: How many pairs each axis has, as mrope_section states them.
Sections = tuple[int, ...]


@dataclass(frozen=True)
class PairAxes:
    """Which coordinate and which frequency every pair reads.

    axis      the coordinate of each pair
    rung      its frequency: base^(-2·rung / ladder)
    ladder    the width that these exponents are taken of
    blocks    in how many blocks of channels pairs are formed
    sections  of each axis, where they cut through the channels of a pair, so that a pair has no axis
    """

    axis: tuple[int, ...]
    rung: tuple[int, ...]
    ladder: int
    blocks: int = 1
    sections: Sections = ()


@dataclass(frozen=True)
class AxisLayout:
    """One way to share pairs among axes.

    text     what it does, for docs
    of       the axes of the pairs of a width
    stated   whether mrope_section says how many pairs each axis has
    divisor  what the width must be a multiple of
    rotated  how many channels of a head the axes share; None where partial_rotary_factor says it
    """

    text: str
    of: Callable[[int, Sections], PairAxes]
    stated: bool = False
    divisor: int = 4
    rotated: Callable[[int], int] | None = None


def pair_axes(layout: AxisLayout, width: int, sections: object) -> PairAxes:
    """The axes of the pairs of `width` rotated channels."""
    counts = _counts(sections) if layout.stated else ()
    if width % layout.divisor:
        raise ValueError(f"head_dim must be divided evenly among the axes; got {width} channels. Look at the file.")
    return layout.of(width, counts)


def _counts(sections: object) -> Sections:
    if not isinstance(sections, tuple) or not 3 <= len(sections) <= 64:
        raise TypeError(
            f"mrope_section must list the pairs of each axis; got {_check.shown(sections)}. Give (16, 24, 24), say."
        )
    return tuple(_check.integer("mrope_section", count, 0) for count in sections)


def _check_sum(width: int, sections: Sections) -> None:
    if sum(sections) != width // 2:
        raise ValueError(
            f"mrope_section must add up to {width // 2}, the pairs of a width of {width}; got {sections}. "
            "State the one of the file."
        )


def _runs(width: int, sections: Sections) -> PairAxes:
    _check_sum(width, sections)
    axis = tuple(i % 3 for i, count in enumerate(sections) for _ in range(count))
    return PairAxes(axis, tuple(range(width // 2)), width)


def _channel_runs(width: int, sections: Sections) -> PairAxes:
    _check_sum(width, sections)
    return PairAxes((), (), width, sections=sections)


def _every_third(width: int, sections: Sections) -> PairAxes:
    axis = [0] * (width // 2)
    for number in (1, 2):
        for pair in range(number, min(3 * sections[number], width // 2), 3):
            axis[pair] = number
    return PairAxes(tuple(axis), tuple(range(width // 2)), width)


def _alternating(width: int, sections: Sections) -> PairAxes:
    pairs, fast = width // 2, sections[0] + sections[1]
    if sum(sections) != pairs or sections[0] != sections[1]:
        raise ValueError(
            f"mrope_section must add up to {pairs}, the first two alike; got {sections}. State the one of the file."
        )
    return PairAxes(tuple(1 + i % 2 if i < fast else 0 for i in range(pairs)), tuple(range(pairs)), width)


def _even_and_odd(width: int, _: Sections) -> PairAxes:
    return PairAxes(tuple(i % 2 for i in range(width // 2)), tuple(range(width // 2)), width)


def _in_turn(first: int) -> Callable[[int, Sections], PairAxes]:
    """The axes pair by pair, each with a ladder of its own."""

    def of(width: int, _: Sections) -> PairAxes:
        pairs = range(width // 2)
        return PairAxes(tuple((first + i) % 2 for i in pairs), tuple(i // 2 for i in pairs), width // 2)

    return of


def _one_after_another(*axes: int, blocks: int = 1) -> Callable[[int, Sections], PairAxes]:
    """All pairs of one axis, then all of the next, each axis with a ladder of its own."""

    def of(width: int, _: Sections) -> PairAxes:
        each = width // 2 // len(axes)
        return PairAxes(
            tuple(axis for axis in axes for _ in range(each)), tuple(range(each)) * len(axes), 2 * each, blocks
        )

    return of


def _split_rungs(width: int, _: Sections) -> PairAxes:
    each = width // 4
    rungs = (*range(0, 2 * each, 2), *range(1, 2 * each, 2))
    return PairAxes((0,) * each + (1,) * each, rungs, width)


def _all(dim: int) -> int:
    return dim


def _multiple_of_six(dim: int) -> int:
    return 6 * (dim // 3 // 2)


#: Text with pictures and video: time, height and width, as mrope_section shares them out.
SECTION_RUNS = AxisLayout("runs of pairs, axis after axis and round again", _runs, stated=True, divisor=2)
CHANNEL_RUNS = AxisLayout(
    "runs of twice as many channels, axis after axis, whichever pairs they cut through",
    _channel_runs,
    stated=True,
    divisor=2,
)
EVERY_THIRD = AxisLayout(
    "height and width on every third pair from the second and third on, time on all others",
    _every_third,
    stated=True,
    divisor=2,
)
ALTERNATING = AxisLayout(
    "height and width in turn, time on the slow pairs at the end", _alternating, stated=True, divisor=2
)
EVEN_AND_ODD = AxisLayout("rows on even pairs, columns on odd ones, of one ladder", _even_and_odd, divisor=1)
#: Vision towers: rows (height) and columns (width) of patches.
ROWS_THEN_COLUMNS = AxisLayout(
    "height, then width, each with a ladder of its own", _one_after_another(0, 1), rotated=_all
)
COLUMNS_THEN_ROWS = AxisLayout(
    "width, then height, each with a ladder of its own", _one_after_another(1, 0), rotated=_all
)
ROWS_THEN_COLUMNS_IN_BLOCKS = AxisLayout(
    "as the grid, with the pairs of each axis formed in a half of the head",
    _one_after_another(0, 1, blocks=2),
    rotated=_all,
)
COLUMNS_AND_ROWS_IN_TURN = AxisLayout(
    "width and height pair by pair, each with a ladder of its own", _in_turn(1), rotated=_all
)
ROWS_AND_COLUMNS_IN_TURN = AxisLayout(
    "height and width pair by pair, each with a ladder of its own", _in_turn(0), rotated=_all
)
SPLIT_RUNGS = AxisLayout("height on the even rungs of one ladder, width on the odd ones", _split_rungs, rotated=_all)
TIME_ROWS_COLUMNS = AxisLayout(
    "time, height and width, each with a ladder of its own",
    _one_after_another(0, 1, 2),
    divisor=1,
    rotated=_multiple_of_six,
)
