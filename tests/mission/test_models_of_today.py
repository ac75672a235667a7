"""Row 20: the encodings of today's models, read from their own configs and equal to what their classes compute."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from posenc.encodings.adds.learned import Learned
from posenc.encodings.rotates.rope import RoPE
from posenc.models import from_config

SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
BANDS = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
BANDS["original_max_position_embeddings"] = 8192


def llama_3():
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = LlamaConfig(**SMALL, rope_theta=500_000.0, rope_scaling=BANDS, max_position_embeddings=131_072)
    return config, LlamaRotaryEmbedding(config)


def gemma_2():
    from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
    from transformers.models.gemma2.modeling_gemma2 import Gemma2RotaryEmbedding

    config = Gemma2Config(**SMALL, head_dim=16)
    return config, Gemma2RotaryEmbedding(config)


@pytest.mark.parametrize("model", [llama_3, gemma_2])
def test_a_rotation_read_from_the_config_is_the_one_that_the_model_computes(model):
    config, live = model()
    encoding = from_config(config.to_dict()).groups[0].rotary_encoding
    assert isinstance(encoding, RoPE)
    positions = torch.tensor([[0, 1, 2, 100, 4095, 8191]])
    cos, sin = live(torch.zeros(1, 1), positions)
    rotation = encoding.rotation(positions[0].numpy(), dtype=np.float32)
    half = encoding.dim // 2
    # The live class multiplies in float32: a position of 8191 times a rounded frequency is off by 8191·2^-23 at most.
    np.testing.assert_allclose(rotation.cos[:, :half], cos[0, :, :half].numpy(), atol=1e-3)
    np.testing.assert_allclose(rotation.sin[:, :half], sin[0, :, :half].numpy(), atol=1e-3)
    np.testing.assert_allclose(rotation.cos[:3, :half], cos[0, :3, :half].numpy(), atol=1e-6)


def test_llama_4_leaves_every_fourth_layer_without_a_rotation():
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig

    read = from_config(Llama4TextConfig(**SMALL | {"num_hidden_layers": 8}, head_dim=16).to_dict())
    rotated = {layer for group in read.groups if group.rotary_encoding is not None for layer in group.layers}
    assert rotated == {0, 1, 2, 4, 5, 6}


@pytest.mark.parametrize(("model_type", "rows"), [("bert", 512), ("gpt2", 1024)])
def test_learned_tables_have_the_rows_of_the_model(model_type, rows):
    from transformers import AutoConfig

    config = AutoConfig.for_model(model_type)
    (encoding,) = from_config(config.to_dict()).groups[0].encodings
    assert (type(encoding), encoding.dim, encoding.length) == (Learned, config.hidden_size, rows)
