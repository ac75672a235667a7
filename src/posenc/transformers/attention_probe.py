"""Measurement of an attention function while a model runs: what each query sees, and the scale of its logits.

The function is called again with the arguments that it was given, and with other queries, keys and values of the same
shapes. With values that are unit vectors it returns the attention probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from posenc.diagnosis.model_capture import spread_over_seen

Attend = Callable[..., Any]
#: Size of the drawn queries: their logits stay where a soft cap is linear.
SMALL = 0.25
#: How far probabilities times values may be from the output, of its largest number, in float32 and in narrower types.
TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}
NARROW_TOLERANCE = 0.05
#: Share of the logits' variance that rounding may leave off the line.
OFF_THE_LINE = 0.01


class Measurement(NamedTuple):
    """Measurements of one call of an attention function.

    Attributes:
        visible: Whether a head of a query gives a key any weight, (batch, queries, keys).
        scale: Number that q·k is multiplied by before the softmax; None where it is not shown.
        multiplies: Whether logits are proportional to q·k, except for a mask and a bias.
        sums_values: Whether the output is the sum of the given values by the probabilities of the given q and k.
        added: By how much logits of queries of zeros differ between keys that a head sees.
        heads_alike: Whether all heads of a query see the same keys.
    """

    visible: torch.Tensor
    scale: float | None
    multiplies: bool
    sums_values: bool
    added: float = 0.0
    heads_alike: bool = True


class _Attention(NamedTuple):
    """An attention function with its recorded arguments, to be called again with other queries, keys and values."""

    attend: Attend
    module: Any
    value: torch.Tensor
    rest: tuple[Any, ...]
    named: Any

    def output(self, q: Any, k: Any, v: Any) -> torch.Tensor:
        """Output (batch, queries, heads, channels)."""
        named = {name: 0.0 if name == "dropout" else given for name, given in self.named.items()}
        result: torch.Tensor = self.attend(self.module, q, k, v, *self.rest, **named)[0]
        return result.reshape(q.shape[0], q.shape[2], q.shape[1], -1).double()

    def probabilities(self, q: Any, k: Any) -> torch.Tensor:
        """Probabilities (batch, queries, heads, keys)."""
        value, width, keys = self.value, self.value.shape[-1], k.shape[2]
        columns = []
        for start in range(0, keys, width):
            unit = torch.zeros_like(value)
            count = min(width, keys - start)
            unit[:, :, start : start + count, :count] = torch.eye(count, dtype=value.dtype, device=value.device)
            columns.append(self.output(q, k, unit)[..., :count])
        return torch.cat(columns, -1)


def measure_visible(
    attend: Attend, module: Any, vectors: tuple[Any, Any, Any], rest: tuple[Any, ...], named: Any
) -> torch.Tensor:
    """Measure which keys an attention function lets each head of a query see, (batch, heads, queries, keys)."""
    query, key, value = (torch.zeros_like(vector) for vector in vectors)
    return (_Attention(attend, module, value, rest, named).probabilities(query, key) > 0).transpose(1, 2)


def measure_attention(
    attend: Attend, module: Any, vectors: tuple[Any, Any, Any], rest: tuple[Any, ...], named: Any
) -> Measurement:
    """Measure a transformers attention function by calling it again with other queries, keys and values."""
    query, key, value = vectors
    if not all(bool(torch.isfinite(one).all()) for one in vectors):  # nothing can be told from what this returns
        nothing = torch.zeros(query.shape[0], query.shape[2], key.shape[2], dtype=torch.bool)
        return Measurement(nothing, None, True, True)
    asked = _Attention(attend, module, value, rest, named)
    even = asked.probabilities(torch.zeros_like(query), key)
    seen = even > 0
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(one.shape, generator=draw).to(one) for one in (query, key))
    q = q * SMALL
    products = torch.einsum("bhqd,bhkd->bqhk", q.double(), _of_heads(k, q.shape[1]))
    expected = torch.einsum("bqhk,bhkd->bqhd", asked.probabilities(query, key), _of_heads(value, query.shape[1]))
    given = asked.output(query, key, value)
    sums = bool((given - expected).abs().max() <= TOLERANCE.get(query.dtype, NARROW_TOLERANCE) * given.abs().max())
    if not sums:
        return Measurement(seen.any(2).cpu(), None, True, False)
    slope, multiplies = _slope(asked.probabilities(q, k), even, seen, products)
    scale = slope if multiplies else None
    alike = bool((seen == seen[:, :, :1]).all())
    added = spread_over_seen(torch.where(seen, even, 1.0).log().cpu().numpy(), seen.cpu().numpy())
    return Measurement(seen.any(2).cpu(), scale, multiplies, True, added, alike)


def _of_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """Keys or values repeated for every query head, in float64."""
    return x.double().repeat_interleave(heads // x.shape[1], 1)


def _slope(
    weights: torch.Tensor, even: torch.Tensor, seen: torch.Tensor, products: torch.Tensor
) -> tuple[float | None, bool]:
    """Slope of the logits against q·k over the keys of each query, and whether they lie on a line."""
    both = seen & (weights > 0)
    ratio = torch.where(both, weights, 1.0).log() - torch.where(both, even, 1.0).log()
    y, x = (_centred(one, both) for one in (ratio, products))
    answers = (y != 0).any(-1, keepdim=True)
    if answers.any():  # a query of padding, from which every key is hidden, gives all keys the same weight
        x = x * answers
    power = float((x * x).sum())
    if power == 0.0:  # no query sees two keys
        return None, True
    slope = float((x * y).sum()) / power
    left = float(((y - slope * x) ** 2).sum() / (y * y).sum().clamp(min=1e-300))
    return slope, left < OFF_THE_LINE


def _centred(numbers: torch.Tensor, among: torch.Tensor) -> torch.Tensor:
    """Numbers minus their mean over the keys where `among` is True; 0 elsewhere."""
    kept = torch.where(among, numbers, 0.0)
    mean = kept.sum(-1, keepdim=True) / among.sum(-1, keepdim=True).clamp(min=1)
    return torch.where(among, kept - mean, 0.0)
