"""What a loaded model of transformers does with positions by itself, and where in its modules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core.doors import RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.models import LayerGroup, ModelPositions, from_config
from posenc.transformers.swapping.attention_function import INTERFACE

#: The last parts of the names of modules that hold a learned table of positions.
HOLDS_POSITIONS = ("position_embeddings", "embed_positions", "wpe")
#: How far a model is read at most: far enough for a wrong frequency to show.
LONGEST = 2048


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """One layer of attention, by its number, with the module of the whole layer, and what its own code rotates by.

    Args:
        arguments: The names of what the module is called with, in order.
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
    """A learned table of positions at the input: its module, the row that the first token reads, and those from it."""

    name: str
    module: Any
    offset: int

    @property
    def encoding(self) -> Learned:
        rows, dim = self.module.weight.shape
        return Learned(dim=dim, length=rows - self.offset)


@dataclass(frozen=True, eq=False)
class OwnPositions:
    """A model's layers of attention, in order, and its table of positions, if it has one.

    Args:
        width: Channels of its layers.
        length: Tokens that `rotation` is for, where frequencies depend on it.
    """

    layers: tuple[AttentionLayer, ...]
    table: OwnTable | None
    width: int
    length: int


def own_positions(model: Any) -> OwnPositions:
    """Read a model; ValueError where what it does with positions cannot be replaced."""
    length = min(getattr(model.config.get_text_config(), "max_position_embeddings", None) or LONGEST, LONGEST)
    read, groups = _read_config(model, length)
    table = next((_position_table(model, group) for group in groups if not group.layers), None)
    by_layer = {layer: group for group in groups for layer in group.layers}
    layers = []
    for name, module in _attentions(model):
        rotation = _rotation(by_layer.get(module.layer_idx), table, read.model_type)
        arguments = tuple(inspect.signature(module.forward).parameters)
        if rotation is not None and "position_embeddings" not in arguments:
            raise _unsupported(read.model_type, f"{type(module).__name__} makes its rotation itself")
        shape, block = _query_heads(module, rotation), _block(model, name)
        layers.append(AttentionLayer(module.layer_idx, name, module, block, arguments, rotation, *shape))
    numbers = [layer.number for layer in layers]
    if not layers:
        raise _unsupported(read.model_type, "its attention does not go through transformers' AttentionInterface")
    if len(set(numbers)) < len(numbers) or not set(by_layer) <= set(numbers):
        raise _unsupported(read.model_type, f"its attention is reached in layers {sorted(numbers)} alone")
    return OwnPositions(tuple(sorted(layers, key=lambda layer: layer.number)), table, model.config.hidden_size, length)


def _unsupported(model_type: str, why: str) -> ValueError:
    return ValueError(f"model must do with positions what can be replaced; got {model_type!r}: {why}.")


def _read_config(model: Any, length: int) -> tuple[ModelPositions, tuple[LayerGroup, ...]]:
    """What the config says, and the groups of the one stack of layers that reads text."""
    config = model.config
    try:
        read = from_config(config.to_dict(), length=length, numerics="float32")
    except (ValueError, TypeError) as error:
        raise ValueError(f"model must be of a type that is read; got {config.model_type!r}: {error}") from error
    if getattr(config, "is_encoder_decoder", False) or read.parts != ("text",):
        raise _unsupported(read.model_type, f"it has {' and '.join(read.parts) or 'no part that reads text'}")
    return read, read.groups


def _attentions(model: Any) -> Iterator[tuple[str, Any]]:
    """Modules of attention that reach the functions of transformers by their common name."""
    for name, module in model.named_modules():
        code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
        if isinstance(getattr(module, "layer_idx", None), int) and code and INTERFACE in code.co_names:
            yield name, module


def _rotation(group: LayerGroup | None, table: OwnTable | None, model_type: str) -> RotaryEncoding | None:
    """The one encoding that a layer rotates by; None where it knows no position. Anything else cannot be taken out."""
    if group is None:
        if table is None:
            raise _unsupported(model_type, "its config does not say what every layer of attention does")
        return None
    rotation = group.rotary_encoding
    if len(group.encodings) > (rotation is not None) or group.query_temperature is not None:
        others = [*(encoding for encoding in group.encodings if encoding is not rotation), group.query_temperature]
        raise _unsupported(model_type, f"its code applies {next(filter(None, others))!r} itself")
    if rotation is not None and rotation.axes > 1:
        raise _unsupported(model_type, f"its positions have {rotation.axes} coordinates")
    return rotation


def _position_table(model: Any, group: LayerGroup) -> OwnTable:
    """The module that a config's table of positions is read from."""
    model_type = model.config.model_type
    if [type(encoding) for encoding in group.encodings] != [Learned]:
        raise _unsupported(model_type, f"its code adds {group.encodings!r} itself")
    tables = [
        (name, module)
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in HOLDS_POSITIONS and isinstance(module, torch.nn.Embedding)
    ]
    if len(tables) != 1 or type(tables[0][1]) is not torch.nn.Embedding:
        kinds = ", ".join(f"{name} of {type(module).__name__}" for name, module in tables) or "no module"
        raise _unsupported(model_type, f"its table of positions must be one torch.nn.Embedding, and is {kinds}")
    return OwnTable(*tables[0], group.offset)


def _block(model: Any, name: str) -> Any:
    """The whole layer around a module of attention: the member of the list of layers."""
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
