"""Faster positions inside loaded models of transformers, by `rotate` and `attention`, proved equal on the spot."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import torch

from posenc.core import arrays
from posenc.core.rotation import Pairing, Rotation
from posenc.models import from_config
from posenc.models.model_positions import LayerGroup
from posenc.torch.rotary_paths.apply_rotation import rotate, rotate_one
from posenc.transformers.accelerated_attention import calling, calls_inside, check_equal
from posenc.transformers.model_changes import ModelChange, replace_attribute
from posenc.transformers.refusals import check_torch_module, check_unchanged

#: The name under which the attention of transformers' models calls its rotation.
NAME = "apply_rotary_pos_emb"
#: From how many numbers of queries on ours takes no more time in an eager model on a CPU than its own rotation, whose
#: few operations start sooner than ours: measured on whole models with one thread.
FEWEST_NUMBERS = 1 << 16
Applied = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Accelerated(ModelChange):
    """Change by `accelerate`; `undo()`, or the end of a `with` block, takes it back.

    Attributes:
        changed: Modules with a forward of ours, each with its name in the model.
    """

    changed: tuple[tuple[str, Any], ...]


def accelerate(model: torch.nn.Module) -> Accelerated:
    """Make a loaded transformers model rotate by `rotate`, or attend by `attention`, with the same results.

    Rotations: every module whose forward calls its file's `apply_rotary_pos_emb` gets a forward of its own that calls
    ours. Before that the two are compared, to the bit in float32, on queries and keys of grouped heads at random
    angles. In 16 bits the results differ by what the model's own code rounds more often. In eager models on a CPU,
    calls with queries of fewer than 65,536 numbers (32 tokens of 16 heads of 128), so most decoding, stay with the
    model's own rotation, which is the faster one there. Layers that do not rotate, by the model's config, are left as
    they are: every fourth of SmolLM3, all of a Falcon with ALiBi.

    Positions inside attention (T5, mT5, DeBERTa v2 and v3, BLOOM, MPT): every layer attends by `attention`. Before that
    each layer is compared with its own code, on a few tokens with padding and without. Calls that ours cannot take stay
    with the model's own code, with the same result: those that ask for attention weights, T5's decoder with a cache,
    and other caches than `DynamicCache`; so do calls of so few new tokens that its own code is the faster one, in T5,
    BLOOM and MPT below 512. A padding token sees nothing and may get another output.

    Nothing but this model is changed.

    Args:
        model: Loaded model of transformers, or a part of one.

    Returns:
        Names and modules that were changed, with `undo()`.

    Raises:
        TypeError: `model` is no torch module.
        ValueError: `model` has no such rotation or attention, gives other numbers than ours, or was changed before; it
            is left as it was.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, num_key_value_heads=1, **sizes))
        >>> with accelerate(model) as accelerated:
        ...     print([name for name, _ in accelerated.changed])
        ['model.layers.0.self_attn', 'model.layers.1.self_attn']
    """
    check_torch_module(model)
    layers = _layers_that_rotate(model)
    inside = list(calls_inside(model))
    if not layers and not inside:
        raise ValueError(
            f"model must have attention that calls {NAME} in layers that rotate, or that of T5, DeBERTa v2 and v3, "
            f"BLOOM or MPT; got {type(model).__name__}. Use rotate or attention yourself."
        )
    changed = [*layers, *((name, module) for name, module, *_ in inside)]
    unchanged = {repr(name): module for name, module in changed}
    check_unchanged(unchanged, "forward", "be as it was loaded", "a changed forward at")
    if inside:
        check_equal(model, inside)
    originals = {_original(layer): name for name, layer in reversed(layers)}  # the first of each is named
    ours = {original: _of_many(_proved_rotation(original, name), original) for original, name in originals.items()}
    forwards: list[tuple[Any, Any]] = [
        (layer, _rebound(type(layer).forward, ours[_original(layer)])) for _, layer in layers
    ]
    forwards += [(layer, calling(attended, fewest)) for _, layer, attended, fewest in inside]
    with ExitStack() as stack:
        for layer, forward in forwards:
            replace_attribute(stack, layer, "forward", MethodType(forward, layer))
        return Accelerated(tuple(changed))._undone_by(stack)


def _layers_that_rotate(model: torch.nn.Module) -> list[tuple[str, Any]]:
    """Modules that call the rotation of their file, each with its name, without layers that do not rotate."""
    calls = [(name, module) for name, module in model.named_modules() if _calls_rotation(module)]
    configs = {id(config): config for _, module in calls for config in [getattr(module, "config", None)]}
    groups = {key: _groups(config) for key, config in configs.items()}
    return [(name, module) for name, module in calls if _rotates(module, groups[id(getattr(module, "config", None))])]


def _groups(config: Any) -> tuple[LayerGroup, ...]:
    """Groups of layers by a module's own config; none where posenc cannot read it."""
    try:
        return from_config(config.to_dict()).groups
    except (AttributeError, TypeError, ValueError):
        return ()


def _rotates(module: Any, groups: tuple[LayerGroup, ...]) -> bool:
    """Whether a module's layer rotates by its own number, whatever the module is called; True where neither says."""
    number = getattr(module, "layer_idx", None)
    own = [group for group in groups if number in group.layers] or groups
    return not groups or any(group.rotary_encoding is not None for group in own)


def _calls_rotation(module: Any) -> bool:
    """Whether the forward of a module calls the rotation of its file."""
    forward = type(module).forward
    return isinstance(forward, FunctionType) and NAME in forward.__code__.co_names and NAME in forward.__globals__


def _original(module: Any) -> Applied:
    """Rotation that a module's forward calls."""
    applied: Applied = type(module).forward.__globals__[NAME]
    return applied


def _rebound(forward: FunctionType, applied: Applied) -> FunctionType:
    """Copy of a forward in which the name `apply_rotary_pos_emb` refers to `applied`."""
    names = {**forward.__globals__, NAME: applied}
    patched = FunctionType(forward.__code__, names, forward.__name__, forward.__defaults__, forward.__closure__)
    patched.__kwdefaults__ = forward.__kwdefaults__
    return patched


def _proved_rotation(original: Applied, name: str) -> Applied:
    """Our `apply_rotary_pos_emb` that is bit-identical to the original; ValueError where no variant is."""
    forms = [patched(layout) for patched in (_of_both, _of_one) for layout in ("halves", "adjacent")]
    for ours in forms:
        if all(_same_rotation(original, ours, width) for width in (8, 12)):
            return ours
    raise ValueError(
        f"model must rotate pairs of channels as Llama, GPT-NeoX, GPT-J or GLM do; got another rotation at {name!r}. "
        "Use rotate yourself."
    )


def _of_many(ours: Applied, original: Applied) -> Applied:
    """Make a rotation: ours, or the original for fewer than `FEWEST_NUMBERS` of queries in an eager model on a CPU."""

    def applied(first: Any, *given: Any, **named: Any) -> Any:
        few = first.is_cpu and first.numel() < FEWEST_NUMBERS and not torch.compiler.is_compiling()
        return (original if few else ours)(first, *given, **named)

    return applied


def _of_both(pairing: str) -> Applied:
    """Make apply_rotary_pos_emb(q, k, cos, sin), with tables of the full width for (batch, time)."""

    def applied(q: Any, k: Any, cos: Any, sin: Any, unsqueeze_dim: int = 1) -> tuple[Any, Any]:
        if unsqueeze_dim not in (1, 2):
            raise ValueError(f"unsqueeze_dim must be 1 or 2; got {unsqueeze_dim}. It says where the heads are.")
        half = cos.shape[-1] // 2
        rotation = _rotation(cos[..., :half], sin[..., :half], pairing, q.shape[-1])
        return rotate(q, k, rotation, layout="bhtd" if unsqueeze_dim == 1 else "bthd")

    return applied


def _of_one(pairing: str) -> Applied:
    """Make apply_rotary_pos_emb(tensor, sin, cos), with tables of half the width and heads behind time."""

    def applied(tensor: Any, sin: Any, cos: Any) -> Any:
        return rotate_one(tensor, _rotation(cos, sin, pairing, tensor.shape[-1]), layout="bthd")

    return applied


def _rotation(cos: Any, sin: Any, pairing: str, dim: int) -> Rotation:
    lib = arrays.library(cos)  # float64 tables stay, as the vectors of their model are float64
    return Rotation(lib.wide(cos), lib.wide(sin), Pairing(pairing, dim, 2 * cos.shape[-1]))  # type: ignore[arg-type]


def _same_rotation(original: Applied, ours: Applied, width: int) -> bool:
    """Whether both give the same bits for random angles and grouped heads; False where a call fails."""
    generator = torch.Generator().manual_seed(width)
    angle = torch.rand(2, 5, width // 2, generator=generator, dtype=torch.float32) * 6.0
    q, k = (torch.randn(2, count, 5, width + 4, generator=generator) for count in (4, 2))
    table = torch.cat([angle, angle], -1)
    calls: list[tuple[Any, ...]] = [(q[..., :width], k[..., :width], table.cos(), table.sin())]
    if ours.__code__.co_varnames[0] == "tensor":
        calls = [(q[..., :width].transpose(1, 2), angle.sin(), angle.cos())]
    elif _partial(original, calls[0]):
        calls.append((q, k, table.cos(), table.sin()))
    try:
        return all(_same_results(original(*call), ours(*call)) for call in calls)
    except (TypeError, ValueError, RuntimeError, IndexError):
        return False


def _partial(original: Applied, call: tuple[Any, ...]) -> bool:
    """Whether the original accepts heads wider than its tables (partial rotation)."""
    q, k, cos, sin = call
    try:
        original(torch.cat([q, q[..., :4]], -1), torch.cat([k, k[..., :4]], -1), cos, sin)
    except (RuntimeError, TypeError):
        return False
    return True


def _same_results(theirs: Any, ours: Any) -> bool:
    """Whether two results, each a tensor or a tuple of tensors, have the same bits."""
    theirs, ours = (part if isinstance(part, tuple) else (part,) for part in (theirs, ours))
    return len(theirs) == len(ours) and all(torch.equal(a, b) for a, b in zip(theirs, ours, strict=True))
