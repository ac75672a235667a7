"""How to use an encoding in PyTorch and in JAX: two doctests; NumPy computes the shapes that they show."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

import posenc
from generator.text import imports, short
from posenc.core.doors import AdditiveEncoding, AttentionScore, Encoding, Role, RotaryEncoding
from posenc.core.rotation import Operator

#: A length that every encoding accepts, however short its table.
LENGTH = 4
#: Rows and columns of patches in a vision transformer.
PATCHES = (14, 14)
#: Encodings of a vision transformer with that many patches, 12 heads of 64 and a width of 768.
OF_IMAGES = {
    "GridSinusoidal": "GridSinusoidal(dims=(384, 384))",
    "GridLearned": "GridLearned(dim=768, sizes=(14, 14))",
    "FactorisedLearned": "FactorisedLearned(sizes=(14, 14), dims=(768, 768))",
    "AxialRoPE": "axial(dim=64)",
    "MixedRoPE": "MixedRoPE(dim=64)",
    "HeadwiseRoPE": "HeadwiseRoPE(dim=64, heads=12, shares=(6, 6))",
    "HARoPE": "HARoPE(axial(dim=64), heads=12)",
    "SphericalRoPE": "SphericalRoPE(dim=48)",
    "GridALiBi": "GridALiBi(heads=12)",
    "WindowBias": "WindowBias(heads=12, window=(14, 14))",
    "LogCPB": "LogCPB(heads=12, window=(14, 14))",
    "Decomposed": "Decomposed(dim=64)",
}


def torch_and_jax(sample: Encoding) -> tuple[str, str]:
    """The two snippets, as doctests: of the sample, or of a vision transformer where the encoding is for images."""
    encoding, text, imported = sample, short(sample), imports(sample)
    if type(sample).__name__ in OF_IMAGES:
        text = OF_IMAGES[type(sample).__name__]
        names = sorted(set(re.findall(r"[A-Za-z]+(?=[(])", text)))
        encoding = eval(text, {name: getattr(posenc, name) for name in names})
        imported = f"from posenc import {', '.join(names)}"
    return _written(encoding, text, imported, _TORCH), _written(encoding, text, imported, _JAX)


_TORCH = {
    "head": ["import torch", "{imports}", "from posenc.torch import {names}", "encoding = module({encoding})"],
    "random": "torch.randn({shape})",
    "line": f"torch.arange({LENGTH})",
    "patches": "torch.from_numpy(grid(14, 14))  # rows and columns of the patches of an image",
    "grid": "torch.cartesian_prod({ranges})",
    "range": "torch.arange(2)",
    "made by": "module",
    "add": "encoding(",
    "shape": "tuple({name}.shape)",
}  # fmt: skip
_JAX = {
    "head": ["import jax.numpy as jnp", "{imports}", "from posenc.jax import {names}", "encoding = bind({encoding})"],
    "random": "jnp.ones(({shape}))",
    "line": f"jnp.arange({LENGTH})",
    "patches": "jnp.asarray(grid(14, 14))  # rows and columns of the patches of an image",
    "grid": 'jnp.stack(jnp.meshgrid({ranges}, indexing="ij"), -1).reshape(-1, {axes})',
    "range": "jnp.arange(2)",
    "made by": "bind",
    "add": "encoding.add(",
    "shape": "{name}.shape",
}  # fmt: skip


def _written(encoding: Encoding, text: str, imported: str, words: dict[str, Any]) -> str:
    """Write one snippet: imports, the module or pytree, inputs, the call, and the shape of the result."""
    names = words["made by"] if isinstance(encoding, AdditiveEncoding) else f"attention, {words['made by']}"
    if _of_an_image(encoding):
        imported += "\nfrom posenc.positions import grid"
    head = [line.format(imports=imported, encoding=text, names=names) for line in words["head"]]
    head = [line for lines in head for line in lines.split("\n")]
    lines = [*head, f"positions = {_positions(encoding, words)}"]
    drawn = lambda *shape: words["random"].format(shape=", ".join(map(str, shape)))  # noqa: E731
    length = math.prod(PATCHES) if _of_an_image(encoding) else LENGTH if encoding.axes == 1 else 2**encoding.axes
    if isinstance(encoding, AdditiveEncoding):
        lines += [f"x = {drawn(2, length, encoding.width)}", f"y = {words['add']}x, positions)"]
        return _doctest(lines, words, {"y": _attached_shape(encoding, length)})
    return _attended(encoding, words, lines, drawn, length)


def _attended(encoding: Encoding, words: dict[str, Any], lines: list[str], drawn: Any, length: int) -> str:
    """Attention with the encoding."""
    heads = key_heads = getattr(encoding, "heads", 4)
    if isinstance(encoding, RotaryEncoding) and "value" not in encoding.roles:
        heads, key_heads = _heads(encoding)
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 8)
    lines += [f"q = {drawn(1, heads, length, width)}", f"k = v = {drawn(1, key_heads, length, width)}"]
    given = ["q, k, v, query_positions=positions, key_positions=positions", "encodings=[encoding]"]
    if isinstance(encoding, AttentionScore) and encoding.reads:
        twice = ", for queries and then for keys" if encoding.reads == "both" else ""
        shape = 1, encoding.hidden_length(length, length), getattr(encoding, "model_dim")  # noqa: B009
        lines += [f"x = {drawn(*shape)}  # the input of the layer{twice}"]
        given.append("hidden=x")
    if isinstance(encoding, AttentionScore) and hasattr(encoding, "scale"):
        given.append("scale=encoding.encoding.scale")
    given.append('layout="bhtd"')
    lines += [f"output = attention({', '.join(given)})"]
    return _doctest(lines, words, {"output": (1, heads, length, width)})


def _of_an_image(encoding: Encoding) -> bool:
    return encoding.axes == len(PATCHES)


def _positions(encoding: Encoding, words: dict[str, Any]) -> str:
    axes = encoding.axes
    if axes == 1:
        return words["line"]
    if _of_an_image(encoding):
        return words["patches"]
    return words["grid"].format(ranges=", ".join([words["range"]] * axes), axes=axes)


def _attached_shape(encoding: AdditiveEncoding, length: int) -> tuple[int, ...]:
    """Shape of an embedding with its encoding, which may be concatenated rather than added."""
    params = encoding.init(np.random.default_rng(0)) if encoding.shapes else None
    axes = encoding.axes
    where = np.zeros((length,) if axes == 1 else (length, axes), np.int64)
    return tuple(encoding.attach(np.ones((2, length, encoding.width)), where, params).shape)


def _operator(encoding: RotaryEncoding, role: Role) -> Operator:
    origin = np.zeros((1,) if encoding.axes == 1 else (1, encoding.axes))
    params = encoding.init(np.random.default_rng(0)) if encoding.shapes else None
    return encoding.rotation(origin, params, role=role)


def _heads(encoding: RotaryEncoding) -> tuple[int, int]:
    """Heads of queries and keys: twice as many queries, unless each key head has its own rotation."""
    q_heads, k_heads = (_operator(encoding, role).heads for role in ("query", "key"))
    if k_heads is not None:
        return k_heads, k_heads
    return (4, 2) if q_heads is None else (q_heads, max(q_heads // 2, 1))


def _doctest(lines: list[str], words: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> str:
    shown = ", ".join(words["shape"].format(name=name) for name in shapes)
    expected = next(iter(shapes.values())) if len(shapes) == 1 else tuple(shapes.values())
    return "\n".join([*(f">>> {line}" for line in [*lines, shown]), repr(expected)])
