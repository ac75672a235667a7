"""What a mistake is, and what is known of the numbers that it must explain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc.diagnosis.code.recipe_changes import rounded_off
from posenc.diagnosis.rotation.rotation_evidence import Evidence
from posenc.diagnosis.rotation.usage import Parts, Use, parts
from posenc.doors import Rotates
from posenc.encodings.rotates.axial_rope import AxialRoPE

#: What is tried where nothing shows a value: what released models have.
BASES = (1e3, 1e4, 1e5, 1.5e5, 1.6e5, 5e5, 1e6, 2e6, 5e6, 1e7)
FACTORS = (2.0, 4.0, 8.0, 16.0, 32.0, 40.0)
LENGTHS = (1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072)

Words = dict[str, Any]
Changed = Iterator[tuple[Use, Words]]


@dataclass(frozen=True, eq=False)
class Hints:
    """What to read values off: the record of another config, or what was seen of running code."""

    target: Rotates | None = None
    seen: Evidence | None = None

    @property
    def record(self) -> Parts | None:
        """The other config's rotation, taken apart."""
        return parts(self.target)

    def bases(self, use: Use) -> tuple[float, ...]:
        """Bases that the numbers show for a use, or those in use."""
        if self.record is not None:
            return (self.record.rope.base,)
        own, rates = parts(use.record), self._rates(use)
        if own is None:
            return ()
        if rates is None or isinstance(own.rope, AxialRoPE):
            return BASES
        if len(rates) < 2 or not 0.0 < rates[1] < rates[0]:
            return ()
        with np.errstate(all="ignore"):
            base = float(np.exp(np.log(rates[0] / rates[1]) * own.rope.head_dim / 2))
        return (rounded_off(base),) if 0.0 < base < 1e30 else ()

    def stretch(self, use: Use) -> tuple[float, ...]:
        """By how much the fastest pair is slowed."""
        rates = self._rates(use)
        if rates is None or not len(rates) or not 1e-6 < rates[0] < 0.99:
            return ()
        return (rounded_off(float(1.0 / rates[0])),)

    def widths(self, use: Use) -> tuple[int, ...]:
        """How many channels may turn."""
        own = parts(use.record)
        if own is None:
            return ()
        if self.record is not None:
            return (self.record.rope.head_dim,)
        if self.seen is not None and self.seen.width is not None:
            return (self.seen.width,)
        shares = {own.dim // 4, own.dim // 2, 3 * own.dim // 4, own.rope.head_dim // 2}
        return tuple(sorted(width for width in shares if width >= 2 and width % 2 == 0))

    def values(self, use: Use, name: str) -> tuple[Any, ...]:
        """What a field of the scaling may be: as the other config says, or what is in use."""
        own, scaling = parts(use.record), None
        if own is None or own.rope.scaling is None:
            return ()
        if self.record is not None:
            scaling = self.record.rope.scaling
            return (getattr(scaling, name),) if type(scaling) is type(own.rope.scaling) else ()
        if self.target is not None:
            return ()
        usual: dict[str, tuple[Any, ...]] = {
            "factor": (*FACTORS, *self.stretch(use)),
            "original": LENGTHS,
            "length": LENGTHS,
            "truncate": (True, False),
            "low": (1.0,),
            "high": (1.0, 4.0),
            "beta_fast": (32.0,),
            "beta_slow": (1.0,),
        }
        return usual.get(name, ())

    def attention(self, use: Use) -> tuple[float, ...]:
        """The attention factor that is seen."""
        if self.record is not None:
            return (self.record.rope.attention_factor,)
        found = None if self.seen is None else self.seen.factor()
        return () if found is None or not 0.0 < found < 1e6 else (rounded_off(found),)

    def _rates(self, use: Use) -> np.ndarray | None:
        if self.seen is None:
            return None
        return self.seen.rates_of(use)


@dataclass(frozen=True)
class Mistake:
    """One way to get it wrong. `sentence` and `fix` may name the words of a change in braces.

    running: whether only running code can make it, since no config can say it.
    """

    name: str
    sentence: str
    fix: str
    change: Callable[[Use, Hints], Changed]
    running: bool = False


def with_rope(use: Use, **fields: Any) -> Use | None:
    """The use with other fields of its RoPE; None where there is none, or where the constructor refuses them."""
    own = parts(use.record)
    if own is None:
        return None
    try:
        record = own._replace(rope=replace(own.rope, **fields)).whole()
    except (ValueError, TypeError):
        return None
    return replace(use, record=record)


def with_scaling(use: Use, **fields: Any) -> Use | None:
    """The use with other fields of its scaling."""
    own = parts(use.record)
    if own is None or own.rope.scaling is None:
        return None
    try:
        return with_rope(use, scaling=replace(own.rope.scaling, **fields))
    except (ValueError, TypeError):
        return None
