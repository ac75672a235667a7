"""Mistakes in which layer does what: local and global exchanged, NoPE inverted, one record for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from posenc.diagnosis.rotation.usage import parts
from posenc.doors import Encoding
from posenc.encodings.rotates.temperature import StepTemperature
from posenc.models.canonical import Form, canonical
from posenc.models.model_positions import LayerGroup, ModelPositions, counted


class Content(NamedTuple):
    """What a layer does with positions."""

    encodings: tuple[Encoding, ...]
    offset: int = 0
    logit_factor: float = 1.0
    query_temperature: StepTemperature | None = None
    bias_factor: float = 1.0

    def form(self) -> Form:
        return canonical(LayerGroup("text", "", (0,), **self._asdict()))


#: The layers of one kind of one part, and what each does.
Run = tuple[tuple[int, Content], ...]
Plan = dict[tuple[str, str], Run]


@dataclass(frozen=True)
class LayerMistake:
    """One way to give layers the wrong content. The change gives each layer's content and the words of the sentence."""

    name: str
    sentence: str
    fix: str
    change: Callable[[list[Content], list[Content]], Iterator[tuple[list[Content], dict[str, Any]]]]


def plan(model: ModelPositions) -> Plan:
    """What each layer does, part by part; cross-attention and what comes before the layers each on their own."""
    found: dict[tuple[str, str], list[tuple[int, Content]]] = {}
    for group in model.groups:
        kind = "before" if not group.layers else "cross" if "cross" in group.attention else "layers"
        content = Content(**{name: getattr(group, name) for name in Content._fields})
        found.setdefault((group.part, kind), []).extend((layer, content) for layer in group.layers or (-1,))
    return {key: tuple(sorted(run, key=lambda pair: pair[0])) for key, run in found.items()}


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans compute the same."""
    return forms(one) == forms(other)


def forms(given: Plan) -> dict[tuple[str, str], tuple[tuple[int, Form], ...]]:
    known: dict[Content, Form] = {}

    def form(content: Content) -> Form:
        return known[content] if content in known else known.setdefault(content, content.form())

    return {key: tuple((layer, form(content)) for layer, content in run) for key, run in given.items()}


def layers_of(contents: list[Content], wanted: Content) -> str:
    return counted(tuple(layer for layer, content in enumerate(contents) if content == wanted))


def kinds(contents: list[Content]) -> list[Content]:
    """The different contents, in the order of the layers."""
    return list(dict.fromkeys(contents))


def turns(content: Content) -> bool:
    return any(record.door == "rotates" for record in content.encodings)


Contents = Iterator[tuple[list[Content], dict[str, Any]]]


def exchanged(of_none: bool) -> Callable[[list[Content], list[Content]], Contents]:
    """The contents of two kinds of layers exchanged; with `of_none`, where one of them does not turn."""

    def change(own: list[Content], other: list[Content]) -> Contents:
        found = kinds(own)
        if len(found) == 2 and all(map(turns, found)) != of_none:
            one, two = found
            yield (
                [two if content == one else one for content in own],
                {
                    "first": layers_of(own, one),
                    "second": layers_of(own, two),
                    "turning": layers_of(own, one if turns(one) else two),
                },
            )

    return change


def one_for_all(turning: bool) -> Callable[[list[Content], list[Content]], Contents]:
    def change(own: list[Content], other: list[Content]) -> Contents:
        found = kinds(own)
        for content in found if len(found) > 1 else ():
            still = any(not turns(kind) for kind in found if kind != content)
            if turns(content) and still == turning:
                yield (
                    [content] * len(own),
                    {
                        "used": layers_of(own, content),
                        "rest": counted(tuple(layer for layer, kind in enumerate(own) if kind != content)),
                    },
                )

    return change


def none_turns(own: list[Content], other: list[Content]) -> Contents:
    if any(map(turns, own)):
        yield (
            [
                content._replace(encodings=tuple(record for record in content.encodings if record.door != "rotates"))
                for content in own
            ],
            {},
        )


def scaled_too(own: list[Content], other: list[Content]) -> Contents:
    """The scaling of some layers on the others as well, with their own base."""
    for content in kinds(own):
        scaling = _scaling(content)
        if scaling is not None:
            made = [_with(kind, scaling=scaling) if _scaling(kind) is None else kind for kind in own]
            rest = counted(tuple(layer for layer, kind in enumerate(own) if _scaling(kind) is None and turns(kind)))
            if made != own:
                yield made, {"scaling": repr(scaling), "used": layers_of(own, content), "rest": rest}


def scaling_exchanged(own: list[Content], other: list[Content]) -> Contents:
    found = kinds(own)
    if len(found) == 2 and all(map(turns, found)) and _scaling(found[0]) != _scaling(found[1]):
        one, two = (_with(mine, scaling=_scaling(theirs)) for mine, theirs in (found, found[::-1]))
        yield (
            [one if content == found[0] else two for content in own],
            {
                "first": layers_of(own, found[0]),
                "second": layers_of(own, found[1]),
            },
        )


def one_base(own: list[Content], other: list[Content]) -> Contents:
    bases = dict.fromkeys(base for content in own if (base := _base(content)) is not None)
    for base in bases if len(bases) > 1 else ():
        yield [_with(content, base=base) if _base(content) else content for content in own], {"base": base}


def shifted(own: list[Content], other: list[Content]) -> Contents:
    if len(kinds(own)) > 1:
        yield [own[-1], *own[:-1]], {"by": "one too late"}
        yield [*own[1:], own[0]], {"by": "one too early"}


def other_plan(own: list[Content], other: list[Content]) -> Contents:
    """The contents where the other model has them, if it has the same ones elsewhere."""
    known = {content.form(): content for content in kinds(own)}
    if len(own) == len(other) and len(known) > 1 and {content.form() for content in kinds(other)} == set(known):
        made = [known[content.form()] for content in other]
        wrong = tuple(layer for layer, (one, two) in enumerate(zip(own, made, strict=True)) if one != two)
        yield made, {"layers": counted(wrong)}


def temperature(own: list[Content], other: list[Content]) -> Contents:
    """Query temperature nowhere, everywhere, on the other layers, or counted from the other start."""
    used = next((content.query_temperature for content in own if content.query_temperature), None)
    if used is None:
        return
    yield [content._replace(query_temperature=None) for content in own], {"said": "is left out"}
    yield [content._replace(query_temperature=used) for content in own], {"said": "is applied in every layer"}
    yield (
        [content._replace(query_temperature=None if content.query_temperature else used) for content in own],
        {"said": "is applied in the other layers"},
    )
    moved = replace(used, start=0 if used.start else 1)
    yield (
        [content._replace(query_temperature=moved) if content.query_temperature else content for content in own],
        {"said": f"counts positions from {moved.start} where {used.start} is meant"},
    )


def _scaling(content: Content) -> Any:
    own = next((found for record in content.encodings if (found := parts(record)) is not None), None)  # type: ignore[arg-type]
    return own.rope.scaling if own else None


def _base(content: Content) -> float | None:
    own = next((found for record in content.encodings if (found := parts(record)) is not None), None)  # type: ignore[arg-type]
    return own.rope.base if own else None


def _with(content: Content, **fields: Any) -> Content:
    """The content with other fields of its RoPE."""

    def changed(record: Encoding) -> Encoding:
        own = parts(record)  # type: ignore[arg-type]
        if own is None:
            return record
        try:
            return own._replace(rope=replace(own.rope, **fields)).whole()
        except (ValueError, TypeError):
            return record

    return content._replace(encodings=tuple(changed(record) for record in content.encodings))


_KINDS = "Read layer_types, sliding_window_pattern or the nested rope_parameters of the file."

LAYERS: tuple[LayerMistake, ...] = (
    LayerMistake("NoPE layers inverted", "The layers without rotation are exchanged with those that turn: {turning} should turn.", "In no_rope_layers a 1 means that the layer does turn.", exchanged(True)),
    LayerMistake("local and global exchanged", "What {first} and {second} are to use is exchanged.", _KINDS, exchanged(False)),
    LayerMistake("NoPE layers ignored", "Every layer turns; {rest} should not.", "Read no_rope_layers (a 1 means that the layer turns) or no_rope_layer_interval.", one_for_all(True)),
    LayerMistake("one record for all layers", "Every layer uses what only {used} should; {rest} have their own.", _KINDS, one_for_all(False)),
    LayerMistake("no layer turns", "No layer turns queries and keys.", "Apply the rotation.", none_turns),
    LayerMistake("scaling on every layer", "The scaling {scaling} is meant for {used} and applied to {rest} too.", "Scale the layers of full attention alone.", scaled_too),
    LayerMistake("scaling on the other layers", "The scalings of {first} and {second} are exchanged.", "Scale the layers of full attention alone.", scaling_exchanged),
    LayerMistake("one base for all layers", "Every layer has the base {base:g}.", "Read both bases: rope_theta and rope_local_base_freq, or the nested rope_parameters.", one_base),
    LayerMistake("layer plan shifted", "What layers do comes {by}.", "Count layers from 0, and look at which of a period is the special one.", shifted),
    LayerMistake("layer plan", "The right kinds of layers stand in the wrong places: {layers}.", "Read layer_types, or the interval, of the file.", other_plan),
    LayerMistake("query temperature", "The temperature of queries {said}.", "Multiply queries by 1 + beta·ln(1 + ⌊(p + start)/floor⌋) in the layers that the model has it in.", temperature),
)  # fmt: skip
