"""Checks of a user's own encoding: they run in a child process with its code; its numbers are compared here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from posenc import parse
from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.diagnosis.code.check_file import RemoteCode
from posenc.diagnosis.code.child_process import StoppedError
from posenc.diagnosis.code.code_report import (
    CodeReport,
    FirstBiasDifference,
    FirstDifference,
    another_door,
    gaps,
    looked_at,
    measured,
)
from posenc.diagnosis.code.judge_bias_values import judge_bias_values
from posenc.diagnosis.code.judge_values import USUAL_BASE, judge_values
from posenc.diagnosis.code.observed_values import ObservedValues, ProbedBias
from posenc.diagnosis.mistake import Finding, unless_refused
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.testing.door_probe import moved_parameters
from posenc.testing.effects import effects, positions_within, tolerance_of
from posenc.testing.named_check import Outcome, Status

Effects = Mapping[str, np.ndarray]
ROTATES_OTHERWISE = "Heads, or queries and keys, rotate differently, as no published convention has it."
#: Types of fields that a class of the user's gets from the encoding that is meant.
PLAIN = (bool, int, float, str)


@dataclass(frozen=True)
class EncodingReport(CodeReport):
    """Report of an encoding's code, with the outcome of each check of `posenc.testing`.

    Attributes:
        encoding: The encoding's repr.
        checks: Outcomes of its checks.
    """

    encoding: str = ""
    checks: tuple[Outcome, ...] = ()

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Checks that did not hold."""
        return tuple(each for each in self.checks if each.status == "failed")

    @property
    def explained(self) -> bool:
        """Whether the outcome is accounted for: no mistake was seen, or a finding or a failed check names one."""
        return super().explained or bool(self.failed)

    def lines(self) -> list[str]:
        """Lines of the report."""
        left_out = [each for each in self.checks if each.status == "left out"]
        passed = len(self.checks) - len(self.failed) - len(left_out)
        lines = [*super().lines(), f"checks          {passed} hold, {len(self.failed)} fail, {len(left_out)} left out"]
        for each in self.failed:
            lines += ["", f"failed   {each.name}: {each.sentence}", f"         {each.explains}"]
        return [*lines, *(f"left out {each.name}: {each.sentence}" for each in left_out)]

    def _verdict(self) -> list[str]:
        if self.findings or self.right or self.consistent or self.first_difference is not None:
            return super()._verdict()
        return ["a check fails" if self.failed else "its checks did not run"]


def check_remote_encoding(
    code: RemoteCode, *, against: Encoding | None = None, dim: int | None = None, base: float | None = None
) -> EncodingReport:
    """Run the checks of an encoding in the child process, and compare its numbers here.

    With `against`, they are compared with that encoding's; else with those of the encoding that it calls itself, where
    there is one of that name and these fields, or with the published conventions. What its checks say can only make it
    worse.

    Args:
        code: The user's code in its child process.
        against: Encoding that is meant, or None.
        dim: Channels of an encoding that is made of a class, or None.
        base: Base of an encoding that is made of a class, or None.

    Returns:
        Verdict on the numbers, and the outcome of each check.

    Raises:
        ValueError: `against` enters by another door, or `dim` or `base` is given beside it.
    """
    fields = _fields(code, against, dim, base)
    built = code.ask("build", fields=fields)
    if not isinstance(built, dict) or not isinstance(built.get("encoding"), str):
        raise StoppedError("what it answered is no answer")
    wanted = against or _called(built["encoding"])
    report = _judged(code, built, wanted, base)
    checks = _outcomes(code.ask("suite"))
    whole = bool(checks) and not any(each.status == "failed" for each in checks)
    return EncodingReport(
        **{
            **{field.name: getattr(report, field.name) for field in dataclasses.fields(report)},
            "right": report.right and whole,
            "consistent": report.consistent and whole,
            "form": built["encoding"],
        },
        encoding=built["encoding"],
        checks=checks,
    )


def _judged(code: RemoteCode, built: Mapping[str, Any], wanted: Encoding | None, base: float | None) -> CodeReport:
    if wanted is None:
        return _compared_with_conventions(code, built, base)
    return _compared(code, wanted) if wanted.door == built.get("door") else another_door(str(built.get("door")), wanted)


def _outcomes(answer: Any) -> tuple[Outcome, ...]:
    """Outcomes that the child answers; one without a known status has failed."""
    if not isinstance(answer, list) or not all(isinstance(each, list) and len(each) == 4 for each in answer):
        raise StoppedError("what it answered is no answer")
    statuses: dict[str, Status] = {status: status for status in get_args(Status)}
    return tuple(
        Outcome(str(name), statuses.get(str(status), "failed"), str(sentence), str(explains))
        for name, status, sentence, explains in answer
    )


def _fields(code: RemoteCode, against: Encoding | None, dim: int | None, base: float | None) -> dict[str, Any]:
    """Field values with which to make the user's class: those of `against`, else `dim` and `base`."""
    options = {name: value for name, value in (("dim", dim), ("base", base)) if value is not None}
    if against is None:
        return options
    if options:
        name, value = next(iter(options.items()))
        raise ValueError(f"{name} must be left out with against, which states its own; got {value!r}. Leave it out.")
    stated_fields = code.ask("field_names")
    stated = {field.name: getattr(against, field.name) for field in dataclasses.fields(against)}
    return {name: value for name, value in stated.items() if name in stated_fields and isinstance(value, PLAIN)}


def _called(text: str) -> Encoding | None:
    """Encoding of the catalog that has this repr, if there is one."""
    encoding = unless_refused(lambda: parse.record(text))
    return encoding if isinstance(encoding, Encoding) else None


def _compared(code: RemoteCode, wanted: Encoding) -> CodeReport:
    """Compare the effects of the user's encoding with those of the one that is meant, with the same parameters."""
    positions, params = positions_within(wanted), moved_parameters(wanted)
    expected = effects(wanted, params, positions)
    try:
        observed = _effects(code, params, positions)
    except ValueError as error:
        finding = Finding(
            "other arguments", f"It refuses what {short(wanted)} takes: {error}", "Take the same arguments."
        )
        return CodeReport(False, wanted.door, short(wanted), (finding,))
    largest, compared = 0.0, 0
    for name, values in expected.items():
        received = observed.get(name)
        if received is None or received.shape != values.shape:
            shape = "nothing" if received is None else f"shape {received.shape}"
            finding = Finding(
                "other shape", f"{name} gives {shape} where {values.shape} is meant.", "Return that shape."
            )
            return CodeReport(False, wanted.door, short(wanted), (finding,))
        gap = gaps(received, values)
        tolerance = tolerance_of(values, positions, wanted.door)
        if not np.all(gap <= tolerance):
            return _different(wanted, name, values, received, positions, tolerance)
        largest, compared = max(largest, float(gap.max(initial=0.0))), compared + gap.size
    for name in observed.keys() - expected.keys():
        if np.any(observed[name]):
            finding = Finding("another effect", f"{name} gives numbers where nothing is meant.", "Return None there.")
            return CodeReport(False, wanted.door, short(wanted), (finding,))
    return CodeReport(
        True,
        wanted.door,
        short(wanted),
        largest_difference=largest,
        compared=compared,
        **looked_at(positions),
    )


def _different(
    wanted: Encoding,
    name: str,
    expected: np.ndarray,
    received: np.ndarray,
    positions: np.ndarray,
    tolerance: np.ndarray,
) -> CodeReport:
    """Report the known mistake, where one explains the numbers, and the first number that differs."""

    def first(index: tuple[int, ...], one: float, other: float) -> FirstDifference | FirstBiasDifference:
        if wanted.door in ("biases", "scores"):
            return FirstBiasDifference(index[-3], index[-2], index[-1], one, other)
        row, channel, *source = index[1:] if wanted.door == "rotates" else index
        return FirstDifference(float(positions[row]), channel, one, other, *source)

    report, numbers = known_mistake(wanted, received, positions), measured(expected, received, tolerance, first)
    head = int(np.argwhere(~(gaps(received, expected) <= tolerance))[0][0])
    note = f"The numbers are those of {name}{f', head {head}' if wanted.door == 'rotates' else ''}."
    return CodeReport(
        False,
        wanted.door,
        short(wanted),
        report.findings if report else (),
        (*(report.notes if report else ()), note),
        **looked_at(positions),
        **numbers,
    )


def _compared_with_conventions(code: RemoteCode, built: Mapping[str, Any], base: float | None) -> CodeReport:
    """Compare the numbers with the published conventions; scores and learned encodings are compared with nothing."""
    door = str(built.get("door"))
    nothing = CodeReport(False, door, built["encoding"], consistent=True)
    if built.get("learned") or door == "scores":
        return nothing
    positions = np.asarray(code.ask("positions"))
    observed = _effects(code, {}, positions)
    if door == "rotates" and not _rotates_alike(observed, positions):
        return replace(nothing, notes=(ROTATES_OTHERWISE,))
    try:
        if door == "biases":
            report = judge_bias_values(ProbedBias(observed["matrix"], "float64"))
        else:
            values = observed["embed"] if door == "adds" else observed["query"][0]
            kind: Any = door
            report = judge_values(ObservedValues(kind, positions.astype(np.float64), values), base=base or USUAL_BASE)
    except (ValueError, KeyError):
        return nothing
    if report.right or report.findings:
        return report
    return replace(nothing, notes=(f"Nearest of the published conventions: {report.convention}.",))


def _rotates_alike(observed: Effects, positions: np.ndarray) -> bool:
    """Whether every head, of queries and of keys, is rotated as head 0 of the first role is."""
    first, *others = (matrices for heads in observed.values() for matrices in heads)
    tolerance = tolerance_of(first, positions, "rotates")
    return all(each.shape == first.shape and bool(np.all(gaps(each, first) <= tolerance)) for each in others)


def known_mistake(wanted: Encoding, received: np.ndarray, positions: np.ndarray) -> CodeReport | None:
    """Search for the known mistake that makes `received` differ from `wanted`; None where no search applies."""
    if wanted.shapes or wanted.axes > 1:
        return None
    if isinstance(wanted, ALiBi | T5Bias):
        return judge_bias_values(ProbedBias(received, "float64"), against=wanted)
    if wanted.door not in ("adds", "rotates") or (wanted.door == "rotates" and len(received) != 1):
        return None
    values = received if wanted.door == "adds" else received[0]
    kind: Any = wanted.door
    observed = ObservedValues(kind, positions.astype(np.float64), values)
    return unless_refused(lambda: judge_values(observed, against=wanted))


def _effects(code: RemoteCode, params: Mapping[str, Any], positions: np.ndarray) -> Effects:
    """Ask the child for all that its encoding does."""
    answer = code.ask("effects", params=dict(params), positions=positions)
    if not isinstance(answer, dict) or not all(isinstance(each, np.ndarray) for each in answer.values()):
        raise StoppedError("what it answered is no answer")
    return {name: each.astype(np.float64) for name, each in answer.items()}
