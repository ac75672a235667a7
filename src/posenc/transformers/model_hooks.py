"""Hooks into a loaded model: its functions that rotate, its attention functions, its tables of positions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from posenc.transformers.attention_probe import Attend
from posenc.transformers.model_changes import replace_attribute

#: Parts of the names of functions that rotate, in the code of models.
ROTATES = ("rotary", "rope")
#: Words in the names of modules that hold a table of positions.
HOLDS_POSITIONS = ("position", "wpe")


def observe_rotations(
    stack: ExitStack, model: torch.nn.Module, note: Callable[[list[torch.Tensor], list[Any]], None]
) -> None:
    """Call `note` after each function that rotates in the code of a model, until the stack is closed.

    Args:
        stack: Takes the changes back.
        model: The model.
        note: Takes copies of the tensors among the first two arguments, and the results. Calls inside others are not
            noted.
    """
    inside = [False]

    def noted(rotate: Callable[..., Any]) -> Callable[..., Any]:
        def recording(*arguments: Any, **named: Any) -> Any:
            if inside[0]:
                return rotate(*arguments, **named)
            tensors = [*arguments, *named.values()]
            before = [tensor.detach().clone() for tensor in tensors[:2] if isinstance(tensor, torch.Tensor)]
            inside[0] = True
            try:
                after = rotate(*arguments, **named)
            finally:
                inside[0] = False
            note(before, list(after) if isinstance(after, tuple) else [after])
            return after

        return recording

    for code in {sys.modules[type(module).__module__] for module in model.modules()}:
        if code.__name__.startswith("torch."):
            continue
        for name, function in list(vars(code).items()):
            if name.startswith("apply_") and any(word in name for word in ROTATES) and callable(function):
                replace_attribute(stack, code, name, noted(function))


def observe_attention(stack: ExitStack, observe: Callable[[Attend, Any, tuple[Any, ...], Any, Any], None]) -> None:
    """Call `observe` before each attention function of transformers, until the stack is closed.

    Args:
        stack: Takes the change back.
        observe: Takes the function, its module, (q, k, v), further arguments and named ones. Calls that it makes are
            not observed.
    """
    inside, choose = [False], ALL_ATTENTION_FUNCTIONS.get_interface

    def observed(attend: Attend) -> Attend:
        def observing(module: Any, q: Any, k: Any, v: Any, *rest: Any, **named: Any) -> Any:
            if not inside[0]:
                inside[0] = True
                try:
                    observe(attend, module, (q, k, v), rest, named)
                finally:
                    inside[0] = False
            return attend(module, q, k, v, *rest, **named)

        return observing

    def choose_observed(implementation: str, default: Attend) -> Attend:
        return observed(choose(implementation, default))

    replace_attribute(stack, ALL_ATTENTION_FUNCTIONS, "get_interface", choose_observed)


def position_tables(model: torch.nn.Module) -> dict[int, str]:
    """Names of the modules that hold a table of positions, by the address of its weights."""
    weights = {name: getattr(module, "weight", None) for name, module in model.named_modules()}
    return {
        weight.data_ptr(): name
        for name, weight in weights.items()
        if isinstance(weight, torch.Tensor) and weight.dim() == 2 and any(word in name for word in HOLDS_POSITIONS)
    }
