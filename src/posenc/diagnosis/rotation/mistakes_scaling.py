"""Mistakes in the scaling of a rotation: left out, applied twice, another one, and its attention factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posenc.diagnosis.mistake import Changed, Hints, Mistake, with_rope, with_scaling
from posenc.diagnosis.rotation.usage import Use, parts
from posenc.frequencies import (
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    NTKByParts,
    Scaling,
    YaRN,
    attention_of,
)
from posenc.frequencies.scalings.yarn import DIALECTS


def unscaled(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    changed = with_rope(use, scaling=None)
    if own and own.rope.scaling is not None and changed:
        yield changed, {"meant": own.rope.scaling}


def added(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own is None or own.rope.scaling is not None:
        return
    given = hints.record.rope.scaling if hints.record else None
    options = [given] if given else [Linear(factor) for factor in hints.stretch(use) if factor >= 1.0]
    for scaling in options:
        changed = with_rope(use, scaling=scaling)
        if changed:
            yield changed, {"got": scaling}


def twice(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    factor = getattr(scaling, "factor", 1.0)
    if scaling is None or factor <= 1.0:
        return
    if hints.target is not None:
        changed = with_scaling(use, factor=factor * factor)
        if changed:
            yield changed, {"meant": scaling, "factor": factor, "square": factor * factor}
        return
    for times in (1.0, 2.0):
        changed = Use(use.record, scalings=2, query_factor=times, key_factor=times)
        if use.plain:
            yield changed, {"meant": scaling, "factor": factor, "square": factor * factor}


def field(name: str) -> Callable[[Use, Hints], Changed]:
    """Another value of one field of the scaling."""

    def change(use: Use, hints: Hints) -> Changed:
        own = parts(use.record)
        meant = getattr(own.rope.scaling, name, None) if own else None
        for value in hints.values(use, name) if meant is not None else ():
            changed = with_scaling(use, **{name: value})
            if changed and value != meant:
                yield changed, {"got": value, "meant": meant}

    return change


def ends(use: Use, hints: Hints) -> Changed:
    """Another ramp of YaRN, another band of Llama 3: both ends of it together."""
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    names = {YaRN: ("beta_fast", "beta_slow"), Llama3: ("low", "high")}.get(type(scaling), ())  # type: ignore[arg-type]
    if not names:
        return
    options = [
        {names[0]: one, names[1]: other} for one in hints.values(use, names[0]) for other in hints.values(use, names[1])
    ]
    for values in options:
        changed = with_scaling(use, **values)
        meant = {name: getattr(scaling, name) for name in names}
        if changed and values != meant:
            yield changed, {"got": _listed(values), "meant": _listed(meant)}


def scheme(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if scaling is None:
        return
    if hints.record is not None:
        options: list[Scaling | None] = [hints.record.rope.scaling]
    else:
        options = list(_schemes(scaling))
    for other in options:
        if other is not None and type(other) is not type(scaling):
            changed = with_rope(use, scaling=other)
            if changed:
                yield changed, {"got": other, "meant": scaling}


def _schemes(scaling: Scaling) -> list[Scaling]:
    """Every other scheme with this one's factor and lengths."""
    factor, original = getattr(scaling, "factor", None), getattr(scaling, "original", None)
    if factor is None:
        return []
    found: list[Scaling] = [Linear(factor), NTKAware(factor)]
    makers: tuple[Callable[[float, int], Scaling], ...] = (YaRN, NTKByParts, Llama3, _dynamic)
    for make in makers if original else ():
        try:
            found.append(make(factor, original or 0))
        except ValueError:
            continue
    return found


def _dynamic(factor: float, original: int) -> DynamicNTK:
    return DynamicNTK(factor, original, int(factor * original))


def ramp_of_the_paper(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if isinstance(scaling, YaRN):
        other: Scaling = NTKByParts(scaling.factor, scaling.original, scaling.beta_slow, scaling.beta_fast)
    elif isinstance(scaling, NTKByParts):
        other = YaRN(scaling.factor, scaling.original, scaling.beta, scaling.alpha, attention=1.0)
    else:
        return
    changed = with_rope(use, scaling=other)
    if changed:
        yield changed, {"got": type(other).__name__, "meant": type(scaling).__name__}
        if own and isinstance(scaling, YaRN):  # with the factor that NTKByParts has not
            yield from _keeping_attention(use, other, own.rope.attention_factor, scaling)


def _keeping_attention(use: Use, other: Scaling, factor: float, meant: Scaling) -> Changed:
    """The other scheme between queries and keys that keep their attention factor, which running code alone can have."""
    changed = with_rope(use, scaling=other)
    if changed and factor != 1.0 and use.plain:
        yield (
            Use(changed.record, logits=factor * factor),
            {"got": type(other).__name__, "meant": type(meant).__name__},
        )


def without_exponent(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own and isinstance(own.rope.scaling, NTKAware):
        factor = own.rope.scaling.factor
        changed = with_rope(use, scaling=None, base=own.rope.base * factor)
        if changed:
            yield changed, {"factor": factor, "width": own.rope.head_dim}


def attention_to(value: float | None) -> Callable[[Use, Hints], Changed]:
    """The attention factor set to this value, or squared where it is None."""

    def change(use: Use, hints: Hints) -> Changed:
        own = parts(use.record)
        if own is None or own.rope.attention_factor == 1.0:
            return
        meant = own.rope.attention_factor
        got = meant * meant if value is None else value
        changed = with_scaling(use, **_attention(own.rope.scaling, got))
        if changed:
            yield changed, {"got": got, "meant": meant}

    return change


def dialect(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if own is None or not isinstance(scaling, YaRN):
        return
    seen = hints.attention(use)
    for one, of_all in (
        (scaling.mscale, scaling.mscale_all_dim),
        (1.0, 1.0),
        (0.707, 0.707),
        (0.707, None),
        (1.0, 0.0),
    ):
        for name in DIALECTS:
            got = attention_of(name, scaling.factor, one, of_all)  # type: ignore[arg-type]
            if any(abs(got - value) <= 2e-5 * value for value in seen):
                changed = with_scaling(use, attention=seen[0], mscale=None, mscale_all_dim=None)
                if changed and abs(got - own.rope.attention_factor) > 2e-5:
                    yield changed, {"got": got, "meant": own.rope.attention_factor, "dialect": name}
                    return


def attention(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    if own is None or own.rope.scaling is None:
        return
    for got in hints.attention(use):
        changed = with_scaling(use, **_attention(own.rope.scaling, got))
        if changed and got != own.rope.attention_factor:
            yield changed, {"got": got, "meant": own.rope.attention_factor}


def _attention(scaling: Any, value: float) -> dict[str, Any]:
    return {"attention": value} | ({"mscale": None, "mscale_all_dim": None} if isinstance(scaling, YaRN) else {})


def lists_swapped(use: Use, hints: Hints) -> Changed:
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if isinstance(scaling, LongRoPE):
        changed = with_scaling(use, short=scaling.long, long=scaling.short)
        if changed:
            used = ("short", "long") if scaling.length > scaling.original else ("long", "short")
            yield changed, {"got": used[0], "meant": used[1], "length": scaling.length, "original": scaling.original}


def other_side(use: Use, hints: Hints) -> Changed:
    """A length on the other side of the trained one, for scalings that depend on it."""
    own = parts(use.record)
    scaling = own.rope.scaling if own else None
    if isinstance(scaling, LongRoPE | DynamicNTK):
        inside = scaling.length <= scaling.original
        options = [int(scaling.original * max(2.0, scaling.factor))] if inside else [scaling.original]
        for length in (*options, *hints.values(use, "length")):
            changed = with_scaling(use, length=length)
            if changed and length != scaling.length:
                yield changed, {"got": length, "meant": scaling.length}


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


SCALING: tuple[Mistake, ...] = (
    Mistake("scaling ignored", "The scaling {meant!r} is not applied.", "Pass rope_scaling (in new files rope_parameters) on to the code that makes the frequencies.", unscaled),
    Mistake("exponent of NTK", "The base is multiplied by {factor:g} itself, without the exponent d/(d-2).", "Multiply the base by factor^({width}/({width}-2)).", without_exponent),
    Mistake("scaling applied twice", "The scaling is applied twice: a stretch by {square:g} where {factor:g} is meant.", "Scale the frequencies in one place alone; look for a loader and a model that both do it.", twice),
    Mistake("ramp of the paper", "The ramp of {got} is used where that of {meant} is meant: linear in the rotations of a pair, or in its index.", "Take the ramp that the model was trained with; released code of YaRN has it in the index of the pair.", ramp_of_the_paper),
    Mistake("attention factor ignored", "The attention factor {meant:.6g} is left out: cos and sin are multiplied by 1.", "Multiply cos and sin by {meant:.6g}.", attention_to(1.0)),
    Mistake("attention factor twice", "The attention factor is applied twice: {got:.6g} where {meant:.6g} is meant.", "Multiply cos and sin by it once, and the logits not at all besides.", attention_to(None)),
    Mistake("mscale dialect", "mscale is read as {dialect} reads it: the attention factor is {got:.6g} where {meant:.6g} is meant.", "State the attention factor itself: attention_factor={meant:.6g}.", dialect),
    Mistake("attention factor", "The attention factor is {got:.6g} where {meant:.6g} is meant.", "Set attention_factor={meant:.6g}.", attention),
    Mistake("truncate", "truncate is {got} where {meant} is meant: whether the ends of YaRN's ramp are whole pairs.", "Set truncate={meant}; it must reach the code that makes the frequencies.", field("truncate")),
    Mistake("scaling factor", "The scaling factor is {got:g} where {meant:g} is meant.", "Set factor={meant:g}.", field("factor")),
    Mistake("original length", "The trained length is {got} where {meant} is meant.", "Set original_max_position_embeddings={meant}; it is not max_position_embeddings.", field("original")),
    Mistake("ramp ends", "The ends are {got} where {meant} is meant.", "Set {meant}.", ends),
    Mistake("lists swapped", "The {got} list of LongRoPE is used where the {meant} one is meant, for {length} positions of {original} trained ones.", "Use long_factor for lengths above the trained one and short_factor below.", lists_swapped),
    Mistake("served length", "The frequencies are those of a length of {got} where {meant} is served.", "Choose the frequencies for {meant} positions, once and for all of a sequence.", other_side),
    Mistake("scheme", "The scaling is {got!r} where {meant!r} is meant.", "Use the rope_type of the file.", scheme),
    Mistake("scaling added", "The scaling {got!r} is applied where none is meant.", "Leave the frequencies as they are.", added),
)  # fmt: skip
