"""Stock models that are run once: what they do agrees with their configs, and what is planted in them is named."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel
from transformers.models.bloom import modeling_bloom

from posenc import RoPE
from posenc.diagnosis import diagnose
from posenc.transformers import capture

SIZES = {"vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
MODELS: dict[str, dict[str, Any]] = {
    "llama": SIZES | {"num_key_value_heads": 2},
    "gemma3_text": SIZES | {
        "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "smollm3": SIZES | {"num_key_value_heads": 2, "no_rope_layers": [1, 0], "pad_token_id": 0},
    "gptj": {"vocab_size": 64, "n_embd": 64, "n_head": 4, "rotary_dim": 8, "n_layer": 2, "n_positions": 64},
    "gpt_neox": SIZES | {"rotary_pct": 0.25},
    "t5": {"vocab_size": 64, "d_model": 64, "num_heads": 4, "num_layers": 2, "d_kv": 16, "d_ff": 64},
    "bloom": {"vocab_size": 64, "hidden_size": 48, "n_head": 6, "n_layer": 2},
    "mpt": {"vocab_size": 64, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    "falcon": SIZES | {"alibi": True, "new_decoder_architecture": False, "multi_query": True},
    "opt": SIZES | {"ffn_dim": 64, "word_embed_proj_dim": 64, "max_position_embeddings": 64},
    "roberta": SIZES | {"max_position_embeddings": 64, "pad_token_id": 1},
    "gpt2": {"vocab_size": 64, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 64},
}  # fmt: skip
TOKENS = torch.randint(3, 64, (2, 40), generator=torch.Generator().manual_seed(0))


def built(model_type: str) -> tuple[dict[str, Any], Any]:
    config = CONFIG_MAPPING[model_type](**MODELS[model_type])
    torch.manual_seed(0)
    return json.loads(config.to_json_string()), AutoModel.from_config(config, attn_implementation="eager").eval()


@pytest.mark.parametrize("model_type", MODELS)
def test_a_stock_model_agrees(model_type: str) -> None:
    config, model = built(model_type)
    before = {name: dict(vars(code)) for name, code in sys.modules.items() if name.startswith("transformers.models.")}
    found = diagnose(config, capture(model, TOKENS))
    assert found.agree, str(found)
    assert found.compared
    after = {name: dict(vars(sys.modules[name])) for name in before}
    assert all(after[name].get(key) is value for name, own in before.items() for key, value in own.items())


@pytest.mark.parametrize("model_type", ["gptj", "falcon"])
def test_steps_of_a_model_that_rotates_by_itself_are_joined(model_type: str) -> None:
    sizes = MODELS["gptj"] if model_type == "gptj" else SIZES | {"alibi": False}
    model = AutoModel.from_config(CONFIG_MAPPING[model_type](**sizes), attn_implementation="eager").eval()
    captured = capture(model, TOKENS[:, :12], decoded=5)
    assert [recorded.layer for recorded in captured.rotations] == [0, 1]
    found = diagnose(json.loads(model.config.to_json_string()), captured)
    assert found.agree, str(found)
    assert "shifted" not in str(found)


@pytest.mark.parametrize("model_type", ["bloom", "mpt", "falcon"])
def test_alibi_is_compared_in_every_step_and_every_row(model_type: str) -> None:
    """Padding stands in the first row or the last, the last tokens come from a cache, or there is but one token."""
    config, model = built(model_type)
    first, last = torch.ones_like(TOKENS), torch.ones_like(TOKENS)
    first[0, :3] = last[1, :5] = 0
    for mask, decoded in ((first, 0), (first, 4), (last, 4), (None, 4)):
        found = diagnose(config, capture(model, TOKENS, inputs={"attention_mask": mask} if mask is not None else {},
                                         decoded=decoded))  # fmt: skip
        assert found.agree, str(found)
        assert "biases" in found.looked_at
    found = diagnose(config, capture(model, TOKENS[:, :1]))
    assert found.agree
    assert "biases" not in found.looked_at
    assert "a query that sees one key shows no bias" in str(found)


@pytest.mark.parametrize("model_type", ["t5", "umt5", "longt5"])
def test_t5_is_compared_behind_a_cache_and_in_blocks(model_type: str) -> None:
    """UMT5 computes a bias in each layer, and LongT5's encoder that of a block and its two neighbours."""
    config = CONFIG_MAPPING[model_type](**MODELS["t5"])
    torch.manual_seed(0)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    for name, table in model.named_modules():
        if name.endswith("relative_attention_bias"):
            torch.nn.init.normal_(table.weight)
    found = diagnose(json.loads(config.to_json_string()), capture(model, TOKENS, decoded=3))
    assert found.agree, str(found)
    assert "1 queries and 40 keys" in found.compared


@pytest.mark.parametrize("steps", ["every step", "the last step"])
def test_another_slope_in_one_row_is_found(steps: str) -> None:
    config, model = built("bloom")

    def steeper(module: Any, arguments: Any, named: dict[str, Any]) -> Any:
        bias = named["alibi"].clone()
        if steps == "every step" or bias.shape[-1] == TOKENS.shape[1]:
            bias[len(bias) // 2 :] *= 1.25
        return arguments, {**named, "alibi": bias}

    for block in model.h:
        block.register_forward_pre_hook(steeper, with_kwargs=True, prepend=True)
    found = diagnose(config, capture(model, TOKENS, decoded=3))
    assert not found.agree, str(found)


@pytest.mark.parametrize("seed", range(4))
def test_lengths_that_are_alike_by_chance_name_no_source_of_queries(seed: int) -> None:
    """JetMoE's queries are the output of no linear layer, and one token has few lengths to compare."""
    config = CONFIG_MAPPING["jetmoe"](**SIZES, num_key_value_heads=2, num_local_experts=4)
    torch.manual_seed(seed)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    for tokens, decoded in ((TOKENS[:1, :1], 0), (TOKENS[:1, :8], 3)):
        found = diagnose(json.loads(config.to_json_string()), capture(model, tokens, decoded=decoded))
        assert found.agree, str(found)


def test_values_that_layers_share_are_those_of_the_earlier_layer() -> None:
    """Gemma 3n's last layers attend to the keys and values of earlier ones."""
    types = ["sliding_attention", "full_attention"] * 3
    shared = {"num_hidden_layers": 6, "layer_types": types, "num_kv_shared_layers": 2, "head_dim": 16}
    small = {"vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 16, "sliding_window": 4}
    config = CONFIG_MAPPING["gemma3n_text"](**SIZES | shared | small)
    torch.manual_seed(0)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    plain = json.loads(config.to_json_string())
    for decoded in (0, 3):
        found = diagnose(plain, capture(model, TOKENS, decoded=decoded))
        assert found.agree, str(found)
        assert "values" in found.looked_at
    last, own = model.layers[5].self_attn, model.layers[5].self_attn.forward

    def rotated(*given: Any, shared_kv_states: Any, **named: Any) -> Any:
        keys, values = shared_kv_states[last.layer_type]
        rotation = RoPE(16).rotation(torch.arange(values.shape[2]))
        others = {**shared_kv_states, last.layer_type: (keys, rotation(values, layout="bhtd"))}
        return own(*given, shared_kv_states=others, **named)

    last.forward = rotated
    found = diagnose(plain, capture(model, TOKENS))
    assert [(one.name, one.where) for one in found.findings] == [("values rotated", "layer 5")], str(found)


def test_as_many_tokens_as_heads_are_refused_only_where_nothing_tells_them_apart() -> None:
    """A later step has another number of tokens, and grouped keys have fewer heads."""
    config, model = built("gptj")
    with pytest.raises(ValueError, match=r"^tokens must be more or fewer than the heads of GPTJModel, 4, as"):
        capture(model, TOKENS[:, :4])
    grouped = SIZES | {"alibi": False, "multi_query": True}
    falcon = AutoModel.from_config(CONFIG_MAPPING["falcon"](**grouped), attn_implementation="eager").eval()
    for wanted, captured in (
        (config, capture(model, TOKENS[:, :5], decoded=1)),
        (json.loads(falcon.config.to_json_string()), capture(falcon, TOKENS[:, :4])),
    ):
        found = diagnose(wanted, captured)
        assert found.agree, str(found)


@pytest.mark.parametrize("rope_type", ["dynamic", "longrope"])
@pytest.mark.parametrize("ids", [False, True])
def test_scalings_by_length_take_the_longest_row_of_a_padded_batch(rope_type: str, ids: bool) -> None:
    """The second row alone would not exceed the trained length."""
    lists = {"short_factor": [1.0 + 0.1 * pair for pair in range(8)], "long_factor": [2.0 + pair for pair in range(8)]}
    scaling = {"rope_type": rope_type, "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
    longest = 64 if rope_type == "longrope" else 16
    rope = scaling | (lists if rope_type == "longrope" else {})
    config = CONFIG_MAPPING["llama"](**SIZES, max_position_embeddings=longest, rope_parameters=rope)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    mask = torch.ones_like(TOKENS[:, :20])
    mask[1, :6] = 0
    inputs = {"attention_mask": mask} | ({"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if ids else {})
    found = diagnose(json.loads(config.to_json_string()), capture(model, TOKENS[:, :20], inputs=inputs))
    assert found.agree, str(found)


def test_another_base_is_named() -> None:
    config, model = built("gptj")
    for layer in model.h:
        table = layer.attn.embed_positions
        angle = torch.arange(len(table))[:, None] * 500.0 ** (-torch.arange(0, 8, 2) / 8)
        layer.attn.embed_positions = torch.cat((angle.sin(), angle.cos()), 1)
    found = diagnose(config, capture(model, TOKENS))
    assert [finding.name for finding in found.findings] == ["base"]


def test_slopes_in_another_order_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    config, model = built("bloom")
    slopes = modeling_bloom._get_alibi_slopes
    monkeypatch.setattr(modeling_bloom, "_get_alibi_slopes", lambda *given: slopes(*given).flip(0))
    found = diagnose(config, capture(model, TOKENS))
    assert [finding.name for finding in found.findings] == ["order of heads"]


def test_rows_that_are_read_from_elsewhere_are_named() -> None:
    config, model = built("opt")
    model.decoder.embed_positions.offset = 1
    found = diagnose(config, capture(model, TOKENS))
    assert [finding.name for finding in found.findings] == ["offset of a table"]


def test_what_shows_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^model must be a loaded model of transformers; got 3"):
        capture(3, TOKENS)
    plain = torch.nn.Embedding(64, 8)
    with pytest.raises(ValueError, match="none was seen in Embedding"):
        capture(plain, TOKENS)
    with pytest.raises(TypeError, match="expected must be the config of a model"):
        diagnose(RoPE(dim=16), capture(built("llama")[1], TOKENS))


def gpt2() -> Any:
    return AutoModel.from_config(CONFIG_MAPPING["gpt2"](vocab_size=64, n_embd=64, n_layer=2, n_head=4)).eval()


def test_a_table_that_counts_padding_is_named_where_all_rows_share_their_positions() -> None:
    model, tokens, mask = gpt2(), torch.arange(40).view(2, 20) + 10, torch.ones(2, 20, dtype=torch.int64)
    mask[0, :7] = 0
    found = diagnose(model.config.to_dict(), capture(model, tokens, inputs={"attention_mask": mask}))
    assert [finding.name for finding in found.findings] == ["rows that are read"], str(found)
    places = (mask.cumsum(1) - 1).clamp(0)
    given = {"attention_mask": mask, "position_ids": places}
    assert diagnose(model.config.to_dict(), capture(model, tokens, inputs=given)).agree


def test_positions_that_are_given_begin_again_with_each_document() -> None:
    given = {"position_ids": torch.cat([torch.arange(9), torch.arange(11)])[None]}
    for model in (gpt2(), AutoModel.from_config(CONFIG_MAPPING["llama"](**SIZES)).eval()):
        found = diagnose(model.config.to_dict(), capture(model, torch.arange(20)[None] + 10, inputs=given))
        assert found.agree, str(found)
