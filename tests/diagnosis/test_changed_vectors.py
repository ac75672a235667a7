"""Code whose first row is right and which treats other rows, keys, vectors or first positions differently is named."""

from typing import Any

import numpy as np
import pytest
import torch

from posenc import Learned, RoPE, Sinusoidal
from posenc.diagnosis import check_code

ROPE, SINUSOIDAL = RoPE(dim=16, pairing="halves"), Sinusoidal(dim=16)
RATES = 10_000.0 ** (-np.arange(0, 16, 2) / 16)
TABLE = np.stack([wave(np.arange(3000)[:, None] * RATES) for wave in (np.sin, np.cos)], -1).reshape(3000, 16)


def rotated(x: Any, positions: Any) -> Any:
    cos, sin = (wave(np.asarray(positions)[:, None] * RATES) for wave in (np.cos, np.sin))
    first, second = x[..., :8], x[..., 8:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def added(x: Any) -> Any:
    return x + TABLE[: x.shape[1]]


def both(q: Any, k: Any, positions: Any) -> Any:
    return rotated(q, positions), rotated(k, positions)


def swapped(q: Any, k: Any, positions: Any) -> Any:
    return rotated(k, positions), rotated(q, positions)


def queries_alone(q: Any, k: Any, positions: Any) -> Any:
    return rotated(q, positions), rotated(q, positions)


def from_its_first(x: Any, positions: Any) -> Any:
    return rotated(x, positions - positions.min())


def first_row_rotated(x: Any, positions: Any) -> Any:
    return np.concatenate([rotated(x[:1], positions), x[1:]])


def first_row_added(x: Any) -> Any:
    return np.concatenate([added(x[:1]), x[1:]])


def rolled(x: Any) -> Any:
    return added(np.roll(x, 1, axis=1))


def times_root(x: Any) -> Any:
    return added(4 * x)


def alone(x: Any) -> Any:
    return added(0 * x)


@pytest.mark.parametrize(
    ("code", "meant", "name", "words"),
    [
        (swapped, ROPE, "queries and keys swapped", "It returns keys where queries are expected"),
        (queries_alone, ROPE, "vectors treated differently", "k[0] at position 0 is changed differently than in other"),
        (from_its_first, ROPE, "vectors treated differently", "In a call for positions 5 to 11, x[0] at position "),
        (first_row_rotated, ROPE, "vectors treated differently", "x[1] at position 1 is changed differently than x[0]"),
        (
            first_row_added,
            SINUSOIDAL,
            "vectors treated differently",
            "x[1] at position 0 is changed differently than x[0]",
        ),
        (rolled, SINUSOIDAL, "vectors treated differently", "x[0] at position 0 is changed differently than in other"),
    ],
)
def test_vectors_that_are_treated_differently_are_named(code: Any, meant: Any, name: str, words: str) -> None:
    for against in (meant, None):
        found = check_code(code, against=against)
        assert not found.right, str(found)
        assert [finding.name for finding in found.findings] == [name], str(found)
        assert words in found.findings[0].sentence


@pytest.mark.parametrize(
    ("code", "meant", "notes"),
    [
        (rotated, ROPE, ()),
        (both, ROPE, ()),
        (added, SINUSOIDAL, ()),
        (times_root, SINUSOIDAL, ("It multiplies x by 4 before it adds positions.",)),
        (alone, SINUSOIDAL, ("It returns the positions alone, without x: add them to x.",)),
    ],
)
def test_what_treats_all_vectors_alike_is_right(code: Any, meant: Any, notes: tuple[str, ...]) -> None:
    found = check_code(code, against=meant)
    assert (found.right, found.notes) == (True, notes), str(found)


def test_a_table_that_is_drawn_anew_for_each_module_is_not_accused() -> None:
    class Table(torch.nn.Module):
        def __init__(self, dim: int, max_len: int = 512) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(max_len, dim)

        def forward(self, x: Any) -> Any:
            return x + self.table(torch.arange(x.size(1)))

    assert check_code(Table).consistent
    assert check_code(Table, against=Learned(dim=16, length=512)).findings == ()


def test_calls_of_code_that_draws_numbers_are_not_compared() -> None:
    def noisy(x: Any) -> Any:
        return added(x) + 1e-3 * np.random.default_rng().normal(size=x.shape)

    assert check_code(noisy).findings == ()
