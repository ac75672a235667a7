"""`swap` in small models of many types: their own positions change no bit, and others are refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from model_peers.live_attention import config_class, tiny_settings
from posenc import ALiBi, NoPE
from posenc.transformers import swap

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
HOLDS = (
    "afmoe", "apertus", "arcee", "aria_text", "axk1", "axk2", "bert", "bitnet", "camembert", "cohere", "cohere2",
    "cohere2_moe", "cwm", "data2vec-text", "deepseek_v3", "deepseek_v32", "diffllama", "electra", "ernie", "ernie4_5",
    "ernie4_5_moe", "eurobert", "exaone4", "exaone_moe", "flex_olmo", "gemma", "gemma3_text", "gemma4_text", "glm",
    "glm4", "glm4_moe", "gpt2", "gpt_neox", "granite", "granitemoe", "jais2", "llama", "mistral", "mixtral", "olmo",
    "olmo2", "olmo3", "persimmon", "phi", "phi3", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "roberta",
    "seed_oss", "smollm3", "stablelm", "starcoder2", "xlm-roberta",
)  # fmt: skip
REFUSED = {
    "bloom": "its attention does not go through transformers' AttentionInterface",
    "gpt_oss": "model must attend by softmax of scaled logits alone, for ALiBi.*got s_aux",
    "gemma2": "model must attend by softmax of scaled logits alone, for ALiBi.*got softcap",
    "llama4_text": "its code applies StepTemperature",
    "modernbert": "position_ids must reach each attention layer",
    "opt": "its table of positions must be one torch.nn.Embedding",
    "qwen3_next": "its attention is reached in layers \\[3, 7\\] alone",
}


def model(model_type: str) -> Any:
    torch.manual_seed(0)
    return transformers.AutoModel.from_config(config_class(model_type)(**tiny_settings(model_type))).eval()


@pytest.mark.parametrize("model_type", HOLDS)
def test_own_positions_change_no_bit(model_type: str) -> None:
    one = model(model_type)
    for encoding in (NoPE(dim=one.config.hidden_size), ALiBi(heads=one.config.num_attention_heads)):
        with swap(one, encoding) as swapped:
            assert swapped.proof.difference == 0.0
            assert swapped.proof.attention is None or swapped.proof.attention <= 1.0


@pytest.mark.parametrize("model_type", REFUSED)
def test_models_that_are_refused(model_type: str) -> None:
    one = model(model_type)
    with pytest.raises(ValueError, match=REFUSED[model_type]):
        swap(one, ALiBi(heads=one.config.num_attention_heads))
    assert not any("posenc" in name or each._forward_pre_hooks for name, each in one.named_modules())
