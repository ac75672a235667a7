"""Loaded models of transformers with our rotation inside: the same logits, undone without a trace, others refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from posenc.transformers import accelerate, accelerated_attention, accelerated_model
from transformers_adapter.tiny_models import TOKENS, model

KINDS = ("Llama", "Qwen3", "Gemma3", "GPTNeoX", "GPTJ", "Glm4")


@pytest.fixture(autouse=True)
def rotations_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours takes the few numbers of these small models too."""
    monkeypatch.setattr(accelerated_model, "FEWEST_NUMBERS", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_logits_before_within_and_after(kind: str) -> None:
    one = model(kind)
    forwards = [type(module).forward for module in one.modules()]
    with torch.no_grad():
        before = one(TOKENS).logits
        with accelerate(one) as accelerated:
            within = one(TOKENS).logits
        after = one(TOKENS).logits
    assert len(accelerated.changed) == 2
    # Queries and keys are the same bits; attention may sum them in another order where they lie otherwise in memory.
    assert (within - before).abs().max() <= 64 * 2**-24 * (1 + before.abs().max())
    assert torch.equal(after, before)
    assert [type(module).forward for module in one.modules()] == forwards
    assert not any("forward" in module.__dict__ for module in one.modules())


def test_few_queries_keep_the_model_s_own_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows of 7 tokens, 4 heads of 12 and 2 layers."""
    one, calls = model("Llama"), []
    rotate = accelerated_model.rotate
    with torch.no_grad(), accelerate(one):
        monkeypatch.setattr(accelerated_model, "rotate", lambda *a, **b: calls.append(a) or rotate(*a, **b))
        for fewest, ours in ((2 * 7 * 4 * 12, 2), (2 * 7 * 4 * 12 + 1, 0), (1 << 16, 0)):
            monkeypatch.setattr(accelerated_model, "FEWEST_NUMBERS", fewest)
            calls.clear()
            one(TOKENS)
            assert len(calls) == ours


def test_compiled_calls_of_any_size_rotate_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerated_model, "FEWEST_NUMBERS", 1 << 16)
    either = accelerated_model._of_many(torch.sin, torch.cos)
    x = torch.ones(3)
    assert torch.equal(torch.compile(either, backend="eager", fullgraph=True)(x), x.sin())
    assert torch.equal(either(x), x.cos())


def test_calls_of_any_size_beside_the_cpu_rotate_by_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerated_model, "FEWEST_NUMBERS", 1 << 16)
    either = accelerated_model._of_many(lambda _: "ours", lambda _: "the model's")
    assert either(torch.ones(3, device="meta")) == "ours"
    assert either(torch.ones(3)) == "the model's"


def test_layers_that_do_not_rotate_are_left_alone() -> None:
    sizes: dict[str, Any] = {"vocab_size": 32, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 4}
    more = {"num_key_value_heads": 1, "intermediate_size": 16, "pad_token_id": 0}
    for layers in ([1, 0, 1, 0], [1, 1, 1, 1]):
        config = transformers.SmolLM3Config(**sizes, **more, no_rope_layers=layers)
        with accelerate(transformers.SmolLM3Model(config)) as accelerated:
            names = [f"layers.{number}.self_attn" for number, rotates in enumerate(layers) if rotates]
            assert [name for name, _ in accelerated.changed] == names
    falcon = transformers.FalconModel(transformers.FalconConfig(**sizes, alibi=True))
    with pytest.raises(ValueError, match=r"^model must have attention that calls .* in layers that rotate"):
        accelerate(falcon)
    with accelerate(transformers.FalconModel(transformers.FalconConfig(**sizes))) as accelerated:
        assert len(accelerated.changed) == 4


def test_a_layer_rotates_by_its_own_number_and_config_in_whatever_it_stands() -> None:
    sizes: dict[str, Any] = {"vocab_size": 32, "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 4}
    more = {"num_key_value_heads": 1, "intermediate_size": 16, "pad_token_id": 0, "no_rope_layers": [1, 0, 1, 1]}
    smol = transformers.SmolLM3Model(transformers.SmolLM3Config(**sizes, **more))
    stages = torch.nn.ModuleList([smol.layers[:1], smol.layers[1:]])
    stages.config = smol.config
    for inside, names in ((stages, ("0.0", "1.1", "1.2")), (smol.layers[2], ("",)), (smol.layers[1:3], ("1",))):
        with accelerate(inside) as accelerated:
            assert [name for name, _ in accelerated.changed] == [f"{name}.self_attn".lstrip(".") for name in names]
    with pytest.raises(ValueError, match=r"in layers that rotate"):
        accelerate(smol.layers[1])


def test_other_models_are_left_alone() -> None:
    one, other = model("Llama"), model("Llama")
    accelerated = accelerate(one)
    assert not any("forward" in module.__dict__ for module in other.modules())
    accelerated.undo()


def test_a_model_decodes_and_learns_with_it() -> None:
    one, plain = model("Llama"), model("Llama")
    accelerate(one)
    for each in (one, plain):
        each(TOKENS, labels=TOKENS).loss.backward()
    for mine, theirs in zip(one.parameters(), plain.parameters(), strict=True):
        assert (mine.grad - theirs.grad).abs().max() <= 2**-16 * (1 + theirs.grad.abs().max())
    with torch.no_grad():
        known = one(TOKENS[:, :6], use_cache=True)
        step = one(TOKENS[:, 6:], past_key_values=known.past_key_values).logits[:, -1]
        whole = one(TOKENS).logits[:, -1]
    assert (step - whole).abs().max() <= 64 * 2**-24 * (1 + whole.abs().max())


def test_float64_stays_float64() -> None:
    one = model("Llama").double()
    with torch.no_grad():
        before = one(TOKENS).logits
        with accelerate(one):
            assert (one(TOKENS).logits - before).abs().max() <= 64 * 2**-53 * (1 + before.abs().max())


def test_attention_that_is_not_finite_is_not_taken_for_equal() -> None:
    sizes = {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 2}
    one = transformers.BloomForCausalLM(transformers.BloomConfig(**sizes)).eval()
    torch.nn.init.constant_(one.transformer.h[0].self_attention.query_key_value.weight, float("nan"))
    with pytest.raises(ValueError, match=r"^model must attend as its config says; got another output at .*, by inf"):
        accelerate(one)


def test_sixteen_bits_round_less() -> None:
    one = model("Llama").to(torch.bfloat16)
    with torch.no_grad():
        before = one(TOKENS).logits
        with accelerate(one):
            within = one(TOKENS).logits
    assert within.dtype == torch.bfloat16
    assert (within - before).abs().max() <= 2**-4 * (1 + before.abs().max())


def apply_rotary_pos_emb(q: Any, k: Any, cos: Any, sin: Any, unsqueeze_dim: int = 1) -> Any:
    """A rotation the other way round."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    halves = [torch.cat([x[..., x.shape[-1] // 2 :], -x[..., : x.shape[-1] // 2]], -1) for x in (q, k)]
    return q * cos + halves[0] * sin, k * cos + halves[1] * sin


class Backwards(torch.nn.Module):
    def forward(self, q: Any, k: Any, cos: Any, sin: Any) -> Any:
        return apply_rotary_pos_emb(q, k, cos, sin)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^model must be a loaded model"):
        accelerate("llama")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^model must have attention that calls"):
        accelerate(torch.nn.Linear(2, 2))
    backwards = Backwards()
    with pytest.raises(ValueError, match=r"^model must rotate pairs of channels as .*another rotation"):
        accelerate(backwards)
    assert "forward" not in backwards.__dict__
    one = model("Llama")
    accelerate(one)
    with pytest.raises(ValueError, match=r"^model must be as it was loaded"):
        accelerate(one)


def in_small(kind: str) -> Any:
    """A model whose positions act inside attention, weights large enough that they show."""
    torch.manual_seed(0)
    t5 = {"vocab_size": 32, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    deberta = {
        "vocab_size": 32,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "relative_attention": True,
        "position_buckets": 8,
        "max_relative_positions": -1,
        "max_position_embeddings": 32,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
    }
    made = {
        "T5": lambda: transformers.T5ForConditionalGeneration(transformers.T5Config(**t5)),
        "DeBERTa": lambda: transformers.DebertaV2Model(transformers.DebertaV2Config(**deberta)),
        "DeBERTa, projections of their own": lambda: transformers.DebertaV2Model(
            transformers.DebertaV2Config(**deberta | {"share_att_key": False, "position_buckets": -1})
        ),
        "BLOOM": lambda: transformers.BloomForCausalLM(
            transformers.BloomConfig(vocab_size=32, hidden_size=24, n_layer=2, n_head=6)
        ),
        "MPT": lambda: transformers.MptForCausalLM(
            transformers.MptConfig(vocab_size=32, d_model=24, n_layers=2, n_heads=6, max_seq_len=64)
        ),
    }[kind]()
    for parameter in made.parameters():
        parameter.data.mul_(2.0)
    return made.eval()


INSIDE = ("T5", "DeBERTa", "DeBERTa, projections of their own", "BLOOM", "MPT")
IDS = torch.randint(32, (2, 20), generator=torch.Generator().manual_seed(1))


def given(kind: str, padding: int) -> tuple[dict[str, Any], Any]:
    """Two rows, padding before the second, and which tokens are none."""
    real = torch.ones(2, 20, dtype=torch.bool)
    real[1, :padding] = False
    asked = {"input_ids": IDS, "attention_mask": real.long()}
    return asked | ({"decoder_input_ids": IDS, "use_cache": False} if kind == "T5" else {}), real


@pytest.mark.parametrize("kind", INSIDE)
def test_positions_inside_attention_give_the_same_and_the_same_gradients(kind: str, monkeypatch: Any) -> None:
    one, calls, results = in_small(kind), [], []
    attend = accelerated_attention.attention
    monkeypatch.setattr(accelerated_attention, "attention", lambda *a, **b: calls.append(b) or attend(*a, **b))
    of_any_length(monkeypatch)
    accelerated = accelerate(one)
    calls.clear()
    for ours in (True, False):
        asked = [given(kind, padding) for padding in (0, 3)]
        found = [one(**each)[0][real] for each, real in asked]
        one.zero_grad()
        found[0].square().mean().backward()
        results.append((found, [p.grad for p in one.parameters() if p.grad is not None]))
        if ours:
            assert len(calls) >= 3 * len(accelerated.changed), "each layer attends by ours, padded rows each by itself"
            assert {call.get("mask") for call in calls} == {None}, "no mask where none is needed"
            accelerated.undo()
    for mine, theirs in zip(results[0][0] + results[0][1], results[1][0] + results[1][1], strict=True):
        assert (mine - theirs).abs().max() <= 64 * 2**-23 * (1 + theirs.abs().max())
    assert not any("forward" in module.__dict__ for module in one.modules())


def of_any_length(monkeypatch: Any) -> None:
    """Ours takes calls of few tokens too."""
    for kind in accelerated_attention.FEWEST:
        monkeypatch.setitem(accelerated_attention.FEWEST, kind, 1)


@pytest.mark.parametrize("kind", ["T5", "BLOOM"])
def test_calls_of_few_tokens_stay_with_the_model(kind: str, monkeypatch: Any) -> None:
    one, calls = in_small(kind), []
    attend = accelerated_attention.attention
    asked, _ = given(kind, 3)
    stock = one(**asked)[0]
    with accelerate(one):
        monkeypatch.setattr(accelerated_attention, "attention", lambda *a, **b: calls.append(b) or attend(*a, **b))
        assert torch.equal(one(**asked)[0], stock)
    assert not calls


def hidden_by(padding: list[bool], causal: bool) -> torch.Tensor:
    real = torch.tensor(padding)
    seen = real.expand(len(real), -1).clone()
    return seen & torch.ones_like(seen).tril() if causal else seen


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padding", ["1111", "0111", "1100", "0110", "1000"])
def test_the_parts_of_a_row_are_its_mask(padding: str, causal: bool) -> None:
    seen = hidden_by([each == "1" for each in padding], causal)
    made = torch.zeros_like(seen)
    parts = accelerated_attention._parts_of_row(seen)
    assert parts is not None
    for queries, keys, up_to_own in parts:
        part = torch.ones_like(seen[queries, keys])
        made[queries, keys] = part.tril() if up_to_own else part
    assert torch.equal(made, seen)


def test_other_masks_have_no_parts() -> None:
    window = hidden_by([True] * 5, True).triu(-2)
    hole = hidden_by([True, False, True, True], False)
    ahead = hidden_by([True] * 4, False).triu()
    partly = hidden_by([False, True, True, True], False)
    partly[0, 2] = False
    for seen in (window, hole, ahead, partly, torch.zeros(3, 3, dtype=torch.bool)):
        assert accelerated_attention._parts_of_row(seen) is None


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["T5", "BLOOM", "MPT"])
def test_they_generate_the_same(kind: str, monkeypatch: Any) -> None:
    of_any_length(monkeypatch)
    one, ids = in_small(kind), IDS[:, :7]
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    asked = {"attention_mask": mask, "min_new_tokens": 6, "max_new_tokens": 6, "do_sample": False}
    asked |= {"decoder_start_token_id": 0} if kind == "T5" else {}
    stock = one.generate(ids, **asked)
    with accelerate(one):
        assert torch.equal(one.generate(ids, **asked), stock)
        assert torch.equal(one.generate(ids, cache_implementation="static", **asked), stock)


def test_weights_that_are_asked_for_are_the_model_s_own() -> None:
    one = in_small("MPT")
    stock = one(IDS, output_attentions=True).attentions
    with accelerate(one):
        within = one(IDS, output_attentions=True).attentions
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(within, stock, strict=True))


def test_a_model_that_attends_otherwise_is_refused_and_left_as_it_was() -> None:
    one = in_small("T5")
    one.set_attn_implementation("eager")
    with pytest.raises(ValueError, match=r"^model must make calls that attention can take; got none at .*'eager'"):
        accelerate(one)
    assert not any("forward" in module.__dict__ for module in one.modules())
    other = in_small("BLOOM")
    for block in other.transformer.h:
        block.self_attention.inv_norm_factor *= 1.01
    with pytest.raises(ValueError, match=r"^model must attend as its config says; got another output at 'transformer"):
        accelerate(other)
