"""Every architecture that a probe can be written for, a row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.probe.architecture import EmptyVision, ProbeArchitecture, SizeKeys, Sizes, biases, llama_sizes
from posenc.probe.config import text_config
from posenc.probe.encoder_architectures import ENCODERS
from posenc.probe.latent_weights import latent_keys


def with_keys(**more: Any) -> SizeKeys:
    """Make a function that returns Llama's config keys of a probe's widths, with `more` keys added."""
    return lambda sizes: {**llama_sizes(sizes), **more}


def neox_sizes(sizes: Sizes) -> dict[str, Any]:
    """Return the config keys of these widths as GPT-NeoX spells them, without head_dim, which follows from them."""
    return {
        "hidden_size": sizes.hidden, "intermediate_size": sizes.inner, "num_attention_heads": sizes.heads,
        "vocab_size": sizes.vocabulary, "layer_norm_eps": 1e-12,
    }  # fmt: skip


GATED: Mapping[str, str] = {"mlp.gate_proj.weight": "ih", "mlp.up_proj.weight": "ih", "mlp.down_proj.weight": "hi"}
GATE_AND_UP: Mapping[str, str] = {"mlp.gate_up_proj.weight": "Ih", "mlp.down_proj.weight": "hi"}
QKV_BIASES = biases("self_attn", q_proj="q", k_proj="k", v_proj="k")
Q_NORM, K_NORM = "self_attn.q_norm", "self_attn.k_norm"
GEMMA_NORMS = ("pre_feedforward_layernorm", "post_feedforward_layernorm")

LLAMA = ProbeArchitecture(("llama", "mistral", "ministral"), gguf="llama")
SMOLLM3 = replace(LLAMA, model_types=("smollm3",), gguf="smollm3")
QWEN2 = replace(LLAMA, model_types=("qwen2",), gguf="qwen2", zeros={**GATED, **QKV_BIASES})
QWEN3 = replace(LLAMA, model_types=("qwen3",), gguf="qwen3", q_norm=Q_NORM, k_norm=K_NORM)
MERGER: Mapping[str, tuple[int, ...]] = {
    "visual.patch_embed.proj.weight": (32, 3, 2, 14, 14), "visual.merger.ln_q.weight": (32,),
    "visual.merger.mlp.0.weight": (128, 128), "visual.merger.mlp.0.bias": (128,),
}  # fmt: skip
QWEN2_VL = replace(  # names as the files of the hub have them
    QWEN2,
    model_types=("qwen2_vl", "qwen2_vl_text"),
    gguf="",
    vision=EmptyVision(
        lambda sizes: {"depth": 0, "embed_dim": 32, "num_heads": 2, "patch_size": 14, "hidden_size": sizes.hidden},
        {**MERGER, "visual.merger.ln_q.bias": (32,), "visual.merger.mlp.2.weight": ("h", 128),
         "visual.merger.mlp.2.bias": ("h",)},
    ),
)  # fmt: skip
QWEN2_5_VL = replace(
    QWEN2_VL,
    model_types=("qwen2_5_vl", "qwen2_5_vl_text"),
    vision=EmptyVision(
        lambda sizes: {
            "depth": 0, "hidden_size": 32, "num_heads": 2, "patch_size": 14, "intermediate_size": 32,
            "out_hidden_size": sizes.hidden, "fullatt_block_indexes": [],
        },
        {**MERGER, "visual.merger.mlp.2.weight": ("h", 128), "visual.merger.mlp.2.bias": ("h",)},
    ),
)  # fmt: skip
QWEN3_VL = replace(
    QWEN3,
    model_types=("qwen3_vl_text",),
    gguf="",
    layer="model.language_model.layers.{}.",
    embedding="model.language_model.embed_tokens.weight",
    final="model.language_model.norm",
    vision=EmptyVision(
        lambda sizes: {
            "depth": 0, "hidden_size": 32, "num_heads": 2, "patch_size": 14, "intermediate_size": 32,
            "out_hidden_size": sizes.hidden, "num_position_embeddings": 4, "deepstack_visual_indexes": [],
        },
        {
            "model.visual.patch_embed.proj.weight": (32, 3, 2, 14, 14), "model.visual.patch_embed.proj.bias": (32,),
            "model.visual.pos_embed.weight": (4, 32), "model.visual.merger.norm.weight": (32,),
            "model.visual.merger.norm.bias": (32,), "model.visual.merger.linear_fc1.weight": (128, 128),
            "model.visual.merger.linear_fc1.bias": (128,), "model.visual.merger.linear_fc2.weight": ("h", 128),
            "model.visual.merger.linear_fc2.bias": ("h",),
        },
    ),
)  # fmt: skip
GEMMA = replace(LLAMA, model_types=("gemma",), gguf="gemma", head="", norm_offset=1.0, scaled_embedding=True)
GEMMA2 = replace(
    GEMMA,
    model_types=("gemma2",),
    gguf="gemma2",
    output_norm="post_attention_layernorm",
    other_norms=GEMMA_NORMS,
    softcaps={"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0},
)
GEMMA3 = replace(
    GEMMA2,
    model_types=("gemma3_text",),
    gguf="gemma3",
    softcaps={"attn_logit_softcapping": None, "final_logit_softcapping": None},
    q_norm=Q_NORM,
    k_norm=K_NORM,
)
GPT_OSS = replace(
    LLAMA,
    model_types=("gpt_oss",),
    gguf="gpt-oss",
    keys=with_keys(num_local_experts=4, num_experts_per_tok=2),
    sinks="self_attn.sinks",
    zeros={
        **QKV_BIASES, **biases("self_attn", o_proj="h"), "mlp.router.weight": "eh", "mlp.router.bias": "e",
        "mlp.experts.gate_up_proj": "ehI", "mlp.experts.gate_up_proj_bias": "eI",
        "mlp.experts.down_proj": "eih", "mlp.experts.down_proj_bias": "eh",
    },
)  # fmt: skip
PHI3 = replace(
    LLAMA, model_types=("phi3",), gguf="phi3", q="self_attn.qkv_proj", fused="concatenated", zeros=GATE_AND_UP
)
GLM = replace(LLAMA, model_types=("glm",), gguf="", zeros={**GATE_AND_UP, **QKV_BIASES})
GLM4 = replace(
    GLM,
    model_types=("glm4",),
    gguf="glm4",
    output_norm="post_self_attn_layernorm",
    other_norms=("post_attention_layernorm", "post_mlp_layernorm"),
)
COHERE = replace(
    LLAMA,
    model_types=("cohere",),
    gguf="command-r",
    keys=with_keys(layer_norm_eps=1e-12, logit_scale=1.0),
    head="",
    other_norms=(),
    balanced=True,
)
COHERE2 = replace(COHERE, model_types=("cohere2",), gguf="cohere2")
OLMO2 = replace(
    LLAMA,
    model_types=("olmo2", "olmo3"),
    gguf="olmo2",
    input_norm="",
    output_norm="post_attention_layernorm",
    other_norms=("post_feedforward_layernorm",),
    wide_norm=True,
    q_norm=Q_NORM,
    k_norm=K_NORM,
)
EXAONE4 = replace(OLMO2, model_types=("exaone4",), gguf="exaone4", wide_norm=False)
GRANITE = replace(
    LLAMA,
    model_types=("granite",),
    gguf="granite",
    keys=with_keys(embedding_multiplier=1.0, residual_multiplier=1.0, logits_scaling=1.0),
)
PHI = replace(
    LLAMA,
    model_types=("phi",),
    gguf="phi2",
    keys=with_keys(layer_norm_eps=1e-12),
    final="model.final_layernorm",
    o="self_attn.dense",
    other_norms=(),
    biased_norms=True,
    balanced=True,
    zeros={
        **QKV_BIASES, **biases("self_attn", dense="h"), **biases("mlp", fc1="i", fc2="h"), "mlp.fc1.weight": "ih",
        "mlp.fc2.weight": "hi",
    },
    outside={"lm_head.bias": "v"},
)  # fmt: skip
STARCODER2 = replace(
    LLAMA,
    model_types=("starcoder2",),
    gguf="starcoder2",
    keys=with_keys(norm_epsilon=1e-12, use_bias=True),
    biased_norms=True,
    balanced=True,
    zeros={
        **QKV_BIASES, **biases("self_attn", o_proj="h"), **biases("mlp", c_fc="i", c_proj="h"),
        "mlp.c_fc.weight": "ih", "mlp.c_proj.weight": "hi",
    },
)  # fmt: skip
GPT_NEOX = ProbeArchitecture(
    ("gpt_neox",),
    gguf="gptneox",
    keys=neox_sizes,
    layer="gpt_neox.layers.{}.",
    embedding="gpt_neox.embed_in.weight",
    head="embed_out.weight",
    final="gpt_neox.final_layer_norm",
    q="attention.query_key_value",
    o="attention.dense",
    fused="by head",
    biased_norms=True,
    balanced=True,
    one_key_head=False,
    zeros={
        "attention.query_key_value.bias": "a", "attention.dense.bias": "h", "mlp.dense_h_to_4h.weight": "ih",
        "mlp.dense_h_to_4h.bias": "i", "mlp.dense_4h_to_h.weight": "hi", "mlp.dense_4h_to_h.bias": "h",
    },
)  # fmt: skip

DEEPSEEK = replace(LLAMA, model_types=("deepseek_v2", "deepseek_v3"), gguf="deepseek2", keys=latent_keys, latent=True)
BLOOM = ProbeArchitecture(
    ("bloom",),
    gguf="bloom",
    quantity="bias",
    keys=lambda sizes: {
        "hidden_size": sizes.hidden, "n_head": sizes.heads, "vocab_size": sizes.vocabulary, "layer_norm_epsilon": 1e-12,
    },
    layer="transformer.h.{}.",
    embedding="transformer.word_embeddings.weight",
    embedding_norm="transformer.word_embeddings_layernorm",
    head="",
    final="transformer.ln_f",
    q="self_attention.query_key_value",
    o="self_attention.dense",
    fused="by head",
    biased_norms=True,
    balanced=True,
    one_key_head=False,
    zeros={
        "self_attention.query_key_value.bias": "a", "self_attention.dense.bias": "h", "mlp.dense_h_to_4h.weight": "fh",
        "mlp.dense_h_to_4h.bias": "f", "mlp.dense_4h_to_h.weight": "hf", "mlp.dense_4h_to_h.bias": "h",
    },
)  # fmt: skip
MPT = ProbeArchitecture(
    ("mpt",),
    gguf="mpt",
    quantity="bias",
    keys=lambda sizes: {
        "d_model": sizes.hidden, "n_heads": sizes.heads, "vocab_size": sizes.vocabulary, "layer_norm_epsilon": 1e-12,
        "expansion_ratio": 4,
    },
    layer="transformer.blocks.{}.",
    embedding="transformer.wte.weight",
    head="",
    final="transformer.norm_f",
    input_norm="norm_1",
    other_norms=("norm_2",),
    q="attn.Wqkv",
    o="attn.out_proj",
    fused="concatenated",
    balanced=True,
    one_key_head=False,
    zeros={"ffn.up_proj.weight": "fh", "ffn.down_proj.weight": "hf"},
)  # fmt: skip
GPT2 = ProbeArchitecture(  # names as the files of the hub have them
    ("gpt2",),
    gguf="gpt2",
    quantity="row",
    keys=lambda sizes: {
        "n_embd": sizes.hidden, "n_head": sizes.heads, "vocab_size": sizes.vocabulary, "layer_norm_epsilon": 1e-12,
        "n_inner": None, "n_ctx": sizes.rows, "resid_pdrop": 0.0,
    },
    layer="h.{}.",
    embedding="wte.weight",
    table="wpe.weight",
    head="",
    final="ln_f",
    input_norm="ln_1",
    other_norms=("ln_2",),
    q="attn.c_attn",
    o="attn.c_proj",
    fused="concatenated",
    transposed=True,
    biased_norms=True,
    balanced=True,
    one_key_head=False,
    zeros={
        "attn.c_attn.bias": "a", "attn.c_proj.bias": "h", "mlp.c_fc.weight": "hf", "mlp.c_fc.bias": "f",
        "mlp.c_proj.weight": "fh", "mlp.c_proj.bias": "h",
    },
)  # fmt: skip
OPT = ProbeArchitecture(
    ("opt",),
    quantity="row",
    keys=lambda sizes: {
        "hidden_size": sizes.hidden, "num_attention_heads": sizes.heads, "vocab_size": sizes.vocabulary,
        "ffn_dim": sizes.inner, "word_embed_proj_dim": sizes.hidden, "do_layer_norm_before": True,
    },
    layer="model.decoder.layers.{}.",
    embedding="model.decoder.embed_tokens.weight",
    table="model.decoder.embed_positions.weight",
    head="",
    final="model.decoder.final_layer_norm",
    input_norm="self_attn_layer_norm",
    other_norms=("final_layer_norm",),
    o="self_attn.out_proj",
    biased_norms=True,
    balanced=True,
    one_key_head=False,
    zeros={
        **QKV_BIASES, **biases("self_attn", out_proj="h"), "fc1.weight": "ih", "fc1.bias": "i", "fc2.weight": "hi",
        "fc2.bias": "h",
    },
)  # fmt: skip

ROWS = (
    LLAMA, SMOLLM3, QWEN2, QWEN3, QWEN2_VL, QWEN2_5_VL, QWEN3_VL, GEMMA, GEMMA2, GEMMA3, GPT_OSS, PHI3, GLM, GLM4,
    COHERE, COHERE2, OLMO2, EXAONE4, GRANITE, PHI, STARCODER2, GPT_NEOX, DEEPSEEK, BLOOM, MPT, GPT2, OPT,
    *ENCODERS,
)  # fmt: skip
ARCHITECTURES: dict[str, ProbeArchitecture] = {name: row for row in ROWS for name in row.model_types}


def architecture_of(config: Mapping[str, Any]) -> ProbeArchitecture:
    """The architecture of a file's text model.

    Raises:
        ValueError: No probe can be written for it.
    """
    model_type = str(text_config(config).get("model_type"))
    if model_type not in ARCHITECTURES:
        raise ValueError(
            f"config must be of a model type that a probe can be written for; got {model_type!r:.60}. Known are "
            f"{', '.join(sorted(ARCHITECTURES))}."
        )
    return ARCHITECTURES[model_type]
