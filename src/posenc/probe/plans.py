"""Widths of a probe: as narrow as its questions allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc.compose import Partial
from posenc.core.doors import AttentionBias, RotaryEncoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.model_positions import ModelPositions
from posenc.models.pair_rotation import pair_rotation
from posenc.probe.architecture import ProbeArchitecture, Sizes
from posenc.probe.bucket_weights import HEADS, bucket_head_width
from posenc.probe.gguf_keys import scaled_by_layers
from posenc.probe.stream import LAST_CHANNELS, Stream, hidden_width
from posenc.probe.weights import ProbePlan

#: Size of the scores that are asked for: large enough to be read, small enough that no weight vanishes.
GAIN = 2.0
#: The most rows of a table that are written.
MOST_ROWS = 1 << 17
#: The most buckets that are told apart.
MOST_BUCKETS = 256


def plan_of(row: ProbeArchitecture, positions: ModelPositions, config: Mapping[str, Any], layers: int) -> ProbePlan:
    """Plan a probe of `layers` layers for these positions.

    Raises:
        ValueError: The positions are not of the kind that the architecture is known for.
    """
    if row.quantity == "row":
        return _table_plan(row, positions, layers)
    if row.quantity == "bucket":
        return _bucket_plan(row, positions, layers)
    if row.quantity == "bias":
        return _bias_plan(row, positions, layers)
    return _rotation_plan(row, positions, layers)


def _rotation_plan(row: ProbeArchitecture, positions: ModelPositions, layers: int) -> ProbePlan:
    rotations = {group.rotary_encoding for group in positions.groups} - {None}
    widths = {pair.dim for one in rotations if one and (pair := pair_rotation(one)) is not None}
    factors = {group.logit_factor for group in positions.groups}
    several = row.vision is None and any(one.axes > 1 for one in rotations if one is not None)
    if len(widths) != 1 or len(factors) != 1 or several:
        raise ValueError(
            "config must rotate heads of one width, by fixed angles of one position; got widths "
            f"{sorted(widths)}. No probe can be written for it yet."
        )
    (head,), (factor,) = widths, factors
    first = min(_start(one) for one in rotations if one is not None) if row.latent else 0
    queries = head - first
    share = scaled_width(row, head, factor)
    stream = Stream(queries, layers, 0, balanced=row.balanced)
    hidden = hidden_width(stream.vocabulary + LAST_CHANNELS, queries if row.latent else share)
    stream = Stream(queries, layers, hidden, balanced=row.balanced)
    heads = 1 if row.latent else hidden // share
    groups = 1 if row.one_key_head else heads
    return ProbePlan(
        row, stream, Sizes(hidden, head, heads, groups, stream.vocabulary), first, factor / head**0.5, GAIN
    )


def scaled_width(row: ProbeArchitecture, head: int, factor: float) -> int:
    """Return the stream's width for each head: the head's own, unless llama.cpp scales logits by the stream's width.

    It does so in the largest Gemma, whose key for it GGUF lacks; in the others the width says nothing of positions.
    """
    return round(head / factor**2) if scaled_by_layers(row) else head


def _start(encoding: RotaryEncoding) -> int:
    return encoding.start if isinstance(encoding, Partial) else 0


def _bias_plan(row: ProbeArchitecture, positions: ModelPositions, layers: int) -> ProbePlan:
    encodings = [one for group in positions.groups for one in group.encodings if isinstance(one, AttentionBias)]
    heads = encodings[0].heads if encodings else None
    if heads is None:
        raise ValueError(
            f"config must bias attention for a probe of {positions.model_type}; it does not. No probe can be written."
        )
    features = Stream(0, layers, 0, heads=heads).vocabulary + LAST_CHANNELS
    head = 2 * -(-features // (2 * heads))
    stream = Stream(0, layers, heads * head, heads=heads, balanced=row.balanced)
    return ProbePlan(row, stream, Sizes(heads * head, head, heads, heads, stream.vocabulary), 0, head**-0.5, 1.0)


def _bucket_plan(row: ProbeArchitecture, positions: ModelPositions, layers: int) -> ProbePlan:
    encodings = [one for group in positions.groups for one in group.encodings if isinstance(one, T5Bias)]
    buckets = {one.buckets for one in encodings}
    if len(buckets) != 1 or max(buckets) > MOST_BUCKETS:
        raise ValueError(
            f"config must have one number of buckets, at most {MOST_BUCKETS}; got {sorted(buckets)}. No probe can be "
            "written for it."
        )
    stream = Stream(2, 2 * layers, 0, heads=HEADS)
    head = bucket_head_width(layers)
    hidden = hidden_width(stream.vocabulary + LAST_CHANNELS, 16)
    stream = Stream(2, 2 * layers, hidden, heads=HEADS)
    return ProbePlan(row, stream, Sizes(hidden, head, HEADS, HEADS, stream.vocabulary, rows=buckets.pop()), 0, 1.0, 1.0)


def _table_plan(row: ProbeArchitecture, positions: ModelPositions, layers: int) -> ProbePlan:
    tables = [one for group in positions.groups for one in group.encodings if isinstance(one, Learned)]
    if len(tables) != 1 or tables[0].length > MOST_ROWS:
        raise ValueError(
            f"config must have one learned table of at most {MOST_ROWS:,} positions; got {tables!r:.100}. No probe can "
            "be written for it."
        )
    rows = tables[0].length
    stream = Stream(0, layers, 0, bits=(rows - 1).bit_length() or 1, balanced=row.balanced)
    hidden = hidden_width(stream.vocabulary + LAST_CHANNELS, 16)
    stream = Stream(0, layers, hidden, bits=stream.bits, balanced=row.balanced)
    return ProbePlan(row, stream, Sizes(hidden, hidden, 1, 1, stream.vocabulary, rows=rows), 0, hidden**-0.5, 1.0)
