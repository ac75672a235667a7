"""Plain PyTorch in blocks against the reference, to the bit: dtypes, pairings, layouts, blocks, threads, gradients,
refusals."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import posenc
from posenc import AxialRoPE, Partial, RoPE, XPos, YaRN
from posenc.kernels import native, plain_torch
from posenc.torch import chosen, rotate, rotate_
from posenc.transformers import accelerate, accelerated_model

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
RECORDS = (
    RoPE(dim=128, pairing="halves"),
    RoPE(dim=64),
    RoPE(dim=6),
    RoPE(dim=70, pairing="halves", scaling=YaRN(factor=8.0, original=128)),
    XPos(dim=32, scale_base=16384.0),
    Partial(RoPE(dim=20, pairing="halves"), dim=50, start=7),
    Partial(RoPE(dim=32), dim=40, start=1),
    Partial(RoPE(dim=32), dim=40),
    AxialRoPE(
        axis=(0,) * 12 + (1,) * 12,
        frequency_index=(*range(12), *range(12)),
        frequency_dim=24,
        pairing="halves",
        blocks=2,
    ),
    AxialRoPE(axis=(0, 0, 1, 1), frequency_index=(0, 1, 0, 1), frequency_dim=4),
)


def rotation_of(encoding: Any, dtype: torch.dtype, *shape: int) -> Any:
    axes = () if encoding.axes == 1 else (encoding.axes,)
    places = torch.randint(0, 100_000, (*shape, *axes), generator=torch.Generator().manual_seed(3))
    return encoding.rotation(places, role="key", dtype=torch.float64 if dtype == torch.float64 else torch.float32)


def heads(count: int, length: int, dim: int, dtype: torch.dtype, layout: str, batch: int = 3) -> torch.Tensor:
    shape = (batch, count, length, dim) if layout == "bhtd" else (batch, length, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count)).to(dtype)


def same(found: Any, wanted: Any) -> bool:
    return all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", RECORDS)
def test_bits_of_the_reference(encoding: Any, dtype: torch.dtype, layout: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for length, rows, block in product((1, 67), ((), (3,)), (plain_torch.COMPLEX, 3000)):
        monkeypatch.setattr(plain_torch, "BLOCK", block)
        monkeypatch.setattr(plain_torch, "COMPLEX", block)
        rotation = rotation_of(encoding, dtype, *rows, length)
        q, k = (heads(count, length, encoding.head_dim, dtype, layout) for count in (12, 4))
        wanted = rotate(q, k, rotation, layout=layout, impl="reference")
        assert same(rotate(q, k, rotation, layout=layout, impl="torch"), wanted)
        assert same(rotate_(q.clone(), k.clone(), rotation, layout=layout, impl="torch"), wanted)


@pytest.mark.parametrize("pairing", ["halves", "adjacent"])
def test_large_tensors_and_threads(pairing: Any) -> None:
    """Blocks of their real size, with a last one that is smaller, whatever the number of threads."""
    rotation = RoPE(dim=96, pairing=pairing).rotation(torch.arange(4, 4 + 1003))
    before = torch.get_num_threads()
    for dtype, layout in product((torch.float32, torch.bfloat16), ("bhtd", "bthd")):
        q, k = (heads(count, 1003, 96, dtype, layout, 1) for count in (9, 3))
        wanted = rotate(q, k, rotation, layout=layout, impl="reference")  # type: ignore[arg-type]
        try:
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                assert same(rotate(q, k, rotation, layout=layout, impl="torch"), wanted)  # type: ignore[arg-type]
        finally:
            torch.set_num_threads(before)


def test_nothing_is_rotated_to_nothing() -> None:
    rotation = RoPE(dim=8, pairing="halves").rotation(torch.arange(0))
    q, k = torch.zeros(2, 4, 0, 8), torch.zeros(2, 2, 0, 8)
    assert rotate(q, k, rotation, layout="bhtd", impl="torch")[0].shape == q.shape
    assert rotate_(q, k, rotation, layout="bhtd", impl="torch")[1].shape == k.shape


def test_many_rows_of_a_batch() -> None:
    """Decoding: one token of each row, and blocks of several rows."""
    rotation = RoPE(dim=64, pairing="halves").rotation(torch.randint(0, 1000, (130, 1)))
    q, k = heads(16, 1, 64, torch.bfloat16, "bhtd", 130), heads(2, 1, 64, torch.bfloat16, "bhtd", 130)
    wanted = rotate(q, k, rotation, layout="bhtd", impl="reference")
    assert same(rotate(q, k, rotation, layout="bhtd", impl="torch"), wanted)


@pytest.mark.parametrize("pairing", ["halves", "adjacent"])
def test_tensors_inside_others_and_heads_of_their_own(pairing: Any) -> None:
    fused = torch.randn(2, 9, 3, 4, 33, generator=torch.Generator().manual_seed(2))
    rotation = RoPE(dim=32, pairing=pairing).rotation(torch.arange(5))
    for start in (0, 1):  # channels that begin at an odd place are no complex numbers
        q, k = (fused.clone()[:, 2:7, part, :, start : start + 32] for part in range(2))
        wanted = rotate(q, k, rotation, layout="bthd", impl="reference")
        assert same(rotate(q, k, rotation, layout="bthd", impl="torch"), wanted)
        assert same(rotate_(q, k, rotation, layout="bthd", impl="torch"), wanted)
    every = RoPE(dim=32, pairing=pairing).rotation(torch.arange(4 * 5).reshape(4, 5))
    own = posenc.Rotation(every.cos, every.sin, every.pairing, 1.0, heads=4)
    q, k = fused[:, :5, 0, :, 1:].transpose(1, 2), fused[:, :5, 1, :, 1:].transpose(1, 2)
    wanted = rotate(q, k, own, layout="bhtd", impl="reference")
    assert same(rotate(q, k, own, layout="bhtd", impl="torch"), wanted)
    shared = q[:, :1].expand(2, 4, 5, 32), q.mT.contiguous().mT
    wanted = rotate(*shared, own, layout="bhtd", impl="reference")
    assert same(rotate(*shared, own, layout="bhtd", impl="torch"), wanted)


def test_without_complex_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that rounds complex products otherwise gets the same bits by another way."""
    rotation = RoPE(dim=64).rotation(torch.arange(67))
    q, k = heads(12, 67, 64, torch.bfloat16, "bthd"), heads(4, 67, 64, torch.bfloat16, "bthd")
    monkeypatch.setattr(plain_torch, "EXACT", False)
    monkeypatch.setattr(plain_torch, "_multiply_complex", None)
    wanted = rotate(q, k, rotation, layout="bthd", impl="reference")
    assert same(rotate(q, k, rotation, layout="bthd", impl="torch"), wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("pairing", ["halves", "adjacent"])
def test_gradients_are_those_of_the_reference(pairing: Any, dtype: torch.dtype) -> None:
    rotation = Partial(RoPE(dim=12, pairing=pairing, scaling=YaRN(factor=4.0, original=64)), dim=18, start=2).rotation(
        torch.arange(7)
    )
    gradients = []
    for impl in ("torch", "reference"):
        q, k = (heads(count, 7, 18, dtype, "bthd").requires_grad_() for count in (6, 2))
        rotated = rotate(q, k, rotation, layout="bthd", impl=impl)  # type: ignore[arg-type]
        (rotated[0].square().sum() + rotated[1].sum()).backward()  # a sum's gradient has no strides
        gradients.append((q.grad, k.grad))
    assert same(*gradients)


def test_second_derivatives() -> None:
    rotation = RoPE(dim=4).rotation(torch.arange(3), dtype=torch.float64)
    q = torch.randn(1, 1, 3, 4, dtype=torch.float64, requires_grad=True)
    k = q.detach().clone()

    def call(q: Any) -> Any:
        return rotate(q, k, rotation, layout="bhtd", impl="torch")[0]

    assert torch.autograd.gradcheck(call, (q,))
    assert torch.autograd.gradgradcheck(lambda q: call(q) ** 2, (q,))


def test_tracers_and_transforms_get_the_reference() -> None:
    rotation = RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64)  # no kernel is for float64
    q, k = (torch.randn(1, count, 3, 8, dtype=torch.float64) for count in (4, 2))
    assert chosen(q, k, rotation, layout="bhtd").impl == "torch"

    def call(q: Any, impl: Any = "auto") -> Any:
        return rotate(q, k, rotation, layout="bhtd", impl=impl)[0]

    wanted = call(q)
    assert torch.equal(torch.compile(call, fullgraph=True, backend="aot_eager")(q), wanted)
    assert torch.equal(torch.func.vmap(call)(q[None])[0], wanted)
    assert torch.equal(torch.func.jvp(call, (q,), (q,))[1], wanted)  # a rotation is linear
    with torch.autograd.forward_ad.dual_level():
        dual = call(torch.autograd.forward_ad.make_dual(q, q))
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(dual).tangent, wanted)
    with pytest.raises(ValueError, match=r"^impl must .* got 'torch', but"):
        torch.func.vmap(lambda q: call(q, "torch"))(q[None])


def test_what_blocks_do_not_turn() -> None:
    q, k = torch.zeros(1, 4, 3, 8), torch.zeros(1, 2, 3, 8)
    learned = posenc.LearnedRoPE(dim=8).rotation(torch.arange(3), {"frequencies": torch.ones(4, requires_grad=True)})
    plain = RoPE(dim=8).rotation(torch.arange(3))
    for rotation, dtype in ((learned, torch.float32), (plain, torch.float64), (plain, torch.int64)):
        with pytest.raises(ValueError, match=r"^impl must .* got 'torch', but"):
            rotate(q.to(dtype), k.to(dtype), rotation, layout="bhtd", impl="torch")
    assert chosen(q, k, learned, layout="bhtd").impl == "reference"
    with pytest.raises(TypeError, match=r"^x must"):
        rotate(q.long(), k.long(), plain, layout="bhtd")


def test_models_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose code turns one tensor at a time, and one that rotates queries and fewer keys: the logits that they
    had."""
    from transformers import GPTJConfig, GPTJForCausalLM, LlamaConfig, LlamaForCausalLM

    monkeypatch.setattr(native, "MISSING", "left out")
    monkeypatch.setattr(accelerated_model, "FEWEST_NUMBERS", 0)
    seen: list[torch.Size] = []
    plain = plain_torch.rotate
    monkeypatch.setattr(
        plain_torch, "rotate", lambda rotation, *x: seen.extend(part.shape for part in x) or plain(rotation, *x)
    )
    narrow = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 16}
    for model in (
        GPTJForCausalLM(GPTJConfig(vocab_size=32, n_embd=64, n_layer=2, n_head=4, rotary_dim=8)),
        LlamaForCausalLM(LlamaConfig(vocab_size=32, hidden_size=64, num_hidden_layers=2, **narrow)),
    ):
        ids = torch.arange(12)[None]
        with torch.no_grad():
            before = model.eval()(ids).logits
            with accelerate(model):
                seen.clear()
                assert torch.equal(model(ids).logits, before)
        assert len(seen) == 4
