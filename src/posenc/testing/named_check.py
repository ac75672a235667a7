"""What a check is, and the few ways in which one can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.doors import Claim, Encoding
from posenc.testing import budgets

DOORS = ("adds", "rotates", "biases", "scores")
#: Doors at which one number belongs to a pair of positions.
PAIRWISE = ("biases", "scores")


class CheckFailed(AssertionError):  # noqa: N818  (the past tense says what came of it)
    """A check that did not hold: one sentence with what was expected, where, and the numbers."""


@dataclass(frozen=True)
class Check:
    """One named property of an encoding.

    Args:
        run: Takes the encoding; raises CheckFailed.
        explains: What is lost when it fails, in one sentence.
        doors: Where it applies.
        claims: What an encoding must claim for it to apply.
        needs: Libraries without which it is left out.
        slow: Left out unless asked for.
        several: About positions with several coordinates, and of use for those alone.
        unasked: Why it is left out for an encoding that it says nothing about, "" where it is asked.
    """

    name: str
    run: Callable[[Encoding], None]
    explains: str
    doors: tuple[str, ...] = DOORS
    claims: frozenset[Claim] = frozenset()
    needs: tuple[str, ...] = ()
    slow: bool = False
    several: bool = False
    unasked: Callable[[Encoding], str] = lambda encoding: ""

    def applies(self, encoding: Encoding) -> bool:
        """Whether the check is about an encoding of this door that makes these claims."""
        if self.several and encoding.axes == 1:
            return False
        return encoding.door in self.doors and self.claims <= encoding.claims

    def left_out(self, encoding: Encoding) -> str:
        """Why it is not asked of an encoding to which it applies.

        A library that the encoding does not take, or what `unasked` says; "" where it is asked.
        """
        unknown = [name for name in self.needs if name not in encoding.libraries]
        if unknown:
            return f"not asked: the encoding takes arrays of {' and '.join(encoding.libraries)}, not of {unknown[0]}"
        return self.unasked(encoding)


def named_check(
    explains: str,
    doors: tuple[str, ...] = DOORS,
    *,
    claims: frozenset[Claim] = frozenset(),
    needs: tuple[str, ...] = (),
    slow: bool = False,
    several: bool = False,
    unasked: Callable[[Encoding], str] = lambda encoding: "",
) -> Callable[[Callable[[Encoding], None]], Check]:
    """Makes a function the check of its name; see `Check`."""
    return lambda run: Check(run.__name__, run, explains, doors, claims, needs, slow, several, unasked)


def ensure(condition: bool, sentence: str) -> None:
    """The sentence, as a failure, unless the condition holds."""
    if not condition:
        raise CheckFailed(sentence)


def close(what: str, got: Any, wanted: Any, budget: float) -> None:
    """Two arrays of one shape whose numbers differ by no more than the budget."""
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
    """Two arrays that agree in shape, dtype and every number."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    ensure(got.dtype == wanted.dtype, f"{what}: expected {wanted.dtype}, got {got.dtype}.")
    close(what, got, wanted, 0.0)


def same_but_for_rounding(encoding: Encoding, what: str, got: Any, wanted: Any) -> None:
    """Two arrays whose numbers the encoding forms in two ways."""
    close(what, got, wanted, budgets.own_value(encoding, wanted))


def refused(what: str, call: Callable[[], Any], begins: str | tuple[str, ...] = "") -> None:
    """A call that must end in a ValueError or TypeError whose message begins with the argument's name."""
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
