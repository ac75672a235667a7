"""Where the vectors that reach attention come from: a projection, a rotation, or neither."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import torch

from posenc.diagnosis.model_capture import ValueSource

#: How far the cosine between two vectors may be from 1 for one to be a multiple of the other: float32, narrower types.
ALIKE, ALIKE_IN_16_BITS = 1e-5, 1e-3
#: How far a ratio of lengths may be from 1 for vectors to be equally long.
AS_LONG = 1e-3


ONE = torch.ones(1)


class ChannelWindow(NamedTuple):
    """First channel at which some vectors hold multiples of others, and the ratios of their lengths.

    Attributes:
        start: First of the channels.
        ratio: Length of each of the other vectors divided by that of its multiple, (batch, heads, n).
    """

    start: int
    ratio: torch.Tensor


def by_heads(x: torch.Tensor, batch: int, length: int) -> Iterator[torch.Tensor]:
    """Views of a tensor as (batch, heads, length, channels), with one head where it has none; several if ambiguous."""
    if x.dim() == 4 and x.shape[0] == batch:
        if x.shape[2] == length:
            yield x
        if x.shape[1] == length:
            yield x.transpose(1, 2)
    elif x.dim() == 3 and x.shape[:2] == (batch, length):
        yield x.unsqueeze(1)
    elif x.dim() == 3 and batch == 1 and x.shape[0] == length:
        yield x.transpose(0, 1).unsqueeze(0)
    elif x.dim() == 2 and x.shape[0] == batch * length:
        yield x.reshape(batch, 1, length, -1)


def flattened(x: torch.Tensor, batch: int, length: int) -> Iterator[torch.Tensor]:
    """As `by_heads`, with the channels of all heads in one row: (batch, 1, length, channels)."""
    for view in by_heads(x, batch, length):
        yield view.transpose(1, 2).reshape(batch, 1, length, -1)


def window_of(part: torch.Tensor, whole: torch.Tensor) -> ChannelWindow | None:
    """The channels of `whole` that are multiples of `part`, vector by vector; None where there are none.

    Args:
        part: Vectors (batch, heads, n, r).
        whole: Vectors (batch, heads or 1, n, W).
    """
    width = part.shape[-1]
    if width > whole.shape[-1] or whole.shape[1] not in (1, part.shape[1]):
        return None
    allowed = ALIKE if min(torch.finfo(one.dtype).bits for one in (part, whole)) > 16 else ALIKE_IN_16_BITS
    part, whole = part.double(), whole.double()
    row = whole[-1, 0, -1].unfold(0, width, 1)
    for start in torch.nonzero(_cosine(row, part[-1, 0, -1]) > 1 - allowed).flatten().tolist():
        channels = whole[..., start : start + width].expand_as(part)
        if bool((_cosine(channels, part) > 1 - allowed).all()):
            return ChannelWindow(start, _ratio(part, channels))
    return None


class RotationCall(NamedTuple):
    """Tensors that a function which rotates was given, and those it returned."""

    before: list[torch.Tensor]
    after: list[torch.Tensor]


class Projection(NamedTuple):
    """Output of a linear layer or a norm, and its input where that has the same shape."""

    output: torch.Tensor
    input: torch.Tensor | None


class Traced(NamedTuple):
    """Queries or keys before rotation and as they reach attention, and their scale factor; None if unknown.

    Where nothing rotates them, `before` and `after` are the same.
    """

    before: torch.Tensor
    after: torch.Tensor
    factor: float | None


class Sources(NamedTuple):
    """Tensors that an attention module computed before it called its attention function."""

    rotations: list[RotationCall]
    projections: list[Projection]

    def trace(self, x: torch.Tensor, number: int) -> Traced | None:
        """Trace queries (`number` 0) or keys (1), (batch, heads, n, d), to their source; None if none is found.

        Where the result of no rotation reaches attention, something else is taken to rotate after it: then the vectors
        that do reach attention count as rotated.
        """
        if not bool(torch.isfinite(x).all()):
            return self._not_finite(x, number)
        for call in reversed(self.rotations):
            for before, after in zip(call.before, call.after, strict=True):
                found = self._through(before, after, x)
                if found is not None:
                    return found
        projected = self._projected(x)
        if projected is not None:
            return Traced(x, x, projected)
        for call in self.rotations:
            if number < len(call.before):
                return self._replaced(call.before[number], x)
        return None

    def _not_finite(self, x: torch.Tensor, number: int) -> Traced | None:
        """Trace vectors with NaN or infinities to the rotation that produced these; None if its input had them."""
        batch, _, length, _ = x.shape
        for call in self.rotations:
            pairs = list(zip(call.before, call.after, strict=True))
            before, after = pairs[min(number, len(pairs) - 1)]
            if bool(torch.isfinite(before).all()) and not bool(torch.isfinite(after).all()):
                views = zip(by_heads(before, batch, length), by_heads(after, batch, length), strict=True)
                return next((Traced(start, end, None) for start, end in views), None)
        return None

    def _through(self, before: torch.Tensor, after: torch.Tensor, x: torch.Tensor) -> Traced | None:
        """Trace vectors through one rotation; None where they are not its result, nor a norm of it."""
        batch, heads, length, _ = x.shape
        views = zip(by_heads(before, batch, length), by_heads(after, batch, length), strict=True)
        for start, end in views:
            if heads % end.shape[1]:
                continue
            every = x[:, :: heads // end.shape[1]]
            normed = [one.output for one in self.projections if one.input is not None and _is_in(end, one.input)]
            found = window_of(end, every) or next((ChannelWindow(0, ONE) for one in normed if _is_in(every, one)), None)
            if found is not None:
                first, projected = self._from_projection(self._first(start))
                ratio = constant(found.ratio)
                return Traced(first, end, None if ratio is None or projected is None else projected / ratio)
        return None

    def _first(self, x: torch.Tensor) -> torch.Tensor:
        """The vectors before every rotation, where several follow one another."""
        batch, _, length, _ = x.shape
        for call in self.rotations:
            for before, after in zip(call.before, call.after, strict=True):
                for start, end in zip(by_heads(before, batch, length), by_heads(after, batch, length), strict=True):
                    if end.shape == x.shape and torch.equal(end, x) and not torch.equal(start, x):
                        return self._first(start)
        return x

    def _from_projection(self, x: torch.Tensor) -> tuple[torch.Tensor, float | None]:
        """Vectors as a projection gave them, and their factor; channels with the same vector lengths also match.

        Code that rotates vectors between their projection and the traced rotation keeps their lengths.
        """
        factor = self._projected(x)
        if factor is not None:
            return x, factor
        batch, _, length, width = x.shape
        for projection in reversed(self.projections):
            for view in flattened(projection.output, batch, length):
                starts = [_as_long(one, view) for one in x.split(1, 1)]
                known = [start for start in starts if start is not None]
                # Lengths of one token are alike by chance in some channels; those of different heads do not overlap.
                if len(known) == len(starts) and all(two - one >= width for one, two in pairwise(sorted(set(known)))):
                    return torch.cat([view[..., start : start + width] for start in known], 1), 1.0
        return x, None

    def _projected(self, x: torch.Tensor) -> float | None:
        """The factor by which vectors are a multiple of a projection; None where they are not."""
        batch, _, length, _ = x.shape
        for projection in reversed(self.projections):
            for view in flattened(projection.output, batch, length):
                if (found := window_of(x[:, :1], view)) is not None:
                    return constant(found.ratio)
        return None

    def _replaced(self, before: torch.Tensor, x: torch.Tensor) -> Traced | None:
        """Find channels of x whose vectors have lengths in a fixed ratio to those of `before`, as rotated ones do."""
        batch, heads, length, dim = x.shape
        for start in by_heads(before, batch, length):
            width = start.shape[-1]
            if start.shape[1] != heads or width > dim:
                continue
            windows = (x[..., at : at + width] for at in dict.fromkeys((0, dim - width)))
            after = next(
                (one for one in windows if constant(vector_lengths(one) / vector_lengths(start)) is not None), None
            )
            if after is not None:
                return Traced(self._first(start), after, None)
        return None

    def of_values(self, v: torch.Tensor) -> ValueSource:
        """Source of values (batch, heads, n, d); a match with a projection by length alone counts as "rotation"."""
        batch, heads, length, _ = v.shape
        for call in self.rotations:
            for after in call.after:
                for end in by_heads(after, batch, length):
                    if heads % end.shape[1] == 0 and window_of(end, v[:, :: heads // end.shape[1]]) is not None:
                        return "rotation"
        if self._projected(v) is not None:
            return "projection"
        outputs = [view for one in self.projections for view in flattened(one.output, batch, length)]
        return "rotation" if any(_as_long(v[:, :1], output) is not None for output in outputs) else "other"


def constant(ratio: torch.Tensor) -> float | None:
    """Median of ratios that agree with it within 1 %; None where they differ more."""
    middle = float(ratio.median())
    return middle if float((ratio - middle).abs().max()) <= 1e-2 * abs(middle) else None


def vector_lengths(x: torch.Tensor) -> torch.Tensor:
    """Length of each vector."""
    return x.double().norm(dim=-1).clamp(min=1e-300)


def _is_in(part: torch.Tensor, whole: torch.Tensor) -> bool:
    """Whether channels of `whole`, of any shape, are multiples of the first head of `part`."""
    batch, _, length, _ = part.shape
    return any(window_of(part[:, :1], view) is not None for view in flattened(whole, batch, length))


def _as_long(part: torch.Tensor, whole: torch.Tensor) -> int | None:
    """First of the channels of `whole` (batch, 1, n, W) with vectors as long as those of one head (batch, 1, n, r)."""
    width = part.shape[-1]
    if width > whole.shape[-1]:
        return None
    of_windows = whole.double().unfold(-1, width, 1).norm(dim=-1)
    gaps = (of_windows / vector_lengths(part).unsqueeze(-1) - 1).abs().amax((0, 1, 2))
    start = int(gaps.argmin())
    return start if float(gaps[start]) < AS_LONG else None


def _ratio(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return one.norm(dim=-1) / other.norm(dim=-1).clamp(min=1e-300)


def _cosine(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Cosine between vectors; 1 where both are zero."""
    lengths = one.norm(dim=-1) * other.norm(dim=-1)
    both_zero = (one.norm(dim=-1) == 0) & (other.norm(dim=-1) == 0)
    return torch.where(both_zero, 1.0, (one * other).sum(-1) / lengths.clamp(min=1e-300))
