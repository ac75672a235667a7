"""Mistakes that make another encoding of a rotation: base, exponent, layout and width."""

from __future__ import annotations

from dataclasses import replace

from posenc.compose import Backward
from posenc.diagnosis.mistake import Change, Mistake, from_defaults, with_fields
from posenc.diagnosis.rotation.bases_read_off import BASES, bases_of_powers
from posenc.diagnosis.rotation.rotation_evidence import Changes, OtherRotation, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import RotationUsage, rope_base
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Proportional, YaRN

#: Shares of a head that code rotates.
FRACTIONS = (0.5, 0.25, 0.75)
OTHER_PAIRING = {"adjacent": "halves", "halves": "adjacent"}


def other_rope_base(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    for value in evidence.bases(usage):
        yield usage.with_rope(base=value), {"got": value, "meant": usage.rope and rope_base(usage.rope)}


def base_of_powers(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Another base of the frequencies, where YaRN's ramp lies as it should."""
    shown = evidence.frequencies(usage)
    if _has_ramp(usage) and usage.rope is not None and shown is not None:
        for value in bases_of_powers(shown, usage):
            yield with_powers_of(usage, value), {"got": value, "meant": rope_base(usage.rope)}


def base_of_ramp(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """YaRN's ramp placed by another base, as by the default of the function that finds its ends."""
    for value in BASES if _has_ramp(usage) and usage.rope is not None else ():
        yield from_defaults(usage, ramp_base=value), {"got": value, "meant": usage.rope and rope_base(usage.rope)}


def with_powers_of(usage: RotationUsage, base: float) -> RotationUsage | None:
    """Change the base of the frequencies, but not the one that places YaRN's ramp; None without such a ramp."""
    changed = usage.with_rope(base=base)
    if changed is None or usage.rope is None or not _has_ramp(usage):
        return None
    return from_defaults(changed, ramp_base=rope_base(usage.rope))


def _has_ramp(usage: RotationUsage) -> bool:
    """Whether the scaling has a ramp that the base places (YaRN)."""
    return isinstance(usage.scaling, YaRN)


def other_exponent(of: str) -> Change[RotationUsage]:
    """Build the mistake of frequencies base^(-2i/d) with another d, which is the same as another base."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        if usage.in_head is not None and usage.in_head.rope.head_dim >= 4:
            rope, dim, _ = usage.in_head
            width = rope.head_dim
            power = {"head": width / dim, "half": 0.5, "double": 2.0, "ends": width / (width - 2)}[of]
            words, base = {"dim": dim, "width": width}, rope_base(rope) ** power
            yield usage.with_rope(base=base), words
            yield with_powers_of(usage, base), words

    return change


def exponent_offset(pairs: float) -> Change[RotationUsage]:
    """Pairs counted from another number than 0: every frequency lower by one factor."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        if usage.rope is not None:
            width = usage.rope.head_dim
            factor = rope_base(usage.rope) ** (-2 * pairs / width)
            yield from_defaults(usage, frequency_factor=factor), {"width": width}

    return change


def other_pairing(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    if usage.rope is not None and usage.rope.head_dim > 2:
        expected = usage.rope.pairing
        yield usage.with_rope(pairing=OTHER_PAIRING[expected]), {"got": OTHER_PAIRING[expected], "meant": expected}


def partial_ignored(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    if usage.in_head is not None:
        rope, dim, _ = usage.in_head
        words = {"got": dim, "meant": rope.head_dim}
        if isinstance(rope, RoPE):
            yield usage.with_rope(dim=dim), words
            return
        in_order = rope.frequency_index == tuple(range(len(rope.frequency_index)))
        if rope.head_dim < dim and in_order and rope.frequency_dim == rope.head_dim:
            axis = (*rope.axis, *(0,) * ((dim - rope.head_dim) // 2))
            yield usage.with_rope(axis=axis, frequency_index=tuple(range(dim // 2)), frequency_dim=dim), words


def partial_twice(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    if usage.in_head is not None:
        rope, dim, _ = usage.in_head
        got = rope.head_dim * rope.head_dim // dim
        yield usage.with_rope(dim=got), {"got": got, "meant": rope.head_dim, "dim": dim}


def other_rotary_dim(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    for got in evidence.rotary_dims(usage):
        if usage.in_head is not None:
            rope, dim, _ = usage.in_head
            yield usage.with_rope(dim=got), {"got": got, "meant": rope.head_dim, "dim": dim}


def pairs_still(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """A part of the pairs rotates by the frequencies of the whole head, the others not at all."""
    rope = usage.rope
    if isinstance(rope, RoPE) and rope.scaling is None:
        for fraction in FRACTIONS:
            words = {"got": int(fraction * rope.head_dim), "width": rope.head_dim}
            yield usage.with_rope(scaling=Proportional(fraction)), words


def other_start(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    head = usage.in_head
    for got in evidence.starts(head) if head is not None else ():
        words = {"got": got, "meant": head and head.start, "width": head and head.rope.head_dim}
        yield usage.with_head(start=got), words


def other_head_dim(usage: RotationUsage, evidence: OtherRotation) -> Changes:
    """Yield the other config's head width, with the same share or number of channels rotated, or number left out."""
    head, other = usage.in_head, evidence.in_head
    if head is None or other is None or head.dim == other.dim:
        return
    share = head.rope.head_dim * other.dim // head.dim
    for width in dict.fromkeys((share, head.rope.head_dim, head.rope.head_dim + other.dim - head.dim)):
        got, meant = (f"{dim} channels" for dim in (other.dim, head.dim))
        if width != share:
            got, meant = f"{got}, {width} of which rotate,", f"{meant}, {head.rope.head_dim} of which rotate,"
        rope = with_fields(head.rope, dim=width)
        for start in dict.fromkeys((0, head.start, other.dim - width)):
            changed = None if rope is None else usage.with_head(rope=rope, dim=other.dim, start=start)
            yield changed, {"got": got, "meant": meant}


def proportional(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield frequencies of the whole head (rope_type proportional) for those of its rotating part, or the reverse."""
    if usage.in_head is None:
        return
    rope, dim, start = usage.in_head
    of_part, of_head = "frequencies of its own", "some of the frequencies of the whole head"
    if rope.head_dim < dim and rope.scaling is None and start == 0:
        scaling = Proportional(rope.head_dim / dim)
        yield usage.with_rope(dim=dim, scaling=scaling), {"got": of_head, "meant": of_part}
    if isinstance(rope.scaling, Proportional) and rope.scaling.factor == 1.0:
        rotary_dim = 2 * int(rope.scaling.fraction * rope.head_dim // 2)
        yield usage.with_rope(dim=rotary_dim, scaling=None), {"got": of_part, "meant": of_head}


def rotated_backward(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    inner = usage.encoding.encoding if isinstance(usage.encoding, Backward) else Backward(usage.encoding)
    yield replace(usage, encoding=inner), {}


FIELDS: tuple[Mistake[RotationUsage], ...] = (
    Mistake("exponent of the head",
            "The frequencies have the exponent -2i/{dim}, of the whole head, where {width} channels rotate.",
            "Divide by the rotary width: base^(-2i/{width}).", other_exponent("head"), only_in="code"),
    Mistake("exponent i/d",
            "The exponent is i/d in place of 2i/d: every frequency is the square root of what it should be.",
            "Use base^(-2i/{width}), where i counts pairs.", other_exponent("half"), only_in="code"),
    Mistake("exponent doubled", "The exponent is 4i/d: i already runs in steps of two, and is doubled once more.",
            "Use base^(-2i/{width}), where i counts pairs.", other_exponent("double"), only_in="code"),
    Mistake("exponent to the ends", "The exponent is i/(d/2-1), that of tensor2tensor's sinusoids.",
            "Use base^(-2i/{width}).", other_exponent("ends"), only_in="code"),
    Mistake("exponent of odd numbers", "The exponents are odd numbers, -(2i+1)/{width}, where -2i/{width} are meant.",
            "Count pairs from 0: base^(-2i/{width}), so the first frequency is 1.", exponent_offset(0.5),
            only_in="code"),
    Mistake("pairs counted from 1", "The exponents are -2(i+1)/{width}: pairs are counted from 1.",
            "Count pairs from 0: base^(-2i/{width}), so the first frequency is 1.", exponent_offset(1.0),
            only_in="code"),
    Mistake("base", "The base is {got:g} where {meant:g} is meant.",
            "Read rope_theta (in new files rope_parameters.rope_theta) and use {meant:g}.", other_rope_base),
    Mistake("base", "The frequencies are powers of {got:g} where {meant:g} is meant; the ramp of YaRN is right.",
            "Use {meant:g} in the frequencies too.", base_of_powers, only_in="code", alone=True),
    Mistake("base of the ramp", "The ramp of YaRN is placed by the base {got:g} where {meant:g} is meant.",
            "Pass rope_theta to the function that finds the ends of the ramp; its default may be 10000.",
            base_of_ramp, only_in="code", alone=True),
    Mistake("sign", "Queries and keys rotate the other way round.",
            "Negate the sine, or swap the two channels of every pair in the query and key weights: NanoChat alone "
            "rotates by -position·frequency.", rotated_backward, only_in="configs"),
    Mistake("layout", "Channels are paired {got} where {meant} is meant.",
            "Pair them {meant}, or convert the query and key weights with posenc.models.convert_qk.", other_pairing),
    Mistake("partial ignored", "The whole head of {got} channels rotates where only {meant} should.",
            "Rotate the first {meant} channels; partial_rotary_factor or rotary_dim is not read.", partial_ignored),
    Mistake("partial twice", "Only {got} of {dim} channels rotate where {meant} should: the share is taken twice.",
            "Take the share of the head once.", partial_twice, only_in="code"),
    Mistake("proportional", "The part that rotates has {got} where {meant} are meant.",
            "rope_type 'proportional' is not a partial_rotary_factor of the default type: they divide by different "
            "widths.", proportional),
    Mistake("rotated width", "{got} of {dim} channels rotate where {meant} should.",
            "Rotate {meant} channels: look at partial_rotary_factor and rotary_dim.", other_rotary_dim),
    Mistake("pairs stand still",
            "Only {got} of {width} channels rotate, by the first frequencies of all; the other pairs stand still.",
            "Rotate every pair: look at a loop that ends early, and at cos and sin of half the width.", pairs_still,
            only_in="code", topic="proportional"),
    Mistake("start", "The {width} channels that rotate begin at {got} where {meant} is meant.",
            "Rotate the channels from {meant} on.", other_start),
    Mistake("head width", "The head has {got} where {meant} are meant.",
            "Set it to {meant}: read head_dim, or qk_rope_head_dim and qk_nope_head_dim; it need not be hidden_size / "
            "num_attention_heads.", other_head_dim, only_in="configs"),
)  # fmt: skip
