"""Hostile calls of every public entry, enumerated: each hostile value in place of each argument of a good call."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hostile.good_calls import GoodCall


def _torch(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(importlib.import_module("torch"))


TAKEN = "taken without a word"


@dataclass(frozen=True)
class Hostile:
    """A value that few arguments may hold.

    Attributes:
        make: Makes it anew.
        told_by: Words of an annotation, or names of arguments, that say that the argument may hold it.
    """

    make: Callable[[], Any]
    told_by: str = "(?!)"


NUMBERS = r"int|float|Any|Array|object|Base|Spread|base|factor|std"
SEQUENCES = r"Sequence|Encodings|list|tuple|Iterable|Any|Array|Mapping|Params|object"
VALUES: dict[str, Hostile] = {
    "object": Hostile(object),
    "function": Hostile(lambda: lambda: 0, r"Watcher"),
    "class": Hostile(lambda: int, r"Watcher"),
    "None": Hostile(lambda: None, r"None|documents|mask|hidden"),
    "True": Hostile(lambda: True, r"bool|mask"),
    "word": Hostile(lambda: "no such word", r"\bstr\b|PathLike|Path"),
    "bytes": Hostile(lambda: b"x"),
    "complex": Hostile(lambda: 1j),
    "NaN": Hostile(lambda: float("nan")),
    "infinity": Hostile(lambda: float("inf")),
    "10**30": Hostile(lambda: 10**30, r"float|[bB]ase"),
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


#: Arguments that may hold anything, or nearly: of `like` only the library counts.
MAY_HOLD_ALL = {
    "posenc.Encoding.init": "rng",
    "posenc.positions.coordinates": "like",
    "posenc.positions.difference": "like",
    "posenc.positions.steps": "like dtype",
    "posenc.models.Value": "value",
    "posenc.models.fingerprint": "encoding",
}
#: Arguments whose right values take minutes, or whose wrong ones only the subject of a search can tell.
LEFT_OUT = {
    "posenc.testing.check_encoding": "slow",
    "posenc.diagnosis.explain": "starts",
    "posenc.engines.engine_table": "engines",  # None is all of them, which are downloaded
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
                self.good.changed(self.argument, (VALUES | IMMENSE)[self.value].make())
            except (ValueError, TypeError, OSError) as error:
                return self._fault_of(error)
            except Exception as error:
                return f"{type(error).__name__}: {_line(error)}"
            finally:
                if "matplotlib.pyplot" in sys.modules:
                    sys.modules["matplotlib.pyplot"].close("all")
        return None if self._may_hold() else TAKEN

    def _may_hold(self) -> bool:
        """Whether the argument's annotation or name says that it may hold the value."""
        if self.argument in MAY_HOLD_ALL.get(self.good.name, "").split():
            return True
        parameter = self.good.parameters[self.argument]
        said = f"{parameter.annotation} {'None' if parameter.default is None else ''} {self.argument}"
        return re.search((VALUES | IMMENSE)[self.value].told_by, said) is not None

    def _fault_of(self, error: Exception) -> str | None:
        """What is wrong with an error; the name of another argument may begin it where a rule joins both."""
        if isinstance(error, OSError) and self.value != "word":
            return f"{type(error).__name__}: {_line(error)}"
        names = "|".join(map(re.escape, inspect.signature(self.good.entry).parameters))
        entry = self.good.entry.__name__ if isinstance(self.good.entry, type) else "arrays must come from one library"
        keys = r"\w+ must be (?:in the config|known)"  # of a config that lacks it
        begins = re.match(rf"(?:(?:{names}|{entry}|arrays must come from one library)\b|{keys})", str(error))
        if isinstance(error, OSError) or (begins and "\n" not in str(error)):
            return None
        return f"{type(error).__name__}: {_line(error)}"


def _line(error: Exception) -> str:
    """An error's message in one line, shortened."""
    return " ".join(str(error).split())[:160]


def calls_of(good: GoodCall) -> Iterator[HostileCall]:
    """Every hostile call of an entry."""
    for argument in sorted(good.parameters.keys() - {LEFT_OUT.get(good.name)}):
        for value in VALUES:
            yield HostileCall(good, argument, value)


#: Views and ranges of more numbers than any memory holds, which are made at once.
IMMENSE: dict[str, Hostile] = {
    "10**10 integers": Hostile(lambda: np.broadcast_to(np.int64(3), (10**10,))),
    "10**10 floats": Hostile(lambda: np.broadcast_to(np.float32(0.5), (10**10,))),
    "10**10 truths": Hostile(lambda: np.broadcast_to(np.True_, (10**10,))),
    "10**5 by 10**5": Hostile(lambda: np.broadcast_to(np.float64(1.0), (10**5, 10**5))),
    "four axes": Hostile(lambda: np.broadcast_to(np.float32(1.0), (1, 2, 10**10, 4))),
    "10**11 tensor": Hostile(_torch(lambda torch: torch.tensor(3).expand(10**11))),
    "10**11 float tensor": Hostile(_torch(lambda torch: torch.tensor(0.5).expand(10**11))),
    "tensor of four axes": Hostile(_torch(lambda torch: torch.tensor(0.5).expand(1, 2, 10**10, 4))),
    "range": Hostile(lambda: range(10**9)),
}

#: What an immense argument may cost before it is answered, beyond what the first use of a function loads.
MOST_SECONDS, MOST_BYTES = 0.05, 1 << 24


def cost(call: HostileCall) -> str | None:
    """What is wrong with the answer to an immense argument; None for one that is soon given and takes no memory."""
    fault = call.fault()  # which loads what the first use loads
    if fault is not None and fault != TAKEN:
        return fault
    tracemalloc.start()
    started = time.thread_time()
    call.fault()
    seconds, peak = time.thread_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if seconds > MOST_SECONDS or peak > MOST_BYTES:
        return f"{seconds * 1e3:.0f} ms, {peak} bytes"
    return None


def immense_calls_of(good: GoodCall) -> Iterator[HostileCall]:
    """Every call of an entry with an immense argument."""
    for argument in sorted(good.parameters):
        for value in IMMENSE:
            yield HostileCall(good, argument, value)
