"""Rotations as ONNX RotaryEmbedding nodes (opset 23), and such nodes as encodings."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.compose import Partial
from posenc.core import plain_file, validation
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.rope import RoPE
from posenc.models.config.fields import stated_values
from posenc.models.config.layer_type_rules import MOST_LAYERS
from posenc.models.formats.onnx_caches import rotations_of_caches
from posenc.models.formats.single_rotation import only_rotation, refuse_other_lengths
from posenc.models.model_positions import LayerGroup, ModelPositions, Value
from posenc.models.served_length import served_at

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto


OPSET = 23
#: The domain of ONNX Runtime's own operator of the same name.
MICROSOFT = "com.microsoft"
#: A graph without its weights stays far below this.
LARGEST_FILE = 1 << 28
#: Nodes, attributes, names and unpacked numbers of a graph: far above those of any model, and a second to count.
MOST_PARTS = 1 << 20
#: What the caller may state.
STATED = ("base", "scaling", "head_dim")


def to_onnx(positions: ModelPositions, *, length: int, heads: int) -> ModelProto:
    """Make an ONNX model of one RotaryEmbedding node (opset 23); needs the onnx package.

    Its inputs are x, shape (batch, heads, n, dim), float32, and position_ids, shape (batch, n), int64; its output is y,
    as x. The node rotates the first channels of a head.

    Args:
        positions: With one rotation for all layers.
        length: Rows of its caches, which hold cos and sin of every pair times the attention factor, half as wide as
            those of transformers.
        heads: Of x.

    Returns:
        The model.

    Raises:
        ValueError: The operator cannot say what the encoding says, or a number is out of range.
        TypeError: A number is no whole number.
        ModuleNotFoundError: The onnx package is not installed.

    Example:
        >>> from posenc import RoPE
        >>> from posenc.models import LayerGroup
        >>> positions = ModelPositions("mine", (LayerGroup("text", "full_attention", (0,), (RoPE(dim=8),)),))
        >>> [node.op_type for node in to_onnx(positions, length=16, heads=2).graph.node]
        ['RotaryEmbedding']
    """
    _package()
    from onnx import TensorProto, helper, numpy_helper

    single = only_rotation(positions, "ONNX", of_all_layers=True)
    length, heads = validation.integer("length", length, 1, 1 << 24), validation.integer("heads", heads, 1, 1 << 16)
    validation.size("length", length * single.width)
    refuse_other_lengths(single, length, "ONNX")
    if single.start:
        raise ValueError(
            f"start must be 0 for ONNX, whose operator rotates the first channels; got {single.start}. "
            "Move the channels first."
        )
    encoding = served_at(single.group.encodings[0], length)
    rotation = encoding.rotation(np.arange(length), dtype=np.float32)  # type: ignore[attr-defined]
    node = helper.make_node(
        "RotaryEmbedding",
        ["x", "cos_cache", "sin_cache", "position_ids"],
        ["y"],
        interleaved=int(single.pairing == "adjacent"),
        rotary_embedding_dim=0 if single.width == single.dim else single.width,
        num_heads=heads,
    )
    shape: list[str | int | None] = ["batch", heads, "n", single.dim]
    graph = helper.make_graph(
        [node],
        "rotation",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "n"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [
            numpy_helper.from_array(part, name)
            for part, name in ((rotation.cos, "cos_cache"), (rotation.sin, "sin_cache"))
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)


def from_onnx(model: ModelProto | str | Path, *, stated: Mapping[str, Any] | None = None) -> ModelPositions:
    """Read the RotaryEmbedding nodes of an ONNX model: pairing and width from attributes, frequencies from caches.

    Nodes may be of opset 23 or of ONNX Runtime (com.microsoft), whose inputs are in another order. Caches must be
    initializers with a row for each position. Nodes are layers, in order. Needs the onnx package.

    Args:
        model: The model, or the path of its file.
        stated: "base", "scaling" (a scaling of posenc) and "head_dim", where the graph does not show them. They must
            agree with the caches; without them the base is recovered from the caches.

    Returns:
        The groups of nodes that rotate alike.

    Raises:
        ValueError: The file is damaged or has no such node, the caches are not those of the rotation, or `stated` has
            another key.
        TypeError: `model` is neither, or a stated value has another type.
        ModuleNotFoundError: The onnx package is not installed.
    """
    given = stated_values(stated)
    for key in given:
        validation.choice("stated", key, STATED)
    graph = _load(model).graph
    nodes = [node for node in graph.node if node.op_type == "RotaryEmbedding"]
    if not 0 < len(nodes) <= MOST_LAYERS:
        raise ValueError(
            f"model must have from 1 to {MOST_LAYERS} RotaryEmbedding nodes; it has {len(nodes) or 'none'}. Export it "
            "with opset 23."
        )
    of_caches = rotations_of_caches(graph, given)
    groups: dict[RotaryEncoding, tuple[list[int], tuple[Value, ...]]] = {}
    for layer, node in enumerate(nodes):
        encoding, values = _encoding(graph, node, of_caches, given)
        groups.setdefault(encoding, ([], values))[0].append(layer)
    return ModelPositions(
        "onnx",
        tuple(
            LayerGroup("text", "RotaryEmbedding", tuple(layers), (encoding,), values=values)
            for encoding, (layers, values) in groups.items()
        ),
        ("every RotaryEmbedding node counts as a layer: those of queries and of keys alike",),
    )


def _package() -> Any:
    try:
        return importlib.import_module("onnx")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "ONNX models need the onnx package, which is not installed. Run: pip install onnx", name="onnx"
        ) from None


def _load(model: ModelProto | str | Path) -> ModelProto:
    onnx = _package()
    damaged = importlib.import_module("google.protobuf.message").DecodeError  # the package has no types
    if not isinstance(model, str | Path):
        validation.instance("model", model, onnx.ModelProto, "an ONNX model or the path of one")
        return model
    path = Path(model)
    advice = "Give a graph, with its weights in a file next to it."
    data = plain_file.read_bytes(path, LARGEST_FILE, name="model", advice=advice)
    if more_parts_than(MOST_PARTS, data, onnx.ModelProto.DESCRIPTOR):
        raise ValueError(
            f"model must have at most {MOST_PARTS} parts (nodes, names, numbers); {path.name} has more. Export the "
            "rotation alone."
        )
    try:
        loaded: ModelProto = onnx.load_model_from_string(data)
    except damaged:
        raise ValueError(
            f"model must be an ONNX file; {path.name} is damaged, or another format. Name another one."
        ) from None
    return loaded


def _encoding(
    graph: GraphProto, node: NodeProto, of_caches: Callable[[str, str], RoPE], stated: dict[str, Any]
) -> tuple[RotaryEncoding, tuple[Value, ...]]:
    """Make the rotation of a node, compared with its caches."""
    attributes = _attributes(node)
    pairing: PairLayout = "adjacent" if attributes["interleaved"] else "halves"
    # The operator of ONNX Runtime takes the positions before the caches.
    first = 2 if node.domain == MICROSOFT else 1
    if len(node.input) < first + 2:
        raise ValueError(
            f"RotaryEmbedding must have the inputs cos_cache and sin_cache; got {len(node.input)} inputs. The model is "
            "damaged."
        )
    rope = replace(of_caches(*node.input[first : first + 2]), pairing=pairing)
    if attributes.get("scale", 1.0) != 1.0:
        raise ValueError(
            f"scale must be 1 in com.microsoft's RotaryEmbedding; got {attributes['scale']}, which no encoding holds. "
            "Fold it into the caches."
        )
    rotary_dim = attributes["rotary_embedding_dim"]
    dim = _head_dim(graph, node, attributes, stated) if rotary_dim or "head_dim" in stated else rope.dim
    if not rotary_dim and dim != rope.dim:
        raise ValueError(
            f"head_dim must be twice the width of the caches, {rope.dim}, where whole heads rotate; got {dim}. Leave "
            "it out."
        )
    if rotary_dim not in (0, rope.dim):
        raise ValueError(
            f"rotary_embedding_dim must be twice the width of the caches, {rope.dim}; got {rotary_dim}. The model is "
            "damaged."
        )

    def of_attribute(name: str, value: int) -> Value:
        return Value(name, value, "file" if name in {one.name for one in node.attribute} else "class default", name)

    is_stated = "base" in stated
    values = (
        Value("base", rope.base, "caller" if is_stated else "file", "stated" if is_stated else "cos_cache, sin_cache"),
        of_attribute("interleaved", int(pairing == "adjacent")),
        of_attribute("rotary_embedding_dim", rotary_dim),
    )
    return (rope if dim == rope.dim else Partial(rope, dim)), values


def _attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes that say how a node rotates, with their defaults."""
    attributes = {"interleaved": 0, "rotary_embedding_dim": 0, "num_heads": 0, "scale": 1.0}
    for attribute in node.attribute:
        if attribute.name in attributes:
            kind = "f" if attribute.name == "scale" else "i"
            if not attribute.HasField(kind):
                raise ValueError(
                    f"{attribute.name} must be one number; the node has another kind. The model is damaged."
                )
            attributes[attribute.name] = getattr(attribute, kind)
    return attributes


def _head_dim(graph: GraphProto, node: NodeProto, attributes: dict[str, Any], stated: dict[str, Any]) -> int:
    """The width of a head, from the shape of x."""
    if "head_dim" in stated:
        return validation.integer("head_dim", stated["head_dim"], 2)
    x = next((value for value in (*graph.input, *graph.value_info) if value.name == node.input[0]), None)
    shape = [] if x is None else [axis.dim_value for axis in x.type.tensor_type.shape.dim]
    if len(shape) == 4 and shape[3]:
        return validation.integer("head_dim", shape[3], 2)
    if len(shape) == 3 and shape[2] and attributes["num_heads"]:
        return validation.integer("head_dim", shape[2] // attributes["num_heads"], 2)
    raise ValueError(
        "head_dim must be known where a part of a head rotates; the graph does not show it. "
        "Give stated={'head_dim': …}."
    )


_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
#: Packed integers of one byte each become eight bytes: so many of them count as one part.
PACKED = 32


def more_parts_than(most: int, data: bytes, message: Any) -> bool:
    """Say whether a protobuf message has more than `most` fields, nested messages included.

    An empty message takes two bytes in a file and a hundred in memory. Nothing is decoded, and counting stops at
    `most`. Damaged data is counted as far as it goes; the parser says that it is damaged.
    """
    inside, parts = [(0, len(data), message)], 0
    while inside:
        at, end, descriptor = inside.pop()
        fields = descriptor.fields_by_number
        while at < end:
            parts += 1
            if parts > most:
                return True
            key, at = _varint(data, at)
            wire_type, field = key & 7, fields.get(key >> 3)
            if wire_type == _LENGTH:
                length, at = _varint(data, at)
                if field is not None and field.message_type is not None:
                    inside.append((at, min(at + length, end), field.message_type))
                elif field is not None and field.cpp_type < field.CPPTYPE_DOUBLE:
                    parts += min(length, end - at) // PACKED
                at += length
            elif wire_type == _VARINT:
                _, at = _varint(data, at)
            else:
                at += {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(wire_type, 0)
    return parts > most


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a protobuf varint at `at`; return its value and the index behind it. Truncated data counts as zeros."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, at
