"""Multimodal models of one axis, run: the positions that reach their rotation are those of `multimodal`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from posenc.positions import multimodal

transformers = pytest.importorskip("transformers")
pytestmark = [pytest.mark.parity, pytest.mark.nightly]
TOKENS, KINDS = torch.tensor([[9, 9, 9, 9, 3, 4, 5]]), [1, 1, 1, 1, 0, 0, 0]
TEXT = {
    "vocab_size": 32, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16,
}  # fmt: skip
VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}


def paligemma() -> tuple[Any, dict[str, Any]]:
    tower = {"model_type": "siglip_vision_model", "image_size": 28, "patch_size": 14, **VISION}
    config = transformers.PaliGemmaConfig(
        text_config={"model_type": "gemma", **TEXT}, vision_config=tower, image_token_id=9, projection_dim=32
    )
    more = {"pixel_values": torch.zeros(1, 3, 28, 28), "attention_mask": torch.ones_like(TOKENS)}
    return transformers.PaliGemmaForConditionalGeneration(config), more


def internvl() -> tuple[Any, dict[str, Any]]:
    tower = {"image_size": [56, 56], "patch_size": [14, 14], **VISION}
    text = {"model_type": "qwen2", **{name: value for name, value in TEXT.items() if name != "head_dim"}}
    config = transformers.InternVLConfig(text_config=text, vision_config=tower, image_token_id=9, downsample_ratio=0.5)
    return transformers.InternVLForConditionalGeneration(config), {"pixel_values": torch.zeros(1, 3, 56, 56)}


def llama_4() -> tuple[Any, dict[str, Any]]:
    config = transformers.Llama4TextConfig(**TEXT, intermediate_size_mlp=32, num_local_experts=2)
    return transformers.Llama4ForCausalLM(config), {}


def gemma_3n() -> tuple[Any, dict[str, Any]]:
    own = {
        "num_hidden_layers": 2, "vocab_size_per_layer_input": 32, "hidden_size_per_layer_input": 8, "laurel_rank": 4,
        "layer_types": ["sliding_attention", "full_attention"], "num_kv_shared_layers": 0,
        "activation_sparsity_pattern": [0.0, 0.0],
    }  # fmt: skip
    return transformers.Gemma3nForCausalLM(transformers.Gemma3nTextConfig(**TEXT | own)), {}


@pytest.mark.parametrize(
    ("family", "make"),
    [("paligemma", paligemma), ("internvl", internvl), ("llama-4", llama_4), ("gemma-3n", gemma_3n)],
)
def test_positions_that_reach_the_rotation(family: str, make: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, more = make()
    seen: list[list[int]] = []

    def keep(module: Any, arguments: Any, named: Any) -> None:
        seen.append((named["position_ids"] if "position_ids" in named else arguments[1])[0].tolist())

    for name, module in model.eval().named_modules():
        if type(module).__name__.endswith("RotaryEmbedding") and "vision" not in name:
            module.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.no_grad():
        model(input_ids=TOKENS, **more)
    assert seen
    assert all(row == multimodal(family, KINDS).coordinates.tolist() for row in seen)
