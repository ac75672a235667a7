"""Mistakes of running code: signs, waves, positions, types, tables that end, and caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from posenc.diagnosis.mistake import Changed, Hints, Mistake, with_rope, with_scaling
from posenc.diagnosis.rotation.usage import Use, parts
from posenc.frequencies import DynamicNTK, LongRoPE


def setting(**fields: Any) -> Callable[[Use, Hints], Changed]:
    """The change that sets these fields, where they are still what they should be."""

    def change(use: Use, hints: Hints) -> Changed:
        plain = Use(use.record)
        if all(getattr(use, name) == getattr(plain, name) for name in fields):
            yield replace(use, **fields), dict(fields)

    return change


def ending(name: str) -> Callable[[Use, Hints], Changed]:
    """A table that ends, at any length that the positions pass."""

    def change(use: Use, hints: Hints) -> Changed:
        for length in hints.seen.lengths() if hints.seen and not (use.repeats or use.holds) else ():
            fields: dict[str, Any] = {name: length}
            yield replace(use, **fields), {"length": length}

    return change


def cached_unscaled(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    other = with_rope(Use(use.record), scaling=None)
    if own and own.rope.scaling is not None and other and use.cached is None:
        yield replace(use, cached=other.record), {"got": "no scaling", "meant": repr(own.rope.scaling)}


def cached_elsewhere(use: Use, hints: Hints) -> Changed:
    """Keys of the other list, or of the shorter length."""
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if not isinstance(scaling, LongRoPE | DynamicNTK) or use.cached is not None:
        return
    lengths = (scaling.original, scaling.original + 1, int(scaling.factor * scaling.original))
    for length in dict.fromkeys(lengths):
        other = with_scaling(Use(use.record), length=length)
        if other and length != scaling.length:
            yield replace(use, cached=other.record), {"got": f"a length of {length}", "meant": str(scaling.length)}


def lost_root(use: Use, hints: Hints) -> Changed:
    """Logits without 1/√d, or with that of the rotated width, or with it twice."""
    own = parts(use.record)
    if own is None or use.logits != 1.0:
        return
    yield replace(use, logits=own.dim**0.5), {"said": f"are not divided by √{own.dim}"}
    yield replace(use, logits=own.dim**-0.5), {"said": f"are divided by √{own.dim} twice"}
    if own.rope.head_dim != own.dim:
        yield (
            replace(use, logits=(own.dim / own.rope.head_dim) ** 0.5),
            {"said": f"are divided by √{own.rope.head_dim}, of the part that turns, in place of √{own.dim}"},
        )


def inverted(use: Use, hints: Hints) -> Changed:
    """Frequencies multiplied by the factor that they are to be divided by."""
    own = parts(use.record)
    factor = getattr(own.rope.scaling, "factor", 1.0) if own else 1.0
    changed = with_rope(use, scaling=None)
    if factor > 1.0 and changed and use.speed == 1.0:
        yield replace(changed, speed=factor), {"factor": factor}


def one_sided(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own and own.rope.attention_factor != 1.0 and use.query_factor == use.key_factor == 1.0:
        yield replace(use, key_factor=0.0), {"side": "queries", "meant": own.rope.attention_factor}


_ZERO = "The first token of a sequence is at position 0, for queries and keys alike."
_INTEGERS = "Keep positions as integers; they never take the model's dtype."
_FLOATS = "Keep the frequencies in float32, outside of what .to(), .half() and .bfloat16() cast."
_TABLE = "Make the table as long as the sequence, or the rows from the positions themselves."

USE: tuple[Mistake, ...] = (
    Mistake("sign", "Queries and keys turn the other way round.", "Negate the sine: (a·cos - b·sin, a·sin + b·cos) turns by +position·frequency, as all but NanoChat do.", setting(query_turns=-1.0, key_turns=-1.0), True),
    Mistake("sine for cosine", "cos and sin are exchanged.", "Return and take them in the order cos, sin.", setting(swapped=True), True),
    Mistake("pairs mixed", "The frequencies are laid out for one pairing, the channels turned by the other.", "Lay both out alike: (w0, w0, w1, w1, ...) for adjacent pairs, (w0, w1, ..., w0, w1, ...) for halves.", setting(mixed=True), True),
    Mistake("off by one", "Queries are at positions one too high.", _ZERO, setting(query_shift=1), True),
    Mistake("off by one", "Queries are at positions one too low.", _ZERO, setting(query_shift=-1), True),
    Mistake("off by one", "Keys are at positions one too high.", _ZERO, setting(key_shift=1), True),
    Mistake("off by one", "Keys are at positions one too low.", _ZERO, setting(key_shift=-1), True),
    Mistake("frequencies in bfloat16", "The frequencies were cast to bfloat16.", _FLOATS, setting(frequency_type="bfloat16"), True),
    Mistake("frequencies in float16", "The frequencies were cast to float16.", _FLOATS, setting(frequency_type="float16"), True),
    Mistake("positions in bfloat16", "The positions were cast to bfloat16, which holds no odd number above 256.", _INTEGERS, setting(position_type="bfloat16"), True),
    Mistake("positions in float16", "The positions were cast to float16, which holds no odd number above 2048.", _INTEGERS, setting(position_type="float16"), True),
    Mistake("turned twice", "Queries and keys are turned twice.", "Turn them once: in the projection, in the attention or in the cache.", setting(query_turns=2.0, key_turns=2.0), True),
    Mistake("keys turned twice", "Keys are turned twice, queries once.", "Turn keys before they are cached, or when they are read, not both.", setting(key_turns=2.0), True),
    Mistake("queries turned twice", "Queries are turned twice, keys once.", "Turn queries once.", setting(query_turns=2.0), True),
    Mistake("not turned", "Neither queries nor keys are turned.", "Apply the rotation to both.", setting(query_turns=0.0, key_turns=0.0, query_factor=0.0, key_factor=0.0), True),
    Mistake("keys not turned", "Keys are not turned.", "Apply the rotation to queries and keys.", setting(key_turns=0.0, key_factor=0.0), True),
    Mistake("queries not turned", "Queries are not turned.", "Apply the rotation to queries and keys.", setting(query_turns=0.0, query_factor=0.0), True),
    Mistake("one turned backwards", "Keys turn the other way round, queries do not.", "Turn both alike: the product then depends on the difference.", setting(key_turns=-1.0), True),
    Mistake("one turned backwards", "Queries turn the other way round, keys do not.", "Turn both alike: the product then depends on the difference.", setting(query_turns=-1.0), True),
    Mistake("attention factor on one side", "The attention factor {meant:.6g} multiplies {side} alone.", "Multiply queries and keys by it, so logits by its square.", one_sided, True),
    Mistake("wrong axis", "The number of the head is taken for the position.", "Say which axis is which: positions run along the tokens.", setting(axis="heads"), True),
    Mistake("wrong axis", "The number of the batch row is taken for the position.", "Say which axis is which: positions run along the tokens.", setting(axis="batch"), True),
    Mistake("factor multiplied", "The frequencies are multiplied by {factor:g} where they are to be divided by it.", "Divide frequencies, or positions, by the factor.", inverted, True),
    Mistake("cached keys", "Keys were turned with {got}, queries with {meant}.", "Turn all keys of a sequence with the frequencies of its queries; decide on the scaling before the first token.", cached_elsewhere, True),
    Mistake("cached keys", "Keys were turned with {got}, queries with {meant}.", "Turn all keys of a sequence with the frequencies of its queries; decide on the scaling before the first token.", cached_unscaled, True),
    Mistake("scale of the logits", "The logits {said}.", "Divide q·k by the root of the width of the head, once.", lost_root, True),
    Mistake("table repeats", "Positions begin again after {length}.", _TABLE, ending("repeats"), True),
    Mistake("table ends", "Every position from {length} on is taken for the last of them.", _TABLE, ending("holds"), True),
)  # fmt: skip
