"""Loaded models of transformers with our rotation inside: the same logits, undone without a trace, others refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc.torch import accelerate
from torch_adapter.tiny_models import TOKENS, model

KINDS = ("Llama", "Qwen3", "Gemma3", "GPTNeoX", "GPTJ", "Glm4")


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
