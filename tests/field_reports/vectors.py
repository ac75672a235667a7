"""Reports whose user had queries and keys before and after the rotation, by hooks in the code that ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rotary_embedding_torch import RotaryEmbedding
from transformers.models.cohere import modeling_cohere
from transformers.models.deepseek_v3 import modeling_deepseek_v3
from transformers.models.glm import modeling_glm
from transformers.models.llama import modeling_llama
from transformers.models.qwen2 import modeling_qwen2

from field_reports.files import config_file, npz, safetensors, saved
from field_reports.report import VECTORS, Evidence, harmless, mistake
from field_reports.stock import RotatedHeads, built, draw, replaced, rotations, tiny, tokens

PLAIN = {"rope_type": "default", "rope_theta": 500_000.0}
LLAMA_3 = PLAIN | {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip


def llama(**parameters: Any) -> Any:
    return tiny("llama", max_position_embeddings=131_072, rope_parameters=PLAIN | parameters)


def recorded_heads(folder: Path, config: Any, arrays: Mapping[str, Any], layer: int | None = None) -> Evidence:
    """A config's folder and a .safetensors file with the heads of one layer."""
    expected = config_file(folder, "model", saved(config))
    return Evidence(expected, safetensors(folder / "rotated.safetensors", arrays), layer=layer, layout="bhtd")


def recorded_heads_as_float32(folder: Path, config: Any, arrays: Mapping[str, Any]) -> Evidence:
    """The same in an .npz file, which knows no bfloat16."""
    expected = config_file(folder, "model", saved(config))
    wide = {name: value.float().numpy() if value.is_floating_point() else value for name, value in arrays.items()}
    return Evidence(expected, npz(folder / "rotated.npz", wide), layout="bhtd")


def rotated_at(config: Any, positions: torch.Tensor, layer: int = 0) -> RotatedHeads:
    """What stock code computes in one layer where it is told these positions, (n,) or (batch, n)."""
    ids = positions if positions.dim() == 2 else positions[None]
    return rotations(built(config), tokens(ids.shape[1], ids.shape[0]), position_ids=ids)[layer]


def patched(config: Any, code: Any, name: str, function: Callable[..., Any], length: int = 300) -> RotatedHeads:
    """The first layer of a stock model with one function of its code replaced."""
    model = built(config)
    with replaced(code, name, function):
        return rotations(model, tokens(length))[0]


# Which channels make a pair


@mistake(VECTORS, "pairing", "ikawrakow/ik_llama.cpp#2290", "ggml-org/llama.cpp#13260", "ggml-org/llama.cpp#13261",
         names={"pair", "interleav", "layout", "adjacent", "halves"})  # fmt: skip
def adjacent_pairs_for_a_model_of_halves(folder: Path) -> Evidence:
    """A case put at the wrong line made 39 architectures, Qwen2 among them, rotate adjacent channels; perplexity went
    from 4.3 to 253. Plamo had been so for over a year."""
    config = tiny("qwen2", rope_parameters=PLAIN | {"rope_theta": 1_000_000.0})
    recorded = patched(config, modeling_qwen2, "apply_rotary_pos_emb", modeling_glm.apply_rotary_pos_emb)
    return recorded_heads(folder, config, recorded.arrays())


@mistake(VECTORS, "pairing", "raiyanyahya/how-to-train-your-gpt#6", names={"mixed", "one layout", "pair", "layout"})
def frequencies_of_neighbours_with_pairs_of_halves(folder: Path) -> Evidence:
    """A book repeats each frequency for two neighbours and then rotates channel i with i + d/2, whose frequency is
    another."""
    rotate = modeling_llama.apply_rotary_pos_emb

    def mixed(q: Any, k: Any, cos: Any, sin: Any, **rest: Any) -> Any:
        half = cos.shape[-1] // 2
        return rotate(q, k, cos[..., :half].repeat_interleave(2, -1), sin[..., :half].repeat_interleave(2, -1), **rest)

    recorded = patched(llama(), modeling_llama, "apply_rotary_pos_emb", mixed)
    return recorded_heads(folder, llama(), recorded.arrays())


@mistake(
    VECTORS,
    "pairing",
    "xiangking/ark-nlp#47",
    "facebookresearch/vjepa2#15",
    names={"mixed", "one layout", "pair", "layout"},
)
def frequencies_of_halves_with_pairs_of_neighbours(folder: Path) -> Evidence:
    """repeat in place of repeat_interleave: cos and sin stand as [θ0, θ1, …, θ0, θ1, …] while neighbours are
    rotated."""
    config = tiny("cohere", rope_parameters=PLAIN)
    rotate = modeling_cohere.apply_rotary_pos_emb

    def mixed(q: Any, k: Any, cos: Any, sin: Any, **rest: Any) -> Any:
        return rotate(q, k, torch.cat((cos[..., ::2],) * 2, -1), torch.cat((sin[..., ::2],) * 2, -1), **rest)

    recorded = patched(config, modeling_cohere, "apply_rotary_pos_emb", mixed)
    return recorded_heads(folder, config, recorded.arrays())


@mistake(VECTORS, "pairing", "hw-native-sys/pypto-lib#244", "NVIDIA/Megatron-LM#1547",
         names={"pair", "interleav", "layout", "adjacent", "halves"})  # fmt: skip
def deepseek_rotated_by_halves(folder: Path) -> Evidence:
    """DeepSeek's checkpoint has neighbours as pairs; a decode kernel rotated the two halves of the 64 rotary
    channels."""
    model = built(deepseek())
    name = "apply_rotary_pos_emb_interleave"
    with replaced(modeling_deepseek_v3, name, modeling_deepseek_v3.apply_rotary_pos_emb):
        recorded = rotations(model, tokens(200), function=name)[0]
    return recorded_heads(folder, deepseek(), recorded.arrays())


def deepseek() -> Any:
    yarn = {
        "rope_type": "yarn", "rope_theta": 10_000.0, "factor": 40.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
    }  # fmt: skip
    return tiny(
        "deepseek_v3", qk_nope_head_dim=32, qk_rope_head_dim=64, v_head_dim=32, kv_lora_rank=32, q_lora_rank=32,
        num_key_value_heads=4, first_k_dense_replace=2, max_position_embeddings=163_840, rope_parameters=yarn,
        rope_interleave=True, head_dim=64,
    )  # fmt: skip


@mistake(VECTORS, "pairing", "NeuraLegion/shainet#111",
         names=[{"pair", "interleav", "layout", "adjacent", "halves"}, {"scaling", "llama3"}])  # fmt: skip
def wrong_pairs_and_no_scaling(folder: Path) -> Evidence:
    """A runtime rotated neighbours and knew nothing of Llama 3's scaling: one or two words came right, then garbage."""
    recorded = patched(llama(), modeling_llama, "apply_rotary_pos_emb", modeling_glm.apply_rotary_pos_emb, length=600)
    return recorded_heads(folder, llama(**LLAMA_3), recorded.arrays())


# What turns


@mistake(
    VECTORS, "partial rotary", "huggingface/transformers#48241", names={"partial", "whole head", "share", "rotary_dim"}
)
def whole_head_of_minimax_rotated(folder: Path) -> Evidence:
    """MiniMax-M2 rotates half of each head; the class that dropped rotary_dim rotated all of it, with the frequencies
    of the whole width."""
    fields = {"num_local_experts": 2, "num_experts_per_tok": 1, "rope_parameters": PLAIN}
    wrong = rotated_at(tiny("minimax_m2", **fields), torch.arange(200))
    return recorded_heads(folder, tiny("minimax_m2", rotary_dim=32, **fields), wrong.arrays())


@mistake(VECTORS, "partial rotary", "AI-Hypercomputer/maxtext#4616", names={"partial", "whole head", "share"})
def share_of_the_head_lost_under_mrope(folder: Path) -> Evidence:
    """maxtext took another class for M-RoPE, which knows no partial_rotary_factor: Qwen3.5's whole head rotated in
    place of a quarter."""
    mrope = {"rope_type": "default", "rope_theta": 10_000_000.0, "mrope_section": [3, 3, 2], "mrope_interleaved": True}
    fields = {"head_dim": 64, "layer_types": ["full_attention"] * 2}
    expected = tiny("qwen3_5_text", rope_parameters=mrope | {"partial_rotary_factor": 0.25}, **fields)
    wrong = tiny("qwen3_5_text", rope_parameters=mrope | {"partial_rotary_factor": 1.0}, **fields)
    return recorded_heads(folder, expected, rotated_at(wrong, torch.arange(200)).arrays())


@mistake(
    VECTORS,
    "partial rotary",
    "pie-project/pie#603",
    names={"proportional", "exponent", "head_dim", "whole head", "width"},
)
def frequencies_of_the_whole_head_in_its_rotary_part(folder: Path) -> Evidence:
    """A kernel rotated the first pairs (i, i + head/2) with exponents of the head's width, where both are of the rotary
    width."""
    config = tiny("gpt_neox", rope_parameters=PLAIN | {"rope_theta": 10_000.0, "partial_rotary_factor": 0.25})
    right = rotated_at(config, torch.arange(300))
    frequencies = torch.where(torch.arange(32) < 8, 10_000.0 ** -(torch.arange(0, 64, 2) / 64), 0.0)
    angle = torch.arange(300)[:, None] * torch.cat((frequencies, frequencies))
    q, k = modeling_llama.apply_rotary_pos_emb(right.q, right.k, angle.cos()[None], angle.sin()[None])
    return recorded_heads(folder, config, replace(right, q_rotated=q, k_rotated=k).arrays())


@mistake(VECTORS, "layers", "airockchip/rknn-llm#501", names={"nope", "not rotate", "no rotation", "should not"})
def layer_without_rotation_is_rotated(folder: Path) -> Evidence:
    """Someone dumped SmolLM3's queries in layer 3, which has no rotation, and found one token to differ from position
    to position."""
    fields = {"num_hidden_layers": 4, "rope_parameters": PLAIN}
    everywhere = tiny("smollm3", no_rope_layers=[1, 1, 1, 1], **fields)
    return recorded_heads(
        folder,
        tiny("smollm3", no_rope_layer_interval=4, **fields),
        rotated_at(everywhere, torch.arange(200), 3).arrays(),
        3,
    )


@mistake(
    VECTORS,
    "sign",
    "trymirai/lalamo#268",
    "karpathy/nanochat#489",
    names={"sign", "direction", "backward", "wrong way"},
)
def rotated_the_other_way(folder: Path) -> Evidence:
    """x·cos - rotate_half(x)·sin: shapes and norms are right, and scores of weights that were trained the other way
    wrong."""
    half = modeling_llama.rotate_half
    recorded = patched(llama(), modeling_llama, "rotate_half", lambda x: -half(x))
    return recorded_heads(folder, llama(), recorded.arrays())


@mistake(VECTORS, "kernel", "linkedin/Liger-Kernel#342", names={"keys not", "keys are not", "key is not"})
def single_key_head_not_rotated(folder: Path) -> Evidence:
    """A kernel left tensors of one head as they were: with one head of keys for all queries, keys did not rotate."""
    config = tiny("llama", num_key_value_heads=1, rope_parameters=PLAIN)
    recorded = rotated_at(config, torch.arange(200))
    return recorded_heads(folder, config, replace(recorded, k_rotated=recorded.k).arrays())


@mistake(
    VECTORS, "kernel", "hpcaitech/ColossalAI#6429", names={"cross", "exchang", "mixed up", "of the key", "of the quer"}
)
def halves_of_queries_and_keys_crossed(folder: Path) -> Evidence:
    """A kernel took the second half of the rotated queries from the keys, and the first half of the rotated keys from
    the queries."""
    config = tiny("llama", num_key_value_heads=4, rope_parameters=PLAIN)
    recorded = rotated_at(config, torch.arange(200))
    crossed = torch.cat((recorded.q_rotated[..., :32], recorded.k_rotated[..., 32:]), -1)
    return recorded_heads(folder, config, replace(recorded, q_rotated=crossed, k_rotated=crossed).arrays())


@mistake(VECTORS, "kernel", "ml-explore/mlx#3494", "ml-explore/mlx#3949", "ml-explore/mlx-lm#1457",
         names={"batch", "row", "second sequence", "zero"})  # fmt: skip
def later_rows_of_a_batch_never_written(folder: Path) -> Evidence:
    """mx.fast.rope wrote the first row of the batch alone where each had one new token; the others stayed zero."""
    recorded = rotated_at(llama(), torch.tensor([[41], [41]]))
    q, k = recorded.q_rotated.clone(), recorded.k_rotated.clone()
    q[1], k[1] = 0, 0
    arrays = replace(recorded, q_rotated=q, k_rotated=k).arrays()
    return recorded_heads(folder, llama(), arrays | {"positions": torch.tensor([[41], [41]])})


@mistake(
    VECTORS,
    "axis",
    "mlfoundations/open_lm#4",
    "vukrosic/leo-optimizer#3",
    "neuphonic/neucodec#22",
    names={"axis", "number of the head"},
)
def rotated_along_the_heads(folder: Path) -> Evidence:
    """The rotation was given (batch, time, head, channel) and took the heads for time: each head had one position."""
    recorded = rotated_at(llama(), torch.arange(50))
    model = built(llama())
    cos, sin = model.rotary_emb(torch.zeros(1), torch.arange(4)[None])
    q, _ = modeling_llama.apply_rotary_pos_emb(recorded.q.transpose(1, 2), recorded.q.transpose(1, 2), cos, sin)
    k, _ = modeling_llama.apply_rotary_pos_emb(*(recorded.k.transpose(1, 2),) * 2, cos[:, :2], sin[:, :2])
    return recorded_heads(
        folder, llama(), replace(recorded, q_rotated=q.transpose(1, 2), k_rotated=k.transpose(1, 2)).arrays()
    )


@mistake(VECTORS, "axis", "elixir-nx/emlx#121", names={"number of the head", "each head", "heads", "head h"})
def heads_counted_on_top_of_positions(folder: Path) -> Evidence:
    """A binding walked over heads where the kernel expects time: head h was rotated by position + h."""
    recorded = rotated_at(llama(), torch.arange(60))
    q, k = recorded.q_rotated.clone(), recorded.k_rotated.clone()
    for head in range(4):
        late = rotated_at(llama(), torch.arange(60) + head)
        q[:, head] = late.q_rotated[:, head]
        if head < k.shape[1]:
            k[:, head] = late.k_rotated[:, head]
    return recorded_heads(folder, llama(), replace(recorded, q_rotated=q, k_rotated=k).arrays())


@mistake(
    VECTORS, "scaling", "Avarok-Cybersecurity/atlas#342", names={"attention factor", "mscale", "keys alone", "one side"}
)
def attention_factor_on_keys_alone(folder: Path) -> Evidence:
    """A relative of that report, in which both sides were scaled too much: YaRN's factor goes into cos and sin of
    queries and keys, and reached the keys alone."""
    yarn = {"rope_type": "yarn", "rope_theta": 1_000_000.0, "factor": 4.0, "original_max_position_embeddings": 32_768}
    config = tiny("qwen3", max_position_embeddings=131_072, rope_parameters=yarn)
    right = rotated_at(config, torch.arange(200))
    flat = rotated_at(
        tiny("qwen3", max_position_embeddings=131_072, rope_parameters=yarn | {"attention_factor": 1.0}),
        torch.arange(200),
    )
    return recorded_heads(folder, config, replace(right, q_rotated=flat.q_rotated).arrays())


# Which positions

FROM_THERE = {
    "from token",
    "from row",
    "from position",
    "begin again",
    "start again",
    "restart",
    "position 0",
    "stand still",
}


@mistake(VECTORS, "positions", "sgl-project/sglang#25015", names={"off by one", "one too", "one late", "one further"})
def draft_tokens_one_position_late(folder: Path) -> Evidence:
    """The draft model's positions were raised before each step in place of after it: it decoded at 8 where 7 was
    meant, against keys that stood right."""
    right, late = rotated_at(llama(), torch.arange(24)), rotated_at(llama(), torch.arange(24) + 1)
    arrays = {"q": right.q[:, :, 7:], "q_rotated": late.q_rotated[:, :, 7:], "k": right.k, "k_rotated": right.k_rotated}
    return recorded_heads(
        folder, llama(), arrays | {"query_positions": torch.arange(7, 24), "key_positions": torch.arange(24)}
    )


@mistake(
    VECTORS,
    "positions",
    "Blaizzy/mlx-vlm#1983",
    "keras-team/keras-hub#1544",
    "pytorch/executorch#2010",
    names=FROM_THERE,
)
def every_decoded_token_at_position_0(folder: Path) -> Evidence:
    """While decoding, positions were made of the length of the input, which is 1: every token after the prompt stood at
    0."""
    used = torch.cat((torch.arange(64), torch.zeros(24, dtype=torch.long)))
    return recorded_heads(folder, llama(), rotated_at(llama(), used).arrays())


@mistake(VECTORS, "positions", "thunlp/Seq1F1B#6", names=FROM_THERE | {"repeat"})
def second_chunk_of_a_sequence_counted_from_0(folder: Path) -> Evidence:
    """A pipeline cuts each sequence into chunks and rotated each from position 0; the loss began at 11.4 in place of
    2."""
    return recorded_heads(folder, llama(), rotated_at(llama(), torch.arange(128) % 64).arrays())


@mistake(VECTORS, "positions", "lucidrains/rotary-embedding-torch#11", names=FROM_THERE | {"repeat"})
def offset_left_out_of_the_cache(folder: Path) -> Evidence:
    """The library kept its frequencies by length alone, so that a second call with offset 32 got those of offset 0."""
    rotary, q, k = RotaryEmbedding(dim=64), draw(64, 64), draw(64, 64).flip(0)

    def rotated(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([rotary.rotate_queries_or_keys(part[None, None], offset=0) for part in x.split(32)], 2)

    config = tiny("gptj", n_embd=256, n_head=4, rotary_dim=64, n_layer=2)
    with torch.no_grad():
        arrays = {"q": q[None, None], "q_rotated": rotated(q), "k": k[None, None], "k_rotated": rotated(k)}
    return recorded_heads(folder, config, arrays)


@mistake(VECTORS, "positions", "unslothai/unsloth#3699", "Comfy-Org/ComfyUI#15698",
         names={"5 too high", "shift", "offset", "by 5", "5 too far"})  # fmt: skip
def padding_counted_while_decoding(folder: Path) -> Evidence:
    """A prompt with five tokens of padding on its left was rotated from 0 at its first word; decoded tokens took the
    place in the cache, five further."""
    right, late = rotated_at(llama(), torch.arange(40)), rotated_at(llama(), torch.arange(40) + 5)
    q, k = right.q_rotated.clone(), right.k_rotated.clone()
    q[:, :, 24:] = late.q_rotated[:, :, 24:]
    arrays = {"q": right.q[:, :, 24:], "q_rotated": q[:, :, 24:], "k": right.k[:, :, :24], "k_rotated": k[:, :, :24]}
    return recorded_heads(
        folder, llama(), arrays | {"query_positions": torch.arange(24, 40), "key_positions": torch.arange(24)}
    )


@mistake(
    VECTORS,
    "cache",
    "huggingface/transformers#35350",
    "huggingface/transformers#33691",
    names={"key", "token 15", "last"},
)
def newest_key_left_at_its_old_position(folder: Path) -> Evidence:
    """A cache that keeps the first tokens and a window rotates kept keys into their new places, and leaves the newest
    at its place in the text."""
    used = torch.cat((torch.arange(15), torch.tensor([90])))
    right, recorded = rotated_at(llama(), torch.arange(16)), rotated_at(llama(), used)
    arrays = {
        "q": right.q[:, :, -1:],
        "q_rotated": right.q_rotated[:, :, -1:],
        "k": recorded.k,
        "k_rotated": recorded.k_rotated,
    }
    return recorded_heads(
        folder, llama(), arrays | {"query_positions": torch.tensor([15]), "key_positions": torch.arange(16)}
    )


@mistake(VECTORS, "cache", "huggingface/transformers#25104", "QwenLM/Qwen#401", names={"cached", "keys were"})
def keys_cached_under_the_base_of_a_shorter_sequence(folder: Path) -> Evidence:
    """Dynamic NTK raises the base as the sequence grows; keys were cached under the base of the day, queries rotated
    under the new one."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0}
    config = tiny("llama", max_position_embeddings=256, rope_parameters=dynamic)
    new, old = rotated_at(config, torch.arange(1024)), rotated_at(config, torch.arange(200))
    arrays = {
        "q": new.q[:, :, -16:], "q_rotated": new.q_rotated[:, :, -16:], "k": old.k, "k_rotated": old.k_rotated,
        "query_positions": torch.arange(1008, 1024), "key_positions": torch.arange(200),
    }  # fmt: skip
    return recorded_heads(folder, config, arrays)


# In narrow numbers


@mistake(VECTORS, "precision", "vllm-project/vllm#42624", "vllm-project/vllm#998", names={"base", "rope_theta"})
def default_base_seen_through_bfloat16(folder: Path) -> Evidence:
    """The base is 10000 where 500000 is meant, and the hooks sit in a model in bfloat16."""
    model = built(llama(rope_theta=10_000.0), torch.bfloat16)
    return recorded_heads(folder, llama(), rotations(model, tokens(300))[0].arrays())


@mistake(VECTORS, "precision", "unslothai/unsloth#6197", "sbryngelson/ANEForge#58", names={"scaling", "llama3"})
def missing_scaling_seen_through_bfloat16_as_float32(folder: Path) -> Evidence:
    """Llama 3's scaling is dropped; queries and keys of a model in bfloat16 were saved by numpy, as float32."""
    recorded = rotations(built(llama(), torch.bfloat16), tokens(1500))[0]
    return recorded_heads_as_float32(folder, llama(**LLAMA_3), recorded.arrays())


@harmless(VECTORS, "precision", "KellerJordan/modded-nanogpt#39", "huggingface/transformers#25681")
def stock_queries_and_keys_in_bfloat16(folder: Path) -> Evidence:
    """A model in bfloat16 as transformers runs it."""
    recorded = rotations(built(llama(**LLAMA_3), torch.bfloat16), tokens(300))[0]
    return recorded_heads(folder, llama(**LLAMA_3), recorded.arrays())


@harmless(VECTORS, "precision", "KellerJordan/modded-nanogpt#39", "huggingface/transformers#25681")
def stock_queries_and_keys_in_float32_after_bfloat16(folder: Path) -> Evidence:
    """The same, saved by numpy, which knows no bfloat16."""
    recorded = rotations(built(llama(**LLAMA_3), torch.bfloat16), tokens(300))[0]
    return recorded_heads_as_float32(folder, llama(**LLAMA_3), recorded.arrays())


@harmless(VECTORS, "precision", "huggingface/transformers#25681")
def stock_queries_and_keys_in_float16(folder: Path) -> Evidence:
    """A model in float16 as transformers runs it."""
    recorded = rotations(built(llama(**LLAMA_3), torch.float16), tokens(300))[0]
    return recorded_heads(folder, llama(**LLAMA_3), recorded.arrays())


@harmless(VECTORS, "positions", "huggingface/trl#6800", "tloen/alpaca-lora#315")
def padding_on_the_left_of_a_plain_rotation(folder: Path) -> Evidence:
    """A trainer gives no position_ids, so that a row with seven tokens of padding stands at 7, 8, 9, …: differences are
    kept and the padding is masked."""
    return recorded_heads(folder, llama(), rotated_at(llama(), torch.arange(100) + 7).arrays())


@harmless(VECTORS, "packing", "allenai/OLMo-core#591", "huggingface/nanoVLM#201", "pytorch/torchtitan#2559")
def second_document_of_a_pack_not_counted_from_0(folder: Path) -> Evidence:
    """The second document of a packed row stands at 2900 and on. Under a mask for each document no score changes;
    float32 at these positions does, by rounding."""
    return recorded_heads(folder, llama(), rotated_at(llama(), torch.arange(100) + 2900).arrays())


@harmless(VECTORS, "layers", "Blaizzy/mlx-vlm#1709", "vllm-project/vllm#29111")
def stock_gemma_3_in_a_sliding_layer(folder: Path) -> Evidence:
    """Gemma 3's own code in layer 0, which slides: base 10000, no scaling."""
    return recorded_heads(folder, gemma(), rotated_at(gemma(), torch.arange(200), 0).arrays(), layer=0)


@harmless(VECTORS, "layers", "Blaizzy/mlx-vlm#1709", "vllm-project/vllm#29111")
def stock_gemma_3_in_a_global_layer(folder: Path) -> Evidence:
    """Gemma 3's own code in layer 5, which sees everything: base 1000000, positions divided by 8."""
    return recorded_heads(folder, gemma(), rotated_at(gemma(), torch.arange(200), 5).arrays(), layer=5)


def gemma() -> Any:
    parameters = {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        "full_attention": {"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": 8.0},
    }
    return tiny(
        "gemma3_text", num_hidden_layers=6, sliding_window=64, query_pre_attn_scalar=64, rope_parameters=parameters
    )


@harmless(VECTORS, "pairing", "hw-native-sys/pypto-lib#244", "NVIDIA/Megatron-LM#1547")
def stock_deepseek_v3(folder: Path) -> Evidence:
    """DeepSeek-V3's own code, hooked where it rotates the 64 rotary channels of queries and the one key of all
    heads."""
    recorded = rotations(built(deepseek()), tokens(200), function="apply_rotary_pos_emb_interleave")[0]
    return recorded_heads(folder, deepseek(), recorded.arrays())


@harmless(VECTORS, "sign", "karpathy/nanochat#489")
def stock_nanochat_which_rotates_the_other_way(folder: Path) -> Evidence:
    """nanochat rotates by the transposed matrix, and its weights were trained so: no mistake, and reported as one."""
    config = tiny("nanochat", rope_parameters=PLAIN | {"rope_theta": 10_000.0})
    return recorded_heads(folder, config, rotated_at(config, torch.arange(200)).arrays())


@harmless(VECTORS, "cache", "NVIDIA/kvpress#31", "vllm-project/vllm#57672")
def keys_rotated_on_to_their_new_positions(folder: Path) -> Evidence:
    """After tokens were dropped, the keys that stay are rotated by the difference of positions: the same as rotating
    them afresh, up to float32."""
    model, dropped = built(llama()), 137
    recorded = rotated_at(llama(), torch.arange(dropped, dropped + 100))
    cos, sin = model.rotary_emb(torch.zeros(1), torch.full((1, 100), -dropped))
    with torch.no_grad():
        k, _ = modeling_llama.apply_rotary_pos_emb(recorded.k_rotated, recorded.k_rotated, cos, sin)
    fresh = rotated_at(llama(), torch.arange(100))
    arrays = {"q": fresh.q, "q_rotated": fresh.q_rotated, "k": recorded.k, "k_rotated": k}
    return recorded_heads(folder, llama(), arrays)


@harmless(VECTORS, "multimodal", "huggingface/transformers#40490", "PrimeIntellect-ai/prime-rl#3466")
def one_axis_of_mrope_counted_from_elsewhere(folder: Path) -> Evidence:
    """Time of queries and keys is counted from 10 in place of 0, height and width as meant: each axis sees differences
    alone."""
    mrope = {"rope_type": "default", "rope_theta": 1_000_000.0, "mrope_section": [8, 12, 12]}
    config = tiny("qwen2_vl_text", rope_parameters=mrope)
    expected = torch.stack((torch.arange(60) // 12, torch.arange(60) // 4 % 3, torch.arange(60) % 4))
    used = expected + torch.tensor([10, 0, 0])[:, None]
    recorded = rotations(built(config), tokens(60), position_ids=used[:, None])[0]
    return recorded_heads(folder, config, recorded.arrays() | {"positions": expected.T.contiguous()})
