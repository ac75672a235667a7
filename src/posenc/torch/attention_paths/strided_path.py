"""Attention whose biases depend on the distance alone: one number a distance and head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from posenc.core import arrays
from posenc.torch.attention_paths import strided_gradient
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.attention_paths.strided_bias import strided, strided_attention
from posenc.torch.attention_paths.tiles import rotated_back, rotated_vectors
from posenc.torch.attention_paths.vanishing import FEWEST_QUERIES, SMALLEST_POWER, largest_difference
from posenc.torch.attention_paths.visible import unsupported_steps


def unsupported_reason(call: AttentionCall) -> str | None:
    """Why the biases are not one number a distance; None where they are."""
    for bias in call.biases:
        if bias.encoding.axes != 1 or "relative" not in bias.encoding.claims:
            return f"{type(bias.encoding).__name__} does not depend on the distance alone"
    if not call.biases:
        return "no encoding is a bias"
    if call.scores:
        return f"{type(call.scores[0].encoding).__name__} reads content"
    if call.mask is not None:
        return "a mask hides pairs that no distance tells"
    if call.documents is not None:
        return "documents share a row, so one distance means several pairs"
    if call.dropout:
        return "dropout needs the weights of whole tiles"
    if not call.queries or not call.keys:
        return "there are no pairs"
    if trains(call) and not arrays.library(call.q).concrete(call.q):
        return "the gradient of what a bias learns is its own on a processor alone"
    if trains(call) and call.queries > call.keys:
        return "a query that sees no key has no gradient here"
    return _unsupported_positions(call)


def trains(call: AttentionCall) -> bool:
    """Whether autograd records what a bias learns."""
    return call.recorded and any(bias.params for bias in call.biases)


def _unsupported_positions(call: AttentionCall) -> str | None:
    """Distances of positions are distances of indices, counted from the ends, where both rise by one and end together."""
    reason = unsupported_steps(call)
    if reason is not None:
        return reason
    bounded = call.causal or call.window != (None, None)
    if bounded and not (call.query_positions[..., -1].double() == call.key_positions[..., -1].double()).all():
        return "the last query is not at the position of the last key"
    return None


def attend(call: AttentionCall) -> Any:
    """The output, (batch, heads, n, width)."""
    q, k, v = rotated_vectors(call)
    dtype = arrays.library(q).wide_dtype(q.dtype)
    views = [
        strided(bias.encoding, call.query_positions, call.key_positions, bias.params, causal=call.causal, dtype=dtype)
        for bias in call.biases
    ]
    numbers = views[0].numbers
    for view in views[1:]:
        numbers = numbers + view.numbers
    bias = replace(views[0], numbers=_without_vanishing_weights(call, q, k, _within(call, numbers)))
    attended = strided_gradient.attend_with_gradient if trains(call) else strided_attention
    return rotated_back(call, attended(q, k, v, bias, scale=call.scale), call.query_positions)


def _without_vanishing_weights(call: AttentionCall, q: Any, k: Any, numbers: Any) -> Any:
    """-inf at the distances whose weight vanishes against that of a query's own key, whatever stands there.

    A processor takes several times as long for weights that are almost zero in float32: subnormal numbers, from e^-87
    on. |scale·q·k| is at most the product of the greatest lengths, by which a bias is compared.
    """
    own = numbers[..., call.keys - 1 : call.keys]
    few = call.queries < FEWEST_QUERIES
    if few or call.queries > call.keys or q.dtype == torch.float64 or not arrays.library(q).concrete(q):
        return numbers
    if not (numbers[..., : call.keys] < own - SMALLEST_POWER).any():
        return numbers
    return numbers.masked_fill(numbers < own - SMALLEST_POWER - largest_difference(call, q, k), float("-inf"))


def _within(call: AttentionCall, numbers: Any) -> Any:
    """-inf at the distances that the window leaves out."""
    if call.window == (None, None):
        return numbers
    count = numbers.shape[-1]
    before, after = (count if side is None else side for side in call.window)
    ahead = torch.arange(count, device=numbers.device) - (call.keys - 1)
    return numbers.masked_fill((ahead < -before) | (ahead > after), float("-inf"))
