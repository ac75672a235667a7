"""A printed value of the encoding solved for its position, a line a step, as one would do it with a pencil."""

from __future__ import annotations

import math

from posenc.core.text_lines import number
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect.sinusoid_channels import required_channels

#: Positions listed that meet the value exactly.
LISTED = 4


def solved_value(
    encoding: Sinusoidal, dimension: int, text: str, *, first: int | None, alone: bool = True
) -> list[str]:
    r"""Solve PE(k, dimension) = value for k.

    Args:
        encoding: A sinusoidal encoding.
        dimension: The dimension, which is a sine or a cosine.
        text: The value as it is printed.
        first: First whole position that fits the printed digits; None where none does.
        alone: Whether the position fits this value alone, and not other printed values too.

    Returns:
        A title and a line for each step; no lines for a value that no sine or cosine has.

    Example:
        >>> print("\n".join(solved_value(Sinusoidal(dim=16, base=100.0), 3, "0.85", first=1)[3:5]))
          k = 100^(2·1/16) · arccos 0.85
          k = 1.7782794 · 0.554811 = 0.986609
    """
    kind, pair = required_channels(encoding).channel(dimension)
    value = float(text) / (encoding.scale or 1.0)
    if kind == "zero" or abs(value) > 1:
        return []
    cosine = kind == "cosine"
    wave, inverse = ("cos", "arccos") if cosine else ("sin", "arcsin")
    power, divisor = _power(encoding, pair), encoding.base ** _exponent(encoding, pair)
    angle = math.acos(value) if cosine else math.asin(value)
    start = f" - {encoding.start}" if encoding.start else ""
    scaled = f" / {number(encoding.scale)}" if encoding.scale != 1 else ""
    shown, solution = f"{text}{scaled}", divisor * angle - encoding.start
    place = f"k + {encoding.start}" if encoding.start else "k"
    steps = [
        f"solved by hand, exponent {encoding.exponent}, {encoding.layout}, {encoding.first} first, start "
        f"{encoding.start}",
        f"  dimension {dimension} is the {kind} of pair i = {pair}",
        f"  {shown} = {wave}({f'({place})' if start else place} / {power})",
        f"  k = {power} · {inverse} {shown}{start}",
        f"  k = {number(divisor, 7)} · {number(angle)}{start} = {number(solution)}",
    ]
    return [
        *steps,
        _others(cosine, value, divisor, encoding.start),
        _whole(encoding, dimension, pair, wave, first, alone),
    ]


def _power(encoding: Sinusoidal, pair: int) -> str:
    """Divisor of a pair's positions as text with its numbers, such as "10000^(2·0/4)"."""
    half = encoding.dim // 2 - 1
    exponent = {"2i/d": f"2·{pair}/{encoding.dim}", "i/d": f"{pair}/{encoding.dim}"}.get(
        encoding.exponent, f"{pair}/{half}"
    )
    return f"{number(encoding.base)}^({exponent})"


def _exponent(encoding: Sinusoidal, pair: int) -> float:
    top, bottom = encoding.frequencies.exponents()[pair]
    return top / bottom


def _others(cosine: bool, value: float, divisor: float, start: int) -> str:
    """Line that lists the first real-valued positions with this value, which the wave has twice per revolution."""
    angles = (math.acos(value), -math.acos(value)) if cosine else (math.asin(value), math.pi - math.asin(value))
    places = {divisor * (angle + 2 * math.pi * turn) - start for angle in angles for turn in range(-1, LISTED)}
    listed = ", ".join(number(place, 5) for place in sorted(place for place in places if place >= 0)[:LISTED])
    branches = "k = divisor · (±angle + 2π·j)" if cosine else "k = divisor · (angle + 2π·j) or (π - angle + 2π·j)"
    return f"  the wave has it twice in every revolution, {branches}: {listed}, ..."


def _whole(encoding: Sinusoidal, dimension: int, pair: int, wave: str, first: int | None, alone: bool) -> str:
    if first is None:
        return "  none of them is near enough to a whole number for the printed digits"
    exact = float(encoding.embed([first])[0, dimension])
    place = first + encoding.start
    scale = f"{number(encoding.scale)} · " if encoding.scale != 1 else ""
    also = "" if alone else " that fits the other values too"
    return (
        f"  the first near enough to a whole number{also}: k = {first:,}, "
        f"where {scale}{wave}({place} / {_power(encoding, pair)}) = {number(exact, 7)}"
    )
