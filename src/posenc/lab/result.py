"""Results of training runs, each as a line of JSON and back. Imports no torch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.declared_fields import Declared, Instance, Real, Whole
from posenc.core.plain_file import json_of
from posenc.lab.experiment import LONGEST, Experiment, are_pairs


@dataclass(frozen=True)
class InstancesOf:
    """Rule that checks a field: a tuple of instances of the class `kind`."""

    kind: type[Declared]

    def __call__(self, name: str, value: Any) -> Any:
        if not isinstance(value, tuple) or not all(isinstance(part, self.kind) for part in value):
            raise TypeError(
                f"{name} must be a tuple of {self.kind.__name__}; got {validation.shown(value)}. Give a tuple."
            )
        return value


@dataclass(frozen=True)
class Losses:
    """Rule that checks a field: pairs (tokens, loss) with rising numbers of tokens."""

    def __call__(self, name: str, value: Any) -> tuple[tuple[int, float], ...]:
        rule = f"{name} must be pairs of a number of tokens and a loss, tokens rising"
        if not are_pairs(value):
            raise TypeError(f"{rule}; got {validation.shown(value)}. Give ((16, 2.5), (32, 2.25)), say.")
        pairs = tuple((Whole(1, LONGEST)(name, tokens), Real(0.0, 1e6)(name, loss)) for tokens, loss in value)
        tokens = [pair[0] for pair in pairs]
        if sorted(set(tokens)) != tokens:
            raise ValueError(f"{rule}; got tokens {tokens[:8]}. Sort them and leave out repeats.")
        return pairs


@dataclass(frozen=True)
class Versions:
    """Rule that checks a field: pairs (package, version)."""

    def __call__(self, name: str, value: Any) -> tuple[tuple[str, str], ...]:
        if not are_pairs(value) or not all(isinstance(word, str) for pair in value for word in pair):
            raise TypeError(
                f"{name} must be pairs of a package and its version; got {validation.shown(value)}. Give pairs."
            )
        return tuple((package, version) for package, version in value)


#: Packages whose other version would give other numbers.
PACKAGES = ("posenc", "torch", "numpy")


def package_versions() -> tuple[tuple[str, str], ...]:
    """Versions of the packages that decide the numbers of a run here."""
    return tuple((name, version(name)) for name in PACKAGES)


def versions_that_differ(results: Iterable[Result]) -> str:
    """Packages and settings of which the results have several versions, or "".

    Args:
        results: Of one task, since some packages serve some tasks alone.

    Returns:
        Such as "torch 2.12.0, 2.13.0".
    """
    every = [dict(result.versions) for result in results]
    names = dict.fromkeys(name for each in every for name in each)
    found = {name: sorted({each.get(name, "none") for each in every}) for name in names}
    return "; ".join(f"{name} {', '.join(values)}" for name, values in found.items() if len(values) > 1)


Share = Annotated[float, Real(0.0, 1.0)]
Loss = Annotated[float, Real(0.0, 1e6)]
Count = Annotated[int, Whole(0, 1 << 62)]


@dataclass(frozen=True)
class Progress(Declared):
    """Steps done, and the mean training loss since the last report.

    Args:
        step: Steps done.
        loss: Nats a predicted token.
    """

    step: Count
    loss: Loss


@dataclass(frozen=True)
class LengthScore(Declared):
    """Scores of a trained model at a length of sequence.

    Args:
        length: Items of the sequences.
        accuracy: The share of predicted tokens that are right.
        exact: The share of sequences with all of them right.
        loss: Nats a predicted token.
        bleu: Of the greedy output, from 0 to 100, where a task has references.
        by_position: (tokens up to its end, loss) for equal stretches of the sequence, without those where nothing is
            predicted.
        chance: Nats of the best guess that reads nothing, the entropy of the targets' frequencies; None in results of
            before it was recorded.
    """

    length: Annotated[int, Whole(1, LONGEST)]
    accuracy: Share
    exact: Share
    loss: Loss
    bleu: Annotated[float, Real(0.0, 100.01)] | None = None
    by_position: Annotated[tuple[tuple[int, float], ...], Losses()] = ()
    chance: Loss | None = None


#: Fields that lines of earlier versions lack.
ADDED_LATER = {"chance"}


@dataclass(frozen=True)
class Result(Declared):
    """Result of a run.

    Args:
        experiment: The run.
        curve: The training loss.
        scores: For each test length.
        by_context: (context, loss) of the same last tokens, read with so many tokens in all; empty for tasks whose
            targets mean something else when the start is cut off.
        parameters: Numbers that the model learns.
        learned: Those of them that are the encoding's.
        seconds: Of processor time.
        memory: The most bytes the process held.
        sample: Text from the model, or "".
        versions: Of packages.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.

    Example:
        >>> from posenc.lab.experiment import Experiment
        >>> score = LengthScore(64, accuracy=0.75, exact=0.5, loss=0.4)
        >>> result = Result(Experiment("RoPE(dim=16)", "copy"), (Progress(10, 2.0),), (score,), parameters=9)
        >>> Result.from_json(result.to_json()) == result, result.at(64).accuracy
        (True, 0.75)
    """

    experiment: Annotated[Experiment, Instance("an Experiment")]
    curve: Annotated[tuple[Progress, ...], InstancesOf(Progress)]
    scores: Annotated[tuple[LengthScore, ...], InstancesOf(LengthScore)]
    by_context: Annotated[tuple[tuple[int, float], ...], Losses()] = ()
    parameters: Count = 0
    learned: Count = 0
    seconds: Annotated[float, Real(0.0, 1e12)] = 0.0
    memory: Count = 0
    sample: Annotated[str, Instance("text")] = ""
    versions: Annotated[tuple[tuple[str, str], ...], Versions()] = ()

    def at(self, length: int) -> LengthScore:
        """The score at a test length.

        Raises:
            ValueError: `length` is no test length.
        """
        for score in self.scores:
            if score.length == length:
                return score
        lengths = [score.length for score in self.scores]
        raise ValueError(f"length must be a test length, one of {lengths}; got {length}. Choose one of them.")

    def to_json(self) -> str:
        """The result as a line of JSON, without a line break."""
        return json.dumps(dataclasses.asdict(self), allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Result:
        """Read a result from a line of JSON.

        Raises:
            ValueError: The line is cut, changed or something else; the message names `line`.
        """
        try:
            fields = _fields(cls, json_of(line))
            fields["experiment"] = Experiment(**_fields(Experiment, fields["experiment"]))
            for name, kind in (("curve", Progress), ("scores", LengthScore)):
                fields[name] = tuple(kind(**_fields(kind, part)) for part in fields[name])
            return cls(**fields)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"line must be a result as to_json writes it; got {validation.shown(line)}: {str(error).rstrip('.')}. "
                "Delete the line, and the run is done again."
            ) from None


def _fields(kind: type[Declared], mapping: Any) -> dict[str, Any]:
    """Fields of a dataclass in a JSON object, which must have exactly these."""
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if not isinstance(mapping, dict):
        raise ValueError(f"{kind.__name__} must be an object of {len(names)} fields, not {type(mapping).__name__}.")
    wrong = sorted((names ^ set(mapping)) - (names & ADDED_LATER))
    if wrong:
        raise ValueError(f"{kind.__name__} must have exactly its fields: {', '.join(wrong)} missing or unknown.")
    return dict(mapping)
