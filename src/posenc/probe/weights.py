"""Weights of a probe: every query token asks one channel, and every layer writes its weight on the key token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posenc.probe.architecture import ProbeArchitecture, Sizes
from posenc.probe.bucket_weights import bucket_tensors
from posenc.probe.latent_weights import VALUES, latent_projections
from posenc.probe.stream import FILLER, FIRST_QUERY, KEY, LAYER_BALANCE, LAYER_SHARE, TIED_NORM, TOKEN_VALUE, Stream

Tensors = dict[str, np.ndarray]
#: Logit of an attention sink, which must not count.
NO_SINK = -1e4


class ProbePlan(NamedTuple):
    """Questions of a probe, and how it is built.

    Args:
        architecture: Names and forms of its tensors.
        stream: Channels of the residual stream.
        sizes: Its widths.
        first: The first channel of a head that is asked.
        scale: Factor of logits that the config states: z = scale·q·k.
        gain: Size of the scores that are asked for, scale·q·k of one channel before any rotation.
    """

    architecture: ProbeArchitecture
    stream: Stream
    sizes: Sizes
    first: int
    scale: float
    gain: float


def probe_tensors(plan: ProbePlan) -> Tensors:
    """Every tensor of the checkpoint by name, float32."""
    row, stream, sizes = plan.architecture, plan.stream, plan.sizes
    if row.quantity == "bucket":
        return bucket_tensors(stream, sizes, row.own_tables)
    tensors = {row.embedding: stream.embedding(row.tied)}
    if not row.tied:
        tensors[row.head] = stream.head(share=1.0 if row.prediction else LAYER_SHARE)
    if row.prediction:
        tensors[f"{row.prediction}.weight"] = stream.prediction()
        tensors |= _norm(row, row.prediction_norm, 1.0, sizes.hidden)
    tensors |= {name: np.zeros(sizes.shape(letters), np.float32) for name, letters in row.outside.items()}
    tensors |= {} if row.vision is None else row.vision.zeros(sizes)
    if row.final:
        tensors |= _norm(row, row.final, TIED_NORM if row.tied else 1.0, sizes.hidden)
    if row.table:
        tensors[row.table] = stream.table(sizes.rows)
    if row.embedding_norm:
        weight = TOKEN_VALUE / stream.unit if row.first_norm else 1.0
        tensors |= _norm(row, row.embedding_norm, weight, sizes.hidden)
    for layer in range(stream.layers):
        prefix = row.layer.format(layer)
        tensors |= {f"{prefix}{name}": array for name, array in _layer(plan, layer).items()}
    return {name: np.ascontiguousarray(array, np.float32) for name, array in tensors.items()}


def _norm(row: ProbeArchitecture, name: str, weight: float, width: int) -> Tensors:
    weights = {f"{name}.weight": np.full(width, weight - row.norm_offset, np.float32)}
    return weights | ({f"{name}.bias": np.zeros(width, np.float32)} if row.biased_norms else {})


def _layer(plan: ProbePlan, layer: int) -> Tensors:
    row, sizes = plan.architecture, plan.sizes
    tensors = {name: np.zeros(sizes.shape(letters), np.float32) for name, letters in row.zeros.items()}
    first = row.input_norm if layer or row.first_norm else ""
    for name in filter(None, (first, *row.other_norms)):
        tensors |= _norm(row, name, 1.0, sizes.hidden)
    if row.output_norm:
        tensors |= _norm(row, row.output_norm, _written(plan) / sizes.hidden**0.5, sizes.hidden)
    if row.sinks:
        tensors[row.sinks] = np.full(sizes.heads, NO_SINK, np.float32)
    tensors |= _query_and_key_norms(plan)
    if row.latent:
        tensors |= latent_projections(plan.stream, sizes, plan.first, plan.gain / plan.scale)
        output = np.zeros((sizes.hidden, sizes.heads * VALUES), np.float32)
        _output(output, plan, layer, VALUES)
        return tensors | {f"{row.o}.weight": output}
    return tensors | _projections(plan, layer)


def _written(plan: ProbePlan) -> float:
    """Return the value that a layer adds to the stream for an attention weight of 1."""
    scale = plan.sizes.hidden**0.5 if plan.architecture.scaled_embedding else 1.0
    token = TOKEN_VALUE if plan.architecture.first_norm else plan.stream.unit
    return token * LAYER_SHARE * scale


def _query_and_key_norms(plan: ProbePlan) -> Tensors:
    """Make the norms of queries and keys; the queries' weight sets their size, which the norm removes."""
    row, sizes = plan.architecture, plan.sizes
    if not row.q_norm:
        return {}
    widths = [heads * sizes.head if row.wide_norm else sizes.head for heads in (sizes.heads, sizes.groups)]
    # All heads ask one channel: it comes out of a norm of one head, and of all of them, as √width of a head.
    query = plan.gain / plan.scale / np.sqrt(sizes.head)
    return _norm(row, row.q_norm, query, widths[0]) | _norm(row, row.k_norm, 1.0, widths[1])


def _projections(plan: ProbePlan, layer: int) -> Tensors:
    """Projections of queries, keys, values and the output, (out, in)."""
    row, stream, sizes = plan.architecture, plan.stream, plan.sizes
    unit = stream.unit if row.input_norm else TOKEN_VALUE
    q = np.zeros((sizes.heads * sizes.head, sizes.hidden), np.float32)
    k, v = (np.zeros((sizes.groups * sizes.head, sizes.hidden), np.float32) for _ in range(2))
    o = np.zeros((sizes.hidden, sizes.heads * sizes.head), np.float32)
    asked = np.arange(stream.queries)
    of_heads = q.reshape(sizes.heads, sizes.head, sizes.hidden)
    of_heads[:, plan.first + asked, FIRST_QUERY + asked] = plan.gain / plan.scale / unit
    k[:, KEY] = 1 / unit
    _values(v, sizes, unit, FILLER if row.encoder else stream.constant)
    _output(o, plan, layer, sizes.head)
    if row.fused is None:
        named = {row.q: q, row.k: k, row.v: v, row.o: o}
    else:
        named = {row.q: _fused(row, sizes, q, k, v), row.o: o}
    return {f"{name}.weight": array.T if row.transposed else array for name, array in named.items()}


def _values(v: np.ndarray, sizes: Sizes, unit: float, compared: int) -> None:
    """Set the value projection: a head's channel 0 is 1 for the key token, its channel 1 for tokens of `compared`.

    These are all tokens, or, in an encoder, those that fill: a query sees tokens on both sides, some in no window.
    """
    for head in range(sizes.groups):
        v[head * sizes.head, KEY] = v[head * sizes.head + 1, compared] = 1 / unit


def _output(o: np.ndarray, plan: ProbePlan, layer: int, width: int) -> None:
    """Set the output projection: first values go to the channels of weights, second ones to that of the layer's sum.

    Heads that share a channel, where the stream has fewer channels than heads, write the mean of their weights.
    """
    stream = plan.stream
    size = 1.0 if plan.architecture.output_norm else _written(plan)
    together = plan.sizes.heads // stream.heads
    for head in range(plan.sizes.heads):
        o[stream.weight(layer, head // together), head * width] = size / together
    for head in range(together):
        o[stream.whole(layer), head * width + 1] = size / together
    if stream.balanced:
        o[LAYER_BALANCE] = -o.sum(0)


def _fused(row: ProbeArchitecture, sizes: Sizes, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Fuse the three projections into one: all queries first, or head by head."""
    if row.fused == "concatenated":
        return np.concatenate([q, k, v])
    by_head = [array.reshape(sizes.heads, sizes.head, -1) for array in (q, k, v)]
    return np.stack(by_head, 1).reshape(3 * sizes.heads * sizes.head, -1)
