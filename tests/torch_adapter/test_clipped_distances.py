"""Scores whose far keys share one vector, by fused attention and a band, against Shaw's formula pair by pair."""

import pytest
import torch

import posenc
from posenc.torch import attention, module
from posenc.torch.attention_paths import clipped_distances

BATCH, HEADS, TOKENS, WIDTH = 2, 3, 131, 8


def shaw(q, k, v, keys, values, encoding, scale, causal):
    """Shaw et al. 2018, eq. 3 and 4, with a vector for each pair."""
    place = torch.arange(TOKENS)
    row = (place - place[:, None]).clamp(-encoding.clip, encoding.clip_ahead) + encoding.clip
    logits = scale * q @ k.mT + torch.einsum("bhid,ijd->bhij", q, keys[row]) / WIDTH**0.5
    if causal:
        logits = logits.masked_fill(place > place[:, None], float("-inf"))
    weights = logits.softmax(-1)
    return weights @ v + torch.einsum("bhij,ijd->bhid", weights, values[row])


def drawn(dtype=torch.float64, heads=HEADS):
    draw = torch.Generator().manual_seed(0)
    shapes = ((BATCH, HEADS, TOKENS, WIDTH), *[(BATCH, heads, TOKENS, WIDTH)] * 2)
    return [torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def held(encoding):
    """A module with parameters of float64, large enough that each of them matters."""
    made = module(encoding, seed=1).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3.0)
    return made


def arguments(made, causal):
    at = torch.arange(5, 5 + TOKENS)
    return {"query_positions": at, "key_positions": at, "encodings": [made], "causal": causal, "layout": "bhtd"}


@pytest.fixture
def fused(monkeypatch):
    """How often far keys were attended to by themselves."""
    calls, own = [], clipped_distances._fused
    monkeypatch.setattr(clipped_distances, "_fused", lambda *given: calls.append(1) or own(*given))
    return calls


@pytest.mark.parametrize("causal", [True, False], ids=["causal", "all"])
@pytest.mark.parametrize(("clip", "ahead"), [(3, None), (1, 5), (6, 1)])
def test_near_and_far_keys_together_give_what_each_pair_gives(monkeypatch, fused, clip, ahead, causal):
    """With the gradients of q, k, v and both tables, the band in pieces of which the last is not full."""
    monkeypatch.setattr(clipped_distances, "NUMBERS", 20_000)
    q, k, v = drawn()
    encoding = posenc.Shaw(dim=WIDTH, clip=clip, ahead=ahead)
    made = held(encoding)
    leaves = [q, k, v, made.params["relative_keys"], made.params["relative_values"]]
    got = attention(q, k, v, **arguments(made, causal), scale=0.7)
    want = shaw(*leaves, encoding, 0.7, causal)
    weights = torch.randn(got.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    pairs = [(got, want)]
    pairs += zip(*(torch.autograd.grad((x * weights).sum(), leaves) for x in (got, want)), strict=True)
    for mine, theirs in pairs:
        assert (mine - theirs).abs().max() <= 1e-12 * max(1.0, theirs.abs().max())
    assert len(fused) == (1 if causal else 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_bounds_of_a_dtype_hold(fused, dtype):
    q, k, v = drawn(dtype)
    encoding = posenc.Shaw(dim=WIDTH, clip=4)
    made = held(encoding).float()
    with torch.no_grad():
        got = attention(q, k, v, **arguments(made, True))
        tables = (made.params[name].double() for name in ("relative_keys", "relative_values"))
        want = shaw(q.double(), k.double(), v.double(), *tables, encoding, WIDTH**-0.5, True)
    assert fused
    # A rounding of the output and of each weight before it meets the values; sums of as many numbers as tokens.
    assert (got.double() - want).abs().max() <= 4 * torch.finfo(dtype).eps * want.abs().max()


def test_two_scores_a_rotation_and_grouped_heads_act_together(fused):
    """Against the readable reference, with a score that has no values and reads the layer's input."""
    q, k, v = drawn(heads=1)
    hidden = torch.randn(BATCH, TOKENS, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    bank = held(posenc.DistanceBank(heads=HEADS, model_dim=6, basis=2, extent=4))
    given = arguments(held(posenc.Shaw(dim=WIDTH, clip=2)), True) | {"hidden": hidden}
    given["encodings"] += [bank, posenc.RoPE(dim=WIDTH)]
    got, want = attention(q, k, v, **given), attention(q, k, v, **given, impl="reference")
    assert fused
    assert (got - want).abs().max() <= 1e-12
    mine, theirs = (torch.autograd.grad(x.square().sum(), [q, k, v, *bank.parameters()]) for x in (got, want))
    for one, other in zip(mine, theirs, strict=True):
        assert (one - other).abs().max() <= 1e-11 * max(1.0, other.abs().max())


def test_logits_of_any_size_stay_finite(fused):
    """Far keys that hold all of the weight, and near keys that do."""
    q, k, v = (x.detach() for x in drawn())
    made = held(posenc.Shaw(dim=WIDTH, clip=2))
    table = made.params["relative_keys"]
    for far in (1e4, -1e4):
        with torch.no_grad():
            table.zero_()
            table[0] = far
        one = torch.ones_like(q)
        got = attention(one, k, v, **arguments(made, True))
        want = shaw(one, k, v, table, made.params["relative_values"], made.encoding, WIDTH**-0.5, True)
        assert torch.isfinite(got).all()
        assert (got - want).abs().max() <= 1e-11  # logits of 3e4 end 4e-12 apart
    assert fused


def test_what_a_band_cannot_take_goes_as_before(fused):
    """A clip of 0, whose band would lack a query's own key; masks, windows, and new queries behind a cache."""
    q, k, v = (x.detach() for x in drawn())
    seen = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()
    clipped, plain = held(posenc.Shaw(dim=WIDTH, clip=3)), held(posenc.Shaw(dim=WIDTH, clip=0))
    cached = arguments(clipped, True)
    cached["query_positions"] = cached["query_positions"][-9:]
    for x, given in (
        (q, arguments(plain, True)),
        (q, arguments(clipped, False) | {"mask": seen[None, None]}),
        (q, arguments(clipped, True) | {"window": (9, None)}),
        (q[:, :, -9:], cached),
    ):
        got, want = attention(x, k, v, **given), attention(x, k, v, **given, impl="reference")
        assert (got - want).abs().max() <= 1e-12
    assert not fused


@pytest.mark.parametrize(("clip", "calls"), [(256, 1), (257, 0)])
def test_near_keys_of_a_wide_table_are_not_all_held_at_once(fused, clip, calls):
    """Their logits at 1,000 distances take as much as 16 outputs of 64 channels; a tile holds those of few queries."""
    tokens = 8 * 257
    q, k, v = torch.randn(3, 1, 1, tokens, WIDTH, generator=torch.Generator().manual_seed(0)).unbind()
    made, at = module(posenc.Shaw(dim=WIDTH, clip=clip), seed=1), torch.arange(tokens)
    given = {"query_positions": at, "key_positions": at, "encodings": [made], "causal": True, "layout": "bhtd"}
    with torch.no_grad():
        got = attention(q, k, v, **given)
        last = {**given, "query_positions": at[-9:]}
        want = attention(q[:, :, -9:].double(), k.double(), v.double(), **last, impl="reference")
    assert (got[:, :, -9:] - want).abs().max() <= 2.0**-15 * max(1.0, want.abs().max())
    assert len(fused) == calls
