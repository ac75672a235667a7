"""How to use a record in PyTorch and in JAX: two doctests; NumPy computes the shapes that they show."""

from __future__ import annotations

from typing import Any

import numpy as np

from generator.text import imports, short
from posenc.doors import Adds, Biases, Encoding, Role, Rotates, Scores
from posenc.turn import Operator

#: A length that every record accepts, however short its table.
LENGTH = 4


def torch_and_jax(record: Encoding) -> tuple[str, str]:
    """The two snippets, as doctests."""
    return _written(record, _TORCH), _written(record, _JAX)


_TORCH = {
    "head": ["import torch", "{imports}", "from posenc.torch import {names}", "encoding = module({record})"],
    "random": "torch.randn({shape})",
    "line": f"torch.arange({LENGTH})",
    "grid": "torch.cartesian_prod({ranges})",
    "range": "torch.arange(2)",
    "call": {"adds": "encoding(", "attention": "attention("},
    "shape": "tuple({name}.shape)",
}  # fmt: skip
_JAX = {
    "head": [
        "import jax",
        "import jax.numpy as jnp",
        "{imports}",
        "from posenc.jax import Bound, bind",
        "bound = bind({record})",
    ],
    "random": "jnp.ones(({shape}))",
    "line": f"jnp.arange({LENGTH})",
    "grid": 'jnp.stack(jnp.meshgrid({ranges}, indexing="ij"), -1).reshape(-1, {axes})',
    "range": "jnp.arange(2)",
    "call": {
        "adds": "jax.jit(Bound.add)(bound, ",
        "rotates": 'jax.jit(Bound.rotate, static_argnames="layout")(bound, ',
        "biases": "jax.jit(Bound.bias)(bound, ",
        "scores": "jax.jit(Bound.score)(bound, ",
        "values": 'jax.jit(Bound.rotate_values, static_argnames="layout")(bound, ',
        "back": 'jax.jit(Bound.rotate_back, static_argnames="layout")(bound, ',
    },
    "shape": "{name}.shape",
}  # fmt: skip


def _written(record: Encoding, words: dict[str, Any]) -> str:
    """One snippet: imports, the module or pytree, inputs, the call, and the shape of the result."""
    names = "module" if isinstance(record, Adds) else "attention, module"
    head = [line.format(imports=imports(record), record=short(record), names=names) for line in words["head"]]
    head = [line for lines in head for line in lines.split("\n")]
    lines = [*head, f"positions = {_positions(record, words)}"]
    drawn = lambda *shape: words["random"].format(shape=", ".join(map(str, shape)))  # noqa: E731
    called, axes = words["call"], record.axes
    length = LENGTH if axes == 1 else 2**axes
    if isinstance(record, Adds):
        lines += [f"x = {drawn(2, length, record.width)}", f"y = {called['adds']}x, positions)"]
        return _doctest(lines, words, {"y": _attached_shape(record, length)})
    if "attention" in called:
        return _attended(record, words, lines, drawn, length)
    return _at_its_door(record, words, lines, drawn, length)


def _at_its_door(record: Encoding, words: dict[str, Any], lines: list[str], drawn: Any, length: int) -> str:
    """What the record itself gives."""
    called = words["call"]
    if isinstance(record, Biases):
        lines += [f"bias = {called['biases']}positions, positions)"]
        return _doctest(lines, words, {"bias": (record.heads, length, length)})
    if isinstance(record, Rotates) and "value" in record.roles:
        lines += [f"v = {drawn(1, 2, length, record.head_dim)}"]
        lines += [f'v = {called["values"]}v, positions, layout="bhtd")', "output = v  # of attention"]
        lines += [f'output = {called["back"]}output, positions, layout="bhtd")']
        return _doctest(lines, words, {"output": (1, 2, length, record.head_dim)})
    if isinstance(record, Rotates):
        q_heads, k_heads = _heads(record)
        lines += [
            f"q = {drawn(1, q_heads, length, record.head_dim)}",
            f"k = {drawn(1, k_heads, length, record.head_dim)}",
        ]
        lines += [f'q, k = {called["rotates"]}q, k, positions, positions, layout="bhtd")']
        return _doctest(
            lines,
            words,
            {"q": (1, q_heads, length, _rotated_width(record)), "k": (1, k_heads, length, _rotated_width(record))},
        )
    if not isinstance(record, Scores):
        raise TypeError(f"record must enter by one of the four doors; got {record!r}. Write a snippet for its door.")
    heads, width = getattr(record, "heads", 4), getattr(record, "dim", 8)
    lines += [f"q = {drawn(1, heads, length, width)}", f"k = {drawn(1, heads, length, width)}"]
    hidden = ""
    if record.reads:
        twice = ", for queries and then for keys" if record.reads == "both" else ""
        lines += [
            f"x = {drawn(1, record.hidden_length(length, length), record.model_dim)}  # the input of the layer{twice}"
        ]
        hidden = ", hidden=x"
    lines += [f"logits = {called['scores']}q, k, positions, positions{hidden})"]
    return _doctest(lines, words, {"logits": (1, heads, length, length)})


def _attended(record: Encoding, words: dict[str, Any], lines: list[str], drawn: Any, length: int) -> str:
    """Attention with the record."""
    heads = key_heads = getattr(record, "heads", 4)
    if isinstance(record, Rotates) and "value" not in record.roles:
        heads, key_heads = _heads(record)
    width = record.head_dim if isinstance(record, Rotates) else getattr(record, "dim", 8)
    lines += [f"q = {drawn(1, heads, length, width)}", f"k = v = {drawn(1, key_heads, length, width)}"]
    given = ["q, k, v, query=positions, key=positions", "encodings=[encoding]"]
    if isinstance(record, Scores) and record.reads:
        twice = ", for queries and then for keys" if record.reads == "both" else ""
        shape = 1, record.hidden_length(length, length), getattr(record, "model_dim")  # noqa: B009
        lines += [f"x = {drawn(*shape)}  # the input of the layer{twice}"]
        given.append("hidden=x")
    if isinstance(record, Scores) and hasattr(record, "scale"):
        given.append("scale=encoding.record.scale")
    given.append('layout="bhtd"')
    lines += [f"output = attention({', '.join(given)})"]
    return _doctest(lines, words, {"output": (1, heads, length, width)})


def _positions(record: Encoding, words: dict[str, Any]) -> str:
    axes = record.axes
    if axes == 1:
        return words["line"]
    return words["grid"].format(ranges=", ".join([words["range"]] * axes), axes=axes)


def _attached_shape(record: Adds, length: int) -> tuple[int, ...]:
    """Shape of an embedding with its encoding, which may be concatenated rather than added."""
    params = record.init(np.random.default_rng(0)) if record.shapes else None
    axes = record.axes
    where = np.zeros((length,) if axes == 1 else (length, axes), np.int64)
    return tuple(record.attach(np.ones((2, length, record.width)), where, params).shape)


def _operator(record: Rotates, role: Role) -> Operator:
    origin = np.zeros((1,) if record.axes == 1 else (1, record.axes))
    params = record.init(np.random.default_rng(0)) if record.shapes else None
    return record.turn(origin, params, role=role)


def _rotated_width(record: Rotates) -> int:
    """Channels of a rotated vector, which may be more than before."""
    return _operator(record, "query").width


def _heads(record: Rotates) -> tuple[int, int]:
    """Heads of queries and keys: twice as many queries, unless each key head has its own rotation."""
    q_heads, k_heads = (_operator(record, role).heads for role in ("query", "key"))
    if k_heads is not None:
        return k_heads, k_heads
    return (4, 2) if q_heads is None else (q_heads, max(q_heads // 2, 1))


def _doctest(lines: list[str], words: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> str:
    shown = ", ".join(words["shape"].format(name=name) for name in shapes)
    expected = next(iter(shapes.values())) if len(shapes) == 1 else tuple(shapes.values())
    return "\n".join([*(f">>> {line}" for line in [*lines, shown]), repr(expected)])
