"""Reports whose user had a .gguf file next to the config of the checkpoint it was converted from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter

from field_reports.configs import LLAMA_2, LLAMA_3, without
from field_reports.files import config_file
from field_reports.report import GGUF, Evidence, harmless, mistake

QWEN_2: Mapping[str, Any] = {
    "model_type": "qwen2", "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 64,
    "num_hidden_layers": 80, "max_position_embeddings": 32_768, "rope_theta": 1_000_000.0, "use_sliding_window": False,
}  # fmt: skip
PHI_3: Mapping[str, Any] = {
    "model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 24, "num_key_value_heads": 8,
    "num_hidden_layers": 32, "max_position_embeddings": 131_072, "original_max_position_embeddings": 4096,
    "partial_rotary_factor": 0.75, "sliding_window": 262_144, "rope_parameters": {
        "rope_type": "longrope", "rope_theta": 10_000.0, "short_factor": np.linspace(1.0, 1.1, 48).tolist(),
        "long_factor": np.geomspace(1.0, 64.0, 48).tolist(),
    },
}  # fmt: skip


def converted(
    folder: Path,
    architecture: str,
    config: Mapping[str, Any],
    keys: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray] | None = None,
) -> Evidence:
    """The config's folder, and what a converter wrote: sizes, the keys given, without the name of the architecture, and
    these tensors."""
    path = folder / "model.gguf"
    writer = GGUFWriter(path, architecture)
    heads = config["num_attention_heads"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(int(config["hidden_size"] // heads * config.get("partial_rotary_factor", 1.0)))
    for name, value in keys.items():
        kinds = {float: writer.add_float32, int: writer.add_uint32, str: writer.add_string}
        kinds[type(value)](f"{architecture}.{name}", value)
    for name, value in (tensors or {}).items():
        writer.add_tensor(name, value.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Evidence(config_file(folder, "checkpoint", config), path)


def llama_3_factors(middle: str) -> np.ndarray:
    """rope_freqs.weight for Llama 3.1, by the formula of the middle band: "right", or "as reviewed" in the thread."""
    wavelength = 2 * np.pi * 500_000.0 ** (np.arange(0, 128, 2) / 128)
    smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0)
    bands = {"right": 1 / ((1 - smooth) / 8.0 + smooth), "as reviewed": 1 / (1 - smooth) * 8.0 + smooth}
    return np.where(wavelength < 2048, 1.0, np.where(wavelength > 8192, 8.0, bands[middle]))


@mistake(GGUF, "config lost", "ollama/ollama#2379", names={"base", "rope_theta", "freq_base"})
def no_freq_base_in_the_file(folder: Path) -> Evidence:
    """Qwen1.5's official files had no rope.freq_base, for which llama.cpp takes 10000; the model turns with 1000000."""
    return converted(folder, "qwen2", QWEN_2, {})


@mistake(GGUF, "config lost", "ggml-org/llama.cpp#2772", names={"scaling", "linear", "factor"})
def linear_factor_not_converted(folder: Path) -> Evidence:
    """A fine-tune to 16k tokens states a linear factor of 4, which the converter did not read: nonsense."""
    config = LLAMA_2 | {"max_position_embeddings": 16_384, "rope_scaling": {"type": "linear", "factor": 4.0}}
    return converted(folder, "llama", config, {"rope.freq_base": 10_000.0})


@mistake(GGUF, "scaling", "ggml-org/llama.cpp#8676", names={"rope_freqs", "smooth", "band", "middle"})
def parentheses_missing_in_the_middle_band(folder: Path) -> Evidence:
    """The converter's first formula for Llama 3.1 was 1 / (1 - s)·8 + s where 1 / ((1 - s)/8 + s) is meant, and its
    result is written into the file."""
    keys = {"rope.freq_base": 500_000.0}
    return converted(folder, "llama", LLAMA_3, keys, {"rope_freqs.weight": llama_3_factors("as reviewed")})


@mistake(GGUF, "config lost", "ggml-org/llama.cpp#8676", "ollama/ollama#5987", names={"llama3", "scaling"})
def llama_3_factors_not_in_the_file(folder: Path) -> Evidence:
    """Files of Llama 3.1 from before the converter knew its scaling have no rope_freqs.weight."""
    return converted(folder, "llama", LLAMA_3, {"rope.freq_base": 500_000.0})


@mistake(GGUF, "config lost", "ggml-org/llama.cpp#24820", names={"longrope", "scaling", "short", "long"})
def longrope_lists_not_converted(folder: Path) -> Evidence:
    """The converter of Phi-3 read rope_scaling alone; a file in the spelling of transformers 5 lost both lists and the
    attention factor in silence."""
    keys = {"rope.freq_base": 10_000.0, "rope.scaling.original_context_length": 4096}
    return converted(folder, "phi3", PHI_3, keys)


@harmless(GGUF, "scaling", "ggml-org/llama.cpp#8676")
def llama_3_factors_in_the_file(folder: Path) -> Evidence:
    """Llama 3.1 as llama.cpp's converter writes it: a divisor for every pair, in float32, in place of four fields."""
    keys = {"rope.freq_base": 500_000.0}
    return converted(folder, "llama", LLAMA_3, keys, {"rope_freqs.weight": llama_3_factors("right")})


@harmless(GGUF, "spelling", "ggml-org/llama.cpp#2768", "ggml-org/llama.cpp#3090")
def base_of_code_llama_in_the_file(folder: Path) -> Evidence:
    """Code Llama's base of 1000000, in the config as rope_theta, in the file as rope.freq_base; a rope.scaling.type of
    none says nothing more."""
    config = without(LLAMA_2, "rope_scaling") | {"rope_theta": 1_000_000.0, "max_position_embeddings": 16_384}
    return converted(folder, "llama", config, {"rope.freq_base": 1_000_000.0, "rope.scaling.type": "none"})


@harmless(GGUF, "length", "ggml-org/llama.cpp#24820")
def longrope_lists_in_the_file(folder: Path) -> Evidence:
    """Phi-3 as the mended converter writes it: two tensors and the attention factor."""
    lists = {
        f"rope_factors_{one}.weight": np.array(PHI_3["rope_parameters"][f"{one}_factor"]) for one in ("short", "long")
    }
    attention = float(np.sqrt(1 + np.log(131_072 / 4096) / np.log(4096)))
    keys = {
        "rope.freq_base": 10_000.0, "rope.scaling.original_context_length": 4096, "rope.scaling.attn_factor": attention,
    }  # fmt: skip
    return converted(folder, "phi3", PHI_3, keys, lists)
