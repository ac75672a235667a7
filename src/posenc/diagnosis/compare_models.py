"""Two models, layer by layer: which known mistakes make the second from the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from posenc.diagnosis.layers.mistakes_layers import LAYERS, Content, Plan, forms, same
from posenc.diagnosis.mistake import Hints
from posenc.diagnosis.rotation.usage import parts
from posenc.diagnosis.search import Finding, Same, explained
from posenc.doors import Encoding, Rotates
from posenc.models.canonical import canonical
from posenc.models.difference import ABSENT, flat
from posenc.models.model_positions import counted
from posenc.models.pair_rotation import pair_rotation

#: The most mistakes that may come together.
MOST = 2
#: What is said of a record that has no other beside it, if nothing better explains it.
LOST = frozenset({"left out", "added"})


def between(first: Plan, second: Plan) -> tuple[Finding, ...] | None:
    """The mistakes that lead from one plan to the other: none where they are the same, None where no known ones do."""
    if same(first, second):
        return ()
    if {key: [layer for layer, _ in run] for key, run in first.items()} != {
        key: [layer for layer, _ in run] for key, run in second.items()
    }:
        return None
    whole = [(finding, made) for finding, made in _layer_mistakes(first, second)]
    for finding, made in whole:
        if same(made, second):
            return (finding,)
    found = _sections(first, second)
    few = found if found is not None and len(found) <= MOST else None
    if few is not None and not LOST & {finding.name for finding in few}:
        return few
    for finding, made in whole:
        more = _sections(made, second)
        if more is not None and len(more) < MOST and not LOST & {other.name for other in more}:
            return finding, *more
    return few


def _layer_mistakes(first: Plan, second: Plan) -> Iterator[tuple[Finding, Plan]]:
    """Every mistake in which layer does what, made in one part of the model."""
    for key, run in first.items():
        own, other = [content for _, content in run], [content for _, content in second[key]]
        for mistake in LAYERS:
            for made, words in mistake.change(own, other):
                changed = tuple((layer, content) for (layer, _), content in zip(run, made, strict=True))
                where = key[0] if len(first) > 1 else ""
                finding = Finding(mistake.name, mistake.sentence.format(**words), mistake.fix.format(**words), where)
                yield finding, {**first, key: changed}


def _sections(first: Plan, second: Plan) -> tuple[Finding, ...] | None:
    """What explains each group of layers, findings that are the same told once; None where one is not explained."""
    alike = forms(first), forms(second)
    places: dict[Finding, list[tuple[str, int]]] = {}
    known: dict[tuple[Content, Content], tuple[Finding, ...] | None] = {}
    for key, run in first.items():
        for at, (layer, mine) in enumerate(run):
            theirs = second[key][at][1]
            if alike[0][key][at] == alike[1][key][at]:
                continue
            if (mine, theirs) not in known:
                known[mine, theirs] = _contents(mine, theirs)
            found = known[mine, theirs]
            if found is None:
                return None
            for finding in found:
                places.setdefault(finding, []).append((key[0], layer))
    count = sum(len(run) for run in first.values())
    return tuple(
        finding if len(there) == count else replace(finding, where=_where(there, len(first) > 1))
        for finding, there in places.items()
    )


def _where(places: list[tuple[str, int]], several: bool) -> str:
    parts = dict.fromkeys(part for part, _ in places)
    runs = (counted(tuple(layer for own, layer in places if own == part and layer >= 0)) for part in parts)
    return "; ".join(f"{part}, {run}" if several else run for part, run in zip(parts, runs, strict=True))


def _contents(one: Content, other: Content) -> tuple[Finding, ...] | None:
    """What explains two contents; None where nothing does."""
    found: list[Finding] = []
    for mine, theirs in _matched(one.encodings, other.encodings):
        if canonical(mine) == canonical(theirs):
            continue
        more = _records(mine, theirs)
        if more is None:
            return None
        found += more
    for name in ("offset", "logit_factor", "query_temperature", "bias_factor"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            found.append(_field(name.replace("_", " "), str(mine), str(theirs)))
    return tuple(found) if len(found) <= MOST else None


def _matched(
    one: tuple[Encoding, ...], other: tuple[Encoding, ...]
) -> Iterator[tuple[Encoding | None, Encoding | None]]:
    """Records of one door beside each other, in their order."""
    for door in dict.fromkeys(record.door for record in (*one, *other)):
        mine, theirs = ([record for record in own if record.door == door] for own in (one, other))
        for index in range(max(len(mine), len(theirs))):
            yield (mine[index] if index < len(mine) else None, theirs[index] if index < len(theirs) else None)


def _records(mine: Encoding | None, theirs: Encoding | None) -> tuple[Finding, ...] | None:
    if mine is None or theirs is None:
        there = mine or theirs
        if mine is None:
            return (Finding("added", f"{there!r} is used where nothing of its kind is meant.", "Leave it out."),)
        return (Finding("left out", f"{there!r} is left out.", "Use it."),)
    if isinstance(mine, Rotates) and isinstance(theirs, Rotates) and pair_rotation(mine) and pair_rotation(theirs):
        found = explained(mine, Same(theirs), Hints(target=theirs))
        return found or (_fields(mine, theirs) if parts(mine) is None else None)
    return _fields(mine, theirs)


def _fields(mine: Encoding, theirs: Encoding) -> tuple[Finding, ...] | None:
    """Two records of one class, field by field, where few enough differ."""
    one, other = flat(mine), flat(theirs)
    if type(mine) is not type(theirs):
        return None
    apart = [name for name in one if one[name] != other.get(name, ABSENT) and name != "numerics"]
    if not 0 < len(apart) <= MOST or set(one) != set(other):
        return None
    return tuple(_field(name, str(one[name]), str(other[name])) for name in apart)


def _field(name: str, meant: str, got: str) -> Finding:
    return Finding(name, f"{name} is {got} where {meant} is meant.", f"Set it to {meant}.")
