"""Calls that go to the compiled kernel at once: its bits, what is followed and so taken the slower way, what does not
fit."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from posenc import AxialRoPE, Partial, RoPE
from posenc.core.rotation import Pairing, Rotation
from posenc.kernels import native as kernel
from posenc.kernels.native import PAGED, packed_form
from posenc.torch import angles, rotate, rotate_, rotate_into_cache_
from posenc.torch.rotary_paths import fast_path

native = pytest.mark.skipif(kernel.MISSING is not None, reason=str(kernel.MISSING))
RECORD = Partial(RoPE(dim=12, pairing="halves"), dim=18, start=3)
LENGTH = 5


def heads(count: int, layout: str = "bhtd", dtype: torch.dtype = torch.float32, dim: int = 18) -> torch.Tensor:
    shape = (2, count, LENGTH, dim) if layout == "bhtd" else (2, LENGTH, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(dtype)


def rotations() -> list[Any]:
    """Tables of two, three and four axes, of one row for all, of heads that differ, and angles."""
    own, rows = (
        RECORD.rotation(torch.arange(4 * LENGTH).reshape(4, LENGTH)),
        torch.arange(2 * LENGTH).reshape(2, LENGTH),
    )
    every = RECORD.rotation(torch.arange(8 * LENGTH).reshape(2, 4, LENGTH))
    return [
        RECORD.rotation(torch.arange(LENGTH)),
        RECORD.rotation(rows),
        RECORD.rotation(rows[1:]),
        Rotation(own.cos, own.sin, own.pairing, 1.0, heads=4),
        Rotation(every.cos, every.sin, own.pairing, 1.0, heads=4),
        angles(RECORD, torch.arange(LENGTH) + 2**30),
        angles(RECORD, rows),
    ]


@native
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_bits_of_the_reference(layout: Any, dtype: torch.dtype) -> None:
    for rotation in rotations():
        q = heads(4, layout, dtype)
        k = heads(2 if getattr(rotation, "heads", None) is None else 4, layout, dtype).flip(-2)
        wanted = rotate(q, k, rotation, layout=layout, impl="reference")
        found = fast_path.rotate(q, k, rotation, layout, "auto")
        assert found is not None
        assert all(x.stride() == y.stride() and x.device == y.device for x, y in zip(found, (q, k), strict=True))
        assert fast_path.rotate_(q, k, rotation, layout, "native")
        for pair in (found, (q, k)):
            assert all(torch.equal(a, b) for a, b in zip(pair, wanted, strict=True))


@native
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_parts_of_one_projection(layout: Any) -> None:
    """Queries and keys that reach into each other's memory and share no number; what lies between is not touched."""
    fused = torch.randn(2, LENGTH, 8, 18, generator=torch.Generator().manual_seed(0))
    before, rotation = fused.clone(), RECORD.rotation(torch.arange(LENGTH))
    parts = fused[:, :, :5], fused[:, :, 5:7]
    q, k = parts if layout == "bthd" else (part.transpose(1, 2) for part in parts)
    wanted = rotate(q.clone(), k.clone(), rotation, layout=layout, impl="reference")
    made = fast_path.rotate(q, k, rotation, layout, "auto")
    assert made is not None
    assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
    assert torch.empty_like(q).stride() == made[0].stride()
    assert fast_path.rotate_(q, k, rotation, layout, "auto")
    assert torch.equal(q, wanted[0])
    assert torch.equal(k, wanted[1])
    assert torch.equal(fused[:, :, 7:], before[:, :, 7:])


class Passing(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


class Other(torch.Tensor):
    """A tensor of somebody else's."""


@native
@pytest.mark.parametrize("rotation", [rotations()[0], rotations()[-1]], ids=["rotation", "angles"])
def test_what_is_followed_goes_the_slower_way(rotation: Any) -> None:
    seen: list[Any] = []

    def at_once_of(q: Any, k: Any) -> Any:
        seen.append(fast_path.rotate(q, k, rotation, "bhtd", "auto"))
        seen.append(fast_path.rotate_(q, k, rotation, "bhtd", "auto") or None)
        return q

    q, k = heads(4), heads(2)
    before = q.clone(), k.clone()
    for mode in (FakeTensorMode(allow_non_fake_inputs=True), FlopCounterMode(display=False), Passing()):
        with mode:
            at_once_of(q, k)
    with FakeTensorMode() as fake:
        at_once_of(fake.from_tensor(q), fake.from_tensor(k))
    with forward_ad.dual_level():
        at_once_of(forward_ad.make_dual(q, torch.ones_like(q)), k)
    at_once_of(q.clone().requires_grad_(), k)
    at_once_of(q, torch.nn.Parameter(k))
    at_once_of(q.as_subclass(Other), k)
    at_once_of(torch._neg_view(q), k)
    make_fx(at_once_of)(q, k)
    torch.jit.trace(at_once_of, (q, k), check_trace=False)
    torch.func.vmap(at_once_of)(q[None], k[None])
    torch.func.grad(lambda x: at_once_of(x, k).sum())(q)
    torch.func.functionalize(at_once_of)(q, k)
    at_once_of(q.to("meta"), k.to("meta"))
    at_once_of(q, k.to("meta"))
    assert len(seen) == 2 * 16
    assert all(found is None for found in seen)
    assert torch.equal(q, before[0])
    assert torch.equal(k, before[1])
    with torch.no_grad(), torch.inference_mode():
        at_once_of(q, torch.nn.Parameter(k).detach())
    assert seen[-1] is True


def learned(rotation: Rotation) -> Rotation:
    return Rotation(rotation.cos.clone().requires_grad_(), rotation.sin, rotation.pairing)


def window(count: int, steps: tuple[int, int, int]) -> torch.Tensor:
    return torch.randn(4000, generator=torch.Generator().manual_seed(0)).as_strided((2, count, LENGTH, 18), (*steps, 1))


def bad() -> dict[str, dict[str, Any]]:
    q, rotation = heads(4), RECORD.rotation(torch.arange(LENGTH))
    own, wide = rotations()[3], RoPE(dim=4098).rotation(torch.arange(LENGTH))
    pairing = rotation.pairing
    return {
        "as many heads as differ": {"rotation": own, "k": heads(2)},
        "heads that the tables do not have": {"rotation": Rotation(own.cos, own.sin, pairing, 1.0, heads=3)},
        "no heads": {"rotation": Rotation(own.cos[:0], own.sin[:0], pairing, 1.0, heads=0)},
        "another batch": {"k": heads(2)[:1]},
        "rows of another batch": {"rotation": RECORD.rotation(torch.zeros(3, LENGTH, dtype=torch.int64))},
        "other places": {"rotation": RECORD.rotation(torch.arange(LENGTH + 1))},
        "other places of keys": {"k": heads(2)[:, :, 1:]},
        "another width": {"k": heads(2, dim=16)},
        "axes": {"q": q[0]},
        "axes of a rotation": {"rotation": RECORD.rotation(torch.zeros(2, 1, LENGTH, dtype=torch.int64))},
        "dtypes": {"k": heads(2).half()},
        "float64": {"q": q.double(), "k": heads(2).double()},
        "float64 rotation": {"rotation": RECORD.rotation(torch.arange(LENGTH), dtype=torch.float64)},
        "a rotation of other pairs": {"rotation": Rotation(rotation.cos, rotation.sin, Pairing("halves", 18, 16))},
        "sines of other places": {"rotation": Rotation(rotation.cos, rotation.sin[1:], pairing)},
        "a learned turn": {"rotation": learned(rotation)},
        "heads of too many channels": {"rotation": wide, "q": heads(4, dim=4098), "k": heads(2, dim=4098)},
        "channels apart": {"q": heads(4, dim=36)[..., ::2]},
        "a turn on another device": {"rotation": Rotation(rotation.cos.to("meta"), rotation.sin.to("meta"), pairing)},
        "no rotation": {"rotation": None},
        "no tensor": {"q": None},
        "layout": {"layout": "bdth"},
        "another layout": {"layout": "bthd"},
        "impl": {"impl": "torch"},
        "places of angles": {"rotation": angles(RECORD, torch.arange(LENGTH + 1))},
        "rows of angles": {"rotation": angles(RECORD, torch.zeros(3, LENGTH, dtype=torch.int64))},
        "channels of angles": {"rotation": angles(RoPE(dim=16), torch.arange(LENGTH))},
    }


def overlapping() -> dict[str, dict[str, Any]]:
    both, fused = torch.zeros(2, 6, LENGTH, 18), torch.zeros(2, 6, LENGTH, 36)
    return {
        "one tensor": {"k": None},
        "some heads of both": {"q": both[:, :4], "k": both[:, 3:]},
        "some channels of both": {"q": fused[:, :4, :, :18], "k": fused[:, :4, :, 17:35]},
        "heads that are one": {"k": heads(1).expand(2, 2, LENGTH, 18)},
        "heads in each other": {"q": window(4, (360, 90, 17))},
        "rows in each other": {"q": window(4, (359, 90, 18))},
    }  # fmt: skip


def call(case: dict[str, Any]) -> dict[str, Any]:
    good = {
        "q": heads(4),
        "k": heads(2),
        "rotation": RECORD.rotation(torch.arange(LENGTH)),
        "layout": "bhtd",
        "impl": "auto",
    }
    return {**good, **case}


@native
@pytest.mark.parametrize("name", bad())
def test_what_does_not_fit(name: str) -> None:
    """It is left to those who can say why, or can do it; nothing has been written."""
    given = call(bad()[name])
    tensors = [x for x in (given["q"], given["k"]) if isinstance(x, torch.Tensor)]
    before = [x.clone() for x in tensors]
    assert fast_path.rotate(**given) is None
    assert fast_path.rotate_(**given) is False
    assert all(torch.equal(a, b) for a, b in zip(tensors, before, strict=True))


@native
@pytest.mark.parametrize("angled", [False, True], ids=["rotation", "angles"])
@pytest.mark.parametrize("name", overlapping())
def test_what_overlaps_is_refused(name: str, angled: bool) -> None:
    given = call(overlapping()[name])
    if given["k"] is None:
        given["k"] = given["q"]
    if angled:
        given["rotation"] = angles(RECORD, torch.arange(LENGTH))
    wanted = rotate(**{**given, "impl": "reference"})
    made = fast_path.rotate(**given)
    assert made is not None
    assert all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
    assert fast_path.rotate_(**given) is False
    for impl in ("auto", "torch", "reference"):
        with pytest.raises(ValueError, match=r"^(q must not overlap|k must not overlap|k must not share memory)"):
            rotate_(**{**given, "impl": impl})


@native
def test_memory_of_two_kinds_of_strides() -> None:
    """Nothing can be said of it, so it is refused; also where only one row tells them apart."""
    base = torch.zeros(2 * 6 * LENGTH * 18)
    q = base.as_strided((2, 4, LENGTH, 18), (6 * LENGTH * 18, LENGTH * 18, 18, 1))
    k = base[18:].as_strided((2, 2, LENGTH, 18), (6 * LENGTH * 18, 18, 36, 1))
    rotation = RECORD.rotation(torch.arange(LENGTH))
    with pytest.raises(ValueError, match=r"^k must not share memory"):
        rotate_(q, k, rotation, layout="bhtd")
    assert fast_path.rotate_(q[:1, :1], k[:1, 1:], rotation, "bhtd", "auto") is False
    assert fast_path.rotate_(
        q[:1, :1], base[90:].as_strided((1, 1, LENGTH, 18), (7, 3, 18, 1)), rotation, "bhtd", "auto"
    )


@native
@pytest.mark.parametrize("slow", [False, True])
def test_autograd_hears_of_what_was_written(slow: bool) -> None:
    """A tensor that it keeps and that has been rotated since is an error, not a wrong gradient."""
    rotation, weight = RECORD.rotation(torch.arange(LENGTH)), torch.ones(18, requires_grad=True)
    way = Passing() if slow else nullcontext()
    for by, (axis, impl) in product(
        (rotation, angles(RECORD, torch.arange(LENGTH))), product((0, 1), ("native", "auto"))
    ):
        pair = heads(4), heads(2)
        loss = (pair[axis] * weight).sum()
        with way:
            rotate_(*pair, by, layout="bhtd", impl=impl)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()
    for which in range(3):
        q, k, v, keys, values = heads(4), heads(2), heads(2), torch.zeros(2, 2, 9, 18), torch.zeros(2, 2, 9, 18)
        loss = ((q, keys, values)[which] * weight).sum()
        with way:
            rotate_into_cache_(q, k, v, rotation, keys, values, torch.arange(LENGTH), layout="bhtd")
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_the_form_of_a_pairing() -> None:
    """Fields of 12 bits, and three for calls: nothing of it is lost, and none is guessed where it does not fit."""
    form = packed_form(Pairing("adjacent", 70, 64, 5, 2), 3) | PAGED
    assert (form & 7, *(form >> 3 + 12 * place & 4095 for place in range(5))) == (5, 70, 5, 32, 2, 3)
    assert packed_form(Pairing("halves", 4095, 4094, 1)) >> 51 == 0
    assert packed_form(Pairing("halves", 4096, 2)) == -1
    assert packed_form(Pairing("halves", 8, 8), 0) == -1


def single(count: int, layout: str, dtype: torch.dtype, rows: int, dim: int = 12) -> torch.Tensor:
    shape = (rows, count, 1, dim) if layout == "bhtd" else (rows, 1, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(dtype)


@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_single_tokens_in_plain_pytorch(
    layout: Any, dtype: torch.dtype, rows: int, pairing: Any, monkeypatch: Any
) -> None:
    """The bits of the reference, by name and where there is no kernel; new memory of new numbers, or the tensors
    themselves."""
    monkeypatch.setattr(kernel, "MISSING", "left out")
    encoding = RoPE(dim=12, pairing=pairing)
    for places in (torch.tensor([9]), torch.tensor([[9]]), torch.arange(rows)[:, None]):
        rotation, axis = encoding.rotation(places), layout.index("h")
        q, k = single(4, layout, dtype, rows), single(2, layout, dtype, rows)
        wide = torch.zeros(*q.shape[:axis], 7, *q.shape[axis + 1 :], dtype=dtype)
        inside = wide.narrow(axis, 1, 4).copy_(q)
        wanted, before = rotate(q, k, rotation, layout=layout, impl="reference"), (q.clone(), k.clone())
        for impl in ("torch", "auto"):
            for first in (q, inside):
                found = fast_path.rotate(first, k, rotation, layout, impl)
                assert found is not None
                assert all(torch.equal(a, b) and a.dtype == dtype for a, b in zip(found, wanted, strict=True))
                assert found[0].is_contiguous()
            assert all(torch.equal(a, b) for a, b in zip((q, k), before, strict=True))
            pair = q.clone(), k.clone()
            assert fast_path.rotate_(*pair, rotation, layout, impl)
            assert all(torch.equal(a, b) for a, b in zip(pair, wanted, strict=True))
        assert fast_path.rotate(q, k, rotation, layout, "native") is None


@pytest.mark.parametrize(
    "case",
    [
        {"k": single(2, "bhtd", torch.float32, 3)},
        {"k": single(2, "bhtd", torch.bfloat16, 2)},
        {"k": single(2, "bhtd", torch.float32, 2, 10)},
        {"q": single(4, "bhtd", torch.float64, 2), "k": single(2, "bhtd", torch.float64, 2)},
        {"q": torch.zeros(2, 4, 2, 12), "k": torch.zeros(2, 2, 2, 12)},
        {"q": torch.zeros(2, 4, 12)},
        {"q": torch.zeros(2, 12000, 1, 12)},
        {"q": single(4, "bhtd", torch.float32, 2).requires_grad_()},
        {
            "rotation": AxialRoPE(
                axis=(0, 0, 0, 1, 1, 1), frequency_index=(0, 1, 2) * 2, frequency_dim=6, pairing="halves", blocks=2
            ).rotation(torch.ones(1, 2))
        },
        {"rotation": RoPE(dim=12, pairing="halves").rotation(torch.arange(3)[:, None])},
        {"rotation": RoPE(dim=12, pairing="halves").rotation(torch.arange(2))},
        {"rotation": RoPE(dim=12, pairing="halves").rotation(torch.tensor([1]), dtype=torch.float64)},
        {"rotation": Partial(RoPE(dim=10, pairing="halves"), dim=12).rotation(torch.tensor([1]))},
        {"rotation": angles(RoPE(dim=12, pairing="halves"), torch.tensor([1]))},
        {"layout": "bthd"},
        {"layout": "bdth"},
    ],
)
def test_what_is_no_single_token(case: dict[str, Any]) -> None:
    pair = {"q": single(4, "bhtd", torch.float32, 2), "k": single(2, "bhtd", torch.float32, 2)}
    given = {
        **pair,
        "rotation": RoPE(dim=12, pairing="halves").rotation(torch.tensor([1])),
        "layout": "bhtd",
        "impl": "torch",
    }
    assert fast_path.rotate(**given) is not None
    assert fast_path.rotate(**{**given, **case}) is None
    assert fast_path.rotate_(**{**given, **case}) is False


def test_single_tokens_that_share_memory() -> None:
    rotation, both = RoPE(dim=12, pairing="halves").rotation(torch.tensor([1])), torch.zeros(1, 6, 1, 12)
    for q, k in ((both, both), (both[:, :4], both[:, 3:]), (both[:, 3:], both[:, :4])):
        assert fast_path.rotate_(q, k, rotation, "bhtd", "torch") is False
    assert fast_path.rotate_(both[:, 4:], both[:, :4], rotation, "bhtd", "torch")
    assert fast_path.rotate_(both[:, :1].expand(1, 4, 1, 12), both[:, 4:], rotation, "bhtd", "torch") is False


@native
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_part_of_the_channels_and_queries_alone_take_one_call(monkeypatch: Any, dtype: torch.dtype) -> None:
    calls: list[str] = []
    for name in ("_rotate", "_rotate_", "_by_angles", "_by_angles_"):
        own = getattr(fast_path, name)
        monkeypatch.setattr(fast_path, name, lambda *a, own=own, name=name: calls.append(name) or own(*a))
    for rotation in (RECORD.rotation(torch.arange(LENGTH)), angles(RECORD, torch.arange(LENGTH))):
        for k in (heads(2, dtype=dtype), heads(2, dtype=dtype)[:, :0]):
            q = heads(4, dtype=dtype)
            wanted = rotate(q, k, rotation, layout="bhtd", impl="reference")
            calls.clear()
            with torch.no_grad():
                found = rotate(q, k, rotation, layout="bhtd"), rotate_(q.clone(), k.clone(), rotation, layout="bhtd")
            assert len(calls) == 2
            assert all(torch.equal(a, b) for each in found for a, b in zip(each, wanted, strict=True))
