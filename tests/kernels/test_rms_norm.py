"""Norm and rotation together, against the modules of transformers; bad input. The kernel's own tests are in
triton_cases."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers.models.gemma3.modeling_gemma3 import Gemma3RMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm, apply_rotary_pos_emb

from posenc import Partial, RoPE
from posenc.torch import angles, rotate_normed, rotate_normed_

TURN = RoPE(dim=16, pairing="halves").rotation(torch.arange(5) + 90)


def heads(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(2, count, 5, 16, generator=torch.Generator().manual_seed(count)).to(dtype)


@pytest.mark.parametrize(("peer", "plus_one"), [(Qwen3RMSNorm, False), (Gemma3RMSNorm, True)])
def test_is_what_released_models_compute(peer: Any, plus_one: bool) -> None:
    q, k, norms = heads(4), heads(2), (peer(16, eps=1e-6), peer(16, eps=1e-6))
    for seed, norm in enumerate(norms):
        torch.nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(seed))
    cos, sin = (torch.cat([part, part], -1)[None] for part in (TURN.cos, TURN.sin))
    wanted = apply_rotary_pos_emb(norms[0](q), norms[1](k), cos, sin)
    found = rotate_normed(
        q, k, TURN, q_weight=norms[0].weight, k_weight=norms[1].weight, epsilon=1e-6, plus_one=plus_one, layout="bhtd"
    )
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine - theirs).abs().max() <= 8 * 2**-24 * theirs.abs().max()  # the same sums, in another order
    weights = torch.autograd.grad([x.sum() for x in found], [norm.weight for norm in norms])
    theirs = torch.autograd.grad([x.sum() for x in wanted], [norm.weight for norm in norms])
    for mine, other in zip(weights, theirs, strict=True):
        assert torch.allclose(mine, other, rtol=1e-5, atol=1e-5)  # a sum of 40 numbers of size 2


def test_layouts_and_channels_that_stay_and_memory() -> None:
    rotation = Partial(RoPE(dim=6), dim=16, start=4).rotation(torch.arange(5))
    norm: Any = {"q_weight": torch.ones(16), "k_weight": torch.ones(16), "epsilon": 0.0}
    q, k = heads(4, torch.bfloat16), heads(2, torch.bfloat16)
    one = rotate_normed(q, k, rotation, **norm, layout="bhtd")
    other = rotate_normed(q.transpose(1, 2), k.transpose(1, 2), rotation, **norm, layout="bthd")
    assert all(torch.equal(a, b.transpose(1, 2)) for a, b in zip(one, other, strict=True))
    assert torch.allclose(
        one[0].float().square().mean(-1), torch.ones(2, 4, 5), rtol=2**-7
    )  # rotated, as long as before
    far = angles(Partial(RoPE(dim=6), dim=16, start=4), torch.arange(5))
    assert torch.equal(rotate_normed(q, k, far, **norm, layout="bhtd")[0], one[0])
    same = rotate_normed_(q, k, rotation, **norm, layout="bhtd")
    assert same[0] is q
    assert torch.equal(q, one[0])
    assert torch.equal(k, one[1])


def test_tracers_see_through() -> None:
    def call(q: Any, k: Any, weight: Any) -> Any:
        return rotate_normed(q, k, TURN, q_weight=weight, k_weight=weight, epsilon=1e-6, layout="bhtd")

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    arguments = heads(4), heads(2), torch.ones(16)
    assert all(torch.equal(a, b) for a, b in zip(compiled(*arguments), call(*arguments), strict=True))


GOOD: dict[str, Any] = {
    "q": torch.zeros(2, 4, 5, 16),
    "k": torch.zeros(2, 2, 5, 16),
    "rotation": TURN,
    "q_weight": torch.ones(16),
    "k_weight": torch.ones(16),
    "epsilon": 1e-6,
    "plus_one": False,
    "layout": "bhtd",
    "impl": "auto",
}


@pytest.mark.parametrize("function", [rotate_normed, rotate_normed_])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("q", torch.zeros(2, 4, 5, 8), ValueError),
        ("k", None, TypeError),
        ("rotation", None, TypeError),
        ("q_weight", torch.ones(8), ValueError),
        ("k_weight", torch.ones(16, dtype=torch.int64), ValueError),
        ("k_weight", torch.ones(16, device="meta"), ValueError),
        ("k_weight", 1.0, TypeError),
        ("epsilon", -1.0, ValueError),
        ("epsilon", "1e-6", TypeError),
        ("plus_one", 1, TypeError),
        ("layout", "bdth", ValueError),
        ("impl", "native", ValueError),
        ("impl", "fastest", ValueError),
    ],
)
def test_bad_arguments(function: Any, name: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=f"^{name} must"):
        function(**{**GOOD, name: value})


def test_what_cannot_be_done_in_place() -> None:
    with pytest.raises(ValueError, match=r"^q must not require a gradient"):
        rotate_normed_(**{**GOOD, "q": GOOD["q"].clone().requires_grad_()})
    with pytest.raises(ValueError, match=r"^k_weight must not require a gradient"):
        rotate_normed_(**{**GOOD, "k_weight": torch.ones(16, requires_grad=True)})
    with pytest.raises(ValueError, match=r"^k must not share memory"):
        rotate_normed_(**{**GOOD, "q": GOOD["k"]})
    with pytest.raises(ValueError, match=r"^k must not overlap"):
        rotate_normed_(**{**GOOD, "k": torch.zeros(2, 1, 5, 16).expand(2, 2, 5, 16)})
