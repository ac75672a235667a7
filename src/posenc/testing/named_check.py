"""A check, the assertions that checks are made of, and the report of all checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from posenc.core.doors import Claim, Encoding
from posenc.testing import budgets

DOORS = ("adds", "rotates", "biases", "scores")
Status = Literal["passed", "failed", "expected", "left out"]
#: Doors at which one number belongs to a pair of positions.
PAIRWISE = ("biases", "scores")


class CheckFailed(AssertionError):  # noqa: N818  (the past tense says what came of it)
    """Failure of a check: one sentence with what was expected, where, and the numbers."""


@dataclass(frozen=True)
class Check:
    """Named property of an encoding.

    Args:
        name: Name in reports.
        run: Function that takes the encoding and raises CheckFailed.
        explains: What is lost when it fails, in one sentence.
        doors: Doors at which it applies.
        claims: Claims that an encoding must make for it to apply.
        needs: Libraries without which it is left out.
        slow: Whether it is left out unless asked for.
        several: Whether it is about positions with several coordinates alone.
        unasked: Function of an encoding that says why the check is left out for it, "" where it is run; None to run it
            for all.
    """

    name: str
    run: Callable[[Encoding], None]
    explains: str
    doors: tuple[str, ...] = DOORS
    claims: frozenset[Claim] = frozenset()
    needs: tuple[str, ...] = ()
    slow: bool = False
    several: bool = False
    unasked: Callable[[Encoding], str] | None = None

    def applies(self, encoding: Encoding) -> bool:
        """Whether the check is about encodings of this door with these claims.

        Args:
            encoding: Encoding to check.

        Returns:
            True where it is; it may be left out all the same.
        """
        if self.several and encoding.axes == 1:
            return False
        return encoding.door in self.doors and self.claims <= encoding.claims

    def left_out(self, encoding: Encoding) -> str:
        """Say why the check is not run for an encoding to which it applies.

        Args:
            encoding: Encoding to check.

        Returns:
            A library that the encoding does not take, or what `unasked` says; "" where the check is run.
        """
        unknown = [name for name in self.needs if name not in encoding.libraries]
        if unknown:
            return f"not asked: the encoding takes arrays of {' and '.join(encoding.libraries)}, not of {unknown[0]}"
        return "" if self.unasked is None else self.unasked(encoding)


def named_check(
    explains: str,
    doors: tuple[str, ...] = DOORS,
    *,
    claims: frozenset[Claim] = frozenset(),
    needs: tuple[str, ...] = (),
    slow: bool = False,
    several: bool = False,
    unasked: Callable[[Encoding], str] | None = None,
) -> Callable[[Callable[[Encoding], None]], Check]:
    """Decorate a function to make a `Check` of its name; the arguments are fields of `Check`."""
    return lambda run: Check(run.__name__, run, explains, doors, claims, needs, slow, several, unasked)


def ensure(condition: bool, sentence: str) -> None:
    """Fail with the sentence unless the condition holds."""
    if not condition:
        raise CheckFailed(sentence)


def close(what: str, got: Any, wanted: Any, budget: float) -> None:
    """Fail unless two arrays have one shape and their numbers differ by no more than the budget."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    ensure(got.shape == wanted.shape, f"{what}: expected shape {wanted.shape}, got {got.shape}.")
    if not got.size:
        return
    with np.errstate(invalid="ignore"):
        error = np.where(got == wanted, 0.0, np.abs(got - wanted))
    missing = np.argwhere(np.isnan(got) & ~np.isnan(wanted))
    if len(missing):
        first = tuple(missing[0])
        ensure(False, f"{what}: expected {wanted[first]:.9g} at {_index_text(first)}, got NaN ({len(missing)} in all).")
    worst = np.unravel_index(int(np.argmax(np.where(np.isnan(error), np.inf, error))), error.shape)
    ensure(
        bool(error[worst] <= budget),
        f"{what}: expected {wanted[worst]:.9g} at {_index_text(worst)}, got {got[worst]:.9g} "
        f"(off by {error[worst]:.2g}, {budget:.2g} allowed).",
    )


def differ(got: Any, wanted: Any, budget: float) -> bool:
    """Whether any two numbers differ by more than the budget."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    return bool(got.shape != wanted.shape or (got.size and not np.all(np.abs(got - wanted) <= budget)))


def same_bits(what: str, got: Any, wanted: Any) -> None:
    """Fail unless two arrays agree in shape, dtype and every number."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    ensure(got.dtype == wanted.dtype, f"{what}: expected {wanted.dtype}, got {got.dtype}.")
    close(what, got, wanted, 0.0)


def same_but_for_rounding(encoding: Encoding, what: str, got: Any, wanted: Any) -> None:
    """Fail unless two arrays, computed by the encoding in two ways, agree except for rounding."""
    close(what, got, wanted, budgets.own_value(encoding, wanted))


def refused(what: str, call: Callable[[], Any], begins: str | tuple[str, ...] = "") -> None:
    """Fail unless a call ends in a ValueError or TypeError whose message begins with the argument's name."""
    try:
        result = call()
    except (ValueError, TypeError) as error:
        ensure(
            str(error).startswith(begins),
            f"{what}: expected a message that begins with {begins!r}, got {str(error)[:90]!r}.",
        )
    except Exception as error:
        raise CheckFailed(f"{what}: expected ValueError or TypeError, got {type(error).__name__}: {error}.") from error
    else:
        raise CheckFailed(f"{what}: expected ValueError or TypeError, got {_short(result)}.")


def _index_text(index: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(int(i)) for i in index)}]"


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Outcome:
    """Outcome of one check.

    Attributes:
        name: Name of the check.
        status: "passed", "failed", "expected" for a failure that was said to come, or "left out".
        sentence: Why it failed, why that was expected, or why it was left out; empty when it passed.
        explains: What is lost when the check fails.
    """

    name: str
    status: Status
    sentence: str = ""
    explains: str = ""


@dataclass(frozen=True)
class Report:
    """Outcomes of all checks of one encoding; `str` makes a table of them.

    Attributes:
        encoding: The encoding's repr.
        outcomes: Outcomes in the order of the checks.
    """

    encoding: str
    outcomes: tuple[Outcome, ...]

    def _with(self, status: Status) -> tuple[Outcome, ...]:
        """Outcomes of one status."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == status)

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """Checks that held."""
        return self._with("passed")

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Checks that did not hold, and expected failures that held."""
        return self._with("failed")

    @property
    def expected(self) -> tuple[Outcome, ...]:
        """Checks that failed as `expected_failures` said."""
        return self._with("expected")

    @property
    def left_out(self) -> tuple[Outcome, ...]:
        """Checks that did not run, with the reason."""
        return self._with("left out")

    @property
    def ok(self) -> bool:
        """Whether exactly the expected checks failed, of those that ran."""
        return not self.failed

    def __str__(self) -> str:
        order = [*self.failed, *self.expected, *self.left_out, *self.passed]
        width = max([len(outcome.name) for outcome in order], default=0)
        lines = [f"{outcome.status:8}  {outcome.name:{width}}  {outcome.sentence}".rstrip() for outcome in order]
        counts = ", ".join(
            f"{len(self._with(status))} {status}" for status in ("passed", "failed", "expected", "left out")
        )
        return "\n".join([f"{self.encoding}: {counts}", *lines])
