"""Attention with PaTH in tiles whose keys are reflected at once, against its formula, reflection by reflection."""

import pytest
import torch

import posenc
from posenc.torch import attention, chosen_attention, module
from posenc.torch.attention_paths import reflected_path

BATCH, HEADS, KEY_HEADS, KEYS, WIDTH, MODEL = 2, 4, 2, 150, 8, 6
ENCODING = posenc.PaTH(dim=WIDTH, heads=HEADS, model_dim=MODEL, rank=3)


def drawn(queries):
    draw = torch.Generator().manual_seed(0)
    shapes = ((HEADS, queries), (KEY_HEADS, KEYS), (KEY_HEADS, KEYS))
    q, k, v = (torch.randn(BATCH, *shape, WIDTH, generator=draw, dtype=torch.float64) for shape in shapes)
    return q, k, v, torch.randn(BATCH, KEYS, MODEL, generator=draw, dtype=torch.float64)


def held():
    """A module with parameters of float64, so large that a reflection turns most of what it meets."""
    made = module(ENCODING, seed=1).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2.0).add_(0.2)
    return made


def expected(q, k, v, x, learned):
    """Yang et al. 2025, eq. 2: from the last key back to the first, each met and then taken out of what queries see."""
    k, v = (each.repeat_interleave(HEADS // KEY_HEADS, 1) for each in (k, v))
    low = torch.einsum("btm,rm,hdr->bhtd", x, learned["w_in"], learned["w_out"])
    before = torch.nn.functional.pad(low, (0, 0, ENCODING.taps - 1, 0)).unfold(2, ENCODING.taps, 1)
    w = torch.nn.functional.silu((before * learned["filter"][:, None]).sum(-1))
    w = w / (w.square().sum(-1, keepdim=True) + ENCODING.epsilon).sqrt()
    beta = 2 * torch.sigmoid(torch.einsum("btm,hm->bht", x, learned["beta_weight"]) + learned["beta_bias"][:, None])
    seen, queries = q.clone(), q.shape[2]
    logits = torch.full((*q.shape[:3], KEYS), float("-inf"), dtype=q.dtype)
    for key in reversed(range(KEYS)):
        first = max(0, key - (KEYS - queries))
        late = seen[:, :, first:]
        logits[:, :, first:, key] = (late * k[:, :, key, None]).sum(-1) / WIDTH**0.5
        step = w[:, :, key, None]
        seen[:, :, first:] = late - beta[:, :, key, None, None] * (late * step).sum(-1, keepdim=True) * step
    return logits.softmax(-1) @ v


def arguments(queries, made):
    at = torch.arange(KEYS) * 3 + 1
    return {"query_positions": at[KEYS - queries :], "key_positions": at, "encodings": [made], "causal": True}


@pytest.mark.parametrize(("queries", "tokens"), [(KEYS, 64), (KEYS, 32), (101, 64), (KEYS, 256)])
def test_tiles_give_what_every_reflection_gives(monkeypatch, queries, tokens):
    """In several tiles, of which the last is not full, with queries from the middle of one on, and in one tile."""
    monkeypatch.setattr(reflected_path, "TOKENS", tokens)
    monkeypatch.setattr(reflected_path, "PREPARED", 2 * tokens)
    q, k, v, x = drawn(queries)
    made = held()
    with torch.no_grad():
        given = arguments(queries, made) | {"hidden": x, "layout": "bhtd"}
        assert chosen_attention(q, k, v, **given).impl == "reflected"
        got = attention(q, k, v, **given)
        want = expected(q, k, v, x, made.params)
    assert (got - want).abs().max() <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_bounds_of_a_dtype_hold(dtype):
    q, k, v, x = (each.to(dtype) for each in drawn(KEYS))
    made = held().float()
    with torch.no_grad():
        got = attention(q, k, v, **arguments(KEYS, made), hidden=x, layout="bhtd")
        learned = {name: value.double() for name, value in made.params.items()}
        want = expected(q.double(), k.double(), v.double(), x.double(), learned)
    assert got.dtype == dtype
    # A rounding of the output, and float32 sums over as many reflections as keys.
    bound = torch.finfo(dtype).eps / 2 + KEYS * torch.finfo(torch.float32).eps
    assert (got.double() - want).abs().max() <= bound * want.abs().max()


REASONS = [
    ({"causal": False}, "what hides pairs is not a causal mask alone"),
    ({"window": (9, None)}, "what hides pairs is not a causal mask alone"),
    ({"scale": 0.5}, "dropout, or a scale that is not PaTH's"),
    ({"dropout": 0.5}, "dropout, or a scale that is not PaTH's"),
    ({"encodings": [held(), posenc.RoPE(dim=WIDTH)]}, "another encoding acts besides"),
    ({"encodings": [module(posenc.CoPE(dim=WIDTH))], "hidden": None}, "reflections are PaTH's alone"),
    ({"query_positions": torch.arange(KEYS) * 3 + 2}, "queries are not the last keys, in the order of their positions"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "reason"), REASONS, ids=[str(place) for place in range(len(REASONS))])
def test_what_it_cannot_take_says_why_and_goes_as_before(more, reason):
    q, k, v, x = drawn(KEYS)
    given = arguments(KEYS, held()) | {"hidden": x, "layout": "bhtd"} | more
    with torch.no_grad(), pytest.raises(ValueError, match=r"^impl must be a path that fits") as caught:
        chosen_attention(q, k, v, **given, impl="reflected")
    assert reason in str(caught.value)


def test_a_gradient_and_few_queries_take_tiles():
    q, k, v, x = drawn(KEYS)
    given = arguments(KEYS, held()) | {"hidden": x, "layout": "bhtd"}
    assert chosen_attention(q, k, v, **given).impl == "tiles"
    few = arguments(3, held()) | {"hidden": x, "layout": "bhtd"}
    with torch.no_grad():
        assert chosen_attention(q[:, :, -3:], k, v, **few).impl == "tiles"
