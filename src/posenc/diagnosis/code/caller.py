"""One way to call a user's function, and its results as numbers on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.parameter_roles import ArgumentRoles
from posenc.diagnosis.code.user_code import PreparedCode, UnsupportedFormError, UserCode
from posenc.diagnosis.named_arrays import NamedArray


@dataclass(frozen=True, eq=False)
class Caller:
    """Code with one way to call it, and the library whose arrays it gets.

    Args:
        heads: How many are asked for.
        layout: Of pairs of channels, where the results do not show it.
    """

    code: UserCode
    prepared: PreparedCode
    call: ArgumentRoles
    library: str
    dim: int
    base: float
    heads: int
    layout: PairLayout = "adjacent"

    def __call__(self, **values: Any) -> NamedArray:
        """The numbers that come back; of two results the first."""
        return self.results(**values)[0]

    def results(self, **values: Any) -> list[NamedArray]:
        """Each result: two where queries and keys are given, else one."""
        results = self.every_result(**values)
        if len(results) != (2 if "k" in self.call.form else 1):
            raise UnsupportedFormError(
                f"it returned {len(results)} results. Return the table, the vectors with their positions in them, or "
                "cosines and sines as (length, width)"
            )
        return results

    def every_result(self, **values: Any) -> list[NamedArray]:
        """However many results there are; those of a complex one are its real and its imaginary part."""
        values_by_role = {"dim": self.dim, "base": self.base, "heads": self.heads, **values}
        return self.code.call(self.library, *self.call.arguments(self.prepared.parameters, values_by_role))
