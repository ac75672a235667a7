"""What transformers calls as attention in a model with swapped positions, through its own interfaces."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

#: The module of an attention layer, or of the input, that holds what was swapped in; and the argument of its calls.
NAME = "posenc"
#: Attention of transformers that a logit can be added to, and our name for each.
OURS = {"sdpa": "posenc_sdpa", "eager": "posenc_eager"}


def register_functions() -> None:
    """Make our functions known to transformers, with the masks of those that they stand for."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    for name, mask in (("sdpa", sdpa_mask), ("eager", eager_mask)):
        AttentionInterface.register(OURS[name], partial(_attend, name))
        AttentionMaskInterface.register(OURS[name], mask)


def own_function(module: Any, name: str) -> Callable[..., Any]:
    """The attention function that this module calls by that name."""
    code = inspect.unwrap(type(module).forward).__globals__
    function: Callable[..., Any] = code["eager_attention_forward"] if name == "eager" else code[INTERFACE][name]
    return function


#: The name under which the code of models finds the functions of attention.
INTERFACE = "ALL_ATTENTION_FUNCTIONS"


def _attend(name: str, module: Any, *given: Any, **named: Any) -> Any:
    """Attention of a layer whose positions were swapped; of any other layer its own."""
    function, layer = own_function(module, name), getattr(module, NAME, None)
    if layer is None or not layer.acts_inside:
        return function(module, *given, **named)
    return layer.attend(function, name, module, *given, **named)
