"""Facts of llama.cpp on architectures that no GGUF key states: a row for those that rotate alike.

Read in the sources of llama.cpp, `llama_model_rope_type` and `load_hparams`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from posenc.core.rotation import PairLayout


@dataclass(frozen=True)
class Architecture:
    """Facts on GGUF architectures that rotate alike.

    Attributes:
        names: As files state them under general.architecture.
        pairing: The channels that rotate together; None where none do.
        last: Whether the rotated channels lie last in a head, as in multi-head latent attention.
        varying: Whether layers differ in ways that no key states: some do not rotate, or rotate otherwise.
        windows: What layers with a window take where a file that has one lacks these keys; such layers are never
            scaled.
        period: Every n-th layer has no window, where no key says which have one; 0 where llama.cpp's code alone says.
        window: The window where no key says it; 0 where there is none then.
        scale: The factor of logits: "head", 1/√(width of a head); "key", attention.scale where a file has it, and
            rope.scaling.finetuned says whether layers rotate at all; "layers", 1/√(embedding_length / head_count) in
            the model of `largest` layers; "rotation", 1/√d times the squares of the factor of cosines and sines and of
            1 + rope.scaling.yarn_log_multiplier·ln(rope.scaling.factor) (the graph of DeepSeek-V2).
        largest: Layers of that model.
        windowed: Layers of the one model that has windows; 0 where every file with the key has them.
        still: Whether layers without a window do not rotate where others have one.
        rotating: Layers of the one model that rotates; 0 where every file with these names does.
    """

    names: tuple[str, ...]
    pairing: PairLayout | None
    last: bool = False
    varying: bool = False
    windows: Mapping[str, Any] = field(default_factory=dict)
    period: int = 0
    window: int = 0
    scale: Literal["head", "key", "layers", "rotation"] = "head"
    largest: int = 0
    windowed: int = 0
    still: bool = False
    rotating: int = 0


def all_but_every_nth(period: int, count: int) -> tuple[bool, ...]:
    """Return whether each of `count` layers slides, all but every n-th; all for 0 (`set_swa_pattern` of llama.cpp)."""
    return tuple(not period or (layer + 1) % period != 0 for layer in range(count))


_ROWS = (
    Architecture(
        ("llama", "llada", "deci", "internlm2", "minicpm", "xverse", "command-r", "olmo",
         "arctic", "deepseek", "chatglm", "glm4", "chameleon", "bailingmoe", "neo-bert", "arcee", "ernie4_5",
         "ernie4_5-moe", "mistral3", "llama-embed", "maincoder"),
        "adjacent",
    ),
    Architecture(("baichuan",), "adjacent", rotating=32),
    Architecture(("granite", "granitemoe", "granitehybrid"), "adjacent", scale="key"),
    Architecture(("deepseek2", "glm-dsa", "mistral4"), "adjacent", last=True, scale="rotation"),
    Architecture(("deepseek2-ocr", "plm"), "adjacent", last=True),
    Architecture(("llama4", "cohere2", "cohere2moe", "smollm3"), "adjacent", varying=True),
    Architecture(
        ("falcon", "falcon-h1", "grok", "dbrx", "jina-bert-v3", "nomic-bert", "nomic-bert-moe", "eurobert",
         "stablelm", "bitnet", "qwen", "qwen2", "dream", "qwen2moe", "qwen3", "qwen3moe", "llada-moe", "rnd1", "olmoe",
         "phi2", "phi3", "phimoe", "plamo", "plamo2", "gemma", "starcoder2", "openelm", "gptneox",
         "codeshell", "orion", "nemotron", "exaone", "bailingmoe2", "dots1", "hunyuan-moe", "jais2",
         "hunyuan-dense", "seed_oss", "grovemoe", "apertus", "minimax-m2", "cogvlm", "pangu-embedded", "glm4moe"),
        "halves",
    ),
    Architecture(("minicpm3",), "halves", last=True),
    Architecture(("gemma2",), "halves", period=2, window=4096, scale="layers", largest=46),
    Architecture(("gpt-oss",), "halves", period=2),
    Architecture(
        ("gemma3",),
        "halves",
        windows={"rope.freq_base_swa": 10_000.0},
        period=6,
        scale="layers",
        largest=62,
    ),
    Architecture(
        ("olmo2",),
        "halves",
        windows={"attention.sliding_window_pattern": 4},
        period=4,
    ),
    Architecture(("exaone4",), "halves", period=4, window=4096, windowed=64, still=True),
    Architecture(
        ("afmoe", "exaone-moe", "gemma-embedding", "gemma3n", "gemma4", "lfm2", "lfm2moe", "mimo2",
         "modern-bert", "plamo3", "qwen3next", "smallthinker", "step35"),
        "halves",
        varying=True,
    ),
    Architecture(
        ("gpt2", "bert", "gptj", "mpt", "refact", "bloom", "mamba", "mamba2", "jamba", "jina-bert-v2", "t5",
         "t5encoder", "starcoder", "jais", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "wavtokenizer-dec", "nemotron_h",
         "nemotron_h_moe", "kimi-linear"),
        None,
    ),
)  # fmt: skip
#: The row of every architecture.
ARCHITECTURES: Mapping[str, Architecture] = MappingProxyType({name: row for row in _ROWS for name in row.names})
#: Architectures of encoders, whose converters write that attention is not causal; and those of diffusion, where
#: llama.cpp sees both sides whatever the key says.
BOTH_SIDES = frozenset(
    {"eurobert", "gemma-embedding", "jina-bert-v3", "llama-embed", "modern-bert", "neo-bert", "nomic-bert",
     "nomic-bert-moe"}
)  # fmt: skip
ALWAYS_BOTH_SIDES = frozenset({"dream", "llada", "llada-moe", "rnd1"})
#: What llama.cpp takes where a file has no key.
DEFAULTS: dict[str, Any] = {
    "rope.freq_base": 10_000.0,
    "rope.scaling.type": "linear",
    "rope.scaling.factor": 1.0,
    "rope.scaling.attn_factor": 1.0,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
    "rope.scaling.yarn_attn_factor": 1.0,
    "rope.scaling.yarn_ext_factor": 1.0,
}
#: Keys that say nothing of the numbers of a rotation; a trained length is read where a scaling has one.
NEUTRAL_KEYS = frozenset({"rope.scaling.finetuned", "rope.scaling.original_context_length"})
#: Keys that are known and cannot be read.
AMBIGUOUS_KEYS = {
    "rope.scaling.yarn_log_multiplier": "some converters write mscale_all_dim of DeepSeek there and others a tenth of "
    "it, and nothing says which; read the model's config.json in its place, since waiving leaves the factor out"
}
