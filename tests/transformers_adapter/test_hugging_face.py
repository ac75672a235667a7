"""The stand-in for the rotary module of Hugging Face models: its numbers, its dtypes and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from posenc import ALiBi, RoPE
from posenc.compose import Partial
from posenc.torch import Rotate
from posenc.transformers import HuggingFaceRotary

POSITIONS = torch.tensor([[0, 1, 70_001], [5, 4, 3]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_cos_and_sin_turn_halves(dtype: torch.dtype) -> None:
    encoding = RoPE(dim=8, pairing="halves")
    cos, sin = HuggingFaceRotary(encoding)(torch.zeros(1, dtype=dtype), POSITIONS)
    assert cos.dtype == sin.dtype == dtype
    assert cos.shape == sin.shape == (2, 3, 8)
    q = torch.randn(2, 12, 3, 8, dtype=dtype)
    half = torch.cat((-q[..., 4:], q[..., :4]), -1)
    by_hand = q * cos[:, None] + half * sin[:, None]
    ours, _ = Rotate(encoding)(q, q, POSITIONS, POSITIONS, layout="bhtd")
    # cos, sin, two products and a sum, each rounded to the dtype, of numbers below 8; ours is rounded once.
    unit = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9}[dtype]
    assert (by_hand - ours).abs().max().item() <= 5 * 8 * unit


def test_bfloat16_rounds_the_float32_table() -> None:
    rotary = HuggingFaceRotary(RoPE(dim=8, pairing="halves", numerics="float32"))
    wide, narrow = (rotary(torch.zeros(1, dtype=dtype), POSITIONS) for dtype in (torch.float32, torch.bfloat16))
    assert all(torch.equal(a.to(torch.bfloat16), b) for a, b in zip(wide, narrow, strict=True))


def test_partial_gives_the_rotated_width() -> None:
    cos, _ = HuggingFaceRotary(Partial(RoPE(dim=4, pairing="halves"), dim=10))(torch.zeros(1), POSITIONS)
    assert cos.shape == (2, 3, 4)


def test_it_holds_nothing() -> None:
    rotary = HuggingFaceRotary(RoPE(dim=8, pairing="halves"))
    assert rotary.state_dict() == {}
    assert torch.equal(rotary.to(torch.bfloat16)(torch.zeros(1), POSITIONS)[0], rotary(torch.zeros(1), POSITIONS)[0])


@pytest.mark.parametrize("encoding", [RoPE(dim=8), Partial(RoPE(dim=4, pairing="halves"), dim=10, start=2)])
def test_other_pairs_are_refused(encoding: object) -> None:
    with pytest.raises(ValueError, match="encoding must pair halves from channel 0"):
        HuggingFaceRotary(encoding)


@dataclass(frozen=True)
class LearnedRotation(Partial):
    """A rotation that says it learns something."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rates": (2,)}


def test_what_learns_is_refused() -> None:
    with pytest.raises(ValueError, match="encoding must have no parameters here; got LearnedRotation"):
        HuggingFaceRotary(LearnedRotation(RoPE(dim=4, pairing="halves"), dim=4))


def test_other_doors_and_devices_are_refused() -> None:
    with pytest.raises(TypeError, match="encoding must be an encoding that rotates; got ALiBi"):
        HuggingFaceRotary(ALiBi(heads=2))
    with pytest.raises(ValueError, match="position_ids must be on the device of the other arguments, cpu; got meta"):
        HuggingFaceRotary(RoPE(dim=8, pairing="halves"))(torch.zeros(1), POSITIONS.to("meta"))
