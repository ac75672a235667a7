"""Flags by which queries see later keys: what live models of transformers do with each, and verdicts on them."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel, AutoModelForCausalLM

from posenc.diagnosis import diagnose
from posenc.models.config.sight_rules import sees_later_keys
from posenc.transformers import audit, capture, trace
from transformers_adapter.trace_plants import GROUPED, drawn

BOTH_SIDES = {"use_bidirectional_attention": True}
HEADS = GROUPED | {"head_dim": 16, "sliding_window": 6}
ALTERNATING = HEADS | {"layer_types": ["sliding_attention", "full_attention", "full_attention"]}
#: Types with what their configs state, and whether the last token changes the first one's state, by attention function.
FLAGS: list[tuple[str, dict[str, Any], dict[str, bool]]] = [
    ("llama", GROUPED, {"eager": False, "sdpa": False}),
    ("llama", GROUPED | {"is_causal": False}, {"eager": True, "sdpa": True}),
    ("llama", GROUPED | BOTH_SIDES, {"eager": False, "sdpa": False}),
    ("gemma", HEADS | BOTH_SIDES, {"eager": False, "sdpa": True}),
    ("gemma", HEADS | BOTH_SIDES | {"is_causal": False}, {"eager": True, "sdpa": True}),
    ("gemma2", ALTERNATING | BOTH_SIDES, {"eager": False}),
    ("gemma2", ALTERNATING | {"is_causal": False}, {"eager": True}),
    ("vaultgemma", ALTERNATING | BOTH_SIDES, {"eager": False}),
    ("gemma3_text", ALTERNATING | BOTH_SIDES, {"eager": True, "sdpa": True}),
    ("gemma4_text", ALTERNATING | {"use_bidirectional_attention": "all"}, {"eager": True, "sdpa": True}),
    ("gemma4_text", ALTERNATING | {"use_bidirectional_attention": "vision"}, {"eager": False, "sdpa": False}),
]


def built(model_type: str, keys: dict[str, Any], attention: str) -> Any:
    torch.manual_seed(0)
    config = CONFIG_MAPPING[model_type](**keys)
    if model_type == "gemma4_text":
        config.hidden_size_per_layer_input = 0
    return AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()


def first_sees_last(model: Any) -> bool:
    """Whether another last token changes the logits of the first token."""
    tokens = drawn(1, 12)
    other = tokens.clone()
    other[:, -1] -= 1
    with torch.no_grad():
        one, two = (model(ids, use_cache=False).logits[0, 0] for ids in (tokens, other))
    return not torch.equal(one, two)


@pytest.mark.parametrize(
    ("model_type", "keys", "seen"), FLAGS, ids=[f"{one[0]}{number}" for number, one in enumerate(FLAGS)]
)
def test_a_flag_does_what_transformers_does_with_it(
    model_type: str, keys: dict[str, Any], seen: dict[str, bool]
) -> None:
    models = {attention: built(model_type, keys, attention) for attention in seen}
    assert {attention: first_sees_last(model) for attention, model in models.items()} == seen
    told = {sees_later_keys(json.loads(model.config.to_json_string())) for model in models.values()}
    unsettled = model_type in ("gemma", "gemma2") and "is_causal" not in keys
    assert told == ({None} if unsettled else set(seen.values()))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize(
    ("model_type", "keys"),
    [
        ("llama", GROUPED | {"is_causal": False}),
        ("gemma", HEADS | BOTH_SIDES),
        ("gemma3_text", ALTERNATING | BOTH_SIDES),
    ],
    ids=["llama", "gemma", "gemma3_text"],
)
def test_models_that_do_what_their_flags_say_are_not_accused(
    model_type: str, keys: dict[str, Any], attention: str
) -> None:
    model = built(model_type, keys, attention)
    found = diagnose(model.config, capture(model, drawn(2, 12)))
    assert found.agree, str(found)
    with torch.no_grad(), trace(model) as traced:
        model(drawn(2, 12), use_cache=False)
    assert traced.check().agree, str(traced.check())


def test_a_mask_that_hides_later_keys_against_the_flag_is_told() -> None:
    model = built("llama", GROUPED, "eager")
    config = {**json.loads(model.config.to_json_string()), "is_causal": False}
    (finding,) = diagnose(config, capture(model, drawn(2, 12))).findings
    assert finding.name == "causal mask"


def test_an_audit_does_not_feed_tokens_one_by_one_to_a_model_that_sees_later_ones() -> None:
    report = audit(built("llama", GROUPED | {"is_causal": False}, "sdpa"))
    reasons = {result.name: result.reason for result in report.results}
    assert reasons["cached"] == reasons["chunked"] == "its queries may see later tokens"
    assert not [result.name for result in report.breaks if result.name != "cast"]


BART = {
    "model_type": "bart", "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "vocab_size": 64,
}  # fmt: skip


def test_a_decoder_that_its_file_lets_see_later_keys_is_noted_and_not_accused() -> None:
    later = BART | {"is_causal": False}
    (said,) = diagnose(BART, later).not_compared
    assert said.startswith("is_causal = False")
    assert said.endswith(": queries see later keys (the second alone)")
    tokens, models = torch.arange(12)[None] + 10, []
    for stated in (BART, later):
        torch.manual_seed(0)
        models.append(AutoModel.from_config(AutoConfig.for_model(**stated)).eval())
    other = tokens.clone()
    other[:, -1] -= 1
    with torch.no_grad():
        seen = [
            not torch.equal(*(model(tokens, decoder_input_ids=ids)[0][0, 0] for ids in (tokens, other)))
            for model in models
        ]
    assert seen == [False, True]
    inputs = {"decoder_input_ids": tokens}
    for stated, model in zip((BART, later), models, strict=True):
        assert diagnose(stated, capture(model, tokens, inputs=inputs)).agree
    wrong = diagnose(BART, capture(models[1], tokens, inputs=inputs))
    assert "causal mask" in {finding.name for finding in wrong.findings}, str(wrong)
