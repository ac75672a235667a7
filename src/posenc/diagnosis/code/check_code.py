"""A user's own function, class or module: called, compared with every published convention, and its mistake named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from posenc import _check
from posenc.diagnosis.code.call_forms import Probe
from posenc.diagnosis.code.code_report import CodeReport
from posenc.diagnosis.code.judge_values import USUAL_BASE, judge_values
from posenc.diagnosis.code.probing import probe
from posenc.diagnosis.mistake import Finding
from posenc.doors import Adds, Encoding, Rotates
from posenc.encodings.adds.sinusoidal import Sinusoidal

Layout = Literal["batch-first", "sequence-first"]
LAYOUTS = ("batch-first", "sequence-first")
#: A second width, a third where the second is the one asked for, and an odd one, to see what a single width would hide.
OTHER_WIDTHS = (10, 12)
ODD_WIDTH = 7


def check_code(
    target: Any,
    *,
    against: Encoding | None = None,
    dim: int = 16,
    base: float = USUAL_BASE,
    layout: Layout | None = None,
) -> CodeReport:
    """Call code of your own, compare it with every published convention, and name its mistake if it makes one.

    target: a function, a class (made first) or an object such as a torch module. What an argument means is read off its
    name: f(length, dim), f(positions, dim), f(position, dim) and f(position, i, dim) return a table, row, number, or
    rotation matrices; f(x), f(x, positions), f(x, position), f(q, k) and f(q, k, positions) take vectors.
    against: the one record that is meant, in place of every convention.   dim: the width to ask for, even, from 4.
    base: the base that is meant.   layout: "batch-first" or "sequence-first", where only one is right for you.
    Where it is right, another width and an odd one are asked for as well.

    Raises ValueError or TypeError naming the argument; ValueError, with the line in your file, for code that fails.

    >>> import numpy as np
    >>> def table(length, dim):
    ...     angle = np.arange(1, length + 1)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
    ...     return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)
    >>> report = check_code(table)
    >>> report.right, report.convention, report.findings[0].sentence
    (False, 'Sinusoidal(dim=16)', 'Positions start at 1.')
    """
    if layout is not None:
        _check.choice("layout", layout, LAYOUTS)
    base = _check.real("base", base, 0.0, 1e30, above=True)
    dim = _check.integer("dim", dim, 4, 4096, even=True)
    if against is not None:
        if not isinstance(against, Adds | Rotates):
            raise ValueError(f"against must be a record that adds or rotates; got {against!r}. Choose another one.")
        dim = against.width if isinstance(against, Adds) else against.head_dim
    found = probe(target, dim, base)
    report = judge_values(found.observed, base=base, against=against)
    findings = [*report.findings, *found.findings, *_wrong_layout(found, layout)]
    notes = [*report.notes, *found.notes]
    if report.right and not findings and against is None and found.observed.dim == dim:
        for other in (*[width for width in OTHER_WIDTHS if width != dim][:1], ODD_WIDTH):
            for seen in _at_width(target, other, base):
                (findings if isinstance(seen, Finding) else notes).append(seen)  # type: ignore[arg-type]
    return replace(
        report,
        right=report.right and not findings,
        findings=tuple(findings),
        notes=tuple(notes),
        form=found.form,
        layout=found.layout,
    )


def _wrong_layout(found: Probe, layout: Layout | None) -> Iterator[Finding]:
    meant = layout and layout.replace("-", " ")
    if meant and found.layout in ("batch first", "sequence first") and found.layout != meant:
        yield Finding(
            "batch and position mixed",
            f"It reads x {found.layout}, and {meant} is meant: every token of a sequence would get one position.",
            "Take the length from x.size(1) with batch first, from x.size(0) with the sequence first, and shape the "
            "table to match.",
        )


def _at_width(target: Any, width: int, base: float) -> Iterator[Finding | str]:
    """What another width shows: a finding, or a note where it is refused."""
    is_odd = bool(width % 2)
    try:
        found = probe(target, width, base)
    except ValueError:
        if is_odd:
            yield f"It refuses width {width}."
        return
    if found.observed.dim != width or (is_odd and found.observed.door == "rotates"):
        return
    report = judge_values(found.observed, base=base)
    if report.right:
        return
    if is_odd and _right_but_for_last_channel(found, base):
        yield f"At width {width} its last channel is neither sine nor cosine; see the field odd of Sinusoidal."
    elif is_odd:
        fix = "Leave out the last cosine, or refuse an odd width."
        yield Finding("odd width", f"Right at even widths, wrong at width {width}.", fix)
    else:
        name, sentence = (report.findings[0].name, report.findings[0].sentence) if report.findings else ("width", "")
        sentence = f"Right at the width asked for, wrong at width {width}{f': {sentence}' if sentence else '.'}"
        yield Finding(name, sentence, "Use the width that is asked for throughout.")


def _right_but_for_last_channel(found: Probe, base: float) -> bool:
    observed = replace(found.observed, values=found.observed.values[:, :-1], precision="float32")
    expected = Sinusoidal(found.observed.dim, base, odd="truncate").embed(observed.positions)
    return observed.agrees(expected[:, :-1])
