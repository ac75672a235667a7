"""Queries and keys of traced layers before and after their rotation, and the positions that they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from posenc.diagnosis.tracing.recovered_positions import recovered_positions
from posenc.models.pair_rotation import PairRotation

#: cos and sin of stock models are computed in float32, whatever the dtype of the vectors is.
FLOAT32 = 2.0**-24
#: Which channels of a head are pairs, before and after: None for those that are meant.
PAIRINGS = ((None, None), ("halves", "halves"), ("adjacent", "adjacent"), ("adjacent", "halves"))


class Rotated(NamedTuple):
    """Vectors of one head of each group, (batch, groups, n, channels)."""

    before: torch.Tensor
    after: torch.Tensor


class RecoveredLayer(NamedTuple):
    """Positions (batch, groups, n, axes) and factors of lengths of queries and of keys."""

    queries: np.ndarray
    keys: np.ndarray
    amplitude: tuple[float, float]
    unexplained: bool


@dataclass(eq=False)
class RotationSteps:
    """Reader of the positions of many layers at once: those of the same shape are read together."""

    pairs: dict[str, tuple[torch.Tensor, ...]] = field(default_factory=dict)

    def recovered(
        self, steps: Iterable[tuple[str, PairRotation, Rotated, Rotated]], expected: np.ndarray
    ) -> Iterator[RecoveredLayer]:
        """Read the positions of layers.

        Args:
            steps: Name of the module, the rotation that is meant, queries, and keys.
            expected: Positions (batch, n, axes) that are tried first; NaN for padding.
        """
        every = list(steps)
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, (name, meant, queries, keys) in enumerate(every):
            self.pairs.setdefault(name, _pairs_used(queries, meant))
            channels = tuple(map(tuple, (one.tolist() for one in self.pairs[name])))
            shape = queries.before.shape, keys.before.shape, queries.after.dtype
            alike.setdefault((meant, channels, shape), []).append(number)
        results: dict[int, RecoveredLayer] = {}
        for numbers in alike.values():
            results |= self._read([every[number] for number in numbers], numbers, expected)
        yield from (results[number] for number in range(len(every)))

    def _read(
        self, steps: list[tuple[str, PairRotation, Rotated, Rotated]], numbers: list[int], expected: np.ndarray
    ) -> dict[int, RecoveredLayer]:
        name, meant, first, _ = steps[0]
        groups = first.before.shape[1]
        before, after = (
            torch.stack([torch.cat([step[2][side], step[3][side]], 1) for step in steps]) for side in (0, 1)
        )
        products, lengths = _products(before, after, self.pairs[name])
        rounding = max(torch.finfo(first.after.dtype).eps / 2, FLOAT32)
        positions = recovered_positions(
            products, meant.radians(), np.array(meant.axis), expected[None, :, None], rounding
        )
        real = ~np.isnan(expected).any(-1)
        size = np.where(lengths > 0, np.abs(products).sum(-1) / np.maximum(lengths, 1e-30), np.nan)
        made = {}
        for number, own, factor in zip(numbers, positions, size, strict=True):
            sides = own[:, :groups], own[:, groups:]
            factors = [factor[:, part][np.broadcast_to(real[:, None], factor[:, part].shape)] for part in (
                slice(None, groups), slice(groups, None))]  # fmt: skip
            amplitude = tuple(float(np.nanmedian(one)) if np.isfinite(one).any() else float("nan") for one in factors)
            lost = bool((np.isnan(own).any(-1) & real[:, None]).any())
            made[number] = RecoveredLayer(*sides, amplitude, lost)  # type: ignore[arg-type]
        return made


def _products(
    before: torch.Tensor, after: torch.Tensor, channels: tuple[torch.Tensor, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """conj(before)·after of each pair, (..., pairs), and the sum of the squares of before, (...,)."""
    wide = torch.promote_types(before.dtype, torch.float32)
    first, second, first_after, second_after = channels
    b1, b2 = before[..., first].to(wide), before[..., second].to(wide)
    a1, a2 = after[..., first_after].to(wide), after[..., second_after].to(wide)
    products = torch.complex(b1 * a1 + b2 * a2, b1 * a2 - b2 * a1)
    lengths = (b1 * b1 + b2 * b2).sum(-1)
    return products.cpu().numpy(), lengths.cpu().numpy()


def _pairs_used(queries: Rotated, meant: PairRotation) -> tuple[torch.Tensor, ...]:
    """Channels of the pairs before and after, by the lengths that a rotation keeps: as meant where that fits."""
    own = tuple(torch.tensor(one, device=queries.before.device) for one in (meant.first, meant.second))
    every = [(*own, *own)]
    low, high = min(*meant.first, *meant.second), max(*meant.first, *meant.second) + 1
    if high - low == 2 * meant.pairs:
        for before, after in PAIRINGS[1:]:
            every.append((*_channels(str(before), low, high), *_channels(str(after), low, high)))
    return min(every, key=lambda channels: _unevenness(queries, channels, every[0]))


def _channels(layout: str, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    channels = torch.arange(low, high)
    if layout == "adjacent":
        return channels[0::2], channels[1::2]
    first, second = channels.chunk(2)
    return first, second


def _unevenness(queries: Rotated, channels: tuple[torch.Tensor, ...], meant: tuple[torch.Tensor, ...]) -> float:
    """How unevenly the lengths of pairs changed; 0 for those that are meant, up to rounding."""
    x, y = queries.before[:1, 0, -1:].double(), queries.after[:1, 0, -1:].double()
    before = (x[..., channels[0]] ** 2 + x[..., channels[1]] ** 2).sqrt()
    after = (y[..., channels[2]] ** 2 + y[..., channels[3]] ** 2).sqrt()
    ratio = after / before.clamp(min=1e-30)
    uneven = float((ratio / ratio.median().clamp(min=1e-30) - 1).abs().max())
    return 0.0 if channels is meant and uneven < torch.finfo(queries.after.dtype).eps * 32 else uneven
