"""One way to call a user's function, and its results as numbers on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posenc.diagnosis.code.parameter_roles import Call
from posenc.diagnosis.code.user_code import Prepared, UnsupportedFormError, UserCode
from posenc.diagnosis.named_arrays import NamedArray


@dataclass(frozen=True, eq=False)
class Caller:
    """Code with one way to call it, and the library whose arrays it gets. heads: how many are asked for."""

    code: UserCode
    prepared: Prepared
    call: Call
    library: str
    dim: int
    base: float
    heads: int

    def __call__(self, **values: Any) -> NamedArray:
        """The numbers that come back; of two results the first."""
        return self.results(**values)[0]

    def results(self, **values: Any) -> list[NamedArray]:
        """Each result: two where queries and keys are given, else one."""
        given = {"dim": self.dim, "base": self.base, "heads": self.heads, **values}
        results = self.code.call(self.library, *self.call.arguments(self.prepared.parameters, given))
        if len(results) != (2 if "k" in self.call.form else 1):
            raise UnsupportedFormError(
                f"it returned {len(results)} results. Return the table, or the vectors with their positions in them"
            )
        return results
