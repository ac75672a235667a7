"""A planted bug, and the checks that it trips."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from posenc.core.doors import Encoding
from posenc.testing import ALL_CHECKS, Check
from posenc.testing.suite import _failure

#: Seconds each, so that they run for the bugs that name them.
COSTLY = frozenset(check.name for check in ALL_CHECKS if check.slow or "jax" in check.needs) | {
    "compiles_in_one_graph",
    "exports_with_any_length",
    "score_mod_is_the_bias",
}


@dataclass(frozen=True)
class Bug:
    """One mistake that somebody has made, or will make.

    Args:
        what: The mistake, in a few words.
        encoding: The broken encoding, or a good one where the mistake is in an adapter.
        caught: A check that must trip on it.
        costly: The slow checks that are run on it too.
        planted: Replaces something while the checks run.
    """

    what: str
    encoding: Encoding
    caught: str
    costly: tuple[str, ...] = ()
    planted: Callable[[], AbstractContextManager[object]] = nullcontext

    @property
    def name(self) -> str:
        return type(self.encoding).__name__ if self.planted is nullcontext else self.planted.__name__

    def checks(self) -> tuple[Check, ...]:
        """The checks that are run on it: all that apply, of the costly ones those named."""
        chosen = {*self.costly, self.caught}
        return tuple(
            check
            for check in ALL_CHECKS
            if check.applies(self.encoding) and (check.name not in COSTLY or check.name in chosen)
        )

    def tripped(self, checks: Iterable[Check] | None = None) -> list[str]:
        """Names of the checks that fail on it, of all that are run on it or of those given."""
        with self.planted():
            chosen = self.checks() if checks is None else checks
            return [check.name for check in chosen if _failure(check, self.encoding) is not None]
