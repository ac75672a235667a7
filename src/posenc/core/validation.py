"""Rules of arguments: one form of message, and a type or value error for each kind of mistake.

Every message begins with the argument's name, then says the rule, the value received and what to do.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: The widest embedding or head that is accepted; real models stay far below it.
LARGEST_WIDTH = 1 << 20
#: The most bytes a table asked for by its sizes alone may take, checked before anything is allocated.
LARGEST_BYTES = 1 << 33
#: The most numbers of a list that are checked one by one.
LONGEST_LIST = 1 << 24
#: The most axes of an array that is accepted: fewer than those at which NumPy and PyTorch fail in their own words.
MOST_AXES = 16


def shown(value: object) -> str:
    """Repr of a value for a message: short, and with its type; a class by its name."""
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    text = " ".join(repr(value).split())
    if len(text) > 80:
        text = text[:77] + "..."
    return f"{text} ({type(value).__name__})"


def integer(name: str, value: Any, least: int, most: int = LARGEST_WIDTH, *, even: bool = False) -> int:
    """Check that a value is a whole number from `least` to `most` (`even` where asked), and return it as an int."""
    rule = f"{name} must be an {'even ' if even else ''}integer from {least} to {most}"
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, numbers.Integral)):
        raise TypeError(f"{rule}; got {shown(value)}. Give a whole number.")
    number = int(value)
    if not least <= number <= most or (even and number % 2):
        nearest = min(max(number, least), most)
        if even and nearest % 2:
            nearest += 1 if nearest < most else -1
        raise ValueError(f"{rule}; got {number}. Use {nearest}, for example.")
    return number


def real(name: str, value: Any, least: float, most: float, *, above: bool = False) -> float:
    """Check that a value is a number from `least` to `most` (above `least` if `above`), and return it as a float."""
    rule = (
        f"{name} must be a finite number {'above' if above else 'from'} {least:g} {'and at most' if above else 'to'} "
        f"{most:g}"
    )
    if type(value) not in (int, float) and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise TypeError(f"{rule}; got {shown(value)}. Give a plain number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    # Finite ends refuse infinities and NaN too; torch.compile, for which a number may be a symbol, stops at isfinite.
    if not least <= number <= most or (above and number == least):
        raise ValueError(f"{rule}; got {number!r}. Use a number in this range.")
    return number


def choice(name: str, value: Any, options: Sequence[str]) -> str:
    """Check that a value is one of the words in `options`, and return it; TypeError or ValueError otherwise."""
    if isinstance(value, str) and value in options:
        return value
    rule = f"{name} must be one of {', '.join(map(repr, options))}"
    if not isinstance(value, str):
        raise TypeError(f"{rule}; got {shown(value)}. Give one of these words.")
    raise ValueError(f"{rule}; got {value!r}. Give one of these words.")


def equals_one_of(value: Any, *options: Any) -> bool:
    """Whether a size or shape is one of these, as a plain bool.

    `value in options` says no to sizes that a tracer does not know yet, and `value == option` of two of them is no
    bool, which PyTorch's attention asks for.
    """
    for option in options:  # noqa: SIM110  a generator costs a call for each option
        if value == option:
            return True
    return False


def integers(name: str, values: Any, least: int, most: int) -> list[int]:
    """Check a list or 1-D array of whole numbers from `least` to `most`, and return it as a list of ints."""
    listed = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    if not listed and getattr(values, "ndim", None) != 1:
        raise TypeError(f"{name} must be a list of whole numbers; got {shown(values)}. Give [0, 1], say.")
    if len(values) > LONGEST_LIST:
        raise ValueError(f"{name} must be at most {LONGEST_LIST} numbers; got {len(values)}. Give fewer at a time.")
    return [integer(name, value, least, most) for value in (values if listed else values.tolist())]


def texts(name: str, values: Any) -> frozenset[str]:
    """Check that a list, a tuple or a set holds strings alone, and return it as a frozenset."""
    if not isinstance(values, list | tuple | set | frozenset) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{name} must be a tuple of words; got {shown(values)}. Write ('layers',), say.")
    return frozenset(values)


def text(name: str, value: Any) -> str:
    """Check that a value is a string, and return it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text; got {shown(value)}. Write a word or a sentence.")
    return value


def path(name: str, value: Any) -> Path:
    """Check that a value is a path, which need not exist, and return it as a `Path`."""
    if not isinstance(value, str | os.PathLike) or "\0" in os.fsdecode(value):
        raise TypeError(f"{name} must be a path; got {shown(value)}. Give 'folder/name', say.")
    return Path(os.fsdecode(value))


def function(name: str, value: Any) -> Any:
    """Check that a value is callable, and return it."""
    if not callable(value):
        raise TypeError(f"{name} must be a function; got {shown(value)}. Give one, without calling it.")
    return value


def truth(name: str, value: Any) -> bool:
    """Check that a value is True or False, not merely truthy or falsy, and return it."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False; got {shown(value)}. Give one of the two.")
    return value


def instance(name: str, value: Any, kind: type, what: str) -> Any:
    """Return the value if it is an instance of `kind`; else raise a TypeError that asks for `what`."""
    if not isinstance(value, kind):
        remedy = f"Make one, {_call(value)}" if isinstance(value, type) and issubclass(value, kind) else f"Give {what}"
        raise TypeError(f"{name} must be {what}; got {shown(value)}. {remedy}.")
    return value


def _call(kind: type) -> str:
    """Code that makes an instance, with the fields that must be given: "RoPE(dim=…)"."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    needed = [each for each in fields if each.default is each.default_factory is dataclasses.MISSING]
    return f"{kind.__name__}({', '.join(f'{each.name}=…' for each in needed) or ('' if fields else '…')})"


def one_axis(name: str, encoding: Any) -> None:
    """Refuse an encoding whose positions have several coordinates, where one number per place is needed."""
    if encoding.axes != 1:
        raise ValueError(
            f"{name} must be an encoding with one axis; got {shown(encoding)}, with {encoding.axes} axes. Give an "
            "encoding with one axis."
        )


def size(name: str, count: int, itemsize: int = 8) -> None:
    """Refuse an array of more than `LARGEST_BYTES` (8 GiB), before it is allocated."""
    if count * itemsize > LARGEST_BYTES:
        raise ValueError(
            f"{name} must need at most {LARGEST_BYTES} bytes at once; got {count} numbers of {itemsize} bytes. Ask "
            "for fewer positions at a time."
        )


def rank(name: str, array: Any) -> None:
    """Refuse an array of more than `MOST_AXES` axes."""
    if array.ndim > MOST_AXES:
        raise ValueError(f"{name} must have at most {MOST_AXES} axes; got {array.ndim}. Leave out axes of one.")


def settle(record: object, **fields: Any) -> None:
    """Store checked fields in a frozen record, as plain numbers, so that equal records are equal and print alike."""
    for name, value in fields.items():
        object.__setattr__(record, name, value)
