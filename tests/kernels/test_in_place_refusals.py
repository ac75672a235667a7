"""What cannot be rotated in place is refused by every implementation before anything is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from posenc import RoPE, Sinusoidal
from posenc.kernels import native
from posenc.torch import angles, rotate, rotate_, rotate_into_cache_, rotation, table

IMPLS = ("auto", "reference", "torch", *(("native",) if native.MISSING is None else ()))
RECORD = RoPE(dim=8)


def inference(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return x.clone()


def negated(x: torch.Tensor) -> torch.Tensor:
    return torch._neg_view(x.clone())  # as the imaginary part of a conjugate is


def zeros(x: torch.Tensor) -> torch.Tensor:
    return torch._efficientzerotensor(x.shape)  # as a tangent that is nowhere is


KINDS = {"inference": inference, "negated": negated, "zeros": zeros}


def pair(length: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(length)
    return {
        name: torch.randn(1, count, length, 8, generator=generator) for name, count in (("q", 4), ("k", 2), ("v", 2))
    }


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["q", "k"])
@pytest.mark.parametrize("length", [1, 3])
def test_nothing_is_written(impl: Any, kind: str, name: str, length: int) -> None:
    tensors = pair(length)
    q, k = (KINDS[kind](x) if of == name else x.clone() for of, x in list(tensors.items())[:2])
    before, positions = [x.clone() for x in (q, k)], torch.arange(length)
    for by in (RECORD.rotation(positions), angles(RECORD, positions)):
        if impl == "native" and kind == "zeros":
            message = r"^impl must be one that can rotate these tensors; got 'native', but a tensor is a negated view"
        elif kind == "negated" and impl == "native":
            message = r"^impl must be"
        else:
            message = rf"^{name} must not be an? "
        with pytest.raises(ValueError, match=message):
            rotate_(q, k, by, layout="bhtd", impl=impl)
        assert all(torch.equal(x.clone(), was) for x, was in zip((q, k), before, strict=True))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("length", [1, 3])
def test_inference_tensors_are_rotated_where_pytorch_writes_them(impl: Any, length: int) -> None:
    """In inference mode in place, and anywhere into new memory."""
    tensors, by = pair(length), RECORD.rotation(torch.arange(length))
    q, k = inference(tensors["q"]), inference(tensors["k"])
    expected = [by(x, layout="bhtd") for x in (tensors["q"], tensors["k"])]
    for found in (rotate(q, k, by, layout="bhtd", impl=impl), rotate(q, tensors["k"], by, layout="bhtd", impl=impl)):
        assert all(torch.equal(x, y) for x, y in zip(found, expected, strict=True))
    with torch.inference_mode():
        rotate_(q, k, by, layout="bhtd", impl=impl)
        assert torch.equal(q, expected[0])
        assert torch.equal(k, expected[1])


@pytest.mark.parametrize("impl", [impl for impl in IMPLS if impl != "torch"])
@pytest.mark.parametrize("name", ["q", "k_cache", "v_cache"])
def test_caches_and_tables_that_cannot_be_written(impl: Any, name: str) -> None:
    written = {"q": pair(1)["q"], "k_cache": torch.zeros(1, 2, 4, 8), "v_cache": torch.zeros(1, 2, 4, 8)}
    written[name] = inference(written[name])
    before, rest = {of: x.clone() for of, x in written.items()}, pair(1)
    with pytest.raises(ValueError, match=rf"^{name} must not be an inference tensor"):
        rotate_into_cache_(
            written["q"],
            rest["k"],
            rest["v"],
            RECORD.rotation(torch.arange(1)),
            written["k_cache"],
            written["v_cache"],
            torch.tensor([2]),
            layout="bhtd",
            impl=impl,
        )
    assert all(torch.equal(written[of], x) for of, x in before.items())


@pytest.mark.parametrize("impl", [impl for impl in IMPLS if impl != "torch"])
def test_tables_that_cannot_be_written(impl: Any) -> None:
    held = inference(torch.zeros(3, 4)), torch.zeros(3, 4)
    with pytest.raises(ValueError, match=r"^out\[0\] must not be an inference tensor"):
        rotation(RECORD, torch.arange(3), out=held, impl=impl)
    with pytest.raises(ValueError, match=r"^out must not be an inference tensor"):
        table(Sinusoidal(dim=4), torch.arange(3), out=held[0], impl=impl)
    assert not any(x.any() for x in held)
