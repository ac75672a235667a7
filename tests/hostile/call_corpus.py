"""Hostile calls of every public entry, enumerated: each hostile value in place of each argument of a good call."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hostile.good_calls import GoodCall


def _torch(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(importlib.import_module("torch"))


@dataclass(frozen=True)
class Hostile:
    """A value that few arguments may hold.

    Attributes:
        make: Makes it anew.
        told_by: Words of an annotation, or names of arguments, that say that the argument may hold it.
    """

    make: Callable[[], Any]
    told_by: str = "(?!)"


NUMBERS, SEQUENCES = r"int|float|Any|Array|object", r"Sequence|list|tuple|Iterable|Any|Array|Mapping|Params|object"
VALUES: dict[str, Hostile] = {
    "object": Hostile(object),
    "function": Hostile(lambda: lambda: 0),
    "class": Hostile(lambda: int),
    "None": Hostile(lambda: None, r"None|documents|mask|hidden"),
    "True": Hostile(lambda: True, r"bool|mask"),
    "word": Hostile(lambda: "no such word", r"\bstr\b|PathLike|Path"),
    "bytes": Hostile(lambda: b"x"),
    "complex": Hostile(lambda: 1j),
    "NaN": Hostile(lambda: float("nan")),
    "infinity": Hostile(lambda: float("inf")),
    "10**30": Hostile(lambda: 10**30, r"float|base"),
    "-3": Hostile(lambda: -3, NUMBERS),
    "2.5": Hostile(lambda: 2.5, NUMBERS),
    "[]": Hostile(list, SEQUENCES),
    "{}": Hostile(dict, r"Mapping|dict|Params|params"),
    "set": Hostile(lambda: {1, 2}),
    "[1, True, 3]": Hostile(lambda: [1, True, 3]),
    "words": Hostile(lambda: ["a", "b"], r"\[str\b"),
    "objects": Hostile(lambda: np.array([None, object()], object)),
    "array of words": Hostile(lambda: np.array(["a", "b"])),
    "complex array": Hostile(lambda: np.ones(2, complex)),
    "dates": Hostile(lambda: np.array(["2020-01-01"], "datetime64[D]")),
    "fields": Hostile(lambda: np.zeros(2, [("a", int)])),
    "truths": Hostile(lambda: np.array([True, False]), r"mask|ends"),
    "64 axes": Hostile(lambda: np.zeros((1,) * 64, int)),
    "one number": Hostile(lambda: np.array(2.5), NUMBERS),
    "three axes": Hostile(lambda: np.arange(3.0)[:, None, None], r"Array|Any|Sequence"),
    "complex tensor": Hostile(_torch(lambda torch: torch.ones(2, dtype=torch.complex64))),
    "float8 tensor": Hostile(_torch(lambda torch: torch.ones(2).to(torch.float8_e4m3fn))),
    "truth tensor": Hostile(_torch(lambda torch: torch.tensor([True, False])), r"mask|ends"),
}


@dataclass(frozen=True)
class HostileCall:
    """A good call with one hostile value in it."""

    good: GoodCall
    argument: str
    value: str

    def __repr__(self) -> str:
        return f"{self.good.name}({self.argument}={self.value})"

    def fault(self) -> str | None:
        """What is wrong with the answer; None for a good one."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                self.good.changed(self.argument, VALUES[self.value].make())
            except (ValueError, TypeError, OSError) as error:
                return self._fault_of(error)
            except Exception as error:
                return f"{type(error).__name__}: {_line(error)}"
            finally:
                if "matplotlib.pyplot" in sys.modules:
                    sys.modules["matplotlib.pyplot"].close("all")
        return None if self._may_hold() else "taken without a word"

    def _may_hold(self) -> bool:
        """Whether the argument's annotation or name says that it may hold the value."""
        parameter = self.good.parameters[self.argument]
        said = f"{parameter.annotation} {'None' if parameter.default is None else ''} {self.argument}"
        return re.search(VALUES[self.value].told_by, said) is not None

    def _fault_of(self, error: Exception) -> str | None:
        """What is wrong with an error; the name of another argument may begin it where a rule joins both."""
        if isinstance(error, OSError) and self.value != "word":
            return f"{type(error).__name__}: {_line(error)}"
        names = "|".join(map(re.escape, inspect.signature(self.good.entry).parameters))
        entry = self.good.entry.__name__ if isinstance(self.good.entry, type) else "arrays must come from one library"
        begins = re.match(rf"(?:{names}|{entry}|arrays must come from one library)\b", str(error))
        if isinstance(error, OSError) or (begins and "\n" not in str(error)):
            return None
        return f"{type(error).__name__}: {_line(error)}"


def _line(error: Exception) -> str:
    """An error's message in one line, shortened."""
    return " ".join(str(error).split())[:160]


def calls_of(good: GoodCall) -> Iterator[HostileCall]:
    """Every hostile call of an entry."""
    for argument in good.parameters:
        for value in VALUES:
            yield HostileCall(good, argument, value)
