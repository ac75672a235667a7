"""Scores that read content and further rotations against live peers: buckets first, then logits and whole layers."""

from __future__ import annotations

import math
import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import torch

from posenc import CoPE, DeBERTa, DistanceBank, ForgettingGate, LearnedRoPE, RoPE, XPos
from posenc.attention import attention

GENERATOR = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=GENERATOR)


@pytest.fixture(scope="module")
def deberta() -> Any:
    pytest.importorskip("transformers")
    assert version("transformers") == "5.23.0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("transformers.models.deberta_v2.modeling_deberta_v2")


@pytest.fixture(scope="module")
def x_transformers() -> Any:
    pytest.importorskip("x_transformers")
    assert version("x-transformers") == "2.31.10"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("x_transformers.x_transformers")


@pytest.fixture(scope="module")
def rotary() -> Any:
    pytest.importorskip("rotary_embedding_torch")
    assert version("rotary-embedding-torch") == "0.9.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("rotary_embedding_torch")


@pytest.mark.parametrize(("buckets", "max_distance"), [(256, 512), (32, 128), (8, 20)])
def test_deberta_buckets(deberta: Any, buckets: int, max_distance: int) -> None:
    distances = torch.arange(-2 * max_distance, 2 * max_distance + 1)
    peer = deberta.make_log_bucket_position(distances, buckets, max_distance).long()
    wanted = torch.clamp(peer + buckets, 0, 2 * buckets - 1)
    encoding = DeBERTa(dim=1, heads=1, buckets=buckets, max_distance=max_distance, terms="c2p")
    table = torch.arange(2.0 * buckets)[None, :, None]
    one = torch.ones(1, 1, 1, 1)
    found = encoding.score(one, one.expand(1, 1, len(distances), 1), [0], -distances, {"position_keys": table})
    assert torch.equal(torch.round(found[0, 0, 0] / encoding.scale).long(), wanted)


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("terms", ["both", "c2p", "p2c"])
@pytest.mark.parametrize("buckets", [6, -1])
def test_a_deberta_layer(deberta: Any, terms: str, share: bool, buckets: int) -> None:
    config = deberta.DebertaV2Config(
        hidden_size=24,
        num_attention_heads=3,
        relative_attention=True,
        position_buckets=buckets,
        max_relative_positions=12,
        pos_att_type=["c2p", "p2c"] if terms == "both" else [terms],
        share_att_key=share,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        layer = deberta.DisentangledSelfAttention(config).eval()
    encoding = DeBERTa(
        dim=8, heads=3, buckets=buckets if buckets > 0 else 12, max_distance=12 if buckets > 0 else None, terms=terms
    )
    x, distances = drawn(2, 30, 24), drawn(2 * encoding.buckets, 24)
    peer = layer(x, torch.ones(2, 1, 30, 30), rel_embeddings=distances)[0]

    def heads(y: torch.Tensor) -> torch.Tensor:
        return y.unflatten(-1, (3, 8)).transpose(-3, -2)

    params = {}
    if terms != "p2c":
        params["position_keys"] = heads((layer.key_proj if share else layer.pos_key_proj)(distances))
    if terms != "c2p":
        params["position_queries"] = heads((layer.query_proj if share else layer.pos_query_proj)(distances))
    q, k, v = (heads(project(x)) for project in (layer.query_proj, layer.key_proj, layer.value_proj))
    places = torch.arange(30)
    found = (
        attention(
            q,
            k,
            v,
            query_positions=places,
            key_positions=places,
            layout="bhtd",
            encodings=[encoding],
            params=[params],
            scale=encoding.scale,
        )
        .output.transpose(1, 2)
        .flatten(2)
    )
    # Sums of 24 and 8 products of numbers below 8, through a softmax: float32 at 64 roundings.
    assert (found - peer).abs().max() <= 64 * 2.0**-23 * (1 + peer.abs().max())


@pytest.mark.parametrize("rows", [4, 16])
def test_cope(x_transformers: Any, rows: int) -> None:
    peer = x_transformers.CoPE(dim=8, heads=3, max_pos=rows)
    table, q, k = drawn(rows, 8), drawn(2, 3, 20, 8), drawn(2, 3, 20, 8)
    peer.pos_emb.data.copy_(table)
    ahead = torch.ones(20, 20).triu(1).bool()
    logits = (q @ k.mT / math.sqrt(8)).masked_fill(ahead, float("-inf"))
    places = torch.arange(20)
    found = CoPE(dim=8, rows=rows).score(q, k, places, places, {"table": table})
    # The count is off by 20 roundings of 20, times the step between rows, at most 40 here.
    assert (found - peer(q, logits)).abs().max() <= 20 * 20 * 2.0**-24 * 40


def test_forgetting_gate(x_transformers: Any) -> None:
    peer, x = x_transformers.DataDependentAlibi(dim=6, heads=3), drawn(2, 20, 6)
    linear = peer.to_forget_gates[0]
    linear.bias.data.copy_(drawn(3))
    q, places = torch.zeros(2, 3, 20, 4), torch.arange(20)
    params = {"W": linear.weight, "c": linear.bias}
    found = ForgettingGate(heads=3, model_dim=6).score(q, q, places, places, params, hidden=x)
    causal = torch.ones(20, 20).tril().bool()
    # Sums of 20 logarithms below 4. Ahead of the query the peer keeps the difference of sums, which it masks later.
    assert (found - peer(x))[..., causal].abs().max() <= 40 * 80 * 2.0**-24
    assert (found[..., ~causal] == 0).all()
    assert peer(x)[..., ~causal].abs().max() > 1


def test_distance_bank(x_transformers: Any) -> None:
    peer, x = x_transformers.RelativeProjPositionalBias(6, 3, num_distance_basis=2, max_dist=7), drawn(2, 5, 6)
    linear = peer.to_distance_weights[0]
    linear.bias.data.zero_()
    params = {"weights": linear.weight.T.reshape(6, 3, 2).transpose(0, 1), "bank": peer.distance_bank}
    encoding = DistanceBank(heads=3, model_dim=6, basis=2, extent=7)
    q, k = torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 20, 4)
    found = encoding.score(q, k, torch.arange(15, 20), torch.arange(20), params, hidden=x)
    assert (found - peer(x, 20)).abs().max() <= 16 * 2.0**-23


def test_inkling() -> None:
    pytest.importorskip("transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inkling = import_module("transformers.models.inkling.modeling_inkling")
    peer, x, weights = inkling.InklingRelativeLogits(2, 7), drawn(2, 5, 6), drawn(3, 6, 2)
    peer.proj.data.copy_(drawn(2, 7))
    states = torch.einsum("bnm,hmr->bnhr", x, weights)
    query_positions, key_positions = torch.arange(15, 20), torch.arange(20)
    q, k = torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 20, 4)
    encoding = DistanceBank(heads=3, model_dim=6, basis=2, extent=7)
    found = encoding.score(q, k, query_positions, key_positions, {"weights": weights, "bank": peer.proj}, hidden=x)
    # Two sums of 6 and 2 products, each term below 64.
    assert (found - peer(states, query_positions, key_positions)).abs().max() <= 16 * 2.0**-24 * 64


@pytest.mark.parametrize("length", [50, 51])
def test_xpos(rotary: Any, x_transformers: Any, length: int) -> None:
    """Peers centre on half of the length of the moment; with that centre the rotated tensors agree."""
    encoding, places = XPos(dim=16, centre=length // 2), torch.arange(length)
    q, k = drawn(2, 3, length, 16), drawn(2, 3, length, 16)
    mine = [encoding.rotation(places, role=role)(x, layout="bhtd") for role, x in (("query", q), ("key", k))]
    theirs = rotary.RotaryEmbedding(dim=16, use_xpos=True, cache_if_possible=False).rotate_queries_and_keys(q, k)
    peer = x_transformers.RotaryEmbedding(16, use_xpos=True)
    angles, scale = peer(places)
    others = [x_transformers.apply_rotary_pos_emb(x, angles, s) for x, s in ((q, scale), (k, scale**-1))]
    # Angles up to 50 rad in float32 are off by 50·2^-23 in the peers, their powers by a few units.
    bound = (length + 8) * 2.0**-23 * 8
    for found, one, other in zip(mine, theirs, others, strict=True):
        assert (found - one).abs().max() <= bound
        assert (found - other).abs().max() <= bound


def test_xpos_in_a_cache_differs_from_a_moving_centre(rotary: Any) -> None:
    """A key cached at length 10 and a query at length 1000: the peer's logit is not that of the whole sequence."""
    peer = rotary.RotaryEmbedding(dim=8, use_xpos=True, cache_if_possible=False)
    x = torch.ones(1, 1, 1000, 8)
    _, cached = peer.rotate_queries_and_keys(x[:, :, :10], x[:, :, :10])
    query, keys = peer.rotate_queries_and_keys(x, x)
    whole, decoded = (query[0, 0, -1] @ k[0, 0, 3] for k in (keys, cached))
    assert abs(decoded / whole - 1) > 0.3
    encoding = XPos(dim=8)
    q = encoding.rotation([999], role="query")(np.ones((1, 8)))
    k = [encoding.rotation(np.arange(n), role="key")(np.ones((n, 8)))[3] for n in (10, 1000)]
    assert np.array_equal(k[0], k[1])
    assert (q @ k[0]).item() == pytest.approx(whole.item(), rel=1e-4)


def test_learned_frequencies(rotary: Any) -> None:
    peer = rotary.RotaryEmbedding(dim=16, learned_freq=True)
    x = drawn(2, 3, 40, 16)
    peer.rotate_queries_or_keys(x).pow(3).sum().backward()
    rates = torch.tensor(LearnedRoPE(dim=16).init(np.random.default_rng(0))["frequencies"]).float().requires_grad_()
    found = LearnedRoPE(dim=16).rotation(torch.arange(40), {"frequencies": rates})(x, layout="bhtd")
    found.pow(3).sum().backward()
    assert (found - peer.rotate_queries_or_keys(x)).abs().max() <= 48 * 2.0**-23 * 8
    error = (rates.grad - peer.freqs.grad).abs().max() / peer.freqs.grad.abs().max()
    assert error <= 40 * 2.0**-20
    assert (
        torch.equal(found, RoPE(dim=16).rotation(torch.arange(40))(x, layout="bhtd"))
        or found.isclose(RoPE(dim=16).rotation(torch.arange(40))(x, layout="bhtd"), atol=48 * 2.0**-23 * 8).all()
    )
