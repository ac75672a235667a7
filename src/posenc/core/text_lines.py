"""Numbers and names as the plain text of a terminal, a notebook and a page: one way to write them for all three."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass

#: Characters of a line, above the longest that is meant: LongRoPE's factors.
LONGEST_LINE = 4_000
#: Values of a tuple that a sentence shows one by one.
LONGEST_TUPLE = 8


class Lines(abc.ABC):
    """Result that prints the same lines in a terminal, a notebook and a page."""

    @abc.abstractmethod
    def lines(self) -> list[str]:
        """Lines that are printed, in order."""

    def __str__(self) -> str:
        return "\n".join(self.lines())


def number(value: float, digits: int = 6) -> str:
    """Up to six decimals without empty zeros; six significant digits where that says more.

    Example:
        >>> number(0.03), number(0.0299955002), number(1.0), number(2.5e-7), number(62831.853)
        ('0.03', '0.029996', '1', '2.5e-07', '62831.853')
    """
    value = float(value)
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text
    return f"{value:.6g}"


def told_apart(value: float, others: Iterable[float], form: str = ".6g") -> str:
    """A number as `form` writes it, with the digits that tell it from other numbers next to it.

    Example:
        >>> told_apart(1e6, [999_999.5], "g"), told_apart(0.5, [0.25]), told_apart(2.0, [2.0])
        ('1000000', '0.5', '2')
    """
    text, rest = format(value, form), [other for other in others if other != value]
    if all(format(other, form) != text for other in rest):
        return text
    digits = (more for more in range(7, 18) if all(f"{other:.{more}g}" != f"{value:.{more}g}" for other in rest))
    return f"{value:.{next(digits, 17)}g}"


def decimals(value: float, digits: int = 4) -> str:
    """Always so many decimals, and no minus before zero.

    Example:
        >>> decimals(0.03), decimals(-1e-9)
        ('0.0300', '0.0000')
    """
    text = f"{float(value):.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def vector(values: Iterable[float], digits: int = 4, most: int = 16) -> str:
    """A row of numbers in brackets, with its middle left out where it is long.

    Example:
        >>> vector([0.84147, 0.03])
        '[0.8415, 0.0300]'
    """
    texts = [decimals(value, digits) for value in values]
    if len(texts) > most:
        texts = [*texts[: most // 2], "…", *texts[-most // 2 :]]
    return f"[{', '.join(texts)}]"


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns of text, aligned to the right under their names.

    Example:
        >>> aligned(["pair", "value"], [["0", "1.5"], ["10", "2"]])
        ['pair  value', '   0    1.5', '  10      2']
    """
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]


def signed_sum(values: Iterable[float]) -> str:
    """Terms with their signs between them.

    Example:
        >>> signed_sum([1.5, -0.25])
        '1.5 - 0.25'
    """
    return " + ".join(number(value) for value in values).replace("+ -", "- ")


def short(encoding: object) -> str:
    """An encoding's repr without the fields that have their defaults.

    Example:
        >>> from posenc import RoPE
        >>> short(RoPE(dim=8, pairing="halves"))
        "RoPE(dim=8, pairing='halves')"
    """
    if isinstance(encoding, tuple) and any(map(is_dataclass, encoding)):
        return f"({', '.join(map(short, encoding))},)"
    if not is_dataclass(encoding) or isinstance(encoding, type):
        return repr(encoding)
    values = ((field, getattr(encoding, field.name)) for field in fields(encoding) if field.repr and field.init)
    shown = [
        f"{field.name}={short(value)}" for field, value in values if field.default is MISSING or value != field.default
    ]
    return f"{type(encoding).__name__}({', '.join(shown)})"


def abridged(record: object) -> str:
    """A record's repr for a sentence: of a long tuple, its first and last value and their count.

    Example:
        >>> from posenc.frequencies import LongRoPE
        >>> print(abridged(LongRoPE(short=(1.0,) * 48, long=(1.5,) * 48, original=4, length=8, factor=2.0)))
        LongRoPE(short=48 from 1.0 to 1.0, long=48 from 1.5 to 1.5, original=4, length=8, factor=2.0, attention=None)
    """
    if isinstance(record, tuple) and len(record) > LONGEST_TUPLE:
        return f"{len(record)} from {record[0]!r} to {record[-1]!r}"
    if not is_dataclass(record) or isinstance(record, type):
        return repr(record)
    shown = (f"{field.name}={abridged(getattr(record, field.name))}" for field in fields(record) if field.repr)
    return f"{type(record).__name__}({', '.join(shown)})"


def yes(answer: bool) -> str:
    """Truth value as "yes" or "no"."""
    return "yes" if answer else "no"


def count(amount: int, what: str) -> str:
    """Amount with its noun, such as "1 fit" and "2 fits"."""
    return f"{amount:,} {what}{'' if amount == 1 else 's'}"


def escaped(text: str, longest: int = LONGEST_LINE) -> str:
    r"""Text as one line that is safe to print: control characters are spelled out, and a long end is cut off.

    Names and values from files stand in what is printed, so every line goes through here.

    Example:
        >>> escaped("red \x1b[31m"), escaped("abcdef", longest=4)
        ('red \\x1b[31m', 'abcd… (2 more characters)')
    """
    shown = "".join(letter if letter.isprintable() else _spelled(letter) for letter in text[:longest])
    left_out = len(text) - longest
    return shown if left_out <= 0 else f"{shown}… ({left_out:,} more characters)"


def _spelled(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
