"""Layers that draft further tokens, against transformers: of which type they are, and whose rotation they share."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers")

from posenc.models import from_config

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
TYPES = ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"]


def test_their_types_are_those_behind_the_layers():
    from transformers.models.step3p7.configuration_step3p7 import Step3p7TextConfig

    config = Step3p7TextConfig(
        num_hidden_layers=6, num_nextn_predict_layers=2, layer_types=(TYPES * 2)[:8], sliding_window=8
    )
    read = from_config(
        {"model_type": "step3p5", "num_hidden_layers": 6, "num_nextn_predict_layers": 2, "layer_types": (TYPES * 2)[:8],
         "sliding_window": 8}
    )  # fmt: skip
    assert config.get_mtp_config().layer_types == ["sliding_attention", "sliding_attention"]
    assert [(group.attention, group.layers) for group in read.draft] == [("sliding_attention", (6, 7))]


def test_they_share_the_rotation_and_the_class_of_the_layers():
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
    from transformers.modeling_layers import MtpModel

    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 32,
             "vocab_size": 16, "first_k_dense_replace": 2, "num_mtp_layers": 1, "n_routed_experts": 8, "n_group": 2,
             "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 8}  # fmt: skip
    config = DeepseekV3Config(**sizes)
    model = DeepseekV3ForCausalLM(config)
    drafts = MtpModel(model, 1)
    assert drafts.rotary_emb is model.model.rotary_emb
    (layer,) = drafts.layers
    assert type(layer.mtp_block) is type(model.model.layers[0])
    assert layer.mtp_block.self_attn.scaling == model.model.layers[0].self_attn.scaling
    read = from_config({"model_type": "deepseek_v3", **sizes, "num_nextn_predict_layers": 1})
    assert read.draft[0].rotary_encoding == read.groups[0].rotary_encoding
