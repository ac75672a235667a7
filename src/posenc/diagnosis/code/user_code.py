"""A user's code as the probe sees it: what it is called with, the numbers that come back, the tensors of its modules.

`LocalCode` calls it in this process. `RemoteCode` asks a child process, so that nothing in a user's file can reach what
compares its numbers.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.code_state import deep_copied, kept_values
from posenc.diagnosis.code.parameter_roles import ArgumentRoles, Parameter, construction, has_width, parameters_of
from posenc.diagnosis.code.user_file import error_line, quiet, source_file
from posenc.diagnosis.named_arrays import NamedArray, on_host

#: Positions that are given to code, and those on which mistakes are searched for: near ones one by one, then those
#: around which tables end and narrow types lose whole numbers, then far ones.
POSITIONS = (
    *range(41), 50, 63, 64, 65, 99, 100, 127, 128, 129, 199, 200, 255, 256, 257, 259, 300, 499, 500, 511, 512, 513, 999,
    1000, 1023, 1024, 1025, 1999, 2000, 2047, 2048, 2049, 2051, 2052, 2999, 4095, 4097, 4999, 5000, 8191, 8193, 65_537,
    100_003,
)  # fmt: skip
#: The most numbers of a tensor whose values are compared.
MOST = 1 << 22
Function = Callable[..., Any]
#: The method of rotary-embedding-torch that rotates vectors; its `forward` returns angles.
ROTATING_METHOD = "rotate_queries_or_keys"


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor by its path in the module.

    Args:
        name: Path in the module.
        kind: "parameter", "buffer", or "plain" for an attribute that the module does not know of.
        shape: Its sizes.
        values: Its numbers as float64; None where there are too many.
    """

    name: str
    kind: Literal["parameter", "buffer", "plain"]
    shape: tuple[int, ...]
    values: np.ndarray | None = None


def tensors_of(module: Any) -> list[Tensor]:
    """Tensors that a torch module holds; none for other objects."""
    if not hasattr(module, "named_modules"):
        return []
    registered = [("parameter", *named) for named in module.named_parameters()]
    registered += [("buffer", *named) for named in module.named_buffers()]
    named_tensors = [*registered, *(("plain", *named) for named in _plain(module))]
    return [Tensor(name, kind, tuple(value.shape), _values(value)) for kind, name, value in named_tensors]


def moving_error(module: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """Error of a module with plain tensors that is moved to another device and called there; "" where it works.

    The device is "meta", which every build of torch has and which mixes with no other.
    """
    if not hasattr(module, "named_modules") or not any(True for _ in _plain(module)):
        return ""
    try:
        moved = copy.deepcopy(module).to("meta")
        moved(*map(_moved, positional), **{name: _moved(value) for name, value in named.items()})
    except Exception as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


def _plain(module: Any) -> Iterator[tuple[str, Any]]:
    for path, owner in module.named_modules():
        for name, value in vars(owner).items():
            if hasattr(value, "detach") and hasattr(value, "device"):
                yield (f"{path}.{name}" if path else name), value


def _moved(value: Any) -> Any:
    return value.to("meta") if hasattr(value, "detach") else value


def _values(value: Any) -> np.ndarray | None:
    if value.numel() > MOST or value.is_complex():
        return None
    return on_host(value).values.astype(np.float64)


class UnsupportedFormError(Exception):
    """Call form that does not fit the function; the message says what came back."""


class CodeFailedError(Exception):
    """A user's code raised an error; `kind` is the name of its class."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class PreparedCode:
    """Code that is ready to be called.

    Args:
        name: Its name, with the arguments that it was made with.
        parameters: Parameters of the function.
        libraries: Libraries whose arrays it takes, the likeliest first.
        heads: Heads that it was made with; 0 where it was made with none.
    """

    name: str
    parameters: tuple[Parameter, ...]
    libraries: tuple[str, ...]
    heads: int = 0


class UserCode(Protocol):
    """A function, a class or an object, here or in another process."""

    def prepare(self, dim: int, base: float, heads: int) -> PreparedCode:
        """Make an object, where the code is a class.

        Raises:
            ValueError: In one line, where it cannot be made.
        """

    def call(self, library: str, positional: Sequence[Any], named: Mapping[str, Any]) -> list[NamedArray]:
        """Call the code, and return each result as numbers.

        Raises:
            UnsupportedFormError: It returns something that is no array of numbers.
            CodeFailedError: It raises an error.
        """

    def tensors(self) -> list[Tensor]:
        """Tensors that it holds, where it is a torch module."""

    def renew(self) -> None:
        """Make the next call the first one: undo what calls have left in the code, its globals and its objects."""

    def moving_error(self) -> str:
        """Error of the last call repeated on another device; "" where it works."""


class LocalCode:
    """Code that is called in this process."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.file = source_file(target)
        self.function: Function = target
        self.last: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self.kept = kept_values(target)
        self.uncalled = None if inspect.isroutine(target) or isinstance(target, type) else deep_copied(target)

    def prepare(self, dim: int, base: float, heads: int) -> PreparedCode:
        target, name, built_with = self.target, _name_of(self.target), {}
        if isinstance(target, type):
            heads = 1 if has_width(target) else heads
            sizes = {"dim": dim, "length": 4096, "dropout": 0.0, "base": base, "heads": heads, "buckets": 32}
            built_with = construction(target, {**sizes, "distance": 128})
            target = self._construct(target, name, built_with)
            name = f"{name}({', '.join(built_with)})"
            self.uncalled = deep_copied(target)
        self.function = _callable(target)
        if not callable(self.function):
            raise ValueError(
                f"target must be a function, a class or an object that can be called; got {name}. Name another one."
            )
        heads_of_module = heads if heads > 1 and heads in built_with.values() else 0
        parameters, libraries = tuple(parameters_of(self.function)), tuple(_libraries(self.function))
        return PreparedCode(name, parameters, libraries, heads_of_module)

    def call(self, library: str, positional: Sequence[Any], named: Mapping[str, Any]) -> list[NamedArray]:
        by_name = {name: _array(value, library) for name, value in named.items()}
        self.last = tuple(_array(value, library) for value in positional), by_name
        try:
            with quiet():
                result = self.function(*self.last[0], **self.last[1])
                results = result if isinstance(result, tuple) else (result,)
                return [numbers for each in results for numbers in _numbers(each)]
        except (KeyboardInterrupt, UnsupportedFormError):
            raise
        except BaseException as error:
            raise CodeFailedError(error_line(error, self.file), type(error).__name__) from None

    def renew(self) -> None:
        for value in self.kept:
            value.restore()
        if self.uncalled is not None:
            self.function = _callable(deep_copied(self.uncalled))

    def tensors(self) -> list[Tensor]:
        return tensors_of(getattr(self.function, "__self__", self.function))

    def moving_error(self) -> str:
        return moving_error(getattr(self.function, "__self__", self.function), *self.last)

    def _construct(self, kind: type, name: str, arguments: Mapping[str, Any]) -> Any:
        try:
            with quiet():
                return kind(**arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            shown = ", ".join(f"{key}={value}" for key, value in arguments.items())
            raise ValueError(f"{error_line(error, self.file)}, when making {name}({shown}). Fix it first.") from None


def _callable(target: Any) -> Any:
    """The callable of a target, with dropout off: where a module rotates vectors by a method, this method."""
    if hasattr(target, "eval") and hasattr(target, "forward"):
        target.eval()
    found = (getattr(target, name, None) for name in (ROTATING_METHOD, "forward"))
    return next(filter(callable, found), target)


def _name_of(target: Any) -> str:
    return str(getattr(target, "__name__", type(target).__name__))


def _libraries(function: Function) -> Iterator[str]:
    """NumPy, and PyTorch where it is loaded: first where the function's own file uses it."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield "numpy"
        return
    call_method = vars(type(function)).get("__call__")
    functions = (function, getattr(function, "__func__", None), call_method)
    names = [value for one in functions for value in getattr(one, "__globals__", {}).values()]
    uses = any(value is torch or str(getattr(value, "__module__", "")).startswith("torch") for value in names)
    yield from ("torch", "numpy") if uses else ("numpy", "torch")


def _array(value: Any, library: str) -> Any:
    """Convert an array to the library that the code takes; anything else stays as it is."""
    if not isinstance(value, np.ndarray):
        return value
    is_float = value.dtype.kind == "f"
    if library == "numpy":
        return value.astype(np.float64) if is_float else value.copy()
    torch = sys.modules["torch"]
    return torch.tensor(value, dtype=torch.float32 if is_float else torch.int64)


def _numbers(result: Any) -> list[NamedArray]:
    """A result as float64: complex numbers as their real and their imaginary parts."""
    if inspect.isgenerator(result):
        raise UnsupportedFormError("it returned a generator. Return an array")
    array, dtype = on_host(result)
    if array.dtype.kind == "c":
        dtype = "float32" if array.dtype == np.complex64 else "float64"
        return [NamedArray(part.astype(np.float64), dtype) for part in (array.real, array.imag)]
    if array.dtype.kind not in "iuf":
        raise UnsupportedFormError(f"it returned {array.dtype} values. Return numbers")
    return [NamedArray(array.astype(np.float64), dtype if array.dtype.kind == "f" else "float64")]


@dataclass(frozen=True, eq=False)
class Caller:
    """Code with one way to call it, and the library whose arrays it gets.

    Args:
        code: The code.
        prepared: Its parameters.
        call: The arguments that are given.
        library: "numpy" or "torch".
        dim: Width that is asked for.
        base: Base that is asked for.
        heads: Heads that are asked for.
        layout: Layout of pairs of channels, where the results do not show it.
        asked: Positions to give, rising; lengths end with the last of them.
    """

    code: UserCode
    prepared: PreparedCode
    call: ArgumentRoles
    library: str
    dim: int
    base: float
    heads: int
    layout: PairLayout = "adjacent"
    asked: Sequence[int] = POSITIONS

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
        """Return every result of the call; a complex one counts as two, its real and its imaginary part."""
        values_by_role = {"dim": self.dim, "base": self.base, "heads": self.heads, **values}
        return self.code.call(self.library, *self.call.arguments(self.prepared.parameters, values_by_role))
