"""Checks against published numbers, or against a reference of the caller, which no consistency can replace.

A wrong exponent or a bucket on the wrong side is as relative, smooth and bounded as the right one. Each entry builds
its own encoding of the class under test, with the fields of the source, and asks for numbers printed there or computed
from the formula there by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

import posenc
from posenc.core.doors import Encoding
from posenc.diagnosis.code.code_report import gaps
from posenc.testing.door_probe import last_position, moved_parameters
from posenc.testing.effects import effects, positions_within, tolerance_of
from posenc.testing.named_check import Check, close, ensure, named_check

Kind = Callable[..., Any]


def _sinusoidal(kind: Kind) -> None:
    close(
        "Sinusoidal(dim=4) at 0, 1, 3 (lecture)",
        kind(dim=4).embed([0, 1, 3]),
        [[0, 1, 0, 1], [0.8415, 0.5403, 0.0100, 0.99995], [0.1411, -0.98999, 0.0300, 0.99955]],
        6e-5,
    )
    close(
        "Sinusoidal(dim=16, base=100) at 2 (chapter)",
        kind(dim=16, base=100.0).embed([2]),
        [[0.91, -0.42, 0.90, 0.43, 0.59, 0.81, 0.35, 0.94, 0.20, 0.98, 0.11, 0.99, 0.06, 1.00, 0.04, 1.00]],
        0.0051,
    )
    close(
        "Sinusoidal with exponent i/d, dim=5120, dimension 1088 at 7 (chapter)",
        kind(dim=5120, exponent="i/d").embed([7])[0, 1088],
        0.48881494,
        1e-8,
    )
    last = math.sin(5 / 10_000)
    close(
        "Sinusoidal in the layout of tensor2tensor, last sine at 5",
        kind(dim=8, layout="concatenated", exponent="i/(d/2-1)").embed([5])[0, 3],
        last,
        1e-15,
    )
    close("Sinusoidal counted from one", kind(dim=4, start=1).embed([0]), kind(dim=4).embed([1]), 0.0)


def _rope(kind: Kind) -> None:
    """arXiv:2104.09864, eq. 34: (x0, x1) at position 1 becomes (x0·cos 1 - x1·sin 1, x1·cos 1 + x0·sin 1)."""
    x = np.array([[1.0, 2.0, 3.0, 4.0]])
    one, small = 1.0, 0.01
    adjacent = [
        1 * math.cos(one) - 2 * math.sin(one),
        2 * math.cos(one) + 1 * math.sin(one),
        3 * math.cos(small) - 4 * math.sin(small),
        4 * math.cos(small) + 3 * math.sin(small),
    ]
    halves = [
        1 * math.cos(one) - 3 * math.sin(one),
        2 * math.cos(small) - 4 * math.sin(small),
        3 * math.cos(one) + 1 * math.sin(one),
        4 * math.cos(small) + 2 * math.sin(small),
    ]
    close("RoPE(dim=4) at 1", kind(dim=4).rotation([1])(x), [adjacent], 1e-14)
    close("RoPE(dim=4, pairing='halves') at 1", kind(dim=4, pairing="halves").rotation([1])(x), [halves], 1e-14)


def _alibi(kind: Kind) -> None:
    """arXiv:2108.12409, §3: 1/2 … 1/256 for eight heads; the authors' code for twelve."""
    eight = [[[-(2.0**-i)]] for i in range(1, 9)]
    twelve = eight + [[[-(2.0 ** -(i + 0.5))]] for i in range(4)]
    close("ALiBi(heads=8), one step apart", kind(heads=8).matrix([1], [0]), eight, 1e-15)
    close("ALiBi(heads=12), one step apart", kind(heads=12).matrix([1], [0]), twelve, 1e-15)
    close("ALiBi(heads=8), a key five steps ahead", kind(heads=8).matrix([0], [5])[:1], [[[-2.5]]], 1e-15)


def _t5(kind: Kind) -> None:
    """arXiv:1910.10683, §2.1, and the buckets of the authors' code, read off a table that holds its row numbers."""
    both = {
        0: 0, -1: 1, 1: 17, -7: 7, 7: 23, -8: 8, 8: 24, -9: 8, -12: 9, 12: 25, -16: 10, 32: 28, -64: 14, -127: 15,
        127: 31, -128: 15, 500: 31,
    }  # fmt: skip
    one = {0: 0, 1: 0, 50: 0, -1: 1, -15: 15, -16: 16, -21: 18, -127: 31, -500: 31}
    for encoding, buckets in ((kind(heads=2), both), (kind(heads=2, bidirectional=False), one)):
        table = {"table": np.repeat(np.arange(32.0)[:, None], 2, 1)}
        computed = encoding.matrix([1_000], [1_000 + distance for distance in buckets], table)[1, 0]
        close(f"{encoding!r}, buckets of key - query in {list(buckets)}", computed, list(buckets.values()), 0.0)


def _shaw(kind: Kind) -> None:
    """arXiv:1803.02155, eq. 4: q · a_clip(n - m) / √d, row 0 for keys far before the query."""
    rows = {"relative_keys": np.arange(10.0).reshape(5, 2), "relative_values": -np.arange(10.0).reshape(5, 2)}
    q, k = np.array([[[1.0, 10.0]]]), np.zeros((1, 4, 2))
    computed = kind(dim=2, clip=2).score(q, k, [5], [1, 4, 5, 9], rows)
    close(
        "Shaw(dim=2, clip=2) for keys 4 and 1 before, at, and 4 after the query",
        computed,
        [[[10 / 2**0.5, 32 / 2**0.5, 54 / 2**0.5, 98 / 2**0.5]]],
        1e-13,
    )
    weights = np.array([[[0.1, 0.2, 0.3, 0.4]]])
    value = [
        -(0.1 * row0 + 0.2 * row1 + 0.3 * row2 + 0.4 * row4) for row0, row1, row2, row4 in ((0, 2, 4, 8), (1, 3, 5, 9))
    ]
    close(
        "Shaw's values for these weights (eq. 3)",
        kind(dim=2, clip=2).values(weights, [5], [1, 4, 5, 9], rows),
        [[value]],
        1e-14,
    )


def _transformer_xl(kind: Kind) -> None:
    """arXiv:1901.02860, §3.3, terms b, c and d for two channels and a sinusoid of two: r_2 = (sin 2, cos 2)."""
    params = {"W_R": np.array([[[1.0, 2.0], [3.0, 5.0]]]), "u": np.array([[0.5, 0.25]]), "v": np.array([[2.0, 1.0]])}
    q, k = np.array([[[1.0, -1.0]]]), np.array([[[4.0, 8.0]]])
    r = [math.sin(2) + 3 * math.cos(2), 2 * math.sin(2) + 5 * math.cos(2)]
    wanted = ((1 + 2) * r[0] + (-1 + 1) * r[1] + 0.5 * 4 + 0.25 * 8) / 2**0.5
    close(
        "TransformerXL(dim=2, heads=1, model_dim=2), query at 5, key at 3",
        kind(dim=2, heads=1, model_dim=2).score(q, k, [5], [3], params),
        [[[wanted]]],
        1e-13,
    )


def _learned(kind: Kind) -> None:
    table = {"table": np.arange(6.0).reshape(3, 2)}
    close("Learned(dim=2, length=3) at 2 and 0", kind(dim=2, length=3).embed([2, 0], table), [[4, 5], [0, 1]], 0.0)
    close("Learned, clamped", kind(dim=2, length=3, outside="clamp").embed([7, -1], table), [[4, 5], [0, 1]], 0.0)
    close("Learned, wrapped", kind(dim=2, length=3, outside="wrap").embed([4, -1], table), [[2, 3], [4, 5]], 0.0)
    close(
        "Learned, stretched to 5",
        kind(dim=2, length=3, outside="interpolate", extent=5).embed([1, 4], table),
        [[1, 2], [4, 5]],
        1e-15,
    )


def _naive(kind: Kind) -> None:
    """Lecture notes: the second word of a sentence of two ("Thank you") is at 1.0, that of four at 0.5."""
    close("NormalisedCount(length=2), second word", kind(length=2).embed([1]), [[1.0]], 0.0)
    close("NormalisedCount(length=4), second word", kind(length=4).embed([1]), [[0.5]], 0.0)


def _count(kind: Kind) -> None:
    close("Count, first and third word", kind().embed([0, 2]), [[1.0], [3.0]], 0.0)


def _one_sine(kind: Kind) -> None:
    close("OneSine at 2, 3, 4 (notes, corrected)", kind().embed([2, 3, 4]), [[0.9093], [0.1411], [-0.7568]], 6e-5)


def _divisors(kind: Kind) -> None:
    row = [value for divisor in (1, 2, 3) for value in (math.sin(2 / divisor), math.cos(2 / divisor))]
    close(
        "DivisorPairs(divisors=(1, 2, 3)) at 2, sorted",
        np.sort(kind(divisors=(1.0, 2.0, 3.0)).embed([2])[0]),
        sorted(row),
        1e-15,
    )


def _nope(kind: Kind) -> None:
    close("NoPE(dim=2) at 0 and 7", kind(dim=2).embed([0, 7]), np.zeros((2, 2)), 0.0)


NUMBERS: Mapping[str, Callable[[Kind], None]] = MappingProxyType(
    {
        "Sinusoidal": _sinusoidal,
        "RoPE": _rope,
        "ALiBi": _alibi,
        "T5Bias": _t5,
        "Shaw": _shaw,
        "TransformerXL": _transformer_xl,
        "Learned": _learned,
        "NormalisedCount": _naive,
        "Count": _count,
        "OneSine": _one_sine,
        "DivisorPairs": _divisors,
        "NoPE": _nope,
    }
)


def _unasked(encoding: Encoding) -> str:
    """Reason why no published numbers are compared with those of an encoding; "" where they are."""
    kind = type(encoding)
    # Asked for by its name alone: a class of one's own may have the name, and loading the whole catalog takes a while.
    if getattr(posenc, kind.__name__, None) is not kind:
        return "no reference was given: its numbers were compared with nothing"
    return "" if kind.__name__ in NUMBERS else "no published numbers are held here for it"


@named_check("A consistent mistake is still a mistake: the result must be the paper's numbers.", unasked=_unasked)
def published_numbers(encoding: Encoding) -> None:
    """A class of the catalog gives its published numbers; a namesake is compared with a reference, or not at all."""
    NUMBERS[type(encoding).__name__](type(encoding))


def _against(reference: Encoding, encoding: Encoding) -> None:
    """Fail unless the encoding does all that the reference does, with the same parameters."""
    ensure(encoding.door == reference.door, f"door: expected {reference.door}, got {encoding.door}.")
    positions, params = _within_both(reference, encoding), moved_parameters(reference)
    received = effects(encoding, params, positions)
    wanted = effects(reference, params, positions)
    for name, expected in wanted.items():
        ensure(name in received, f"{name}: expected {name} as {reference!r:.100} gives it, got none.")
        if received[name].shape != expected.shape:
            close(f"{name} of {reference!r:.100}", received[name], expected, 0.0)
        wrong = ~(gaps(received[name], expected) <= tolerance_of(expected, positions, reference.door))
        if wrong.any():
            at = f"first at {AXES[reference.door]} {[int(i) for i in np.argwhere(wrong)[0]]}"
            mistake = _mistake(reference, received[name], positions)
            got, meant = (np.where(wrong, each, 0.0) for each in (received[name], expected))
            close(f"{mistake}{name} of {reference!r:.100}, {at}", got, meant, 0.0)
    for name in received.keys() - wanted.keys():
        ensure(not np.any(received[name]), f"{name}: expected nothing, as {reference!r:.100} gives none, got numbers.")


def _mistake(reference: Encoding, received: np.ndarray, positions: np.ndarray) -> str:
    """Known mistake that explains the numbers, as the beginning of a sentence; "" where none does."""
    from posenc.testing.check_user_encoding import (
        known_mistake,  # the search of mistakes: loaded where there is one to explain
    )

    report = known_mistake(reference, received, positions)
    return "".join(f"{finding.name}: {finding.sentence} " for finding in (report.findings if report else ()))


def _within_both(reference: Encoding, encoding: Encoding) -> np.ndarray:
    """Positions that are compared, as far as the encoding takes them."""
    positions = positions_within(reference)
    return positions[positions <= last_position(encoding) // encoding.axes]


#: Names of the axes of an effect, for a message.
AXES = {
    "adds": "(index of the position, channel)",
    "rotates": "(head, index of the position, channel out, channel in)",
    "biases": "(head, query, key)",
    "scores": "(head, query, key)",
}


def against(check: Check, reference: Encoding) -> Check:
    """Make the check of published numbers compare with a reference instead; another check stays as it is."""
    if check.name != "published_numbers":
        return check
    return replace(check, run=partial(_against, reference), unasked=None)
