"""Misreadings that are planted in live models: what an engine does wrong, and the names under which it is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest
import torch
from transformers.models.bloom import modeling_bloom

Tables = tuple[torch.Tensor, ...]


def rotaries(model: Any) -> list[torch.nn.Module]:
    """The modules that make cosines and sines."""
    return [module for name, module in model.named_modules() if name.endswith("rotary_emb")]


def layers(model: Any) -> torch.nn.ModuleList:
    """The layers of the decoder."""
    return next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList))


@contextmanager
def tables(model: Any, change: Callable[[torch.Tensor, torch.Tensor], Tables]) -> Iterator[None]:
    """Cosines and sines are changed after they were made."""

    def changed(module: Any, inputs: Any, made: Any) -> Any:
        if isinstance(made, torch.Tensor):
            return torch.complex(*change(made.real, made.imag))
        return change(*made)

    with ExitStack() as stack:
        for module in rotaries(model):
            stack.callback(module.register_forward_hook(changed).remove)
        yield


@contextmanager
def positions(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Positions are changed before cosines and sines are made of them."""

    def changed(module: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if "position_ids" in named:
            return inputs, {**named, "position_ids": change(named["position_ids"])}
        return (inputs[0], change(inputs[1]), *inputs[2:]), named

    with ExitStack() as stack:
        for module in rotaries(model):
            stack.callback(module.register_forward_pre_hook(changed, with_kwargs=True).remove)
        yield


@contextmanager
def frequencies(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Frequencies are changed; they are buffers of a module, one for each kind of layers."""
    found = [
        (module, name, buffer)
        for module in rotaries(model)
        for name, buffer in module.named_buffers()
        if name.endswith("inv_freq") and "original" not in name
    ]
    assert found, "a model must hold its frequencies"
    for module, name, buffer in found:
        setattr(module, name, change(buffer))
    yield
    for module, name, buffer in found:
        setattr(module, name, buffer)


@contextmanager
def attributes(model: Any, name: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """An attribute of every attention is changed."""
    found = [(module, getattr(module, name)) for module in model.modules() if getattr(module, name, None) is not None]
    assert found, f"a model must hold {name}"
    for module, value in found:
        setattr(module, name, change(value))
    yield
    for module, value in found:
        setattr(module, name, value)


@contextmanager
def first_layer_unrotated(model: Any) -> Iterator[None]:
    """The first layer takes cosines of 1 and sines of 0."""

    def changed(module: Any, inputs: Any, named: dict[str, Any]) -> Any:
        made = named["position_embeddings"]
        plain = torch.ones_like(made) if isinstance(made, torch.Tensor) else (made[0] * 0 + 1, made[1] * 0)
        return inputs, {**named, "position_embeddings": plain}

    handle = layers(model)[0].register_forward_pre_hook(changed, with_kwargs=True)
    yield
    handle.remove()


def other_layout(cos: torch.Tensor, sin: torch.Tensor) -> Tables:
    """Frequencies side by side where pairs are half a width apart, or the reverse."""
    half = cos.shape[-1] // 2
    if torch.equal(cos[..., :half], cos[..., half:]):
        return tuple(table[..., :half].repeat_interleave(2, -1) for table in (cos, sin))
    return tuple(torch.cat([table[..., ::2]] * 2, -1) for table in (cos, sin))


def half_of(buffer: torch.Tensor) -> torch.Tensor:
    """The upper half of the frequencies is zero."""
    return torch.where(torch.arange(len(buffer)) < len(buffer) // 2, buffer, torch.zeros_like(buffer))


@contextmanager
def window(model: Any, change: Callable[[int], int]) -> Iterator[None]:
    """The window of the mask is changed."""
    size = model.config.sliding_window
    model.config.sliding_window = change(size)
    yield
    model.config.sliding_window = size


@contextmanager
def slopes(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """What ALiBi adds to the logits is changed, (heads, ...): BLOOM's slopes, or the biases of MPT."""
    bloom = model.config.model_type == "bloom"
    place, name = (modeling_bloom, "_get_alibi_slopes") if bloom else (model.transformer, "build_mpt_alibi_tensor")
    with pytest.MonkeyPatch.context() as patch:
        plain = getattr(place, name)
        patch.setattr(place, name, lambda *words, **named: change(plain(*words, **named)))
        yield


@contextmanager
def rows(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Rows of the learned table are read elsewhere: `change` maps numbers of rows."""
    names = ("wpe", "embed_positions")
    (table,) = (module for name, module in model.named_modules() if name.rpartition(".")[2] in names)
    weight = table.weight.data
    read = change(torch.arange(len(weight))).clamp(0, len(weight) - 1)
    table.weight.data = weight[read]
    yield
    table.weight.data = weight


@contextmanager
def no_table(model: Any) -> Iterator[None]:
    """The learned table is not added."""
    names = ("wpe", "embed_positions")
    (table,) = (module for name, module in model.named_modules() if name.rpartition(".")[2] in names)
    handle = table.register_forward_hook(lambda module, inputs, made: made * 0)
    yield
    handle.remove()


class Misreading(NamedTuple):
    """A mistake of an engine.

    Args:
        plant: Changes a live model, for as long as the context lasts.
        names: Names of findings, one of which must come.
    """

    plant: Callable[[Any], Any]
    names: tuple[str, ...]


#: Model types whose code has no table of every channel, in which pairs could be mixed.
HALF_TABLES = ("glm", "glm4", "gpt_oss", "gpt_oss_yarn", "deepseek_v2", "deepseek_v3")


def in_frequencies(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> Misreading:
    return Misreading(lambda model: frequencies(model, change), names)


def in_tables(change: Callable[[torch.Tensor, torch.Tensor], Tables], *names: str) -> Misreading:
    return Misreading(lambda model: tables(model, change), names)


def in_positions(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> Misreading:
    return Misreading(lambda model: positions(model, change), names)


def in_window(change: Callable[[int], int]) -> Misreading:
    return Misreading(lambda model: window(model, change), ("window",))


def in_slopes(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> Misreading:
    return Misreading(lambda model: slopes(model, change), names)


def in_rows(change: Callable[[torch.Tensor], torch.Tensor], *names: str) -> Misreading:
    return Misreading(lambda model: rows(model, change), names)


ROTATION: dict[str, Misreading] = {
    "base": in_frequencies(lambda one: one ** (math.log(1e4) / math.log(5e5)), "base"),
    "positions scaled": in_frequencies(lambda one: one / 4, "scaling added"),
    "half the width": in_frequencies(half_of, "pairs stand still"),
    "frequencies in bfloat16": in_frequencies(lambda one: one.bfloat16().float(), "frequencies in bfloat16"),
    "no rotation": in_frequencies(torch.zeros_like, "not rotated"),
    "one layer not rotated": Misreading(first_layer_unrotated, ("not rotated",)),
    "direction": in_tables(lambda cos, sin: (cos, -sin), "sign"),
    "pairs mixed": in_tables(other_layout, "pairs mixed"),
    "angles in 16 bits": in_tables(lambda cos, sin: (cos.half().float(), sin.half().float()), "computed in 16 bits"),
    # Where all channels rotate, a table's factor and a softmax scale are one number.
    "amplitude": in_tables(lambda cos, sin: (1.1 * cos, 1.1 * sin), "logit factor", "amplitude"),
    "softmax scale": Misreading(
        lambda model: attributes(model, "scaling", lambda one: one * 2**0.5), ("logit factor", "scale of the logits")
    ),
    "table ends": in_positions(lambda ids: ids.clamp(max=15), "table ends"),
    "table repeats": in_positions(lambda ids: ids % 16, "table repeats"),
    "window off by one": in_window(lambda size: size + 1),
    "window ignored": in_window(lambda size: 4096),
}
BIAS: dict[str, Misreading] = {
    "doubled": in_slopes(lambda bias: 2 * bias, "first slope", "bias factor"),
    "sign": in_slopes(lambda bias: -bias, "sign of the bias"),
    "left out": in_slopes(lambda bias: 0 * bias, "bias left out"),
    "heads reversed": in_slopes(lambda bias: bias.flip(0), "order of heads"),
    "one slope": in_slopes(lambda bias: bias[:1].expand(bias.shape), "slopes of heads"),
    "divided by the root": in_slopes(lambda bias: bias / 4, "bias factor"),
    "shared by two heads": in_slopes(lambda bias: bias[: len(bias) // 2].repeat_interleave(2, 0), "slopes of heads"),
    "of a shard": in_slopes(lambda bias: torch.cat([bias[: len(bias) // 2]] * 2), "order of heads"),
}
ROW: dict[str, Misreading] = {
    "one too high": in_rows(lambda row: row + 1, "off by one"),
    "two too high": in_rows(lambda row: row + 2, "offset"),
    "table ends": in_rows(lambda row: row.clamp(max=20), "table ends"),
    "table repeats": in_rows(lambda row: row % 32, "table repeats"),
    "all one": in_rows(lambda row: 0 * row + 5, "positions"),
    "halved": in_rows(lambda row: row // 2, "positions"),
    "doubled": in_rows(lambda row: 2 * row, "positions"),
    "backwards": in_rows(lambda row: row.flip(0), "positions"),
    "left out": Misreading(no_table, ("table left out",)),
}


def misreadings_of(model_type: str, *, windowed: bool) -> dict[str, Misreading]:
    """The misreadings that apply to a model type."""
    if model_type in ("bloom", "mpt"):
        return BIAS
    if model_type in ("gpt2", "opt"):
        return ROW
    left_out = () if windowed else ("window off by one", "window ignored")
    left_out += ("pairs mixed",) if model_type in HALF_TABLES else ()
    return {name: one for name, one in ROTATION.items() if name not in left_out}
