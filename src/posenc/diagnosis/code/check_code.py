"""Check a user's own function, class or module: call it, compare it with every convention, name its mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from posenc.core import arrays, validation
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.call_forms import FAILURES, Probe, observe, observe_many
from posenc.diagnosis.code.changed_vectors import seen_in_more_calls
from posenc.diagnosis.code.code_report import CodeReport, another_door
from posenc.diagnosis.code.judge_bias_values import fitting_encoding, judge_bias_values
from posenc.diagnosis.code.judge_column import judge_column
from posenc.diagnosis.code.judge_tables import judge_table
from posenc.diagnosis.code.judge_values import USUAL_BASE, judge_values
from posenc.diagnosis.code.observed_values import ObservedValues, ProbedBias
from posenc.diagnosis.code.parameter_roles import roles_by_likelihood
from posenc.diagnosis.code.user_code import POSITIONS, Caller, LocalCode, UserCode
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.rotation.rotation_usage import rope_base, rope_in_head
from posenc.encodings.adds.sinusoidal import Sinusoidal

Layout = Literal["batch-first", "sequence-first"]
LAYOUTS = ("batch-first", "sequence-first")
USUAL_WIDTH = 16
#: A second width, a third where the second is the one asked for, and an odd one, to see what a single width would hide.
OTHER_WIDTHS = (10, 12)
ODD_WIDTH = 7
#: A wide one too, and how far it is asked for: a row of a matrix has as many numbers as a row of a table, squared.
WIDE = {"adds": (512, 600), "rotates": (128, 128)}
MOST_DIM = 4096
#: No power of two, so that rules of slopes differ.
OTHER_HEADS = 12

_BATCH = Finding(
    "batch and position mixed",
    "It reads x {found}, and {meant} is meant: every token of a sequence would get one position.",
    "Take the length from x.size(1) with batch first, from x.size(0) with the sequence first, and shape the table to "
    "match.",
)

#: Heads that are asked for: a power of two, for which every rule of slopes is one.
HEADS = 8


def check_code(
    target: Any,
    *,
    against: Encoding | None = None,
    dim: int | None = None,
    base: float | None = None,
    layout: Layout | None = None,
) -> CodeReport:
    """Call code of your own, compare it with the published conventions, and name its mistake if it makes one.

    The code runs in this process: `posenc check` runs a file in a process of its own. All that it
    returns is compared; the report says for which positions and widths. Where the code is right, another width, an odd
    one and a wide one are asked for as well, or 12 heads. Calls for more, fewer and other positions follow one
    another, to see whether the code keeps the tables of its first call.

    Args:
        target: A function, a class (made first) or an object such as a torch module. What an argument means is read off
            its name: f(length, dim), f(positions, dim), f(position, dim) and f(position, i, dim) return a table, row,
            number, or rotation matrices, without a dim one column; f(x), f(x, positions), f(x, position), f(q, k) and
            f(q, k, positions) take vectors; cosines and sines, two results or complex numbers, stand for rotations;
            f(heads, length), f(query_length, key_length) and f(scores) give biases, f(heads) slopes.
        against: The one encoding that is meant, in place of every convention; it states width, heads and base.
        dim: The width to ask for, even, from 4; 16 if None.
        base: The base that is meant; 10000 if None.
        layout: "batch-first" or "sequence-first", where only one is right for you.

    Returns:
        Whether the code is right, the convention it follows or the mistake it makes; `print` shows it as text.

    Raises:
        ValueError: An argument breaks its rule, or the code fails; the message then names the line in your file.
        TypeError: An argument is of the wrong type; the message begins with its name.

    Example:
        >>> import numpy as np
        >>> def table(length, dim):
        ...     angle = np.arange(1, length + 1)[:, None] / 10_000 ** (np.arange(0, dim, 2) / dim)
        ...     return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, dim)
        >>> report = check_code(table)
        >>> report.right, report.convention, report.findings[0].sentence
        (False, 'Sinusoidal(dim=16)', 'Positions start at 1.')
    """
    if arrays.library_name(target) is not None:
        raise ValueError(
            f"target must be a function, a class or an object that can be called; got {validation.shown(target)}. Give "
            "what makes these numbers."
        )
    return check_user_code(LocalCode(target), against=against, dim=dim, base=base, layout=layout)


def check_user_code(
    code: UserCode,
    *,
    against: Encoding | None = None,
    dim: int | None = None,
    base: float | None = None,
    layout: str | None = None,
) -> CodeReport:
    """Run `check_code` on code that is called here or in another process."""
    check_options(against, dim, base, layout)
    dim, base, heads = sizes_asked_for(against, dim, base)
    pairs: PairLayout = "halves" if getattr(against, "pairing", None) == "halves" else "adjacent"
    probed_code = probe(code, dim, base, heads, pairs)
    door = "biases" if isinstance(probed_code.observed, ProbedBias) else probed_code.observed.door
    if against is not None and against.door != door:
        return replace(another_door(door, against), form=probed_code.form, layout=probed_code.layout)
    if isinstance(probed_code.observed, ProbedBias):
        report = _bias_report(code, probed_code.observed, probed_code, dim, base, against)
    else:
        report = _table_or_rotation_report(code, probed_code.observed, probed_code, dim, base, against)
    remarks = [*probed_code.findings, *probed_code.notes, *_about_layout(probed_code, layout)]
    remarks += _about_plain_tensors(probed_code)
    remarks += seen_in_more_calls(probed_code, report.right)
    report = _with_remarks(report, *remarks)
    right, consistent = (claim and not report.findings for claim in (report.right, report.consistent))
    return replace(report, right=right, consistent=consistent, form=probed_code.form, layout=probed_code.layout)


def _with_remarks(report: CodeReport, *remarks: Finding | str) -> CodeReport:
    """The report with more findings and notes."""
    findings = (*report.findings, *(remark for remark in remarks if isinstance(remark, Finding)))
    return replace(report, findings=findings, notes=(*report.notes, *(one for one in remarks if isinstance(one, str))))


def check_options(against: Encoding | None, dim: int | None, base: float | None, layout: str | None) -> None:
    """Check the options, as far as that is possible before any code runs."""
    if layout is not None:
        validation.choice("layout", layout, LAYOUTS)
    for name, given in (("dim", dim), ("base", base)):
        if against is not None and given is not None:
            raise ValueError(
                f"{name} must be left out with against, which states its own; got {given!r}. Leave it out."
            )
    if dim is not None:
        validation.integer("dim", dim, 1, MOST_DIM)
    if base is not None:
        validation.real("base", base, 0.0, 1e30, above=True)


def sizes_asked_for(against: Encoding | None, dim: int | None, base: float | None) -> tuple[int, float, int]:
    """Choose width, base and heads to ask for: those of `against`, those given, or the usual."""
    if against is None:
        width = validation.integer("dim", USUAL_WIDTH if dim is None else dim, 4, MOST_DIM, even=True)
        return width, USUAL_BASE if base is None else float(base), HEADS
    if not isinstance(against, AdditiveEncoding | RotaryEncoding | AttentionBias):
        raise ValueError(
            f"against must be an encoding that adds, rotates or biases; got {validation.shown(against)}. Choose "
            "another one."
        )
    if isinstance(against, AttentionBias):
        return USUAL_WIDTH, USUAL_BASE, against.heads
    head = rope_in_head(against)
    stated = float(getattr(against, "base", USUAL_BASE)) if head is None else rope_base(head.rope)
    return against.width if isinstance(against, AdditiveEncoding) else against.head_dim, stated, HEADS


def _bias_report(
    code: UserCode, probed: ProbedBias, probed_code: Probe, dim: int, base: float, against: Encoding | None
) -> CodeReport:
    report = judge_bias_values(probed, probed_code.tensors, against=against)
    encoding = fitting_encoding(probed, probed_code.tensors)
    if not report.right or against is not None or encoding is None:
        return report
    try:
        other = probe(code, dim, base, OTHER_HEADS)
    except ValueError:
        return replace(report, notes=(*report.notes, f"It refuses {OTHER_HEADS} heads."))
    if not isinstance(other.observed, ProbedBias) or other.observed.heads != OTHER_HEADS:
        return report
    wider = judge_bias_values(other.observed, other.tensors, against=replace(encoding, heads=OTHER_HEADS))
    if wider.right:
        return replace(report, also_compared=(f"{OTHER_HEADS} heads, {wider.positions_in_words}",))
    name, sentence = (wider.findings[0].name, f" {wider.findings[0].sentence}") if wider.findings else ("heads", "")
    finding = Finding(
        name,
        f"Right with {probed.heads} heads, wrong with {OTHER_HEADS}.{sentence}",
        "Twelve heads take the slopes of eight, then every second slope of sixteen (the authors' code).",
    )
    return replace(wider, findings=(finding,))


def _table_or_rotation_report(
    code: UserCode, observed: ObservedValues, probed_code: Probe, dim: int, base: float, against: Encoding | None
) -> CodeReport:
    if observed.dim == 1:
        return judge_column(observed, against)
    table_diagnosis = judge_table(observed, probed_code.tensors, against)
    if table_diagnosis is not None and (against is not None or not judge_values(observed, base=base).right):
        return table_diagnosis
    report = judge_values(observed, base=base, against=against)
    if report.right and probed_code.caller is not None:
        report = _at_every_position(report, observed, probed_code.caller, base, against)
    if not report.right or probed_code.findings or against is not None or observed.dim != dim:
        return report
    widths = (*[width for width in OTHER_WIDTHS if width != dim][:1], ODD_WIDTH)
    for width in widths:
        report = _at_width(report, code, width, base)
    wide, reach = WIDE[observed.door]
    one_by_one = probed_code.caller is not None and "index" in probed_code.caller.call.form
    return report if one_by_one or wide <= dim else _at_width(report, code, wide, base, range(reach))


def _at_every_position(
    report: CodeReport, observed: ObservedValues, caller: Caller, base: float, against: Encoding | None
) -> CodeReport:
    """The report with every near position as well, where code takes many in one call: so far it was given some."""
    if "positions" not in caller.call.form:
        return report
    try:
        every = observe_many(caller, observed.values[0].size).observed
    except FAILURES:
        return _with_remarks(report, "It refuses many positions in one call.")
    if not isinstance(every, ObservedValues) or every.values[0].shape != observed.values[0].shape:
        return report
    other = judge_values(every, base=base, against=against)
    if not other.right:
        return replace(other, notes=(*report.notes, *other.notes))
    return replace(report, also_compared=(*report.also_compared, other.positions_in_words))


def _about_layout(probed_code: Probe, layout: str | None) -> Iterator[Finding | str]:
    """A finding where the code reads x in another layout than the stated one; a note where none is stated."""
    if layout is None:
        if probed_code.layout == "sequence first":
            yield (
                "It reads x as (length, batch, width): given the batch first, every token of a sequence gets one "
                "position. Say --layout batch-first if that is yours."
            )
        return
    if probed_code.layout not in ("batch first", "sequence first"):
        raise ValueError(f"layout must come with code that takes x with a batch; got {probed_code.form}. Leave it out.")
    stated = layout.replace("-", " ")
    if probed_code.layout != stated:
        yield replace(_BATCH, sentence=_BATCH.sentence.format(found=probed_code.layout, meant=stated))


def _about_plain_tensors(probed_code: Probe) -> Iterator[Finding | str]:
    """Plain tensors of a module: a finding where it cannot move with them, else a note."""
    plain = ", ".join(tensor.name for tensor in probed_code.tensors if tensor.kind == "plain")
    if plain and probed_code.moving_error:
        yield Finding(
            "buffer not registered",
            f"{plain} is a plain tensor of the module: it stays behind when the module moves to another device "
            f"({probed_code.moving_error.rstrip('.')}).",
            'Register it: self.register_buffer("pe", pe, persistent=False).',
        )
    elif plain:
        yield f"{plain} is a plain tensor, not a buffer: state_dict and .to(dtype) leave it out."


def _at_width(
    report: CodeReport, code: UserCode, width: int, base: float, asked: Sequence[int] = POSITIONS
) -> CodeReport:
    """The report with another width as well: compared, with a finding, or with a note where it is refused."""
    is_odd = bool(width % 2)
    try:
        probed_code = probe(code, width, base, asked=asked)
    except ValueError:
        return _with_remarks(report, f"It refuses width {width}.")
    observed = probed_code.observed
    if isinstance(observed, ProbedBias) or observed.dim != width or (is_odd and observed.door == "rotates"):
        return report
    is_told = probed_code.caller is not None and "dim" in probed_code.caller.call.form
    if not is_told and (rotated := _first_channels_rotated(observed, base)):
        return _with_remarks(report, f"Of {width} channels it rotates the first {rotated} alone.")
    other = judge_values(observed, base=base)
    report = replace(report, also_compared=(*report.also_compared, f"width {width}, {other.positions_in_words}"))
    return report if other.right else _with_remarks(report, *_wrong_at_width(other, observed, base))


def _first_channels_rotated(observed: ObservedValues, base: float) -> int:
    """How many channels, the first ones, rotate as they should where the others stay as they are; 0 otherwise.

    What was made for one width, as a module is, may take wider vectors.
    """
    if observed.door != "rotates":
        return 0
    moved = np.flatnonzero((observed.values != np.eye(observed.dim)).any((0, 2)))
    width = int(moved.max(initial=-1)) + 1
    alone = replace(observed, values=observed.values[:, :width, :width])
    return width if 0 < width < observed.dim and judge_values(alone, base=base).right else 0


def _wrong_at_width(report: CodeReport, observed: ObservedValues, base: float) -> Iterator[Finding | str]:
    """What is wrong at another width, or only otherwise at an odd one."""
    width, is_odd = observed.dim, bool(observed.dim % 2)
    if is_odd and _right_but_for_last_channel(observed, base):
        yield f"At width {width} its last channel is neither sine nor cosine; see the field odd of Sinusoidal."
    elif is_odd and _cut_from_wider(observed, base):
        yield f"At width {width} it is the table of width {width + 1} without the last channel."
    elif is_odd:
        fix = "Leave out the last cosine, or refuse an odd width."
        yield Finding("odd width", f"Right at even widths, wrong at width {width}.", fix)
    else:
        name, sentence = (report.findings[0].name, report.findings[0].sentence) if report.findings else ("width", "")
        sentence = f"Right at the width asked for, wrong at width {width}{f': {sentence}' if sentence else '.'}"
        yield Finding(name, sentence, "Use the width that is asked for throughout.")


def _cut_from_wider(observed: ObservedValues, base: float) -> bool:
    """Whether it rounds an odd width up, as positional-encodings does."""
    wider = Sinusoidal(observed.dim + 1, base).embed(observed.positions)
    return observed.door == "adds" and replace(observed, precision="float32").agrees(wider[:, :-1])


def _right_but_for_last_channel(observed: ObservedValues, base: float) -> bool:
    without_last = replace(observed, values=observed.values[:, :-1], precision="float32")
    expected = Sinusoidal(observed.dim, base, odd="truncate").embed(observed.positions)
    return without_last.agrees(expected[:, :-1])


def probe(
    code: UserCode,
    dim: int,
    base: float,
    heads: int = HEADS,
    layout: PairLayout = "adjacent",
    asked: Sequence[int] = POSITIONS,
) -> Probe:
    """Call code in the first documented form that works, for these positions, or lengths up to the last of them.

    `layout` is of pairs where the numbers do not show it.
    """
    prepared = code.prepare(dim, base, heads)
    first_error, column = "", None
    for call in roles_by_likelihood(prepared.parameters):
        for library in prepared.libraries:
            caller = Caller(code, prepared, call, library, dim, base, heads, layout, asked)
            try:
                probed = observe(caller)
            except FAILURES as error:
                first_error = first_error or str(error)
                continue
            form = f"{prepared.name}({', '.join(argument for argument, _ in call.roles)})"
            moving_error = code.moving_error()
            probed = replace(probed, form=form, tensors=tuple(code.tensors()), moving_error=moving_error, caller=caller)
            if not isinstance(probed.observed, ObservedValues) or probed.observed.dim > 1:
                return probed
            column = column or probed  # what rotates vectors also takes positions and gives them back
    if column is not None:
        return column
    arguments = ", ".join(parameter.name for parameter in prepared.parameters)
    raise ValueError(
        f"target must be callable in a documented form; got {prepared.name}({arguments})"
        f"{f': {first_error}' if first_error else ''}. See `posenc check --help` for the forms."
    )
