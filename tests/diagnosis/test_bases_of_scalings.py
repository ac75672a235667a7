"""Another base under a scaling: read off all pairs, whatever the scaling does to the first; and of the ramp alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from posenc import AxialRoPE, Linear, Llama3, LongRoPE, RoPE, YaRN
from posenc.diagnosis import diagnose

N = 500
P = np.arange(N)
Q, K = rotary.drawn(N, 48), rotary.drawn(N, 48, seed=1)
DIVISORS = tuple(1.5 + 0.4 * i for i in range(24))
SHORT = tuple(1.0 + 0.01 * i for i in range(24))
LONG = LongRoPE(SHORT, DIVISORS, 128, 1024, 8.0, attention=1.0)


def yarn(base: float, ramp_base: float | None = None, factor: float = 6.0) -> np.ndarray:
    """The ramp of one base over the powers of another, which a function with a default for its base makes."""
    placed = rotary.frequencies(48, ramp_base or base)
    return rotary.frequencies(48, base) * rotary.yarn(48, ramp_base or base, factor, 512) / placed


def multiplied_in_the_ramp(base: float, factor: float = 6.0) -> np.ndarray:
    share = 1 - (yarn(base) / rotary.frequencies(48, base) - 1 / factor) / (1 - 1 / factor)
    return rotary.frequencies(48, base) * (1 - share + share * factor)


def table(rates: np.ndarray, factor: float = 1.0) -> dict[str, Any]:
    cos, sin = rotary.waves(rates, P, factor)
    return {"cos": cos, "sin": sin}


def vectors(rates: np.ndarray, factor: float = 1.0) -> dict[str, Any]:
    return {"q": Q, "q_rotated": rotary.halves(Q, *rotary.waves(rates, P, factor))}


def scores(rates: np.ndarray, factor: float = 1.0) -> dict[str, Any]:
    q, k = (rotary.halves(x, *rotary.waves(rates, P, factor)) for x in (Q, K))
    return {"q": Q, "k": K, "logits": q @ k.T / math.sqrt(48)}


SHOWN = {
    "table": table,
    "vectors": vectors,
    "scores": scores,
    "inv_freq": lambda rates, factor=1.0: {"inv_freq": rates},
}
YARNED = RoPE(48, base=2e4, pairing="halves", scaling=YaRN(6.0, 512))
AMPLITUDE = rotary.mscale(6.0)
TWO_AXES = AxialRoPE((0, 1) * 12, tuple(i // 2 for i in range(24)), 24, base=100.0)
#: What is meant, frequencies of another base by the formulas of the tests, the amplitude, and the base that is named.
OTHER_BASES: dict[str, tuple[RoPE, np.ndarray, float, str]] = {
    "LongRoPE": (RoPE(48, 1e4, "halves", scaling=LONG), rotary.frequencies(48, 31_000) / DIVISORS, 1.0, "31000"),
    "YaRN": (YARNED, yarn(250_000), AMPLITUDE, "250000"),
    "YaRN, a small base": (YARNED, yarn(3_300), AMPLITUDE, "3300"),
    "YaRN, the powers alone": (YARNED, yarn(612_345, 2e4), AMPLITUDE, "612345"),
    "Llama 3": (RoPE(48, 5e5, "halves", scaling=Llama3(8.0, 256)), rotary.llama3(
        rotary.frequencies(48, 70_000), original=256), 1.0, "70000"),
    "linear": (RoPE(48, 1e4, "halves", scaling=Linear(3.0)), rotary.frequencies(48, 45_678) / 3, 1.0, "45678"),
}  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("case", OTHER_BASES)
def test_another_base_under_a_scaling_is_named(case: str, shown: str) -> None:
    meant, rates, factor, base = OTHER_BASES[case]
    found = diagnose(meant, SHOWN[shown](rates, factor))
    assert [finding.name for finding in found.findings] == ["base"], str(found)
    digits = base if shown != "scores" else base[:4]  # logits show about five
    assert digits in found.findings[0].sentence


RAMPS = {
    "placed by a default base": (yarn(2e4, 1e4), "base of the ramp"),
    "multiplied": (multiplied_in_the_ramp(2e4), "factor multiplied"),
    "everything multiplied": (rotary.frequencies(48, 2e4) * 6, "factor multiplied"),
    "powers with another exponent": (
        yarn(2e4) / rotary.frequencies(48, 2e4) * rotary.frequencies(48, 2e4, over=46),
        "exponent to the ends",
    ),
}


@pytest.mark.parametrize("shown", ["table", "vectors", "inv_freq"])
@pytest.mark.parametrize("case", RAMPS)
def test_mistakes_in_the_ramp_alone_are_named(case: str, shown: str) -> None:
    rates, name = RAMPS[case]
    found = diagnose(YARNED, SHOWN[shown](rates, AMPLITUDE))
    assert [finding.name for finding in found.findings] == [name], str(found)


def test_divisors_that_multiply_are_named() -> None:
    meant = RoPE(48, base=1e4, pairing="halves", scaling=LONG)
    found = diagnose(meant, vectors(rotary.frequencies(48, 1e4) * DIVISORS))
    assert [finding.name for finding in found.findings] == ["factor multiplied"], str(found)
    assert "divisors" in found.findings[0].sentence


@pytest.mark.parametrize("base", [37.0, 4_200.0])
def test_another_base_over_two_axes_is_named(base: float) -> None:
    """Patches of a grid of 9 by 14 show the frequencies on the diagonal."""
    grid = np.stack(np.divmod(np.arange(9 * 14), 14), 1)
    angle = grid[:, list(TWO_AXES.axis)] * np.repeat(rotary.frequencies(24, base), 2)
    x = rotary.drawn(len(grid), 48)
    found = diagnose(
        TWO_AXES, {"q": x, "q_rotated": rotary.neighbours(x, np.cos(angle), np.sin(angle)), "positions": grid}
    )
    assert [finding.name for finding in found.findings] == ["base"], str(found)
    assert f"{base:g}" in found.findings[0].sentence


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("case", OTHER_BASES)
def test_the_meant_base_is_no_mistake(case: str, dtype: type) -> None:
    meant = OTHER_BASES[case][0]
    rates = meant.frequencies.radians()
    arrays = table(rates, meant.attention_factor) if dtype is np.float16 else vectors(rates, meant.attention_factor)
    found = diagnose(meant, {name: array.astype(dtype) for name, array in arrays.items()})
    assert found.agree, str(found)
