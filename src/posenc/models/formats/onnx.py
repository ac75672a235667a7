"""Rotations as ONNX RotaryEmbedding nodes (opset 23), and such nodes as records."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc import _check
from posenc.compose import Partial
from posenc.doors import Rotates
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Scaling
from posenc.models.formats.safetensors_header import plain_size
from posenc.models.formats.single_rotation import only_rotation
from posenc.models.model_positions import LayerGroup, ModelPositions, Value
from posenc.models.pair_rotation import PairLayout

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto

OPSET = 23
#: The domain of ONNX Runtime's own operator of the same name.
MICROSOFT = "com.microsoft"
#: A graph without its weights stays far below this.
LARGEST_FILE = 1 << 28
#: Caches are float32 tables of someone's float32 arithmetic: angles of 2^-24 relative, times the rows compared.
ROWS = 64
TOLERANCE = 1e-4


def to_onnx(positions: ModelPositions, *, length: int, heads: int) -> ModelProto:
    """A model of one RotaryEmbedding node: x (batch, heads, n, dim) and positions (batch, n) to y.

    length: rows of its caches, which hold cos and sin of every pair times the attention factor, half as wide as those
    of transformers. The node rotates the first channels of a head. Raises ValueError for what the operator cannot say.
    Needs the onnx package.

    >>> from posenc import RoPE
    >>> from posenc.models import LayerGroup
    >>> positions = ModelPositions("mine", (LayerGroup("text", "full_attention", (0,), (RoPE(dim=8),)),))
    >>> [node.op_type for node in to_onnx(positions, length=16, heads=2).graph.node]
    ['RotaryEmbedding']
    """
    from onnx import TensorProto, helper, numpy_helper

    rotation = only_rotation(positions, "ONNX", of_all_layers=True)
    length, heads = _check.integer("length", length, 1, 1 << 24), _check.integer("heads", heads, 1, 1 << 16)
    _check.size("length", length * rotation.width)
    if rotation.start:
        raise ValueError(
            f"start must be 0 for ONNX, whose operator rotates the first channels; got {rotation.start}. "
            "Move the channels first."
        )
    turn = rotation.group.encodings[0].turn(np.arange(length), dtype=np.float32)  # type: ignore[attr-defined]
    node = helper.make_node(
        "RotaryEmbedding",
        ["x", "cos_cache", "sin_cache", "position_ids"],
        ["y"],
        interleaved=int(rotation.pairing == "adjacent"),
        rotary_embedding_dim=0 if rotation.width == rotation.dim else rotation.width,
        num_heads=heads,
    )
    shape: list[str | int | None] = ["batch", heads, "n", rotation.dim]
    graph = helper.make_graph(
        [node],
        "rotation",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "n"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(part, name) for part, name in ((turn.cos, "cos_cache"), (turn.sin, "sin_cache"))],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)


def from_onnx(model: ModelProto | str | Path, *, stated: Mapping[str, Any] | None = None) -> ModelPositions:
    """Read the RotaryEmbedding nodes of an ONNX model: pairing and width from attributes, frequencies from caches.

    Nodes may be of opset 23 or of ONNX Runtime (com.microsoft), whose inputs are in another order.

    stated: "base", "scaling" (a record) and "head_dim", where the graph does not show them. What is stated must agree
    with the caches; with nothing stated the base is recovered, and a table that is no plain rotation is an error that
    says so. Caches must be initializers with a row for each position. Nodes are layers, in order. Raises ValueError or
    TypeError.
    """
    graph = _load(model).graph
    nodes = [node for node in graph.node if node.op_type == "RotaryEmbedding"]
    if not nodes:
        raise ValueError("model must have a RotaryEmbedding node; it has none. Export it with opset 23.")
    groups: dict[Rotates, tuple[list[int], tuple[Value, ...]]] = {}
    for layer, node in enumerate(nodes):
        record, values = _record(graph, node, dict(stated or {}))
        groups.setdefault(record, ([], values))[0].append(layer)
    return ModelPositions(
        "onnx",
        tuple(
            LayerGroup("text", "RotaryEmbedding", tuple(layers), (record,), values=values)
            for record, (layers, values) in groups.items()
        ),
        ("every RotaryEmbedding node counts as a layer: those of queries and of keys alike",),
    )


def _load(model: ModelProto | str | Path) -> ModelProto:
    import onnx

    damaged = importlib.import_module("google.protobuf.message").DecodeError  # the package has no types
    if isinstance(model, onnx.ModelProto):
        return model
    _check.instance("model", model, str | Path, "an ONNX model or the path of one")  # type: ignore[arg-type]
    path = Path(model)
    if plain_size(path) > LARGEST_FILE:
        raise ValueError(
            f"model must be a graph of at most {LARGEST_FILE} bytes; {path.name} is larger. "
            "Keep its weights in a file beside it."
        )
    try:
        return onnx.load(path, load_external_data=False)
    except damaged:
        raise ValueError(
            f"model must be an ONNX file; {path.name} is damaged, or another format. Name another one."
        ) from None


def _record(graph: GraphProto, node: NodeProto, stated: dict[str, Any]) -> tuple[Rotates, tuple[Value, ...]]:
    """One node's rotation, compared with its caches."""
    from onnx import helper

    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    pairing: PairLayout = "adjacent" if attributes.get("interleaved", 0) else "halves"
    # The operator of ONNX Runtime takes the positions before the caches.
    first = 2 if node.domain == MICROSOFT else 1
    cosine, sine = (_cache(graph, name) for name in node.input[first : first + 2])
    if attributes.get("scale", 1.0) != 1.0:
        raise ValueError(
            f"scale must be 1 in com.microsoft's RotaryEmbedding; got {attributes['scale']}, which no record holds. "
            "Fold it into the caches."
        )
    width = 2 * cosine.shape[1]
    rotary_dim = attributes.get("rotary_embedding_dim", 0)
    dim = _head_dim(graph, node, attributes, stated) if rotary_dim else width
    if rotary_dim not in (0, width):
        raise ValueError(
            f"rotary_embedding_dim must be twice the width of the caches, {width}; got {rotary_dim}. The model is "
            "damaged."
        )
    base = _check.real("base", stated["base"], 0.0, 1e30, above=True) if "base" in stated else _base(cosine, sine)
    scaling = stated.get("scaling")
    if scaling is not None:
        _check.instance("stated['scaling']", scaling, Scaling, "a scaling")
    rope = RoPE(dim=width, base=base, pairing=pairing, scaling=scaling)
    _require_same_caches(rope, cosine, sine)

    def of_attribute(name: str, value: int, is_stated: bool) -> Value:
        return Value(name, value, "file" if is_stated else "class default", name)

    is_stated = "base" in stated
    values = (
        Value("base", base, "caller" if is_stated else "file", "stated" if is_stated else "cos_cache, sin_cache"),
        of_attribute("interleaved", int(pairing == "adjacent"), "interleaved" in attributes),
        of_attribute("rotary_embedding_dim", rotary_dim, bool(rotary_dim)),
    )
    return (rope if dim == width else Partial(rope, dim)), values


def _cache(graph: GraphProto, name: str) -> np.ndarray:
    """A table (positions, pairs) that is a constant of the graph."""
    from onnx import numpy_helper

    cache = next((tensor for tensor in graph.initializer if tensor.name == name), None)
    if cache is None or cache.external_data:
        raise ValueError(
            f"{name!r:.80} must be an initializer inside the graph, for its frequencies to be read; it is not. "
            "Fold constants first."
        )
    table = np.asarray(numpy_helper.to_array(cache), np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or not table.shape[1] or not np.isfinite(table).all():
        raise ValueError(
            f"{name!r:.80} must be finite, with a row for each position; got shape {table.shape}. This is not a cache "
            "of cos or sin."
        )
    return table


def _head_dim(graph: GraphProto, node: NodeProto, attributes: dict[str, Any], stated: dict[str, Any]) -> int:
    """The width of a head, from the shape of x."""
    if "head_dim" in stated:
        return _check.integer("head_dim", stated["head_dim"], 2)
    x = next((value for value in (*graph.input, *graph.value_info) if value.name == node.input[0]), None)
    shape = [] if x is None else [axis.dim_value for axis in x.type.tensor_type.shape.dim]
    if len(shape) == 4 and shape[3]:
        return int(shape[3])
    if len(shape) == 3 and shape[2] and attributes.get("num_heads"):
        return int(shape[2] // attributes["num_heads"])
    raise ValueError(
        "head_dim must be known where a part of a head rotates; the graph does not show it. "
        "Give stated={'head_dim': …}."
    )


def _base(cosine: np.ndarray, sine: np.ndarray) -> float:
    """The base of a plain rotation, from the angle between the first two rows in the last pair."""
    pairs = cosine.shape[1]
    if pairs == 1:
        return 10_000.0  # one pair rotates by 1 whatever the base is
    # The farthest row within half a turn of the slowest pair gives most digits.
    angles = np.arctan2(sine[:, -1], cosine[:, -1])
    row, step = max(1, int(np.argmax(angles))), angles[1]
    if not 0 < step <= 1:
        raise ValueError(
            "caches must be of a plain rotation for its base to be recovered; these are not. State base and scaling."
        )
    row = min(row, int(np.pi / step / 2) or 1, len(angles) - 1)
    base = float((angles[row] / row) ** (-pairs / (pairs - 1)))
    rounded = (float(f"{base:.{digits}g}") for digits in (1, 2, 3, 4, 5))
    return next((short for short in rounded if abs(short / base - 1) < TOLERANCE), base)


def _require_same_caches(record: RoPE, cosine: np.ndarray, sine: np.ndarray) -> None:
    last = len(cosine) - 1
    rows = np.unique(np.linspace(0, last, min(ROWS, last + 1)).astype(int))
    turn = record.turn(rows)
    difference = max(np.abs(turn.cos - cosine[rows]).max(), np.abs(turn.sin - sine[rows]).max())
    if difference > TOLERANCE * max(1.0, last / 4096):
        raise ValueError(
            f"caches must be those of {record!r:.120}; they differ by {difference:.2g}. "
            "State base and scaling: stated={'base': …, 'scaling': …}."
        )
