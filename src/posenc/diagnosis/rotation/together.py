"""Several kinds of evidence about one rotation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.diagnosis.rotation.comparison import Comparison
from posenc.diagnosis.rotation.effect import Role
from posenc.diagnosis.rotation.readings import ObservedRotations
from posenc.diagnosis.rotation.rotation_evidence import RotationEvidence
from posenc.diagnosis.rotation.usage import RotationUsage


@dataclass(frozen=True, eq=False)
class Together(RotationEvidence):
    """Several of these, all of one usage."""

    parts: tuple[RotationEvidence, ...]

    def fits(self, usage: RotationUsage, exact: bool = True) -> bool:
        return all(part.fits(usage, exact) for part in self.parts)

    def compare(self, usage: RotationUsage, exact: bool = True) -> Comparison | None:
        wrong = next((part for part in self.parts if not part.fits(usage, exact)), self.parts[0])
        return wrong.compare(usage, exact)

    def rotations(self, usage: RotationUsage, role: Role = "query") -> ObservedRotations | None:
        every = (part.rotations(usage, role) for part in self.parts)
        return next((rotations for rotations in every if rotations is not None), None)

    def frequencies(self, usage: RotationUsage) -> np.ndarray | None:
        every = (part.frequencies(usage) for part in self.parts)
        return next((shown for shown in every if shown is not None), None)

    def table_lengths(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(length for part in self.parts for length in part.table_lengths()))

    def logit_factors(self, usage: RotationUsage) -> tuple[float, ...]:
        return tuple(factor for part in self.parts for factor in part.logit_factors(usage))

    def attention_factor(self) -> float | None:
        return next((shown for part in self.parts if (shown := part.attention_factor()) is not None), None)

    def differs_by_angle_rounding(self, usage: RotationUsage) -> bool:
        return all(part.fits(usage) or part.differs_by_angle_rounding(usage) for part in self.parts)

    def describe_worst(self, usage: RotationUsage) -> list[str]:
        return [line for part in self.parts for line in part.describe_worst(usage)]

    def numbers(self) -> dict[str, np.ndarray]:
        return {name: values for part in self.parts for name, values in part.numbers().items()}

    def width(self) -> str:
        return "; ".join(part.width() for part in self.parts)

    def channels(self) -> int | None:
        return next((count for part in self.parts if (count := part.channels()) is not None), None)

    def longest(self) -> int | None:
        return max((most for part in self.parts if (most := part.longest()) is not None), default=None)

    def roles(self) -> tuple[Role, ...]:
        return tuple(role for part in self.parts for role in part.roles())

    def unwritten(self) -> str:
        return next((rows for part in self.parts if (rows := part.unwritten())), "")

    def unchanged(self) -> bool:
        return all(part.unchanged() for part in self.parts)
