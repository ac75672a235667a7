"""Mistakes in biases of distance, ALiBi's and T5's: their slopes, buckets, heads, sign, positions and factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.diagnosis.bias.bias_usage import BiasUsage
from posenc.diagnosis.bias.observed_biases import ObservedBiases
from posenc.diagnosis.mistake import Change, Mistake, Words, fewest_digits, from_defaults, setting, with_fields
from posenc.diagnosis.nearest_heads import nearest_heads
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.inspect.rounding import NARROW_TYPES

Changes = Iterator[tuple[BiasUsage | None, Words]]
#: What released models have, and what code is wrongly written with.
RULES = ("paper", "geometric", "linear")
STEEPEST = (4.0, 6.0, 16.0)
DISTANCES = (16, 32, 64, 128, 256, 512, 800, 1024)
BUCKETS = (16, 32, 64)
SHARDS = (2, 4, 8)


def times(usage: BiasUsage, factor: float) -> BiasUsage:
    return replace(usage, factor=usage.factor * factor)


def with_encoding(usage: BiasUsage, **fields: Any) -> BiasUsage | None:
    """Replace fields of the usage's encoding; None where it lacks them, or its constructor rejects them."""
    encoding = with_fields(usage.encoding, **fields)
    return None if encoding is None else replace(usage, encoding=encoding)


def bias_field(name: str, *values: Any) -> Change[BiasUsage]:
    """Build the mistake that gives a field of the encoding another of these values."""

    def change(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
        stated = getattr(usage.encoding, name, None)
        for value in values:
            yield with_encoding(usage, **{name: value}), {"got": value, "meant": stated}

    return change


def multiplied(factor: float) -> Change[BiasUsage]:
    return lambda usage, evidence: [(times(usage, factor), {})]


def before_or_after_root(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Yield the bias added before the logits are divided by √d where after is meant, and the reverse."""
    if evidence.head_dim is not None:
        root = evidence.head_dim**0.5
        yield times(usage, 1 / root), {"message": f"divided by √{evidence.head_dim} with the logits"}
        yield times(usage, root), {"message": f"not divided by √{evidence.head_dim} with the logits"}


def first_slope(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Yield slopes 2^(-steepest·h/heads) whose h counts heads from 0, or from 2, in place of 1."""
    if isinstance(usage.encoding, ALiBi) and not usage.of_shard:
        steps, first = _slope_steps(usage.encoding), float(usage.encoding.slopes()[0])
        for power, got in ((1, "0"), (-1, "2")):
            factors = tuple((steps**power).tolist())
            words = {"got": got, "slope": f"{first * factors[0]:.6g}"}
            alike = len(set(factors)) == 1
            yield times(usage, factors[0]) if alike else from_defaults(usage, head_factors=factors), words


def _slope_steps(encoding: ALiBi) -> np.ndarray:
    """Ratio of the previous head's slope to each head's own, within its geometric sequence; (heads,)."""
    heads, below = encoding.heads, 1 << (encoding.heads.bit_length() - 1)
    if encoding.rule == "linear":
        return np.full(heads, 2.0 ** ((encoding.steepest - 1.0) / (heads - 1)))
    if encoding.rule == "geometric" or heads == below:
        return np.full(heads, 2.0 ** (encoding.steepest / heads))
    return 2.0 ** (encoding.steepest / np.where(np.arange(heads) < below, below, 2 * below))


def factor(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Yield another factor of the bias, fitted to the observed numbers."""
    if evidence.reads_table_off(usage):
        return
    expected, rest = _expected_and_shown(replace(usage, factor=1.0), evidence.subsample)
    size = float((expected * expected).sum())
    shown = float((expected * rest).sum()) / size if size else 0.0
    if 1e-6 < abs(shown) < 1e6:
        for got in (fewest_digits(shown), shown):
            yield replace(usage, factor=got), {"got": got, "meant": usage.factor}


def _expected_and_shown(
    usage: BiasUsage, evidence: ObservedBiases, by_all_heads: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Biases of the usage, and the observed ones, (heads, n, m); each row less its mean.

    Heads that are compared with each other need the same keys: those that all of them show.
    """
    shown = evidence.gap(replace(usage, factor=0.0))
    expected = usage.biases(evidence.query_positions, evidence.key_positions, evidence.table)
    finite = np.isfinite(shown)
    finite = np.broadcast_to(finite.all(0), finite.shape) if by_all_heads else finite
    return _less_row_mean(expected, finite), _less_row_mean(shown, finite)


def _less_row_mean(part: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Subtract from each row the mean of its finite numbers; 0 where a number is not finite."""
    count = np.maximum(finite.sum(-1, keepdims=True), 1)
    kept = np.where(finite, part, 0.0)
    return np.where(finite, kept - kept.sum(-1, keepdims=True) / count, 0.0)


def head_order(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    heads = usage.encoding.heads
    yield from_defaults(usage, order=tuple(range(heads))[::-1]), {"message": "stand in the opposite order"}
    for local in (heads // shards for shards in SHARDS if heads % shards == 0 and heads > shards):
        order = tuple(head % local for head in range(heads))
        message = f"are those of the first {local}, again and again, as on shards that each count from 0"
        yield from_defaults(usage, order=order), {"message": message}


def order_read_off(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Yield the order of heads read off the observed biases: rolled, or any other permutation."""
    if evidence.reads_table_off(usage):
        return
    expected, rest = _expected_and_shown(usage, evidence.subsample, by_all_heads=True)
    heads = len(expected)
    order = nearest_heads(expected.reshape(heads, -1), rest.reshape(heads, -1))
    moved = [head for head, other in enumerate(order) if head != other]
    if moved:
        by = order[0]
        is_rolled = order == (*range(by, heads), *range(by))
        message = (
            f"are rolled by {by if 2 * by <= heads else by - heads}: " if is_rolled else "stand in another order: "
        )
        listed = ", ".join(f"head {head} has that of head {order[head]}" for head in moved[:3])
        yield from_defaults(usage, order=order), {"message": message + listed}


def other_slopes(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Yield the slopes read off the observed biases, where some heads, not all, have a wrong one."""
    if not isinstance(usage.encoding, ALiBi) or usage.of_shard:
        return
    expected, rest = _expected_and_shown(usage, evidence)
    size = (expected * expected).sum((1, 2))
    if not np.all(size > 0.0):
        return
    shown = (expected * rest).sum((1, 2)) / size
    wrong = [head for head, one in enumerate(shown) if abs(one - 1.0) > 1e-4]
    if not wrong or len(wrong) == len(shown):
        return
    slopes = np.asarray(usage.encoding.slopes())
    listed = ", ".join(_other_slope(slopes, head, float(shown[head])) for head in wrong[:4])
    words = {"heads": listed, "count": len(wrong), "all": len(shown)}
    short = tuple(0.0 if abs(one) < 1e-6 else fewest_digits(float(one)) for one in shown)
    exact = tuple(float(one) if head in wrong else 1.0 for head, one in enumerate(shown))
    for factors in (short, exact):
        yield from_defaults(usage, head_factors=factors), words


def _other_slope(slopes: np.ndarray, head: int, factor: float) -> str:
    """Describe a head's slope, the head that it belongs to, if any, and the slope that is meant."""
    slope = slopes[head] * factor
    owner = np.flatnonzero(np.abs(slopes - slope) <= 1e-5 * slopes)
    of_head = f", that of head {owner[0]}," if owner.size else ""
    return f"head {head} has {slope:.6g}{of_head} for {slopes[head]:.6g}"


def shard_slopes(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Slopes computed for the heads of one shard, on every shard."""
    heads = usage.encoding.heads
    is_whole = isinstance(usage.encoding, ALiBi) and not usage.head_factors
    for local in (heads // shards for shards in SHARDS if heads % shards == 0):
        changed = with_encoding(usage, heads=local) if is_whole else None
        order = tuple(head % local for head in range(heads)) if changed else ()
        yield changed and from_defaults(changed, order=order), {"got": local, "meant": heads}


def form(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    if isinstance(usage.encoding, ALiBi):
        got = "signed" if usage.encoding.form == "symmetric" else "symmetric"
        yield with_encoding(usage, form=got), {"got": got, "meant": usage.encoding.form}


def directions(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    if isinstance(usage.encoding, T5Bias):
        both, earlier = "both directions", "keys before the query alone"
        got, stated = (earlier, both) if usage.encoding.bidirectional else (both, earlier)
        yield with_encoding(usage, bidirectional=not usage.encoding.bidirectional), {"got": got, "meant": stated}


def bucket_count(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    """Another number of buckets; where T5's table is given, no more than it has rows."""
    rows = max(BUCKETS) if evidence.table is None else len(evidence.table)
    yield from bias_field("buckets", *(count for count in BUCKETS if count <= rows))(usage, evidence)


def off_by_one(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    for step, message in ((1, "high"), (-1, "low")):
        yield from_defaults(usage, query_shift=step), {"message": message}


def narrow_positions(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    for dtype in NARROW_TYPES:
        yield from_defaults(usage, position_type=dtype), {"dtype": dtype}


def narrow_bias(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    for dtype in () if evidence.reads_table_off(usage) else NARROW_TYPES:
        yield from_defaults(usage, bias_type=dtype), {"dtype": dtype}


def product_factor(usage: BiasUsage, evidence: ObservedBiases) -> Changes:
    if evidence.head_dim is not None:
        for power, message in ((0.5, "multiplied by"), (-0.5, "divided by")):
            changed = from_defaults(usage, product_factor=evidence.head_dim**power)
            yield changed, {"message": message, "width": evidence.head_dim}


_SHARDS = "Take them from the number of heads of the whole layer, each shard its own part."

BIASES: tuple[Mistake[BiasUsage], ...] = (
    Mistake("bias left out", "No bias is added.", "Add it to the logits, in every layer that has one.",
            multiplied(0.0), alone=True),
    Mistake("both directions", "Buckets are those of {got} where those of {meant} are meant.",
            "Encoders have buckets for both directions, decoders for earlier keys alone.", directions),
    Mistake("largest distance", "The last bucket begins at a distance of {got} where {meant} is meant.",
            "Set relative_attention_max_distance={meant}.", bias_field("max_distance", *DISTANCES)),
    Mistake("query for key", "Distances are taken from key to query: earlier keys have the biases of later ones.",
            "Take key - query.", setting(swapped=True)),
    Mistake("sign of the bias", "The bias has the opposite sign.", "Far keys lose: add -slope·distance.",
            multiplied(-1.0)),
    Mistake("form", "The bias is {got} where {meant} is meant: later keys are treated otherwise.",
            "Mask later keys, or take the form {meant}.", form),
    Mistake("first slope", "The slopes count heads from {got}: the first is {slope}.",
            "Slope h is 2^(-steepest·(h+1)/heads), h counted from 0.", first_slope),
    Mistake("slope rule",
            "The slopes are those of the rule {got!r} where {meant!r} is meant: they differ unless heads are 2^n.",
            "Take the slopes by the rule {meant!r}.", bias_field("rule", *RULES)),
    Mistake("steepest", "The slopes are spread to 2^-{got:g} where 2^-{meant:g} is meant.",
            "Set alibi_bias_max={meant:g}.", bias_field("steepest", *STEEPEST)),
    Mistake("slopes of a shard", "The slopes are those of {got} heads, on every shard, where the layer has {meant}.",
            _SHARDS, shard_slopes),
    Mistake("order of heads", "The biases of heads {message}.",
            "Give every head its own; with shards, those of its number in the whole layer.", head_order),
    Mistake("order of heads", "The biases of heads {message}.",
            "Give every head its own; look at how heads are dealt out to shards, and at an index that begins at 1.",
            order_read_off, alone=True),
    Mistake("far buckets",
            "Far keys fall into buckets beyond the last one of their direction: the limit is missing.",
            "Take the minimum of a bucket and the last one: min(bucket, buckets - 1).", setting(unclamped=True)),
    Mistake("slopes of heads", "The slope of {count} of {all} heads is another: {heads}.",
            "Give every head its own slope, 2^(-steepest·(h+1)/heads) where heads are a power of 2.", other_slopes,
            alone=True),
    Mistake("bias and root", "The bias is {message} where it is meant the other way round.",
            "Look whether it is added before or after the logits are divided by √d.", before_or_after_root),
    Mistake("off by one", "Queries are at positions one too {message}.",
            "The first token of a sequence is at position 0, for queries and keys alike.", off_by_one),
    Mistake("narrow positions", "Positions go through {dtype}.",
            "Keep positions as integers; they never take the model's dtype.", narrow_positions),
    Mistake("narrow bias", "The bias is rounded to {dtype}.", "Make it in float32, and add it there.", narrow_bias),
    Mistake("scale of the logits", "The product of queries and keys is {message} √{width} besides.",
            "Look at what the model multiplies its logits by: T5 by 1, most others by 1/√d.", product_factor),
    Mistake("bias factor", "The bias is multiplied by {got:g} where {meant:g} is meant.", "Multiply it by {meant:g}.",
            factor),
    Mistake("buckets", "There are {got} buckets where {meant} are meant.",
            "Set relative_attention_num_buckets={meant}.", bucket_count, alone=True),
)  # fmt: skip
