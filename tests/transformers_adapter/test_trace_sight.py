"""What a trace sees beyond text in one forward: videos, every attention function, and what it says it did not see."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    AttentionInterface,
    BartConfig,
    BartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from posenc.positions import multimodal
from posenc.transformers import trace
from transformers_adapter.test_trace import EVERYTHING, traced_run
from transformers_adapter.trace_media import RATES, cut_rate, film, film_model
from transformers_adapter.trace_plants import PROMPT, built, drawn, in_chunks, padded, restarted

FIXED = {"do_sample": False, "max_new_tokens": 4, "min_new_tokens": 4}


def test_frames_a_second_cut_to_a_whole_number_are_named() -> None:
    for rate in (2.5, 29.97):
        model, request = film_model(), film(rate, grid=(24, 4, 4))
        right = traced_run(model, lambda model, request=request: model(**request)).check()
        assert right.agree, str(right)
        cut_rate(model, rate, grid=(24, 4, 4))
        found = traced_run(model, lambda model, request=request: model(**request)).check()
        assert [finding.name for finding in found.findings] == ["time of video frames"], str(found)
        grid, at = (1, "(5, 3, 3) where (4, 3, 3)") if rate == 2.5 else (22, "(6, 3, 3) where (5, 3, 3)")
        token = 3 + 4 * grid  # of four tokens each
        assert f"the query of token {token} is rotated to position {at} is meant" in found.findings[0].sentence


def test_tokens_after_a_video_go_on_from_the_last_token() -> None:
    for rate in RATES:
        model, request = film_model(), film(rate)
        traced = traced_run(model, lambda model, request=request: model.generate(**request, **FIXED))
        video = {name: request[name].numpy() for name in ("video_grid_thw", "second_per_grid_ts")}
        types = request["mm_token_type_ids"].numpy()
        placed = multimodal("qwen2.5-vl", types, merge=2, tokens_per_second=2.0, **video)
        assert model.model.rope_deltas.tolist() == placed.delta[:, None].tolist(), rate
        assert traced.check().agree, str(traced.check())
        later = [layer.queries[0, 0, 0].tolist() for layer in traced.of_call(1) if layer.kind == "rotation"]
        assert later == [[10.0] * 3] * 3  # the last word stands at 9, wherever the video ends
        found = traced_run(model, lambda model, request=request: _own_loop(model, request)).check()
        names = [finding.name for finding in found.findings]
        assert names == (["next after a video"] if placed.following[0] != 10 else []), (rate, str(found))


def _own_loop(model: Any, request: dict[str, Any]) -> None:
    past = model(**request, use_cache=True).past_key_values
    for _ in range(2):
        model(torch.tensor([[7]]), past_key_values=past, use_cache=True)


@pytest.mark.filterwarnings("ignore:_compile flag:DeprecationWarning", "ignore:flex_attention called without")
@pytest.mark.parametrize("attention", ["eager", "sdpa", "flex_attention"])
def test_every_attention_function_is_seen(attention: str) -> None:
    with torch.compiler.set_stance("force_eager"):  # compiling flex attention takes minutes on a CPU
        traced = traced_run(built("gemma3_text", attention), lambda model: in_chunks(model, 8, new=2, mask=padded()))
        wrong = traced_run(built("gemma3_text", attention), restarted)
    assert traced.check().verdict == EVERYTHING, str(traced.check())
    assert "row 1, layer 1: q and k at 21-22; the last query sees tokens 3-25 (23 of 26 slots)" in str(traced)
    (finding,) = wrong.check().findings
    assert finding.name == "positions restarted"


def _sees_all(module: Any, q: Any, k: Any, v: Any, mask: Any, **named: Any) -> Any:
    return sdpa_attention_forward(module, q, k, v, torch.ones_like(mask), **named)


def test_a_mask_that_is_changed_inside_an_attention_function_is_seen() -> None:
    AttentionInterface.register("sees_all", _sees_all)
    AttentionInterface.register("sees_as_told", lambda *given, **named: sdpa_attention_forward(*given, **named))
    own = torch.ones(2, 1, PROMPT, PROMPT, dtype=torch.bool).tril() & padded()[:, None, None].bool()
    ids = (padded().cumsum(1) - 1).clamp(min=0)
    for attention, names in (("sees_as_told", []), ("sees_all", ["causal mask"])):
        model = built("llama", "sdpa")
        model.set_attn_implementation(attention)
        run = traced_run(model, lambda model: model(drawn(2, PROMPT), attention_mask=own, position_ids=ids))
        found = run.check()
        assert [finding.name for finding in found.findings] == names, str(found)
        assert "what queries see in 3 layers" in found.compared


def _hides_in_one_head(module: Any, q: Any, k: Any, v: Any, mask: Any, **named: Any) -> Any:
    own = mask.expand(-1, q.shape[1], -1, -1).clone()
    own[:, 1, 5, 2] = False
    return sdpa_attention_forward(module, q, k, v, own, **named)


def test_a_key_that_one_head_does_not_see_is_seen() -> None:
    """In a mask by heads, and in what a function does with a mask that all heads share."""
    AttentionInterface.register("hides_in_one_head", _hides_in_one_head)
    whole = torch.ones(2, 4, PROMPT, PROMPT, dtype=torch.bool).tril()
    hidden = whole.clone()
    hidden[:, 1, 5, 2] = False
    cases = (("sdpa", whole, False), ("sdpa", hidden, True), ("hides_in_one_head", whole[:, :1], True))
    for attention, mask, is_wrong in cases:
        model = built("llama", "sdpa")
        model.set_attn_implementation(attention)
        found = traced_run(model, lambda model, mask=mask: model(drawn(2, PROMPT), attention_mask=mask)).check()
        assert [finding.name for finding in found.findings] == ["mask of some heads"] * is_wrong, str(found)
        assert ("some heads of the query of token 5 do not see token 2. Others do." in str(found)) == is_wrong


def test_a_verdict_names_what_was_not_looked_at() -> None:
    sizes = {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4}
    model = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)).eval()
    found = traced_run(model, lambda model: model(drawn(1, 9), decoder_input_ids=drawn(1, 5))).check()
    assert found.exit_code == 3
    named = str(found)
    assert "T5Bias of encoder: a trace does not read it; posenc.transformers.capture does" in named
    assert "positions and masks of decoder: it attends over 5 tokens or patches of its own" in named
    film_run = traced_run(film_model(), lambda model: model.generate(**film(2.0), **FIXED)).check()
    assert "positions and masks of vision: it attends over" in str(film_run)


def test_an_encoder_without_a_mask_lends_its_sight_to_no_decoder_of_as_many_tokens() -> None:
    """SDPA is given no mask in either, and hides later keys in the decoder alone."""
    sizes = {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    heads = {"vocab_size": 64, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(**sizes, **heads, attn_implementation="sdpa")
    model, ids = BartForConditionalGeneration(config).eval(), drawn(1, 9)
    found = traced_run(model, lambda model: model(ids, decoder_input_ids=ids)).check()
    assert not found.findings, str(found)
    assert "what queries see in 2 layers" in str(found)
    model.model.decoder.layers[0].self_attn.is_causal = False
    found = traced_run(model, lambda model: model(ids, decoder_input_ids=ids)).check()
    assert [finding.name for finding in found.findings] == ["causal mask"], str(found)


def test_vectors_of_zeros_raise_no_alarm() -> None:
    model = built("llama")
    with torch.no_grad():
        model.model.layers[1].self_attn.k_proj.weight.zero_()
        model.model.embed_tokens.weight[5].zero_()
    found = traced_run(model, lambda model: in_chunks(model, 8, new=2)).check()
    assert found.agree, str(found)


def test_keys_of_a_config_are_waived() -> None:
    model = built("llama")
    model.config.use_mrope = True
    with pytest.raises(ValueError, match="give waive="), trace(model):
        pass
    with torch.no_grad(), trace(model, waive=["use_mrope"]) as traced:
        model(drawn(1, 8))
    assert "use_mrope = True is waived" in str(traced.check())
    alone = pytest.raises(ValueError, match=r"^waive must come without expected, which is read already; got both")
    with alone, trace(model, waive=["use_mrope"], expected=traced.model):
        pass
