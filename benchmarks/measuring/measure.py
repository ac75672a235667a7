"""Interleaved rounds of CPU time, of a thread unless another clock is given, as ratios to a floor; nothing is timed
before it has been shown to be right."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

#: Names of what is ours begin so: a peer that is wrong or fails is left out and named, one of ours that is wrong stops
#: all.
OURS = "posenc"


@dataclass(frozen=True)
class Variant:
    """run: what is timed. shown: the numbers it gives, to be compared first; None for a floor, which gives none."""

    run: Callable[[], Any]
    shown: Callable[[], Any] | None = None


Maker = Callable[[], Variant]
Clock = Callable[[], float]


def timed(run: Callable[[], Any]) -> Variant:
    """What gives its numbers each time it runs."""
    return Variant(run, run)


def floor(run: Callable[[], Any]) -> Maker:
    """What is no solution, but the least that could be done."""
    return lambda: Variant(run)


def compared(
    case: str,
    below: str,
    makers: Mapping[str, Maker],
    expected: Any,
    bound: float,
    *,
    rounds: int = 9,
    clock: Clock = time.thread_time,
) -> dict[str, Any]:
    """`ratios` of what gives the expected numbers within the bound; what fails or differs is left out, with its
    reason."""
    torch._dynamo.reset()  # a code object is compiled for a few shapes only, and every case has its own
    right: dict[str, Callable[[], Any]] = {}
    gaps: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for name, make in makers.items():
        try:
            variant = make()
            if variant.shown is not None:
                gaps[name] = distance(variant.shown(), expected)
            variant.run()
        except Exception as error:  # whatever a peer raises is its result, and the others are still measured
            left_out[name] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
            continue
        if gaps.get(name, 0.0) <= bound:
            right[name] = variant.run
        elif name.startswith(OURS):
            raise SystemExit(f"{case}: {name} differs from what is right by {gaps[name]}, more than {bound}")
        else:
            left_out[name] = f"differs from what is right by {gaps[name]:.2g}, more than {bound:.2g}"
    return {
        **ratios(case, below, right, rounds=rounds, clock=clock),
        "bound": bound,
        "gaps": gaps,
        "left out": left_out,
    }


def distance(found: Any, expected: Any) -> float:
    """The largest difference of two tensors, or of two tuples of them; NaN is infinitely far."""
    if isinstance(expected, tuple):
        return max(distance(one, other) for one, other in zip(found, expected, strict=True))
    if found.shape != expected.shape:
        return float("inf")
    gap = (found.detach().float() - expected.float()).abs_().max().item()
    return float("inf") if gap != gap else float(gap)


def ratios(
    case: str,
    below: str,
    variants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 9,
    clock: Clock = time.thread_time,
) -> dict[str, Any]:
    """Each variant's CPU time over the floor's in the same round: median, least and greatest of the rounds."""
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for run in variants.values():
        run()
    for rotation in range(rounds):
        # There and back, so that no variant always comes after the same other.
        for name in list(variants)[:: 1 if rotation % 2 == 0 else -1]:
            seconds[name].append(cpu_seconds(variants[name], clock=clock))
    figures = {name: spread(over(seconds, name, below)) for name in variants}
    return {
        "case": case,
        "floor": below,
        "rounds": rounds,
        "ratios": figures,
        "microseconds": {name: [float(f"{1e6 * one:.4g}") for one in taken] for name, taken in seconds.items()},
    }


def over(taken: Mapping[str, list[float]], name: str, other: str) -> list[float]:
    """The ratio of two variants in each round."""
    return [one / two for one, two in zip(taken[name], taken[other], strict=True)]


def spread(found: list[float]) -> dict[str, float]:
    return {"median": statistics.median(found), "low": min(found), "high": max(found)}


def cpu_seconds(run: Callable[[], Any], least: float = 0.02, *, clock: Clock = time.thread_time) -> float:
    """CPU seconds of one call; a short call is repeated until the clock can tell."""
    calls, batch, start = 0, 1, clock()
    while (taken := clock() - start) < least:
        for _ in range(batch):
            run()
        calls, batch = calls + batch, min(2 * batch, 64)  # reading the clock must not count in calls of a microsecond
    return taken / calls
