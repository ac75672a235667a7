"""A student's own code: probed, compared and told in lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc import _check, parse
from posenc.cli import show
from posenc.diagnosis.code.caller import Probe
from posenc.diagnosis.code.probing import probe
from posenc.diagnosis.code.table_diagnosis import Finding, agrees, diagnose
from posenc.doors import Adds, Rotates
from posenc.encodings.adds.sinusoidal import Sinusoidal

#: A second width and an odd one, to see what a single width would hide.
OTHER_WIDTH = 10
ODD_WIDTH = 7


@dataclass(frozen=True)
class Meant:
    """What the code is meant to be, in the words of `posenc check`."""

    dim: int
    base: float
    against: str | None
    layout: str | None


def examine(target: Any, name: str, meant: Meant) -> dict[str, Any]:
    """The verdict on code of that name, FILE.py:NAME, at the width asked for, then at another and an odd one where these can be had."""
    if meant.layout is not None:
        _check.choice("layout", meant.layout, ("batch-first", "sequence-first"))
    base = _check.real("base", meant.base, 0.0, 1e30, above=True)
    dim, against = _check.integer("dim", meant.dim, 4, 4096, even=True), None
    if meant.against is not None:
        against = parse.record(meant.against)
        if not isinstance(against, Adds | Rotates):
            raise ValueError(f"against must be a record that adds or rotates; got {meant.against}. Choose another one.")
        dim = against.width if isinstance(against, Adds) else against.head_dim
    file = str(Path(name.rpartition(":")[0]).resolve())
    found = probe(target, dim, base, file)
    verdict = diagnose(found.observed, base=base, against=against)
    findings = [*verdict.mistakes, *found.findings, *_layout(found, meant.layout)]
    notes = [*verdict.notes, *found.notes]
    right = verdict.right and not findings
    if right and against is None and found.observed.dim == dim:
        others = [
            _elsewhere(target, width, base, file) for width in (OTHER_WIDTH if dim != OTHER_WIDTH else 12, ODD_WIDTH)
        ]
        findings += [finding for finding, _ in others if finding]
        notes += [note for _, note in others if note]
    return {
        "right": right and not findings,
        "form": found.form,
        "door": found.observed.door,
        "layout": found.layout or None,
        "convention": verdict.convention,
        "explained": verdict.right or bool(findings),
        "mistakes": findings,
        "notes": notes,
        "precision": verdict.precision or None,
        "first_difference": None if verdict.right else verdict.first,
        "largest_difference": verdict.largest,
        "compared": verdict.compared,
        "farthest_position": float(found.observed.positions.max()),
    }


def _layout(found: Probe, wanted: str | None) -> list[Finding]:
    if (
        wanted is None
        or found.layout not in ("batch first", "sequence first")
        or found.layout == wanted.replace("-", " ")
    ):
        return []
    return [
        Finding(
            "batch and position mixed",
            f"It reads x {found.layout}, and {wanted.replace('-', ' ')} is meant: every token of a sequence would get one position.",
            "Take the length from x.size(1) with batch first, from x.size(0) with the sequence first, and shape the table to match.",
        )
    ]


def _elsewhere(target: Any, width: int, base: float, file: str) -> tuple[Finding | None, str]:
    """What another width shows: a finding, or a note where it is refused."""
    try:
        found = probe(target, width, base, file)
    except ValueError:
        return None, f"It refuses width {width}." if width % 2 else ""
    if found.observed.dim != width or (width % 2 and found.observed.door == "rotates"):
        return None, ""
    verdict = diagnose(found.observed, base=base)
    if verdict.right:
        return None, ""
    if width % 2 and _all_but_last(found, base):
        return None, f"At width {width} its last channel is no wave; see the field odd of Sinusoidal."
    if width % 2:
        fix = "Leave out the last cosine, or refuse an odd width."
        return Finding("odd width", f"Right at even widths, wrong at width {width}.", fix), ""
    cause = verdict.mistakes[0] if verdict.mistakes else None
    what = f": {cause.sentence}" if cause else "."
    sentence = f"Right at the width asked for, wrong at width {width}{what}"
    return Finding(cause.name if cause else "width", sentence, "Use the width that is asked for throughout."), ""


def _all_but_last(found: Probe, base: float) -> bool:
    """Whether an odd table is right up to its last channel."""
    observed = found.observed
    expected = Sinusoidal(observed.dim, base, odd="truncate").embed(observed.positions)
    return agrees(replace(observed, values=observed.values[:, :-1]), expected[:, :-1], "float32", None)


def tell(outcome: dict[str, Any]) -> None:
    """The verdict as lines."""
    if outcome["right"]:
        show.heading("right")
        show.say(f"It is {outcome['convention']}.")
    elif outcome["mistakes"]:
        for mistake in outcome["mistakes"]:
            show.heading(f"mistake: {mistake.name}")
            show.say(mistake.sentence, f"What to do: {mistake.fix}")
    else:
        show.heading("it differs, and none of the known mistakes explains it")
    layout = f", {outcome['layout']}" if outcome["layout"] else ""
    show.say("", f"called as       {outcome['form']}{layout}")
    if not outcome["right"]:
        show.say(f"compared with   {outcome['convention']}")
    show.say(
        f"numbers         {outcome['compared']:,}, positions 0 to {outcome['farthest_position']:,.0f}, largest difference {outcome['largest_difference']:.2g}"
    )
    first = outcome["first_difference"]
    if first is not None:
        of = f" of unit vector {first.source}" if first.source is not None else ""
        show.say(
            f"first differs   position {first.position:.0f}, dimension {first.channel}{of}: expected {first.expected:.6g}, received {first.received:.6g}"
        )
    for note in outcome["notes"]:
        show.say(f"note            {note}")
