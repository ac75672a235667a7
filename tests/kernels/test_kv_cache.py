"""Keys turned into their cache and values copied: the bits of a rotation and a write, whoever does it; nothing else
touched."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import posenc
from posenc import Partial, RoPE, YaRN
from posenc.kernels import native as kernel
from posenc.torch import angles, rotate, rotate_into_cache_
from posenc.torch.rotary_paths.argument_checks import heads_first

native = pytest.mark.skipif(kernel.MISSING is not None, reason=str(kernel.MISSING))
IMPLS = (pytest.param("native", marks=native), "torch", "reference")
RECORDS = (
    RoPE(dim=32, pairing="halves"),
    Partial(RoPE(dim=10, scaling=YaRN(factor=8.0, original=128)), dim=18, start=3),
)


def made(heads: int, time: int, width: int, dtype: torch.dtype, layout: str, batch: int) -> torch.Tensor:
    shape = (batch, heads, time, width) if layout == "bhtd" else (batch, time, heads, width)
    return torch.randn(shape, generator=torch.Generator().manual_seed(heads + width)).to(dtype)


def inputs(encoding: Any, time: int, layout: str, dtype: torch.dtype, batch: int = 2) -> Any:
    """Queries of six heads, keys of two and values of another width."""
    dim = encoding.head_dim
    return (made(h, time, width, dtype, layout, batch) for h, width in ((6, dim), (2, dim), (2, 7)))


def picked(rows: int, time: int, places: int) -> torch.Tensor:
    """Places for each row: mostly one after another, with a jump in between."""
    generator = torch.Generator().manual_seed(places)
    found = [torch.randperm(places // 5, generator=generator)[:, None] * 5 + torch.arange(5) for _ in range(rows)]
    return torch.stack([part.flatten()[:time] for part in found])


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("encoding", RECORDS)
def test_rows_of_a_cache(encoding: Any, dtype: torch.dtype, layout: Any, impl: Any) -> None:
    for time, own in product((1, 70), (False, True)):
        q, k, v = inputs(encoding, time, layout, dtype)
        rotation = encoding.rotation(torch.arange(2 * time).reshape(2, time) + 999 if own else torch.arange(time))
        slots = picked(2 if own else 1, time, 90)
        caches = [made(2, 90, x.shape[-1], dtype, layout, 2) for x in (k, v)]
        wanted_q, wanted_k = rotate(q, k, rotation, layout=layout, impl="reference")
        wanted = [cache.clone() for cache in caches]
        axis = 2 if layout == "bhtd" else 1
        for cache, x in zip(wanted, (wanted_k, v), strict=True):
            for row in range(2):
                cache[row].index_copy_(axis - 1, slots[row if own else 0], x[row])
        before = k.clone(), v.clone()
        rotated = rotate_into_cache_(q, k, v, rotation, *caches, slots if own else slots[0], layout=layout, impl=impl)
        assert rotated is q
        assert torch.equal(q, wanted_q)
        assert all(torch.equal(a, b) for a, b in zip((*caches, k, v), (*wanted, *before), strict=True))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_pages(layout: Any, impl: Any) -> None:
    """Tokens of all rows anywhere in pages; runs that cross a page's end."""
    encoding = RECORDS[0]
    q, k, v = inputs(encoding, 70, layout, torch.bfloat16)
    rotation = encoding.rotation(torch.arange(70))
    slots = picked(1, 140, 12 * 16)[0].to(torch.int32).reshape(2, 70)
    caches = [made(2, 16, x.shape[-1], torch.bfloat16, layout, 12) for x in (k, v)]
    wanted_q, wanted_k = rotate(q, k, rotation, layout=layout, impl="reference")
    wanted = [cache.clone() for cache in caches]
    for cache, x in zip(wanted, (wanted_k, v), strict=True):
        for row, token in product(range(2), range(70)):
            page, place = divmod(int(slots[row, token]), 16)
            if layout == "bhtd":
                cache[page, :, place] = x[row, :, token]
            else:
                cache[page, place] = x[row, token]
    rotate_into_cache_(q, k, v, rotation, *caches, slots, layout=layout, paged=True, impl=impl)
    assert torch.equal(q, wanted_q)
    assert all(torch.equal(a, b) for a, b in zip(caches, wanted, strict=True))


@pytest.mark.parametrize("impl", IMPLS)
def test_parts_of_one_tensor_angles_and_heads_of_their_own(impl: Any) -> None:
    fused = torch.randn(2, 3, 12, 8, generator=torch.Generator().manual_seed(2))
    both = torch.zeros(2, 9, 2, 4, 8)
    encoding, slots = RoPE(dim=8), torch.tensor([7, 0, 4])
    every = encoding.rotation(torch.arange(12).reshape(4, 3))
    own = posenc.Rotation(every.cos, every.sin, every.pairing, 1.0, heads=4)
    for rotation in (own, encoding.rotation(torch.arange(3)), angles(encoding, torch.arange(3) + 2**20)):
        q, k, v = (part.clone() for part in fused.split(4, 2))
        whole = fused.clone()
        parts, caches = whole.split(4, 2), both.clone()
        rotate_into_cache_(*parts, rotation, caches[:, :, 0], caches[:, :, 1], slots, layout="bthd", impl=impl)
        wanted = rotate(q, k, rotation, layout="bthd", impl="reference")
        assert torch.equal(parts[0], wanted[0])
        assert torch.equal(caches[:, slots, 0], wanted[1])
        assert torch.equal(caches[:, slots, 1], v)
        assert torch.equal(whole[:, :, 4:], fused[:, :, 4:])


def test_nothing_is_written() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(0))
    q, k = torch.zeros(2, 4, 0, 8), torch.zeros(2, 2, 0, 8)
    caches = torch.ones(2, 2, 3, 8), torch.ones(2, 2, 3, 8)
    rotate_into_cache_(q, k, k.clone(), rotation, *caches, torch.zeros(0, dtype=torch.int64), layout="bhtd")
    assert all(cache.eq(1).all() for cache in caches)


@native
def test_the_operator_keeps_its_promises() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(5))
    q, k, v = inputs(RoPE(dim=8), 5, "bhtd", torch.float32)
    caches = [made(2, 9, x.shape[-1], torch.float32, "bhtd", 2) for x in (k, v)]
    slots = torch.tensor([[3, 4, 8, 0, 1]])
    arguments = (q, k, v, *kernel.tables(rotation), *caches, slots, False, *kernel.channels(rotation))
    operator = torch.ops.posenc.rotate_into_cache_.default
    torch.library.opcheck(operator, arguments)
    for place in (-1, 9, 2**62):
        wrong = torch.tensor([[3, 4, 8, 0, place]])
        with pytest.raises(RuntimeError, match="slots must be in the cache"):
            operator(*arguments[:7], wrong, *arguments[8:])
        with pytest.raises(RuntimeError, match="slots must be in the cache"):
            operator(*arguments[:7], wrong if place < 0 else 2 * wrong, True, *arguments[9:])
    for index, value in ((2, v[:1]), (2, v.double()), (5, caches[0][:, :1]), (6, caches[1][..., :3]), (7, slots.int())):
        wrong_ones = list(arguments)
        wrong_ones[index] = value
        with pytest.raises(RuntimeError, match="must"):
            operator(*wrong_ones)


@native
def test_compiled_whole() -> None:
    encoding = RoPE(dim=8, pairing="halves")
    rotation, slots = encoding.rotation(torch.arange(5)), torch.tensor([3, 4, 8, 0, 1])
    q, k, v = inputs(encoding, 5, "bhtd", torch.float32)

    def step(q: Any, k: Any, v: Any, keys: Any, values: Any) -> Any:
        return rotate_into_cache_(q.clone(), k, v, rotation, keys, values, slots, layout="bhtd", impl="native") * 2

    results = []
    for function in (step, torch.compile(step, fullgraph=True, backend="aot_eager")):
        caches = torch.zeros(2, 2, 9, 8), torch.zeros(2, 2, 9, 7)
        results.append((function(q, k, v, *caches), *caches))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize(("layout", "paged"), [("bhtd", False), ("bthd", True)])
def test_a_slot_that_does_not_exist_writes_nothing_where_values_are_not_read(layout: Any, paged: bool) -> None:
    """Compiled, as on an accelerator: -1 is no last slot, and a row of such slots leaves others to the other row."""
    encoding = RoPE(dim=8)
    rotation = encoding.rotation(torch.arange(3))
    none = torch.full((2, 3), -1)

    @torch.compile(fullgraph=True, backend="eager")
    def step(q: Any, k: Any, v: Any, keys: Any, values: Any, slots: Any) -> Any:
        return rotate_into_cache_(q, k, v, rotation, keys, values, slots, layout=layout, paged=paged, impl="reference")

    for slots in (torch.tensor([[-1, 4, 0], [-1, -1, 99]]), torch.tensor([[-1, -1, -1], [5, 0, 2**40]]), none):
        q, k, v = inputs(encoding, 3, layout, torch.float32)
        caches = [made(2, 9, x.shape[-1], torch.float32, layout, 2) for x in (k, v)]
        wanted_q, wanted_k = (heads_first(x, layout).clone() for x in rotate(q, k, rotation, layout=layout))
        wanted = [heads_first(cache, layout).clone() for cache in caches]
        for cache, x in zip(wanted, (wanted_k, heads_first(v, layout)), strict=True):
            for row, token in product(range(2), range(3)):
                slot = int(slots[row, token])
                if 0 <= slot < (18 if paged else 9):
                    cache[slot // 9 if paged else row, :, slot % 9] = x[row, :, token]
                else:
                    wanted_q[row, :, token] = float("nan")
        rotated = step(q, k, v, *caches, slots)
        assert torch.equal(heads_first(rotated, layout).nan_to_num(7.0), wanted_q.nan_to_num(7.0))
        assert all(torch.equal(heads_first(a, layout), b) for a, b in zip(caches, wanted, strict=True))


@native
def test_threads_change_nothing() -> None:
    rotation = RoPE(dim=64).rotation(torch.arange(700))
    before, found = torch.get_num_threads(), []
    slots = torch.randperm(800, generator=torch.Generator().manual_seed(1))[:700]
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            q, k = (made(heads, 700, 64, torch.bfloat16, "bthd", 2) for heads in (8, 2))
            caches = torch.zeros(2, 800, 2, 64).bfloat16(), torch.zeros(2, 800, 2, 64).bfloat16()
            rotate_into_cache_(q, k, k.clone(), rotation, *caches, slots, layout="bthd", impl="native")
            found.append((q, *caches))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def good() -> dict[str, Any]:
    return {
        "q": torch.zeros(2, 4, 3, 8),
        "k": torch.zeros(2, 2, 3, 8),
        "v": torch.zeros(2, 2, 3, 6),
        "rotation": RoPE(dim=8).rotation(torch.arange(3)),
        "k_cache": torch.zeros(2, 2, 9, 8),
        "v_cache": torch.zeros(2, 2, 9, 6),
        "slots": torch.arange(3),
        "layout": "bhtd",
    }


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("q", None, TypeError),
        ("k", torch.zeros(2, 2, 3, 6), ValueError),
        ("k", torch.zeros(2, 2, 3, 8).requires_grad_(), ValueError),
        ("v", None, TypeError),
        ("v", torch.zeros(2, 4, 3, 6), ValueError),
        ("v", torch.zeros(2, 2, 3, 6).half(), ValueError),
        ("v", torch.zeros(2, 2, 3, 6).requires_grad_(), ValueError),
        ("rotation", "rotation", TypeError),
        ("k_cache", None, TypeError),
        ("k_cache", torch.zeros(2, 4, 9, 8), ValueError),
        ("k_cache", torch.zeros(1, 2, 9, 8), ValueError),
        ("k_cache", torch.zeros(2, 9, 8), ValueError),
        ("k_cache", torch.zeros(2, 2, 9, 8, dtype=torch.bfloat16), ValueError),
        ("k_cache", torch.zeros(2, 2, 9, 8, device="meta"), ValueError),
        ("k_cache", torch.zeros(2, 2, 1, 8).expand(2, 2, 9, 8), ValueError),
        ("v_cache", torch.zeros(2, 2, 8, 6), ValueError),
        ("v_cache", torch.zeros(2, 2, 9, 8), ValueError),
        ("slots", [0, 1, 2], TypeError),
        ("slots", torch.zeros(3), TypeError),
        ("slots", torch.arange(4), ValueError),
        ("slots", torch.zeros(3, 3, dtype=torch.int64), ValueError),
        ("slots", torch.tensor([0, 1, 9]), ValueError),
        ("slots", torch.tensor([0, 1, -1]), ValueError),
        ("slots", torch.tensor([0, 1, 1]), ValueError),
        ("layout", "bdth", ValueError),
        ("paged", 1, TypeError),
        ("impl", "fastest", ValueError),
    ],
)
def test_bad_arguments(name: str, value: Any, error: type) -> None:
    with pytest.raises(error, match=f"^{name} must"):
        rotate_into_cache_(**{**good(), name: value})


def test_slots_of_pages_are_of_all_rows() -> None:
    with pytest.raises(ValueError, match=r"^slots must not repeat"):
        rotate_into_cache_(**good(), paged=True)


def test_memory_that_is_shared() -> None:
    arguments = good()
    with pytest.raises(ValueError, match=r"^q must not share memory"):
        rotate_into_cache_(**{**arguments, "q": arguments["k"]})
    for name, heads in (("q", 4), ("k", 2)):
        pool = torch.zeros(2, heads, 12, 8)
        with pytest.raises(ValueError, match=r"^k_cache must have memory of its own"):
            rotate_into_cache_(**{**arguments, name: pool[:, :, 9:], "k_cache": pool[:, :2, :9]})
    pool = torch.zeros(2, 2, 10, 8)
    shared = {**arguments, "v": torch.zeros(2, 2, 3, 8), "k_cache": pool[:, :, :9], "v_cache": pool[:, :, 1:]}
    with pytest.raises(ValueError, match=r"^v_cache must have memory of its own"):
        rotate_into_cache_(**shared)
    with pytest.raises(ValueError, match=r"^v_cache must have memory of its own"):
        rotate_into_cache_(**{**shared, "v_cache": pool[:, :, :9]})


@pytest.mark.parametrize("impl", IMPLS)
def test_keys_and_values_in_turn_in_one_cache(impl: Any) -> None:
    """Parts that reach into each other's memory and share no number are taken, whichever way; all others are
    refused."""
    pool = torch.zeros(3, 10, 2, 2, 8)
    arguments = {**good(), "v": torch.ones(2, 2, 3, 8), "impl": impl}
    for keys, values in (
        (pool[:2, 1:, 0], pool[:2, 1:, 1]),
        (pool[:2, 1:, 1], pool[:2, 1:, 0]),
        (pool[:2, :9, 0], pool[1:, 1:, 1]),
        (pool[:2, :, 0, :, :8], pool[:2, :, 1]),
    ):
        pool.zero_()
        rotate_into_cache_(**{**arguments, "k_cache": keys.transpose(1, 2), "v_cache": values.transpose(1, 2)})
        assert values[:, :3].eq(1).all()
        assert pool.sum() == 2 * 3 * 2 * 8
    for keys, values in (
        (pool[:2, 1:, 0], pool[:2, :9, 0]),
        (pool[:2, 1:, 0], pool[1:, :9, 0]),
        (pool[:2, 1:, 0], pool[:2, 1:, 0]),
        (pool[:2, :, 0, :, :6], pool[:2, :, 0, :, 2:]),
    ):
        width = keys.shape[-1]
        shorter = {"k": torch.zeros(2, 2, 3, width), "v": torch.ones(2, 2, 3, width), "q": torch.zeros(2, 4, 3, width)}
        rotation = RoPE(dim=width).rotation(torch.arange(3))
        views = {"k_cache": keys.transpose(1, 2), "v_cache": values.transpose(1, 2)}
        with pytest.raises(ValueError, match=r"^v_cache must have memory of its own"):
            rotate_into_cache_(**{**arguments, **shorter, "rotation": rotation, **views})
        if impl == "native":
            where = (*views.values(), torch.arange(3)[None])
            arguments_of = (
                shorter["q"],
                shorter["k"],
                shorter["v"],
                *kernel.tables(rotation),
                *where,
                False,
                0,
                1,
                True,
            )
            with pytest.raises(RuntimeError, match="v_cache must have memory of its own"):
                torch.ops.posenc.rotate_into_cache_(*arguments_of)
    assert pool.sum() == 2 * 3 * 2 * 8


@native
def test_the_operator_looks_before_it_writes() -> None:
    arguments = good()
    names = ("q", "k", "v", "k_cache", "v_cache")
    q, k, v, *caches = (arguments[name] for name in names)
    table = kernel.tables(arguments["rotation"])
    twice, expanded = torch.tensor([[2, 0, 2]]), torch.zeros(2, 2, 1, 8).expand(2, 2, 9, 8)
    for wrong, message in (
        ((q, k, v, *table, *caches, twice), "that of one token"),
        ((k, k, v, *table, *caches, twice), "q must have memory"),
        ((q, k, v, *table, expanded, caches[1], twice), "overlap itself"),
        ((q, caches[0][:, :, 2:5], v, *table, *caches, twice), "a cache must have memory"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.ops.posenc.rotate_into_cache_(*wrong, False, 0, 1, True)
    same_for_all = (q, k, v, *table, *(cache.transpose(0, 0) for cache in caches), torch.arange(3)[None])
    with pytest.raises(RuntimeError, match="that of one token"):
        torch.ops.posenc.rotate_into_cache_(*same_for_all, True, 0, 1, True)


@native
def test_a_named_kernel_does_not_fall_back() -> None:
    arguments = good()
    arguments["v_cache"] = torch.zeros(2, 2, 6, 9).mT
    wanted = rotate_into_cache_(**arguments)
    assert torch.equal(wanted, torch.zeros(2, 4, 3, 8))
    with pytest.raises(ValueError, match=r"^impl must .* got 'native', but"):
        rotate_into_cache_(**arguments, impl="native")
