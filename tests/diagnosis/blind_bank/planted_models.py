"""Mistakes planted in loaded models of transformers: in their modules, and by building them from a misread config."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from diagnosis.blind_bank.architectures import Config
from diagnosis.blind_bank.planted_configs import CHANGES, DOORS, other_configs, planted, rotary_configs

BOTH_WAYS = ("bert", "roberta", "modernbert", "t5")  # no mask by order, or not in every part
SEEN = 160  # tokens of a run: more than each window
Planter = Callable[[Any], bool]  # changes a loaded model; False where it has nothing of the kind


def built(config: Config) -> Any:
    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(**copy.deepcopy(config))).eval()


def attentions(model: Any) -> list[Any]:
    return [part for part in model.modules() if type(part).__name__.endswith("Attention") and hasattr(part, "scaling")]


def frequencies(model: Any) -> list[tuple[Any, str]]:
    """Buffers of frequencies that a forward pass reads; LongRoPE sets its own anew in every pass."""
    if model.config.model_type == "phi3":
        return []
    return [
        (part, name)
        for part in model.modules()
        for name, _ in part.named_buffers(recurse=False)
        if name.endswith("inv_freq") and "original" not in name
    ]


def buffers(change: Callable[[torch.Tensor], torch.Tensor]) -> Planter:
    def plant(model: Any) -> bool:
        held = frequencies(model)
        for part, name in held:
            part.register_buffer(name, change(getattr(part, name)), persistent=False)
        return bool(held)

    return plant


def plain_frequencies(held: torch.Tensor) -> torch.Tensor:
    """As code that reads neither base nor scaling."""
    return 20_000.0 ** (-torch.arange(len(held)) / len(held))


def amplitude(model: Any) -> bool:
    held = [
        (part, name)
        for part in model.modules()
        for name in vars(part)
        if name.endswith("attention_scaling") and getattr(part, name) != 1
    ]
    for part, name in held:
        setattr(part, name, 1.0)
    return bool(held)


def in_bfloat16(model: Any) -> bool:
    """The cast that training frameworks make of a whole model, with the weights cast back."""
    if not frequencies(model):
        return False
    model.to(torch.bfloat16).to(torch.float32)
    return True


def positions(change: Callable[[torch.Tensor], torch.Tensor]) -> Planter:
    """Position ids that the rotary module gets are changed."""

    def plant(model: Any) -> bool:
        rotary = getattr(model, "rotary_emb", None)
        if rotary is None:
            return False
        forward = rotary.forward
        rotary.forward = lambda x, position_ids, *rest, **more: forward(x, change(position_ids), *rest, **more)
        return True

    return plant


def attribute(name: str, change: Callable[[Any], Any]) -> Planter:
    def plant(model: Any) -> bool:
        if model.config.model_type == "t5":  # holds a scaling that it does not use
            return False
        held = [part for part in attentions(model) if getattr(part, name, None)]
        for part in held:
            setattr(part, name, change(getattr(part, name)))
        return bool(held)

    return plant


def mask(change: Callable[[torch.Tensor], torch.Tensor | None]) -> Planter:
    """Every attention module of the model gets another mask."""

    def plant(model: Any) -> bool:
        held = [] if model.config.model_type in BOTH_WAYS else attentions(model)
        for part in held:
            forward = part.forward

            def changed(*args: Any, forward: Any = forward, **given: Any) -> Any:
                return forward(*args, **given | {"attention_mask": change(given.get("attention_mask"))})

            part.forward = changed
        return bool(held)

    return plant


def all_seen(given: torch.Tensor | None) -> torch.Tensor:
    return torch.zeros(1, 1, SEEN, SEEN)


def no_window(given: torch.Tensor | None) -> torch.Tensor:
    return torch.full((SEEN, SEEN), torch.finfo(torch.float32).min).triu(1)[None, None]


def not_windowed(model: Any) -> bool:
    windowed = any(getattr(part, "sliding_window", None) for part in attentions(model))
    mistral = model.config.model_type == "mistral"
    return (windowed or mistral) and mask(no_window)(model)


def still_layer(model: Any) -> bool:
    """Layer 0 gets the cosines and sines of position 0."""
    held = attentions(model)[:1] if frequencies(model) and model.config.model_type != "modernbert" else []
    for part in held:
        forward = part.forward

        def changed(*args: Any, forward: Any = forward, **given: Any) -> Any:
            cos, sin = given["position_embeddings"]
            return forward(*args, **given | {"position_embeddings": (torch.ones_like(cos), torch.zeros_like(sin))})

        part.forward = changed
    return bool(held)


def exchanged_layers(model: Any) -> bool:
    """Attention of the last two layers is exchanged, where the module decides whether it rotates."""
    if model.config.model_type not in ("cohere2", "smollm3"):
        return False
    first, second = model.layers[-2], model.layers[-1]
    first.self_attn, second.self_attn = second.self_attn, first.self_attn
    return True


def turned_values(model: Any) -> bool:
    """Values are rotated too, by the angles of 10000 over halves of a head of 32."""
    held = [part.v_proj for part in attentions(model) if hasattr(part, "v_proj") and frequencies(model)]
    angles = torch.outer(torch.arange(SEEN), 10_000.0 ** (-torch.arange(16) / 16))

    def turn(module: nn.Module, args: Any, out: torch.Tensor) -> torch.Tensor:
        x = out.view(*out.shape[:2], -1, 32)
        first, second, cos, sin = x[..., :16], x[..., 16:], angles.cos()[:, None], angles.sin()[:, None]
        return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).flatten(2)

    for part in held:
        part.register_forward_hook(turn)
    return bool(held)


def table_offset(change: int) -> Planter:
    """Learned tables are read some rows further on."""

    def plant(model: Any) -> bool:
        held = [
            part
            for name, part in model.named_modules()
            if name.endswith(("wpe", "embed_positions", "position_embeddings")) and isinstance(part, nn.Embedding)
        ]
        for part in held:
            if hasattr(part, "offset"):
                part.offset += change
            else:
                part.register_forward_pre_hook(lambda module, given: (given[0] + change, *given[1:]))
        return bool(held)

    return plant


def t5_reach(model: Any) -> bool:
    held = [part for part in model.modules() if hasattr(part, "relative_attention_max_distance")]
    for part in held:
        part.relative_attention_max_distance = 64
    return bool(held)


def t5_direction(model: Any) -> bool:
    """The decoder's bias is read as an encoder's."""
    if model.config.model_type != "t5":
        return False
    for part in model.decoder.modules():
        if hasattr(part, "relative_attention_num_buckets"):
            part.is_decoder = False
    return True


SCALE = ("scale", "root", "√", "sqrt", "factor")
INSIDE: dict[str, tuple[Planter, tuple[str, ...]]] = {
    "frequencies of base 20000": (buffers(plain_frequencies), ("base", "scaling")),
    "frequencies in bfloat16": (in_bfloat16, ("bfloat16", "16 bit", "16-bit")),
    "frequencies never filled": (buffers(torch.zeros_like), ("never", "zero", "fill", "not rotat", "set")),
    "frequencies not finite": (buffers(lambda held: held * torch.nan), ("finite", "nan")),
    "amplitude dropped": (amplitude, ("attention factor", "amplitude", "attention_factor", "mscale")),
    "positions all 0": (positions(torch.zeros_like), ("position", "not rotat", "0", "at all", "never")),
    "positions end at 99": (positions(lambda held: held.clamp(max=99)), ("end", "last", "stop", "99", "100")),
    "positions repeat after 64": (positions(lambda held: held % 64), ("repeat", "again", "64")),
    "positions doubled": (positions(lambda held: held * 2), ("position", "scaling", "multipl", "twice", "factor")),
    "logits over the width": (attribute("scaling", lambda held: held**2), SCALE),
    "logits not scaled": (attribute("scaling", lambda held: 1.0), SCALE),
    "later keys seen": (mask(all_seen), ("later", "causal", "future", "bidirectional")),
    "no window": (not_windowed, ("window",)),
    "one layer stands still": (still_layer, ("layer 0", "not rotat", "at all", "never")),
    "attention of two layers exchanged": (exchanged_layers, ("exchang", "layer", "local", "nope")),
    "values rotated": (turned_values, ("value",)),
    "table read one row late": (table_offset(1), ("one", "offset", "row")),
    "T5 reach 64": (t5_reach, ("reach", "distance")),
    "T5 decoder in both directions": (t5_direction, ("direction", "both", "bidirectional", "bucket")),
}
BY_MODULE = ("frequencies", "amplitude")  # what the rotary module shows by itself


# What no run of text over fewer tokens shows. MPT of transformers reads neither key of its ALiBi.
UNSEEN = ("half the table", "sections the other way round")


def model_rows() -> Iterator[tuple[str, Config, Callable[[], Any], tuple[str, ...]]]:
    """Name, expected config, a function that builds the wrong model, and words."""
    configs = rotary_configs() | other_configs()
    for name, config in configs.items():
        for mistake, (plant, words) in INSIDE.items():
            if plant(built(config)):
                yield f"{name} / {mistake}", config, lambda plant=plant, config=config: _planted(plant, config), words
    for name, config, served, words in planted(rotary_configs(), CHANGES) + planted(other_configs(), DOORS):
        if (name.startswith("mpt / ") and "heads" not in name) or name.endswith(UNSEEN):
            continue
        yield f"{name} / built so", config, lambda served=served: built(served), words


def _planted(plant: Planter, config: Config) -> Any:
    model = built(config)
    plant(model)
    return model
