"""Faults planted in running models: the rotation or the table takes other positions, the arguments stay right."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

SIZES = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
GROUPED = SIZES | {"num_key_value_heads": 2}
SLIDING = {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
MODELS: dict[str, dict[str, Any]] = {
    "llama": GROUPED,
    "qwen2": GROUPED,
    "qwen3": GROUPED | {"head_dim": 16},
    "gemma3_text": GROUPED | {"head_dim": 16} | SLIDING,
    "gpt_neox": SIZES | {"rotary_pct": 0.25},
    "deepseek_v3": SIZES | {
        "num_key_value_heads": 4, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
        "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": 3, "moe_intermediate_size": 16,
    },
    "gpt_oss": GROUPED | {"head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 1} | SLIDING,
    "mistral": GROUPED | {"head_dim": 16, "sliding_window": 6},
    "cohere2": GROUPED | SLIDING,
    "gpt2": {"vocab_size": 64, "n_embd": 64, "n_head": 4, "n_layer": 3, "n_positions": 64},
    "bloom": {"vocab_size": 64, "hidden_size": 64, "n_head": 4, "n_layer": 3},
}  # fmt: skip
#: Tokens of a prompt, and rows of a cache that keeps few.
PROMPT, KEPT = 24, 5
Change = Callable[[torch.Tensor], torch.Tensor]


def built(model_type: str, attention: str = "eager", **more: Any) -> Any:
    """A tiny model of a type, with drawn weights."""
    torch.manual_seed(0)
    config = CONFIG_MAPPING[model_type](**{**MODELS[model_type], **more})
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()


def drawn(rows: int, count: int) -> torch.Tensor:
    """Token ids."""
    return torch.randint(3, 64, (rows, count), generator=torch.Generator().manual_seed(0))


def plant(model: Any, change: Change) -> None:
    """Change the positions inside every rotary module, or the rows inside every table."""
    planted = 0
    for name, module in model.named_modules():
        if name.endswith(("rotary_emb", "wpe")):
            own = module.forward
            if name.endswith("wpe"):
                module.forward = lambda ids, own=own: own(change(ids))
            else:
                module.forward = lambda x, position_ids, *rest, own=own, **named: own(
                    x, change(position_ids), *rest, **named
                )
            planted += 1
    assert planted


def in_chunks(model: Any, size: int, *, new: int = 0, mask: torch.Tensor | None = None, past: Any = None) -> None:
    """Read a prompt in chunks and then some tokens, with one cache and right arguments."""
    rows = 2 if mask is None else len(mask)
    tokens = drawn(rows, PROMPT)
    start = 0
    for end in [*range(size, PROMPT + 1, size), *range(PROMPT + 1, PROMPT + new + 1)]:
        named = {}
        if mask is not None:
            longer = torch.cat([mask, torch.ones(rows, max(0, end - PROMPT), dtype=mask.dtype)], 1)[:, :end]
            named = {"attention_mask": longer, "position_ids": (longer.cumsum(1) - 1).clamp(min=0)[:, start:end]}
        read = tokens[:, start:end] if end <= PROMPT else tokens[:, :1]
        past = model(read, past_key_values=past, use_cache=True, **named).past_key_values
        start = end


def read_to(model: Any, ends: tuple[int, ...]) -> None:
    """Read tokens in calls that end where stated, with one cache and right arguments."""
    tokens, past, start = drawn(2, ends[-1]), None, 0
    for end in ends:
        past = model(tokens[:, start:end], past_key_values=past, use_cache=True).past_key_values
        start = end


def padded() -> torch.Tensor:
    """Mask of two rows, the second one with three tokens of padding before it."""
    mask = torch.ones(2, PROMPT, dtype=torch.long)
    mask[1, :3] = 0
    return mask


def without_offset(model: Any) -> None:
    """A shard counts its tokens from 0."""
    plant(model, lambda ids: ids - ids.min())
    model(drawn(1, 8), position_ids=torch.arange(16, 24)[None])


def suffix_for_chunk(model: Any) -> None:
    """Each chunk takes the last positions of the prompt."""
    plant(model, lambda ids: torch.arange(PROMPT - ids.shape[-1], PROMPT).expand(ids.shape))
    in_chunks(model, 8)


def restarted(model: Any) -> None:
    """Each micro-batch of a sequence counts from 0."""
    plant(model, lambda ids: ids - ids[..., :1])
    in_chunks(model, 8)


def padding_counted(model: Any) -> None:
    """Decoding counts padding, the prompt did not."""
    plant(model, lambda ids: ids + torch.tensor([[0], [3]]) if ids.shape[-1] == 1 else ids)
    in_chunks(model, PROMPT, new=3, mask=padded())


def documents_run_on(model: Any) -> None:
    """Positions do not begin again in the second document of a row."""
    plant(model, lambda ids: torch.arange(ids.shape[-1])[None])
    model(drawn(1, 12), position_ids=torch.cat([torch.arange(5), torch.arange(7)])[None], use_cache=False)


def one_behind(model: Any) -> None:
    """A draft stands one position behind."""
    plant(model, lambda ids: ids - 1 if ids.shape[-1] == 1 else ids)
    in_chunks(model, PROMPT, new=4)


def kept_rows_counted(model: Any) -> None:
    """A cache keeps few rows, and positions are counted from them."""
    plant(model, lambda ids: ids - ids[..., :1] + ids[..., :1].clamp(max=KEPT))
    layers = [DynamicSlidingWindowLayer(KEPT + 1) for _ in range(model.config.num_hidden_layers)]
    with_cache(model, Cache(layers=layers))


def with_cache(model: Any, past: Any, new: int = 8) -> None:
    """Read a prompt and some tokens with a cache, at positions that are stated."""
    tokens, start = drawn(2, PROMPT), 0
    for end in range(PROMPT, PROMPT + new + 1):
        read = tokens if end == PROMPT else tokens[:, :1]
        model(read, past_key_values=past, use_cache=True, position_ids=torch.arange(start, end)[None].expand(2, -1))
        start = end


class RingLayer(DynamicSlidingWindowLayer):
    """Ring of rows: token t stands in row t modulo the window."""

    rows_cut = 0

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *rest: Any, **named: Any) -> Any:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            shape = (*key_states.shape[:2], self.sliding_window, key_states.shape[3])
            self.ring = key_states.new_zeros(shape), value_states.new_zeros(shape)
        new = key_states.shape[2]
        for number in range(new):
            row = (self.cumulative_length + number) % self.sliding_window
            for ring, states in zip(self.ring, (key_states, value_states), strict=True):
                ring[:, :, row] = states[:, :, number]
        self.cumulative_length += new
        return (key_states, value_states) if new > 1 else tuple(one[:, :, self.rows_cut :].clone() for one in self.ring)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        rows = self.sliding_window - self.rows_cut
        return (query_length, 0) if query_length > 1 else (rows, max(self.cumulative_length - rows + 1, 0))


class CutRingLayer(RingLayer):
    """The same, cut by its rows: one that holds any token is left out."""

    rows_cut = 1


def with_ring(model: Any, layer: type[RingLayer]) -> None:
    """Decode with rings in the layers that have windows."""
    types = getattr(model.config, "layer_types", None) or ["sliding_attention"] * model.config.num_hidden_layers
    window = model.config.sliding_window
    with_cache(model, Cache(layers=[layer(window) if "sliding" in one else DynamicLayer() for one in types]))


def window_too_long(model: Any) -> None:
    """The mask's window is one too long."""
    code = sys.modules[type(model).__module__]
    own = code.create_sliding_window_causal_mask

    def longer(config: Any, *rest: Any, **named: Any) -> Any:
        other = copy.copy(config)
        other.sliding_window += 1
        return own(other, *rest, **named)

    code.create_sliding_window_causal_mask = longer
    try:
        model(drawn(2, PROMPT), use_cache=False)
    finally:
        code.create_sliding_window_causal_mask = own


def bias_lost(model: Any) -> None:
    """While decoding, ALiBi adds nothing."""

    def lost(module: Any, arguments: Any, named: Any) -> Any:
        return arguments, {**named, "alibi": named["alibi"] * (arguments[0].shape[1] > 1)}

    for block in model.transformer.h:
        block.register_forward_pre_hook(lost, with_kwargs=True)
    in_chunks(model, PROMPT, new=3)


#: Models with windows.
WITH_WINDOWS = ("gemma3_text", "gpt_oss", "mistral", "cohere2")
#: Faults of the positions that a rotation or a table takes: how they run, what is stated, and the name of the cause.
POSITION_FAULTS: dict[str, tuple[Callable[[Any], None], dict[str, Any], str]] = {
    "without offset": (without_offset, {"offset": 16}, "offset of the rank"),
    "suffix": (suffix_for_chunk, {}, "suffix for a chunk"),
    "restarted": (restarted, {}, "positions restarted"),
    "padding": (padding_counted, {}, "padding counted"),
    "documents": (documents_run_on, {"documents": (5, 7)}, "documents not restarted"),
    "behind": (one_behind, {}, "one position behind"),
}
