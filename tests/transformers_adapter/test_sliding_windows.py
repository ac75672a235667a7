"""A window by Hugging Face's count: the keys that attention reads are those that the library's own masks show."""

import pytest
import torch
from transformers import MistralConfig, ModernBertConfig
from transformers.masking_utils import create_bidirectional_sliding_window_mask, create_sliding_window_causal_mask

import posenc
from posenc.torch import Attention, attention

TOKENS, SIZES = 9, {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 2}


def seen(tokens=TOKENS, **given):
    """Which keys each query reads: values are unit vectors, so the output holds the weights."""
    q, k, v = torch.zeros(1, 1, tokens, 4), torch.zeros(1, 1, TOKENS, 4), torch.eye(TOKENS)[None, None]
    at = {"query_positions": torch.arange(TOKENS - tokens, TOKENS), "key_positions": torch.arange(TOKENS)}
    return attention(q, k, v, **at, layout="bhtd", **given)[0, 0] > 0


def live_mask(make, config):
    config._attn_implementation = "eager"
    given = {"inputs_embeds": torch.zeros(1, TOKENS, 16), "attention_mask": None}
    past = {"past_key_values": None} if make is create_sliding_window_causal_mask else {}
    return make(config, **given, **past)[0, 0] == 0


@pytest.mark.parametrize("size", [1, 2, 4, TOKENS, 20])
def test_sliding_window_counts_as_the_masks_of_transformers_do(size):
    live = live_mask(create_sliding_window_causal_mask, MistralConfig(sliding_window=size, **SIZES))
    assert torch.equal(seen(causal=True, sliding_window=size), live)
    assert torch.equal(seen(tokens=1, causal=True, sliding_window=size), live[-1:])  # a step of decoding
    (group,) = posenc.models.from_config({"model_type": "mistral", "sliding_window": size, **SIZES}).groups
    assert torch.equal(seen(causal=True, window=(group.window.before, group.window.after)), live)


def test_the_remedy_for_an_encoder_is_its_mask():
    config = ModernBertConfig(**{key: SIZES[key] for key in SIZES if "key_value" not in key}, local_attention=6)
    live = live_mask(create_bidirectional_sliding_window_mask, config)
    with pytest.raises(ValueError, match=r"^sliding_window must .* Give window=\(3, 3\)"):
        seen(sliding_window=config.sliding_window)
    assert torch.equal(seen(window=(3, 3)), live)


def test_a_layer_takes_it_by_name():
    x = torch.randn(1, TOKENS, 16)
    torch.manual_seed(3)
    by_name = Attention(16, 2, causal=True, sliding_window=4)
    pair = Attention(16, 2, causal=True, window=(3, 0))
    pair.load_state_dict(by_name.state_dict())
    assert torch.equal(by_name(x), pair(x))
    with pytest.raises(ValueError, match=r"^sliding_window must stand beside causal=True"):
        Attention(16, 2, sliding_window=4)
