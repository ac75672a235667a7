"""State that a user's code keeps between calls, copied before the first one so that it can be restored."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

#: Stands for a global name that a function uses and that is not there yet.
MISSING = object()


@dataclass(frozen=True, eq=False)
class KeptValue:
    """Copy of a value that calls may change, and a function that puts a value in its place."""

    put: Callable[[Any], None]
    before: Any

    def restore(self) -> None:
        self.put(self.before if self.before is MISSING else copy.deepcopy(self.before))


def kept_values(target: Any) -> list[KeptValue]:
    """Copies of the data that a function, a class or an object reaches outside of itself.

    These are globals, attributes, defaults and cells; a value that cannot be copied is left out.
    """
    found = {}
    for place, value, put in _places(target):
        if place not in found and not isinstance(value, ModuleType | type) and not inspect.isroutine(value):
            before = value if value is MISSING else deep_copied(value)
            if before is not None or value is None:
                found[place] = KeptValue(put, before)
    return list(found.values())


def deep_copied(value: Any) -> Any:
    """Copy a value so that nothing is shared with it; None where it cannot be copied."""
    try:
        return copy.deepcopy(value)
    except Exception:  # a user's own class may raise anything
        return None


#: Where a value stands, the value, and how to put another one there.
Place = tuple[tuple[int, str], Any, Callable[[Any], None]]


def _places(target: Any) -> Iterator[Place]:
    """Every place from which the code of a target reads, through the functions and classes of its own file."""
    waiting, seen = [_code_of(target)], set()
    home = waiting[0].__module__
    while waiting:
        one = waiting.pop()
        if id(one) in seen or one.__module__ != home:
            continue
        seen.add(id(one))
        if isinstance(one, type):
            waiting += [*map(_code_of, vars(one).values()), *one.__bases__]
            yield from _places_of_class(one)
            continue
        yield from _places_of_function(one)
        for name in _names(one.__code__):
            value = one.__globals__.get(name, MISSING)
            waiting.append(_code_of(value))
            yield (id(one.__globals__), name), value, _into_globals(one.__globals__, name)


def _code_of(value: Any) -> Any:
    """Function or class behind a target or attribute, unwrapped; for any other object, its type."""
    value = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) else value
    return value if isinstance(value, type | FunctionType) else type(value)


def _places_of_class(kind: type) -> Iterator[Place]:
    for name, value in list(vars(kind).items()):
        if not name.startswith("__") and not hasattr(value, "__get__"):
            yield (id(kind), name), value, lambda new, name=name: setattr(kind, name, new)  # type: ignore[misc]


def _places_of_function(function: FunctionType) -> Iterator[Place]:
    yield (id(function), "__dict__"), dict(vars(function)), lambda new: _refill(vars(function), new)
    yield (id(function), "__defaults__"), function.__defaults__, lambda new: setattr(function, "__defaults__", new)
    for number, cell in enumerate(function.__closure__ or ()):
        try:
            value = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        yield (id(function), f"cell {number}"), value, lambda new, cell=cell: setattr(cell, "cell_contents", new)  # type: ignore[misc]


def _refill(mapping: dict[str, Any], new: dict[str, Any]) -> None:
    mapping.clear()
    mapping.update(new)


def _into_globals(names: dict[str, Any], name: str) -> Callable[[Any], None]:
    return lambda new: names.__setitem__(name, new) if new is not MISSING else names.pop(name, None)


def _names(code: CodeType) -> Iterator[str]:
    """The names that code reads or writes, those of functions inside of it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
