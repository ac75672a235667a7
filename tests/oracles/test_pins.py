"""Every oracle pinned to a published number, or to one worked out by hand; next to each, where it is from."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import pytest

from oracles import (
    ORACLES,
    alibi,
    count,
    divisor_pairs,
    learned,
    nope,
    normalised_count,
    one_sine,
    rope,
    shaw,
    sinusoidal,
    t5_bias,
    transformer_xl,
)
from oracles.fields import Fields

SINUSOIDAL = {
    "base": 10_000.0, "layout": "interleaved", "exponent": "2i/d", "first": "sine", "scale": 1.0, "start": 0,
    "odd": "error",
}  # fmt: skip


#: Oracles that call other oracles: of scalings, and of what an encoding holds.
OF_OTHERS = {
    "RoPE",
    "AxialRoPE",
    "HARoPE",
    "ValueRotation",
    "Sum",
    "Scaled",
    "LearnedScale",
    "Concatenated",
    "Partial",
    "Backward",
    "DAPE",
    "DAPEv2",
    "GatedBias",
    "XDRoPE",
    "GridALiBi",
    "TUPE",
}


def printed(values: list, digits: int = 4) -> list[float]:
    return [round(float(value), digits) for value in values]


def wave(dim: int, **fields: object) -> Fields:
    return Fields(dim=dim, **{**SINUSOIDAL, **fields})


def test_oracles_import_nothing_but_numbers() -> None:
    allowed = {"__future__", "functools", "math", "mpmath", "fractions", "types", "oracles"}
    for name, module in ORACLES.items():
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names} | {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        assert imported <= (allowed if name in OF_OTHERS else allowed - {"oracles"}), name
    scalings = Path(ORACLES["RoPE"].__file__).with_name("scalings.py").read_text(encoding="utf-8")
    within = Path(ORACLES["Sum"].__file__).with_name("within.py").read_text(encoding="utf-8")
    assert re.findall(r"^(?:from|import) (\w+)", within, re.MULTILINE) == ["oracles"]
    assert re.findall(r"^(?:from|import) (\w+)", scalings, re.MULTILINE) == ["types", "mpmath"]


def test_nope() -> None:
    assert nope.row(Fields(dim=3), 17) == [0.0, 0.0, 0.0]  # its definition


def test_count() -> None:
    # The notes: "Thank you" is counted 1, 2.
    assert [count.row(Fields(start=1), place) for place in (0, 1)] == [[1], [2]]


def test_normalised_count() -> None:
    # The notes: word 2 of "Thank you" is 1.0, of a sentence of four words 0.5.
    assert normalised_count.row(Fields(length=2, start=1), 1) == [1.0]
    assert normalised_count.row(Fields(length=4, start=1), 1) == [0.5]


def test_one_sine() -> None:
    # sin 2, sin 3, sin 4, as a table of sines has them (the notes print other numbers; see the errata).
    assert [printed(one_sine.row(Fields(), place)) for place in (2, 3, 4)] == [[0.9093], [0.1411], [-0.7568]]
    # The notes' collision: positions 11 and 344.
    eleven, far = (one_sine.row(Fields(), place)[0] for place in (11, 344))
    assert float(abs(eleven - far)) == pytest.approx(1.3e-7, rel=0.05)


def test_divisor_pairs() -> None:
    # Any two positions 710 apart (710 ≈ 226π) are 6.03e-5 apart with one pair; 398 and 775 are 0.0104 apart with 1, 2,
    # 3.
    assert _distance(Fields(divisors=(1.0,)), 5, 715) == pytest.approx(6.03e-5, rel=1e-3)
    assert _distance(Fields(divisors=(1.0, 2.0, 3.0)), 398, 775) == pytest.approx(0.0104, abs=5e-5)


def _distance(encoding: Fields, first: int, second: int) -> float:
    rows = (divisor_pairs.row(encoding, place) for place in (first, second))
    return math.dist(*([float(value) for value in row] for row in rows))


def test_sinusoidal_worked_examples() -> None:
    # The sources' worked examples (mission row 3).
    assert printed(sinusoidal.row(wave(4), 0)) == [0, 1, 0, 1]
    assert printed(sinusoidal.row(wave(4), 1), 5) == [0.84147, 0.5403, 0.01, 0.99995]
    assert printed(sinusoidal.row(wave(4), 3), 5) == [0.14112, -0.98999, 0.03, 0.99955]
    assert printed(sinusoidal.row(wave(8), 3)) == [0.1411, -0.9900, 0.2955, 0.9553, 0.0300, 0.9996, 0.0030, 1.0000]
    assert printed(sinusoidal.row(wave(6), 1)) == [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000]
    assert printed(sinusoidal.row(wave(16, base=100.0), 1), 2) == [
        0.84, 0.54, 0.53, 0.85, 0.31, 0.95, 0.18, 0.98, 0.10, 1.00, 0.06, 1.00, 0.03, 1.00, 0.02, 1.00,
    ]  # fmt: skip
    # 1-indexed: position 1 counted from one is k=2 of the chapter.
    assert printed(sinusoidal.row(wave(16, base=100.0, start=1), 1), 2) == [
        0.91, -0.42, 0.90, 0.43, 0.59, 0.81, 0.35, 0.94, 0.20, 0.98, 0.11, 0.99, 0.06, 1.00, 0.04, 1.00,
    ]  # fmt: skip


def test_sinusoidal_exponents() -> None:
    # The chapter's puzzle: dimension 1088 of 5120 is 0.488814 at k=7 under i/d, and 0.835354 under 2i/d.
    assert printed(sinusoidal.row(wave(5120, exponent="i/d"), 7)[1088:1089], 8) == [0.48881494]
    assert printed(sinusoidal.row(wave(5120), 7)[1088:1089], 6) == [0.835354]
    # tensor2tensor: the last pair has exactly 1/base, so sin and cos of 1 and of 1e-4, by a table of sines.
    row = sinusoidal.row(wave(4, exponent="i/(d/2-1)", layout="concatenated"), 1)
    assert printed(row, 8) == [0.84147098, 0.0001, 0.54030231, 1.0]
    assert printed(sinusoidal.row(wave(5, exponent="i/(d/2-1)", layout="concatenated", odd="zero"), 1)) == [
        0.8415, 0.0001, 0.5403, 1.0, 0.0,
    ]  # fmt: skip


def test_sinusoidal_layouts() -> None:
    # sin 3 = 0.1411, cos 3 = -0.99 and, with base 1, the same again: only the places differ.
    sine, cosine = 0.1411, -0.99
    assert printed(sinusoidal.row(wave(4, base=1.0), 3)) == [sine, cosine, sine, cosine]
    assert printed(sinusoidal.row(wave(4, base=1.0, layout="concatenated"), 3)) == [sine, sine, cosine, cosine]
    assert printed(sinusoidal.row(wave(4, base=1.0, first="cosine"), 3)) == [cosine, sine, cosine, sine]
    assert printed(sinusoidal.row(wave(3, base=1.0, odd="truncate"), 3)) == [sine, cosine, sine]
    assert (
        printed(sinusoidal.row(wave(5, base=1.0, odd="truncate", layout="concatenated"), 3))
        == [sine] * 3 + [cosine] * 2
    )
    assert printed(sinusoidal.row(wave(3, base=1.0, odd="zero"), 3)) == [sine, cosine, 0.0]
    assert printed(sinusoidal.row(wave(2, base=1.0, scale=2.0), 3)) == [0.2822, -1.98]


def test_learned() -> None:
    table = {"table": [[0.0, 1.0], [2.0, 3.0], [4.0, 9.0]]}
    rows = {"error": 2, "clamp": 7, "wrap": 5}  # by hand: row 2, the last one, and 5 mod 3
    for outside, place in rows.items():
        assert learned.row(Fields(outside=outside), place, table) == [4.0, 9.0]
    assert learned.row(Fields(outside="clamp"), -1, table) == [0.0, 1.0]
    assert learned.row(Fields(outside="wrap"), -1, table) == [4.0, 9.0]
    # Three rows over five positions: 3 lies half way between the second and the third; 2.5 a quarter of the way.
    stretched = Fields(outside="interpolate", extent=5)
    assert learned.row(stretched, 3, table) == [3.0, 6.0]
    assert learned.row(stretched, 2.5, table) == [2.5, 4.5]
    assert learned.row(stretched, 4, table) == [4.0, 9.0]


def test_rope() -> None:
    # cos 1, sin 1 and cos 0.01, sin 0.01 from the lecture's PE(1) with d=4: θ_1 = 1, θ_2 = 0.01 (eq. 15).
    fields = {"dim": 4, "base": 10_000.0}
    assert printed(rope.rotated(Fields(pairing="adjacent", **fields), [1, 0, 1, 0], 1)) == [0.5403, 0.8415, 1.0, 0.01]
    assert printed(rope.rotated(Fields(pairing="halves", **fields), [1, 1, 0, 0], 1)) == [0.5403, 1.0, 0.8415, 0.01]
    # eq. 16: the product of two rotated vectors depends on the difference of their positions alone.
    encoding, q, k = Fields(pairing="adjacent", **fields), [1, 2, -3, 0.5], [0.25, -1, 2, 4]
    product = [
        sum(a * b for a, b in zip(rope.rotated(encoding, q, m), rope.rotated(encoding, k, n), strict=True))
        for m, n in ((7, 2), (1_000_007, 1_000_002))
    ]
    assert abs(product[0] - product[1]) < 1e-60


def test_alibi() -> None:
    # §3: for 8 heads 1/2, 1/4 … 1/256; for 16 heads 2^-0.5, 2^-1 … 2^-8.
    eight, sixteen = Fields(heads=8, steepest=8.0), Fields(heads=16, steepest=8.0)
    assert [alibi.bias(eight, head, 1, 0) for head in range(8)] == [-(0.5 ** (head + 1)) for head in range(8)]
    assert printed([alibi.bias(sixteen, head, 1, 0) for head in (0, 1, 15)]) == [-0.7071, -0.5, -0.0039]
    # 12 heads in the authors' code: those of 8, then every second of 16.
    twelve = Fields(heads=12, steepest=8.0)
    assert printed([alibi.bias(twelve, head, 0, 1) for head in range(7, 12)]) == [
        -0.0039,
        -0.7071,
        -0.3536,
        -0.1768,
        -0.0884,
    ]
    assert alibi.bias(eight, 0, 2, 9) == -3.5


def test_t5_buckets() -> None:
    # By hand with 32 buckets up to 128: 8 exact a direction, then 8 + ⌊8·log_16(d/8)⌋, so powers of √2 times 8.
    both = Fields(buckets=32, max_distance=128, bidirectional=True)
    assert [t5_bias.bucket(both, -d) for d in (0, 1, 7, 8, 11, 12, 16, 32, 64, 127, 128, 10**6)] == [
        0, 1, 7, 8, 8, 9, 10, 12, 14, 15, 15, 15,
    ]  # fmt: skip
    assert [t5_bias.bucket(both, d) for d in (1, 8, 200)] == [17, 24, 31]
    # One direction: 16 exact, then 16 + ⌊16·log_8(d/16)⌋; the keys to come share bucket 0.
    one = Fields(buckets=32, max_distance=128, bidirectional=False)
    assert [t5_bias.bucket(one, -d) for d in (15, 16, 32, 64, 128)] == [15, 16, 21, 26, 31]
    assert t5_bias.bucket(one, 5) == 0
    assert t5_bias.bias(both, 1, 4, 3, {"table": [[0.0, 1.0], [2.0, 3.0]]}) == 3.0


def test_shaw() -> None:
    # By hand: q reads the vector of the clipped step and is divided by √4; the values are averaged by the weights.
    encoding = Fields(dim=4, clip=1)
    params = {
        "relative_keys": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        "relative_values": [[0, 0, 0, 1], [0, 0, 2, 0], [0, 4, 0, 0]],
    }
    scores = [shaw.score(encoding, 0, [2.0, 4.0, 6.0, 8.0], None, 5, key, params) for key in (2, 4, 5, 6, 9)]
    assert scores == [1.0, 1.0, 2.0, 3.0, 3.0]
    assert shaw.value(encoding, [0.5, 0.25, 0.25], 5, [3, 5, 8], params) == [0.0, 1.0, 0.5, 0.5]


def test_transformer_xl() -> None:
    # With W_R the identity and q = (√2, 0) term b is sin(m - n): sin 2, sin 1, sin 0; with q = (0, √2) cos(m - n).
    encoding = Fields(dim=2, heads=1, model_dim=2, base=10_000.0)
    zero, root = [[0.0, 0.0]], 2**0.5
    params = {"W_R": [[[1.0, 0.0], [0.0, 1.0]]], "u": zero, "v": zero}
    sines = [transformer_xl.score(encoding, 0, [root, 0], [1, 1], 3, key, params) for key in (1, 2, 3)]
    assert printed(sines) == [0.9093, 0.8415, 0.0]
    assert printed([transformer_xl.score(encoding, 0, [0, root], [1, 1], 3, 4, params)]) == [0.5403]
    # Terms c and d: u·k, and v in the place of q.
    content = {**params, "u": [[root, 2 * root]]}
    assert printed([transformer_xl.score(encoding, 0, [0, 0], [3, 5], 3, 1, content)]) == [13.0]
    place = {**params, "v": [[root, 0.0]]}
    assert printed([transformer_xl.score(encoding, 0, [0, 0], [3, 5], 3, 1, place)]) == [0.9093]
