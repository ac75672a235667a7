"""Mistakes planted into live models of transformers, for tests of captures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from posenc.transformers.model_changes import replace_attribute

SIZES = {
    "vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
LOCAL = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
LATENT = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "moe_intermediate_size": 16,
    "first_k_dense_replace": 4, "num_key_value_heads": 4, "max_position_embeddings": 256,
    "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 64, "beta_fast": 32, "beta_slow": 1,
    },
}  # fmt: skip
MODELS: dict[str, dict[str, Any]] = {
    "llama": SIZES,
    "mistral": SIZES | {"sliding_window": 16},
    "qwen3": SIZES | {"head_dim": 16},
    "gemma2": SIZES | {"head_dim": 16, "sliding_window": 16, "query_pre_attn_scalar": 64},
    "gemma3_text": SIZES | {
        "head_dim": 16, "sliding_window": 16, "layer_types": LOCAL, "query_pre_attn_scalar": 64,
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                            "full_attention": {"rope_type": "default", "rope_theta": 1000000.0}},
    },
    "phi3": SIZES | {"sliding_window": 16},
    "gpt_neox": SIZES | {"rotary_pct": 0.25},
    "gpt_oss": SIZES | EXPERTS | {"head_dim": 16, "sliding_window": 16, "layer_types": LOCAL},
    "cohere2": SIZES | {"sliding_window": 16, "layer_types": LOCAL},
    "smollm3": SIZES | {"no_rope_layers": [1, 1, 1, 0]},
    "deepseek_v3": SIZES | LATENT,
    "granite": SIZES | {"attention_multiplier": 0.1},
}  # fmt: skip
TOKENS = torch.randint(3, 64, (2, 40), generator=torch.Generator().manual_seed(0))


def built(model_type: str, **fields: Any) -> tuple[dict[str, Any], Any]:
    """The config of a tiny model and the model; `fields` are those of the model alone."""
    config = CONFIG_MAPPING[model_type](**MODELS[model_type])
    meant = json.loads(config.to_json_string())
    for name, value in fields.items():
        setattr(config, name, value)
    torch.manual_seed(0)
    return meant, AutoModel.from_config(config, attn_implementation="eager").eval()


def attention_modules(model: Any) -> list[Any]:
    """Modules of self-attention, layer by layer."""
    return [getattr(layer, "self_attn", None) or layer.attention for layer in model.layers]


@contextmanager
def planted(mistake: str, model: Any) -> Any:
    """Plant a mistake into a model until the block ends."""
    with ExitStack() as stack:
        MISTAKES[mistake](model, stack)
        yield model


def with_attention(change: Callable[..., tuple[Any, ...]]) -> Callable[[Any, ExitStack], None]:
    """Change what attention functions are called with: queries, keys, values and mask."""

    def plant(model: Any, stack: ExitStack) -> None:
        choose = ALL_ATTENTION_FUNCTIONS.get_interface

        def chosen(implementation: str, default: Any) -> Any:
            attend = choose(implementation, default)

            def attending(module: Any, q: Any, k: Any, v: Any, mask: Any, **named: Any) -> Any:
                return attend(module, *change(module, q, k, v, mask), **named)

            return attending

        replace_attribute(stack, ALL_ATTENTION_FUNCTIONS, "get_interface", chosen)

    return plant


def with_scaling(factor: Callable[[Any], float]) -> Callable[[Any, ExitStack], None]:
    """Another scale of logits in every layer."""

    def plant(model: Any, stack: ExitStack) -> None:
        for module in attention_modules(model):
            replace_attribute(stack, module, "scaling", factor(module))

    return plant


def replace_rotations(model: Any, stack: ExitStack, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Change every function of the model's code that rotates."""
    code = sys.modules[type(model).__module__]
    for name in [name for name in vars(code) if name.startswith("apply_rotary")]:
        replace_attribute(stack, code, name, change(getattr(code, name)))


def rotated_by_position(x: torch.Tensor) -> torch.Tensor:
    """Vectors (batch, heads, n, d), halves rotated by base 10000."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    cos, sin = angle.cos(), angle.sin()
    first, second = x[..., :half], x[..., half : 2 * half]
    return torch.cat((first * cos - second * sin, second * cos + first * sin, x[..., 2 * half :]), -1)


def windowed(size: int) -> Callable[..., tuple[Any, ...]]:
    """Queries, keys, values and a mask that hides what a window of `size` keys hides, in every layer."""

    def change(module: Any, q: Any, k: Any, v: Any, mask: Any) -> tuple[Any, ...]:
        distance = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
        far = torch.full((1, 1, *distance.shape), 0.0).masked_fill((distance >= size) | (distance < 0), -1e9)
        return q, k, v, far

    return change


def skips_layers(*numbers: int) -> Callable[[Any, ExitStack], None]:
    """Some layers whose attention gets cosines of one and sines of zero, or does not call the rotation."""

    def plant(model: Any, stack: ExitStack) -> None:
        inside: list[Any] = []
        for number in numbers:
            module = attention_modules(model)[number]
            stack.callback(module.register_forward_pre_hook(lambda *given: inside.append(1)).remove)
            stack.callback(module.register_forward_hook(lambda *given: inside.clear()).remove)
        replace_rotations(
            model,
            stack,
            lambda rotate: lambda q, k, *rest, **named: (q, k) if inside else rotate(q, k, *rest, **named),
        )

    return plant


def rotates_twice(model: Any, stack: ExitStack) -> None:
    """The rotation of every layer, applied to its own result."""
    replace_rotations(
        model,
        stack,
        lambda rotate: lambda q, k, *rest, **named: rotate(*rotate(q, k, *rest, **named), *rest, **named),
    )


def exchanges(one: int, other: int) -> Callable[[Any, ExitStack], None]:
    """Two layers' attention modules, each in the place of the other."""

    def plant(model: Any, stack: ExitStack) -> None:
        layers = model.layers
        name = "self_attn" if hasattr(layers[0], "self_attn") else "attention"
        first, second = getattr(layers[one], name), getattr(layers[other], name)
        setattr(layers[one], name, second)
        setattr(layers[other], name, first)

    return plant


def frequencies_in(dtype: torch.dtype) -> Callable[[Any, ExitStack], None]:
    """Every buffer of frequencies through a 16-bit type."""

    def plant(model: Any, stack: ExitStack) -> None:
        for module in model.modules():
            for name, value in list(module.named_buffers(recurse=False)):
                if "inv_freq" in name:
                    setattr(module, name, value.to(dtype).float())

    return plant


def hooked(name: str, change: Callable[[Any, torch.Tensor], torch.Tensor]) -> Callable[[Any, ExitStack], None]:
    """Another output of a projection, in every layer."""

    def plant(model: Any, stack: ExitStack) -> None:
        for module in attention_modules(model):
            hook = getattr(module, name).register_forward_hook(
                lambda projection, given, output, module=module: change(module, output)
            )
            stack.callback(hook.remove)

    return plant


def rotated_rows(module: Any, output: torch.Tensor) -> torch.Tensor:
    batch, length, _ = output.shape
    heads = output.reshape(batch, length, -1, module.head_dim).transpose(1, 2)
    return rotated_by_position(heads).transpose(1, 2).reshape(output.shape)


def sees_all(module: Any, q: Any, k: Any, v: Any, mask: Any) -> tuple[Any, ...]:
    return q, k, v, torch.zeros_like(mask)


MISTAKES: dict[str, Callable[[Any, ExitStack], None]] = {
    "window one smaller": with_attention(windowed(15)),
    "window one larger": with_attention(windowed(17)),
    "no window": with_attention(windowed(1000)),
    "bidirectional": with_attention(sees_all),
    "scale 1/d": with_scaling(lambda module: module.scaling**2),
    "no scale": with_scaling(lambda module: 1.0),
    "usual scale": with_scaling(lambda module: getattr(module, "qk_head_dim", getattr(module, "head_dim", 16)) ** -0.5),
    "values rotated": with_attention(lambda module, q, k, v, mask: (q, k, rotated_by_position(v), mask)),
    "values rotated after their projection": hooked("v_proj", rotated_rows),
    "keys rotated after their projection": hooked("k_proj", rotated_rows),
    "queries and keys rotated again": with_attention(
        lambda module, q, k, v, mask: (rotated_by_position(q), rotated_by_position(k), v, mask)
    ),
    "keys rotated again": with_attention(lambda module, q, k, v, mask: (q, rotated_by_position(k), v, mask)),
    "rotated twice": rotates_twice,
    "one layer not rotated": skips_layers(1),
    "no layer rotated": skips_layers(0, 1, 2, 3),
    "modules exchanged": exchanges(0, 3),
    "frequencies in bfloat16": frequencies_in(torch.bfloat16),
    "frequencies in float16": frequencies_in(torch.float16),
}
HAS_WINDOW = ("mistral", "gemma2", "gemma3_text", "phi3", "gpt_oss", "cohere2")
HAS_OTHER_SCALE = ("gemma2", "gemma3_text", "deepseek_v3", "granite")
HAS_PROJECTIONS = ("llama", "mistral", "qwen3", "gemma2", "gemma3_text", "gpt_oss", "cohere2", "smollm3", "granite")
#: Their keys come from a projection and are rotated, all channels in halves, by base 10000.
ROTATES_PLAINLY = ("llama", "mistral", "gemma2", "granite")
#: Mistakes that only some models can have; exchanged layers differ by their rotation or their window.
ONLY_IN = {
    "window one smaller": HAS_WINDOW,
    "window one larger": HAS_WINDOW,
    "no window": HAS_WINDOW,
    "usual scale": HAS_OTHER_SCALE,
    "modules exchanged": ("cohere2", "smollm3"),
    "values rotated after their projection": HAS_PROJECTIONS,
    "keys rotated after their projection": ROTATES_PLAINLY,
}
