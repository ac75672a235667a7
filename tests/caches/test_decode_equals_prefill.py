"""Decoding with a cache gives what the whole sequence gives: contiguous, paged and quantised, for every encoding."""

from __future__ import annotations

import pytest
import torch

from caches.layers import ADDITIVE, RECORDS, Layer, steps
from every import every
from posenc import RoPE
from posenc.caches import PagedCache, key_cache, quantised_cache
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import module
from samples import EACH_DOOR, FIRST, firsts

FEW = EACH_DOOR | firsts("PaTH", "PathGRAPE", "DistanceBank", "PoPE", "ValueRotation", "HeadwiseRoPE", "XPos", "YaRN")
DAILY = [each for each in RECORDS if each in FEW]
#: Sums of a few dozen float64 products in another order; encodings that learn have float32 parameters.
FLOAT64 = 1e-11


def largest(got, want):
    assert got.shape == want.shape
    assert torch.isfinite(got).all()
    got, want = got.detach().double(), want.detach().double()
    return float((got - want).abs().max()) / max(1.0, float(want.abs().max()))


def decode(layer, prompt=4, rotated=None):
    parts, cache = [], None
    for some in steps(layer.q.shape[2], prompt):
        new = layer.cached(some, rotated)
        cache = new if cache is None else cache.extended(new)
        parts.append(layer.attend(cache, some))
    return torch.cat(parts, 2)


def decode_in_pages(layer, prompt=4):
    """The batch is decoded a sequence at a time, their pages mixed in one memory."""
    memory, parts = None, []
    for some in steps(layer.q.shape[2], prompt):
        new = layer.cached(some)
        memory = PagedCache(pages=12, page=3, like=new) if memory is None else memory
        memory.append("first", new)
        memory.append("second", new)
        parts.append(layer.attend(memory.read("second"), some))
        assert torch.equal(memory.read("first").k, memory.read("second").k)
    return torch.cat(parts, 2)


def check_exact(encoding, tokens=6):
    layer = Layer(encoding, tokens)
    want = layer.prefill()
    assert largest(decode(layer), want) < FLOAT64
    assert largest(decode(layer, rotated=False), want) < FLOAT64
    assert largest(decode_in_pages(layer), want) < FLOAT64


def test_decoding_is_prefill_in_a_cache_and_in_pages():
    every(DAILY, check_exact)


@pytest.mark.nightly
def test_decoding_is_prefill_for_every_encoding():
    every(RECORDS, lambda encoding: check_exact(encoding, tokens=11))


def bound_of(dtype, layer, want):
    """What rounding to a dtype may change: rotated keys are rounded once more than in prefill.

    A key is off by eps/2 of its numbers, and so is what the kernel rounds; a logit is then off by eps·|q||k|·scale, the
    weights by twice that relative to themselves, and the output by as much of the largest value, and its own rounding.
    """
    eps = torch.finfo(dtype).eps
    size = float(layer.q.double().norm(dim=-1).max() * layer.k.double().norm(dim=-1).max())
    return (
        eps
        * (2 * size * layer.q.shape[-1] ** -0.5 + 2)
        * float(layer.v.abs().max())
        / max(1.0, float(want.detach().abs().max()))
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_decoding_in_16_and_32_bits_is_off_by_rounding_alone(dtype):
    def check(encoding):
        layer = Layer(encoding, dtype=dtype)
        want = layer.prefill(torch.float64 if dtype == torch.float32 else torch.float32)
        assert largest(decode(layer), want) < bound_of(dtype, layer, want)

    every([each for each in RECORDS if each in firsts("RoPE", "ALiBi", "T5Bias", "YaRN")], check)


def test_a_decoded_token_is_embedded_as_in_prefill():
    def check(encoding):
        held, at = module(encoding, seed=3), spread_over_axes(encoding, torch.arange(4))
        x = torch.randn(1, 4, encoding.width, generator=torch.Generator().manual_seed(0))
        whole = held(x, at)
        alone = torch.cat([held(x[:, place : place + 1], at[place : place + 1]) for place in range(4)], 1)
        assert largest(alone, whole) < 1e-6

    every([each for each in ADDITIVE if each in FIRST and "streaming" in each.claims], check)


def decode_quantised(layer, bits, group, rotated, prompt=9):
    """Decoded with a quantised cache, and the largest error of a cached number, in steps of its scale."""
    parts, cache = [], None
    for some in steps(layer.q.shape[2], prompt):
        new = layer.cached(some, rotated)
        cache = quantised_cache(new, bits=bits, group=group, block=4) if cache is None else cache.extended(new)
        parts.append(layer.attend(cache.restored(), some))
    return torch.cat(parts, 2), cache


@pytest.mark.parametrize("group", ["token", "channel"])
@pytest.mark.parametrize("bits", [8, 4])
def test_decoding_with_a_quantised_cache_is_off_by_half_a_step_of_its_scales(bits, group):
    """A logit moves by scale·Σ|q|·step/2, weights by e^(2·that) - 1 at most, and the output by that and step/2 of v."""

    def check(encoding):
        layer = Layer(encoding, tokens=14, heads=4)
        for rotated in (True, False) if layer.rotated else (False,):
            got, cache = decode_quantised(layer, bits, group, rotated)
            assert cache.tokens == 14
            assert cache.recent.tokens == 2
            want = layer.prefill()
            step, value_step = float(cache.k.step.max()), float(cache.v.step.max())
            factor = abs(getattr(encoding, "attention_factor", 1.0)) ** 2
            logit = layer.q.shape[-1] ** -0.5 * float(layer.q.abs().sum(-1).max()) * step / 2 * 2**0.5 * factor
            bound = (torch.e ** (2 * logit) - 1) * float(layer.v.abs().max()) + value_step / 2
            assert float((got - want).detach().abs().max()) <= bound
            # And what is attended is what the cache holds, to the last bits: decoding adds no error of its own.
            restored = cache.restored()
            assert torch.equal(layer.attend(restored, slice(13, 14)), got[:, :, 13:])

    every([each for each in RECORDS if each in firsts("RoPE", "YaRN", "ALiBi", "AxialRoPE")], check)


@pytest.mark.nightly
def test_decoding_with_a_quantised_cache_for_every_encoding():
    """With eight bits and keys as they are, where one scale serves few numbers, the output moves by little."""

    def check(encoding):
        layer = Layer(encoding, tokens=14)
        for rotated in (True, False) if layer.rotated else (False,):
            got, cache = decode_quantised(layer, 8, "channel", rotated)
            assert largest(got, layer.prefill()) < 0.01
            assert torch.equal(layer.attend(cache.restored(), slice(13, 14)), got[:, :, 13:])

    every(RECORDS, check)


def test_rows_of_a_batch_decode_at_their_own_positions():
    """Left padding: each row has its own positions, and a mask hides the padding."""
    layer, at = Layer(RoPE(dim=8), tokens=6, batch=2), torch.tensor([[0, 1, 2, 3, 4, 5], [4, 5, 0, 1, 2, 3]])
    seen = torch.tensor([[True] * 6, [False, False, True, True, True, True]])[:, None, None, :]
    options = {"encodings": [RoPE(dim=8)], "layout": "bhtd"}
    parts = [
        key_cache(layer.k[:, :, some], layer.v[:, :, some], key_positions=at[:, some], rotated=True, **options)
        for some in steps(6, 5)
    ]
    got = parts[0].extended(parts[1]).attend(layer.q[:, :, 5:], query_positions=at[:, 5:], mask=seen, **options)
    k, v = layer.k[1:, :, 2:], layer.v[1:, :, 2:]
    alone = key_cache(k, v, key_positions=torch.arange(4), rotated=True, **options)
    want = alone.attend(layer.q[1:, :, 5:], query_positions=torch.tensor([3]), **options)
    assert largest(got[1:], want) < FLOAT64


def test_queries_in_either_layout_and_positions_in_a_list_are_the_same():
    layer = Layer(RoPE(dim=8), tokens=5)
    cache = layer.cached(slice(None))
    other = cache.attend(
        layer.q.transpose(1, 2), query_positions=list(range(5)), encodings=[layer.module], layout="bthd"
    )
    assert torch.equal(other.transpose(1, 2), layer.attend(cache, slice(None)))
