"""Positions of packed rows: what they cost beyond writing their arrays, and whether ten million of them are right."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.positions import documents, packed

ROWS, TOKENS, ROUNDS = 64, 8192, 41
#: Mean tokens of a document.
MEANS = (64, 512, 8192)
MANY = 10_000_000
COST, WRONG = "milliseconds beyond writing, 64 packed rows of 8192", "wrong ids of ten million"


def run() -> list[dict[str, Any]]:
    """The median, over interleaved rounds, of CPU time less that of writing arrays of the same size."""
    drawn = np.random.default_rng(0)
    costs = {}
    for mean in MEANS:
        rows = [_lengths(drawn, mean) for _ in range(ROWS)]
        costs[f"positions, documents of {mean}"] = _beyond_writing(packed, rows)
        costs[f"document numbers, documents of {mean}"] = _beyond_writing(documents, rows)
    lengths = _lengths(drawn, 512, MANY)
    wrong = {
        "positions": _wrong(packed(lengths), lengths, False),
        "document numbers": _wrong(documents(lengths), lengths, True),
    }
    return [{"case": name, "values": values, "left out": {}} for name, values in ((COST, costs), (WRONG, wrong))]


def _lengths(drawn: np.random.Generator, mean: int, tokens: int = TOKENS) -> list[int]:
    """Lengths of documents, from 1 to twice the mean, that fill a row."""
    ends = np.cumsum(drawn.integers(1, 2 * mean, 4 * tokens // mean + 8))
    ends = [*ends[ends < tokens].tolist(), tokens]
    return np.diff([0, *ends]).tolist()


def _beyond_writing(make: Callable[[Any], np.ndarray], rows: list[list[int]]) -> float:
    source = make(rows)
    assert source.shape == (ROWS, TOKENS)
    differences = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        np.copyto(np.empty_like(source), source)
        between = time.process_time()
        make(rows)
        differences.append(time.process_time() - between - (between - begun))
    return 1e3 * float(np.median(differences))


def _wrong(found: np.ndarray, lengths: list[int], numbers: bool) -> float:
    """How many ids differ from those written document by document."""
    wrong, begin = 0, 0
    for number, length in enumerate(lengths):
        wrong += int((found[begin : begin + length] != (number if numbers else np.arange(length))).sum())
        begin += length
    return float(wrong + (len(found) != begin))
