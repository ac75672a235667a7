"""Checks of two files of one model before it is trained, served or drafted for: positions, weights and length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.core import text_lines, validation
from posenc.core.doors import Encoding
from posenc.diagnosis.judge_models import judge_models
from posenc.diagnosis.model_source import ModelSource, read_source
from posenc.diagnosis.remedies_in_gguf import gguf_changes
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.difference import EVERYTHING, EXIT_CODES, PARTLY, Verdict
from posenc.models.draft import DraftCheck, check_draft
from posenc.models.fingerprints import fingerprint
from posenc.models.keys_that_differ import keys_that_differ
from posenc.models.manifests.manifest_of_model import declared_beyond_yarn, usable_length
from posenc.models.model_positions import ModelPositions
from posenc.models.reordered_rows import LLAMA_CPP, rotated_by

#: A key or tensor of the file in a remedy.
IN_REMEDY = re.compile(r"(?:[Ss]et|[Ll]eave out|[Cc]opy|[Ww]rite)(?: the tensor)? ([\w.]+)")


@dataclass(frozen=True)
class PreflightCheck:
    """Result of a single check that `preflight` made.

    Attributes:
        name: What was checked, in words.
        verdict: In words; the exit codes of `posenc diff` belong to them.
        lines: What was found.
        to_write: Keys and options that repair a difference, a line each.
    """

    name: str
    verdict: Verdict
    lines: tuple[str, ...] = ()
    to_write: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preflight(text_lines.Lines):
    """Result of `preflight`: its checks, and the files that they compared.

    Attributes:
        checks: In the order in which they were made.
        sides: Each file, the model type and the fingerprint of its positions.
    """

    checks: tuple[PreflightCheck, ...]
    sides: tuple[tuple[str, str, str], ...]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the checks."""
        verdicts = {check.verdict for check in self.checks}
        return "differ" if "differ" in verdicts else PARTLY if PARTLY in verdicts else EVERYTHING

    @property
    def exit_code(self) -> int:
        """Exit code: 0 if all agree in everything, 1 if any differ, 3 if all agree in what was compared."""
        return EXIT_CODES[self.verdict]

    @property
    def explained(self) -> bool:
        """Whether no check found a difference."""
        return self.verdict != "differ"

    @property
    def to_write(self) -> tuple[str, ...]:
        """Keys and options that repair the differences, each once."""
        return tuple(dict.fromkeys(line for check in self.checks for line in check.to_write))

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        said = [f"preflight: {self.verdict}"]
        for check in self.checks:
            said += ["", f"{check.name}: {check.verdict}", *(f"  {line}" for line in check.lines)]
        said += ["", "to write:", *(f"  {line}" for line in self.to_write)] if self.to_write else []
        sides = [f"  {name}: {model_type}, fingerprint {digits}" for name, model_type, digits in self.sides]
        return [*said, "", "compared:", *sides]


def preflight(
    trainer: Mapping[str, Any] | str | Path,
    served: Mapping[str, Any] | str | Path,
    *,
    length: int | None = None,
    draft: Mapping[str, Any] | str | Path | None = None,
    waive: Iterable[str] = (),
) -> Preflight:
    """Check two files of one model before it is served.

    They may be a trainer's and a rollout's, saved and reloaded, full and quantised. Positions are compared layer by
    layer and role by role, and the rows of attention: of two folders, which also have learned tables, or of a folder
    and a .gguf file.

    Args:
        trainer: What is meant: a config.json, its folder, a .gguf file or a manifest.
        served: What runs, any of these.
        length: Tokens that are served: both must take them, and scalings that depend on the length are read at it. If
            None, the served file must take as many as the trainer's.
        draft: A model that drafts for the served one in speculative decoding, any of these.
        waive: Keys of configs that concern positions and may go unread.

    Returns:
        The checks, with a verdict and an exit code.

    Raises:
        ValueError: A file cannot be read; the message begins with the name of the argument.
        TypeError: An argument has the wrong type.

    Example:
        >>> trainer = {"model_type": "llama", "num_hidden_layers": 2, "rope_theta": 500000.0}
        >>> result = preflight(trainer, {**trainer, "rope_theta": 10000.0})
        >>> result.exit_code, result.to_write
        (1, ('rope_theta: 500000.0 in the served file, where it is 10000.0',))
    """
    length = None if length is None else validation.integer("length", length, 1, 2**53)
    waive = validation.texts("waive", waive)
    one, other = (_source(name, given, waive, length) for name, given in (("trainer", trainer), ("served", served)))
    checks = [_positions(one, other, length), *_lengths(one, other, length)]
    sides = [_side("trainer", one), _side("served", other)]
    if draft is not None:
        read = _source("draft", draft, waive, length)
        checks.append(_draft(check_draft(draft, served, length=length, waive=tuple(waive))))
        sides.append(_side("draft", read))
    return Preflight(tuple(checks), tuple(sides))


def _source(name: str, given: Any, waive: Iterable[str], length: int | None) -> ModelSource:
    source = read_source(name, given, waive, length=length)
    if isinstance(source.positions, Encoding):
        raise TypeError(f"{name} must be a model; got an encoding, {source.positions!r:.100}. Give its config.")
    return source


def _model(side: ModelSource) -> ModelPositions:
    positions: ModelPositions = validation.instance("side", side.positions, ModelPositions, "a model")
    return positions


def _side(name: str, side: ModelSource) -> tuple[str, str, str]:
    path = f" {side.path}" if side.path is not None else ""
    return f"{name}{path}", _model(side).model_type, fingerprint(side.positions)


def _positions(one: ModelSource, other: ModelSource, length: int | None) -> PreflightCheck:
    found: Diagnosis = judge_models(one, other, length)
    weights = "positions and weights" if "order of rows" in found.looked_at else "positions"
    repair = () if found.agree else _repairs(found, one, other)
    return PreflightCheck(weights, found.verdict, tuple(found.lines()[0 if not found.agree else 1 :]), repair)


def _repairs(found: Diagnosis, one: ModelSource, other: ModelSource) -> tuple[str, ...]:
    """What to write for each key, and what to do about findings that these keys alone do not repair."""
    lines = _keys(one, other)
    rest = []
    for finding in found.findings:
        wanted = set(IN_REMEDY.findall(finding.fix))
        rest += [] if wanted and wanted <= set(lines) else [finding.fix]
    said = set(IN_REMEDY.findall(" ".join(rest)))
    return (*(line for key, line in lines.items() if key not in said), *rest)


def _keys(one: ModelSource, other: ModelSource) -> dict[str, str]:
    """What to write for each key, or tensor of a GGUF file, that differs in the served file from the trainer's."""
    if rotated_by(_model(other)) == LLAMA_CPP:
        return {change.key: change.line for change in gguf_changes(_model(one), _model(other))}
    differing = keys_that_differ(_model(one), _model(other))
    return {
        key: f"{key}: {meant!r} in the served file, where it is {there!r}" for key, (meant, there) in differing.items()
    }


def _lengths(one: ModelSource, other: ModelSource, length: int | None) -> list[PreflightCheck]:
    """Check that both sides support the served length."""
    sides = {"trainer": _model(one), "served": _model(other)}
    stated = [of_trainer(_model(one)) for of_trainer in (usable_length, declared_beyond_yarn)]
    needed = length if length is not None else max((one.positions for one in stated if one), default=None)
    if needed is None:
        return [PreflightCheck("length", PARTLY, ("the trainer states no length: give the one that is served",))]
    found = [_length_of(name, model, needed) for name, model in sides.items()]
    verdicts = {check.verdict for check in found}
    verdict: Verdict = "differ" if "differ" in verdicts else PARTLY if PARTLY in verdicts else EVERYTHING
    lines, repair = ([line for check in found for line in getattr(check, name)] for name in ("lines", "to_write"))
    return [PreflightCheck("length", verdict, tuple(lines), tuple(repair))]


def _length_of(name: str, model: ModelPositions, needed: int) -> PreflightCheck:
    """Check that one side supports `needed` tokens, and name a length that it declares beyond its YaRN."""
    usable, beyond = usable_length(model), declared_beyond_yarn(model)
    if usable is None:
        return PreflightCheck(name, PARTLY, (f"the {name} file states no length",))
    more = [f"the {name} file: {beyond}, while its YaRN reaches {usable.positions:,}"] if beyond else []
    if usable.positions >= needed:
        line = f"the {name} file: {usable} for the {needed:,} that are served"
        return PreflightCheck(name, EVERYTHING, (line, *more))
    ends = "its table ends there" if usable.kind == "table" else "it is neither trained nor scaled to more"
    line = f"the {name} file: {usable} of the {needed:,} that are served; {ends}"
    repair = f"serve {usable.positions:,} tokens, or extend the context: posenc plan FILE --length {needed}"
    return PreflightCheck(name, "differ", (line, *more), (repair,))


def _draft(check: DraftCheck) -> PreflightCheck:
    return PreflightCheck("draft and served", check.verdict, tuple(line.strip() for line in check.lines()[1:]))
