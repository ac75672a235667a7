"""Docstrings of public names in Google style: Args as in the signature, Returns and Raises as in the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import griffe
import pytest

from generator import reference
from posenc.core.declared_fields import Declared

SOURCES = Path(__file__).parents[2] / "src"
ROOMS = sorted(
    {path.relative_to(SOURCES / "posenc").parts[0].removesuffix(".py") for path in SOURCES.glob("posenc/*/**/*.py")}
    | {path.stem for path in SOURCES.glob("posenc/[!_]*.py")}
)
#: First words that make a clause of the first line, which then says neither what a thing does nor what it is.
RIDDLES = re.compile(r'"""(What|Which|That|One|Those|Of) ')
RIDDLES_AT_MOST = 60


@cache
def public_objects() -> dict[str, Any]:
    """The classes and functions that the packages of the API reference list in `__all__`, by their full names."""
    found = {}
    for package in map(importlib.import_module, reference.PACKAGES):
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type | FunctionType) and value.__module__.startswith("posenc."):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines itself."""
    for name, value in vars(owner).items():
        if name.startswith("_") or isinstance(value, ModuleType | type):
            continue
        if name in getattr(owner, "__dataclass_fields__", {}):  # a field whose default is a function
            continue
        if isinstance(value, property | cached_property | classmethod | staticmethod | FunctionType):
            yield name, value


def sections(text: str) -> dict[str, list[Any]]:
    """The sections of a docstring by kind, each with its entries."""
    read = griffe.parse_google(griffe.Docstring(inspect.cleandoc(text)), warnings=False)
    return {section.kind.value: section.value for section in read if isinstance(section.value, list)}


def raised(function: FunctionType) -> set[str]:
    """The exceptions that a function's own body raises by name."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(error, ast.Name) and error.id[0].isupper():
                names.add(error.id)
    return names


def wrong_names(told: dict[str, list[Any]], expected: list[str], where: str) -> Iterator[str]:
    """A line if Args, and Attributes for the fields of results, are not the expected names in their order."""
    args = [entry.name.lstrip("*") for entry in told.get("parameters", [])]
    named = args + [entry.name for entry in told.get("attributes", []) if entry.name in expected]
    if named != expected:
        yield f"{where}: Args must be {expected}; they are {named}"


def of_function(function: FunctionType, where: str, *, bound: bool) -> Iterator[str]:
    """What the docstring of a function leaves out or names wrongly."""
    told, signature = sections(function.__doc__ or ""), inspect.signature(function)
    yield from wrong_names(told, list(signature.parameters)[bound:], where)
    returned = signature.return_annotation
    if returned not in (None, "None", "NoReturn", "Never") and not {"returns", "yields"} & set(told):
        yield f"{where}: Returns is missing"
    missing = raised(function) - {str(entry.annotation) for entry in told.get("raises", [])}
    if missing:
        yield f"{where}: Raises must name {sorted(missing)}"


def of_member(owner: type, name: str, value: Any, where: str) -> Iterator[str]:
    """What the docstring of a method or property leaves out; an override inherits what it does not say itself."""
    function = getattr(value, "__func__", value)
    overrides = any(getattr(getattr(base, name, None), "__doc__", None) for base in owner.__mro__[1:])
    if not function.__doc__ and not overrides:
        yield f"{where}: docstring is missing"
    elif isinstance(function, FunctionType) and (not overrides or "parameters" in sections(function.__doc__ or "")):
        yield from of_function(function, where, bound=not isinstance(value, staticmethod))


def of_class(owner: type, where: str) -> Iterator[str]:
    """What the docstrings of a class and of its own members leave out or name wrongly."""
    text = vars(owner).get("__doc__") or ""
    begin = vars(owner).get("__init__")
    if is_dataclass(owner):
        told = sections(text)
        stated = [field.name for field in fields(owner) if field.init and field.name[0] != "_"]
        yield from wrong_names(told, stated, where)
        checks = vars(owner).get("_check_together"), vars(owner).get("__post_init__")
        errors = set().union(*(raised(check) for check in checks if check))
        if issubclass(owner, Declared) and owner._rules:
            errors.add("ValueError")
        missing = errors - {str(entry.annotation) for entry in told.get("raises", [])}
        if missing:
            yield f"{where}: Raises must name {sorted(missing)}"
    elif isinstance(begin, FunctionType):
        told = sections(text) | sections(begin.__doc__ or "")
        yield from wrong_names(told, list(inspect.signature(begin).parameters)[1:], where)
    for name, value in members(owner):
        yield from of_member(owner, name, value, f"{where}.{name}")


def violations(room: str) -> list[str]:
    """Every violation of the public names that a room of posenc defines."""
    lines: list[str] = []
    for where, value in public_objects().items():
        if value.__module__.split(".")[1] != room:
            continue
        if not value.__doc__:
            lines.append(f"{where}: docstring is missing")
        elif isinstance(value, type):
            lines += of_class(value, where)
        else:
            lines += of_function(value, where, bound=False)
    return lines


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_say_what_the_code_says(room: str) -> None:
    found = violations(room)
    assert not found, f"{len(found)} violations:\n" + "\n".join(found)


def test_first_lines_say_what_a_thing_does_or_is() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{number}"
        for path in sorted(SOURCES.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if RIDDLES.search(line)
    ]
    assert len(found) < RIDDLES_AT_MOST, f"{len(found)} docstrings begin with a clause:\n" + "\n".join(found)


def test_a_docstring_that_leaves_something_out_is_named() -> None:
    def planted(first: int, second: int) -> int:
        """Add two numbers.

        Args:
            second: The second.
            first: The first.
        """
        if first < 0:
            raise ValueError("first must be at least 0")
        return first + second

    assert list(of_function(planted, "planted", bound=False)) == [
        "planted: Args must be ['first', 'second']; they are ['second', 'first']",
        "planted: Returns is missing",
        "planted: Raises must name ['ValueError']",
    ]
