"""Every scaling's oracle pinned to a published number, or to one worked out by hand; next to each, where it is from."""

from __future__ import annotations

import math
from types import SimpleNamespace

import mpmath
import pytest

from oracles import scalings
from posenc import frequencies

BASE, TAU = 10_000.0, 2 * math.pi


def made(name: str, **fields: object) -> object:
    """An encoding that the oracle takes for the scaling of that name."""
    return type(name, (SimpleNamespace,), {})(**fields)


def found(scaling: object, base: float = BASE, dim: int = 8) -> list[float]:
    return [float(scalings.frequency(scaling, base, dim, plane)) for plane in range(dim // 2)]


def test_every_scaling_has_an_oracle() -> None:
    kinds = {name for name in frequencies.__all__ if isinstance(kind := getattr(frequencies, name), type)
             and issubclass(kind, frequencies.Scaling)}  # fmt: skip
    assert kinds - {"Scaling"} == set(scalings.RULES)


def test_linear() -> None:
    assert found(made("Linear", factor=4.0)) == pytest.approx([0.25, 0.025, 0.0025, 0.00025])


def test_ntk_aware() -> None:
    # §3.1: the fastest plane stays, the slowest is slowed by s; LLaMA at s = 8: base 10000·8^(128/126) = 82684.4.
    assert found(made("NTKAware", factor=8.0))[::3] == pytest.approx([1.0, 0.000125])
    second = found(made("NTKAware", factor=8.0), dim=128)[1]
    assert second == pytest.approx(82_684.4 ** (-2 / 128), rel=1e-7)


def test_dynamic_ntk() -> None:
    # Twice the trained length at s = 2: 2·2 - 1 = 3. Up to the trained length: 1.
    longer = made("DynamicNTK", factor=2.0, original=100, length=200)
    assert found(longer) == found(made("NTKAware", factor=3.0))
    assert found(made("DynamicNTK", factor=2.0, original=100, length=50)) == pytest.approx([1.0, 0.1, 0.01, 0.001])


def test_ntk_fixed_and_mixed() -> None:
    # The last plane is slowed by k; plane m by k^(2m/d) counted from 1, which is the mixed one with b = 1.
    assert found(made("NTKFixed", factor=16.0)) == pytest.approx([0.5, 0.1 / 4, 0.01 / 8, 0.001 / 16])
    assert found(made("NTKMixed", factor=16.0, b=1.0)) == pytest.approx(found(made("NTKFixed", factor=16.0)))
    # b = 1/2 over 4 planes: 16^(√m/2).
    halfway = [10.0**-i / 16 ** (math.sqrt(i + 1) / 2) for i in range(4)]
    assert found(made("NTKMixed", factor=16.0, b=0.5)) == pytest.approx(halfway)


def test_ntk_by_parts() -> None:
    # Base 1 and L = 16.5·2π: 16.5 rotations lie half way between 1 and 32.
    halfway = made("NTKByParts", factor=4.0, original=16.5 * TAU, alpha=1.0, beta=32.0)
    assert found(halfway, base=1.0, dim=2) == pytest.approx([0.5 + 0.5 / 4])
    assert found(made("NTKByParts", factor=4.0, original=TAU / 2, alpha=1.0, beta=32.0), 1.0, 2) == [0.25]
    assert found(made("NTKByParts", factor=4.0, original=33 * TAU, alpha=1.0, beta=32.0), 1.0, 2) == [1.0]


YARN = {
    "original": 4096, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True,
    "mscale": None, "mscale_all_dim": None, "attention": None,
}  # fmt: skip


def test_yarn() -> None:
    # The authors' code for LLaMA (d=128, L=4096): the ramp runs over planes 20 to 46, so plane 33 is half way.
    rates = found(made("YaRN", factor=16.0, **YARN), dim=128)
    slowed = [10_000 ** (-plane / 64) / rates[plane] for plane in (0, 20, 33, 46, 63)]
    assert slowed == pytest.approx([1, 1, 1 / (0.5 + 0.5 / 16), 16, 16])
    # Not truncated: 20.9448 and 45.0259, by a calculator.
    loose = found(made("YaRN", factor=16.0, **(YARN | {"truncate": False})), dim=128)
    share = (33 - 20.9448) / (45.0259 - 20.9448)
    assert loose[33] == pytest.approx(10_000 ** (-33 / 64) * (1 - share + share / 16), rel=1e-4)


def test_attention_factors() -> None:
    # eq. 22: 0.1·ln 16 + 1 = 1.2773; DeepSeek-V2 gives one mscale twice: 1.
    assert float(scalings.attention_factor(made("YaRN", factor=16.0, **YARN))) == pytest.approx(1.2773, abs=5e-5)
    deepseek = YARN | {"mscale": 0.707, "mscale_all_dim": 0.707}
    assert scalings.attention_factor(made("YaRN", factor=40.0, **deepseek)) == 1
    assert scalings.attention_factor(made("YaRN", factor=4.0, **(YARN | {"attention": 1.5}))) == 1.5
    # Phi-3-mini-128k: 131072 / 4096 = 32, √(1 + 5/12) = 1.1902 (ln 32 / ln 4096 = 5/12).
    phi = made("LongRoPE", factor=32.0, original=4096, attention=None)
    assert float(scalings.attention_factor(phi)) == pytest.approx(math.sqrt(17 / 12))
    assert scalings.attention_factor(made("Linear", factor=3.0)) == 1
    assert scalings.attention_factor(None) == 1


def test_llama3() -> None:
    # Llama 3.1: wavelengths below 2048 stay, above 8192 are 8 times as long; 4096 has 2 turns: γ = (2 - 1)/(4 - 1).
    encoding = made("Llama3", factor=8.0, original=8192, low=1.0, high=4.0)
    rates = found(encoding, base=500_000.0, dim=128)
    plain = [500_000.0 ** (-plane / 64) for plane in range(64)]
    assert [rates[0], rates[20], rates[63]] == pytest.approx([1.0, plain[20], plain[63] / 8])
    between = found(encoding, base=(4096 / TAU) ** 2, dim=4)[1]
    assert between == pytest.approx(TAU / 4096 * (1 / 3 + 2 / 3 / 8))


def test_long_rope() -> None:
    lists = {"short": (1.0, 1.5), "long": (2.0, 40.0), "original": 64}
    assert found(made("LongRoPE", length=64, **lists), dim=4) == pytest.approx([1.0, 0.01 / 1.5])
    assert found(made("LongRoPE", length=65, **lists), dim=4) == pytest.approx([0.5, 0.01 / 40])


def test_proportional() -> None:
    assert found(made("Proportional", fraction=0.5, factor=1.0)) == pytest.approx([1.0, 0.1, 0.0, 0.0])


def test_resonance() -> None:
    # 2π = 6.28 → 6, 62.8 → 63, 628.3 → 628, 6283.2 → 6283.
    encoding = made("Resonance", scaling=None)
    assert [scalings.wavelength(encoding, BASE, 8, plane) for plane in range(4)] == [6, 63, 628, 6283]
    assert found(encoding)[0] == pytest.approx(float(mpmath.pi / 3))
