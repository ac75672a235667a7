"""Rotations over several axes: the coordinate and frequency of every pair, for each layout that models use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from posenc.core import validation

#: How many pairs each axis has, as mrope_section states them.
Sections = tuple[int, ...]


@dataclass(frozen=True)
class PairAxes:
    """The coordinate and the frequency that every pair reads.

    Attributes:
        axis: The coordinate of each pair.
        frequency_index: Of each pair, whose frequency is base^(-2·frequency_index / frequency_dim).
        frequency_dim: The width that these exponents are taken of.
        blocks: Blocks of channels in which pairs are formed.
        sections: Of each axis, where they cut through the channels of a pair, so that a pair has no axis.
        in_revolutions: Whether frequencies are whole revolutions, for the coordinates of centres from -1 to 1.
    """

    axis: tuple[int, ...]
    frequency_index: tuple[int, ...]
    frequency_dim: int
    blocks: int = 1
    sections: Sections = ()
    in_revolutions: bool = False


@dataclass(frozen=True)
class AxisLayout:
    """Rule that assigns the pairs of a head to the axes of positions (time, height, width).

    Attributes:
        text: What it does, for docs.
        of: Makes the axes of the pairs of a width.
        stated: Whether mrope_section says how many pairs each axis has.
        divisor: The width is a multiple of it.
        rotated: Channels of a head that the axes share; None where partial_rotary_factor says it.
    """

    text: str
    of: Callable[[int, Sections], PairAxes]
    stated: bool = False
    divisor: int = 4
    rotated: Callable[[int], int] | None = None


def pair_axes(layout: AxisLayout, width: int, sections: object) -> PairAxes:
    """Assign the pairs of `width` rotated channels to axes by a layout; `sections` is the file's mrope_section."""
    counts = _counts(sections) if layout.stated else ()
    if width % layout.divisor:
        raise ValueError(f"head_dim must be divided evenly among the axes; got {width} channels. Correct the config.")
    return layout.of(width, counts)


def _counts(sections: object) -> Sections:
    if not isinstance(sections, tuple) or not 3 <= len(sections) <= 64:
        raise TypeError(
            f"mrope_section must list the pairs of each axis; got {validation.shown(sections)}. Give (16, 24, 24), say."
        )
    return tuple(validation.integer("mrope_section", count, 0) for count in sections)


def layout(
    *, stated: bool = False, divisor: int = 4, rotated: Callable[[int], int] | None = None
) -> Callable[[Callable[[int, Sections], PairAxes]], AxisLayout]:
    """Make a decorator that turns a function into an AxisLayout, with the function's docstring as its text."""

    def made(of: Callable[[int, Sections], PairAxes]) -> AxisLayout:
        text = (of.__doc__ or "").rstrip(".")
        return AxisLayout(text[:1].lower() + text[1:], of, stated, divisor, rotated)

    return made


def _whole_head(dim: int) -> int:
    return dim


def _check_sum(width: int, sections: Sections) -> None:
    if sum(sections) != width // 2:
        raise ValueError(
            f"mrope_section must add up to {width // 2}, the pairs of a width of {width}; got {sections}. "
            "State the one of the file."
        )


# Text with images and video: time, height and width, as mrope_section shares them out.


@layout(stated=True, divisor=2)
def section_runs(width: int, sections: Sections) -> PairAxes:
    """Runs of pairs, axis after axis and round again."""
    _check_sum(width, sections)
    axis = tuple(i % 3 for i, count in enumerate(sections) for _ in range(count))
    return PairAxes(axis, tuple(range(width // 2)), width)


@layout(stated=True, divisor=2)
def channel_runs(width: int, sections: Sections) -> PairAxes:
    """Runs of twice as many channels, axis after axis, whichever pairs they cut through."""
    _check_sum(width, sections)
    return PairAxes((), (), width, sections=sections)


@layout(stated=True, divisor=2)
def every_third(width: int, sections: Sections) -> PairAxes:
    """Height and width on every third pair from the second and third on, time on all others."""
    axis = [0] * (width // 2)
    for number in (1, 2):
        for pair in range(number, min(3 * sections[number], width // 2), 3):
            axis[pair] = number
    return PairAxes(tuple(axis), tuple(range(width // 2)), width)


@layout(stated=True, divisor=2)
def alternating(width: int, sections: Sections) -> PairAxes:
    """Height and width in turn, time on the slow pairs at the end."""
    pairs, fast = width // 2, sections[0] + sections[1]
    if sum(sections) != pairs or sections[0] != sections[1]:
        raise ValueError(
            f"mrope_section must add up to {pairs}, the first two alike; got {sections}. State the one of the file."
        )
    return PairAxes(tuple(1 + i % 2 if i < fast else 0 for i in range(pairs)), tuple(range(pairs)), width)


@layout(divisor=1)
def even_and_odd(width: int, _: Sections) -> PairAxes:
    """Rows on even pairs, columns on odd ones, of one set of frequencies."""
    return PairAxes(tuple(i % 2 for i in range(width // 2)), tuple(range(width // 2)), width)


# Vision towers: rows (height) and columns (width) of patches.


@layout(rotated=_whole_head)
def rows_then_columns(width: int, _: Sections) -> PairAxes:
    """Height, then width, each with frequencies of its own."""
    return _axis_by_axis(width, 0, 1)


@layout(rotated=_whole_head)
def rows_then_columns_in_revolutions(width: int, _: Sections) -> PairAxes:
    """Height, then width, each with frequencies in whole revolutions, at `positions.centres` from -1 to 1."""
    return replace(_axis_by_axis(width, 0, 1), in_revolutions=True)


@layout(rotated=_whole_head)
def columns_then_rows(width: int, _: Sections) -> PairAxes:
    """Width, then height, each with frequencies of its own."""
    return _axis_by_axis(width, 1, 0)


@layout(rotated=_whole_head)
def column_then_row(width: int, _: Sections) -> PairAxes:
    """Width, the first coordinate of a position, then height, each with frequencies of its own."""
    return _axis_by_axis(width, 0, 1)


@layout(rotated=_whole_head)
def column_then_row_in_blocks(width: int, _: Sections) -> PairAxes:
    """Width, the first coordinate of a position, then height, the pairs of each formed in a half of the head."""
    return replace(_axis_by_axis(width, 0, 1), blocks=2)


@layout(divisor=1, rotated=lambda dim: 6 * (dim // 3 // 2))
def time_rows_columns(width: int, _: Sections) -> PairAxes:
    """Time, height and width, each with frequencies of its own."""
    return _axis_by_axis(width, 0, 1, 2)


def _axis_by_axis(width: int, *axes: int) -> PairAxes:
    each = width // 2 // len(axes)
    return PairAxes(tuple(axis for axis in axes for _ in range(each)), tuple(range(each)) * len(axes), 2 * each)


@layout(rotated=_whole_head)
def columns_and_rows_in_turn(width: int, _: Sections) -> PairAxes:
    """Width and height pair by pair, each with frequencies of its own."""
    return PairAxes(tuple(1 - i % 2 for i in range(width // 2)), tuple(i // 2 for i in range(width // 2)), width // 2)


@layout(rotated=_whole_head)
def rows_and_columns_in_turn(width: int, _: Sections) -> PairAxes:
    """Height and width pair by pair, each with frequencies of its own."""
    return PairAxes(tuple(i % 2 for i in range(width // 2)), tuple(i // 2 for i in range(width // 2)), width // 2)


@layout(rotated=_whole_head)
def even_and_odd_frequencies(width: int, _: Sections) -> PairAxes:
    """Height on the even ones of one set of frequencies, width on the odd ones."""
    each = width // 4
    indices = (*range(0, 2 * each, 2), *range(1, 2 * each, 2))
    return PairAxes((0,) * each + (1,) * each, indices, width)
