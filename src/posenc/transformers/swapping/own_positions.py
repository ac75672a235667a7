"""Positions of a loaded model of transformers: what its own code does with them, and where in its modules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core.doors import RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.models import LayerGroup, ModelPositions, from_config
from posenc.transformers.refusals import unsupported
from posenc.transformers.swapping.attention_interface import INTERFACE

#: The last parts of the names of modules that hold a learned table of positions.
HOLDS_POSITIONS = ("position_embeddings", "embed_positions", "wpe")
#: How far a model is read at most: far enough for a wrong frequency to show.
LONGEST = 2048


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """Layer of attention.

    Args:
        number: Its number in the model.
        name: Name of its module.
        module: Module of its attention.
        block: Module of the whole layer.
        arguments: Names of the arguments of the module, in order.
        rotation: Encoding that its own code rotates by, if there is one.
        heads: Heads of queries.
        head_dim: Channels of a head.
    """

    number: int
    name: str
    module: Any
    block: Any
    arguments: tuple[str, ...]
    rotation: RotaryEncoding | None
    heads: int
    head_dim: int


@dataclass(frozen=True, eq=False)
class OwnTable:
    """Learned table of positions at the input.

    Args:
        name: Name of its module.
        module: Module that holds the table.
        offset: Row that the first token reads.
    """

    name: str
    module: Any
    offset: int

    @property
    def encoding(self) -> Learned:
        """Learned encoding of the same shape as the rows that are read, from `offset` on."""
        rows, dim = self.module.weight.shape
        return Learned(dim=dim, length=rows - self.offset)


@dataclass(frozen=True, eq=False)
class OwnPositions:
    """Layers and table of a model that hold its own positions, before any swap.

    Args:
        layers: Its layers of attention, in order.
        table: Its table of positions, if it has one.
        width: Channels of its layers.
        length: Tokens that the rotations are for, where frequencies depend on it.
    """

    layers: tuple[AttentionLayer, ...]
    table: OwnTable | None
    width: int
    length: int


def own_positions(model: Any) -> OwnPositions:
    """Find the layers and table that hold a model's positions; ValueError where these cannot be replaced."""
    length = min(getattr(model.config.get_text_config(), "max_position_embeddings", None) or LONGEST, LONGEST)
    read, groups = _read_config(model, length)
    table = _table_of(model, groups)
    by_layer = {layer: group for group in groups for layer in group.layers}
    layers = []
    for name, module in _attentions(model):
        rotation = _rotation(by_layer.get(module.layer_idx), table, read.model_type)
        arguments = tuple(inspect.signature(module.forward).parameters)
        if rotation is not None and "position_embeddings" not in arguments:
            raise unsupported(read.model_type, f"{type(module).__name__} makes its rotation itself")
        shape, block = _query_heads(module, rotation), _block(model, name)
        layers.append(AttentionLayer(module.layer_idx, name, module, block, arguments, rotation, *shape))
    numbers = [layer.number for layer in layers]
    if not layers:
        raise unsupported(read.model_type, "its attention does not go through transformers' AttentionInterface")
    if len(set(numbers)) < len(numbers) or not set(by_layer) <= set(numbers):
        raise unsupported(read.model_type, f"its attention is reached in layers {sorted(numbers)} alone")
    return OwnPositions(tuple(sorted(layers, key=lambda layer: layer.number)), table, model.config.hidden_size, length)


def own_table(model: Any) -> OwnTable | None:
    """Read the learned table of positions of a model, whatever its attention is; None where it has none."""
    return _table_of(model, _read_config(model, LONGEST)[1])


def _table_of(model: Any, groups: tuple[LayerGroup, ...]) -> OwnTable | None:
    return next((_position_table(model, group) for group in groups if not group.layers), None)


def _read_config(model: Any, length: int) -> tuple[ModelPositions, tuple[LayerGroup, ...]]:
    """Read the config, and the groups of the one stack of layers that reads text."""
    config = model.config
    try:
        read = from_config(config.to_dict(), length=length, numerics="float32")
    except (ValueError, TypeError) as error:
        raise ValueError(f"model must be of a type that is read; got {config.model_type!r}: {error}") from error
    if getattr(config, "is_encoder_decoder", False) or read.parts != ("text",):
        raise unsupported(read.model_type, f"it has {' and '.join(read.parts) or 'no part that reads text'}")
    return read, read.groups


def _attentions(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, module) of each attention module whose forward uses `ALL_ATTENTION_FUNCTIONS`."""
    for name, module in model.named_modules():
        code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        if isinstance(getattr(module, "layer_idx", None), int) and code and INTERFACE in code.co_names:
            yield name, module


def _rotation(group: LayerGroup | None, table: OwnTable | None, model_type: str) -> RotaryEncoding | None:
    """Rotary encoding of a layer; None where it uses no position, ValueError for what cannot be taken out."""
    if group is None:
        if table is None:
            raise unsupported(model_type, "its config does not say what every layer of attention does")
        return None
    rotation = group.rotary_encoding
    if len(group.encodings) > (rotation is not None) or group.query_temperature is not None:
        others = [*(encoding for encoding in group.encodings if encoding is not rotation), group.query_temperature]
        raise unsupported(model_type, f"its code applies {next(filter(None, others))!r} itself")
    if rotation is not None and rotation.axes > 1:
        raise unsupported(model_type, f"its positions have {rotation.axes} coordinates")
    return rotation


def _position_table(model: Any, group: LayerGroup) -> OwnTable:
    """Module that holds the table of positions of a config."""
    model_type = model.config.model_type
    if [type(encoding) for encoding in group.encodings] != [Learned]:
        raise unsupported(model_type, f"its code adds {group.encodings!r} itself")
    tables = [
        (name, module)
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in HOLDS_POSITIONS and isinstance(module, torch.nn.Embedding)
    ]
    if len(tables) != 1 or type(tables[0][1]) is not torch.nn.Embedding:
        kinds = ", ".join(f"{name} of {type(module).__name__}" for name, module in tables) or "no module"
        raise unsupported(model_type, f"its table of positions must be one torch.nn.Embedding, and is {kinds}")
    return OwnTable(*tables[0], group.offset)


def _block(model: Any, name: str) -> Any:
    """Whole layer around a module of attention: the member of the list of layers."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if isinstance(model.get_submodule(".".join(parts[: end - 1])), torch.nn.ModuleList):
            return model.get_submodule(".".join(parts[:end]))
    return model.get_submodule(name)


def _query_heads(module: Any, rotation: RotaryEncoding | None) -> tuple[int, int]:
    """Heads of queries and their width."""
    config = module.config
    own = getattr(config, "per_layer_config", None)
    config = config if own is None else own[module.layer_idx]
    heads = int(config.num_attention_heads)
    if rotation is not None:
        return heads, rotation.head_dim
    return heads, int(getattr(config, "head_dim", None) or config.hidden_size // heads)
