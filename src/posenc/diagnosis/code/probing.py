"""Call a user's code in every documented form, and take down the numbers that it gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from posenc.diagnosis.code.call_forms import Probe, observe
from posenc.diagnosis.code.caller import Caller, Function, UnsupportedFormError
from posenc.diagnosis.code.parameter_roles import calls, construction, parameters_of
from posenc.diagnosis.code.user_file import error_line, quiet, source_file


def probe(target: Any, dim: int, base: float) -> Probe:
    """The numbers in the first documented form that works; ValueError in one line where none does."""
    file = source_file(target)
    function, name = _function(target, dim, base, file)
    first_error = ""
    for call in calls(function):
        for library in _libraries(function):
            try:
                with quiet():
                    found = observe(Caller(function, call, library, dim, base))
                return replace(found, form=f"{name}({', '.join(argument for argument, _ in call.roles)})")
            except KeyboardInterrupt:
                raise
            except UnsupportedFormError as error:
                first_error = first_error or str(error)
            except BaseException as error:
                first_error = first_error or error_line(error, file)
    raise ValueError(
        f"target must be callable in a documented form; got {name}({', '.join(parameters_of(function))})"
        f"{f': {first_error}' if first_error else ''}. See `posenc check --help` for the forms."
    )


def _function(target: Any, dim: int, base: float, file: str) -> tuple[Function, str]:
    """Something to call, and its name: a class is made first."""
    name = getattr(target, "__name__", type(target).__name__)
    if isinstance(target, type):
        arguments = construction(target, {"dim": dim, "length": 4096, "dropout": 0.0, "base": base, "heads": 1})
        try:
            with quiet():
                target = target(**arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            shown = ", ".join(f"{key}={value}" for key, value in arguments.items())
            raise ValueError(f"{error_line(error, file)}, when making {name}({shown}). Mend it first.") from None
        name = f"{name}({', '.join(arguments)})"
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
    functions = (function, getattr(function, "__func__", None), own_call)
    names = [value for one in functions for value in getattr(one, "__globals__", {}).values()]
    uses = any(value is torch or str(getattr(value, "__module__", "")).startswith("torch") for value in names)
    yield from ("torch", "numpy") if uses else ("numpy", "torch")
