"""How to use a record in PyTorch and in JAX: two doctests; NumPy computes the shapes that they show."""

from __future__ import annotations

from typing import Any

import numpy as np

from generator.text import imports, short
from posenc.core.doors import AdditiveEncoding, AttentionScore, Encoding, Role, RotaryEncoding
from posenc.core.rotation import Operator

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
    "made by": "module",
    "add": "encoding(",
    "shape": "tuple({name}.shape)",
}  # fmt: skip
_JAX = {
    "head": ["import jax.numpy as jnp", "{imports}", "from posenc.jax import {names}", "encoding = bind({record})"],
    "random": "jnp.ones(({shape}))",
    "line": f"jnp.arange({LENGTH})",
    "grid": 'jnp.stack(jnp.meshgrid({ranges}, indexing="ij"), -1).reshape(-1, {axes})',
    "range": "jnp.arange(2)",
    "made by": "bind",
    "add": "encoding.add(",
    "shape": "{name}.shape",
}  # fmt: skip


def _written(record: Encoding, words: dict[str, Any]) -> str:
    """One snippet: imports, the module or pytree, inputs, the call, and the shape of the result."""
    names = words["made by"] if isinstance(record, AdditiveEncoding) else f"attention, {words['made by']}"
    head = [line.format(imports=imports(record), record=short(record), names=names) for line in words["head"]]
    head = [line for lines in head for line in lines.split("\n")]
    lines = [*head, f"positions = {_positions(record, words)}"]
    drawn = lambda *shape: words["random"].format(shape=", ".join(map(str, shape)))  # noqa: E731
    length = LENGTH if record.axes == 1 else 2**record.axes
    if isinstance(record, AdditiveEncoding):
        lines += [f"x = {drawn(2, length, record.width)}", f"y = {words['add']}x, positions)"]
        return _doctest(lines, words, {"y": _attached_shape(record, length)})
    return _attended(record, words, lines, drawn, length)


def _attended(record: Encoding, words: dict[str, Any], lines: list[str], drawn: Any, length: int) -> str:
    """Attention with the record."""
    heads = key_heads = getattr(record, "heads", 4)
    if isinstance(record, RotaryEncoding) and "value" not in record.roles:
        heads, key_heads = _heads(record)
    width = record.head_dim if isinstance(record, RotaryEncoding) else getattr(record, "dim", 8)
    lines += [f"q = {drawn(1, heads, length, width)}", f"k = v = {drawn(1, key_heads, length, width)}"]
    given = ["q, k, v, query=positions, key=positions", "encodings=[encoding]"]
    if isinstance(record, AttentionScore) and record.reads:
        twice = ", for queries and then for keys" if record.reads == "both" else ""
        shape = 1, record.hidden_length(length, length), getattr(record, "model_dim")  # noqa: B009
        lines += [f"x = {drawn(*shape)}  # the input of the layer{twice}"]
        given.append("hidden=x")
    if isinstance(record, AttentionScore) and hasattr(record, "scale"):
        given.append("scale=encoding.record.scale")
    given.append('layout="bhtd"')
    lines += [f"output = attention({', '.join(given)})"]
    return _doctest(lines, words, {"output": (1, heads, length, width)})


def _positions(record: Encoding, words: dict[str, Any]) -> str:
    axes = record.axes
    if axes == 1:
        return words["line"]
    return words["grid"].format(ranges=", ".join([words["range"]] * axes), axes=axes)


def _attached_shape(record: AdditiveEncoding, length: int) -> tuple[int, ...]:
    """Shape of an embedding with its encoding, which may be concatenated rather than added."""
    params = record.init(np.random.default_rng(0)) if record.shapes else None
    axes = record.axes
    where = np.zeros((length,) if axes == 1 else (length, axes), np.int64)
    return tuple(record.attach(np.ones((2, length, record.width)), where, params).shape)


def _operator(record: RotaryEncoding, role: Role) -> Operator:
    origin = np.zeros((1,) if record.axes == 1 else (1, record.axes))
    params = record.init(np.random.default_rng(0)) if record.shapes else None
    return record.rotation(origin, params, role=role)


def _heads(record: RotaryEncoding) -> tuple[int, int]:
    """Heads of queries and keys: twice as many queries, unless each key head has its own rotation."""
    q_heads, k_heads = (_operator(record, role).heads for role in ("query", "key"))
    if k_heads is not None:
        return k_heads, k_heads
    return (4, 2) if q_heads is None else (q_heads, max(q_heads // 2, 1))


def _doctest(lines: list[str], words: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> str:
    shown = ", ".join(words["shape"].format(name=name) for name in shapes)
    expected = next(iter(shapes.values())) if len(shapes) == 1 else tuple(shapes.values())
    return "\n".join([*(f">>> {line}" for line in [*lines, shown]), repr(expected)])
