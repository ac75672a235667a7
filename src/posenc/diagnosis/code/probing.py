"""Call what a student wrote in every documented form, and take down the numbers it gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from posenc.diagnosis.code import call_forms
from posenc.diagnosis.code.caller import Caller, Function, Probe, UnfitError
from posenc.diagnosis.code.parameter_roles import calls, construction, parameters
from posenc.diagnosis.code.user_file import fault, quiet

TAKES = {
    frozenset({"length"}): call_forms.table,
    frozenset({"positions"}): call_forms.rows,
    frozenset({"position"}): call_forms.one_row,
    frozenset({"position", "index"}): call_forms.one_number,
}


def probe(target: Any, dim: int, base: float, file: str) -> Probe:
    """Find a documented form that works; ValueError in one line where none does."""
    function, about = _function(target, dim, base, file)
    first = ""
    for call in calls(function):
        for library in _libraries(function):
            try:
                with quiet():
                    return replace(
                        _observed(Caller(function, call, library, dim, base)),
                        form=f"{about}({', '.join(name for name, _ in call.roles)})",
                    )
            except KeyboardInterrupt:
                raise
            except UnfitError as error:
                first = first or str(error)
            except BaseException as error:
                first = first or fault(error, file)
    raise ValueError(
        f"target must be callable in a documented form; got {about}({', '.join(parameters(function))}){f': {first}' if first else ''}. "
        "See `posenc check --help` for the forms."
    )


def _function(target: Any, dim: int, base: float, file: str) -> tuple[Function, str]:
    """Something to call, and how to speak of it: a class is made first."""
    name = getattr(target, "__name__", type(target).__name__)
    if isinstance(target, type):
        given = construction(target, {"dim": dim, "length": 4096, "dropout": 0.0, "base": base, "heads": 1})
        try:
            with quiet():
                target = target(**given)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise ValueError(
                f"{fault(error, file)}, when making {name}({', '.join(f'{k}={v}' for k, v in given.items())}). Mend it first."
            ) from None
        name = f"{name}({', '.join(given)})"
    if hasattr(target, "eval") and hasattr(target, "forward"):
        target.eval()  # dropout off
    forward = getattr(target, "forward", None)
    function = forward if callable(forward) else target
    if not callable(function):
        raise ValueError(
            f"target must be a function, a class or an object that can be called; got {name}. Name another one."
        )
    return function, name


def _libraries(function: Function) -> Iterator[str]:
    """NumPy, and PyTorch where it is loaded: first where the function's own file uses it."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield "numpy"
        return
    own_call = vars(type(function)).get("__call__")
    places = (function, getattr(function, "__func__", None), own_call)
    own = [value for place in places for value in getattr(place, "__globals__", {}).values()]
    uses = any(value is torch or str(getattr(value, "__module__", "")).startswith("torch") for value in own)
    yield from ("torch", "numpy") if uses else ("numpy", "torch")


def _observed(caller: Caller) -> Probe:
    return TAKES.get(frozenset(caller.call.form) - {"dim", "base"}, call_forms.vectors)(caller)
