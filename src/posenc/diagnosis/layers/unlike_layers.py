"""Layers that one of two models has and the other has not: another number of them, or positions at another place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from posenc.diagnosis.layers.layer_contents import Layers, different_contents
from posenc.diagnosis.mistake import Finding
from posenc.models.model_positions import layer_ranges

Parts = Mapping[tuple[str, str], Layers]
#: Keys of `Parts`, of the first model and of the second.
Kinds = list[list[tuple[str, str]]]
OTHER_KIND = "Set it to {}: look at the key that chooses the kind of positions, position_embedding_type or alibi, say."
AS_MANY = "Build the layers that the file says: num_hidden_layers, layer_types, or what its type calls them."


class InCommon(NamedTuple):
    """The layers that both models have, and findings on those that one alone has."""

    first: Parts
    second: Parts
    findings: tuple[Finding, ...]


def in_common(first: Parts, second: Parts) -> InCommon:
    """Split two models into what both have and what differs in kind or number."""
    parts = dict.fromkeys(part for part, _ in (*first, *second))
    kinds_by_part = {part: _kinds_of_one(part, first, second) for part in parts}
    findings = (*_of_one(kinds_by_part, first, second), *_of_other_numbers(first, second))
    unlike = {key for kinds in kinds_by_part.values() for keys in kinds for key in keys}
    shared = [key for key in first if key in second and key not in unlike]
    both = {key: set(first[key].numbers) & set(second[key].numbers) for key in shared}
    ours, theirs = ({key: _some(side[key], kept) for key, kept in both.items() if kept} for side in (first, second))
    return InCommon(ours, theirs, findings)


def other_kind(meant: list[str], used: list[str], where: str = "") -> Finding:
    """Finding on positions that enter a model in another way than is meant, each side in words."""
    sentence = f"{' and '.join(used)} is used where {' and '.join(meant)} is meant."
    return Finding("other kind of positions", sentence, OTHER_KIND.format(" and ".join(meant)), where)


def _some(layers: Layers, kept: set[int]) -> Layers:
    pairs = [pair for pair in zip(*layers, strict=True) if pair[0] in kept]
    return Layers(*map(tuple, zip(*pairs, strict=True)))


def _of_one(kinds_by_part: Mapping[str, Kinds], first: Parts, second: Parts) -> Iterator[Finding]:
    """Findings on kinds of layers that one model alone has; a single one where each has its own kind in a part."""
    for part, kinds in kinds_by_part.items():
        sides = zip(kinds, (first, second), strict=True)
        ours, theirs = ([_uses(key, side[key]) for key in keys] for keys, side in sides)
        where = part if len(kinds_by_part) > 1 else ""
        if ours and theirs:
            yield other_kind(ours, theirs, where)
        elif ours:
            yield Finding("left out", f"{' and '.join(ours)} is left out.", "Use it.", where)
        elif theirs:
            sentence = f"{' and '.join(theirs)} is used where nothing of its kind is meant."
            yield Finding("added", sentence, "Leave it out.", where)


def _kinds_of_one(part: str, first: Parts, second: Parts) -> Kinds:
    """Kinds of layers of a part that the first model alone has, and those that the second alone has.

    Where one has a kind of its own and both know positions elsewhere, such as in a table and in biases, kinds that hold
    positions in one model alone are among them.
    """
    sides = ((first, second), (second, first))
    absent = [[key for key in one if key[0] == part and key not in other] for one, other in sides]
    unlike = [
        [
            key
            for key in one
            if key[0] == part and not _hold_positions(other, key) and (key not in other or _hold_positions(one, key))
        ]
        for one, other in sides
    ]
    return unlike if any(absent) and all(unlike) else absent


def _hold_positions(parts: Parts, key: tuple[str, str]) -> bool:
    return key in parts and any(content.encodings for content in parts[key].contents)


def _uses(key: tuple[str, str], layers: Layers) -> str:
    """Encodings of layers and where they are, in words."""
    different = {repr(one) for content in different_contents(layers.contents) for one in content.encodings}
    encodings = " and ".join(sorted(different)) or "attention without positions"
    places = {"before": "before the layers", "cross": f"in the cross-attention of {layer_ranges(layers.numbers)}"}
    return f"{encodings} {places.get(key[1], f'in {layer_ranges(layers.numbers)}')}"


def _of_other_numbers(first: Parts, second: Parts) -> Iterator[Finding]:
    """Findings on parts whose layers have other numbers in the second model: fewer, more or others."""
    for key in first:
        one, other = first[key].numbers, second[key].numbers if key in second else first[key].numbers
        if one != other:
            what = "Cross-attention is" if key[1] == "cross" else "Attention is"
            sentence = f"{what} in {layer_ranges(other)} where {layer_ranges(one)} are meant."
            where = key[0] if len({part for part, _ in first}) > 1 else ""
            yield Finding("number of layers", sentence, AS_MANY, where)
