"""A mistake is one change of what is right; a finding is a mistake that explains what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from posenc.core import text_lines

Subject = TypeVar("Subject")
Record = TypeVar("Record")
#: The words that stand in braces in the sentences of a mistake.
Words = dict[str, Any]
#: From a subject and the evidence: each wrong subject, None where it cannot be made, and its words.
Change = Callable[[Subject, Any], Iterable[tuple[Subject | None, Words]]]

#: Characters of an encoding in a sentence.
LONGEST = 160


@dataclass(frozen=True)
class Finding(text_lines.Lines):
    """A mistake by its name, in one sentence, with what to do.

    Args:
        name: Name of the mistake, such as "base".
        sentence: What is wrong, with the values that were found and meant.
        fix: What to do about it.
        where: Layers in words; "" for all.

    Example:
        >>> print(Finding("off by one", "Keys are at positions one too high.", "The first token is at position 0."))
        mistake: off by one
        Keys are at positions one too high.
        What to do: The first token is at position 0.
    """

    name: str
    sentence: str
    fix: str
    where: str = ""

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        where = f" ({self.where})" if self.where else ""
        return [f"mistake: {self.name}{where}", self.sentence, f"What to do: {self.fix}"]


@dataclass(frozen=True)
class Mistake(Generic[Subject]):
    """A known way to get a subject wrong.

    Subjects are how code applies a rotation or a bias, a recipe for a table, or the layers of a model.

    Args:
        name: Short name; several mistakes may share it.
        sentence: What is wrong; words of the change may stand in it in braces.
        fix: What to do; words of the change may stand in it in braces.
        change: Yields every wrong subject that the mistake makes of a right one, with its words. It may read numbers
            off the evidence. A subject that is None, unchanged or already tried is skipped, so a change need not test
            for these.
        only_in: "configs" or "code", where the other cannot make the mistake.
        alone: Whether it is never tried together with another mistake, because it would explain almost anything.
        topic: Two mistakes of one topic are never tried together; its name, if left out.

    Example:
        >>> shifted = Mistake("off by one", "Positions are {step} too high.", "Start at 0.", setting(start=1))
        >>> shifted.finding({"step": 1}).sentence
        'Positions are 1 too high.'
    """

    name: str
    sentence: str
    fix: str
    change: Change[Subject]
    only_in: Literal["configs", "code"] | None = None
    alone: bool = False
    topic: str = ""

    def goes_with(self, other: Mistake[Subject]) -> bool:
        """Whether the two can be made at once and explain something together.

        Args:
            other: Another mistake.

        Returns:
            True where a pair of them is worth trying.
        """
        return not (self.alone or other.alone) and (self.topic or self.name) != (other.topic or other.name)

    def finding(self, words: Words, where: str = "") -> Finding:
        """Fill the words of a change into the sentences of the mistake.

        Args:
            words: Values for the names in braces.
            where: Layers in words; "" for all.

        Returns:
            The finding.
        """
        numbers = [value for value in words.values() if isinstance(value, float)]
        short = {name: _as_printed(value, numbers) for name, value in words.items()}
        return Finding(self.name, self.sentence.format(**short), self.fix.format(**short), where)


class _Shortened(str):
    """An encoding as text, cut to what a sentence can hold; without quotes in `{name!r}`."""

    def __repr__(self) -> str:
        return str(self) if len(self) <= LONGEST else f"{self[:LONGEST]}...)"


class _Apart(float):
    """Number that is printed with enough digits to tell it from the others of its sentence."""

    others: Sequence[float] = ()

    def __format__(self, form: str) -> str:
        return text_lines.told_apart(float(self), self.others, form) if form else repr(float(self))


def _as_printed(value: Any, numbers: Sequence[float]) -> Any:
    """Prepare a word for a sentence: an encoding is cut short, a number gets digits that tell it from the others."""
    if is_dataclass(value):
        return _Shortened(repr(value))
    if not isinstance(value, float):
        return value
    apart = _Apart(value)
    apart.others = numbers
    return apart


def setting(**values: Any) -> Change[Any]:
    """Build the change that gives these fields other values, where all still have their defaults."""

    def change(subject: Any, evidence: Any) -> Iterator[tuple[Any, Words]]:
        yield from_defaults(subject, **values), values

    return change


def from_defaults(encoding: Record, /, **values: Any) -> Record | None:
    """Replace fields of an encoding; None where one of them no longer has its default."""
    defaults = {field.name: field.default for field in fields(encoding)}  # type: ignore[arg-type]
    untouched = all(getattr(encoding, name) == defaults[name] for name in values)
    return replace(encoding, **values) if untouched else None  # type: ignore[type-var]


def unless_refused(make: Callable[[], Record]) -> Record | None:
    """Call a constructor; None where it refuses its arguments."""
    try:
        return make()
    except (ValueError, TypeError):
        return None


def with_fields(encoding: Record, /, **values: Any) -> Record | None:
    """Replace fields of an encoding; None where its constructor refuses them."""
    return unless_refused(lambda: replace(encoding, **values))  # type: ignore[type-var]


def fewest_digits(number: float) -> float:
    """Round a number read off values to the fewest digits, up to six, that stay within 3e-5 of it, if any do.

    Example:
        >>> fewest_digits(499_999.2), fewest_digits(0.12345678)
        (500000.0, 0.12346)
    """
    for digits in range(1, 7):
        short = float(f"{number:.{digits}g}")
        if abs(short - number) <= 3e-5 * abs(number):
            return short
    return number
