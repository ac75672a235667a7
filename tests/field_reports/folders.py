"""Reports whose user had two folders with config and weights, before and after a conversion, or a checkpoint and a
config."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from field_reports.files import config_file, safetensors, saved
from field_reports.report import CHECKPOINT, FOLDERS, Evidence, harmless, mistake
from field_reports.stock import built, tiny
from field_reports.vectors import PLAIN, deepseek, llama

Tensors = dict[str, torch.Tensor]
PAIRING = {"permut", "pair", "interleav", "layout", "adjacent", "order of"}


def to_halves(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of neighbouring pairs as rows of halves, head by head: `permute` of transformers' converter of Llama."""
    width = rows.shape[0] // heads
    return rows.reshape(heads, width // 2, 2, -1).transpose(1, 2).reshape(rows.shape).contiguous()


def to_neighbours(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """The way back: `permute` of llama.cpp's converter."""
    width = rows.shape[0] // heads
    return rows.reshape(heads, 2, width // 2, -1).transpose(1, 2).reshape(rows.shape).contiguous()


def language_model(config: Any) -> Any:
    """With random weights, also where transformers starts from zeros and ones: biases and norms."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight += 0.3 * torch.randn_like(weight)
    return model


def converted(
    folder: Path, config: Any, change: Callable[[str, torch.Tensor], torch.Tensor], **config_change: Any
) -> Evidence:
    """A stock model as transformers saves it, and the same with its tensors changed by name, its config next to it."""
    original, other = folder / "original", folder / "converted"
    language_model(config).save_pretrained(original)
    tensors: Tensors = load_file(original / "model.safetensors")
    config_file(folder, "converted", saved(config) | {"architectures": ["LlamaForCausalLM"]} | config_change)
    save_file(
        {name: change(name, value) for name, value in tensors.items()}, other / "model.safetensors", {"format": "pt"}
    )
    return Evidence(original, other)


def heads_of(name: str, query: int = 4, key: int = 2) -> int:
    return query if "q_proj" in name or "q_norm" in name else key


def is_rotary(name: str, kind: str = "weight") -> bool:
    return name.endswith((f"q_proj.{kind}", f"k_proj.{kind}"))


@mistake(FOLDERS, "conversion", "huggingface/nanotron#427", "huggingface/nanotron#241", names=PAIRING)
def rows_of_neighbours_under_a_config_of_halves(folder: Path) -> Evidence:
    """nanotron's converter ignored rope_interleaved: weights trained with neighbours as pairs were saved for
    transformers without reordering. No error, and nonsense."""
    return converted(
        folder, llama(), lambda name, rows: to_neighbours(rows, heads_of(name)) if is_rotary(name) else rows
    )


@mistake(FOLDERS, "conversion", "ooples/AiDotNet#2074", "nurl-lang/nurl#584", names=PAIRING)
def rows_reordered_twice(folder: Path) -> Evidence:
    """A loader reordered weights that had been reordered before, for halves again: the operation does not undo
    itself."""
    return converted(folder, llama(), lambda name, rows: to_halves(rows, heads_of(name)) if is_rotary(name) else rows)


@mistake(FOLDERS, "conversion", "huggingface/transformers#31788", "ggml-org/llama.cpp#3364",
         names={"k_proj", "keys", "number of heads", "key heads", "num_key_value_heads"})  # fmt: skip
def keys_reordered_with_the_number_of_query_heads(folder: Path) -> Evidence:
    """Reading a GGUF file back, transformers undid the order of keys as if there were as many heads of keys as of
    queries. Llama 2 70B hid the same in llama.cpp, since 64 / 8 = 8."""

    def back(name: str, rows: torch.Tensor) -> torch.Tensor:
        if not is_rotary(name):
            return rows
        return to_halves(to_neighbours(rows, heads_of(name)), heads_of(name, key=4))

    return converted(folder, llama(), back)


@mistake(FOLDERS, "conversion", "vllm-project/vllm#55335", names=[PAIRING, {"norm"}])
def norms_left_in_the_old_order(folder: Path) -> Evidence:
    """Rows of queries and keys were reordered for pairs of neighbours, without the weights by which Qwen3 norms each
    head, and under a config that still says halves."""

    def reordered(name: str, rows: torch.Tensor) -> torch.Tensor:
        return to_neighbours(rows, heads_of(name)) if is_rotary(name) else rows

    return converted(folder, tiny("qwen3", rope_parameters=PLAIN), reordered)


def deepseek_in_halves(name: str, rows: torch.Tensor, heads: int = 4, width: int = 96, start: int = 32) -> torch.Tensor:
    """DeepSeek's rows with the rotary ones of each head, and of the one key, reordered from neighbours to halves."""
    if "q_b_proj" in name:
        each = rows.reshape(heads, width, -1)
        rotated = torch.cat([torch.cat((head[:start], to_halves(head[start:], 1))) for head in each])
        return rotated.reshape(rows.shape)
    return torch.cat((rows[:start], to_halves(rows[start:], 1))) if "kv_a_proj_with_mqa" in name else rows


@mistake(FOLDERS, "conversion", "vllm-project/vllm#55335", "nurl-lang/nurl#584", names={"bias"})
def bias_left_in_the_old_order(folder: Path) -> Evidence:
    """Rows were reordered for halves, the config says so, and the bias of the keys stayed as it was."""
    config = deepseek()
    config.attention_bias = True

    def reordered(name: str, rows: torch.Tensor) -> torch.Tensor:
        return rows if name.endswith("bias") else deepseek_in_halves(name, rows)

    return converted(folder, config, reordered, architectures=["DeepseekV3ForCausalLM"], rope_interleave=False)


@mistake(FOLDERS, "conversion", "vllm-project/vllm#34243", names={"scale"})
def scales_of_fp8_left_in_the_old_order(folder: Path) -> Evidence:
    """vLLM reordered the quantised rows of queries and keys and left their scales: 5.38 on GSM8K in place of 90.67,
    taken for a sensitivity to quantisation."""
    config, tensors = deepseek(), language_model(deepseek()).state_dict()
    for name in [name for name in tensors if "q_b_proj" in name or "kv_a_proj_with_mqa" in name]:
        scale = tensors[name].abs().amax(1, keepdim=True) / 448
        tensors |= {name: (tensors[name] / scale).to(torch.float8_e4m3fn), f"{name}_scale": scale}
    quantised = saved(config) | {"quantization_config": {"quant_method": "compressed-tensors"}}

    def reordered(name: str, rows: torch.Tensor) -> torch.Tensor:
        return rows if name.endswith("scale") else deepseek_in_halves(name, rows.float()).to(rows.dtype)

    config_file(folder, "original", quantised)
    config_file(folder, "converted", quantised | {"rope_interleave": False})
    safetensors(folder / "original" / "model.safetensors", tensors)
    changed = {name: reordered(name, rows) for name, rows in tensors.items()}
    safetensors(folder / "converted" / "model.safetensors", changed)
    return Evidence(folder / "original", folder / "converted")


@mistake(FOLDERS, "conversion", "tenstorrent/tt-metal#32024", names={"vision"})
def tower_without_rotation_reordered_too(folder: Path) -> Evidence:
    """Llama 3.2's vision tower has no rotation; a converter reordered its queries and keys with those of the text."""
    scaling = PLAIN | {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    text = saved(tiny("mllama_text_model", rope_parameters=scaling, cross_attention_layers=[1], rope_scaling=None))
    vision = saved(
        tiny("mllama_vision_model", hidden_size=64, attention_heads=4, num_hidden_layers=1, num_global_layers=1)
    )
    config = {"model_type": "mllama", "text_config": text, "vision_config": vision}
    draw = torch.Generator().manual_seed(5)
    names = {
        "model.language_model.layers.0.self_attn.q_proj.weight": (256, 256),
        "model.language_model.layers.0.self_attn.k_proj.weight": (128, 256),
        "model.vision_model.transformer.layers.0.self_attn.q_proj.weight": (64, 64),
        "model.vision_model.transformer.layers.0.self_attn.k_proj.weight": (64, 64),
    }
    tensors = {name: torch.randn(shape, generator=draw) for name, shape in names.items()}
    reordered = {
        name: to_neighbours(rows, heads_of(name, key=4)) if "vision" in name else rows for name, rows in tensors.items()
    }
    for name, mine in (("original", tensors), ("converted", reordered)):
        safetensors(config_file(folder, name, config) / "model.safetensors", mine)
    return Evidence(folder / "original", folder / "converted")


@harmless(FOLDERS, "conversion", "huggingface/transformers#25199", "huggingface/transformers#31859")
def reordered_checkpoint_whose_config_says_so(folder: Path) -> Evidence:
    """DeepSeek's rotary rows reordered from neighbours to halves, and rope_interleave set to false: the same model,
    written otherwise."""
    return converted(
        folder, deepseek(), deepseek_in_halves, architectures=["DeepseekV3ForCausalLM"], rope_interleave=False
    )


@harmless(FOLDERS, "conversion", "vllm-project/vllm#34243", "KellerJordan/modded-nanogpt#39")
def weights_rounded_to_bfloat16(folder: Path) -> Evidence:
    """The same checkpoint saved in bfloat16: every row is where it was."""
    return converted(folder, llama(), lambda name, rows: rows.to(torch.bfloat16))


# A checkpoint against a config


@mistake(
    CHECKPOINT, "config lost", "vllm-project/vllm#998", "huggingface/transformers#35255", names={"base", "rope_theta"}
)
def frequencies_in_an_old_checkpoint_of_another_base(folder: Path) -> Evidence:
    """Old checkpoints hold inv_freq. Code Llama's, of base 1000000, lay next to a config of a version that knew no
    rope_theta."""
    config = tiny("llama", rope_parameters=PLAIN | {"rope_theta": 10_000.0})
    held = LlamaRotaryEmbedding(tiny("llama", rope_parameters=PLAIN | {"rope_theta": 1_000_000.0})).inv_freq
    arrays = {f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": held for layer in range(2)}
    return Evidence(config_file(folder, "model", saved(config)), safetensors(folder / "model.safetensors", arrays))


@mistake(CHECKPOINT, "offset", "huggingface/transformers#5285", names={"row"})
def table_without_the_two_rows_of_padding(folder: Path) -> Evidence:
    """RoBERTa's table has 514 rows for 512 positions. One rebuilt with 512 ends two tokens early, where the config
    says 514."""
    config = tiny("roberta", max_position_embeddings=514, hidden_size=32)
    arrays = {"roberta.embeddings.position_embeddings.weight": torch.zeros(512, 32)}
    return Evidence(config_file(folder, "model", saved(config)), safetensors(folder / "model.safetensors", arrays))


@mistake(CHECKPOINT, "vision", "google-research/vision_transformer#317", names={"row", "class token", "cls"})
def table_of_patches_without_the_class_token(folder: Path) -> Evidence:
    """A heuristic took 196 rows for 195 patches and a class token; the other way round, a table of 196 stands where 196
    patches and a class token need 197."""
    config = tiny("vit", image_size=224, patch_size=16, hidden_size=32)
    arrays = {"vit.embeddings.position_embeddings": torch.zeros(1, 196, 32)}
    return Evidence(config_file(folder, "model", saved(config)), safetensors(folder / "model.safetensors", arrays))


@harmless(CHECKPOINT, "buffers", "huggingface/transformers#35255", "jzhang38/TinyLlama#127")
def frequencies_in_an_old_checkpoint(folder: Path) -> Evidence:
    """The same key with the right frequencies: a warning of unexpected keys, and nothing reads them."""
    held = LlamaRotaryEmbedding(llama()).inv_freq
    arrays = {f"model.layers.{layer}.self_attn.rotary_emb.inv_freq": held for layer in range(2)}
    return Evidence(config_file(folder, "model", saved(llama())), safetensors(folder / "model.safetensors", arrays))


@harmless(CHECKPOINT, "offset", "huggingface/transformers#20761")
def table_of_opt_with_two_rows_more(folder: Path) -> Evidence:
    """OPT's table has 2050 rows for 2048 positions."""
    config = tiny("opt", max_position_embeddings=2048, hidden_size=32, word_embed_proj_dim=32)
    arrays = {"model.decoder.embed_positions.weight": torch.zeros(2050, 32)}
    return Evidence(config_file(folder, "model", saved(config)), safetensors(folder / "model.safetensors", arrays))


@harmless(CHECKPOINT, "buffers", "huggingface/transformers#39063")
def unused_table_beside_rotations(folder: Path) -> Evidence:
    """ESM-2 rotates; most of its checkpoints hold a table of positions too, which nothing reads."""
    config = tiny(
        "esm", position_embedding_type="rotary", max_position_embeddings=1026, hidden_size=64, mask_token_id=3
    )
    model = built(config)
    arrays = {"esm.embeddings.position_embeddings.weight": torch.zeros(1026, 64)}
    arrays |= {
        f"esm.{name}": value for name, value in model.state_dict().items() if "inv_freq" in name or "query" in name
    }
    return Evidence(config_file(folder, "model", saved(config)), safetensors(folder / "model.safetensors", arrays))
