"""Encodings written as their repr, read back: parsed against a short list of calls, never evaluated."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
import warnings
from typing import Any

from posenc import frequencies
from posenc.catalog import CATALOG
from posenc.compose import PerLayer
from posenc.core.declared_fields import near_field, wrong_names
from posenc.phase import Frequencies

#: Longer or deeper than any record that is meant.
LONGEST = 10_000
DEEPEST = 12
LONGEST_NUMBER = 40

_CALL = re.compile(r"\s*[A-Za-z_]\w*\(")


def is_record(text: str) -> bool:
    """Whether a text is meant as an encoding: a name with an opening bracket directly behind it.

    Example:
        >>> is_record("RoPE(dim=8)"), is_record("Dog bites man"), is_record("Dogs (and cats) bite")
        (True, False, False)
    """
    return _CALL.match(text) is not None


def classes() -> dict[str, type]:
    """Classes that may be called: encodings of the catalog, schedules of them, frequencies and scalings."""
    frequency_records = {
        name: value
        for name, value in ((name, getattr(frequencies, name)) for name in dir(frequencies))
        if isinstance(value, type)
        and issubclass(value, frequencies.Scaling | Frequencies)
        and value is not frequencies.Scaling
    }
    return {row.encoding.__name__: row.encoding for row in CATALOG} | {PerLayer.__name__: PerLayer} | frequency_records


def record(text: str) -> Any:
    """Read an encoding, a scaling, frequencies or a schedule from a text such as "RoPE(dim=8)".

    Args:
        text: A call with its fields, as repr writes it.

    Returns:
        The record.

    Raises:
        ValueError: The text is no such call; the message names the place and a name that is near.

    Example:
        >>> record("RoPE(dim=8, base=500_000)").base
        500000.0
    """
    if len(text) > LONGEST:
        raise ValueError(f"encoding must be at most {LONGEST:,} characters; got {len(text):,}. Write a shorter one.")
    if not is_record(text):
        raise ValueError(
            f"encoding must be a name with its fields in brackets; got {_cut(text)}. {_hint(text.strip())}"
        )
    if _depth(text) > DEEPEST:
        raise ValueError(f"encoding must nest at most {DEEPEST} deep; got more. Write a simpler one.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        location = f" at character {error.offset}" if error.offset else ""
        raise ValueError(
            f"encoding must be one call with balanced brackets: {error.msg}{location} of {_cut(text)}. "
            f"Write it as {_example()}."
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError(f"encoding must be one plain call; got {_cut(text)}. Write it as {_example()}.") from None
    if not isinstance(tree.body, ast.Call):
        raise ValueError(f"encoding must be one plain call; got {_cut(text)}. Write it as {_example()}.")
    return _call(tree.body)


def describe(record: Any, then: str) -> str:
    """Describe a record that is no encoding, with advice; `then` is the advice for a schedule."""
    if isinstance(record, frequencies.Scaling):
        return "a scaling. Give it to a rotation, RoPE(dim=64, scaling=...)."
    if isinstance(record, Frequencies):
        return "a record of frequencies. Give it to a rotation of several axes."
    return f"a schedule. {then}"


def _call(node: ast.Call) -> Any:
    """Build the encoding that a parsed call such as RoPE(dim=8) names."""
    known = classes()
    if not isinstance(node.func, ast.Name):
        raise ValueError(
            f"encoding must begin with a plain name{_at(node)}; got {_cut(ast.unparse(node.func))}. "
            f"Write it as {_example()}."
        )
    name = node.func.id
    if name not in known:
        raise ValueError(
            f"encoding must begin with the name of an encoding; got {_cut(name)}{_at(node)}. {_near(name, list(known))}"
        )
    kind: Any = known[name]
    fields = [field.name for field in dataclasses.fields(kind) if field.init]
    values: dict[str, Any] = {}
    if len(node.args) > len(fields):
        raise ValueError(
            f"{name} must have at most {len(fields)} values; got {len(node.args)}{_at(node)}. "
            f"Its fields are {', '.join(fields)}."
        )
    for field, value in zip(fields, node.args, strict=False):
        values[field] = _value(value, field)
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in fields:
            raise ValueError(
                f"{name} must have fields among {', '.join(fields)}; got "
                f"{_cut(keyword.arg or '**')}{_at(keyword.value)}. {_near_field(keyword.arg or '', fields)}"
            )
        if keyword.arg in values:
            raise ValueError(f"{keyword.arg} must be given once; got it twice{_at(keyword.value)}. Leave one out.")
        values[keyword.arg] = _value(keyword.value, keyword.arg)
    if missing := wrong_names(kind, (), values):
        raise ValueError(missing)
    return _construct(kind, values)


def _construct(kind: Any, values: dict[str, Any]) -> Any:
    """Make a record; its errors name its class."""
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{kind.__name__}: {error}") from None


def _value(node: ast.expr, field: str) -> Any:
    """Value of an expression: a number, a word in quotes, True, False, None, a tuple or list of these, or a record."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | float | str)):
        if isinstance(node.value, int) and node.value.bit_length() > 3 * LONGEST_NUMBER:
            raise ValueError(
                f"{field} must be a number of at most {LONGEST_NUMBER} digits{_at(node)}. Write a smaller one, or 1e30."
            )
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _value(node.operand, field)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(element, field) for element in node.elts)
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Name):
        if node.id in classes():
            raise ValueError(
                f"{field} must be a value{_at(node)}; got the bare name {node.id}. "
                f"Write it with its fields, {node.id}(...)."
            )
        raise ValueError(
            f"{field} must be a value{_at(node)}; got the bare name {node.id}. Put a word in quotes: "
            f"{field}='{node.id}'."
        )
    raise ValueError(
        f"{field} must be a number, a word in quotes, True, False, None, a tuple or an encoding{_at(node)}; got "
        f"{_cut(ast.unparse(node))}. Nothing is calculated: write the value itself."
    )


def has_no_default(field: dataclasses.Field[Any]) -> bool:
    """Whether a field of a record has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _depth(text: str) -> int:
    """Deepest nesting of brackets, or longest run of signs, counted before anything is parsed."""
    depth = deepest = signs = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        signs = signs + 1 if character in "-+~" else 0
        deepest = max(deepest, depth, signs)
    return deepest


def _at(node: ast.expr) -> str:
    """Place of an expression, for messages."""
    return f" at character {node.col_offset + 1}"


def _near(word: str, options: list[str]) -> str:
    """Advice that names the nearest class."""
    by_lower_name = {option.lower(): option for option in options}
    near = difflib.get_close_matches(word.lower(), list(by_lower_name), n=1, cutoff=0.5)
    return f"Did you mean {by_lower_name[near[0]]}?" if near else "`posenc list` shows them all."


def _near_field(word: str, fields: list[str]) -> str:
    """Advice that names the nearest field."""
    near = near_field(word, fields)
    return f"Did you mean {near}=?" if near else f"Choose one of these: {', '.join(fields)}."


def _hint(text: str) -> str:
    """Advice for a text without brackets."""
    return f"Write it with its fields, {text}(...)." if text in classes() else f"Write it as {_example()}."


def _example() -> str:
    return '"RoPE(dim=8)"'


def _cut(text: str) -> str:
    """Repr of a text, shortened."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
