"""Misreadings that are planted in live models: what an engine does wrong, and the names under which it is found."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest
import torch
from transformers.models.bloom import modeling_bloom

from posenc.diagnosis import Finding

Tables = tuple[torch.Tensor, ...]


def rotaries(model: Any) -> list[torch.nn.Module]:
    """The modules that make cosines and sines."""
    return [module for name, module in model.named_modules() if name.endswith("rotary_emb")]


def layers(model: Any) -> torch.nn.ModuleList:
    """The layers of the decoder."""
    return next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList) and len(module))


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
def divided_by_the_root(model: Any) -> Iterator[None]:
    """The bias is divided with the logits by the root of the width of a head."""
    config = model.config
    width = config.hidden_size // config.num_attention_heads
    with slopes(model, lambda bias: bias / width**0.5):
        yield


@contextmanager
def slopes(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """What ALiBi adds to the logits is changed, (heads, ...): BLOOM's slopes, or the biases of MPT."""
    bloom = model.config.model_type == "bloom"
    place, name = (modeling_bloom, "_get_alibi_slopes") if bloom else (model.transformer, "build_mpt_alibi_tensor")
    with pytest.MonkeyPatch.context() as patch:
        plain = getattr(place, name)
        patch.setattr(place, name, lambda *words, **named: change(plain(*words, **named)))
        yield


#: The row of position 0, where it is not row 0.
FIRST_ROW = {"opt": 2}


def learned_table(model: Any) -> Any:
    """The module of the learned table."""
    names = ("wpe", "embed_positions", "position_embeddings")
    (table,) = (module for name, module in model.named_modules() if name.rpartition(".")[2] in names)
    return table


@contextmanager
def rows(model: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Iterator[None]:
    """Rows of the learned table are read elsewhere: `change` maps positions."""
    table = learned_table(model)
    weight, first = table.weight.data, FIRST_ROW.get(model.config.model_type, 0)
    places = torch.arange(len(weight) - first)
    read = change(places).clamp(-first, places[-1])
    table.weight.data = torch.cat([weight[:first], weight[first + read]])
    yield
    table.weight.data = weight


@contextmanager
def no_table(model: Any) -> Iterator[None]:
    """The learned table is not added."""
    handle = learned_table(model).register_forward_hook(lambda module, inputs, made: made * 0)
    yield
    handle.remove()


@contextmanager
def biases(model: Any, change: Callable[[torch.Tensor], torch.Tensor], part: str = "") -> Iterator[None]:
    """Biases (1, heads, queries, keys) of T5 are changed after they were made, in one part of the model or in both."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in model.named_modules():
            if name.startswith(part) and hasattr(module, "compute_bias"):
                made = module.compute_bias
                patch.setattr(module, "compute_bias", lambda *words, made=made, **named: change(made(*words, **named)))
        yield


@contextmanager
def buckets(model: Any, change: Callable[..., torch.Tensor]) -> Iterator[None]:
    """Buckets are made otherwise; `change` takes what T5 makes them with, and then its own arguments."""
    with pytest.MonkeyPatch.context() as patch:
        for module in model.modules():
            if hasattr(module, "_relative_position_bucket"):
                made = module._relative_position_bucket
                patch.setattr(
                    module,
                    "_relative_position_bucket",
                    lambda relative, bidirectional, num_buckets, max_distance, made=made: change(
                        made, relative, bidirectional, num_buckets, max_distance
                    ),
                )
        yield


def without_limit(made: Any, relative: torch.Tensor, both: bool, count: int, largest: int) -> torch.Tensor:
    """Buckets that go on beyond the last one of their direction, as far as the table reaches."""
    half = count // 2 if both else count
    exact = half // 2
    distance = relative.abs() if both else (-relative).clamp(min=0)
    share = torch.log(distance.clamp(min=1) / exact) / math.log(largest / exact)
    far = exact + (share * (half - exact)).long()
    return (torch.where(distance < exact, distance, far) + (half * (relative > 0) if both else 0)).clamp(max=count - 1)


@contextmanager
def bias_of_the_first_layer_alone(model: Any) -> Iterator[None]:
    """Layers after the first take no bias."""

    def changed(module: Any, inputs: Any, named: dict[str, Any]) -> Any:
        found = [index for index, one in enumerate(inputs) if isinstance(one, torch.Tensor) and one.ndim == 4]
        inputs = tuple(one * 0 if index in found[-1:] else one for index, one in enumerate(inputs))
        bias = named.get("position_bias")
        return inputs, {**named, **({} if bias is None else {"position_bias": bias * 0})}

    with ExitStack() as stack:
        for part in (model.encoder, model.decoder):
            for block in part.block[1:]:
                attention = block.layer[0].SelfAttention
                stack.callback(attention.register_forward_pre_hook(changed, with_kwargs=True).remove)
        yield


@contextmanager
def later_keys_seen(model: Any) -> Iterator[None]:
    """The decoder has no causal mask."""

    def changed(module: Any, inputs: Any, named: dict[str, Any]) -> Any:
        mask = named.get("mask", named.get("attention_mask"))
        name = "mask" if "mask" in named else "attention_mask"
        return inputs, named if mask is None else {**named, name: torch.zeros_like(mask)}

    with ExitStack() as stack:
        for block in model.decoder.block:
            attention = block.layer[0].SelfAttention
            stack.callback(attention.register_forward_pre_hook(changed, with_kwargs=True).remove)
        yield


class Misreading(NamedTuple):
    """A mistake of an engine.

    Args:
        plant: Changes a live model, for as long as the context lasts.
        names: The finding's name, which follows from what is planted; several where two mistakes make the same numbers.
        says: What its sentence, or its layers, must say of the mistake.
    """

    plant: Callable[[Any], Any]
    names: tuple[str, ...]
    says: str = ""

    def found_in(self, findings: Iterable[Finding]) -> bool:
        """Whether a finding has the name and says what is planted."""
        return any(
            finding.name in self.names and self.says in f"{finding.sentence} {finding.where}" for finding in findings
        )


#: Model types in which a part of the channels that are asked rotates.
PARTLY_ROTATED = ("phi", "glm", "glm4", "gpt_neox")
#: Model types whose code has no table of every channel, in which pairs could be mixed.
HALF_TABLES = ("glm", "glm4", "gpt_oss", "gpt_oss_yarn", "deepseek_v2", "deepseek_v3")


def in_frequencies(change: Callable[[torch.Tensor], torch.Tensor], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: frequencies(model, change), names, says)


def in_tables(change: Callable[[torch.Tensor, torch.Tensor], Tables], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: tables(model, change), names, says)


def in_positions(change: Callable[[torch.Tensor], torch.Tensor], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: positions(model, change), names, says)


def in_window(change: Callable[[int], int], says: str) -> Misreading:
    return Misreading(lambda model: window(model, change), ("window",), says)


def in_slopes(change: Callable[[torch.Tensor], torch.Tensor], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: slopes(model, change), names, says)


def in_rows(change: Callable[[torch.Tensor], torch.Tensor], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: rows(model, change), names, says)


#: Where all channels rotate, a factor of cosines and sines and a softmax scale are one number.
SIZES = ("amplitude", "logit factor", "scale of the logits", "attention factor")
ROTATION: dict[str, Misreading] = {
    "base": in_frequencies(lambda one: one ** (math.log(1e4) / math.log(5e5)), "base", says="10000"),
    # A quarter of every frequency is a linear scaling, unless the file has a scaling already.
    "positions scaled": in_frequencies(lambda one: one / 4, "scaling added", "frequencies scaled"),
    "half the width": in_frequencies(half_of, "pairs stand still"),
    "frequencies in bfloat16": in_frequencies(lambda one: one.bfloat16().float(), "frequencies in bfloat16"),
    "no rotation": in_frequencies(torch.zeros_like, "not rotated"),
    "one layer not rotated": Misreading(first_layer_unrotated, ("not rotated",), "layer 0"),
    "direction": in_tables(lambda cos, sin: (cos, -sin), "sign"),
    "pairs mixed": in_tables(other_layout, "pairs mixed"),
    "angles in 16 bits": in_tables(lambda cos, sin: (cos.half().float(), sin.half().float()), "computed in 16 bits"),
    "amplitude": in_tables(lambda cos, sin: (1.1 * cos, 1.1 * sin), *SIZES),
    "softmax scale": Misreading(lambda model: attributes(model, "scaling", lambda one: one * 2**0.5), SIZES),
    "table ends": in_positions(lambda ids: ids.clamp(max=15), "table ends", says="from 16 on"),
    "table repeats": in_positions(lambda ids: ids % 16, "table repeats", says="after 16"),
    "window off by one": in_window(lambda size: size + 1, "25 positions"),
    "window ignored": in_window(lambda size: 4096, "all keys"),
}
#: What shows a factor where some channels rotate alone: a table's is one of these, and a softmax scale of all.
OF_A_PART = {"amplitude": ("amplitude", "attention factor"), "softmax scale": ("logit factor", "scale of the logits")}
BIAS: dict[str, Misreading] = {
    # With steepest 8 and 8 heads, twice the bias is the bias of heads that are counted from 0; half of it, from 2.
    "doubled": in_slopes(lambda bias: 2 * bias, "first slope", "bias factor"),
    "halved": in_slopes(lambda bias: bias / 2, "first slope", "bias factor"),
    "three times": in_slopes(lambda bias: 3 * bias, "bias factor", says="3"),
    "sign": in_slopes(lambda bias: -bias, "sign of the bias"),
    "left out": in_slopes(lambda bias: 0 * bias, "bias left out"),
    "heads reversed": in_slopes(lambda bias: bias.flip(0), "order of heads", says="opposite order"),
    "heads rolled": in_slopes(lambda bias: bias.roll(-1, 0), "order of heads", says="rolled by 1"),
    "one slope": in_slopes(lambda bias: bias[:1].expand(bias.shape), "slopes of heads", says="7 of 8 heads"),
    "divided by the root": Misreading(divided_by_the_root, ("bias and root",)),
    "shared by two heads": in_slopes(
        lambda bias: bias[: len(bias) // 2].repeat_interleave(2, 0), "slopes of heads", says="7 of 8 heads"
    ),
    "of the first shard": in_slopes(
        lambda bias: torch.cat([bias[: len(bias) // 2]] * 2), "order of heads", says="first 4, again"
    ),
    # Slopes of four heads, which begin at 2^-2 and step by it, on each of two shards.
    "counted by the shard": in_slopes(
        lambda bias: torch.cat([bias[1::2]] * 2), "slopes of a shard", says="those of 4 heads"
    ),
    "less steep": in_slopes(
        lambda bias: bias * torch.tensor([2.0 ** ((head + 1) / 2) for head in range(len(bias))]).reshape(
            -1, *(1,) * (bias.ndim - 1)
        ),
        "steepest", says="2^-4",
    ),
    "one head wrong": in_slopes(
        lambda bias: torch.cat([bias[:2], 1.5 * bias[2:3], bias[3:]]),
        "slopes of heads",
        says="1 of 8 heads is another: head 2",
    ),
    "heads without": in_slopes(
        lambda bias: torch.cat([bias[:-2], 0 * bias[-2:]]), "slopes of heads", says="2 of 8 heads"
    ),
}  # fmt: skip
ROW: dict[str, Misreading] = {
    "one too high": in_rows(lambda place: place + 1, "off by one", says="1 too high"),
    "one too low": in_rows(lambda place: place - 1, "off by one", says="1 too low"),
    "two too high": in_rows(lambda place: place + 2, "offset", says="2 too high"),
    "table ends": in_rows(lambda place: place.clamp(max=20), "table ends", says="20"),
    "table repeats": in_rows(lambda place: place % 32, "table repeats", says="every 32 positions"),
    "last rows repeat": in_rows(
        lambda place: torch.where(place < 48, place, 32 + (place - 32) % 16), "table repeats", says="every 16 positions"
    ),
    "all at one": in_rows(lambda place: 0 * place + 5, "positions stand still", says="position 5"),
    "all at the first": in_rows(lambda place: 0 * place, "positions stand still", says="position 0"),
    "halved": in_rows(lambda place: place // 2, "positions scaled", says="by 1/2"),
    "doubled": in_rows(lambda place: 2 * place, "positions scaled", says="by 2"),
    "three quarters": in_rows(lambda place: 3 * place // 4, "positions scaled", says="by 3/4"),
    "backwards": in_rows(lambda place: place.flip(0), "positions reversed"),
    "neighbours exchanged": in_rows(lambda place: place ^ 1, "order of rows"),
    "in bfloat16": in_rows(lambda place: place.bfloat16().long(), "positions in bfloat16"),
    "left out": Misreading(no_table, ("table left out",)),
}


def in_biases(
    change: Callable[[torch.Tensor], torch.Tensor], *names: str, says: str = "", part: str = ""
) -> Misreading:
    return Misreading(lambda model: biases(model, change, part), names, says)


def in_buckets(change: Callable[..., torch.Tensor], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: buckets(model, change), names, says)


#: What is done to the bias, whatever its buckets are.
TABLE_OF_BUCKETS: dict[str, Misreading] = {
    "sign": in_biases(lambda bias: -bias, "sign of the bias"),
    "left out": in_biases(lambda bias: 0 * bias, "bias left out"),
    "left out of the decoder": in_biases(lambda bias: 0 * bias, "bias left out", part="decoder"),
    "heads reversed": in_biases(lambda bias: bias.flip(1), "order of heads", says="opposite order"),
    "heads rolled": in_biases(lambda bias: bias.roll(-1, 1), "order of heads", says="rolled by 1"),
    "doubled": in_biases(lambda bias: 2 * bias, "bias factor", says="multiplied by 2"),
    "divided by the root": in_biases(lambda bias: bias / 8**0.5, "bias and root"),
    "rounded": in_biases(lambda bias: bias.bfloat16().float(), "narrow bias", says="bfloat16"),
    "later keys seen": Misreading(later_keys_seen, ("causal mask",)),
}
BUCKET: dict[str, Misreading] = {
    **TABLE_OF_BUCKETS,
    "one direction": in_buckets(
        lambda made, relative, both, count, largest: made(relative, False, count, largest), "both directions"
    ),
    "two directions": in_buckets(
        lambda made, relative, both, count, largest: made(relative, True, count, largest), "both directions"
    ),
    "largest distance": in_buckets(
        lambda made, relative, both, count, largest: made(relative, both, count, 64), "largest distance", says="64"
    ),
    "fewer buckets": in_buckets(
        lambda made, relative, both, count, largest: made(relative, both, 16, largest), "buckets", says="16"
    ),
    "query for key": in_buckets(
        lambda made, relative, both, count, largest: made(-relative, both, count, largest), "query for key"
    ),
    "no limit": in_buckets(without_limit, "far buckets"),
    "one too high": in_buckets(
        lambda made, relative, both, count, largest: made(relative - 1, both, count, largest), "off by one"
    ),
    "first layer alone": Misreading(bias_of_the_first_layer_alone, ("bias left out",), "layers"),
}


@contextmanager
def causal(model: Any) -> Iterator[None]:
    """The encoder masks later keys."""

    def changed(module: Any, inputs: Any, named: dict[str, Any]) -> Any:
        length, mask = inputs[0].shape[1], named.get("attention_mask")
        later = torch.full((length, length), -torch.inf).triu(1)
        return inputs, {**named, "attention_mask": later if mask is None else later + torch.nan_to_num(mask.float())}

    with ExitStack() as stack:
        for layer in layers(model):
            stack.callback(layer.attn.register_forward_pre_hook(changed, with_kwargs=True).remove)
        yield


ENCODER = {"later keys masked": Misreading(causal, ("causal mask",))}


@contextmanager
def rope_parameters(model: Any, **changed: Any) -> Iterator[None]:
    """Cosines and sines are made as of a file with other parameters."""
    found = rotaries(model)
    plain = [dict(module.__dict__, _buffers=dict(module._buffers)) for module in found]
    config = copy.deepcopy(model.config)
    config.rope_parameters = {**config.rope_parameters, **changed}
    for module in found:
        module.__dict__.update(type(module)(config).__dict__)
    yield
    for module, held in zip(found, plain, strict=True):
        module.__dict__.update(held)


def in_parameters(*names: str, **changed: Any) -> Misreading:
    return Misreading(lambda model: rope_parameters(model, **changed), names)


#: Of gpt-oss, whose YaRN has factor 32, original length 4096, ramp ends 32 and 1, and no `truncate`.
SCALED: dict[str, Misreading] = {
    "base": in_parameters("base", rope_theta=10_000.0),
    "scaling ignored": in_parameters("scaling ignored", rope_type="default"),
    "linear": in_parameters("scheme", rope_type="linear"),
    "factor": in_parameters("scaling factor", factor=16.0, attention_factor=0.1 * math.log(32) + 1),
    "factor with its amplitude": in_parameters("scaling factor", factor=16.0),
    "original length": in_parameters("original length", original_max_position_embeddings=8192),
    "truncated": in_parameters("truncate", truncate=True),
    "amplitude ignored": in_parameters("attention factor ignored", attention_factor=1.0),
    "amplitude squared": in_parameters("attention factor twice", attention_factor=(0.1 * math.log(32) + 1) ** 2),
}


def in_sections(change: Callable[[Any], Any], *names: str, says: str = "") -> Misreading:
    return Misreading(lambda model: attributes(model, "mrope_section", change), names, says)


#: Of time, row and column, with sections of 2, 3 and 3 pairs, which position ids show where they differ.
COORDINATES: dict[str, Misreading] = {
    "row and column exchanged": in_positions(lambda ids: ids[[0, 2, 1]], "axes exchanged", says="1 and 2"),
    "time and row exchanged": in_positions(lambda ids: ids[[1, 0, 2]], "axes exchanged", says="0 and 1"),
    "coordinates rolled": in_positions(lambda ids: ids[[1, 2, 0]], "pairs of the sections"),
    "time for all": in_positions(lambda ids: ids[:1].expand(3, -1, -1), "pairs of the sections"),
    "section sizes": in_sections(lambda sizes: [3, 2, 3], "section sizes", says="[3, 2, 3]"),
    "other sections": in_sections(lambda sizes: [4, 2, 2], "pairs of the sections", says="[4, 2, 2]"),
    "interleaved": in_sections(lambda sizes: [1] * 8, "sections arranged otherwise", says="interleaved"),
}


def misreadings_of(model_type: str, *, windowed: bool) -> dict[str, Misreading]:
    """The misreadings that apply to a model type."""
    if model_type in ("bloom", "mpt"):
        return BIAS
    if model_type in ("gpt2", "opt", "bert"):
        return ROW
    if model_type in ("t5", "umt5"):
        return BUCKET if model_type == "t5" else TABLE_OF_BUCKETS
    left_out = () if windowed else ("window off by one", "window ignored")
    left_out += ("softmax scale",) if model_type == "modernbert" else ()  # no number of its own in the code
    left_out += ("pairs mixed",) if model_type in HALF_TABLES else ()
    kept = {name: one for name, one in ROTATION.items() if name not in left_out}
    if model_type in PARTLY_ROTATED:
        return kept | {name: kept[name]._replace(names=names) for name, names in OF_A_PART.items()}
    more = {"gpt_oss_yarn": SCALED, "modernbert": ENCODER}
    return kept | more.get(model_type, {})
