"""How released models deal out the pairs of a head to the coordinates of a position: a rule each."""

from __future__ import annotations

from collections.abc import Iterable

#: Axis and frequency index of each pair, and whether indices are counted anew on each axis.
Pairs = tuple[tuple[int, ...], tuple[int, ...], bool]


def bands(sections: tuple[int, ...]) -> Pairs:
    """One axis after another, each with frequencies of its own: 0 0 1 1."""
    axis = tuple(axis for axis, count in enumerate(sections) for _ in range(count))
    return axis, tuple(index for count in sections for index in range(count)), True


def bands_last_first(sections: tuple[int, ...]) -> Pairs:
    """Bands, the last axis first: 1 1 0 0."""
    axis, index, restarts = bands(sections[::-1])
    return tuple(len(sections) - 1 - one for one in axis), index, restarts


def slots_last_first(sections: tuple[int, ...]) -> Pairs:
    """Axes take turns, the last one first, each with frequencies of its own: 1 0 1 0."""
    count, pairs = len(sections), range(sum(sections))
    return tuple(count - 1 - pair % count for pair in pairs), tuple(pair // count for pair in pairs), True


def dealt(sections: tuple[int, ...]) -> Pairs:
    """Frequencies dealt out to the axes in turn, then put axis by axis: axes 0 0 1 1, indices 0 2 1 3."""
    count = len(sections)
    index = tuple(index for axis in range(count) for index in range(axis, sum(sections), count))
    return tuple(one % count for one in index), index, False


def dealt_in_place(sections: tuple[int, ...]) -> Pairs:
    """Frequencies dealt out to the axes in turn: axes 0 1 0 1."""
    return _shared(pair % len(sections) for pair in range(sum(sections)))


def chunks(sections: tuple[int, ...]) -> Pairs:
    """Frequencies cut into sections, one an axis: axes 0 0 1 1 2 2."""
    return _shared(bands(sections)[0])


def strides(sections: tuple[int, ...]) -> Pairs:
    """One set of frequencies: thirds for height and width as far as sections reach, else time: 0 1 2 0 1 2 0 0."""
    reach = (0, 3 * sections[1], 3 * sections[2])
    return _shared(pair % 3 if pair < reach[pair % 3] else 0 for pair in range(sum(sections)))


def time_last(sections: tuple[int, ...]) -> Pairs:
    """One set of frequencies: height and width take turns on the fast ones, time has the slow ones: 1 2 1 2 0."""
    return _shared(1 + pair % 2 if pair < sections[1] + sections[2] else 0 for pair in range(sum(sections)))


def by_sixteens(sections: tuple[int, ...]) -> Pairs:
    """One set of frequencies, by sixteens: four pairs of time, then two of height and two of width, three times."""
    return _shared((0, 0, 0, 0, *3 * (1, 1, 2, 2))[pair % 16] for pair in range(sum(sections)))


def _shared(axes: Iterable[int]) -> Pairs:
    axis = tuple(axes)
    return axis, tuple(range(len(axis))), False
