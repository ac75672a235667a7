"""Put positions into a model's modules, and take them out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from posenc.torch.modules.modules import Add
from posenc.transformers.swapping.attention_function import NAME, OURS, register_functions
from posenc.transformers.swapping.input_positions import InputPositions, TablePositions
from posenc.transformers.swapping.layer_positions import LayerPositions
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions


@dataclass(frozen=True, eq=False)
class Parts:
    """What is put into a model: into layers of attention by their number, and at its input."""

    layers: Mapping[int, LayerPositions]
    added: Sequence[Add] = ()


def installed(own: OwnPositions, parts: Parts) -> ExitStack:
    """The parts in their places; closing the result takes them out."""
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
    module.add_module(NAME, part)
    stack.callback(module.__delattr__, NAME)


def _hook(stack: ExitStack, handle: Any) -> None:
    stack.callback(handle.remove)


def _reach(stack: ExitStack, layers: Sequence[AttentionLayer]) -> None:
    """Let transformers call our attention, until no layer needs it any more."""
    config = layers[0].module.config
    check_reachable(layers)
    register_functions()
    config._attn_implementation = OURS.get(config._attn_implementation, config._attn_implementation)
    stack.callback(_restore, config, layers)


def check_reachable(layers: Sequence[AttentionLayer]) -> None:
    """Refuse a kind of attention that nothing can be added to."""
    name = layers[0].module.config._attn_implementation
    if name not in (*OURS, *OURS.values()):
        raise ValueError(
            f"model must attend by one of {list(OURS)} for what acts inside attention; got {name!r}. Call "
            "model.set_attn_implementation('sdpa') before the swap."
        )


def _restore(config: Any, layers: Sequence[AttentionLayer]) -> None:
    if not any(getattr(getattr(layer.module, NAME, None), "acts_inside", False) for layer in layers):
        names = {ours: own for own, ours in OURS.items()}
        config._attn_implementation = names.get(config._attn_implementation, config._attn_implementation)
