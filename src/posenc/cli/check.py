"""`posenc check`: a student's own code, and the sources' questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc import _check
from posenc.cli import parse, show
from posenc.cli.caller import Probe
from posenc.cli.load import load
from posenc.cli.probe import probe
from posenc.doors import Adds, Encoding, Rotates
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.inspect.diagnose import Finding, agrees, diagnose

#: A second width and an odd one, to see what a single width would hide.
OTHER_WIDTH = 10
ODD_WIDTH = 7


@dataclass(frozen=True)
class Check:
    """Check your own encoding against every published convention, and name the mistake.

    FILE.py:NAME is your own file: it is imported, so it runs. NAME is one of these (what an argument means is read off its name):
      f(length, dim)           a table, or rotation matrices such as the article's get_rotary_matrix
      f(positions, dim)        the same for given positions; f(position, dim) for one of them
      f(position, i, dim)      one number; i counts channels 0 ... dim-1
      f(x), f(x, positions)    vectors in, vectors with their positions added or rotated out; f(q, k, positions) for both
      a class                  made with its width, then called like f(x): a torch module, or any class with __call__ or forward
      a posenc record          a class or object that derives from posenc.Encoding: all checks of posenc.testing are run on it

    It exits with 0 when all is right, 1 when a mistake is found, 2 when it could not be checked.

    examples:
      posenc check mine.py:MyEncoding
      posenc check mine.py:my_table --base 100
      posenc check mine.py:my_rope --against "RoPE(dim=16, pairing='halves')"
      posenc check mine.py:MyEncoding --layout batch-first --json
      posenc check --questions
      posenc check --question lecture-d8 --answer "0.1411 -0.99 0.2955 0.9553 0.03 0.9996 0.003 1"
      posenc check --question chapter-position --answer 7
      posenc check --question article-rotary --answer mine.py:my_rope
    """

    target: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="FILE.py:NAME")] = None
    """Your own function, class or object."""

    dim: int = 16
    """The width to ask for."""

    base: float = 10_000.0
    """The base that is meant."""

    against: Annotated[str | None, tyro.conf.arg(metavar="RECORD")] = None
    """The one record to compare with, in place of every published convention."""

    layout: Annotated[str | None, tyro.conf.arg(metavar="LAYOUT")] = None
    """batch-first or sequence-first, where x has a batch and only one of the two is right for you."""

    questions: bool = False
    """List the sources' questions."""

    question: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The question that --answer answers; without --answer it is shown."""

    answer: Annotated[str | None, tyro.conf.arg(metavar="VALUE")] = None
    """A number, several numbers, or FILE.py:NAME where a function is asked for."""

    json: bool = False
    """Print JSON."""

    def run(self) -> int:
        if self.questions or self.question is not None:
            from posenc.cli import grade

            return grade.run(self)
        if self.answer is not None:
            raise ValueError(
                "answer must come with a question; got --answer alone. Add --question NAME; `posenc check --questions` lists them."
            )
        if self.target is None:
            raise ValueError("target must be FILE.py:NAME; got nothing. Write posenc check mine.py:MyEncoding, say.")
        target = load(self.target)
        if isinstance(target, Encoding) or (isinstance(target, type) and issubclass(target, Encoding)):
            from posenc.cli import conform

            return conform.run(target, self.dim, self.json)
        outcome = examine(self, target)
        print(show.as_json(outcome)) if self.json else tell(outcome)
        return 0 if outcome["right"] else 1


def examine(options: Check, target: Any) -> dict[str, Any]:
    """The verdict at the width asked for, then at another and an odd one where these can be had."""
    if options.layout is not None:
        _check.choice("layout", options.layout, ("batch-first", "sequence-first"))
    base = _check.real("base", options.base, 0.0, 1e30, above=True)
    dim, against = _check.integer("dim", options.dim, 4, 4096, even=True), None
    if options.against is not None:
        against = parse.record(options.against)
        if not isinstance(against, Adds | Rotates):
            raise ValueError(
                f"against must be a record that adds or rotates; got {options.against}. Choose another one."
            )
        dim = against.width if isinstance(against, Adds) else against.head_dim
    file = str(Path(str(options.target or options.answer).rpartition(":")[0]).resolve())
    found = probe(target, dim, base, file)
    verdict = diagnose(found.observed, base=base, against=against)
    findings = [*verdict.mistakes, *found.findings, *_layout(found, options.layout)]
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
