"""Mistakes in the scaling of a rotation: left out, applied twice, another one, and its attention factor."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from posenc.diagnosis.mistake import Change, Mistake, from_defaults, unless_refused
from posenc.diagnosis.rotation.applied_rotation import rotated_pairs
from posenc.diagnosis.rotation.rotation_evidence import Changes, OtherRotation, RotationEvidence
from posenc.diagnosis.rotation.rotation_usage import Reversal, RoleUsage, RotationUsage
from posenc.diagnosis.rotation.wrong_ramps import in_middle_band
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Llama3, LongRoPE, NTKAware, NTKByParts, Scaling, YaRN, attention_of
from posenc.frequencies.scalings.yarn import DIALECTS

#: The two fields that bound the ramp of a scheme.
RAMP_ENDS: dict[type, tuple[str, str]] = {YaRN: ("beta_fast", "beta_slow"), Llama3: ("low", "high")}
#: Their keys in a file, where these differ.
RAMP_KEYS: dict[type, tuple[str, str]] = {Llama3: ("low_freq_factor", "high_freq_factor")}
#: Values of mscale and mscale_all_dim in released files, besides those of the encoding.
MSCALES = ((1.0, 1.0), (0.707, 0.707), (0.707, None), (1.0, 0.0))


def scaling_dropped(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    if usage.scaling is not None:
        yield usage.with_rope(scaling=None), {"meant": usage.scaling}


def factor_kept(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield unscaled frequencies together with the attention factor of the scaling."""
    if usage.scaling is not None:
        yield _unscaled_with_factor(usage), {"meant": usage.scaling, "factor": usage.scaling.attention_factor}


def _unscaled_with_factor(usage: RotationUsage) -> RotationUsage | None:
    """The usage with frequencies that are not scaled, and the attention factor of its scaling."""
    if usage.scaling is None or usage.scaling.attention_factor == 1.0 or usage.rope is None:
        return None
    factor, ones = usage.scaling.attention_factor, (1.0,) * (usage.rope.head_dim // 2)
    unscaled = unless_refused(lambda: LongRoPE(ones, ones, 2, 2, 1.0, attention=factor))
    return None if unscaled is None else usage.with_rope(scaling=unscaled)


def inverted(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield frequencies multiplied by what should divide them: all of them, or as far as the ramp stretches them."""
    factor, words = getattr(usage.scaling, "factor", 1.0), {"factor": "the factor"}
    if factor > 1.0:
        words = {"factor": f"{factor:g}"}
        for unscaled in (usage.with_rope(scaling=None), _unscaled_with_factor(usage)):
            yield None if unscaled is None else from_defaults(unscaled, frequency_factor=factor), words
    if isinstance(usage.scaling, YaRN | NTKByParts | Llama3 | LongRoPE):
        words = {"factor": "their divisors"} if isinstance(usage.scaling, LongRoPE) else words
        yield from_defaults(usage, reversal="multiplied"), words


def scaling_added(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    for scaling in evidence.scalings(usage) if usage.scaling is None else ():
        yield usage.with_rope(scaling=scaling), {"got": scaling}


def factor_squared(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    factor = getattr(usage.scaling, "factor", 1.0)
    if factor > 1.0:
        yield usage.with_scaling(factor=factor * factor), {"factor": factor, "square": factor * factor}


def scaled_twice(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Frequencies stretched twice, with the attention factor applied once or twice."""
    factor = getattr(usage.scaling, "factor", 1.0)
    for times in (1.0, 2.0) if factor > 1.0 and usage.is_default else ():
        role = RoleUsage(attention_factors=times)
        yield replace(usage, scalings=2, query=role, key=role), {"factor": factor, "square": factor * factor}


def scaling_field(name: str) -> Change[RotationUsage]:
    """Build the mistake in which one field of the scaling has another value."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        expected = getattr(usage.scaling, name, None)
        for value in evidence.scaling_values(usage, name):
            if value != expected:
                yield usage.with_scaling(**{name: value}), {"got": value, "meant": expected}

    return change


def ramp_ends(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield another ramp of YaRN, or another band of Llama 3, with both of its ends changed together."""
    names = RAMP_ENDS.get(type(usage.scaling), ())
    expected = {name: getattr(usage.scaling, name) for name in names}
    for values in product(*(evidence.scaling_values(usage, name) for name in names)):
        got = dict(zip(names, values, strict=True))
        if got != expected:
            yield usage.with_scaling(**got), {"got": _listed(got), "meant": _listed(expected)}


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in values.items())


def other_scheme(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    for other in evidence.schemes(usage):
        if type(other) is not type(usage.scaling):
            yield usage.with_rope(scaling=other), {"got": other, "meant": usage.scaling}


def ramp_of_the_paper(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    expected = usage.scaling
    if isinstance(expected, YaRN):
        other: Scaling = NTKByParts(expected.factor, expected.original, expected.beta_slow, expected.beta_fast)
    elif isinstance(expected, NTKByParts):
        other = YaRN(expected.factor, expected.original, expected.beta, expected.alpha, attention=1.0)
    else:
        return
    changed, words = usage.with_rope(scaling=other), {"got": type(other).__name__, "meant": type(expected).__name__}
    yield changed, words
    if changed and usage.is_default:  # running code alone can keep the attention factor that NTKByParts has not
        yield replace(changed, logit_factor=expected.attention_factor**2), words


def without_exponent(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    scaling = usage.scaling
    if usage.rope is not None and isinstance(scaling, NTKAware | DynamicNTK):
        factor = scaling.factor
        if isinstance(scaling, DynamicNTK):
            factor = factor * max(scaling.length, scaling.original) / scaling.original - (factor - 1.0)
        width = usage.rope.head_dim
        changed = usage.with_rope(scaling=None, base=usage.rope.base * factor)
        yield changed, {"factor": factor, "width": width, "less": width - 2}


def attention_to(power: int) -> Change[RotationUsage]:
    """Build the mistake of a power of the attention factor: 0 leaves it out, 2 applies it twice."""

    def change(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
        if usage.scaling is not None:
            yield _with_attention(usage, usage.scaling.attention_factor**power)

    return change


def other_attention(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    for factor in evidence.attention_factors(usage):
        if usage.scaling is not None:
            yield _with_attention(usage, factor)


def _with_attention(usage: RotationUsage, factor: float) -> tuple[RotationUsage | None, dict[str, Any]]:
    expected = 1.0 if usage.scaling is None else usage.scaling.attention_factor
    alone = {"mscale": None, "mscale_all_dim": None} if isinstance(usage.scaling, YaRN) else {}
    changed = None if factor == expected else usage.with_scaling(attention=factor, **alone)
    return changed, {"got": factor, "meant": expected}


def mscale_dialect(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield the attention factor that another reader computes from mscale, if the evidence shows it."""
    scaling = usage.scaling
    if not isinstance(scaling, YaRN):
        return
    shown = evidence.attention_factors(usage)
    for values, name in product(((scaling.mscale, scaling.mscale_all_dim), *MSCALES), DIALECTS):
        factor = attention_of(name, scaling.factor, *values)  # type: ignore[arg-type]
        matching = [one for one in shown if abs(factor - one) <= 2e-5 * one]
        if matching and abs(factor - scaling.attention_factor) > 2e-5:
            changed, words = _with_attention(usage, matching[0])
            yield changed, words | {"got": factor, "dialect": name}
            return


def ramp_reversed(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """The ramp from the other end: its ends exchanged, or the two frequencies that it blends."""
    names = RAMP_ENDS.get(type(usage.scaling), ())
    reversals: tuple[Reversal, ...] = ("ends", "blend", "everywhere")
    for reversal in reversals if names else ():
        ends = " and ".join(RAMP_KEYS.get(type(usage.scaling), names))
        words = {"ends": ends, "middle": "band" if isinstance(usage.scaling, Llama3) else "ramp"}
        yield from_defaults(usage, reversal=reversal), words


def factors_swapped(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Llama 3's low and high factors exchanged in code that compares wavelengths first: no pair is then blended.

    Which end the whole middle band falls to depends on the comparison that comes first: in transformers all of it is
    stretched; in Meta's code, vLLM and llama.cpp none of it is.
    """
    if isinstance(scaling := usage.scaling, Llama3) and scaling.low < scaling.high:
        words = {"low": scaling.low, "high": scaling.high, "original": scaling.original}
        for end, band in ((scaling.high, "stretched by the factor"), (scaling.low, "left as it is")):
            yield usage.with_scaling(low=end, high=end), words | {"end": end, "band": band}


def middle_band(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield Llama 3 frequencies that differ in the middle band alone, as read off the evidence."""
    rope, shown = usage.rope, evidence.frequencies(usage)
    unscaled_usage = usage.with_rope(scaling=None)
    if not isinstance(rope, RoPE) or unscaled_usage is None or shown is None:
        return
    unscaled = rotated_pairs(unscaled_usage, "query").frequencies[0]
    band = in_middle_band(rope.scaling, unscaled)
    if band is None or shown.shape != band.shape or not np.all(shown[band] > 0.0):
        return
    scaled = rotated_pairs(usage, "query").frequencies[0]
    off = np.abs(shown - scaled) > 1e-5 * scaled
    pairs, outside = np.flatnonzero(band & off), off & ~band
    lists: list[LongRoPE | None]
    if isinstance(evidence, OtherRotation):
        lists = [] if outside.any() else [one for one in evidence.scalings(usage) if isinstance(one, LongRoPE)]
    else:
        divisors = tuple((unscaled / np.where(band, shown, scaled)).tolist())
        lists = [unless_refused(lambda: LongRoPE(divisors, divisors, 2, 2, 1.0))]
    if pairs.size:
        words = {"pairs": f"{pairs[0]} to {pairs[-1]}", "pair": int(pairs[0])}
        words |= {"got": float(shown[pairs[0]]), "meant": float(scaled[pairs[0]])}
        for other in lists:
            yield None if other is None else usage.with_rope(scaling=other), words


def lists_swapped(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    if isinstance(scaling := usage.scaling, LongRoPE):
        got, expected = ("short", "long") if scaling.length > scaling.original else ("long", "short")
        words = {"got": got, "meant": expected, "length": scaling.length, "original": scaling.original}
        yield usage.with_scaling(short=scaling.long, long=scaling.short), words


def other_length(usage: RotationUsage, evidence: RotationEvidence) -> Changes:
    """Yield other served lengths for LongRoPE and dynamic NTK, first one across the trained length."""
    if isinstance(scaling := usage.scaling, LongRoPE | DynamicNTK):
        inside = scaling.length <= scaling.original
        opposite = int(scaling.original * max(2.0, scaling.factor)) if inside else scaling.original
        for length in (opposite, *evidence.scaling_values(usage, "length")):
            yield usage.with_scaling(length=length), {"got": length, "meant": scaling.length}


_TWICE = (
    "The scaling is applied twice: a stretch by {square:g} where {factor:g} is meant.",
    "Scale the frequencies in one place alone; look for a loader and a model that both do it.",
)

SCALING: tuple[Mistake[RotationUsage], ...] = (
    Mistake("scaling ignored", "The scaling {meant!r} is not applied.",
            "Pass rope_scaling (in new files rope_parameters) on to the code that makes the frequencies.",
            scaling_dropped, topic="scheme"),
    Mistake("exponent of NTK", "The base is multiplied by {factor:g} itself, without the exponent d/(d-2).",
            "Multiply the base by {factor:g}^({width}/{less}).", without_exponent, topic="scheme"),
    Mistake("scaling applied twice", *_TWICE, factor_squared, only_in="configs"),
    Mistake("scaling applied twice", *_TWICE, scaled_twice, only_in="code"),
    Mistake("ramp of the paper",
            "The ramp of {got} is used where that of {meant} is meant: linear in the rotations of a pair, or in its "
            "index.",
            "Take the ramp that the model was trained with; released code of YaRN has it in the index of the pair.",
            ramp_of_the_paper, topic="scheme"),
    Mistake("attention factor ignored",
            "The attention factor {meant:.6g} is left out: cos and sin are multiplied by 1.",
            "Multiply cos and sin by {meant:.6g}.", attention_to(0)),
    Mistake("attention factor twice", "The attention factor is applied twice: {got:.6g} where {meant:.6g} is meant.",
            "Multiply cos and sin by it once, and the logits not at all besides.", attention_to(2)),
    Mistake("mscale dialect",
            "mscale is read as {dialect} reads it: the attention factor is {got:.6g} where {meant:.6g} is meant.",
            "State the attention factor itself: attention_factor={meant:.6g}.", mscale_dialect),
    Mistake("attention factor", "The attention factor is {got:.8g} where {meant:.8g} is meant.",
            "Set attention_factor={meant:.8g}.", other_attention),
    Mistake("truncate", "truncate is {got} where {meant} is meant: whether the ends of YaRN's ramp are whole pairs.",
            "Set truncate={meant}; it must reach the code that makes the frequencies.", scaling_field("truncate")),
    Mistake("scaling factor", "The scaling factor is {got:g} where {meant:g} is meant.",
            "Set factor={meant:g}.", scaling_field("factor")),
    Mistake("original length", "The trained length is {got} where {meant} is meant.",
            "Set original_max_position_embeddings={meant}; it is not max_position_embeddings.",
            scaling_field("original")),
    Mistake("low and high swapped",
            "low_freq_factor and high_freq_factor are swapped, or both are {end:g}: no pair is blended, and all of the "
            "middle band is {band}.",
            "Set low_freq_factor={low:g} and high_freq_factor={high:g}: wavelengths from {original}/{high:g} to "
            "{original}/{low:g} are blended.", factors_swapped, only_in="code"),
    Mistake("ramp ends", "The ends are {got} where {meant} is meant.", "Set {meant}.", ramp_ends),
    Mistake("ramp reversed",
            "The {middle} runs from the wrong end: {ends} are exchanged, or the two frequencies that it blends.",
            "Fast pairs keep their frequencies, and slow ones are stretched by the factor.", ramp_reversed,
            only_in="code"),
    Mistake("middle band",
            "The middle band is smoothed otherwise, in pairs {pairs}: pair {pair} has the frequency {got:.6g} where "
            "{meant:.6g} is meant; the other pairs are right.",
            "Blend by 1 / ((1 - s)/factor + s) of the frequency, with s = (original/wavelength - low)/(high - low); in "
            "a GGUF file that is rope_freqs.weight.", middle_band, topic="scheme"),
    Mistake("lists swapped",
            "The {got} list of LongRoPE is used where the {meant} one is meant, for {length} positions of {original} "
            "trained ones.",
            "Use long_factor for lengths above the trained one and short_factor below.", lists_swapped),
    Mistake("served length", "The frequencies are those of a length of {got} where {meant} is served.",
            "Choose the frequencies for {meant} positions, once and for all of a sequence.", other_length),
    Mistake("scaling ignored",
            "The frequencies of the scaling {meant!r} are not applied, and its attention factor {factor:.6g} is.",
            "Take frequencies and attention factor from one place, the scaling of the file.", factor_kept,
            only_in="code", topic="scheme"),
    Mistake("factor multiplied", "The frequencies are multiplied by {factor} where they are to be divided by it.",
            "Divide frequencies, or positions, by the factor.", inverted, only_in="code"),
    Mistake("scheme", "The scaling is {got!r} where {meant!r} is meant.", "Use the rope_type of the file.",
            other_scheme),
    Mistake("scaling added", "The scaling {got!r} is applied where none is meant.",
            "Leave the frequencies as they are.", scaling_added, topic="scheme"),
)  # fmt: skip
