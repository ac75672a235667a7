"""Attention whose biases depend on the distance alone: one number a distance and head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths import strided_gradient
from posenc.torch.attention_paths.arguments import Arguments
from posenc.torch.attention_paths.strided_bias import strided, strided_attention
from posenc.torch.attention_paths.tiles import rotated_back, rotated_vectors
from posenc.torch.attention_paths.vanishing import FEWEST_QUERIES, SMALLEST_POWER, largest_difference
from posenc.torch.attention_paths.visible import unsupported_steps


def unsupported_reason(asked: Arguments) -> str | None:
    """Why the biases are not one number a distance; None where they are."""
    for bias in asked.biases:
        if bias.encoding.axes != 1 or "relative" not in bias.encoding.claims:
            return f"{type(bias.encoding).__name__} does not depend on the distance alone"
    if not asked.biases:
        return "no encoding is a bias"
    if asked.scores:
        return f"{type(asked.scores[0].encoding).__name__} reads content"
    if asked.mask is not None:
        return "a mask hides pairs that no distance tells"
    if asked.documents is not None:
        return "documents share a row, so one distance means several pairs"
    if asked.dropout:
        return "dropout needs the weights of whole tiles"
    if not asked.queries or not asked.keys:
        return "there are no pairs"
    if trains(asked) and not arrays.library(asked.q).concrete(asked.q):
        return "the gradient of what a bias learns is its own on a processor alone"
    if trains(asked) and asked.queries > asked.keys:
        return "a query that sees no key has no gradient here"
    return _unsupported_positions(asked)


def trains(asked: Arguments) -> bool:
    """Whether autograd records what a bias learns."""
    return asked.recorded and any(bias.params for bias in asked.biases)


def _unsupported_positions(asked: Arguments) -> str | None:
    """Distances of positions are distances of indices, counted from the ends, where both rise by one and end together."""
    reason = unsupported_steps(asked)
    if reason is not None:
        return reason
    bounded = asked.causal or asked.window != (None, None)
    if bounded and not (asked.query_positions[..., -1].double() == asked.key_positions[..., -1].double()).all():
        return "the last query is not at the position of the last key"
    return None


def attend(asked: Arguments) -> Any:
    """The output, (batch, heads, n, width)."""
    q, k, v = rotated_vectors(asked)
    dtype = arrays.library(q).wide_dtype(q.dtype)
    views = [
        strided(
            bias.encoding, asked.query_positions, asked.key_positions, bias.params, causal=asked.causal, dtype=dtype
        )
        for bias in asked.biases
    ]
    numbers = views[0].numbers
    for view in views[1:]:
        numbers = numbers + view.numbers
    bias = replace(views[0], numbers=_without_vanishing_weights(asked, q, k, _within(asked, numbers)))
    attended = strided_gradient.attend_with_gradient if trains(asked) else strided_attention
    return rotated_back(asked, attended(q, k, v, bias, scale=asked.scale), asked.query_positions)


def _without_vanishing_weights(asked: Arguments, q: Any, k: Any, numbers: Any) -> Any:
    """-inf at the distances whose weight vanishes against that of a query's own key, whatever stands there.

    A processor takes several times as long for weights that are almost zero in float32: subnormal numbers, from e^-87
    on. |scale·q·k| is at most the product of the greatest lengths, by which a bias is compared.
    """
    own = numbers[..., asked.keys - 1 : asked.keys]
    few = asked.queries < FEWEST_QUERIES
    if few or asked.queries > asked.keys or q.dtype == torch.float64 or not arrays.library(q).concrete(q):
        return numbers
    if not (numbers[..., : asked.keys] < own - SMALLEST_POWER).any():
        return numbers
    return numbers.masked_fill(numbers < own - SMALLEST_POWER - largest_difference(asked, q, k), float("-inf"))


def _within(asked: Arguments, numbers: Any) -> Any:
    """-inf at the distances that the window leaves out."""
    if asked.window == (None, None):
        return numbers
    count = numbers.shape[-1]
    before, after = (count if side is None else side for side in asked.window)
    ahead = torch.arange(count, device=numbers.device) - (asked.keys - 1)
    return numbers.masked_fill((ahead < -before) | (ahead > after), float("-inf"))
