"""Architectures of the bank: a tiny config of each, and by whom each layer rotates, as its paper or class says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from diagnosis.blind_bank.formulas import Rotary, mscale

Config = dict[str, Any]

HEADS, HEAD = 4, 32
TOKENS = 400  # of every dump: more than 256, where 16-bit positions collide, and than each window
WINDOW = 96


@dataclass(frozen=True)
class Architecture:
    """A kind of layer of a model: the config, the layer's number, and what it computes."""

    name: str
    config: Config
    rotary: Rotary | None  # None: the layer does not rotate
    layer: int = 0
    scale: float = HEAD**-0.5
    window: int | None = None
    other: Rotary | None = None  # what layers of the other kind rotate by
    shows: str = "all"  # "rotation": logits of this layer hold more than a rotation
    options: Config = field(default_factory=dict)


def sizes(model_type: str, **keys: Any) -> Config:
    """A config with 4 heads of 32 channels, unless the keys say otherwise."""
    plain = {"vocab_size": 64, "hidden_size": HEADS * HEAD, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": 2, "max_position_embeddings": 4096}
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return {"model_type": model_type} | plain | heads | special | keys


def rope(theta: float, kind: str = "default", **keys: Any) -> Config:
    return {"rope_type": kind, "rope_theta": theta} | keys


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}
YARN = {"factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 32.0, "beta_slow": 1.0}
ROPED = {"kind": "llama3", "factor": 8.0, "original": 1024, "low": 1.0, "high": 4.0}
YARNED = {"kind": "yarn", "factor": 4.0, "original": 1024, "fast": 32.0, "slow": 1.0, "truncate": True}
SHORT = [1.0 + 0.05 * i for i in range(16)]
LONG = [1.0 + 0.5 * i for i in range(16)]
STRETCHED = {"kind": "longrope", "divisors": LONG, "others": SHORT}
MIXED = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
TURN = ["sliding_attention", "full_attention"]

GEMMA3 = sizes(
    "gemma3_text", num_hidden_layers=4, head_dim=HEAD, layer_types=MIXED, sliding_window=WINDOW,
    query_pre_attn_scalar=HEAD, rope_parameters={
        "full_attention": rope(1e6, "linear", factor=8.0), "sliding_attention": rope(1e4)})  # fmt: skip
GEMMA3_LOCAL = Rotary(HEAD, 1e4)
GEMMA3_GLOBAL = Rotary(HEAD, 1e6, scaling={"kind": "linear", "factor": 8.0})
OLMO3 = sizes(
    "olmo3", num_hidden_layers=4, layer_types=MIXED, sliding_window=WINDOW, rope_parameters={
        "full_attention": rope(5e5, "yarn", **YARN), "sliding_attention": rope(5e5)})  # fmt: skip
OLMO3_LOCAL = Rotary(HEAD, 5e5)
OLMO3_GLOBAL = Rotary(HEAD, 5e5, scaling=YARNED, amplitude=mscale(4.0))
COHERE2 = sizes("cohere2", num_hidden_layers=4, head_dim=HEAD, layer_types=MIXED, sliding_window=WINDOW,
                rope_parameters=rope(5e4), logit_scale=1.0)  # fmt: skip
COHERE2_LOCAL = Rotary(HEAD, 5e4, adjacent=True)
SMOLLM3 = sizes("smollm3", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0], rope_parameters=rope(5e6))
MODERNBERT = sizes(
    "modernbert", num_hidden_layers=4, local_attention=2 * WINDOW, cls_token_id=1, sep_token_id=2,
    rope_parameters={"full_attention": rope(160_000.0), "sliding_attention": rope(1e4)},
    layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"])  # fmt: skip
DEEPSEEK = sizes(
    "deepseek_v3", num_key_value_heads=HEADS, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=16, qk_nope_head_dim=16,
    v_head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, moe_intermediate_size=32,
    first_k_dense_replace=1, rope_parameters=rope(1e4, "yarn", **YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}),
)  # fmt: skip

ROTARY = [
    Architecture("llama", sizes("llama", rope_theta=500_000.0), Rotary(HEAD, 5e5)),
    Architecture(
        "llama3.1", sizes("llama", rope_parameters=rope(5e5, "llama3", **LLAMA3)), Rotary(HEAD, 5e5, scaling=ROPED)
    ),
    Architecture(
        "mistral",
        sizes("mistral", sliding_window=WINDOW, rope_theta=1e6, head_dim=HEAD),
        Rotary(HEAD, 1e6),
        window=WINDOW,
    ),
    Architecture(
        "qwen2",
        sizes("qwen2", rope_theta=1e6, rope_scaling={"type": "yarn"} | YARN),
        Rotary(HEAD, 1e6, scaling=YARNED, amplitude=mscale(4.0)),
    ),
    Architecture("qwen3", sizes("qwen3", rope_parameters=rope(5e6), head_dim=HEAD), Rotary(HEAD, 5e6)),
    Architecture(
        "gemma2",
        sizes(
            "gemma2",
            num_hidden_layers=4,
            layer_types=TURN * 2,
            sliding_window=WINDOW,
            query_pre_attn_scalar=64,
            head_dim=HEAD,
            attn_logit_softcapping=None,
            rope_parameters=rope(1e4),
        ),
        Rotary(HEAD, 1e4),
        window=WINDOW,
        scale=64**-0.5,
    ),
    Architecture("gemma3 local", GEMMA3, GEMMA3_LOCAL, layer=1, window=WINDOW, other=GEMMA3_GLOBAL),
    Architecture("gemma3 global", GEMMA3, GEMMA3_GLOBAL, layer=3, other=GEMMA3_LOCAL),
    Architecture(
        "phi3",
        sizes(
            "phi3",
            original_max_position_embeddings=1024,
            rope_theta=1e4,
            sliding_window=None,
            rope_scaling={"type": "longrope", "short_factor": SHORT, "long_factor": LONG},
        ),
        Rotary(HEAD, 1e4, scaling=STRETCHED, amplitude=math.sqrt(1 + math.log(4) / math.log(1024))),
        options={"length": 4096},
    ),
    Architecture(
        "gpt_neox",
        sizes("gpt_neox", hidden_size=256, rotary_pct=0.25, rotary_emb_base=10_000),
        Rotary(64, 1e4, width=16),
        scale=0.125,
    ),
    Architecture(
        "gpt_oss",
        sizes(
            "gpt_oss",
            num_hidden_layers=4,
            max_position_embeddings=32_768,
            layer_types=TURN * 2,
            sliding_window=WINDOW,
            head_dim=HEAD,
            num_local_experts=4,
            num_experts_per_tok=2,
            rope_parameters=rope(150_000.0, "yarn", **YARN | {"factor": 32.0, "truncate": False}),
        ),
        Rotary(HEAD, 150_000.0, scaling=YARNED | {"factor": 32.0, "truncate": False}, amplitude=mscale(32.0)),
        layer=1,
        shows="rotation",
    ),
    Architecture(
        "glm4",
        sizes("glm4", head_dim=HEAD, partial_rotary_factor=0.5, rope_theta=1e4),
        Rotary(HEAD, 1e4, width=16, adjacent=True),
    ),
    Architecture("cohere2 local", COHERE2, COHERE2_LOCAL, layer=1, window=WINDOW),
    Architecture("cohere2 global", COHERE2, None, layer=3, other=COHERE2_LOCAL),
    Architecture("olmo3 local", OLMO3, OLMO3_LOCAL, layer=0, window=WINDOW, other=OLMO3_GLOBAL),
    Architecture("olmo3 global", OLMO3, OLMO3_GLOBAL, layer=3, other=OLMO3_LOCAL),
    Architecture("smollm3 rotating", SMOLLM3, Rotary(HEAD, 5e6), layer=1),
    Architecture("smollm3 NoPE", SMOLLM3, None, layer=3, other=Rotary(HEAD, 5e6)),
    Architecture(
        "deepseek_v3",
        DEEPSEEK,
        Rotary(16, 1e4, adjacent=True, scaling=YARNED),
        shows="rotation",
    ),
    Architecture(
        "modernbert global", MODERNBERT, Rotary(HEAD, 160_000.0), layer=3, other=Rotary(HEAD, 1e4), shows="rotation"
    ),
    Architecture(
        "modernbert local", MODERNBERT, Rotary(HEAD, 1e4), layer=1, other=Rotary(HEAD, 160_000.0), shows="rotation"
    ),
]

BIASES = {
    "bloom": {"model_type": "bloom", "n_head": 8, "n_layer": 2, "hidden_size": 64, "vocab_size": 64},
    "bloom 12 heads": {"model_type": "bloom", "n_head": 12, "n_layer": 2, "hidden_size": 96, "vocab_size": 64},
    "mpt": {"model_type": "mpt", "n_heads": 8, "n_layers": 2, "d_model": 64, "vocab_size": 64, "max_seq_len": 512,
            "attn_config": {"alibi": True, "alibi_bias_max": 8}},
}  # fmt: skip
T5 = {
    "model_type": "t5", "d_model": 64, "d_kv": 16, "d_ff": 64, "num_heads": 4, "num_layers": 2, "num_decoder_layers": 2,
    "vocab_size": 64, "relative_attention_num_buckets": 32, "relative_attention_max_distance": 128,
    "is_encoder_decoder": True, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
TABLES = {  # config, and the row of position 0
    "gpt2": ({"model_type": "gpt2", "n_positions": 512, "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 64}, 0),
    "opt": (sizes("opt", hidden_size=64, ffn_dim=64, word_embed_proj_dim=64, max_position_embeddings=512), 2),
    "bert": (sizes("bert", hidden_size=64, max_position_embeddings=512), 0),
    "roberta": (sizes("roberta", hidden_size=64, max_position_embeddings=514, pad_token_id=1, bos_token_id=0), 2),
}
SECTIONS = [4, 6, 6]
QWEN2_VL = sizes(
    "qwen2_vl_text", rope_parameters=rope(1e6, mrope_section=SECTIONS), use_sliding_window=False,
)  # fmt: skip
