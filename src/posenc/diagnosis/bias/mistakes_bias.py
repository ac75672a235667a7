"""Mistakes in biases of distance, ALiBi's and T5's: their slopes, buckets, heads, sign, positions and factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis.bias.bias_evidence import BiasUse, Seen, glimpse, shifted_rows
from posenc.diagnosis.code.recipe_changes import rounded_off
from posenc.diagnosis.search import Finding
from posenc.encodings.biases.alibi import ALiBi, Form, Rule
from posenc.encodings.biases.t5 import T5Bias

Changed = Iterator[tuple[BiasUse, dict[str, Any]]]
#: The rules of ALiBi's slopes.
RULES: tuple[Rule, ...] = ("paper", "geometric", "linear")
#: What released models have.
STEEPEST = (4.0, 6.0, 16.0)
DISTANCES = (16, 32, 64, 128, 256, 512, 800, 1024)
BUCKETS = (16, 32, 64)
#: Mistakes that explain nothing beside another: no bias at all, and buckets so fine that they fit almost anything.
ALONE = frozenset({"bias left out", "buckets"})


@dataclass(frozen=True)
class BiasMistake:
    """One way to get a bias wrong; `sentence` and `fix` may name the words of a change in braces."""

    name: str
    sentence: str
    fix: str
    change: Callable[[BiasUse, Seen], Changed]


def left_out(use: BiasUse, seen: Seen) -> Changed:
    if use.factor:
        yield replace(use, factor=0.0), {}


def sign(use: BiasUse, seen: Seen) -> Changed:
    yield replace(use, factor=-use.factor), {}


def divided(use: BiasUse, seen: Seen) -> Changed:
    """Biases added before the logits are divided, or after, where it is meant the other way round."""
    if seen.width is not None:
        root = seen.width**0.5
        yield replace(use, factor=use.factor / root), {"said": f"divided by √{seen.width} with the logits"}
        yield replace(use, factor=use.factor * root), {"said": f"not divided by √{seen.width} with the logits"}


def first_slope(use: BiasUse, seen: Seen) -> Changed:
    """2^(-steepest·h/heads), h counted from 0, or from 2."""
    if isinstance(use.record, ALiBi):
        step = 2.0 ** (use.record.steepest / use.record.heads)
        yield replace(use, factor=use.factor * step), {"got": "0", "slope": "1"}
        yield replace(use, factor=use.factor / step), {"got": "2", "slope": f"{1 / step**2:.6g}"}


def times(use: BiasUse, seen: Seen) -> Changed:
    """Another factor, read off."""
    if isinstance(use.record, T5Bias) and seen.table is None:
        return
    made = seen.expected(replace(use, factor=1.0))
    there = np.isfinite(rest := seen.gap(replace(use, factor=0.0)))
    made, rest = (_centred(part, there) for part in (made, rest))
    size = float((made * made).sum())
    factor = float((made * rest).sum()) / size if size else 0.0
    if 1e-6 < abs(factor) < 1e6:
        factor = rounded_off(factor)
        if factor != use.factor:
            yield replace(use, factor=factor), {"got": factor, "meant": use.factor}


def _centred(part: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Each row less its mean, 0 where nothing is seen."""
    count = np.maximum(there.sum(-1, keepdims=True), 1)
    kept = np.where(there, part, 0.0)
    return np.where(there, kept - kept.sum(-1, keepdims=True) / count, 0.0)


def heads(use: BiasUse, seen: Seen) -> Changed:
    count = use.record.heads
    if use.order or count == 1:
        return
    yield replace(use, order=tuple(range(count))[::-1]), {"said": "stand in the opposite order"}
    for shards in (2, 4, 8):
        if count % shards == 0 and count > shards:
            order = tuple(head % (count // shards) for head in range(count))
            yield replace(use, order=order), {"said": f"are those of the first {count // shards}, again and again"}


def shard_slopes(use: BiasUse, seen: Seen) -> Changed:
    """Slopes computed for the heads of one shard, on every shard."""
    if isinstance(use.record, ALiBi) and not use.order:
        for shards in (2, 4, 8):
            local = use.record.heads // shards
            if local and use.record.heads % shards == 0 and (use.record.rule != "linear" or local > 1):
                own = replace(use.record, heads=local)
                order = tuple(head % local for head in range(use.record.heads))
                yield replace(use, record=own, order=order), {"got": local, "meant": use.record.heads}


def rule(use: BiasUse, seen: Seen) -> Changed:
    if isinstance(use.record, ALiBi):
        for other in RULES:
            if other != use.record.rule and not (other == "linear" and use.record.heads < 2):
                yield replace(use, record=replace(use.record, rule=other)), {"got": other, "meant": use.record.rule}


def steepest(use: BiasUse, seen: Seen) -> Changed:
    if isinstance(use.record, ALiBi):
        for other in STEEPEST:
            if other != use.record.steepest:
                own = replace(use.record, steepest=other)
                yield replace(use, record=own), {"got": other, "meant": use.record.steepest}


def form(use: BiasUse, seen: Seen) -> Changed:
    if isinstance(use.record, ALiBi):
        got: Form = "signed" if use.record.form == "symmetric" else "symmetric"
        yield replace(use, record=replace(use.record, form=got)), {"got": got, "meant": use.record.form}


def _bucketed(use: BiasUse, **fields: Any) -> BiasUse | None:
    try:
        return replace(use, record=replace(use.record, **fields))
    except (ValueError, TypeError):
        return None


def directions(use: BiasUse, seen: Seen) -> Changed:
    if isinstance(use.record, T5Bias):
        both = use.record.bidirectional
        changed = _bucketed(use, bidirectional=not both)
        if changed:
            said = ("both directions", "keys before the query alone")
            yield changed, {"got": said[both], "meant": said[not both]}


def distance(use: BiasUse, seen: Seen) -> Changed:
    for other in DISTANCES if isinstance(use.record, T5Bias) else ():
        changed = _bucketed(use, max_distance=other)
        if changed and isinstance(use.record, T5Bias) and other != use.record.max_distance:
            yield changed, {"got": other, "meant": use.record.max_distance}


def buckets(use: BiasUse, seen: Seen) -> Changed:
    for other in BUCKETS if isinstance(use.record, T5Bias) and seen.table is None else ():
        changed = _bucketed(use, buckets=other)
        if changed and isinstance(use.record, T5Bias) and other != use.record.buckets:
            yield changed, {"got": other, "meant": use.record.buckets}


def swapped(use: BiasUse, seen: Seen) -> Changed:
    yield replace(use, swapped=not use.swapped), {}


def off_by_one(use: BiasUse, seen: Seen) -> Changed:
    if not use.query_shift:
        for step, said in ((1, "high"), (-1, "low")):
            yield replace(use, query_shift=step), {"said": said}


def narrow(what: str) -> Callable[[BiasUse, Seen], Changed]:
    def change(use: BiasUse, seen: Seen) -> Changed:
        if getattr(use, what):
            return
        for kind in ("bfloat16", "float16"):
            fields: dict[str, Any] = {what: kind}
            if what == "position_type" or not (isinstance(use.record, T5Bias) and seen.table is None):
                yield replace(use, **fields), {"kind": kind}

    return change


def roots(use: BiasUse, seen: Seen) -> Changed:
    if seen.width is not None and use.root == 1.0:
        yield replace(use, root=seen.width**0.5), {"said": "multiplied by", "width": seen.width}
        yield replace(use, root=seen.width**-0.5), {"said": "divided by", "width": seen.width}


_FROM = "Take them from the number of heads of the whole layer, each shard its own part."

BANK: tuple[BiasMistake, ...] = (
    BiasMistake("bias left out", "No bias is added.", "Add it to the logits, in every layer that has one.", left_out),
    BiasMistake("both directions", "Buckets are those of {got} where those of {meant} are meant.", "Encoders have buckets for both directions, decoders for earlier keys alone.", directions),
    BiasMistake("largest distance", "The last bucket begins at a distance of {got} where {meant} is meant.", "Set relative_attention_max_distance={meant}.", distance),
    BiasMistake("query for key", "Distances are taken from key to query: earlier keys have the biases of later ones.", "Take key - query.", swapped),
    BiasMistake("sign of the bias", "The bias has the opposite sign.", "Far keys lose: add -slope·distance.", sign),
    BiasMistake("form", "The bias is {got} where {meant} is meant: later keys are treated otherwise.", "Mask later keys, or take the form {meant}.", form),
    BiasMistake("first slope", "The slopes count heads from {got}: the first is {slope}.", "Slope h is 2^(-steepest·(h+1)/heads), h counted from 0.", first_slope),
    BiasMistake("slope rule", "The slopes are those of the rule {got!r} where {meant!r} is meant, which differ unless heads are a power of two.", "Take the slopes by the rule {meant!r}.", rule),
    BiasMistake("steepest", "The slopes are spread to 2^-{got:g} where 2^-{meant:g} is meant.", "Set alibi_bias_max={meant:g}.", steepest),
    BiasMistake("slopes of a shard", "The slopes are those of {got} heads, on every shard, where the layer has {meant}.", _FROM, shard_slopes),
    BiasMistake("order of heads", "The biases of heads {said}.", "Give every head its own; with shards, those of its number in the whole layer.", heads),
    BiasMistake("bias and root", "The bias is {said} where it is meant the other way round.", "Look whether it is added before or after the logits are divided by √d.", divided),
    BiasMistake("off by one", "Queries are at positions one too {said}.", "The first token of a sequence is at position 0, for queries and keys alike.", off_by_one),
    BiasMistake("narrow positions", "Positions go through {kind}.", "Keep positions as integers; they never take the model's dtype.", narrow("position_type")),
    BiasMistake("narrow bias", "The bias is rounded to {kind}.", "Make it in float32, and add it there.", narrow("bias_type")),
    BiasMistake("scale of the logits", "The product of queries and keys is {said} √{width} besides.", "Look at what the model multiplies its logits by: T5 by 1, most others by 1/√d.", roots),
    BiasMistake("bias factor", "The bias is multiplied by {got:g} where {meant:g} is meant.", "Multiply it by {meant:g}.", times),
    BiasMistake("buckets", "There are {got} buckets where {meant} are meant.", "Set relative_attention_num_buckets={meant}.", buckets),
)  # fmt: skip


def explained(meant: BiasUse, seen: Seen) -> tuple[Finding, ...]:
    """The one mistake, or else the two, that explain what is seen; empty where none do."""
    known, few = {meant}, glimpse(seen)

    def changes(mistake: BiasMistake, use: BiasUse) -> Iterator[tuple[BiasUse, dict[str, Any], bool]]:
        """What was not tried before, and whether it fits."""
        for made, words in mistake.change(use, few):
            if made not in known:
                known.add(made)
                yield made, words, few.fits(made) and seen.fits(made)

    singles = []
    for mistake in BANK:
        for use, words, fits in changes(mistake, meant):
            if fits:
                return (_named(mistake, words),)
            singles.append((mistake, use, words))
    for mistake, use, words in singles:
        for second in BANK:
            if second.name != mistake.name and not ALONE & {mistake.name, second.name}:
                for _, more, fits in changes(second, use):
                    if fits:
                        return _named(mistake, words), _named(second, more)
    return ()


def verdict(meant: BiasUse, seen: Seen) -> tuple[bool, tuple[Finding, ...], tuple[str, ...]]:
    """Whether they agree, what explains it where not, and notes."""
    none = replace(meant, factor=0.0)
    read_off = isinstance(meant.record, T5Bias) and seen.table is None
    if not seen.fits(meant) or (read_off and seen.fits(none)):
        return False, explained(meant, seen), ()
    if read_off:
        return True, (), ("the table was read off these numbers: that they keep to its buckets is all they show; give table to have it checked",)  # fmt: skip
    if shifted_rows(seen, meant):
        return True, (), ("rows differ by a number each, which no softmax sees",)
    return True, (), ()


def _named(mistake: BiasMistake, words: dict[str, Any]) -> Finding:
    return Finding(mistake.name, mistake.sentence.format(**words), mistake.fix.format(**words))
