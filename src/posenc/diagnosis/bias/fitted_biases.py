"""Fits of biases with parameters of their own (KERPLE, BoundedALiBi, Sandwich) to observed biases, head by head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc.core.doors import AttentionBias
from posenc.core.text_lines import short
from posenc.diagnosis.bias.observed_biases import MASKED, ObservedBiases
from posenc.diagnosis.mistake import Finding
from posenc.encodings.biases.alibi import slopes_of
from posenc.encodings.biases.bounded_alibi import BoundedALiBi
from posenc.encodings.biases.kerple import FLOOR, STEEPEST, KerpleLog, KerplePower
from posenc.encodings.biases.sandwich import Sandwich

TRIED = (
    "Tried: ALiBi and T5Bias with known mistakes; KerpleLog, KerplePower, BoundedALiBi and Sandwich with their own "
    "numbers read off. Not read off: RelativeBias, whose table fits any function of distance; FIRE, "
    "DynamicPositionBias and LogCPB, which are networks; TUPE, which projects positions; WindowBias, GridALiBi and "
    "GraphDistance, which need a grid or a graph. Scores that depend on content, as Shaw's, are no bias."
)
#: Where the search for r2 begins; the largest for the logarithm, whose r2 has no bound.
STARTS, LARGEST = 200, 1e4
#: Steps of Gauss and Newton.
STEPS = 25
#: How near numbers of two heads are the same, of themselves, where rounding is no coarser.
SAME = 1e-4
#: Least r2 that is read off: code without the authors' floor goes below it.
LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class FittedBias:
    """Bias encoding whose fitted parameters explain every observed number within rounding.

    Args:
        encoding: The bias.
        params: Its numbers, read off.
        of_one_formula: Whether all heads have one curve, stretched, as no training leaves them.
        clamped: Whether later keys count as at distance 0.
        below_floor: Heads of KERPLE whose numbers the authors' code would raise to its floor.
        largest: Largest difference of a number from it, which rounding explains.
    """

    encoding: AttentionBias
    params: dict[str, np.ndarray]
    of_one_formula: bool = False
    clamped: bool = False
    below_floor: tuple[int, ...] = ()
    largest: float = 0.0

    @property
    def bent_line(self) -> bool:
        """Whether all heads share one KERPLE exponent r2, a multiple of 1/2, as ALiBi on √distance would have."""
        halves = 2 * self.params["r2"] if isinstance(self.encoding, KerplePower) else np.array(0.5)
        return self.of_one_formula and bool(np.abs(halves - np.round(halves)).max() <= 2 * SAME)

    def line(self) -> str:
        """Say what was read off, in one sentence."""
        listed = (f"{name} {', '.join(f'{one:.4g}' for one in part.reshape(-1))}" for name, part in self.params.items())
        read_off = "; ".join(listed) or "dim and base"
        later = " Later keys stand at distance 0, as under a causal mask." if self.clamped else ""
        return f"Read off its numbers, and compared with nothing else: {read_off}.{later}"

    def floor(self) -> Finding:
        """Finding on code whose r1 or r2 of KERPLE lies below the floor of the authors' code."""
        heads = ", ".join(map(str, self.below_floor))
        sentence = f"It is {short(self.encoding)}, but for r1 or r2 below {FLOOR} in heads {heads}. {self.line()}"
        return Finding("floor", sentence, f"Keep r1 and r2 at {FLOOR} or above, as the authors' code does.")

    def finding(self, meant: AttentionBias) -> Finding:
        """Mistake of code that adds this bias where another is meant."""
        sentence = f"The bias is {short(self.encoding)} where {short(meant)} is meant. {self.line()}"
        return Finding("kind of bias", sentence, f"Add the bias of {short(meant)}, or expect the one that is there.")


def fitted_bias(evidence: ObservedBiases) -> FittedBias | None:
    """Find the one kind of bias that explains every number; None where none does, or two do.

    Args:
        evidence: What was observed, with a tolerance for the rounding of each number.
    """
    few = _Pairs.of(evidence.subsample)
    if not few.distance.size:
        return None
    whole = _Pairs.of(evidence)
    fitting = [each for each in _fits(few) if few.show(each) and whole.show(each)]
    if len(fitting) != 1:
        return None
    encoding, params = fitting[0]
    kerple = "r2" in params
    shared = kerple and bool(np.ptp(params["r2"]) <= few.same * params["r2"].max())
    low = np.minimum(params["r1"], params["r2"]) < FLOOR * (1 - SAME) if kerple else np.zeros(1, bool)
    if low.any() and few.same > SAME:  # in 16 bits a straight line looks like the start of a logarithm
        return None
    largest, below = float(np.nanmax(whole.gap(fitting[0]))), tuple(map(int, np.flatnonzero(low)))
    return FittedBias(encoding, params, shared, whole.clamped, below, largest)


Fit = tuple[AttentionBias, dict[str, np.ndarray]]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Observed biases relative to each query's own position (NaN where masked), and the pairs that all heads show.

    `own` (heads, n) is what was taken off; `distance` (pairs,) and `values` (heads, pairs) those that all heads show.
    """

    evidence: ObservedBiases
    rest: np.ndarray
    own: np.ndarray
    distance: np.ndarray
    values: np.ndarray
    clamped: bool

    @classmethod
    def of(cls, evidence: ObservedBiases) -> _Pairs:
        query, key = evidence.query_positions[:, None], evidence.key_positions
        visible = np.isfinite(evidence.logits) & (evidence.logits > MASKED)
        if evidence.causal:
            visible &= key <= query
        rest = np.where(visible, evidence.logits - evidence.product, np.nan)
        own = np.where((key == query).any(1), rest[:, np.arange(len(query)), (key == query).argmax(1)], np.nan)
        rest = rest - own[..., None]
        later = np.where(key > query, np.abs(rest), np.nan) > 2 * evidence.tolerance
        clamped = not later.any() and bool(np.isfinite(np.where(key > query, rest, np.nan)).any())
        if clamped:
            rest = np.where(key > query, np.nan, rest)
        shown = np.isfinite(rest).all(0) & (key != query)
        return cls(evidence, rest, own, np.abs(key - query)[shown].astype(np.float64), rest[:, shown], clamped)

    @property
    def same(self) -> float:
        """Relative tolerance within which two fitted numbers count as equal."""
        return max(SAME, 4.0 * float(self.evidence.tolerance.max() / np.abs(self.values).max()))

    def show(self, fit: Fit) -> bool:
        """Whether the fit explains every number, up to a constant for each row, which softmax ignores."""
        gap = self.gap(fit)
        finite = np.isfinite(gap)
        return bool(finite.any() and (gap <= self.evidence.tolerance)[finite].all())

    def gap(self, fit: Fit) -> np.ndarray:
        """Absolute error of the fit, (heads, n, m), up to a constant for each row; NaN where masked."""
        encoding, params = fit
        positions = self.evidence.query_positions, self.evidence.key_positions
        if "r2" in params:  # not by the encoding, which raises r1 and r2 to its floor
            distance = np.abs(positions[1] - positions[0][:, None]).astype(np.float64)
            r1, r2 = (params[name][:, None, None] for name in ("r1", "r2"))
            expected = -r1 * _curve(encoding, r2, distance)
        else:
            expected = np.asarray(encoding.matrix(*positions, params, dtype=np.float64))
        gap = self.rest - expected
        finite = np.isfinite(gap)
        rows = finite.any(-1)
        low = np.where(finite, gap, np.inf).min(-1, where=rows[..., None], initial=np.inf)
        high = np.where(finite, gap, -np.inf).max(-1, where=rows[..., None], initial=-np.inf)
        middle = np.where(rows, np.where(rows, low, 0.0) / 2 + np.where(rows, high, 0.0) / 2, 0.0)
        return np.asarray(np.abs(gap - middle[..., None]))


def _fits(pairs: _Pairs) -> Iterator[Fit]:
    """Kinds of bias that may fit, each with its best-fitting parameters."""
    heads = len(pairs.values)
    size = np.abs(pairs.values).max(-1)
    if not size.all() or pairs.values.mean(-1).max() >= 0:  # none of these kinds is zero, or grows, in a head
        return
    yield KerpleLog(heads), _kerple(pairs, KerpleLog(heads), LARGEST)
    power = _kerple(pairs, KerplePower(heads), STEEPEST)
    if np.abs(power["r2"] - 1.0).max() > pairs.same:  # a line: ALiBi with slopes of any kind, wrong ones too
        yield KerplePower(heads), power
    yield from _bounded(pairs)
    yield from _sandwich(pairs)


def _curve(encoding: AttentionBias, r2: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """How KERPLE falls with distance where r1 is 1."""
    return np.asarray(np.log1p(r2 * distance) if isinstance(encoding, KerpleLog) else distance**r2)


def _slope(encoding: AttentionBias, r2: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Derivative of the curve in r2."""
    is_log = isinstance(encoding, KerpleLog)
    return np.asarray(distance / (1 + r2 * distance) if is_log else distance**r2 * np.log(distance))


def _kerple(pairs: _Pairs, encoding: AttentionBias, most: float) -> dict[str, np.ndarray]:
    """Fit r1·curve(r2, distance) by least squares for all heads at once: best of a grid, then Gauss-Newton."""
    fallen = -pairs.values
    starts = np.geomspace(LEAST, most, STARTS)
    curves = _curve(encoding, starts[:, None], pairs.distance)
    r2 = starts[((fallen @ curves.T).clip(0) ** 2 / (curves**2).sum(-1)).argmax(-1)]
    r1 = np.ones_like(r2)
    for step in range(STEPS + 1):
        values = _curve(encoding, r2[:, None], pairs.distance)
        r1 = (fallen * values).sum(-1) / (values**2).sum(-1)
        if step < STEPS:
            jacobian = np.stack([values, r1[:, None] * _slope(encoding, r2[:, None], pairs.distance)], -1)
            change = (np.linalg.pinv(jacobian) @ (fallen - r1[:, None] * values)[..., None])[..., 1, 0]
            r2 = np.clip(r2 + change, np.maximum(r2 / 2, LEAST), np.minimum(r2 * 2, most))
    return {"r1": r1, "r2": r2}


def _bounded(pairs: _Pairs) -> Iterator[Fit]:
    """BoundedALiBi with geometric slopes, flat beyond a bound; nothing where all heads stop at one distance."""
    heads = len(pairs.values)
    slopes = slopes_of(heads, rule="geometric")
    bound = (-pairs.values).max(-1)
    scale = (-pairs.values / (slopes[:, None] * pairs.distance)).max()
    stopped = bound < scale * slopes * pairs.distance.max() * (1 - pairs.same)
    stops = bound / slopes
    if not stopped.any() or scale <= 0 or (heads > 1 and np.ptp(stops) <= pairs.same * stops.max()):
        return
    each = np.ptp(bound[stopped]) > pairs.same * bound.max()
    bounds = bound if each else bound[stopped][:1]
    yield BoundedALiBi(heads, per_head=bool(each)), {"scale": np.array(scale), "bound": bounds}


def _sandwich(pairs: _Pairs) -> Iterator[Fit]:
    """Sandwich with its width read off distance 0, and its base, to four digits, off distance 1."""
    ratios = 8.0 * np.arange(1, len(pairs.values) + 1) / len(pairs.values)
    own = pairs.own[:, np.isfinite(pairs.own).all(0)].mean(-1) * ratios
    dim = 2 * round(float(own[0]))
    nearest = int(pairs.distance.argmin())
    if not 2 <= dim <= 1 << 16 or np.abs(own - dim / 2).max() > SAME * dim or pairs.distance[nearest] != 1:
        return
    wanted, rates = dim / 2 + pairs.values[0, nearest] * ratios[0], np.arange(0, dim, 2) / dim
    low, high = 0.0, np.log(1e12)
    for _ in range(50):  # the sum grows with the base
        middle = (low + high) / 2
        low, high = (middle, high) if np.cos(np.exp(-middle * rates)).sum() < wanted else (low, middle)
    base = float(f"{np.exp(low):.4g}")
    if base > 1:
        yield Sandwich(len(pairs.values), dim=dim, base=base), {}
