"""Positions that a printed value of the encoding belongs to, under a stated convention or a search over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

import numpy as np

from posenc.core import text_lines, validation
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect.sinusoid_channels import required_channels
from posenc.learn.course.errata import ERRATA
from posenc.learn.course.sinusoid_of_channel import SinusoidOfChannel, position_blocks
from posenc.learn.course.solved_value import solved_value

#: In what published conventions differ.
RULES: Mapping[str, tuple[Any, ...]] = {
    "exponent": ("2i/d", "i/d", "i/(d/2-1)"),
    "layout": ("interleaved", "concatenated"),
    "first": ("sine", "cosine"),
    "start": (0, 1),
}


@dataclass(frozen=True)
class Printed:
    """A printed value: its dimension, its text, the number, and one unit in its last digit, used as the tolerance."""

    dimension: int
    text: str
    value: float
    unit: float


@dataclass(frozen=True)
class Fit:
    """Positions that fit the printed values under one convention.

    Attributes:
        encoding: The convention.
        count: How many positions fit.
        first: First of them; None where there is none.
        following: Second of them; None where there is none.
        value: Value at the first.
        exact: Real-valued position nearest to the first fit where the first printed value is met exactly; None if the
            value lies outside the sinusoid's range.
    """

    encoding: Sinusoidal
    count: int
    first: int | None
    following: int | None
    value: float | None
    exact: float | None

    def line(self) -> str:
        """The fit in a line.

        Returns:
            A line of text.
        """
        encoding = self.encoding
        convention = f"exponent {encoding.exponent}, {encoding.layout}, {encoding.first} first, start {encoding.start}"
        if self.first is None:
            return f"{convention}: no position fits"
        near = "" if self.exact is None or abs(self.exact - self.first) < 5e-4 else f" (exactly {self.exact:.3f})"
        following = "no other" if self.following is None else f"next {self.following:,}"
        return f"{convention}: k = {self.first:,}{near}, {following}; {text_lines.count(self.count, 'fit')}"


@dataclass(frozen=True)
class FoundPositions(text_lines.Lines):
    """Positions that fit printed values.

    Attributes:
        printed: The printed values.
        dim: Dimensions of the encoding.
        base: Base of the encoding.
        largest: Largest position that was searched.
        fits: A Fit for each convention, the smallest first fit in front.
    """

    printed: tuple[Printed, ...]
    dim: int
    base: float
    largest: int
    fits: tuple[Fit, ...]

    def of(self, exponent: str, layout: str = "interleaved", first: str = "sine", start: int = 0) -> Fit:
        """Fit of one convention.

        Args:
            exponent: "2i/d", "i/d" or "i/(d/2-1)".
            layout: "interleaved" or "concatenated".
            first: "sine" or "cosine".
            start: Number added to every position.

        Returns:
            The fit.

        Raises:
            ValueError: The convention was not searched.
        """
        for fit in self.fits:
            encoding = fit.encoding
            if (encoding.exponent, encoding.layout, encoding.first, encoding.start) == (exponent, layout, first, start):
                return fit
        raise ValueError(
            f"exponent must name a convention that was searched; got {exponent!r}, {layout!r}, {first!r}, {start!r}. "
            "Search it."
        )

    def lines(self) -> list[str]:
        """The fits, the verdict, and what the sources print wrongly about the value."""
        asked = ", ".join(f"dimension {p.dimension} = {p.text}" for p in self.printed)
        units = ", ".join(sorted({f"{p.unit:g}" for p in self.printed}))
        shown = self._from_zero()
        lines = [
            f"{asked} of {self.dim} dimensions, base {text_lines.number(self.base)}: positions 0 to {self.largest:,}",
            f"a value fits within one unit of its last printed digit ({units})",
            *(fit.line() for fit in shown),
        ]
        if len(shown) < len(self.fits):
            lines.append("Where positions are counted from 1 (start 1), each k is one less.")
        return [
            *lines,
            _verdict([fit for fit in shown if fit.first is not None]),
            *self.derivation(),
            *self._errata(),
        ]

    def derivation(self, encoding: Sinusoidal | None = None) -> list[str]:
        """The first printed value solved for its position, step by step.

        Args:
            encoding: Convention to solve under; that of the paper if it was searched, else the first, if left out.

        Returns:
            A title and the steps; none for a value that no sine or cosine has.

        Raises:
            TypeError: `encoding` is not sinusoidal.
            ValueError: `encoding` was not searched.

        Example:
            >>> for line in find_positions({0: "0.8415"}, dim=4).derivation()[2:5]:
            ...     print(line.strip())
            0.8415 = sin(k / 10000^(2·0/4))
            k = 10000^(2·0/4) · arcsin 0.8415
            k = 1 · 1.000054 = 1.000054
        """
        usual = (fit for fit in self.fits if fit.encoding == Sinusoidal(self.dim, self.base))
        fit = next(usual, self.fits[0]) if encoding is None else self._searched(encoding)
        asked = self.printed[0]
        alone = len(self.printed) == 1
        return solved_value(fit.encoding, asked.dimension, asked.text, first=fit.first, alone=alone)

    def _searched(self, encoding: Sinusoidal) -> Fit:
        validation.instance("encoding", encoding, Sinusoidal, "a Sinusoidal")
        for fit in self.fits:
            if fit.encoding == encoding:
                return fit
        raise ValueError(f"encoding must be one that was searched; got {encoding!r}. Search its convention.")

    def _from_zero(self) -> list[Fit]:
        """Fits to list: those with start 1 are left out if the same convention with start 0 was searched."""
        encodings = {fit.encoding for fit in self.fits}
        return [fit for fit in self.fits if fit.encoding.start != 1 or replace(fit.encoding, start=0) not in encodings]

    def _errata(self) -> list[str]:
        """Errata of the sources about this very value."""
        values = {one.dimension: one.value for one in self.printed}
        return [
            entry.line()
            for entry in ERRATA
            if isinstance(entry.encoding, Sinusoidal)
            and (entry.encoding.dim, entry.encoding.base) == (self.dim, self.base)
            and entry.read is not None
            and values.get(entry.read[0]) == entry.read[1]
        ]


def find_positions(
    values: Mapping[int, float | str],
    *,
    dim: int | None = None,
    base: float = 10_000.0,
    conventions: Sinusoidal | Iterable[Sinusoidal] | None = None,
    largest: int = 10_000_000,
) -> FoundPositions:
    """Positions at which every dimension has its printed value, within one unit of the last digit.

    The angle of a value is solved for, (±θ + 2πj)/ω, and every candidate is verified by the exact phase, whatever the
    numerics of the encoding.

    Args:
        values: Value of each dimension; a string keeps its digits ("0.50" is known to two decimals, 0.5 to one).
        dim: Dimensions of the encoding, if its conventions are to be searched: layout, exponent, order of sine and
            cosine, and start at 0 or 1.
        base: Base of the encoding.
        conventions: A Sinusoidal encoding or several, instead of a search.
        largest: Largest position to search.

    Returns:
        The positions that fit, under each convention.

    Raises:
        TypeError: `values` is no mapping, or neither `dim` nor `conventions` is given.
        ValueError: A value is no number or belongs to a dimension that is always 0, or an argument breaks its rule.

    Example:
        >>> found = find_positions({1088: "0.488814"}, dim=5120)
        >>> fit = found.of("i/d")
        >>> fit.first, fit.following, found.of("2i/d").first
        (7, 60676, 929505)
    """
    largest = validation.integer("largest", largest, 0, 1 << 25)
    encodings = _encodings(dim, base, conventions)
    printed = _printed(values, min(encoding.dim for encoding in encodings))
    answers: dict[tuple[SinusoidOfChannel, ...], Fit] = {}
    fits = []
    for encoding in encodings:
        sinusoids = tuple(_sinusoid(encoding, one.dimension) for one in printed)
        if sinusoids not in answers:  # conventions may agree in these dimensions
            answers[sinusoids] = _fit(encoding, sinusoids, printed, largest)
        fits.append(replace(answers[sinusoids], encoding=encoding))
    fits.sort(key=lambda fit: (fit.first is None, (fit.first or 0) + fit.encoding.start, fit.encoding.start))
    return FoundPositions(printed, encodings[0].dim, encodings[0].base, largest, tuple(fits))


def conventions_of(dim: int, base: float, stated: Mapping[str, Any] | None = None) -> list[Sinusoidal]:
    """Every published convention of a width, or those whose fields are as stated; None states nothing."""
    stated_ = {name: value for name, value in (stated or {}).items() if value is not None}
    options = ((stated_[name],) if name in stated_ else RULES[name] for name in RULES)
    return [Sinusoidal(dim, base, **dict(zip(RULES, values, strict=True))) for values in product(*options)]


def _encodings(dim: int | None, base: float, conventions: Sinusoidal | Iterable[Sinusoidal] | None) -> list[Sinusoidal]:
    if isinstance(conventions, Sinusoidal):
        conventions = [conventions]
    if conventions is not None:
        if not isinstance(conventions, Iterable) or hasattr(conventions, "shape"):
            raise TypeError(
                f"conventions must be a Sinusoidal encoding or a list of them; got {validation.shown(conventions)}. "
                "Give [Sinusoidal(dim=16)], say."
            )
        encodings = [
            validation.instance("conventions", one, Sinusoidal, "a Sinusoidal encoding or a list of them")
            for one in conventions
        ]
        if not encodings:
            raise ValueError("conventions must hold at least one encoding; got none. Leave it out to search over all.")
        return encodings
    if dim is None:
        raise TypeError("dim must be given, or conventions; got neither. Say how many dimensions the encoding has.")
    return conventions_of(validation.integer("dim", dim, 4, even=True), base)


def _printed(values: Mapping[int, float | str], dim: int) -> tuple[Printed, ...]:
    if not isinstance(values, Mapping) or not values:
        raise TypeError(
            f"values must map dimensions to values, at least one; got {validation.shown(values)}. "
            'Give {1088: "0.488814"}, for example.'
        )
    return tuple(
        _printed_one(validation.integer("values", dimension, 0, dim - 1), value) for dimension, value in values.items()
    )


def _printed_one(dimension: int, value: float | str) -> Printed:
    text = value.strip() if isinstance(value, str) else repr(float(validation.real("values", value, -1e6, 1e6)))
    try:
        exact = Decimal(text)
    except InvalidOperation:
        exact = Decimal("nan")
    if not exact.is_finite():
        raise ValueError(f"values must be numbers; got {value!r} for dimension {dimension}. Write it as 0.488814.")
    exponent = exact.as_tuple().exponent
    return Printed(dimension, text, float(exact), 10.0 ** min(0, int(exponent)))


def _sinusoid(encoding: Sinusoidal, dimension: int) -> SinusoidOfChannel:
    kind, pair = required_channels(encoding).channel(dimension)
    if kind == "zero":
        raise ValueError(
            f"values must name a dimension that varies; got {dimension}, which is always 0 in {encoding!r}. "
            "Leave it out."
        )
    top, bottom = encoding.frequencies.exponents()[pair]
    return SinusoidOfChannel(encoding.base, top, bottom, kind, encoding.scale, encoding.start)


def _fit(
    encoding: Sinusoidal, sinusoids: tuple[SinusoidOfChannel, ...], printed: tuple[Printed, ...], largest: int
) -> Fit:
    stretches = [
        sinusoid.stretches(one.value - one.unit, one.value + one.unit, largest)
        for sinusoid, one in zip(sinusoids, printed, strict=True)
    ]
    # The value that leaves the fewest positions goes first; the others only cross them out.
    order = sorted(range(len(printed)), key=lambda index: int((stretches[index][1] - stretches[index][0] + 1).sum()))
    count, matches = 0, np.empty(0, dtype=np.int64)
    for candidates in position_blocks(*stretches[order[0]]):
        for index in order:
            off = np.abs(sinusoids[index].at(candidates) - printed[index].value)
            candidates = candidates[off <= printed[index].unit * (1 + 1e-9)]
        count += candidates.size
        matches = np.concatenate([matches, candidates[:2]])[:2]
    if not count:
        return Fit(encoding, 0, None, None, None, None)
    first = int(matches[0])
    following = int(matches[1]) if count > 1 else None
    value = float(sinusoids[0].at(matches[:1])[0])
    return Fit(encoding, count, first, following, value, sinusoids[0].nearest(printed[0].value, first))


def _verdict(good: list[Fit]) -> str:
    if not good:
        return "No convention has a position with these values."
    unique = {fit.first for fit in good if fit.count == 1}
    if len(good) == 1 and good[0].count == 1:
        return f"One convention and one position fit: k = {good[0].first:,}."
    total = sum(fit.count for fit in good)
    more = " Give more values to decide." if len(unique) != 1 or total > len(good) else ""
    conventions, fits = text_lines.count(len(good), "convention"), text_lines.count(total, "fit")
    return f"Not decided by these values: {conventions} with {fits} in all.{more}"
