"""Other values for the fields of any encoding, so that a check can ask whether each of them matters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import numpy as np

from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.diagnosis.mistake import with_fields
from posenc.frequencies import Linear, Scaling
from posenc.testing.budgets import parts_inside
from posenc.testing.door_probe import applied, content_width, moved_parameters, probed_rows, sides
from posenc.testing.one_coordinate import one_coordinate


def variants(encoding: Any, name: str) -> list[Any]:
    """Encodings that differ from this one in the named field; those that the constructor refuses are left out."""
    nested = (with_fields(encoding, **{name: value}) for value in others(encoding, name))
    return [record for record in nested if record is not None]


def observable_results(encoding: Encoding) -> tuple[bytes | str, ...]:
    """All that a caller can see of an encoding at a few well chosen positions.

    Two encodings that differ, differ here.
    """
    observed = [_bytes(lambda: encoding.init(np.random.default_rng(0))), repr(sorted(encoding.shapes.items()))]
    params, line = moved_parameters(encoding), one_coordinate(encoding, spread=True)
    for positions in (
        np.arange(3),
        np.arange(8),
        np.array([40, 90, 1_003]),
        np.array([100_003, 1_000_003]),
        np.array([0.5, 2.75]),
        np.array([-3, -1]),
    ):
        for side in sides(encoding):
            observed.append(_bytes(lambda p=positions, s=side: probed_rows(line, p, side=s, params=params)))
    return (*observed, _content_with_positions(encoding))


def rebuilt(text: str, encoding: Encoding) -> Any:
    """The encoding a repr describes: calls of the encoding's own class and of those inside it, with plain values."""
    classes = {type(record).__name__: type(record) for record in _within(encoding)}
    return _value(ast.parse(text, mode="eval").body, classes)


def others(encoding: Any, name: str) -> Iterator[Any]:
    """Values of the same kind as the field's own, good or bad."""
    value = getattr(encoding, name)
    if value is not None and any(field.name == name and field.default is None for field in fields(encoding)):
        yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value + 2, value * 2, value - 1)
    elif isinstance(value, float):
        yield from (value * 1.5 + 0.25, value * 0.5)
    elif isinstance(value, str):
        yield from (option for option in _options(encoding, name) if option != value)
    elif value is None:
        yield from (3, 7, 7.5)
        if Scaling in _options(encoding, name):
            yield Linear(factor=2.5)
    elif is_dataclass(value):
        yield from (other for field in fields(value) for other in variants(value, field.name))
    elif isinstance(value, tuple) and value:
        yield value[:-1]
        if isinstance(value[0], Encoding):
            for field in fields(value[0]):
                yield from ((other, *value[1:]) for other in variants(value[0], field.name))
        else:
            yield (*value[:-1], _last_doubled(value[-1], 1))
            yield (*value[:-1], _last_doubled(value[-1], 0))
            yield value[::-1]
            yield (*value[1:], value[0])


def _last_doubled(value: Any, more: int) -> Any:
    """A number twice as large and so much more; of a tuple in a tuple, its last number."""
    return (*value[:-1], _last_doubled(value[-1], more)) if isinstance(value, tuple) else value * 2 + more


def _options(encoding: Any, name: str) -> tuple[Any, ...]:
    try:
        return get_args(get_type_hints(type(encoding)).get(name))
    except NameError:  # a class defined inside a function, whose annotations cannot be read
        return ()


def _content_with_positions(encoding: Encoding) -> bytes | str:
    """How the numbers meet the content: which channels rotate together, how wide the result is."""
    encoding, params = one_coordinate(encoding, spread=True), moved_parameters(encoding) or None
    if isinstance(encoding, AdditiveEncoding | RotaryEncoding):
        x = np.arange(1.0, content_width(encoding) + 1)[None] * np.ones((3, 1))
        return _bytes(lambda: applied(encoding, x, [0, 1, 2], params, np.float64))
    return b""


def _bytes(call: Any) -> bytes | str:
    try:
        result = call()
    except (ValueError, TypeError) as error:
        return type(error).__name__
    if isinstance(result, dict):
        return b"".join(np.asarray(value).tobytes() for value in result.values())
    return np.asarray(result).tobytes() + repr(np.shape(result)).encode()


def _within(encoding: Any) -> list[Any]:
    """An encoding and all encodings inside it."""
    return [encoding, *(deep for part in parts_inside(encoding) for deep in _within(part))]


def _value(node: ast.expr, classes: dict[str, type]) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes and not node.args:
        return classes[node.func.id](**{str(word.arg): _value(word.value, classes) for word in node.keywords})
    if isinstance(node, ast.Tuple):
        return tuple(_value(item, classes) for item in node.elts)
    return ast.literal_eval(node)
