"""Mistakes planted by code that shares nothing with the doctor's bank: each is named, alone and in pairs, from what
runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diagnosis import rotary_implementation as rotary
from posenc import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Partial, RoPE, YaRN
from posenc.diagnosis import diagnose

N, D = 300, 64
P = np.arange(N)
Q, K = rotary.drawn(N, D), rotary.drawn(N, D, seed=1)
RATES = rotary.frequencies(D, 5e5)
MEANT = RoPE(D, base=5e5, pairing="halves")
YARN = RoPE(D, base=1e6, pairing="halves", scaling=YaRN(4.0, 8192))
YARN_RATES = rotary.yarn(D, 1e6, 4.0, 8192)
LLAMA3 = RoPE(D, base=5e5, pairing="halves", scaling=Llama3(8.0, 8192))
PART = Partial(RoPE(16, base=1e4, pairing="halves"), D)
PART_RATES = rotary.frequencies(16, 1e4)
FACTOR = rotary.mscale(4.0)


def table(rates: Any, positions: Any = P, factor: float = 1.0) -> dict[str, Any]:
    cos, sin = rotary.waves(rates, positions, factor)
    return {"cos": cos, "sin": sin}


def rotated(
    rotation: Any, rates: Any, query_positions: Any = P, key_positions: Any = P, factor: float = 1.0
) -> dict[str, Any]:
    """Queries and keys as a stack rotated them, with the positions it was meant to take."""
    q, k = (rotation(x, *rotary.waves(rates, where, factor)) for x, where in ((Q, query_positions), (K, key_positions)))
    return {"q": Q, "k": K, "q_rotated": q, "k_rotated": k}


def logits(q: Any, k: Any, scale: float = D**-0.5) -> dict[str, Any]:
    return {"q": Q, "k": K, "logits": q @ k.T * scale}


def scores(rates: Any, key_rates: Any = None, query_positions: Any = P, key_positions: Any = P) -> dict[str, Any]:
    q = rotary.halves(Q, *rotary.waves(rates, query_positions))
    k = rotary.halves(K, *rotary.waves(rates if key_rates is None else key_rates, key_positions))
    return logits(q, k)


def one_sided() -> dict[str, Any]:
    return logits(
        rotary.halves(Q, *rotary.waves(YARN_RATES, P, FACTOR)), rotary.halves(K, *rotary.waves(YARN_RATES, P))
    )


def mixed() -> dict[str, Any]:
    """Frequencies each twice side by side, as for neighbours, and channels rotated half a head apart."""
    cos, sin = (np.repeat(wave, 2, -1) for wave in rotary.waves(RATES, P))
    q = Q * cos + np.concatenate([-Q[:, 32:], Q[:, :32]], -1) * sin
    return {"q": Q, "q_rotated": q}


def with_heads(axis: str) -> dict[str, Any]:
    """(batch, tokens, heads, dim), with the positions laid along the wrong axis."""
    x = rotary.drawn(3, 40, 5, D)
    places = {"heads": np.arange(5)[None, None, :], "batch": np.arange(3)[:, None, None]}[axis]
    return {"q": x, "q_rotated": rotary.halves(x, *rotary.waves(RATES, np.broadcast_to(places, (3, 40, 5))))}


def last_channels() -> dict[str, Any]:
    rotated_part = rotary.halves(Q[:, 48:], *rotary.waves(PART_RATES, P))
    return {"q": Q, "q_rotated": np.concatenate([Q[:, :48], rotated_part], -1)}


LONG = LongRoPE((1.0,) * 32, tuple(1.0 + i for i in range(32)), 256, 1024, 4.0)
LONG_RATES = RATES / (1.0 + np.arange(32))
DYNAMIC = RoPE(D, base=1e4, pairing="halves", scaling=DynamicNTK(2.0, 128, 512))


def dynamic(length: int) -> np.ndarray:
    base = 1e4 * (2.0 * length / 128 - 1.0) ** (D / (D - 2))
    return rotary.frequencies(D, base)


TEN = RoPE(D, base=1e4, pairing="halves")
TEN_RATES = rotary.frequencies(D, 1e4)


FAR = np.concatenate([np.arange(40), np.arange(40, 8000, 31)])
FAR_Q = rotary.drawn(len(FAR), D, seed=2)


def far(rates: Any, positions: Any = FAR, factor: float = 1.0) -> dict[str, Any]:
    """cos and sin at positions up to 8000."""
    return table(rates, positions, factor) | {"positions": FAR}


def far_rotated(rates: Any, positions: Any, rotation: Any = rotary.halves) -> dict[str, Any]:
    return {"q": FAR_Q, "q_rotated": rotation(FAR_Q, *rotary.waves(rates, positions)), "positions": FAR}


def far_scores(rates: Any, key_rates: Any, factor: float = 1.0) -> dict[str, Any]:
    """Logits of the last tokens to all, whose keys were rotated with other frequencies."""
    q = rotary.halves(FAR_Q[-40:], *rotary.waves(rates, FAR[-40:], factor))
    k = rotary.halves(FAR_Q, *rotary.waves(key_rates, FAR, factor))
    return {
        "q": FAR_Q[-40:],
        "k": FAR_Q,
        "logits": q @ k.T * D**-0.5,
        "query_positions": FAR[-40:],
        "key_positions": FAR,
    }


def exchanged_ramp() -> np.ndarray:
    """YaRN's ramp from beta_slow to beta_fast."""
    low, high = (D * np.log(8192 / (rotations * 2 * np.pi)) / (2 * np.log(1e6)) for rotations in (1.0, 32.0))
    low, high = np.floor(low), np.ceil(high)
    ramp = np.clip((np.arange(32) - low) / (high - low), 0, 1)
    return rotary.frequencies(D, 1e6) * (1 - ramp + ramp / 4.0)


def swapped_in_transformers() -> np.ndarray:
    """Llama 3's frequencies where its code swaps the two factors: no wavelength is above 8192 and below 8192/4."""
    return np.where(2 * np.pi / RATES > 8192 / 4, RATES / 8, RATES)


def other_middle_band() -> np.ndarray:
    """Llama 3's frequencies with the geometric mean of both in its middle band."""
    wavelength = 2 * np.pi / RATES
    middle = (wavelength > 8192 / 4) & (wavelength < 8192)
    return np.where(middle, RATES / 8.0**0.5, rotary.llama3(RATES))


def crossed() -> dict[str, Any]:
    """The first half of the query and the second of the key, for both."""
    right = rotated(rotary.halves, RATES)
    both = np.concatenate([right["q_rotated"][:, :32], right["k_rotated"][:, 32:]], -1)
    return right | {"q_rotated": both, "k_rotated": both}


def one_row_of_the_batch() -> dict[str, Any]:
    x = rotary.drawn(3, 40, 5, D)
    y = rotary.halves(x, *(wave[:, None] for wave in rotary.waves(RATES, np.arange(40))))
    return {"q": x, "q_rotated": np.where(np.arange(3)[:, None, None, None] == 0, y, 0.0)}


def heads_on_top() -> dict[str, Any]:
    x = rotary.drawn(3, 40, 5, D)
    positions = np.arange(40)[:, None] + np.arange(5)
    return {"q": x, "q_rotated": rotary.halves(x, *rotary.waves(RATES, np.broadcast_to(positions, (3, 40, 5))))}


def in_bfloat16(arrays: dict[str, Any]) -> dict[str, Any]:
    """Numbers as bfloat16 holds them, widened to float32, as NumPy's files have them."""
    return {name: rotary.bfloat16(np.asarray(values)).astype(np.float32) for name, values in arrays.items()}


#: What is meant, what is there, and the name of the one mistake in it.
ONE: dict[str, tuple[Any, Any, str]] = {
    "default base": (MEANT, table(TEN_RATES), "base"),
    "default base in rotated vectors": (MEANT, rotated(rotary.halves, TEN_RATES), "base"),
    "default base in logits": (MEANT, scores(TEN_RATES), "base"),
    "default base in frequencies": (MEANT, {"inv_freq": TEN_RATES}, "base"),
    "square roots of the frequencies": (TEN, table(TEN_RATES**0.5), "exponent i/d"),
    "squares of the frequencies": (TEN, table(TEN_RATES**2), "exponent doubled"),
    "exponent i/(d/2-1)": (TEN, table(1e4 ** (-np.arange(32) / 31)), "exponent to the ends"),
    "frequencies of the whole head": (PART, table(rotary.frequencies(D, 1e4)[:8]), "exponent of the head"),
    "all channels rotate": (PART, rotated(rotary.halves, rotary.frequencies(D, 1e4)), "partial ignored"),
    "twice the share": (
        PART,
        rotated(rotary.first_only(rotary.halves, 4), rotary.frequencies(4, 1e4)),
        "partial twice",
    ),
    "half of the head rotates": (
        PART,
        rotated(rotary.first_only(rotary.halves, 32), rotary.frequencies(32, 1e4)),
        "rotated width",
    ),
    "the last channels rotate": (PART, last_channels(), "start"),
    "other layout": (MEANT, rotated(rotary.neighbours, RATES), "layout"),
    "other layout in logits": (
        MEANT,
        logits(rotary.neighbours(Q, *rotary.waves(RATES, P)), rotary.neighbours(K, *rotary.waves(RATES, P))),
        "layout",
    ),
    "frequencies of one layout, pairs of the other": (MEANT, mixed(), "pairs mixed"),
    "llama3 forgotten": (LLAMA3, far(RATES), "scaling ignored"),
    "llama3 with factor 32": (LLAMA3, far(rotary.llama3(RATES, factor=32.0)), "scaling factor"),
    "llama3 with another trained length": (LLAMA3, far(rotary.llama3(RATES, original=131_072)), "original length"),
    "low and high swapped, as Meta compares": (
        LLAMA3,
        far(rotary.llama3(RATES, low=4.0, high=1.0)),
        "low and high swapped",
    ),
    "low and high swapped, as transformers compares": (
        LLAMA3,
        far_rotated(swapped_in_transformers(), FAR),
        "low and high swapped",
    ),
    "low and high swapped in inv_freq": (LLAMA3, {"inv_freq": swapped_in_transformers()}, "low and high swapped"),
    "another end of the band": (
        RoPE(D, base=5e5, pairing="halves", scaling=Llama3(8.0, 8192, low=2.0)),
        far(rotary.llama3(RATES)),
        "ramp ends",
    ),
    "linear in place of llama3": (LLAMA3, far(RATES / 8.0), "scheme"),
    "stretched though not meant": (MEANT, far(RATES / 4.0), "scaling added"),
    "stretched twice": (RoPE(D, 5e5, "halves", scaling=Linear(4.0)), far(RATES / 16.0), "scaling applied twice"),
    "stretched by another factor": (RoPE(D, 5e5, "halves", scaling=Linear(4.0)), far(RATES / 7.0), "scaling factor"),
    "yarn twice": (YARN, far(YARN_RATES**2 / rotary.frequencies(D, 1e6), factor=FACTOR**2), "scaling applied twice"),
    "multiplied by the factor": (RoPE(D, 5e5, "halves", scaling=Linear(4.0)), far(RATES * 4.0), "factor multiplied"),
    "yarn without its factor": (YARN, far(YARN_RATES), "attention factor ignored"),
    "yarn with its factor twice": (YARN, far(YARN_RATES, factor=FACTOR**2), "attention factor twice"),
    "yarn with some other factor": (YARN, far(YARN_RATES, factor=1.7), "attention factor"),
    "yarn not truncated": (YARN, far(rotary.yarn(D, 1e6, 4.0, 8192, truncate=False), factor=FACTOR), "truncate"),
    "the ramp of the paper": (YARN, far(rotary.by_parts(D, 1e6, 4.0, 8192)), "ramp of the paper"),
    "a share of all frequencies": (
        PART,
        rotated(rotary.halves, np.where(np.arange(32) < 8, rotary.frequencies(D, 1e4), 0.0)),
        "proportional",
    ),
    "base times factor": (
        RoPE(D, pairing="halves", scaling=NTKAware(4.0)),
        far(rotary.frequencies(D, 4e4)),
        "exponent of NTK",
    ),
    "short list": (RoPE(D, 5e5, "halves", scaling=LONG), far(RATES, factor=LONG.attention_factor), "lists swapped"),
    "never stretched": (DYNAMIC, far(dynamic(128)), "scaling ignored"),
    "stretched for another length": (DYNAMIC, far(dynamic(4096)), "served length"),
    "frequencies in bfloat16": (MEANT, far(rotary.bfloat16(RATES)), "frequencies in bfloat16"),
    "frequencies in float16": (MEANT, far(RATES.astype(np.float16).astype(float)), "frequencies in float16"),
    "positions in bfloat16": (MEANT, far(RATES, rotary.bfloat16(FAR)), "positions in bfloat16"),
    "positions in float16": (MEANT, far(RATES, FAR.astype(np.float16).astype(float)), "positions in float16"),
    "backwards": (MEANT, rotated(rotary.halves, -RATES), "sign"),
    "keys backwards": (MEANT, scores(RATES, -RATES), "one rotated backwards"),
    "cos and sin exchanged": (MEANT, dict(zip(("sin", "cos"), table(RATES).values(), strict=True)), "sine for cosine"),
    "decoding one late": (MEANT, scores(RATES, query_positions=P + 1), "off by one"),
    "keys one late": (MEANT, rotated(rotary.halves, RATES, key_positions=P + 1), "off by one"),
    "queries one early": (MEANT, rotated(rotary.halves, RATES, query_positions=P - 1), "off by one"),
    "heads for positions": (MEANT, with_heads("heads"), "wrong axis"),
    "batch for positions": (MEANT, with_heads("batch"), "wrong axis"),
    "table of 128 rows, again and again": (MEANT, table(RATES, P % 128), "table repeats"),
    "table of 256 rows, held at its end": (MEANT, table(RATES, np.minimum(P, 255)), "table ends"),
    "rotated twice": (MEANT, rotated(rotary.halves, 2 * RATES), "rotated twice"),
    "keys rotated again from the cache": (MEANT, scores(RATES, 2 * RATES), "keys rotated twice"),
    "queries rotated again": (MEANT, scores(2 * RATES, RATES), "queries rotated twice"),
    "queries never rotated": (MEANT, scores(0 * RATES, RATES), "queries not rotated"),
    "keys never rotated": (MEANT, scores(RATES, 0 * RATES), "keys not rotated"),
    "nothing rotated": (MEANT, logits(Q, K), "not rotated"),
    "keys cached before the stretch": (DYNAMIC, far_scores(dynamic(512), dynamic(128)), "cached keys"),
    "keys cached without the scaling": (LLAMA3, far_scores(rotary.llama3(RATES), RATES), "cached keys"),
    "keys of the short list": (
        RoPE(D, 5e5, "halves", scaling=LONG),
        far_scores(LONG_RATES, RATES, LONG.attention_factor),
        "cached keys",
    ),
    "logits without their root": (
        MEANT,
        scores(RATES) | {"logits": scores(RATES)["logits"] * D**0.5},
        "scale of the logits",
    ),
    "no factor in logits": (YARN, scores(YARN_RATES), "attention factor ignored"),
    "odd numbers in the exponent": (MEANT, table(RATES * 5e5 ** (-1 / D)), "exponent of odd numbers"),
    "pairs counted from 1": (MEANT, table(RATES * 5e5 ** (-2 / D)), "pairs counted from 1"),
    "the ramp from its other end": (YARN, far(exchanged_ramp(), factor=FACTOR), "ramp reversed"),
    "another blend in the middle band": (LLAMA3, far(other_middle_band()), "middle band"),
    "softmax with another scale": (
        MEANT,
        scores(RATES) | {"logits": scores(RATES)["logits"] * 0.7},
        "logit factor",
    ),
    "halves of queries and keys crossed": (MEANT, crossed(), "queries and keys crossed"),
    "one row of the batch written": (MEANT, one_row_of_the_batch(), "rows not written"),
    "heads on top of positions": (MEANT, heads_on_top(), "heads counted"),
    "queries five late": (MEANT, rotated(rotary.halves, RATES, query_positions=P + 5), "positions"),
    "three late from token 100 on": (MEANT, table(RATES, P + 3 * (P >= 100)), "positions"),
    "one key elsewhere": (MEANT, rotated(rotary.halves, RATES, key_positions=np.where(P == 77, 200, P)), "positions"),
    "default base through bfloat16": (MEANT, in_bfloat16(rotated(rotary.halves, TEN_RATES)), "base"),
    "llama3 forgotten, through bfloat16": (LLAMA3, in_bfloat16(far(RATES)) | {"positions": FAR}, "scaling ignored"),
    "the factor on keys alone": (
        YARN,
        rotated(rotary.halves, YARN_RATES)
        | {"k_rotated": rotated(rotary.halves, YARN_RATES, factor=FACTOR)["k_rotated"]},
        "attention factor on one side",
    ),
    "the factor on queries alone": (YARN, one_sided(), "attention factor on one side"),
}

#: Two mistakes at once.
TWO: dict[str, tuple[Any, Any, set[str]]] = {
    "base and layout": (MEANT, rotated(rotary.neighbours, TEN_RATES), {"base", "layout"}),
    "base and backwards": (MEANT, rotated(rotary.halves, -TEN_RATES), {"base", "sign"}),
    "base and no scaling": (LLAMA3, far(TEN_RATES), {"base", "scaling ignored"}),
    "bfloat16 and one late": (
        MEANT,
        far_rotated(rotary.bfloat16(RATES), FAR + 1),
        {"frequencies in bfloat16", "off by one"},
    ),
    "layout and one late": (MEANT, far_rotated(RATES, FAR + 1, rotary.neighbours), {"layout", "off by one"}),
    "not truncated and no factor": (
        YARN,
        far(rotary.yarn(D, 1e6, 4.0, 8192, truncate=False)),
        {"truncate", "attention factor ignored"},
    ),
    "all channels and base": (PART, rotated(rotary.halves, RATES), {"partial ignored", "base"}),
    "base and a table that ends": (MEANT, table(TEN_RATES, np.minimum(P, 255)), {"base", "table ends"}),
    "no scaling and positions in bfloat16": (
        LLAMA3,
        far(RATES, rotary.bfloat16(FAR)),
        {"scaling ignored", "positions in bfloat16"},
    ),
    "keys one late and logits without their root": (
        MEANT,
        {**scores(RATES), "logits": scores(RATES, key_positions=P + 1)["logits"] * D**0.5},
        {"off by one", "scale of the logits"},
    ),
}


def one_pair_wrong() -> np.ndarray:
    rates = RATES.copy()
    rates[5] *= 1.02
    return rates


#: Outside of the bank: nothing may be named.
NEITHER: dict[str, tuple[Any, Any]] = {
    "random frequencies": (MEANT, table(np.sort(np.abs(rotary.drawn(32)))[::-1])),
    "reversed order": (MEANT, table(RATES[::-1])),
    "one pair wrong": (MEANT, table(one_pair_wrong())),
    "frequencies evenly spaced": (MEANT, table(np.linspace(1.0, 2e-6, 32))),
    "noise on rotated vectors": (MEANT, {"q": Q, "q_rotated": rotated(rotary.halves, RATES)["q_rotated"] + 0.05 * K}),
    "positions squared": (MEANT, table(RATES, P * P)),
    "three at once": (LLAMA3, far_rotated(rotary.bfloat16(TEN_RATES), FAR + 1, rotary.neighbours)),
}


def regrouped(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Adjacent pairs, laid out as halves once they are rotated, as DeepSeek's code leaves them."""
    a, b = x[..., ::2], x[..., 1::2]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def to_and_fro() -> dict[str, Any]:
    """Keys in float32 that were rotated 137 too far and back again."""
    right = rotated(rotary.halves, RATES)
    waves = (wave.astype(np.float32) for wave in rotary.waves(RATES.astype(np.float32), P + np.float32(137)))
    back = (wave.astype(np.float32) for wave in rotary.waves(RATES.astype(np.float32), np.full(N, np.float32(-137))))
    k = rotary.halves(rotary.halves(K.astype(np.float32), *waves), *back)
    return {"q": Q, "q_rotated": right["q_rotated"], "k": K.astype(np.float32), "k_rotated": k}


#: Nothing that a logit sees, or nothing at all.
HARMLESS: dict[str, tuple[Any, Any]] = {
    "the same table": (MEANT, table(RATES)),
    "float32 angles": (MEANT, {name: wave.astype(np.float32) for name, wave in far(RATES.astype(np.float32)).items()}),
    "a table cast to bfloat16 once made": (MEANT, {name: np.float16(wave) for name, wave in table(RATES).items()}),
    "a table from position 1": (MEANT, table(RATES, P + 1)),
    "a table of every frequency twice": (
        MEANT,
        {name: np.concatenate([wave, wave], -1) for name, wave in table(RATES).items()},
    ),
    "queries and keys both one late": (MEANT, rotated(rotary.halves, RATES, P + 1, P + 1)),
    "a document at 2900": (MEANT, rotated(rotary.halves, RATES, P + 2900, P + 2900)),
    "adjacent pairs that come out as halves": (RoPE(D, base=5e5), rotated(regrouped, RATES)),
    "the rotating channels alone": (
        Partial(RoPE(D, base=5e5, pairing="halves"), 96, 32),
        rotated(rotary.halves, RATES),
    ),
    "through bfloat16": (MEANT, in_bfloat16(rotated(rotary.halves, RATES))),
    "a table through bfloat16": (MEANT, in_bfloat16(table(RATES))),
    "keys rotated to and fro": (MEANT, to_and_fro()),
    "left padding by 37": (MEANT, scores(RATES, query_positions=P + 37, key_positions=P + 37)),
    "a causal mask": (MEANT, scores(RATES) | {"logits": np.where(P[:, None] >= P, scores(RATES)["logits"], -np.inf)}),
    "positions in another order": (MEANT, table(RATES, P[::-1]) | {"positions": P[::-1]}),
    "packed positions": (MEANT, table(RATES, P % 50) | {"positions": P % 50}),
    "a part of its own width": (Partial(MEANT, D), rotated(rotary.halves, RATES)),
    "released numerics": (RoPE(D, 5e5, "halves", numerics="float32"), far(RATES)),
    "a scaling by one": (RoPE(D, 5e5, "halves", scaling=Linear(1.0)), far(RATES)),
    "keys with heads of their own": (
        MEANT,
        {
            "k": rotary.drawn(2, 30, 3, D),
            "k_rotated": rotary.halves(
                rotary.drawn(2, 30, 3, D), *(w[:, None] for w in rotary.waves(RATES, np.arange(30)))
            ),
        },
    ),
}


def names(found: Any) -> set[str]:
    return {finding.name for finding in found.findings}


@pytest.mark.parametrize("case", ONE)
def test_one_planted_mistake_is_named(case: str) -> None:
    meant, there, name = ONE[case]
    found = diagnose(meant, there, layout="bthd")
    assert not found.agree
    assert [finding.name for finding in found.findings] == [name]
    assert found.findings[0].sentence.endswith(".")
    assert found.findings[0].fix.endswith(".")


@pytest.mark.parametrize("case", TWO)
def test_two_planted_mistakes_are_named(case: str) -> None:
    meant, there, expected = TWO[case]
    found = diagnose(meant, there)
    assert not found.agree
    assert names(found) == expected


@pytest.mark.parametrize("case", NEITHER)
def test_what_is_outside_of_the_bank_is_not_named(case: str) -> None:
    meant, there = NEITHER[case]
    found = diagnose(meant, there)
    assert not found.agree
    assert found.findings == ()
    assert "none of the known mistakes" in str(found)


@pytest.mark.parametrize("case", HARMLESS)
def test_what_is_harmless_is_not_flagged(case: str) -> None:
    meant, there = HARMLESS[case]
    found = diagnose(meant, there, layout="bthd")
    assert found.agree, str(found)
    assert found.findings == ()


def test_there_are_as_many_as_are_promised() -> None:
    assert len(ONE) + len(TWO) >= 40
    assert len(TWO) >= 8
    assert len(NEITHER) >= 5
    assert len(HARMLESS) >= 10
    assert len({name for _, _, name in ONE.values()}) >= 30


@pytest.mark.parametrize("times", [1.00002, 1.000003])
def test_an_attention_factor_is_named_beyond_four_decimals(times: float) -> None:
    encoding = RoPE(dim=64, base=5e5, pairing="halves", scaling=YaRN(factor=8.0, original=4096))
    rotation = encoding.rotation(np.arange(300), dtype=np.float64)
    (finding,) = diagnose(
        encoding, {"cos": np.asarray(rotation.cos) * times, "sin": np.asarray(rotation.sin) * times}
    ).findings
    assert finding.name == "attention factor"
    assert f"{1.2079441541679836 * times:.8g} where 1.2079442 is meant" in finding.sentence
