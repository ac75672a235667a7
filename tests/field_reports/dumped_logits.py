"""Reports whose user had logits with the queries and keys, not yet rotated, of which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers.models.gemma4 import modeling_gemma4
from transformers.models.glm import modeling_glm
from transformers.models.llama import modeling_llama

from field_reports.files import config_file, safetensors, saved
from field_reports.report import LOGITS, Evidence, harmless, mistake
from field_reports.stock import built, replaced, rotations, scores, tiny, tokens
from field_reports.vectors import deepseek, llama


def scored(folder: Path, config: Any, arrays: Mapping[str, Any], layer: int | None = None) -> Evidence:
    """A config's folder and a .safetensors file with one head."""
    expected = config_file(folder, "model", saved(config))
    return Evidence(expected, safetensors(folder / "logits.safetensors", arrays), layer=layer)


def one_head(model: Any, length: int = 200, **arguments: Any) -> dict[str, torch.Tensor]:
    """The first head of a stock model's first layer: queries and keys before the rotation, and their scaled products
    after it."""
    ids = tokens(length)
    recorded = rotations(model, ids, **arguments)[0]
    return {"q": recorded.q[0, 0], "k": recorded.k[0, 0], "logits": scores(model, ids, **arguments)[0].logits[0, 0]}


def deepseek_head(model: Any, length: int = 200) -> dict[str, torch.Tensor]:
    """The same of DeepSeek-V3, whose heads are 32 channels without rotation and, after them, the rotary ones."""
    ids = tokens(length)
    rotary = rotations(model, ids, function="apply_rotary_pos_emb_interleave")[0]
    scored_heads = scores(model, ids)[0]
    q = torch.cat((scored_heads.query[0, 0, :, :32], rotary.q[0, 0]), -1)
    k = torch.cat((scored_heads.key[0, 0, :, :32], rotary.k[0, 0]), -1)
    return {"q": q, "k": k, "logits": scored_heads.logits[0, 0]}


def gemma_4_head(model: Any, length: int = 200) -> dict[str, torch.Tensor]:
    """The same of Gemma 4, which rotates queries and keys one after the other, by a function of one tensor."""
    given: list[torch.Tensor] = []
    rotate = modeling_gemma4.apply_rotary_pos_emb

    def recording(x: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        given.append(x.clone())
        return rotate(x, *rest, **named)

    with replaced(modeling_gemma4, "apply_rotary_pos_emb", recording):
        scored_heads = scores(model, tokens(length))[0]
    return {"q": given[0][0, :, 0], "k": given[1][0, :, 0], "logits": scored_heads.logits[0, 0]}


@mistake(LOGITS, "scale", "antonellof/ferrox#40", "ggml-org/llama.cpp#8444", "TransformerLensOrg/TransformerLens#694",
         names={"query_pre_attn_scalar", "scale", "logit factor", "softmax factor", "softmax"})  # fmt: skip
def scale_of_the_head_width_for_gemma_27b(folder: Path) -> Evidence:
    """Gemma's 27B divides logits by the root of query_pre_attn_scalar, which is not the width of its heads; a port
    divided by that."""
    fields = {"sliding_window": 512, "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}
    wrong = built(tiny("gemma2", query_pre_attn_scalar=64, **fields))
    return scored(folder, tiny("gemma2", query_pre_attn_scalar=84, **fields), one_head(wrong))


@mistake(LOGITS, "scale", "zzhhjjj/gemma-triton-flash-attn#6", names={"√", "sqrt", "scale", "root", "factor"})
def root_of_the_width_for_gemma_4(folder: Path) -> Evidence:
    """Gemma 4 does not divide its logits at all; a kernel divided by the root of the head's width as usual."""
    config = tiny(
        "gemma4_text", sliding_window=512, global_head_dim=64, layer_types=["sliding_attention", "full_attention"]
    )
    wrong = built(config)
    for layer in wrong.layers:
        layer.self_attn.scaling = 64**-0.5
    return scored(folder, config, gemma_4_head(wrong), layer=0)


@mistake(LOGITS, "scale", "onnxruntime/mobius#548", "huggingface/transformers#47435",
         names={"mscale", "logit factor", "softmax", "scale"})  # fmt: skip
def square_of_mscale_left_out_of_the_softmax(folder: Path) -> Evidence:
    """DeepSeek scales the whole logit by the square of mscale besides cos and sin; with both mscales equal the factor
    in cos and sin is 1, and a port took that for all there is."""
    wrong = built(deepseek())
    for layer in wrong.layers:
        layer.self_attn.scaling = layer.self_attn.qk_head_dim**-0.5
    return scored(folder, deepseek(), deepseek_head(wrong))


@mistake(LOGITS, "config lost", "Open-Athena/MarinFold#180", "karpathy/llama2.c#356", names={"base", "rope_theta"})
def base_hard_coded_seen_in_logits(folder: Path) -> Evidence:
    """A runtime with 10000 written into its code was given a model of base 500000."""
    return scored(folder, llama(), one_head(built(llama(rope_theta=10_000.0))))


@mistake(LOGITS, "pairing", "ooples/AiDotNet#2074", "nurl-lang/nurl#584",
         names={"pair", "interleav", "layout", "adjacent", "halves"})  # fmt: skip
def pairs_of_neighbours_seen_in_logits(folder: Path) -> Evidence:
    """Weights of Hugging Face, whose pairs are halves, were rotated by neighbours; perplexity 35 in place of 11."""
    with replaced(modeling_llama, "apply_rotary_pos_emb", modeling_glm.apply_rotary_pos_emb):
        arrays = one_head(built(llama()))
    return scored(folder, llama(), arrays)


@harmless(LOGITS, "scale", "onnxruntime/mobius#548", "huggingface/transformers#47435")
def stock_deepseek_v3_logits(folder: Path) -> Evidence:
    """DeepSeek-V3's own code with YaRN and both mscales."""
    return scored(folder, deepseek(), deepseek_head(built(deepseek())))


@harmless(LOGITS, "positions", "PrimeIntellect-ai/prime-rl#3466", "huggingface/trl#6800")
def logits_of_positions_counted_from_elsewhere(folder: Path) -> Evidence:
    """Positions of queries and keys alike begin at 12: no logit changes."""
    return scored(folder, llama(), one_head(built(llama()), position_ids=torch.arange(12, 212)[None]))


@harmless(LOGITS, "precision", "KellerJordan/modded-nanogpt#39", "huggingface/transformers#25681")
def stock_logits_in_bfloat16(folder: Path) -> Evidence:
    """A model in bfloat16 as transformers runs it."""
    return scored(folder, llama(), one_head(built(llama(), torch.bfloat16)))
