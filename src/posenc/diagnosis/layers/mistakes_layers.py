"""Mistakes in which layer does what: local and global exchanged, NoPE inverted, one encoding for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from posenc.diagnosis.layers.layer_contents import (
    Content,
    Contents,
    OtherLayers,
    different_contents,
    forms,
    of_each_layer,
)
from posenc.diagnosis.mistake import Change, Mistake, Words
from posenc.diagnosis.rotation.rotation_usage import rope_base
from posenc.encodings.rotates.temperature import QueryTemperature
from posenc.frequencies import Scaling
from posenc.models.model_positions import layer_ranges

Changes = Iterator[tuple[Contents, Words]]


def layers_where(contents: Contents, condition: Callable[[Content], bool]) -> str:
    """The layers whose content meets the condition, in words."""
    return layer_ranges(tuple(np.flatnonzero(of_each_layer(contents, condition)).tolist()))


def layers_exchanged(all_rotate: bool) -> Change[Contents]:
    """Build the mistake that exchanges two kinds of layers: both rotate if `all_rotate`, else not both."""

    def change(contents: Contents, evidence: OtherLayers) -> Changes:
        different = different_contents(contents)
        if len(different) == 2 and all(content.rotates for content in different) == all_rotate:
            one, two = different
            first, second = (layers_where(contents, kind.__eq__) for kind in different)
            words = {"first": first, "second": second, "rotating": first if one.rotates else second}
            yield of_each_layer(contents, lambda content: two if content == one else one), words

    return change


def one_for_all(all_rotate: bool) -> Change[Contents]:
    """Build the mistake that gives all layers one kind's content; all others rotate if `all_rotate`, else not all."""

    def change(contents: Contents, evidence: OtherLayers) -> Changes:
        different = different_contents(contents)
        for kind in different:
            others = [other for other in different if other != kind]
            if kind.rotates and all(other.rotates for other in others) == all_rotate:
                used, rest = (layers_where(contents, condition) for condition in (kind.__eq__, kind.__ne__))
                yield (kind,) * len(contents), {"used": used, "rest": rest}

    return change


def none_rotates(contents: Contents, evidence: OtherLayers) -> Changes:
    def without_rotation(content: Content) -> Content:
        return content._replace(encodings=tuple(one for one in content.encodings if one.door != "rotates"))

    yield of_each_layer(contents, without_rotation), {}


def scaled_too(contents: Contents, evidence: OtherLayers) -> Changes:
    """The scaling of some layers on the others as well, with their own base."""

    def unscaled(content: Content) -> bool:
        return content.rope is not None and content.rope.scaling is None

    def with_scaling(scaling: Scaling, content: Content) -> Content:
        return content.with_rope(scaling=scaling) if unscaled(content) else content

    for kind in different_contents(contents):
        scaling = None if kind.rope is None else kind.rope.scaling
        if scaling is not None and (rest := layers_where(contents, unscaled)):
            words = {"scaling": repr(scaling), "used": layers_where(contents, kind.__eq__), "rest": rest}
            yield of_each_layer(contents, partial(with_scaling, scaling)), words


def scaling_exchanged(contents: Contents, evidence: OtherLayers) -> Changes:
    different = different_contents(contents)
    scalings = [kind.rope.scaling for kind in different if kind.rope is not None]
    if len(different) == len(scalings) == 2:
        changed = {kind: kind.with_rope(scaling=other) for kind, other in zip(different, scalings[::-1], strict=True)}
        first, second = (layers_where(contents, kind.__eq__) for kind in different)
        yield of_each_layer(contents, changed.__getitem__), {"first": first, "second": second}


def one_base(contents: Contents, evidence: OtherLayers) -> Changes:
    ropes = [content.rope for content in different_contents(contents)]
    for base in dict.fromkeys(rope_base(rope) for rope in ropes if rope is not None):
        yield of_each_layer(contents, partial(Content.with_rope, base=base)), {"base": base}


def layers_shifted(contents: Contents, evidence: OtherLayers) -> Changes:
    yield (contents[-1], *contents[:-1]), {"by": "one too late"}
    yield (*contents[1:], contents[0]), {"by": "one too early"}


def other_plan(contents: Contents, evidence: OtherLayers) -> Changes:
    """Yield this model's contents in the order of the other model, where both have the same set of them."""
    known = {content.form: content for content in different_contents(contents)}
    others = forms(evidence.contents)
    if set(others) == set(known):
        changed = tuple(known[form] for form in others)
        wrong = tuple(layer for layer, (one, two) in enumerate(zip(contents, changed, strict=True)) if one != two)
        yield changed, {"layers": layer_ranges(wrong)}


def temperature(contents: Contents, evidence: OtherLayers) -> Changes:
    """Query temperature nowhere, everywhere, on the other layers, or counted from the other start."""
    used = next((content.query_temperature for content in contents if content.query_temperature), None)
    if used is None:
        return

    def where(on: QueryTemperature | None, off: QueryTemperature | None) -> Contents:
        return tuple(one._replace(query_temperature=on if one.query_temperature else off) for one in contents)

    moved = replace(used, start=0 if used.start else 1)
    yield where(None, None), {"message": "is left out"}
    yield where(used, used), {"message": "is applied in every layer"}
    yield where(None, used), {"message": "is applied in the other layers"}
    yield where(moved, None), {"message": f"counts positions from {moved.start} where {used.start} is meant"}


_KINDS = "Read layer_types, sliding_window_pattern or the nested rope_parameters of the file."

LAYERS: tuple[Mistake[Contents], ...] = (
    Mistake("NoPE layers inverted",
            "The layers without rotation are exchanged with those that rotate: {rotating} should rotate.",
            "In no_rope_layers a 1 means that the layer does rotate.", layers_exchanged(all_rotate=False)),
    Mistake("local and global exchanged", "What {first} and {second} are to use is exchanged.", _KINDS,
            layers_exchanged(all_rotate=True)),
    Mistake("NoPE layers ignored", "Every layer rotates; {rest} should not.",
            "Read no_rope_layers (a 1 means that the layer rotates) or no_rope_layer_interval.",
            one_for_all(all_rotate=False)),
    Mistake("one encoding for all layers", "Every layer uses what only {used} should; {rest} have their own.", _KINDS,
            one_for_all(all_rotate=True)),
    Mistake("no layer rotates", "No layer rotates queries and keys.", "Apply the rotation.", none_rotates),
    Mistake("scaling on every layer", "The scaling {scaling} is meant for {used} and applied to {rest} too.",
            "Scale the layers of full attention alone.", scaled_too),
    Mistake("scaling on the other layers", "The scalings of {first} and {second} are exchanged.",
            "Scale the layers of full attention alone.", scaling_exchanged),
    Mistake("one base for all layers", "Every layer has the base {base:g}.",
            "Read both bases: rope_theta and rope_local_base_freq, or the nested rope_parameters.", one_base),
    Mistake("layer plan shifted", "What layers do comes {by}.",
            "Count layers from 0, and look at which of a period is the special one.", layers_shifted),
    Mistake("layer plan", "The right kinds of layers stand in the wrong places: {layers}.",
            "Read layer_types, or the interval, of the file.", other_plan),
    Mistake("query temperature", "The temperature of queries {message}.",
            "Multiply queries by 1 + beta·ln(1 + ⌊(p + start)/floor⌋) in the layers that the model has it in.",
            temperature),
)  # fmt: skip
