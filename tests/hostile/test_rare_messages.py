"""Messages of arguments that few calls get wrong, each by the call that a user would make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from posenc import ForgettingGate
from posenc.core.plain_file import json_of
from posenc.frequencies import Geometric
from posenc.positions import Sharding, coordinates, from_mask, multimodal
from posenc.torch import attention, module

GATE, Q = ForgettingGate(heads=2, model_dim=6), torch.zeros(1, 2, 3, 4)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "words as truth values": (
        lambda: from_mask(["yes", "no"]), TypeError, r"^mask must hold truth values; got \['yes', 'no'\]",
    ),
    "a complex mask": (
        lambda: multimodal("qwen2-vl", token_types=[0], merge=1, attention_mask=torch.ones(1, dtype=torch.complex64)),
        TypeError, "^attention_mask must hold numbers; got complex64",
    ),
    "complex token types": (
        lambda: multimodal("qwen2-vl", token_types=torch.zeros(2, dtype=torch.complex64)),
        TypeError, "^token_types must hold integers or floats; got complex64",
    ),
    "a like of no library": (
        lambda: coordinates("positions", [[0, 7]], 2, like="torch"),
        TypeError, "^like must be a NumPy, PyTorch or JAX array; got 'torch'",
    ),
    "inputs of another layer": (
        lambda: attention(Q, Q, Q, query_positions=torch.arange(3), key_positions=torch.arange(3),
                          encodings=[module(GATE)], hidden=torch.zeros(1, 3, 5), layout="bhtd"),
        ValueError, r"^hidden must have shape \(1, 3, 6\) for ForgettingGate; got \(1, 3, 5\)",
    ),
    "gates of another layer": (
        lambda: GATE.log_gates(np.zeros((3, 5)), {"W": np.zeros((2, 6)), "c": np.zeros(2)}),
        ValueError, r"^hidden must have shape \(\*batch, m, 6\); got \(3, 5\)",
    ),
    "a nest in JSON": (lambda: json_of("[" * 900 + "]" * 900), ValueError, "nested"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_rare_mistake_is_named(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


def test_a_mask_of_pytorch_leaves_padding_out_as_one_of_numpy_does() -> None:
    types, mask = [1, 1, 0, 0], [0, 1, 1, 1]
    found = [
        multimodal("qwen2-vl", token_types=types, attention_mask=given, merge=1, image_grid_thw=[[1, 1, 1]])
        for given in (np.array(mask, bool), torch.tensor(mask), torch.tensor(mask) == 1)
    ]
    assert all(np.array_equal(one.coordinates, found[0].coordinates) for one in found)


def test_every_rank_of_a_sharded_row_has_all_heads_unless_heads_are_sharded() -> None:
    assert Sharding(8, ranks=2, scheme="zigzag").heads(1, 12) == slice(0, 12)


def test_the_bound_of_an_exponential_holds_what_float32_gives() -> None:
    """Frequencies that released code computes as exp(-i·ln base/(d/2 - 1)), against mpmath-exact ones."""
    frequencies = Geometric(dim=128, base=1e4, exponent="i/(d/2-1)", released="exponential")
    off = np.abs(frequencies.float32(np.zeros(0, np.float32)).astype(float) - frequencies.radians())
    assert (off <= frequencies.rounding()).all()
    assert (frequencies.rounding() < 1e-5).all()
