"""Positions that a running model used: stock models agree, and each planted fault is named with its first token."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, BartConfig, BartForConditionalGeneration, Llama4TextConfig
from transformers.cache_utils import Cache, Fp8QuantizedLayer, StaticCache

from posenc.transformers import trace
from transformers_adapter.trace_plants import (
    MODELS,
    POSITION_FAULTS,
    WITH_WINDOWS,
    CutRingLayer,
    RingLayer,
    bias_lost,
    built,
    drawn,
    in_chunks,
    kept_rows_counted,
    padded,
    plant,
    read_to,
    window_too_long,
    with_ring,
)

ROTARY = [model_type for model_type in MODELS if model_type not in ("bloom", "gpt2")]
WITH_POSITIONS = [*ROTARY, "gpt2"]
EVERYTHING = "agree in everything that this evidence can show"


def traced_run(model: Any, run: Any, **stated: Any) -> Any:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad(), trace(model, **stated) as traced:
        run(model)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    return traced


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_stock_decoding_with_padding_agrees(attention: str) -> None:
    model = built("llama", attention)
    traced = traced_run(model, lambda model: in_chunks(model, 8, new=3, mask=padded()))
    found = traced.check()
    assert found.verdict == EVERYTHING, str(found)
    assert str(traced).splitlines()[-2:] == [
        "  row 0, layers 0-2: q and k at 24-26; the last query sees tokens 0-26 (27 of 27 slots)",
        "  row 1, layers 0-2: q and k at 21-23; the last query sees tokens 3-26 (24 of 27 slots)",
    ]


@pytest.mark.parametrize("head", [1, 3])
def test_a_query_head_that_shares_its_keys_is_read_too(head: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = built("llama")
    code = sys.modules[type(model).__module__]
    own = code.apply_rotary_pos_emb

    def but_one(q: Any, k: Any, cos: Any, sin: Any) -> Any:
        queries, keys = own(q, k, cos, sin)
        return torch.cat([queries[:, :head], q[:, head : head + 1], queries[:, head + 1 :]], 1), keys

    monkeypatch.setattr(code, "apply_rotary_pos_emb", but_one)
    assert not traced_run(model, lambda model: in_chunks(model, 8)).check().agree


@pytest.mark.parametrize(("channels", "name"), [(slice(None), "rows not written"), ([3, 11], "some differ")])
def test_rows_and_pairs_of_zeros_are_no_positions(channels: Any, name: str) -> None:
    """Zero fits every angle: a kernel that left rows unwritten had every position that it was to have."""
    model = built("llama")
    own = model.model.rotary_emb.forward

    def unwritten(x: Any, position_ids: Any) -> Any:
        tables = [table.clone() for table in own(x, position_ids)]
        for table in tables:
            table[:, 5:9, channels] = 0
        return tuple(tables)

    model.model.rotary_emb.forward = unwritten
    traced = traced_run(model, lambda model: model(drawn(2, 24)))
    found = traced.check()
    assert "layers 0-2: q and k at 0-4 ? 9-23; " in str(traced)
    assert [finding.name for finding in found.findings] == [name]
    assert found.compared.startswith("positions of 40 tokens in 1 call, by rotations in 3 places")
    assert found.not_compared == (
        "positions of 8 tokens in layers 0-2, from token 5 of row 0 in call 0 on: the vectors show none",
    )


def test_queries_of_zeros_show_no_position() -> None:
    model = built("llama")
    torch.nn.init.zeros_(model.model.layers[1].self_attn.q_proj.weight)
    found = traced_run(model, lambda model: in_chunks(model, 8, new=2)).check()
    assert (found.agree, found.exit_code) == (True, 3)
    assert found.compared.startswith("positions of 0 tokens in 5 calls")
    assert found.not_compared == (
        "positions of 52 tokens in layer 1, from token 0 of row 0 in call 0 on: the vectors show none",
    )


@pytest.mark.parametrize("model_type", ["llama", "mistral", "gemma3_text"])
def test_padding_is_known_where_a_static_cache_takes_a_mask_for_each_type_of_layer(model_type: str) -> None:
    named = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "cache_implementation": "static"}
    model = built(model_type, "sdpa")
    found = traced_run(model, lambda model: model.generate(drawn(2, 12), attention_mask=padded()[:, :12], **named))
    assert found.check().agree, str(found.check())


DYNAMIC = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}


@pytest.mark.parametrize("prompt", [8, 20])
def test_dynamic_scaling_follows_the_length_of_each_call(prompt: int) -> None:
    """Answers cross the trained length, or go on behind it, with padding in one row and without."""
    named = {"max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False}
    for mask in (torch.ones(2, prompt, dtype=torch.long), padded()[:, :prompt]):
        model = built("llama", rope_parameters=DYNAMIC, max_position_embeddings=16)
        found = traced_run(
            model, lambda model, mask=mask: model.generate(drawn(2, prompt), attention_mask=mask, **named)
        )
        assert found.check().agree, str(found.check())


def test_a_base_that_an_earlier_input_left_behind_is_found_while_decoding() -> None:
    """From some call on the frequencies are those of a longer sequence."""
    model = built("llama", rope_parameters=DYNAMIC, max_position_embeddings=16)
    rotary, named = model.model.rotary_emb, {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    own, calls = rotary.forward, []

    def stale(x: Any, position_ids: Any) -> Any:
        calls.append(position_ids)
        if len(calls) == 4:
            rotary.forward = own
            rotary.forward(x, torch.arange(60)[None])
        return own(x, position_ids)

    rotary.forward = stale
    found = traced_run(model, lambda model: model.generate(drawn(2, 20), **named)).check()
    assert not found.agree, str(found)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_keys_that_a_norm_changes_after_their_rotation_are_known_again(attention: str) -> None:
    """Llama 4 puts normed keys into the cache, in all layers that rotate; its windows are chunks."""
    experts = {"num_local_experts": 2, "intermediate_size_mlp": 64, "attention_chunk_size": 8, "head_dim": 16}
    config = Llama4TextConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, **experts,
    )  # fmt: skip
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()
    found = traced_run(model, lambda model: in_chunks(model, 8, new=3, mask=padded())).check()
    assert found.agree, str(found)
    plant(model, lambda ids: ids - ids[..., :1])
    found = traced_run(model, lambda model: in_chunks(model, 8, new=3)).check()
    assert [one.name for one in found.findings] == ["positions restarted"], str(found)


def test_padding_of_an_encoder_is_not_that_of_its_decoder() -> None:
    """Bart writes an answer to a padded prompt: the answer's tokens are no padding, whatever attention_mask says."""
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig(vocab_size=64, max_position_embeddings=64, **sizes)).eval()
    named = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False, "num_beams": 1}
    mask = padded()[:, :12]
    found = traced_run(model, lambda model: model.generate(drawn(2, 12), attention_mask=mask, **named)).check()
    assert found.agree, str(found)
    table = model.model.decoder.embed_positions
    read = table.forward
    table.forward = lambda ids, before, position_ids: read(ids, before, position_ids + (before > 2))
    found = traced_run(model, lambda model: model.generate(drawn(2, 12), attention_mask=mask, **named)).check()
    assert not found.agree


@pytest.mark.parametrize(("model_type", "fault"), [("llama", "restarted"), ("gpt2", "padding")])
def test_a_planted_fault_is_named(model_type: str, fault: str) -> None:
    _named(model_type, fault)


@pytest.mark.nightly
@pytest.mark.parametrize("fault", POSITION_FAULTS)
@pytest.mark.parametrize("model_type", WITH_POSITIONS)
def test_every_planted_fault_is_named(model_type: str, fault: str) -> None:
    _named(model_type, fault)


def _named(model_type: str, fault: str) -> None:
    run, stated, name = POSITION_FAULTS[fault]
    found = traced_run(built(model_type), run, **stated).check()
    assert [finding.name for finding in found.findings][:1] == [name], str(found)
    assert found.exit_code == 1


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3", "gpt_neox", "deepseek_v3"])
def test_positions_counted_from_kept_rows_are_named(model_type: str) -> None:
    found = traced_run(built(model_type), kept_rows_counted).check()
    assert [finding.name for finding in found.findings] == ["offset of kept rows", "keys evicted"], str(found)


@pytest.mark.nightly
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("model_type", WITH_WINDOWS)
def test_windows_and_rings_are_named(model_type: str, attention: str) -> None:
    _windows_and_rings(model_type, attention)


def test_a_window_and_a_ring_are_named() -> None:
    _windows_and_rings("mistral", "sdpa")


def _windows_and_rings(model_type: str, attention: str) -> None:
    if model_type == "gpt_oss" and attention == "sdpa":
        attention = "eager"  # it has no other on a CPU
    (finding,) = traced_run(built(model_type, attention), window_too_long).check().findings
    assert finding.name == "window"
    assert "the query of token 6 sees token 0 that it is not to see. The window is 1 too long." in finding.sentence
    (finding,) = traced_run(built(model_type, attention), lambda model: with_ring(model, CutRingLayer)).check().findings
    assert finding.name == "rows of the cache"
    right = traced_run(built(model_type, attention), lambda model: with_ring(model, RingLayer)).check()
    assert right.verdict == EVERYTHING, str(right)


def test_a_bias_that_is_lost_is_named() -> None:
    (finding,) = traced_run(built("bloom"), bias_lost).check().findings
    assert "the key of token 1 is biased as at position 0 where 1 is meant" in finding.sentence
    assert traced_run(built("bloom"), lambda model: in_chunks(model, 8, new=2)).check().agree


def _beams(model: Any) -> None:
    model.generate(drawn(2, 10), num_beams=3, max_new_tokens=6, min_new_tokens=6, do_sample=False, pad_token_id=0)


def _drafted(model: Any) -> None:
    same = {"do_sample": False, "pad_token_id": 0, "max_new_tokens": 6, "min_new_tokens": 6}
    model.generate(drawn(1, 10), assistant_model=built(model.config.model_type), **same)


def _static(model: Any) -> None:
    in_chunks(model, 8, new=4, past=StaticCache(config=model.config, max_cache_len=40))


def _quantised(model: Any) -> None:
    in_chunks(model, 8, new=4, past=Cache([Fp8QuantizedLayer() for _ in range(model.config.num_hidden_layers)]))


def _packed(model: Any) -> None:
    model(drawn(1, 12), position_ids=torch.cat([torch.arange(5), torch.arange(7)])[None], use_cache=False)


def _checkpointed(model: Any) -> None:
    model.train()
    model.activation_checkpointing_enable()
    with torch.enable_grad():
        model(drawn(2, 12), use_cache=False).logits.sum().backward()


HARMLESS = {
    "beams": _beams, "drafts": _drafted, "static": _static, "quantised": _quantised, "packed": _packed,
    "checkpointed": _checkpointed,
}  # fmt: skip


@pytest.mark.parametrize("case", ["beams", "static", "quantised"])
def test_what_is_right_raises_no_alarm(case: str) -> None:
    found = traced_run(built("gemma3_text", "sdpa"), HARMLESS[case]).check()
    assert found.verdict == EVERYTHING, str(found)


@pytest.mark.nightly
@pytest.mark.parametrize("case", HARMLESS)
@pytest.mark.parametrize("model_type", [*WITH_POSITIONS, "bloom"])
def test_nothing_right_raises_an_alarm(model_type: str, case: str) -> None:
    found = traced_run(built(model_type), HARMLESS[case]).check()
    if (model_type, case) == ("gpt_oss", "packed"):  # its masks do not heed position_ids: docs/audit.md
        assert [finding.name for finding in found.findings] == ["documents leak"]
    elif (model_type, case) != ("bloom", "packed"):  # it takes no position_ids
        assert found.agree, str(found)


def test_the_first_wrong_token_is_told() -> None:
    run, _, _ = POSITION_FAULTS["restarted"]
    (finding,) = traced_run(built("llama"), run).check().findings
    assert finding.sentence.startswith(
        "Call 1, layer 0, row 0: the query of token 8 is rotated to position 0 where 8 is meant."
    )


@pytest.mark.parametrize(
    ("ends", "behind", "name"),
    [
        ((8, 9, 16, 24), False, "positions restarted"),
        ((1, 2, 8, 16), False, "positions restarted"),
        ((1, 2, 8, 16), True, "one position behind"),
        ((1, 2, 3, 4), True, "one position behind"),
    ],
)
def test_a_lone_token_at_0_is_told_from_one_position_behind(ends: tuple[int, ...], behind: bool, name: str) -> None:
    model = built("llama")
    plant(model, lambda ids: ids - ((ids > 0).long() if behind else ids[..., :1]))
    (finding,) = traced_run(model, lambda model: read_to(model, ends)).check().findings
    assert finding.name == name
    assert f"token {ends[0]} is rotated to position 0 where {ends[0]} is meant" in finding.sentence


def test_padding_under_a_rotation_is_a_note_and_no_alarm() -> None:
    def run(model: Any) -> None:
        model(drawn(2, 24), attention_mask=padded())  # positions count the padding: one shift of the whole row

    found = traced_run(built("llama"), run).check()
    assert found.agree, str(found)
    assert "all positions of row 1 are shifted by +3" in found.notes[0]


def test_what_cannot_be_traced_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^model must be a loaded model of transformers; got 3"), trace(3):
        pass
    model = built("llama")
    alone = pytest.raises(ValueError, match=r"^positions must come alone; got documents or offset as well")
    with alone, trace(model, positions=torch.arange(3), offset=2):
        pass
    short = pytest.raises(ValueError, match=r"^documents must hold every token of a row; got lengths that sum to 5")
    with short, trace(model, documents=(2, 3)):
        model(drawn(1, 8))
    with pytest.raises(ValueError, match=r"^record must hold a call"), trace(model) as traced:
        traced.check()
