"""Queries and keys of traced layers before and after their rotation, and the positions that they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import torch

from posenc.diagnosis.tracing.recovered_positions import allowed_share, recovered_positions, share_of_angle
from posenc.models.pair_rotation import PairRotation

#: cos and sin of stock models are computed in float32, whatever the dtype of the vectors is.
FLOAT32 = 2.0**-24
#: Which channels of a head are pairs, before and after: None for those that are meant.
PAIRINGS = ((None, None), ("halves", "halves"), ("adjacent", "adjacent"), ("adjacent", "halves"))
#: Layers are read together up to so many numbers: many small ones cost as much as one, large ones need no copy.
TOGETHER = 1 << 18
Channels: TypeAlias = slice | torch.Tensor


class Rotated(NamedTuple):
    """Vectors of one head of each group, (batch, groups, n, channels)."""

    before: torch.Tensor
    after: torch.Tensor


class RotationStep(NamedTuple):
    """A layer in one call: name of its module, its expected rotation, its queries and its keys."""

    module: str
    meant: PairRotation
    queries: Rotated
    keys: Rotated


class RecoveredLayer(NamedTuple):
    """Recovered positions (batch, groups, n, axes) of queries and keys, and the factors of their lengths."""

    queries: np.ndarray
    keys: np.ndarray
    amplitude: tuple[float, float]
    unexplained: bool


class RecoveredSide(NamedTuple):
    """Queries or keys of some layers: positions (layers, batch, groups, n, axes), and the factor of each layer.

    `lost` says of each layer whether any token's rotation is explained by no position; a vector of zeros has none.
    """

    positions: np.ndarray
    factors: list[float]
    lost: list[bool]


class ExpectedRotation(NamedTuple):
    """Cosines, sines and the error that rounding allows, (batch, 1, n, pairs), for the positions of a call."""

    cos: torch.Tensor
    sin: torch.Tensor
    allowed: torch.Tensor
    padded: torch.Tensor


@dataclass(eq=False)
class RotationSteps:
    """Reader of the positions of many layers at once: those of the same shape are read together."""

    pairs: dict[str, tuple[int, tuple[Channels, ...]]] = field(default_factory=dict)
    expected: np.ndarray | None = None
    tables: dict[tuple[int, torch.dtype], ExpectedRotation] = field(default_factory=dict)

    def recovered(self, steps: Iterable[RotationStep], expected: np.ndarray) -> Iterator[RecoveredLayer]:
        """Recover the positions of each layer from its queries and keys before and after rotation.

        Args:
            steps: The layers.
            expected: Positions (batch, n, axes) that are tried first; NaN for padding.
        """
        if expected is not self.expected:
            self.expected, self.tables = expected, {}
        every = list(steps)
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, (name, meant, queries, keys) in enumerate(every):
            if name not in self.pairs:
                self.pairs[name] = _pairs_used(queries, meant)
            shape = queries.before.shape, keys.before.shape, queries.after.dtype, queries.after.device
            alike.setdefault((id(meant), self.pairs[name][0], shape), []).append(number)
        results: dict[int, RecoveredLayer] = {}
        for numbers in alike.values():
            size = max(1, TOGETHER // max(1, every[numbers[0]].queries.before.numel()))
            for start in range(0, len(numbers), size):
                own = numbers[start : start + size]
                results |= zip(own, self._read([every[number] for number in own], expected), strict=True)
        yield from (results[number] for number in range(len(every)))

    def _read(self, steps: list[RotationStep], expected: np.ndarray) -> Iterator[RecoveredLayer]:
        """Read layers of one shape."""
        sides = ([step.queries for step in steps], [step.keys for step in steps])
        queries, keys = (self._side(steps, side, expected) for side in sides)
        for number in range(len(steps)):
            read = queries.positions[number], keys.positions[number]
            lost = queries.lost[number] or keys.lost[number]
            yield RecoveredLayer(*read, (queries.factors[number], keys.factors[number]), lost)

    def _side(self, steps: list[RotationStep], vectors: list[Rotated], expected: np.ndarray) -> RecoveredSide:
        """Read the queries or the keys of layers of one shape."""
        meant, channels = steps[0].meant, self.pairs[steps[0].module][1]
        before, after = (torch.stack(each) if len(each) > 1 else each[0][None] for each in zip(*vectors, strict=True))
        real, imaginary, squares = _products(before, after, channels)
        lengths = squares.sum(-1)
        rounding = max(torch.finfo(after.dtype).eps / 2, FLOAT32)
        table = self._table(meant, expected, rounding, real)
        kept = real * table.cos + imaginary * table.sin
        turned = imaginary * table.cos - real * table.sin
        near = (turned.abs_() <= table.allowed * kept) & ((kept != 0) | (squares == 0))  # a zero fits every angle
        explained = near.all(-1) & (lengths > 0) | table.padded
        factor = torch.where(table.padded | (lengths == 0), torch.nan, kept.sum(-1) / lengths)
        shape = (*explained.shape, expected.shape[-1])
        positions, lost = np.broadcast_to(expected[None, :, None], shape), [False] * len(steps)
        if not bool(explained.all()):
            products = torch.complex(real, imaginary).cpu().numpy()
            size = torch.from_numpy(np.abs(products).sum(-1)).to(lengths)
            factor = torch.where(torch.isnan(factor), factor, size / lengths)
            zero = (lengths == 0).cpu().numpy()
            blank = zero | ((products == 0) & (squares > 0).cpu().numpy()).any(-1)
            positions = recovered_positions(products, meant, np.where(blank[..., None], np.nan, positions), rounding)
            lost = (np.isnan(positions).any(-1) & ~zero & ~table.padded.cpu().numpy()).any((1, 2, 3)).tolist()
        return RecoveredSide(positions, factor.flatten(1).nanmedian(1).values.tolist(), lost)

    def _table(
        self, meant: PairRotation, expected: np.ndarray, rounding: float, like: torch.Tensor
    ) -> ExpectedRotation:
        """Cosines and sines of a rotation at the expected positions, made once for all layers of a call."""
        key = id(meant), like.dtype
        if key not in self.tables:
            angles = np.nan_to_num(expected)[..., meant.axis] * meant.radians()
            allowed = allowed_share(angles, share_of_angle(meant), rounding)
            cos, sin, share = (torch.from_numpy(x[:, None]).to(like) for x in (np.cos(angles), np.sin(angles), allowed))
            padded = torch.from_numpy(np.isnan(expected).any(-1)[:, None]).to(like.device)
            self.tables[key] = ExpectedRotation(cos, sin, share, padded)
        return self.tables[key]


def _products(
    before: torch.Tensor, after: torch.Tensor, channels: tuple[Channels, ...]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Real and imaginary part of conj(before)·after, and the squared length of before, of each pair, (..., pairs)."""
    wide = torch.promote_types(before.dtype, torch.float32)
    b1, b2, a1, a2 = (
        side[..., own].to(wide) for side, own in zip((before, before, after, after), channels, strict=True)
    )
    real = (b1 * a1).addcmul_(b2, a2)
    imaginary = (b1 * a2).addcmul_(b2, a1, value=-1)
    return real, imaginary, (b1 * b1).addcmul_(b2, b2)


def _pairs_used(queries: Rotated, meant: PairRotation) -> tuple[int, tuple[Channels, ...]]:
    """Pairing that a layer uses, found by the pair lengths that a rotation keeps: the expected one where it fits."""
    own = meant.first, meant.second
    every = [(*own, *own)]
    low, high = min(*meant.first, *meant.second), max(*meant.first, *meant.second) + 1
    if high - low == 2 * meant.pairs:
        for before, after in PAIRINGS[1:]:
            every.append((*_channels(str(before), low, high), *_channels(str(after), low, high)))
    uneven = [_unevenness(queries, channels) for channels in every]
    if uneven[0] < torch.finfo(queries.after.dtype).eps * 32:
        uneven[0] = 0.0
    number = uneven.index(min(uneven))
    return number, tuple(_as_slice(each, queries.before.device) for each in every[number])


def _channels(layout: str, low: int, high: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    channels = tuple(range(low, high))
    if layout == "adjacent":
        return channels[0::2], channels[1::2]
    return channels[: len(channels) // 2], channels[len(channels) // 2 :]


def _as_slice(channels: tuple[int, ...], device: torch.device) -> Channels:
    """Channels as a slice where they are evenly spaced, which needs no copy."""
    steps = {b - a for a, b in pairwise(channels)} or {1}
    if len(steps) == 1 and (step := next(iter(steps))) > 0:
        return slice(channels[0], channels[-1] + 1, step)
    index: torch.Tensor = torch.tensor(channels, device=device)
    return index


def _unevenness(queries: Rotated, channels: tuple[tuple[int, ...], ...]) -> float:
    """Largest relative deviation of a pair's length ratio (after / before) from the median ratio."""
    x, y = queries.before[:1, 0, -1].double().cpu(), queries.after[:1, 0, -1].double().cpu()
    first, second, first_after, second_after = (list(each) for each in channels)
    before = (x[..., first] ** 2 + x[..., second] ** 2).sqrt()
    after = (y[..., first_after] ** 2 + y[..., second_after] ** 2).sqrt()
    ratio = after / before.clamp(min=1e-30)
    return float((ratio / ratio.median().clamp(min=1e-30) - 1).abs().max())
