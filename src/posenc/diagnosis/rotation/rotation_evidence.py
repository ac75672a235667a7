"""Evidence of a rotation: what a usage must explain, and the values that mistakes read off it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from posenc.compose import Backward
from posenc.core.doors import RotaryEncoding
from posenc.diagnosis.mistake import Words, fewest_digits, unless_refused
from posenc.diagnosis.rotation.applied_rotation import Role, rotated_pairs
from posenc.diagnosis.rotation.bases_read_off import BASES, bases_of, bases_of_usage, exponents_of
from posenc.diagnosis.rotation.comparison import ROUGH, Comparison, farness, subsample
from posenc.diagnosis.rotation.observed_rotations import ObservedRotations
from posenc.diagnosis.rotation.rotation_usage import RopeInHead, RotationUsage, rope_base, rope_in_head
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, NTKAware, NTKByParts, Scaling, YaRN
from posenc.models.fingerprints import canonical

#: How far a factor of NTK may be off a number with one digit behind the point, of itself; any base has a factor.
NEAR_FACTOR = 1e-4
#: Rows that are looked at together for the first that differs.
BLOCK = 512
#: What a mistake in a rotation yields.
Changes = Iterator[tuple[RotationUsage | None, Words]]

#: What released models have: tried where nothing shows a value.
LENGTHS = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072)
SCALING_FIELDS: dict[str, tuple[Any, ...]] = {
    "factor": (2.0, 4.0, 8.0, 16.0, 32.0, 40.0),
    "original": LENGTHS,
    "length": LENGTHS,
    "truncate": (True, False),
    "low": (1.0,),
    "high": (1.0, 4.0),
    "beta_fast": (32.0,),
    "beta_slow": (1.0,),
}


class RotationEvidence(abc.ABC):
    """Observations that a usage must explain.

    Methods such as `bases` and `scalings` give the values that a mistake may have put in place of the right ones: those
    that the evidence shows, or else those of released models.
    """

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        """Whether the usage explains all of it; a subsample, with rough frequencies, where `exact` is False."""
        comparison = self.compare(usage, exact)
        return comparison is not None and comparison.fits(exact)

    @abc.abstractmethod
    def kinds(self) -> tuple[str, ...]:
        """Kinds of evidence that it is, as `position_fields.SHOWN_BY` names them."""

    @abc.abstractmethod
    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        """Compare the evidence with the usage; None where nothing can be compared, as at another width."""

    def describe(self, index: tuple[int, ...]) -> str:
        """Describe the number at an index of a comparison."""
        return str(index)

    def width(self) -> str:
        """Kind and size of the evidence, in words."""
        return type(self).__name__

    def describe_worst(self, usage: RotationUsage) -> list[str]:
        """Describe the largest difference from the usage in a line; no line where all fits."""
        comparison = self.compare(usage)
        if comparison is None:
            pairs = rotated_pairs(usage, "query")
            return [f"{self.width()}, where {len(pairs.first)} pairs in a head of {pairs.dim} channels are meant"]
        if comparison.fits():
            return []
        at = comparison.worst()
        tolerance = f"where rounding allows {comparison.tolerance[at]:.2g}"
        wrong = (comparison.gap > comparison.tolerance) & comparison.significant
        share = wrong.sum() / max(int(comparison.significant.sum()), 1)
        return [
            f"{self.width()}: off by {comparison.gap[at]:.6g} at {self.describe(at)}, {tolerance}; "
            f"{share:.1%} of the numbers compared differ"
        ]

    def numbers(self) -> dict[str, np.ndarray]:
        """Its arrays by name, which must all be finite."""
        return {}

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        """Rotations of the pairs of queries or keys, where they are shown and the usage's channels rotate."""
        return None

    def roles(self) -> tuple[Role, ...]:
        """Roles of the vectors that are shown."""
        return ()

    def channels(self) -> int | None:
        """The channels of a vector, where vectors are shown."""
        return None

    def longest(self) -> int | None:
        """The length of the sequence, where positions are shown."""
        return None

    def without_right_tables(self, usage: RotationUsage) -> RotationEvidence:
        """The evidence without tables that fit the usage: tokens that share a shift may stand in other rows of them."""
        return self

    def only_position(self) -> tuple[float, ...] | None:
        """The one position of all rows, by coordinate; None where they have several, or 0, which may be a default."""
        return None

    def unseen(self, usage: RotationUsage) -> tuple[str, ...]:
        """Notes on what such evidence cannot show, and on numbers in it that nothing uses."""
        return ()

    def unwritten(self) -> str:
        """Describe rows that are zero and came from other numbers; "" where none are, or all."""
        return ""

    def unchanged(self) -> bool:
        """Whether vectors came out as they went in."""
        return False

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        """Whether all differences from the usage are float32 rounding of angles, where vectors show that."""
        return False

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        """Return factors of the logits besides the usual scale, read off; () where no logits are shown."""
        return ()

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        """Return the frequencies that are shown if the usage's channels rotate in pairs; None where none are."""
        return None

    def rotary_dim(self) -> int | None:
        """Number of channels that rotate, where it is shown."""
        return None

    def attention_factor(self) -> float | None:
        """Return the attention factor, where it is shown without knowing which channels rotate."""
        return None

    def table_lengths(self) -> tuple[int, ...]:
        """Lengths after which a table may have ended."""
        return ()

    def first_wrong(self, usage: RotationUsage) -> tuple[int, ...]:
        """Return the first positions, of queries and of keys, that differ from a usage, where positions are shown."""
        return ()

    def head_order(self, usage: RotationUsage, role: Role | None = None) -> tuple[int, ...]:
        """Return which head's vectors (of one role, or both for None) stand at each head; () if too little is shown."""
        return ()

    def used_positions(self, usage: RotationUsage, role: Role) -> tuple[np.ndarray, np.ndarray] | None:
        """Return expected and used positions of queries or keys, where products show them and rotations do not."""
        return None

    def bases(self, usage: RotationUsage) -> tuple[float, ...]:
        shown = self.frequencies(usage)
        if usage.rope is None:
            return ()
        if shown is None:
            return BASES
        read_off = bases_of_usage(shown, usage)
        # Products show the frequencies of both sides together; the base of one side alone is tried.
        return tuple(dict.fromkeys((*read_off, *(BASES if "logits" in self.kinds() else ()))))

    def rotary_dims(self, usage: RotationUsage) -> tuple[int, ...]:
        head, shown = usage.in_head, self.rotary_dim()
        if head is None:
            return ()
        if shown is not None:
            return (shown,)
        shares = {head.dim // 4, head.dim // 2, 3 * head.dim // 4, head.rope.head_dim // 2}
        return tuple(sorted(width for width in shares if width >= 2 and width % 2 == 0))

    def starts(self, head: RopeInHead) -> tuple[int, ...]:
        """First channels that may rotate."""
        return (0, head.dim - head.rope.head_dim)

    def stretches(self, usage: RotationUsage) -> tuple[float, ...]:
        """Return the factor by which the fastest pair is slowed, in a tuple; () where it is not."""
        shown = self.frequencies(usage)
        if shown is None or not len(shown) or not 1e-6 < shown[0] < 0.99:
            return ()
        return (fewest_digits(float(1.0 / shown[0])),)

    def scalings(self, usage: RotationUsage) -> tuple[Scaling, ...]:
        """Scalings that may have been added."""
        linear = tuple(Linear(factor) for factor in self.stretches(usage) if factor >= 1.0)
        shown = self.frequencies(usage)
        if shown is None or not isinstance(usage.rope, RoPE) or usage.rope.head_dim < 4:
            return linear
        if len(shown) != usage.rope.head_dim // 2:  # another share of the head
            return linear
        power = 1.0 - 2.0 / usage.rope.head_dim
        factors = (
            (base / usage.rope.base) ** power for base in bases_of(shown, exponents_of(usage.rope.head_dim))[-1:]
        )
        plain = ((round(one, 1), one) for one in factors if 1.0 < round(one, 1) < 1e3)
        return (*linear, *(NTKAware(factor) for factor, one in plain if abs(factor - one) <= NEAR_FACTOR * one))

    def schemes(self, usage: RotationUsage) -> tuple[Scaling, ...]:
        """Scalings that may stand in place of the right one: every other, with its factor and lengths."""
        factor, original = (getattr(usage.scaling, name, None) for name in ("factor", "original"))
        if factor is None:
            return ()
        makers: tuple[Callable[[float, int], Scaling], ...] = (YaRN, NTKByParts, Llama3, _dynamic)
        with_lengths = [unless_refused(partial(maker, factor, original)) for maker in makers if original]
        return (Linear(factor), NTKAware(factor), *(scaling for scaling in with_lengths if scaling))

    def scaling_values(self, usage: RotationUsage, name: str) -> tuple[Any, ...]:
        """Values that a field of the scaling may have."""
        return (*SCALING_FIELDS[name], *(self.stretches(usage) if name == "factor" else ()))

    def attention_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        shown = self.attention_factor()
        if shown is None:
            rotations = [rotations for role in self.roles() if (rotations := self.rotations(usage, role)) is not None]
            shown = rotations[0].attention_factor() if rotations else None
        return () if shown is None or not 0.0 < shown < 1e6 else tuple(dict.fromkeys((fewest_digits(shown), shown)))


@dataclass(frozen=True)
class OtherRotation(RotationEvidence):
    """The encoding of another config: its mathematics must be explained, and every value is read off it."""

    encoding: RotaryEncoding

    @property
    def in_head(self) -> RopeInHead | None:
        """The RoPE of the encoding, whichever way it rotates."""
        return rope_in_head(self.encoding.encoding if isinstance(self.encoding, Backward) else self.encoding)

    @property
    def ropes(self) -> tuple[RoPE | AxialRoPE, ...]:
        """The RoPE, if there is one."""
        return () if self.in_head is None else (self.in_head.rope,)

    def kinds(self) -> tuple[str, ...]:
        return ("configs",)

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        return None

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        if not usage.is_default:
            return False
        if exact:
            return canonical(usage.encoding) == canonical(self.encoding)
        one, other = (rotated_pairs(each, "query", exact=False) for each in (usage, RotationUsage(self.encoding)))
        return (
            (one.dim, len(one.first)) == (other.dim, len(other.first))
            and abs(one.factor - other.factor) <= ROUGH * abs(other.factor)
            and bool(np.all(np.abs(one.frequencies - other.frequencies) <= ROUGH * np.abs(other.frequencies)))
        )

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        return None if self.in_head is None else rotated_pairs(RotationUsage(self.encoding), "query").frequencies[0]

    def bases(self, usage: RotationUsage) -> tuple[float, ...]:
        return tuple(rope_base(rope) for rope in self.ropes)

    def rotary_dims(self, usage: RotationUsage) -> tuple[int, ...]:
        return tuple(rope.head_dim for rope in self.ropes)

    def starts(self, head: RopeInHead) -> tuple[int, ...]:
        return () if self.in_head is None else (self.in_head.start,)

    def scalings(self, usage: RotationUsage) -> tuple[Scaling, ...]:
        return tuple(rope.scaling for rope in self.ropes if rope.scaling is not None)

    def schemes(self, usage: RotationUsage) -> tuple[Scaling, ...]:
        return () if usage.scaling is None else self.scalings(usage)

    def scaling_values(self, usage: RotationUsage, name: str) -> tuple[Any, ...]:
        same_scheme = (one for one in self.scalings(usage) if type(one) is type(usage.scaling) and hasattr(one, name))
        return tuple(getattr(scaling, name) for scaling in same_scheme)

    def attention_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        return tuple(rope.attention_factor for rope in self.ropes)


def _dynamic(factor: float, original: int) -> DynamicNTK:
    return DynamicNTK(factor, original, int(factor * original))


class AtPositions(RotationEvidence):
    """Evidence whose rows have positions, (n,) or (n, axes); a quick check takes a few of the rows."""

    positions: np.ndarray

    @cached_property
    def _subsample(self) -> np.ndarray:
        return subsample(self.positions)

    def table_lengths(self) -> tuple[int, ...]:
        return powers_within(self.positions)

    def longest(self) -> int:
        return longest_with(self.positions)

    def only_position(self) -> tuple[float, ...] | None:
        first = np.atleast_1d(self.positions[0])
        alone = np.any(first) and bool(np.all(self.positions == self.positions[0]))
        return tuple(first.tolist()) if alone else None

    @abc.abstractmethod
    def of_rows(self, rows: np.ndarray) -> Self:
        """Restrict the evidence to these rows."""

    def first_wrong(self, usage: RotationUsage) -> tuple[int, ...]:
        """Return the first position that differs; rows after its block are not computed.

        Of several coordinates the largest counts: where a table ends, rows are wrong from the first beyond it on.
        """
        order = np.argsort(farness(self.positions), kind="stable")
        for start in range(0, len(order), BLOCK):
            part = self.of_rows(order[start : start + BLOCK])
            comparison = part.compare(usage)
            if comparison is None:
                return ()
            if found := first_wrong_of(comparison, farness(part.positions), 0):
                return found
        return ()


def first_wrong_of(comparison: Comparison, positions: np.ndarray, axis: int) -> tuple[int, ...]:
    """The least position at which a comparison differs, along one of its axes."""
    wrong = (comparison.gap > comparison.tolerance) & comparison.significant
    rows = wrong.any(tuple(other for other in range(wrong.ndim) if other != axis))
    return (int(positions[rows].min()),) if rows.any() else ()


def longest_with(positions: np.ndarray) -> int:
    """The length of a sequence with these positions."""
    return int(np.nanmax(positions, initial=0)) + 1


def shown_position(position: np.ndarray) -> str:
    """Write a position, or its coordinates with commas between, as text."""
    return ", ".join(f"{coordinate:g}" for coordinate in np.atleast_1d(position))


def powers_within(positions: np.ndarray) -> tuple[int, ...]:
    """Powers of two within the positions, where tables of them end."""
    top = int(np.nanmax(positions, initial=0))
    return tuple(1 << power for power in range(3, 21) if 1 << power <= top)
