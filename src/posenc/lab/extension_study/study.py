"""What is studied: a model, the length to reach, and how much training it gets there. Loads no torch."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Annotated, Any, Self

from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.core.plain_file import json_of
from posenc.lab.experiment import LONGEST, Experiment, digest
from posenc.lab.result import Count, Each, Versions

#: How many lengths are read, in equal steps up to the one to reach.
LENGTHS = 4


@dataclass(frozen=True)
class Study(Declared):
    """One trained model and all ways to a longer context.

    Args:
        experiment: The model and its training; its encoding is one RoPE without a scaling, its task a language model or
            the needle.
        length: To reach, longer than the experiment's.
        tuning: Steps of training at that length.
        sequences: That are read at each length.
        candidates: How many lists of divisors the search tries.

    Raises:
        TypeError: A value breaks its rule; the message names the field.
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.lab.tasks.task_table import experiment
        >>> Study(experiment("RoPE(dim=16)", "needle"), 256).lengths
        (64, 128, 192, 256)
    """

    experiment: Annotated[Experiment, Instance("an Experiment")]
    length: Annotated[int, Whole(2, LONGEST)]
    tuning: Annotated[int, Whole(0, 10**9)] = 50
    sequences: Annotated[int, Whole(8, 1 << 20)] = 64
    candidates: Annotated[int, Whole(1, 10**6)] = 16

    def _check_together(self) -> None:
        if self.length <= self.experiment.length:
            raise ValueError(
                f"length must exceed the trained length, {self.experiment.length}; got {self.length}. Ask for a longer."
            )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that are read: equal steps, and the trained length. Losses are those of its last quarter."""
        least = max(1, self.experiment.length // 4)
        steps = {max(least, self.length * part // LENGTHS) for part in range(1, LENGTHS + 1)}
        return tuple(sorted(steps | {self.experiment.length}))

    @property
    def identity(self) -> str:
        """A name for the study: 16 hexadecimal digits of SHA-256 over all fields."""
        return digest(json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":")))


@dataclass(frozen=True)
class ValuesByLength:
    """What is measured at each length.

    (length, values), values by the depth of what is asked for, from the start of the text to its end; one value where
    no depth is asked for.
    """

    def __call__(self, name: str, value: Any) -> tuple[tuple[int, tuple[float, ...]], ...]:
        return tuple((int(length), tuple(map(float, values))) for length, values in value)


@dataclass(frozen=True)
class Extended(Declared):
    """How well a way reaches the length.

    Args:
        way: Its name.
        encoding: Of the positions of long contexts.
        steps: Of training at the new length.
        values: Losses in nats a token of the same last tokens with more and more context, or the share of needles
            found.
    """

    way: Annotated[str, Instance("a name")]
    encoding: Annotated[str, Instance("an encoding as text")]
    steps: Count
    values: Annotated[tuple[tuple[int, tuple[float, ...]], ...], ValuesByLength()]

    def at(self, length: int) -> float:
        """The mean at a length."""
        values = dict(self.values)[length]
        return sum(values) / len(values)


@dataclass(frozen=True)
class Extension(Declared):
    """What a study gave.

    Args:
        seconds: Of processor time.
        versions: Of packages.
    """

    study: Annotated[Study, Instance("a Study")]
    ways: Annotated[tuple[Extended, ...], Each(Extended)]
    seconds: Annotated[float, Real(0.0, 1e12)] = 0.0
    versions: Annotated[tuple[tuple[str, str], ...], Versions()] = ()

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(dataclasses.asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The extension that a text holds."""
        fields = json_of(text)
        study = fields["study"]
        fields["study"] = Study(**{**study, "experiment": Experiment(**study["experiment"])})
        fields["ways"] = tuple(Extended(**each) for each in fields["ways"])
        return cls(**fields)
