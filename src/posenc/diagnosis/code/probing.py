"""Call a user's code in every documented form, and take down the numbers that it gives."""

from __future__ import annotations

from dataclasses import replace

from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.call_forms import FAILURES, Probe, observe
from posenc.diagnosis.code.caller import Caller
from posenc.diagnosis.code.parameter_roles import roles_by_likelihood
from posenc.diagnosis.code.user_code import UserCode

#: Heads that are asked for: a power of two, for which every rule of slopes is one.
HEADS = 8


def probe(code: UserCode, dim: int, base: float, heads: int = HEADS, layout: PairLayout = "adjacent") -> Probe:
    """The numbers in the first documented form that works; ValueError in one line where none does.

    Args:
        layout: Of pairs of channels, where the numbers do not show it.
    """
    prepared = code.prepare(dim, base, heads)
    first_error = ""
    for call in roles_by_likelihood(prepared.parameters):
        for library in prepared.libraries:
            caller = Caller(code, prepared, call, library, dim, base, heads, layout)
            try:
                probed = observe(caller)
            except FAILURES as error:
                first_error = first_error or str(error)
                continue
            form = f"{prepared.name}({', '.join(argument for argument, _ in call.roles)})"
            moving_error = code.moving_error()
            return replace(probed, form=form, tensors=tuple(code.tensors()), moving_error=moving_error, caller=caller)
    arguments = ", ".join(parameter.name for parameter in prepared.parameters)
    raise ValueError(
        f"target must be callable in a documented form; got {prepared.name}({arguments})"
        f"{f': {first_error}' if first_error else ''}. See `posenc check --help` for the forms."
    )
