"""`check_code` of mistakes that configs and running models make too, and of every kind of bias."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from effort import calls_at_most
from posenc import ALiBi, Llama3, Partial, RoPE, Sinusoidal, T5Bias, YaRN
from posenc.diagnosis import check_code

HALVES = RoPE(64, pairing="halves")


def rotating(rates: Any, factor: float = 1.0, rotation: Any = rotary.halves) -> Any:
    """Code that rotates by these frequencies, a function of the width."""

    def rotate(x: Any, positions: Any) -> Any:
        cos, sin = rotary.waves(rates(x.shape[-1]), positions, factor)
        return rotation(x, cos, sin)

    return rotate


def last_channels(x: Any, positions: Any) -> Any:
    cos, sin = rotary.waves(rotary.frequencies(16, 1e4), positions)
    return np.concatenate([x[..., :-16], rotary.halves(x[..., -16:], cos, sin)], -1)


def first_half(x: Any, positions: Any) -> Any:
    half = x.shape[-1] // 2
    cos, sin = rotary.waves(rotary.frequencies(half, 1e4), positions)
    return np.concatenate([rotary.halves(x[..., :half], cos, sin), x[..., half:]], -1)


def counted(x: Any, positions: Any) -> Any:
    return rotary.halves(x, *rotary.waves(rotary.frequencies(x.shape[-1], 1e4), np.arange(len(positions))))


def twice(x: Any, positions: Any) -> Any:
    cos_sin = rotary.waves(rotary.frequencies(x.shape[-1], 1e4), positions)
    return rotary.halves(rotary.halves(x, *cos_sin), *cos_sin)


def cast_whole(x: Any, positions: Any) -> Any:
    """rotary-embedding-torch after .bfloat16(): every step in bfloat16, vectors in float32."""
    rates = rotary.bfloat16(rotary.frequencies(x.shape[-1], 1e4))
    angles = rotary.bfloat16(rotary.bfloat16(positions)[:, None] * rates)
    cos, sin = (rotary.bfloat16(function(angles)) for function in (np.cos, np.sin))
    return rotary.neighbours(x, cos, sin).astype(np.float32)


def swapped(dim: int) -> np.ndarray:
    return rotary.llama3(rotary.frequencies(dim, 5e5), low=4.0, high=1.0)


def clipped(dim: int) -> np.ndarray:
    """The same in code that clips the share of each pair, and compares no wavelengths."""
    rates = rotary.frequencies(dim, 5e5)
    share = np.clip((8192 * rates / (2 * np.pi) - 4.0) / (1.0 - 4.0), 0.0, 1.0)
    return (1.0 - share) * rates / 8.0 + share * rates


YARN = RoPE(64, pairing="halves", scaling=YaRN(4.0, 8192))
CASES = {
    "another trained length": (
        rotating(lambda dim: rotary.yarn(dim, 1e4, 4.0, 4096), rotary.mscale(4.0)), YARN, "original length"),
    "yarn without its factor": (rotating(lambda dim: rotary.yarn(dim, 1e4, 4.0, 8192)), YARN,
        "attention factor ignored"),
    "ramp reversed": (rotating(clipped), RoPE(64, 5e5, "halves", scaling=Llama3(8.0, 8192)), "ramp reversed"),
    "low and high swapped": (rotating(swapped), RoPE(64, 5e5, "halves", scaling=Llama3(8.0, 8192)),
        "low and high swapped"),
    "the last channels": (last_channels, Partial(RoPE(16, pairing="halves"), 64), "start"),
    "half of the channels": (first_half, HALVES, "rotated width"),
    "half of the channels, nothing meant": (first_half, None, "rotated width"),
    "positions ignored": (counted, HALVES, "positions ignored"),
    "positions ignored, nothing meant": (counted, None, "positions ignored"),
    "rotated twice": (twice, HALVES, "rotated twice"),
    "rotated twice, nothing meant": (twice, None, "rotated twice"),
    "a module cast to bfloat16": (cast_whole, RoPE(64), "16-bit angles"),
    "a module cast to bfloat16, nothing meant": (cast_whole, None, "16-bit angles"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_bank_of_rotations_is_searched(case: str) -> None:
    code, against, name = CASES[case]
    report = check_code(code, against=against)
    assert not report.right
    assert [finding.name for finding in report.findings] == [name], str(report)


def test_the_remedy_of_a_rotation_made_twice_is_to_rotate_once() -> None:
    assert "Rotate once" in check_code(twice).findings[0].fix


def test_what_is_not_known_is_answered_soon() -> None:
    def rates(dim: int) -> np.ndarray:
        return np.random.default_rng(0).uniform(0, 1, dim // 2)

    with calls_at_most(4_000_000):
        assert check_code(rotating(rates), against=HALVES).findings == ()


def of_t5(heads: int, length: int) -> Any:
    table = np.random.default_rng(3).normal(size=(32, heads))
    return T5Bias(heads).matrix(np.arange(length), np.arange(length), {"table": table})


def of_distance(heads: int, length: int) -> Any:
    table, i = np.random.default_rng(3).normal(size=(2 * length, heads)), np.arange(length)
    return np.moveaxis(table[i[:, None] - i + length], -1, 0)


def rolled(heads: int, length: int) -> Any:
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return -np.roll(slopes, 1)[:, None, None] * abs(np.arange(length)[:, None] - np.arange(length))


@pytest.mark.parametrize(
    ("code", "right", "names", "note"),
    [
        (of_t5, True, [], "table was read off"),
        (rolled, False, ["order of heads"], ""),
        (of_distance, False, [], "give the encoding that is meant"),
    ],
)
def test_every_kind_of_bias_is_tried(code: Any, right: bool, names: list[str], note: str) -> None:
    report = check_code(code)
    assert (report.right, [finding.name for finding in report.findings]) == (right, names)
    assert note in " ".join(report.notes)


def test_a_learned_bias_is_known_by_the_tensors_of_its_module() -> None:
    torch = pytest.importorskip("torch")

    class Kerple(torch.nn.Module):
        def __init__(self, heads: int = 8) -> None:
            super().__init__()
            self.heads = heads
            self.p, self.a = (torch.nn.Parameter(torch.rand(heads, 1, 1) + 0.1) for _ in range(2))

        def forward(self, query_length: int, key_length: int) -> Any:
            distance = (torch.arange(key_length)[None] - torch.arange(query_length)[:, None]).abs()
            return -self.p * torch.log(1 + self.a * distance)

    report = check_code(Kerple())
    assert (report.right, report.convention) == (True, "KerpleLog(heads=8)")
    assert "p, a, were read" in report.notes[0]
    assert not check_code(Kerple(), against=ALiBi(8)).right


def test_the_base_of_what_is_meant_is_asked_for() -> None:
    def table(length: int, dim: int, base: float) -> np.ndarray:
        angle = np.arange(length)[:, None] / base ** (np.arange(0, dim, 2) / dim)
        return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)

    def rotated(x: Any, positions: Any, theta: float) -> Any:
        return rotary.halves(x, *rotary.waves(rotary.frequencies(x.shape[-1], theta), positions))

    assert check_code(table, against=Sinusoidal(16, base=5e5)).right
    assert not check_code(table, against=Sinusoidal(16, base=5e5, layout="concatenated")).right
    assert check_code(rotated, against=RoPE(64, 5e5, "halves")).right
    assert check_code(rotated, against=Partial(RoPE(16, 5e5, "halves"), 16)).right


def test_sizes_that_are_equal_are_given_to_each_argument() -> None:
    class Biased:
        def __init__(self, num_heads: int, num_buckets: int) -> None:
            self.table = np.random.default_rng(0).standard_normal((num_buckets, num_heads))

        def __call__(self, query_length: int, key_length: int) -> np.ndarray:
            bias = T5Bias(32).matrix(np.arange(query_length), np.arange(key_length), params={"table": self.table})
            return np.asarray(bias, np.longdouble)

    assert check_code(Biased, against=T5Bias(32)).right
