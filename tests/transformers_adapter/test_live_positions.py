"""What the modules of a loaded model hold: as its config says when it was just built, and what was changed since."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from transformers import Phi3Config, Phi3ForCausalLM

from every import every
from model_peers.live_attention import NotBuiltError, built_model, tiny_settings
from posenc.models import Window, from_config, manifest, read_manifest
from posenc.models.config.model_types import MODEL_TYPES
from posenc.transformers import live_positions

pytestmark = pytest.mark.filterwarnings("ignore")
#: A habit each: windows and an amplitude, two bases, latent attention, several axes, a size kept in layers without a
#: window, a factor of logits outside the module's scale.
DAILY = ("gpt_oss", "gemma3_text", "deepseek_v3", "qwen2_vl_text", "exaone4", "muse_glimmer_text")
#: Types whose class holds no model type, or is made without a config of transformers.
ELSEWHERE = {"Qwen3OmniMoeCode2WavConfig", "SaProtConfig", "neucodec", "xcodec2"}


def built(model_type: str) -> Any:
    return built_model(model_type, tiny_settings(model_type))


def as_its_config(model_type: str) -> None:
    model = built(model_type)
    assert live_positions(model) == from_config(model.config), model_type


@pytest.mark.parametrize("model_type", DAILY)
def test_a_model_that_was_just_built_holds_what_its_config_says(model_type: str):
    as_its_config(model_type)


def test_longrope_holds_either_list_and_means_both():
    """A module holds the short list until it meets an input longer than the original length."""
    lists = {"short_factor": [1.0 + 0.1 * pair for pair in range(8)], "long_factor": [2.0 + pair for pair in range(8)]}
    scaling = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 16, **lists}
    config = Phi3Config(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=64, original_max_position_embeddings=16, rope_parameters=scaling, pad_token_id=0,
    )  # fmt: skip
    model = Phi3ForCausalLM(config).eval()
    for tokens in (8, 40, 8):
        model(torch.ones(1, tokens, dtype=int))
        assert live_positions(model) == from_config(model.config)
    model.model.rotary_emb.inv_freq.mul_(1.01)
    assert live_positions(model) != from_config(model.config)


@pytest.mark.nightly
def test_every_type():
    rows = {name: row for name, row in MODEL_TYPES.items() if row.part != "vision" and row.reader is None}
    models = []

    def check(name: str) -> None:
        with suppress(NotBuiltError, ImportError):
            as_its_config(name)
            models.append(name)

    every((name for name, row in rows.items() if not row.unsupported and name not in ELSEWHERE), check)
    assert len(models) > 150


def test_frequencies_that_were_changed_after_loading():
    """As float32 numbers: the manifest has those of the buffer, and says so."""
    model = built("llama")
    buffer = model.get_submodule("rotary_emb").inv_freq
    meant = buffer.clone()
    buffer.mul_(torch.linspace(1.0, 0.25, len(buffer)))
    found = manifest(live_positions(model))
    np.testing.assert_allclose(found.at(0).pairs.frequencies, buffer.double().numpy(), rtol=1e-12)
    assert (
        "rotary_emb.inv_freq holds other frequencies than the config says, by up to 0.75"
        in found.groups[0].notes[-1].text
    )
    assert read_manifest(found.to_dict()) == found
    buffer.copy_(meant)
    assert live_positions(model) == from_config(model.config)


def test_a_cast_to_bfloat16_is_seen():
    model = built("llama")
    rotary = model.get_submodule("rotary_emb")
    rotary.inv_freq = rotary.inv_freq.bfloat16()
    found = live_positions(model)
    np.testing.assert_allclose(manifest(found).at(0).pairs.frequencies, rotary.inv_freq.double().numpy(), rtol=1e-12)
    assert found != from_config(model.config)


def test_an_amplitude_that_was_changed():
    model = built("gpt_oss")
    model.get_submodule("rotary_emb").attention_scaling = 1.5
    assert manifest(live_positions(model)).at(0).pairs.amplitude == 1.5


def test_layers_whose_modules_were_changed_are_groups_of_their_own():
    model = built("mistral")
    attentions = [module for name, module in model.named_modules() if name.endswith("self_attn")]
    attentions[1].scaling *= 2.0
    found = live_positions(model)
    assert [group.layers for group in found.groups][1] == (1,)
    assert found.groups[1].logit_factor == 2 * found.groups[0].logit_factor
    assert "scaling of attention" in found.groups[1].notes[-1]


def test_a_scale_that_was_changed_to_a_whole_number():
    model = built("mistral")
    meant = live_positions(model).at(0)[0].logit_factor
    attention = next(module for name, module in model.named_modules() if name.endswith("self_attn"))
    own, attention.scaling = attention.scaling, 1
    assert live_positions(model).at(0)[0].logit_factor == meant / own


def test_a_config_that_was_changed_after_loading_changes_no_module():
    model = built("llama")
    model.config.rope_parameters = {"rope_type": "default", "rope_theta": 123.0}
    found = manifest(live_positions(model))
    held = model.get_submodule("rotary_emb").inv_freq.double().numpy()
    np.testing.assert_allclose(found.at(0).pairs.frequencies, held, rtol=1e-6)


def test_a_window_that_was_changed():
    model = built("gemma3_text")
    attention = next(module for module in model.modules() if getattr(module, "layer_idx", None) == 0 and
                     hasattr(module, "sliding_window"))  # fmt: skip
    attention.sliding_window = 3
    assert live_positions(model).at(0)[0].window == Window(2)


def test_what_it_takes():
    with pytest.raises(TypeError, match=r"^model must be a loaded model of transformers; got .* Give what from_pretr"):
        live_positions({"model_type": "llama"})
