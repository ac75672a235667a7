"""Modules against the definition, to the bit, on the fastest path: every row that rotates or adds, with gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from posenc import CATALOG, RoPE, Sinusoidal
from posenc.core.doors import AdditiveEncoding, RotaryEncoding
from posenc.core.rotation import Rotation
from posenc.kernels import native
from posenc.torch import module

DTYPES = (torch.float32, torch.bfloat16)
SAMPLES = [row.samples[0] for row in CATALOG]
ROTATIONS = [encoding for encoding in SAMPLES if isinstance(encoding, RotaryEncoding) and "query" in encoding.roles]
SUMS = [encoding for encoding in SAMPLES if isinstance(encoding, AdditiveEncoding)]


def heads(encoding: Any, count: int, length: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randn(2, count, length, encoding.head_dim, generator=generator).to(dtype).requires_grad_()


def line(encoding: Any, length: int) -> torch.Tensor:
    positions = torch.arange(length)
    return positions if encoding.axes == 1 else positions[:, None].expand(length, encoding.axes).contiguous()


def gradients(results: tuple[torch.Tensor, ...], of: list[torch.Tensor]) -> list[torch.Tensor | None]:
    total = sum((part.float() * torch.arange(part.numel()).reshape(part.shape).cos()).sum() for part in results)
    return list(torch.autograd.grad(total, of, allow_unused=True, retain_graph=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("encoding", ROTATIONS, ids=lambda encoding: type(encoding).__name__)
def test_rotations_have_the_bits_of_the_definition(encoding: RotaryEncoding, dtype: torch.dtype) -> None:
    layer, positions = module(encoding, seed=0), line(encoding, 5)
    own = getattr(encoding, "heads", None)
    q, k = (heads(encoding, own or count, 5, dtype) for count in (12, 4))
    rotations = (encoding.rotation(positions, layer.params, role=role) for role in ("query", "key"))
    expected = tuple(by(x, layout="bhtd") for by, x in zip(rotations, (q, k), strict=True))
    learned = [q, k, *layer.parameters()]
    for key in (positions, positions.clone()):
        found = layer(q, k, positions, key, layout="bhtd")
        assert all(torch.equal(a, b) and a.dtype == dtype for a, b in zip(found, expected, strict=True))
        for a, b in zip(gradients(found, learned), gradients(expected, learned), strict=True):
            # Sums over heads and tokens may be formed in another order.
            assert (a is None and b is None) or torch.allclose(a, b, rtol=2.0**-7, atol=2.0**-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [3, 40])
@pytest.mark.parametrize("encoding", SUMS, ids=lambda encoding: type(encoding).__name__)
def test_sums_have_the_bits_of_the_definition(encoding: AdditiveEncoding, length: int, dtype: torch.dtype) -> None:
    layer = module(encoding, seed=0)
    positions = line(encoding, length) % 7
    x = torch.randn(2, length, encoding.width, generator=torch.Generator().manual_seed(1)).to(dtype).requires_grad_()
    for first in (True, False):  # made, and remembered
        expected, found = encoding.attach(x, positions, layer.params), layer(x, positions)
        assert torch.equal(found, expected), first
        assert found.dtype == expected.dtype
        for a, b in zip(gradients((found,), [x]), gradients((expected,), [x]), strict=True):
            assert a is not None
            assert torch.equal(a, b)


def test_a_remembered_table_is_of_its_positions_alone() -> None:
    layer, positions, x = module(Sinusoidal(dim=8)), torch.arange(64), torch.zeros(1, 64, 8)
    with torch.inference_mode():
        layer(x, positions).zero_()
    positions += 5
    for _ in range(2):
        found = layer(x.requires_grad_(), positions)
        assert torch.equal(found[0], Sinusoidal(dim=8).embed(positions))
        found.sum().backward()
    other = module(Sinusoidal(dim=8, base=100.0))(x, positions)
    assert torch.equal(other[0], Sinusoidal(dim=8, base=100.0).embed(positions))


@pytest.mark.skipif(native.MISSING is not None, reason="posenc-kernels is not installed: no compiler was found")
def test_modules_reach_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the definition of a rotation nor that of its table is computed."""

    def called(*_: Any, **__: Any) -> Any:
        raise AssertionError("the definition was computed")

    layer, positions = module(RoPE(dim=8)), torch.arange(3)
    inputs = [tuple(heads(layer.encoding, count, 3, dtype) for count in (4, 2)) for dtype in DTYPES]
    rotations = [
        layer.encoding.rotation(positions, dtype=torch.promote_types(q.dtype, torch.float32)) for q, _ in inputs
    ]
    defined = [
        tuple(rotation(x, layout="bhtd") for x in pair) for rotation, pair in zip(rotations, inputs, strict=True)
    ]
    monkeypatch.setattr(Rotation, "__call__", called)
    monkeypatch.setattr(RoPE, "rotation", called)
    for (q, k), expected in zip(inputs, defined, strict=True):
        for key in (positions, positions.clone()):
            found = layer(q, k, positions, key, layout="bhtd")
            assert all(map(torch.equal, found, expected))
            given = torch.autograd.grad(sum(part.sum() for part in found), (q, k))
            assert all(bool(gradient.any()) for gradient in given)
            with torch.no_grad():
                first = layer(q[:, :, :1], k[:, :, :1], positions[:1], key[:1], layout="bhtd")
            assert all(torch.equal(part, whole[:, :, :1]) for part, whole in zip(first, expected, strict=True))


def test_positions_may_be_written_to_before_backward() -> None:
    """A training loop that moves its positions on in place gets the gradients of the positions that it gave."""
    layer, positions = module(RoPE(dim=8)), torch.arange(3)
    q, k = (heads(layer.encoding, count, 3, torch.float32) for count in (4, 2))
    rotation = layer.encoding.rotation(positions.clone())
    for key in (positions, positions.clone()):
        found = layer(q, k, positions, key, layout="bhtd")
        expected = rotation(q, layout="bhtd"), rotation(k, layout="bhtd")
        positions += 7
        for mine, theirs in zip(gradients(found, [q, k]), gradients(expected, [q, k]), strict=True):
            assert mine is not None
            assert torch.equal(mine, theirs)
        positions -= 7


@dataclass(frozen=True)
class WithList(RoPE):
    """A user's encoding with a field that has no hash."""

    notes: list[str] = field(default_factory=list)


def test_an_encoding_without_a_hash_rotates_as_its_definition() -> None:
    layer, positions = module(WithList(dim=8)), torch.arange(3)
    q, k = (heads(layer.encoding, count, 3, torch.float32) for count in (4, 2))
    rotation = layer.encoding.rotation(positions)
    assert torch.equal(layer(q, k, positions, positions, layout="bhtd")[0], rotation(q, layout="bhtd"))


def test_a_position_out_of_range_is_named() -> None:
    layer, (q, k) = module(RoPE(dim=8)), torch.zeros(2, 1, 2, 1, 8)
    for far in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(ValueError, match=r"^query_positions must be finite and of magnitude at most 2\^53"):
            layer(q, k, *[torch.tensor([far])] * 2, layout="bhtd")
