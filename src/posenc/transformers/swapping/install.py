"""Put positions into a model's modules, and take them out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch

from posenc.torch.modules.modules import Add
from posenc.transformers.refusals import check_attention_implementation
from posenc.transformers.swapping.attention_interface import NAME, OURS, register_functions
from posenc.transformers.swapping.layer_positions import LayerPositions, checked_position_ids
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions


class InputPositions(torch.nn.ModuleList):  # type: ignore[misc]
    """Encodings that are added to the input of the first layer, where the model has no table of positions."""

    def __init__(self, added: Sequence[Add]) -> None:
        super().__init__(added)

    def before(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Add every encoding to the input of the first layer, before it."""
        hidden = given[0] if given else named["hidden_states"]
        positions = checked_position_ids(named.get("position_ids"), hidden)
        for add in self:
            hidden = add(hidden, positions)
        return ((hidden, *given[1:]), named) if given else ((), named | {"hidden_states": hidden})


class TablePositions(torch.nn.ModuleList):  # type: ignore[misc]
    """Encodings in place of a learned table of positions; its row ids, less `offset`, are the positions.

    A model with such a table gives its layers no positions, so `hand_on` does, to every layer of one call.

    Args:
        added: Encodings that are added.
        offset: Row that the first token reads.
        last_layer: Last layer of the model, after which the positions of a call are forgotten.
    """

    def __init__(self, added: Sequence[Add], offset: int, last_layer: Any) -> None:
        super().__init__(added)
        self.offset, self.last_layer = offset, (last_layer,)  # not a child of ours
        self.positions: Any = None

    def before(self, module: Any, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Note the positions before the table is read; any row will do, so that they may lie beyond its last."""
        self.positions = given[0] - self.offset
        return (torch.full_like(given[0], self.offset), *given[1:])

    def instead(self, module: Any, given: tuple[Any, ...], rows: Any) -> Any:
        """Return the sum of the encodings in place of the rows that were read."""
        added = torch.zeros_like(rows)
        for add in self:
            added = add(added, self.positions)
        return added

    def hand_on(self, layer: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Give each layer the positions of its tokens; one that is computed again for gradients keeps them."""
        positions = self.positions
        if layer is self.last_layer[0]:
            self.positions = None
        return given, named | {"position_ids": positions}


@dataclass(frozen=True, eq=False)
class Parts:
    """Modules to put into a model.

    Args:
        layers: Encodings of layers of attention, by the number of the layer.
        added: Encodings that are added at the input.
    """

    layers: Mapping[int, LayerPositions]
    added: Sequence[Add] = ()


def installed(own: OwnPositions, parts: Parts) -> ExitStack:
    """Put the parts into their places; closing the result takes them out."""
    with ExitStack() as stack:
        layers = [layer for layer in own.layers if layer.number in parts.layers]
        if any(parts.layers[layer.number].acts_inside for layer in layers):
            _reach(stack, own.layers)
        for layer in layers:
            part = parts.layers[layer.number]
            _child(stack, layer.module, part)
            _hook(stack, layer.module.register_forward_pre_hook(part.before, with_kwargs=True))
        if own.table is not None:
            table = TablePositions(parts.added, own.table.offset, own.layers[-1].block)
            _child(stack, own.table.module, table)
            _hook(stack, own.table.module.register_forward_pre_hook(table.before))
            _hook(stack, own.table.module.register_forward_hook(table.instead))
            for layer in own.layers:
                _hook(stack, layer.block.register_forward_pre_hook(table.hand_on, with_kwargs=True))
        elif parts.added:
            first = InputPositions(parts.added)
            _child(stack, own.layers[0].block, first)
            _hook(stack, own.layers[0].block.register_forward_pre_hook(first.before, with_kwargs=True))
        return stack.pop_all()


def _child(stack: ExitStack, module: Any, part: Any) -> None:
    """Add a child module until the stack is closed."""
    module.add_module(NAME, part)
    stack.callback(module.__delattr__, NAME)


def _hook(stack: ExitStack, handle: Any) -> None:
    """Remove a hook when the stack is closed."""
    stack.callback(handle.remove)


def _reach(stack: ExitStack, layers: Sequence[AttentionLayer]) -> None:
    """Let transformers call our attention, until no layer needs it any more."""
    config = layers[0].module.config
    check_attention_implementation(config._attn_implementation, OURS)
    register_functions()
    config._attn_implementation = OURS.get(config._attn_implementation, config._attn_implementation)
    stack.callback(_restore, config, layers)


def _restore(config: Any, layers: Sequence[AttentionLayer]) -> None:
    """Give the config its own attention back, unless another swap still needs ours."""
    if not any(getattr(getattr(layer.module, NAME, None), "acts_inside", False) for layer in layers):
        names = {ours: own for own, ours in OURS.items()}
        config._attn_implementation = names.get(config._attn_implementation, config._attn_implementation)
