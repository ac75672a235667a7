"""Reports whose user had the model itself, in memory, or its rotary module in a file of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from transformers import modeling_rope_utils as rope_utils
from transformers.models.bloom import modeling_bloom

from field_reports.files import config_file, saved
from field_reports.report import LIVE, Evidence, harmless, mistake
from field_reports.stock import built, replaced, tiny, tokens
from field_reports.tables import QWEN_2_VL, phi
from field_reports.vectors import LLAMA_3, PLAIN, deepseek, gemma, llama


def run(config: Any, model: Any, ids: torch.Tensor | None = None) -> Evidence:
    """A config as saved, the live model, and what it may be run on."""
    return Evidence(saved(config), model, tokens=tokens(40) if ids is None else ids)


def module_file(folder: Path, config: Any, code: str) -> Evidence:
    """A config's folder and FILE.py:NAME."""
    path = folder / "mine.py"
    path.write_text(code, encoding="utf-8")
    return Evidence(config_file(folder, "model", saved(config)), f"{path}:rotary")


MINE = """
import torch

class Rotary(torch.nn.Module):
    def forward(self, x, position_ids):
        {frequencies}
        angle = position_ids[..., None].float() * inv_freq
        angle = torch.cat((angle, angle), -1)
        return angle.cos(), angle.sin()

rotary = Rotary()
"""


@mistake(LIVE, "config lost", "MakazhanAlpamys/Soup#793", names={"scaling", "yarn"})
def scaling_set_after_the_model_was_built(folder: Path) -> Evidence:
    """A trainer wrote rope_scaling into the config of a loaded model and reported long context enabled; the frequencies
    had been computed before."""
    yarn = PLAIN | {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    model = built(tiny("llama", max_position_embeddings=8192, rope_parameters=PLAIN))
    model.config.rope_parameters = dict(yarn)
    return run(tiny("llama", max_position_embeddings=32_768, rope_parameters=yarn), model)


@mistake(LIVE, "scaling", "huggingface/transformers#32330", names={"scaling", "llama3"})
def scaled_frequencies_computed_and_not_returned(folder: Path) -> Evidence:
    """The function for Llama 3.1 computed its scaled frequencies and returned the plain ones."""

    def forgetful(config: Any, *rest: Any, **named: Any) -> tuple[torch.Tensor, float]:
        base, width = config.rope_parameters["rope_theta"], config.head_dim
        return 1.0 / base ** (torch.arange(0, width, 2).float() / width), 1.0

    with patch.dict(rope_utils.ROPE_INIT_FUNCTIONS, {"llama3": forgetful}):
        model = built(llama(**LLAMA_3))
    return run(llama(**LLAMA_3), model)


@mistake(
    LIVE,
    "precision",
    "NVIDIA-NeMo/Automodel#2549",
    "NVIDIA-NeMo/Automodel#2859",
    names={"bfloat16", "bf16", "rounded", "precision"},
)
def model_cast_to_bfloat16_with_its_frequencies(folder: Path) -> Evidence:
    """Casting a whole model to bfloat16 rounds its frequencies; rotating them back to float32 does not bring back what
    was lost."""
    return run(llama(), built(llama()).to(torch.bfloat16).float())


@mistake(LIVE, "buffers", "huggingface/transformers#45902", "unslothai/unsloth#4112", "pytorch/torchtitan#4783",
         names={"uninit", "garbage", "never set", "memory", "inv_freq", "frequenc"})  # fmt: skip
def frequencies_left_as_the_memory_was(folder: Path) -> Evidence:
    """A model built on the meta device and filled by to_empty has whatever was in memory for its frequencies; losses
    were 5 to 11 times too high. One report read 6.93e-18 for the first, which is 1."""
    model = built(llama())
    model.rotary_emb.inv_freq.fill_(6.93e-18)
    return run(llama(), model)


@mistake(
    LIVE,
    "buffers",
    "huggingface/transformers#45902",
    "vllm-project/vllm#39176",
    names={"nan", "finite", "not a number"},
)
def frequencies_of_nan(folder: Path) -> Evidence:
    """The same, where the memory held NaN: every output is NaN."""
    model = built(llama())
    model.rotary_emb.inv_freq[1:].fill_(float("nan"))
    return run(llama(), model)


@mistake(LIVE, "partial rotary", "huggingface/transformers#48652", names={"partial", "share", "whole head", "width"})
def frequencies_of_the_whole_head_in_gpt_neox_japanese(folder: Path) -> Evidence:
    """The class rotates a quarter of each head and built its frequencies for all of it."""
    config = tiny("gpt_neox_japanese", rope_parameters=PLAIN | {"partial_rotary_factor": 0.25})
    wide = tiny("gpt_neox_japanese", rope_parameters=PLAIN | {"partial_rotary_factor": 1.0})
    return run(config, built(wide))


@mistake(
    LIVE,
    "bias",
    "bigscience-workshop/Megatron-DeepSpeed#227",
    "flashinfer-ai/flashinfer#1606",
    names={"slope", "shard"},
)
def slopes_of_the_first_shard_in_every_shard(folder: Path) -> Evidence:
    """Under tensor parallelism each rank counted its heads from 0, so that every rank had the slopes of the first
    heads."""
    config = tiny("bloom", hidden_size=64, n_head=8, n_layer=2)
    model = built(config)
    slopes, forward = modeling_bloom._get_alibi_slopes, model.forward

    def of_one_shard(heads: int, device: torch.device) -> torch.Tensor:
        return slopes(heads, device)[: heads // 2].repeat(2)

    def sharded(*given: Any, **named: Any) -> Any:
        with replaced(modeling_bloom, "_get_alibi_slopes", of_one_shard):
            return forward(*given, **named)

    model.forward = sharded
    return run(config, model)


@mistake(
    LIVE,
    "offset",
    "huggingface/sentence-transformers#3879",
    names={"offset", "padding", "first row", "2 too low", "row"},
)
def roberta_counted_from_row_0(folder: Path) -> Evidence:
    """A collator restarts positions at 0 for every text; the RoBERTa family begins at padding_idx + 1, so every token
    read a row two too early, padding's own among them."""
    config = tiny("xlm-roberta", max_position_embeddings=66, pad_token_id=1)
    model = built(config)
    model.embeddings.create_position_ids_from_input_ids = lambda ids, *rest: torch.arange(ids.shape[1])[None]
    return run(config, model)


@mistake(LIVE, "config lost", "karpathy/llama2.c#356", "vllm-project/vllm#998", names={"base", "rope_theta"})
def base_written_into_a_module_of_ones_own(folder: Path) -> Evidence:
    """Code Llama turns with base 1000000; a small runtime has 10000 in its code."""
    frequencies = "inv_freq = 10000.0 ** (-torch.arange(0, 64, 2).float() / 64)"
    return module_file(folder, llama(rope_theta=1_000_000.0), MINE.format(frequencies=frequencies))


SMOOTHED_BACKWARDS = """inv_freq = 500000.0 ** (-torch.arange(0, 64, 2).float() / 64)
        wavelength = 2 * torch.pi / inv_freq
        smooth = (wavelength - 2048) / (8192 - 2048)
        middle = inv_freq / ((1 - smooth) * 8 + smooth)
        inv_freq = torch.where(wavelength < 2048, inv_freq, torch.where(wavelength > 8192, inv_freq / 8, middle))"""


@mistake(LIVE, "scaling", "ml-explore/mlx-examples#907", names={"smooth", "band", "ramp", "low", "high"})
def middle_band_of_llama_3_smoothed_backwards(folder: Path) -> Evidence:
    """A first port of Llama 3.1's scaling ran its ramp the other way round: frequencies at the fast end of the middle
    band were divided by 8, those at the slow end not at all."""
    return module_file(folder, llama(**LLAMA_3), MINE.format(frequencies=SMOOTHED_BACKWARDS))


@harmless(LIVE, "precision", "huggingface/transformers#29285")
def stock_llama_3(folder: Path) -> Evidence:
    """Llama 3.1 as transformers builds it, in bfloat16 with its frequencies in float32."""
    return run(llama(**LLAMA_3), built(llama(**LLAMA_3), torch.bfloat16))


@harmless(LIVE, "length", "huggingface/transformers#30423", "ggml-org/llama.cpp#24823")
def stock_phi_3(folder: Path) -> Evidence:
    """Phi-3 as transformers builds it: the short list until a sequence is longer than 4096."""
    return run(phi(), built(phi()))


@harmless(LIVE, "layers", "vllm-project/vllm#29111", "huggingface/transformers#41922")
def stock_gemma_3(folder: Path) -> Evidence:
    """Gemma 3 as transformers builds it, with two rotations."""
    return run(gemma(), built(gemma()))


@harmless(LIVE, "scaling", "huggingface/transformers#47435")
def stock_deepseek_v3_model(folder: Path) -> Evidence:
    """DeepSeek-V3 as transformers builds it."""
    return run(deepseek(), built(deepseek()))


@harmless(LIVE, "multimodal", "huggingface/transformers#48671")
def stock_qwen_2_vl(folder: Path) -> Evidence:
    """The language model of Qwen2-VL as transformers builds it."""
    config = tiny("qwen2_vl_text", head_dim=128, hidden_size=512, rope_parameters=QWEN_2_VL)
    return run(config, built(config))


@harmless(LIVE, "bias", "mosaicml/examples#307")
def stock_bloom(folder: Path) -> Evidence:
    """BLOOM as transformers builds it, with 12 heads, for which slopes of two sizes are joined."""
    config = tiny("bloom", hidden_size=96, n_head=12, n_layer=2)
    return run(config, built(config))


@harmless(LIVE, "bias", "huggingface/transformers#8518")
def stock_t5(folder: Path) -> Evidence:
    """T5's encoder and decoder as transformers builds them: cross-attention has no bias of distance, and is
    right so."""
    config = tiny("t5", d_model=64, num_heads=4, num_layers=2, d_kv=16, d_ff=64)
    return run(config, built(config))


@harmless(LIVE, "offset", "huggingface/transformers#20761")
def stock_opt(folder: Path) -> Evidence:
    """OPT as transformers builds it: its table has two rows more than positions, and token 0 reads row 2."""
    config = tiny(
        "opt", hidden_size=64, ffn_dim=64, word_embed_proj_dim=64, max_position_embeddings=128, num_attention_heads=4
    )
    return run(config, built(config))


@harmless(LIVE, "pairing", "jzhang38/TinyLlama#24")
def stock_gpt_j(folder: Path) -> Evidence:
    """GPT-J as transformers builds it, with neighbours as pairs and a table of its own in every layer."""
    config = tiny("gptj", n_embd=256, n_head=4, rotary_dim=32, n_layer=2, n_positions=128)
    return run(config, built(config))
