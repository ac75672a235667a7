"""How the model classes of transformers use what their configs say: what no config states.

Read in the modeling files of transformers 5.23.0, and proved by tests/parity/test_models_rotary.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

HeadRule = Literal["head", "divided", "latent"]


@dataclass(frozen=True)
class Family:
    """The habits of one model type that rotates queries and keys.

    pairing: which channels turn together.   part: of the model.   partial: whether partial_rotary_factor counts at
    rope_type "default".   head: where the width comes from: "head", head_dim or hidden_size over heads; "divided", always
    the latter; "latent", qk_rope_head_dim channels behind qk_nope_head_dim others (multi-head latent attention).
    rotated: the layer types that rotate; None for all with attention.   sharpens: whether logits are multiplied by
    m(mscale_all_dim)².   sections: how many pairs each axis has where the file is silent.
    """

    pairing: Literal["adjacent", "halves"] = "halves"
    part: str = "text"
    partial: bool = False
    head: HeadRule = "head"
    rotated: tuple[str, ...] | None = None
    sharpens: bool = False


#: Layer types without attention, or with one that knows no position.
UNPLACED = frozenset({"linear_attention", "conv", "mamba", "recurrent", "moe", "mlp"})

HALVES = [
    "afmoe",
    "apertus",
    "arcee",
    "aria_text",
    "bitnet",
    "chameleon",
    "csm",
    "cwm",
    "dbrx",
    "diffllama",
    "doge",
    "dots1",
    "esmc",
    "eurobert",
    "exaone4",
    "exaone_moe",
    "falcon",
    "falcon_h1",
    "flex_olmo",
    "flint",
    "gemma",
    "gemma2",
    "gradium_phonon_tts",
    "granite",
    "granite4_vision_text",
    "granite_docling_text",
    "granitemoe",
    "granitemoeshared",
    "gte",
    "higgs_audio_v2",
    "hrm_text",
    "hy_v3",
    "hyperclovax",
    "jais2",
    "jetmoe",
    "jina_embeddings_v3",
    "kolibri1",
    "lfm2",
    "lfm2_moe",
    "llama",
    "mimi",
    "minimax",
    "ministral",
    "mistral",
    "mixtral",
    "mllama_text_model",
    "nanochat",
    "nomic_bert",
    "olmo",
    "olmo2",
    "olmoe",
    "phimoe",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "seed_oss",
    "starcoder2",
    "vaultgemma",
    "gemma3_text",
    "gemma3n_text",
    "modernbert",
    "modernbert-decoder",
    "olmo3",
]
PARTIAL = [
    "glm4_moe",
    "gpt_neox",
    "gpt_neox_japanese",
    "minimax_m2",
    "nemotron",
    "persimmon",
    "phi",
    "phi3",
    "phi4_multimodal",
    "qwen3_next",
    "solar_open",
    "stablelm",
]
ADJACENT = ["cohere", "ernie4_5", "ernie4_5_moe", "helium"]
ADJACENT_PARTIAL = ["glm", "glm4"]


@lru_cache(maxsize=1)
def families() -> dict[str, Family]:
    """Every model type that rotates, and its habits."""
    found = dict.fromkeys(HALVES, Family())
    found |= dict.fromkeys(PARTIAL, Family(partial=True))
    found |= dict.fromkeys(ADJACENT, Family(pairing="adjacent"))
    found |= dict.fromkeys(ADJACENT_PARTIAL, Family(pairing="adjacent", partial=True))
    return found
