"""What is wrong with an encoding, from its numbers alone: the convention it follows, or the mistake it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from posenc import _check
from posenc.diagnosis.code.mistakes import MISTAKES
from posenc.diagnosis.code.recipe import Order, Recipe, evaluate, rates
from posenc.diagnosis.code.recipe_changes import Mistake, Observed
from posenc.doors import Adds, Encoding, Rotates
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import _text
from posenc.inspect.rotation_matrix import rotation_matrices

#: For each type: what a value's rounding may change, and what an angle's may, a step of position and unit of frequency.
#: An angle p·ω formed in a type of rounding u, with ω = exp(-x) from x itself rounded, is off by at most
#: p·ω·(2x + 2)·u, which is below 2·p·u for ω ≤ 1; a third u is for positions and function.
ROUNDING = {
    "float64": (1e-9, 16 * 2.0**-53),
    "float32": (1e-6, 3 * 2.0**-24),
    "float16": (2.0**-10, 3 * 2.0**-24),
    "bfloat16": (2.0**-8, 3 * 2.0**-24),
}
#: Where rounding alone may change a value by more than this, the value says nothing and is left out.
TELLING = 0.05
#: What is tried for the last channel, by width.
EVEN: tuple[Literal["error"], ...] = ("error",)
ODD: tuple[Literal["truncate", "zero"], ...] = ("truncate", "zero")
USUAL_BASE = 10_000.0
#: So many positions must be left, or nothing is concluded.
ENOUGH = 16


@dataclass(frozen=True)
class Finding:
    """A mistake by its name, in a sentence, with what to do."""

    name: str
    sentence: str
    fix: str


@dataclass(frozen=True)
class Difference:
    """One number that is not the expected one. For a rotation, `source` is the channel of the vector that was turned."""

    position: float
    channel: int
    expected: float
    received: float
    source: int | None = None


@dataclass(frozen=True)
class Verdict:
    """right: whether the numbers follow a convention.   convention: that one, or the nearest, as a record.

    mistakes: what explains the numbers; empty when right, and when none of the known mistakes does.
    precision: the type whose rounding explains what is left.   first, largest: against `convention`.
    """

    right: bool
    convention: str
    mistakes: tuple[Finding, ...] = ()
    precision: str = ""
    notes: tuple[str, ...] = ()
    first: Difference | None = None
    largest: float = 0.0
    compared: int = 0


@dataclass(frozen=True)
class Convention:
    """A published way: the record that computes it, from which position on, and its recipe where it has one."""

    record: Encoding
    recipe: Recipe | None
    start: int = 0

    @property
    def text(self) -> str:
        return f"{_text.short(self.record)}{' with positions from 1' if self.start else ''}"

    def values(self, positions: np.ndarray) -> np.ndarray:
        """The exact numbers, as float64."""
        places = positions + self.start
        if isinstance(self.record, Adds):
            return np.asarray(self.record.embed(places, dtype=np.float64))
        return rotation_matrices(
            _check.instance("against", self.record, Rotates, "a record that adds or rotates"), places
        )


def diagnose(observed: Observed, *, base: float = USUAL_BASE, against: Encoding | None = None) -> Verdict:
    """Name the convention that the numbers follow, or the mistake in them.

    base: the base that is meant.   against: the one record to compare with, in place of all published conventions.
    Raises ValueError where shapes do not belong together.
    """
    known = conventions(observed, base, against)
    if not known:
        raise ValueError(f"observed must have a width that some convention has; got {observed.dim}. Use an even width.")
    for convention in known:
        expected = convention.values(observed.positions)
        if expected.shape != observed.values.shape:
            raise ValueError(
                f"against must be a record that {observed.door} and has width {observed.dim}; got {convention.text}. "
                "Give the record that is meant."
            )
        for precision in _precisions(observed.dtype):
            if agrees(observed, expected, precision, convention.recipe):
                return Verdict(
                    True,
                    convention.text,
                    (),
                    precision,
                    _notes(convention, observed, precision),
                    *_farthest(observed, expected),
                )
    nearest = min(known, key=lambda convention: _distance(observed, convention.values(observed.positions)))
    for convention, found, precision in _explanations(known, observed):
        found, notes = _or_base(convention, found, observed, precision)
        farthest = _farthest(observed, convention.values(observed.positions))
        return Verdict(False, convention.text, found, precision, notes, *farthest)
    return Verdict(False, nearest.text, (), "", (), *_farthest(observed, nearest.values(observed.positions)))


def conventions(observed: Observed, base: float, against: Encoding | None) -> list[Convention]:
    """The published conventions of a width, the usual ones first."""
    if against is not None:
        return [Convention(against, recipe_of(against))]
    records: list[Encoding] = []
    dim, odd = observed.dim, ODD if observed.dim % 2 else EVEN
    if observed.door == "rotates":
        records = [RoPE(dim, base, pairing) for pairing in ("adjacent", "halves")] if dim % 2 == 0 else []
        starts = (0, 1) if observed.length else (0,)
        return [Convention(record, recipe_of(record), start) for start in starts for record in records]
    for rest in odd:
        records += [Sinusoidal(dim, base, odd=rest), Sinusoidal(dim, base, "concatenated", odd=rest)]
        records += [Sinusoidal(dim, base, "concatenated", first="cosine", odd=rest)]
        if dim > 3:
            records += [
                Sinusoidal(dim, base, "concatenated", "i/(d/2-1)", first, odd=rest) for first in ("sine", "cosine")
            ]
    return [Convention(record, recipe_of(record)) for record in records]


def recipe_of(record: Encoding) -> Recipe | None:
    """The recipe of a record, None where it has none that can be changed."""
    if isinstance(record, Sinusoidal) and record.dim % 2 == 0:
        order: Order = "adjacent" if record.layout == "interleaved" else "halves"
        waves = ("sine", "cosine") if record.first == "sine" else ("cosine", "sine")
        return Recipe("adds", record.base, record.exponent, order, order, waves, start=record.start, scale=record.scale)
    if isinstance(record, RoPE) and record.scaling is None:
        return Recipe("rotates", record.base, "2i/d", record.pairing, record.pairing, ("cosine", "sine"), (-1.0, 1.0))
    return None


def agrees(observed: Observed, expected: np.ndarray, precision: str, recipe: Recipe | None) -> bool:
    """Whether every number that tells anything is the expected one, up to the rounding of a type."""
    value, step = ROUNDING[precision]
    with np.errstate(all="ignore"):
        fastest = float(np.abs(rates(recipe, observed.dim)).max()) if recipe else 1.0
        size = max(1.0, float(np.abs(expected).max()))
        allowed = size * (value + step * np.abs(observed.positions + 1.0) * max(1.0, fastest))
        close = np.abs(observed.values - expected) <= allowed.reshape((-1,) + (1,) * (expected.ndim - 1))
        close |= np.isnan(observed.values) & np.isnan(expected)
    telling = allowed <= TELLING * size
    return bool(telling.sum() >= min(ENOUGH, len(telling)) and close[telling].all())


def _explanations(known: list[Convention], observed: Observed) -> Iterator[tuple[Convention, tuple[Finding, ...], str]]:
    """What one mistake explains, then what two do; the usual conventions first."""
    single = [(convention, [mistake]) for convention in known for mistake in MISTAKES]
    few = [convention for convention in known if not convention.start][:2]
    common = [mistake for mistake in MISTAKES if mistake.name != "table too short"]
    several = [(convention, list(two)) for convention in few for two in combinations(common, 2)]
    glimpse = replace(observed, positions=observed.positions[:4], values=observed.values[:4])
    for candidates in (single, several):
        for precision in _precisions(observed.dtype):
            for convention, mistakes in candidates:
                recipe = _changed(convention, mistakes, observed)
                if recipe and _gives(recipe, glimpse, precision) and _gives(recipe, observed, precision):
                    yield convention, tuple(_finding(mistake, recipe, convention) for mistake in mistakes), precision


def _or_base(
    convention: Convention, found: tuple[Finding, ...], observed: Observed, precision: str
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Another exponent often is another base: base 100 with 2i/d gives the numbers of base 10000 with i/d.

    The other reading is told where the base is a plain number, and comes first where it is the usual 10000.
    """
    mistake = next(one for one in MISTAKES if one.name == "base")
    recipe = _changed(convention, [mistake], observed)
    if len(found) > 1 or found[0].name == "base" or recipe is None or not _gives(recipe, observed, precision):
        return found, ()
    if float(f"{recipe.base:.1g}") != recipe.base or recipe.base < 2:
        return found, ()
    other = _finding(mistake, recipe, convention)
    first, second = (other, found[0]) if recipe.base == USUAL_BASE else (found[0], other)
    return (first,), (f"The same numbers can be read otherwise: {second.sentence}",)


def _changed(convention: Convention, mistakes: list[Mistake], observed: Observed) -> Recipe | None:
    """The recipe with the mistakes in it; None where one does not apply or changes nothing."""
    if convention.recipe is None:
        return None
    recipe = replace(convention.recipe, start=convention.recipe.start + convention.start)
    for mistake in mistakes:
        changed = mistake.change(recipe, observed) if observed.door in mistake.doors else None
        if changed is None or changed == recipe:
            return None
        recipe = changed
    return recipe


def _gives(recipe: Recipe, observed: Observed, precision: str) -> bool:
    return agrees(observed, evaluate(recipe, observed.positions, observed.dim), precision, recipe)


def _finding(mistake: Mistake, recipe: Recipe, convention: Convention) -> Finding:
    words = {"adjacent": "side by side", "halves": "half a width apart"}
    fields = asdict(recipe) | {"frequencies": words[recipe.frequencies], "pairs": words[recipe.pairs]}
    if convention.recipe is not None and convention.recipe.scale:
        fields["scale"] = recipe.scale / convention.recipe.scale
    return Finding(mistake.name, mistake.sentence.format(**fields), mistake.fix.format(**fields))


def _precisions(dtype: str) -> tuple[str, ...]:
    if dtype in ("float16", "bfloat16", "float32"):
        return (dtype,)
    return ("float64", "float32")


def _notes(convention: Convention, observed: Observed, precision: str) -> tuple[str, ...]:
    notes = []
    if convention.start:
        notes.append(
            "Positions start at 1, as in the article's rotary code: slice p turns by p+1. Scores, which depend on "
            "differences, are the same."
        )
    if precision != observed.dtype and observed.dtype == "float64" and precision == "float32":
        notes.append("The result is float64, and the angles were formed in float32.")
    return tuple(notes)


def _farthest(observed: Observed, expected: np.ndarray) -> tuple[Difference | None, float, int]:
    """The first number that differs by more than float32 rounding, the largest difference, and how many were compared."""
    gap = np.abs(observed.values - expected)
    value, step = ROUNDING["float32"]
    allowed = (value + step * np.abs(observed.positions + 1.0)).reshape((-1,) + (1,) * (gap.ndim - 1))
    wrong = np.argwhere(~(gap <= allowed))
    largest = float(np.nanmax(gap)) if np.isfinite(gap).any() else float("nan")
    if not len(wrong):
        return None, largest, int(gap.size)
    place = tuple(int(index) for index in wrong[0])
    return (
        Difference(
            float(observed.positions[place[0]]),
            place[1],
            float(expected[place]),
            float(observed.values[place]),
            place[2] if len(place) == 3 else None,
        ),
        largest,
        int(gap.size),
    )


def _distance(observed: Observed, expected: np.ndarray) -> float:
    """The share of the numbers that differ."""
    return float((~(np.abs(observed.values - expected) <= 1e-3)).mean())
