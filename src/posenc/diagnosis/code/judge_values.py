"""Judge numbers by themselves: the published convention that they follow, or the mistake in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from posenc.core import text_lines, validation
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.code.code_report import CodeReport, FirstDifference, looked_at, measured
from posenc.diagnosis.code.mistakes_recipe import BY_DOOR
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.code.recipe import Recipe
from posenc.diagnosis.code.rotations_of_code import explained_as_rotation
from posenc.diagnosis.degenerate import degenerate
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.search import explain
from posenc.diagnosis.sets_in_words import set_in_words
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect.rotation_matrix import rotation_matrices

#: What is tried for the last channel, by width.
EVEN: tuple[Literal["error"], ...] = ("error",)
ODD: tuple[Literal["truncate", "zero"], ...] = ("truncate", "zero")

USUAL_BASE = 10_000.0
#: Of how many conventions two mistakes at once are tried: the usual ones.
USUAL = 2


@dataclass(frozen=True)
class Convention:
    """Published convention: the encoding that computes it, and the number added to positions."""

    encoding: Encoding
    start: int = 0

    def __str__(self) -> str:
        return f"{text_lines.short(self.encoding)}{' with positions from 1' if self.start else ''}"

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The exact numbers, as float64."""
        positions = positions + self.start
        if isinstance(self.encoding, AdditiveEncoding):
            return np.asarray(self.encoding.embed(positions, dtype=np.float64))
        encoding = validation.instance("against", self.encoding, RotaryEncoding, "an encoding that adds or rotates")
        return rotation_matrices(encoding, positions)

    def fastest(self, dim: int) -> float:
        """The highest frequency that its recipe states, in radians a step; 1 where none does."""
        return 1.0 if self.recipe is None else float(np.abs(self.recipe.frequencies(dim)).max())

    @property
    def recipe(self) -> Recipe | None:
        """The recipe of the encoding; None for an encoding that no recipe describes."""
        encoding = self.encoding
        if isinstance(encoding, Sinusoidal) and encoding.dim % 2 == 0:
            order: PairLayout = "adjacent" if encoding.layout == "interleaved" else "halves"
            functions = ("sine", "cosine") if encoding.first == "sine" else ("cosine", "sine")
            start = encoding.start + self.start
            return Recipe(
                "adds", encoding.base, encoding.exponent, order, order, functions, start=start, scale=encoding.scale
            )
        if isinstance(encoding, RoPE) and encoding.scaling is None:
            order = encoding.pairing
            return Recipe("rotates", encoding.base, "2i/d", order, order, ("cosine", "sine"), start=self.start)
        return None


def conventions(observed: ObservedValues, base: float, against: Encoding | None) -> list[Convention]:
    """The published conventions of a width, the usual ones first; or the one encoding to compare with."""
    if against is not None:
        return [Convention(against)]
    dim = observed.dim
    if observed.door == "rotates":
        ropes = [RoPE(dim, base, pairing) for pairing in ("adjacent", "halves")] if dim % 2 == 0 else []
        return [Convention(encoding, start) for start in ((0, 1) if observed.length else (0,)) for encoding in ropes]
    encodings: list[Encoding] = []
    for odd in ODD if dim % 2 else EVEN:
        encodings.append(Sinusoidal(dim, base, odd=odd))
        for exponent, first in product(("2i/d", "i/(d/2-1)") if dim > 3 else ("2i/d",), ("sine", "cosine")):
            encodings.append(Sinusoidal(dim, base, "concatenated", exponent, first, odd=odd))  # type: ignore[arg-type]
    return [Convention(encoding) for encoding in encodings]


def judge_values(observed: ObservedValues, *, base: float = USUAL_BASE, against: Encoding | None = None) -> CodeReport:
    """Name the convention that the numbers follow, or the mistake in them.

    Args:
        observed: Numbers that code returned.
        base: The base that is meant.
        against: The one encoding to compare with, in place of all published conventions.

    Raises:
        ValueError: The shapes of `observed` and `against` do not fit together.
    """
    broken, is_finite = degenerate(observed.values), bool(np.isfinite(observed.values).all())
    known = conventions(observed, base, against)
    if not known:
        raise ValueError(f"observed must have a width that some convention has; got {observed.dim}. Use an even width.")
    right_where_sampled: list[Convention] = []
    for convention in known:
        expected = convention.values(observed.positions)
        if expected.shape != observed.values.shape:
            raise ValueError(
                f"against must be an encoding that {observed.door} and has width {observed.dim}; got {convention}. "
                "Give the encoding that the code implements."
            )
        fastest, rows = convention.fastest(observed.dim), observed.sampled_rows
        for values in observed.at_each_precision():
            if values.agrees(expected, fastest):
                return _report(values, convention, right=True, notes=_notes(convention, values))
            if values.sampled.agrees(expected[rows], fastest):
                right_where_sampled.append(convention)
    if broken is not None and is_finite:
        return _report(observed, known[0], (broken,))
    if right_where_sampled:
        findings = _other_rows(right_where_sampled[0], observed) if broken is None else (broken,)
        return _report(observed, right_where_sampled[0], findings)
    return _searched(observed, known, broken, against)


def _searched(
    observed: ObservedValues, known: Sequence[Convention], broken: Finding | None, against: Encoding | None
) -> CodeReport:
    """Report on wrong numbers: with the known mistakes that explain the sampled ones, or the positions in question."""
    explained = _explained(known, observed.sampled)
    if explained is None and broken is not None:
        return _report(observed, known[0], (broken,))
    if explained is not None:
        return _report(replace(observed, precision=explained[0].precision), *explained[1:])
    rotation = explained_as_rotation(_starts(known, against), observed.sampled) if observed.door == "rotates" else None
    if rotation is not None and broken is None:
        return _report(observed, Convention(rotation[0]), rotation[1])
    nearest = min(known, key=lambda convention: _share_that_differs(observed, convention))
    return _report(observed, nearest, _other_rows(nearest, observed))


def _other_rows(convention: Convention, observed: ObservedValues) -> tuple[Finding, ...]:
    """The finding that most positions follow the convention, and which do not; none where no more than half do."""
    values, expected = observed.at_each_precision()[-1], convention.values(observed.positions)
    right = values.right_rows(expected, convention.fastest(observed.dim))
    positions = observed.positions.astype(np.int64)
    wrong = positions[~right]
    if not len(wrong) or 2 * len(wrong) >= len(positions):
        return ()
    where = set_in_words("position", wrong, positions) or f"others, the first of them {wrong[0]}"
    gap = np.abs(values.values[~right][0] - expected[~right][0]).reshape(-1, observed.dim).max(0)
    sentence = (
        f"Right at {right.sum():,} of the {len(positions):,} positions that were compared, wrong at {where}. At "
        f"position {wrong[0]}, dimension {int(gap.argmax())} by {gap.max():.3g}."
    )
    return (Finding("some positions", sentence, "Look at what the code does there: its formula is right elsewhere."),)


def _starts(known: Sequence[Convention], against: Encoding | None) -> list[Encoding]:
    """Encodings that a search begins from: the one that is meant, or the usual ones."""
    return [against] if against is not None else [one.encoding for one in known if not one.start][:USUAL]


Explained = tuple[ObservedValues, Convention, tuple[Finding, ...], tuple[str, ...]]


def _explained(known: Sequence[Convention], observed: ObservedValues) -> Explained | None:
    """First explanation: one mistake in any convention, else two in the usual ones, at each precision."""
    by_recipe = {convention.recipe: convention for convention in known if convention.recipe is not None}
    usual = [recipe for recipe, convention in by_recipe.items() if not convention.start][:USUAL]
    for starts, most in ((list(by_recipe), 1), (usual, 2)):
        for values in observed.at_each_precision():
            explanation = explain(starts, BY_DOOR[values.door], values, most)
            if explanation is not None:
                return values, by_recipe[explanation.start], *_or_base(explanation.start, explanation.findings, values)
    return None


def _or_base(
    start: Recipe, findings: tuple[Finding, ...], values: ObservedValues
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Add the reading as another base: base 100 with 2i/d gives the numbers of base 10000 with i/d.

    The other reading is a note where the base is a plain number, and comes first where it is the usual 10000.
    """
    bank = [mistake for mistake in BY_DOOR[values.door] if mistake.name == "base"]
    other = explain([start], bank, values, most=1)
    if other is None or len(findings) > 1 or findings[0].name == "base":
        return findings, ()
    base = other.subject.base
    if float(f"{base:.1g}") != base or base < 2:
        return findings, ()
    first, second = (*other.findings, *findings) if base == USUAL_BASE else (*findings, *other.findings)
    return (first,), (f"The same numbers can be read otherwise: {second.sentence}",)


def _notes(convention: Convention, values: ObservedValues) -> tuple[str, ...]:
    notes = []
    if convention.start:
        notes.append(
            "Positions start at 1, as in the article's rotary code: slice p rotates by p+1. Scores, which depend on "
            "differences, are the same."
        )
    if (values.dtype, values.precision) == ("float64", "float32"):
        notes.append("The result is float64, and the angles were formed in float32.")
    return tuple(notes)


def _report(
    values: ObservedValues,
    convention: Convention,
    findings: tuple[Finding, ...] = (),
    notes: tuple[str, ...] = (),
    right: bool = False,
) -> CodeReport:
    tolerance = replace(values, precision="float32").tolerance(1.0)
    numbers = measured(
        convention.values(values.positions),
        values.values,
        tolerance.reshape((-1,) + (1,) * (values.values.ndim - 1)),
        lambda index, *numbers: FirstDifference(float(values.positions[index[0]]), index[1], *numbers, *index[2:]),
    )
    return CodeReport(
        right,
        values.door,
        str(convention),
        findings,
        notes,
        precision=values.precision if right or findings else None,
        **looked_at(values.positions),
        **(numbers | ({"first_difference": None} if right else {})),
    )


def _share_that_differs(observed: ObservedValues, convention: Convention) -> float:
    return float((~(np.abs(observed.values - convention.values(observed.positions)) <= 1e-3)).mean())
