"""Cached keys rotated anew are the keys that the new rotation makes, and what cannot be is refused."""

from __future__ import annotations

import math

import pytest
import torch

from caches.layers import RECORDS, Layer
from every import every
from posenc import (
    ALiBi,
    DynamicNTK,
    ForgettingGate,
    LearnedRoPE,
    LogNTemperature,
    LongRoPE,
    Partial,
    PoPE,
    RoPE,
    Shaw,
    ValueRotation,
    XPos,
    YaRN,
)
from posenc.caches import (
    KeyCache,
    PagedCache,
    evicted,
    key_cache,
    pin_length,
    pinned_length,
    quantisation_error,
    quantised,
    quantised_cache,
    rerotated,
    rerotation_error,
    reused,
    rotation_fingerprint,
    shifted_keys,
)
from posenc.core.doors import RotaryEncoding
from posenc.models import fingerprint
from posenc.torch import module

K = torch.randn(2, 3, 6, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
PLAIN = [RoPE(dim=8)]


def made(k=K, at=None, encodings=PLAIN, rotated=True, v=None, hidden=None):
    at, v = torch.arange(k.shape[2]) if at is None else at, k if v is None else v
    options = {"encodings": encodings, "layout": "bhtd", "rotated": rotated, "hidden": hidden}
    return key_cache(k, v, key_positions=at, **options)


def close(got, want, tolerance=1e-13):
    assert (got.k - want.k).abs().max() <= tolerance
    assert (got.v - want.v).abs().max() <= tolerance
    assert torch.equal(got.key_positions, want.key_positions)
    assert got.rotated_by == want.rotated_by


def test_every_rotation_of_pairs_and_blocks_is_moved_or_refused_with_the_reason():
    moved, reasons = [], []

    def check(encoding):
        layer = Layer(encoding, tokens=6)
        encodings = [layer.module]
        try:
            cache = layer.cached(slice(None), rotated=True)
            got = rerotated(cache, encodings=encodings, key_positions=layer.positions + 9)
        except ValueError as error:
            reasons.append(str(error))
            return
        layer.positions = layer.positions + 9
        # What is learned is float32, and so are its tables of cosines and sines where they are made of it.
        close(got, layer.cached(slice(None), rotated=True), 1e-12)
        moved.append(encoding)

    rotary = [each for each in RECORDS if isinstance(each, RotaryEncoding)]
    every(rotary, check)
    assert len(moved) >= len(rotary) * 2 // 3
    assert all(
        reason.startswith(("rotated must", "encodings must", "to must have the amplitude")) for reason in reasons
    )
    assert {RoPE, Partial, ValueRotation, LearnedRoPE} <= {type(each) for each in moved}


def test_to_another_table_and_position_at_once():
    other = [RoPE(dim=8, base=5e5)]
    got = rerotated(made(), encodings=PLAIN, key_positions=torch.arange(6) + 1000, to=other)
    close(got, made(at=torch.arange(6) + 1000, encodings=other))
    assert got.rotated_by == fingerprint(other[0])


def test_sinks_chunks_and_far_shifts():
    cache = made(at=torch.arange(6) + 100)
    kept = torch.tensor([0, 1, 4, 5])
    close(evicted(cache, kept, encodings=PLAIN, close=True), made(K[:, :, kept], torch.arange(4) + 100))
    close(evicted(cache, kept, encodings=PLAIN, close=False), made(K[:, :, kept], kept + 100))
    close(shifted_keys(cache, -100, encodings=PLAIN), made())
    far = shifted_keys(cache, 2**40, encodings=PLAIN)
    close(far, made(at=torch.arange(6) + 100 + 2**40))
    chunks = [made(K[:, :, :4], torch.arange(4)), made(K[:, :, 4:], torch.arange(2) + 50)]
    close(reused(chunks, encodings=PLAIN, start=7), made(at=torch.arange(6) + 7))


def test_rows_with_positions_of_their_own():
    at = torch.tensor([[0, 1, 2, 3, 4, 5], [7, 8, 9, 10, 11, 12]])
    close(shifted_keys(made(at=at), 3, encodings=PLAIN), made(at=at + 3))
    close(made(at=at[:, :4], k=K[:, :, :4]).extended(made(K[:, :, 4:], at[:, 4:])), made(at=at))


def test_unrotated_keys_take_any_position_without_a_change():
    cache = made(rotated=False)
    moved = shifted_keys(cache, 10, encodings=PLAIN)
    assert torch.equal(moved.k, K)
    assert moved.key_positions.tolist() == [10, 11, 12, 13, 14, 15]


def test_the_error_of_shifts_grows_as_a_root_in_32_bits_and_one_rounding_does_not():
    """Each shift rounds every number once, by half a unit at most: a random walk."""
    unit = torch.finfo(torch.float32).eps / 2
    errors = rerotation_error(RoPE(dim=64), dtype=torch.float32, shifts=[1, 16, 256], by=37, tokens=32)
    for error in errors:
        assert error.once < 2 * unit
        assert error.unrotated < 1.2 * unit
        assert 0.2 * unit < error.repeated_rms / math.sqrt(error.shifts) < unit


def test_many_small_shifts_in_16_bits_lose_the_slow_pairs_and_one_step_does_not():
    """A pair that turns by less than half a unit is put back by every rounding, and stays where it was."""
    unit = torch.finfo(torch.bfloat16).eps / 2
    (error,) = rerotation_error(RoPE(dim=64, base=5e5), dtype=torch.bfloat16, shifts=[300], by=256, tokens=32)
    assert error.repeated_rms > 1.5 * unit * math.sqrt(300)
    assert error.once < 2 * unit
    slow = RoPE(dim=4, base=1e9)
    k = torch.ones(1, 1, 1, 4, dtype=torch.bfloat16)
    cache = made(k, torch.arange(1), [slow])
    for _ in range(50):
        cache = shifted_keys(cache, 20, encodings=[slow])
    assert cache.k[..., 2:].tolist() == [[[[1.0, 1.0]]]], "1000 positions of 3e-5 radians are 0.03, and none is left"


def test_a_pinned_scaling_keeps_one_table_and_says_where_it_ends():
    dynamic = Partial(RoPE(dim=8, scaling=DynamicNTK(factor=2.0, original=16, length=16)), dim=8)
    short, long = pin_length(dynamic, 32), pin_length(dynamic, 64)
    assert (pinned_length(short), pinned_length(long), pinned_length(RoPE(dim=8))) == (32, 64, None)
    assert pin_length(PLAIN[0], 99) is PLAIN[0]
    cache = made(at=torch.arange(6) + 20, encodings=[short])
    with pytest.raises(ValueError, match=r"^new must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}"):
        cache.extended(made(at=torch.arange(6) + 26, encodings=[long]))
    with pytest.raises(
        ValueError, match=r"^key_positions must be below the length that the scaling is pinned to, 32; got"
    ):
        made(at=torch.arange(6) + 30, encodings=[short])
    longer = rerotated(cache, encodings=[short], to=[long])
    close(longer, made(at=torch.arange(6) + 20, encodings=[long]))
    divisors = {"short": (1.0,) * 4, "long": (1.0, 2.0, 4.0, 8.0), "original": 16, "factor": 4.0}
    phi = RoPE(dim=8, scaling=LongRoPE(**divisors, length=16))
    close(
        rerotated(made(at=torch.arange(6), encodings=[phi]), encodings=[phi], to=[pin_length(phi, 64)]),
        made(at=torch.arange(6), encodings=[pin_length(phi, 64)]),
    )
    q = K[:, :, :1]
    with pytest.raises(ValueError, match=r"^query_positions must be below the length .* 16; got 16"):
        made(encodings=[phi]).attend(q, query_positions=torch.tensor([16]), encodings=[phi], layout="bhtd")


def test_fingerprints_name_the_table_its_arithmetic_and_what_was_learned():
    learned = [module(LearnedRoPE(dim=8), seed=seed) for seed in (0, 0)]
    with torch.no_grad():
        learned[1].frequencies.add_(1e-3)
    names = [rotation_fingerprint([each]) for each in (RoPE(dim=8), RoPE(dim=8, numerics="float32"), *learned)]
    assert len(set(names)) == 4
    assert names[0] == fingerprint(RoPE(dim=8))
    assert rotation_fingerprint([RoPE(dim=8), LogNTemperature(dim=8, length=4), ALiBi(heads=2)]) == names[0]
    assert rotation_fingerprint([ALiBi(heads=2)]) == "unrotated"
    both = [RoPE(dim=8), ValueRotation(RoPE(dim=8))]
    assert rotation_fingerprint(both) == rotation_fingerprint(both[::-1]), "keys and values rotate by themselves"
    two = [RoPE(dim=8), RoPE(dim=8, pairing="halves")]
    assert rotation_fingerprint(two) != rotation_fingerprint(two[::-1]), "rotations of other pairs do not commute"


def test_quantisation_before_rotation_keeps_channels_of_large_numbers():
    draw = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 2, 128, 64, generator=draw).unbind()
    k[..., 3] += 20.0  # a channel of large numbers, as models have before rotation
    at = torch.arange(128)
    errors = {bits: quantisation_error(q, k, RoPE(dim=64), positions=at, bits=bits, group="channel") for bits in (8, 4)}
    for error in errors.values():
        assert error.rotated_after < 0.6 * error.rotated_before
    assert errors[8].rotated_after < errors[4].rotated_after / 10


def test_queries_rotate_as_queries_where_the_error_of_quantisation_is_measured():
    """XPos grows queries and shrinks keys; here the reference rotates both."""
    encoding, at = XPos(dim=8, scale_base=64.0), torch.arange(128)
    q, k = torch.randn(2, 1, 2, 128, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    of_queries, of_keys = (encoding.rotation(at, role=role, dtype=torch.float64) for role in ("query", "key"))
    rotated_q, rotated_k = of_queries(q, layout="bhtd"), of_keys(k, layout="bhtd")
    small = quantised(rotated_k, bits=8, group="token", block=32).restored()
    exact = rotated_q @ rotated_k.mT
    want = float((rotated_q @ small.mT - exact).norm() / exact.norm())
    error = quantisation_error(q, k, encoding, positions=at, bits=8, group="token")
    assert error.rotated_before == pytest.approx(want, rel=1e-9)


def test_quantisation_moves_a_number_by_half_a_step_and_one_rounding():
    x = torch.tensor([-0.5, 1.9921875, 1.0390625, 0.0], dtype=torch.bfloat16).view(1, 1, 1, 4)
    small = quantised(x, bits=8, group="token", block=1)
    moved = (small.restored().double() - x.double()).abs()
    assert (moved <= small.step / 2 + x.double().abs() * torch.finfo(torch.bfloat16).eps).all()
    assert (moved > small.step / 2 * 1.5).any(), "the rounding shows"


def test_positions_of_a_narrow_dtype_neither_wrap_nor_round():
    k = K[:, :, :4]
    narrow = shifted_keys(made(k, torch.arange(200, 204, dtype=torch.uint8)), 100, encodings=PLAIN)
    close(narrow, shifted_keys(made(k, torch.arange(200, 204)), 100, encodings=PLAIN))
    far = made(k, torch.arange(4) + 2**24 + 1).extended(made(k, torch.arange(4.0)))
    assert far.key_positions.tolist() == [*range(2**24 + 1, 2**24 + 5), 0, 1, 2, 3]
    for start in (torch.tensor(200, dtype=torch.uint8), torch.tensor(2.0**24 - 3)):
        moved = rerotated(made(k), encodings=PLAIN, key_positions=torch.arange(4, dtype=start.dtype) + start)
        far = made(k, torch.arange(4) + int(start) + 100)
        assert shifted_keys(moved, 100, encodings=PLAIN).key_positions.tolist() == far.key_positions.tolist()


QUERY = {"query_positions": torch.tensor([5]), "layout": "bhtd"}
REFUSED = [
    (
        lambda: made().extended(made(encodings=[RoPE(dim=8, base=5e5)])),
        r"^new must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}\. Keys of two tables",
    ),
    (
        lambda: made().extended(made(rotated=False)),
        r"^new must have the rotation of the cache, [0-9a-f]{16}; got unrot",
    ),
    (
        lambda: made().attend(K[:, :, :1], encodings=[RoPE(dim=8, pairing="halves")], **QUERY),
        r"^encodings must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}",
    ),
    (lambda: made().attend(K[:, :, :1], encodings=[], **QUERY), r"^encodings must have the rotation .*; got unrotated"),
    (
        lambda: rerotated(made(), encodings=[RoPE(dim=8, base=7.0)]),
        r"^encodings must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}",
    ),
    (lambda: shifted_keys(made(), -1, encodings=PLAIN), r"^by must leave every token at .*; got -1, with a token at 0"),
    (
        lambda: rerotated(made(), encodings=PLAIN, key_positions=torch.arange(6) - 2),
        r"^key_positions must be 0 or above; got -2, with the cache from 0",
    ),
    (
        lambda: rerotated(made(), encodings=PLAIN, key_positions=torch.arange(5)),
        r"^key_positions must have the shape of those of the cache, \(6,\); got \(5,\)",
    ),
    (
        lambda: rerotated(made(rotated=False), encodings=PLAIN, key_positions=torch.full((6,), math.nan)),
        r"^key_positions must be finite and of magnitude at most 2\^53; got values from nan",
    ),
    (
        lambda: rerotated(made(), encodings=PLAIN, to=[ValueRotation(PLAIN[0])]),
        r"^to must rotate keys, as encodings do; got ValueRotation, which rotates values",
    ),
    (
        lambda: rerotated(made(encodings=[ValueRotation(PLAIN[0])]), encodings=[ValueRotation(PLAIN[0])], to=PLAIN),
        r"^to must rotate values, as encodings do; got RoPE, which rotates keys",
    ),
    (
        lambda: rerotated(made(), encodings=PLAIN, to=[RoPE(dim=8, scaling=YaRN(factor=4.0, original=8))]),
        r"^to must have the amplitude that the cache was rotated with, 1; got 1\.13863",
    ),
    (
        lambda: shifted_keys(made(encodings=[XPos(dim=8)]), 1, encodings=[XPos(dim=8)]),
        r"^to must have the amplitude .* one that changes with the position; got one that changes",
    ),
    (
        lambda: rerotated(made(), encodings=PLAIN, to=[RoPE(dim=8, pairing="halves")]),
        r"^to must rotate the pairs of channels of the cache, Pairing\(layout='adjacent'",
    ),
    (
        lambda: rerotated(made(), encodings=PLAIN, to=[ALiBi(heads=3)]),
        r"^to must rotate keys or values once for them to be rotated anew; got 0",
    ),
    (lambda: made(encodings=[module(Shaw(dim=8))]), r"^rotated must be False for Shaw, which reads keys as they are"),
    (
        lambda: made(encodings=[module(PoPE(dim=8, heads=3))]),
        r"^rotated must be False for encodings whose rotated keys have another width, 16 for 8",
    ),
    (
        lambda: made(K[:, :, :4]).extended(made(K[:, :2])),
        r"^new must have k of shape \(2, 3, 'm', 8\), torch.float64 on cpu; got \(2, 2, 6, 8\)",
    ),
    (lambda: made().part(torch.tensor([1, 6])), r"^tokens must be from 0 to 5; got values from 1 to 6"),
    (lambda: made().part(torch.tensor([1, 1])), r"^tokens must not repeat"),
    (lambda: evicted(made(), torch.tensor([1, 6]), encodings=PLAIN, close=False), r"^keep must be from 0 to 5; got"),
    (
        lambda: evicted(made(), torch.tensor([5, 0, 1]), encodings=PLAIN, close=True),
        r"^keep must rise, as tokens stay in their order; got \[5, 0, 1\] \(list\)\. Give keep\.sort",
    ),
    (lambda: made().part(torch.arange(7)), r"^tokens must be whole numbers of shape \(n,\), n at most 6; got .*\(7,\)"),
    (
        lambda: made().attend(K[:1], query_positions=torch.arange(6), encodings=PLAIN, layout="bhtd"),
        r"^q must have four axes, 'bhtd', batch 2 and width 8 of the cache; got \(1, 3, 6, 8\)",
    ),
    (
        lambda: made().attend(K, query_positions=torch.arange(6), encodings=PLAIN, layout="bhtd", hidden=K),
        r"^hidden must be left out where no encoding reads it",
    ),
    (lambda: made(hidden=K), r"^hidden must be left out where no encoding reads it"),
    (
        lambda: made(
            encodings=[module(ForgettingGate(heads=3, model_dim=4))], hidden=torch.ones(2, 5, 4), rotated=False
        ),
        r"^hidden must have shape \(2, 6, 'model_dim'\), a vector for each token; got \(2, 5, 4\)",
    ),
    (
        lambda: quantised(K, bits=8, group="token", block=1).joined(quantised(K, bits=4, group="token", block=1)),
        r"^other must have blocks of the same kind, \(8, torch.float64",
    ),
    (
        lambda: quantisation_error(K, K[:, :1], RoPE(dim=8), positions=torch.arange(6), bits=8, group="token", block=6),
        r"^k must have the shape of q, \(2, 3, 6, 8\), and tokens that fill blocks of 6; got \(2, 1, 6, 8\)",
    ),
    (lambda: reused([], encodings=PLAIN), r"^chunks must be a list of one cache or more"),
    (
        lambda: reused([made(at=torch.tensor([0, 1, 2, 3, 4, 6]))], encodings=PLAIN),
        r"^chunks\[0\] must have positions of one coordinate that rise by one",
    ),
    (
        lambda: reused([made(), made(encodings=[RoPE(dim=8, base=7.0)])], encodings=PLAIN),
        r"^chunks\[1\] must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}",
    ),
    (
        lambda: PagedCache(pages=1, page=4, like=made(K[:1])).append("a", made(K[:1])),
        r"^new must fit into the free pages; got 6 tokens, which take 2 more, and 1 free",
    ),
    (
        lambda: PagedCache(pages=9, page=4, like=made(K[:1])).append("a", made()),
        r"^new must have k of shape \(1, 3, 'm', 8\).*; got \(2, 3, 6, 8\)",
    ),
    (lambda: PagedCache(pages=9, page=4, like=made(K[:1])).read("b"), r"^sequence must be one of \[\]; got 'b'"),
    (lambda: quantised_cache(made(), bits=2, group="token"), r"^bits must be 8 or 4; got 2"),
    (lambda: quantised_cache(made(), bits=8, group="tokens"), r"^group must be one of .*'token'.*; got 'tokens'"),
    (
        lambda: quantisation_error(
            K, K, ValueRotation(RoPE(dim=8)), positions=torch.arange(6), bits=8, group="token", block=6
        ),
        r"^encoding must rotate keys; got ValueRotation, which leaves them as they are",
    ),
    (lambda: quantised(K[..., :7], bits=4, group="token", block=1), r"^x must have an even width for 4 bits; got 7"),
    (lambda: quantised(K, bits=8, group="token", block=4), r"^x must hold floats .* multiple of block = 4; got .*6"),
    (
        lambda: rerotation_error(RoPE(dim=8), dtype=torch.float32, shifts=[2, 1], by=1),
        r"^shifts must rise and hold one number at least; got \[2, 1\]",
    ),
    (
        lambda: rerotation_error(LogNTemperature(dim=8, length=100), dtype=torch.float32, shifts=[1], by=1),
        r"^encoding must rotate keys; got LogNTemperature, which leaves them as they are",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals_name_the_argument_and_both_values(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_sequence_in_pages_refuses_another_rotation_before_it_writes():
    one = made(K[:1])
    memory = PagedCache(pages=9, page=4, like=one)
    memory.append("a", one)
    before = memory.k.clone()
    with pytest.raises(ValueError, match=r"^new must have the rotation of the cache, [0-9a-f]{16}; got [0-9a-f]{16}"):
        memory.append("a", made(K[:1], encodings=[RoPE(dim=8, base=5e5)]))
    assert torch.equal(memory.k, before)
    assert (memory.free_pages, memory.slots("a").tolist()) == (7, [0, 1, 2, 3, 4, 5])
    memory.append("b", made(K[:1], encodings=[RoPE(dim=8, base=5e5)]))
    memory.release("a")
    assert memory.free_pages == 7
    assert isinstance(memory.read("b"), KeyCache)


def test_a_sequence_in_pages_has_no_tokens_that_could_not_be_written():
    one = made(K[:1])
    with torch.inference_mode():
        memory = PagedCache(pages=9, page=4, like=one)
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        memory.append("a", one)
    assert memory.free_pages == 9
    with pytest.raises(ValueError, match=r"^sequence must be one of \[\]"):
        memory.read("a")
