"""Rotation of a layer, read off the scores of its channels without any config."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from posenc.probe.scores import LayerScores

#: A channel rotates if its score moves by so many errors.
MOVES = 6.0
#: Two channels are a pair if the sum of their squares moves by no more than so many errors, and any other sum by more.
STEADY, UNSTEADY = 8.0, 16.0
#: Rounding of an angle that an engine computes in float32, of itself.
ANGLE = 2.0**-22

Layout = Literal["adjacent", "halves", "other"]


@dataclass(frozen=True)
class LayerRotation:
    """Positions that an engine applied in one layer.

    Attributes:
        layer: Its number, from 0.
        rotates: Whether any channel rotates (False for a NoPE layer).
        pairing: Layout of the pairs; None where no pair is plain.
        direction: 1 where the first channel of a pair rotates towards the second, -1 backwards; 0 where not shown.
        start: The first channel that rotates.
        width: Channels from the first that rotates to the last.
        frequencies: Radians a position, of each pair.
        errors: How far each frequency may be off.
        amplitude: Product of the factors of queries and keys, and of the softmax scale over the one that the config
            states.
        amplitude_error: How far it may be off.
        seen_to: The longest distance that was asked at which the key is seen; None where none was asked.
        hidden_from: The shortest one at which it is not; None where it always is.
        seen_ahead: The longest distance at which a later key is seen, in an encoder; None where none was asked.
        hidden_ahead: The shortest one at which it is not; None where it always is.
    """

    layer: int
    rotates: bool
    pairing: Layout | None = None
    direction: int = 0
    start: int = 0
    width: int = 0
    frequencies: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    amplitude: float = 1.0
    amplitude_error: float = 0.0
    seen_to: int | None = None
    hidden_from: int | None = None
    seen_ahead: int | None = None
    hidden_ahead: int | None = None

    def sentence(self) -> str:
        """Say what was read, in one line.

        Returns:
            The sentence.
        """
        return f"layer {self.layer}: {'; '.join((*self._rotation(), *self._window()))}"

    def _rotation(self) -> list[str]:
        size = f"amplitude {self.amplitude:.6g} ± {self.amplitude_error:.1g}"
        if not self.rotates:
            return ["nothing rotates (NoPE)", size]
        last = self.start + self.width - 1
        pairs = f"{self.pairing or 'unknown'} pairs in channels {self.start} to {last}"
        direction = {1: "forward", -1: "backward", 0: "direction not shown"}[self.direction]
        known = [*zip(self.frequencies, self.errors, strict=True)][:3]
        shown = ", ".join(f"{one:.6g} ± {error:.1g}" for one, error in known)
        return [pairs, direction, f"frequencies {shown}{', ...' if len(self.frequencies) > 3 else ''}", size]

    def _window(self) -> list[str]:
        if self.seen_ahead is not None:
            sides = ((self.seen_to, self.hidden_from, "back"), (self.seen_ahead, self.hidden_ahead, "ahead"))
            seen = [f"{far if hidden else f'at least {far}'} positions {side}" for far, hidden, side in sides]
            return [f"keys are seen {' and '.join(seen)}"]
        if self.seen_to is None:
            return ["window not asked"]
        if self.hidden_from is None:
            return [f"keys are seen up to {self.seen_to} positions back, as far as was asked"]
        if self.hidden_from == self.seen_to + 1:
            return [f"window of {self.hidden_from} positions"]
        return [f"window of {self.seen_to + 1} to {self.hidden_from} positions"]


class Pairs(NamedTuple):
    """Pairs of channels, (pairs,) each."""

    first: np.ndarray
    second: np.ndarray
    layout: Layout | None


def read_rotation(layer: int, shown: LayerScores) -> LayerRotation:
    """Read a layer's rotation off its scores alone, at distances that are equal in all coordinates as in text."""
    shown = shown.of_text()
    names = ("seen_to", "hidden_from", "seen_ahead", "hidden_ahead")
    window = dict(zip(names, (*_edge(*shown.seen), *_edge(*shown.ahead)), strict=True))
    usable = np.isfinite(shown.scores).all(0)
    scores, errors, distances = shown.scores[:, usable], shown.errors[:, usable], shown.distances[usable]
    if not usable.any():
        return LayerRotation(layer, False, amplitude=np.nan, amplitude_error=np.nan, **window)  # type: ignore[arg-type]
    moving = np.ptp(scores, axis=1) > MOVES * errors.max(1)
    if not moving.any():
        error = float(max(errors.mean(), scores.std()))
        return LayerRotation(layer, False, amplitude=float(scores.mean()), amplitude_error=error, **window)  # type: ignore[arg-type]
    pairs = find_pairs(scores, errors, moving)
    lowest, last = int(np.flatnonzero(moving)[0]), int(np.flatnonzero(moving)[-1])
    if pairs.layout is None or pairs.layout == "other":
        width = last - lowest + 1
        unpaired = LayerRotation(layer, True, pairs.layout, 0, lowest, width, **window)  # type: ignore[arg-type]
        return unpaired if pairs.layout is None else _of_pairs(unpaired, pairs, scores, errors, distances)
    start, width = extent(pairs, lowest, last)
    everything = every_pair(pairs.layout, start, width, len(scores))
    rotation = LayerRotation(layer, True, pairs.layout, 0, start, width, **window)  # type: ignore[arg-type]
    return _of_pairs(rotation, everything, scores, errors, distances)


def _edge(seen: tuple[int, ...], unseen: tuple[int, ...]) -> tuple[int | None, int | None]:
    """The longest distance up to which a key is seen, and the shortest at which it is not."""
    if not seen and not unseen:
        return None, None
    return max((one for one in seen if one < min(unseen, default=np.inf)), default=0), min(unseen, default=None)


def find_pairs(scores: np.ndarray, errors: np.ndarray, moving: np.ndarray) -> Pairs:
    """Pair channels whose squared scores have a constant sum with one partner alone, and find the pairs' layout."""
    channels = np.flatnonzero(moving)
    squares, error = scores[channels] ** 2, 2 * np.abs(scores[channels]) * errors[channels]
    sums = squares[:, None] + squares[None]
    gap = np.abs(sums - sums.mean(2, keepdims=True)) / (error[:, None] + error[None] + 1e-12)
    gap = gap.max(2)
    np.fill_diagonal(gap, np.inf)
    best, ranked = gap.argmin(1), np.sort(gap, axis=1)
    alone = ranked[:, 0] < STEADY
    if ranked.shape[1] > 1:
        alone &= ranked[:, 1] > UNSTEADY
    mutual = alone & alone[best] & (best[best] == np.arange(len(channels)))
    first = channels[mutual & (best > np.arange(len(channels)))]
    second = channels[best[mutual & (best > np.arange(len(channels)))]]
    steps = set((second - first).tolist())
    layout: Layout | None = None if not steps else "other"
    if len(steps) == 1:
        layout = "adjacent" if steps == {1} and len(scores) > 2 else "halves"
    return Pairs(first, second, layout) if steps else _only_layout(scores, errors, channels)


def _only_layout(scores: np.ndarray, errors: np.ndarray, channels: np.ndarray) -> Pairs:
    """Return the pairs of the one layout that fits all scores, for errors too wide to find partners one by one."""
    start, width = int(channels[0]), int(channels[-1] - channels[0] + 2) // 2 * 2
    fitting = []
    for layout in ("adjacent", "halves"):
        pairs = every_pair(layout, start, width, len(scores))
        parts = [(scores[channel], errors[channel]) for channel in (pairs.first, pairs.second)]
        total = sum(part**2 for part, _ in parts)
        error = sum(2 * np.abs(part) * off for part, off in parts)
        if np.all(np.abs(total - total.mean(1, keepdims=True)) <= error):
            fitting.append(pairs)
    return fitting[0] if len(fitting) == 1 else Pairs(channels[:0], channels[:0], None)


def extent(pairs: Pairs, lowest: int, last: int) -> tuple[int, int]:
    """The first channel that rotates, and the number of channels from there to the last."""
    if pairs.layout == "halves":
        return min(lowest, int(pairs.first.min())), 2 * int(pairs.second[0] - pairs.first[0])
    start = int(pairs.first.min())
    start -= 2 * ((start - lowest) // 2)
    return start, 2 * ((last - start) // 2 + 1)


def every_pair(layout: Layout, start: int, width: int, channels: int) -> Pairs:
    """All pairs of a layout that lie in a head."""
    number = np.arange(width // 2)
    first, step = (start + 2 * number, 1) if layout == "adjacent" else (start + number, width // 2)
    inside = first + step < channels
    return Pairs(first[inside], first[inside] + step, layout)


def _of_pairs(
    rotation: LayerRotation, pairs: Pairs, scores: np.ndarray, errors: np.ndarray, distances: np.ndarray
) -> LayerRotation:
    """The rotation with what its pairs show: direction, frequencies and amplitude."""
    one, other = scores[pairs.first], scores[pairs.second]
    cosine, sine = (one + other) / 2, (one - other) / 2
    error = np.hypot(errors[pairs.first], errors[pairs.second]) / 2
    size = np.hypot(cosine, sine)
    plain = np.abs(sine[:, 0]) > MOVES * error[:, 0]
    direction = int(np.sign(np.sign(sine[plain, 0]).sum()))
    angle, angle_error = np.arctan2(sine * (direction or 1), cosine), error / np.maximum(size, 1e-6)
    frequencies, reach = unwrapped_frequencies(angle, angle_error, distances)
    amplitude, scatter = float(np.median(size)), float(np.median(np.abs(size - np.median(size))))
    return replace(
        rotation,
        direction=direction,
        frequencies=tuple(frequencies.tolist()),
        errors=tuple((reach + ANGLE * np.abs(frequencies)).tolist()),
        amplitude=amplitude,
        amplitude_error=max(float(np.median(error)), scatter),
    )


def unwrapped_frequencies(angle: np.ndarray, error: np.ndarray, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate each pair's frequency, in radians a position, and its error from angles (pairs, rising distances).

    Each distance is at most about twice the one before, so that no revolution is lost.
    """
    estimate, certainty = angle[:, 0] / distances[0], error[:, 0] / distances[0]
    for column, distance in enumerate(distances):
        revolutions = np.round((estimate * distance - angle[:, column]) / (2 * np.pi))
        near = certainty * distance < np.pi / 2
        estimate = np.where(near, (angle[:, column] + 2 * np.pi * revolutions) / distance, estimate)
        certainty = np.where(near, np.minimum(certainty, error[:, column] / distance), certainty)
    return estimate, certainty
