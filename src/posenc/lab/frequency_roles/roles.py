"""Roles of frequencies as data: what is changed, what it costs, and the plan of a study. Imports no torch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import numpy as np

from posenc.core.declared_fields import Declared, Instance, Whole
from posenc.core.doors import RotaryEncoding
from posenc.lab.experiment import Experiment, digest
from posenc.lab.frequency_roles.altered_pairs import AlteredHead, AlteredPairs

Effect = Literal["stopped", "averaged", "removed"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
#: What is changed at once: a pair in the whole model, in a layer, or in a head.
Level = Literal["model", "layer", "head"]


class PairChange(NamedTuple):
    """Pairs that are stopped, averaged or removed, as `AlteredPairs` says.

    Attributes:
        effect: What happens to them.
        pairs: Their numbers, from the fastest.
        layer: Number of the layer; None for all layers that rotate.
        head: Number of the head of queries; None for all.
    """

    effect: Effect
    pairs: tuple[int, ...]
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        """Name of the change among those of a model.

        Example:
            >>> PairChange("stopped", (0, 1), 2).name
            'stopped 0,1 layer 2'
        """
        layer = "" if self.layer is None else f" layer {self.layer}"
        head = "" if self.head is None else f" head {self.head}"
        return f"{self.effect} {','.join(map(str, self.pairs))}{layer}{head}"

    def altered(self, encoding: RotaryEncoding, heads: int) -> AlteredPairs:
        """The encoding of a layer with these pairs changed.

        Args:
            encoding: Of the layer.
            heads: Heads of queries of the layer.

        Returns:
            The encoding.
        """
        chosen: dict[str, Any] = {self.effect: self.pairs}
        if self.head is None:
            return AlteredPairs(encoding, **chosen)
        return AlteredHead(encoding, **chosen, heads=heads, head=self.head)


class Cost(NamedTuple):
    """Loss and accuracy of a model, as it is or with pairs changed.

    Attributes:
        loss: Nats a predicted token.
        accuracy: Share of the predicted tokens that are the likeliest one.
    """

    loss: float
    accuracy: float


@dataclass(frozen=True)
class RotaryLayer:
    """Rotary layer of a model, with its frequencies and each pair's share of |q||k|.

    Args:
        number: In the model.
        radians: Frequency of each pair, in radians a token.
        shares: For each head, the share of each pair in the mean of |q||k| over the rotary pairs.
    """

    number: int
    radians: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]

    @property
    def heads(self) -> int:
        """Number of query heads."""
        return len(self.shares)


@dataclass(frozen=True)
class FrequencyRoles:
    """Cost of changing each rotary pair of a trained model.

    Args:
        subject: The model, in words.
        seed: Of its training; None for a user's own.
        length: Tokens of a window.
        windows: How many windows were read.
        layers: Those that rotate.
        unchanged: Scores of the model as it is.
        changes: Scores with some pairs changed.
        versions: Of packages.
    """

    subject: str
    seed: int | None
    length: int
    windows: int
    layers: tuple[RotaryLayer, ...]
    unchanged: Cost
    changes: tuple[tuple[PairChange, Cost], ...]
    versions: tuple[tuple[str, str], ...] = ()

    @property
    def pairs(self) -> int:
        """Number of rotary pairs in the layer that has most."""
        return max(len(layer.radians) for layer in self.layers)

    def loss_of(self, change: PairChange) -> float:
        """Nats that a change adds to the loss.

        Raises:
            KeyError: The change was not measured.
        """
        return dict(self.changes)[change].loss - self.unchanged.loss

    def share(self, pair: int) -> float:
        """Mean over heads of a pair's share of |q||k|, in all layers that have the pair."""
        return float(np.mean([share[pair] for layer in self.layers for share in layer.shares if pair < len(share)]))

    def to_fields(self) -> dict[str, Any]:
        """All fields as JSON can hold them; `from_fields` reads them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Read what `to_fields` gave, after a way through JSON."""
        layers = tuple(
            RotaryLayer(each["number"], tuple(each["radians"]), tuple(map(tuple, each["shares"])))
            for each in fields["layers"]
        )
        changes = tuple(
            (PairChange(change[0], tuple(change[1]), *change[2:]), Cost(*cost)) for change, cost in fields["changes"]
        )
        read = {"layers": layers, "unchanged": Cost(*fields["unchanged"]), "changes": changes}
        return cls(**{**fields, **read, "versions": tuple(map(tuple, fields["versions"]))})


@dataclass(frozen=True)
class RolesStudy(Declared):
    """A model of the lab that is trained, then measured with each of its rotary pairs changed.

    Args:
        experiment: The model and its training.
        by: What is changed at once.
        windows: Sequences of the training length that are read.

    Raises:
        TypeError: A value has the wrong type; the message names the field.
        ValueError: A value breaks its rule; the message names the field.
    """

    experiment: Annotated[Experiment, Instance("an Experiment")]
    by: Level = "model"
    windows: Annotated[int, Whole(8, 1 << 16)] = 128

    @property
    def identity(self) -> str:
        """A name for the study: 16 hexadecimal digits of SHA-256 over all fields."""
        return digest(json.dumps([self.experiment.fields(), self.by, self.windows], sort_keys=True))


def halves(pairs: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The faster and the slower half of the pairs; a middle one belongs to the slower.

    Example:
        >>> halves(5)
        ((0, 1), (2, 3, 4))
    """
    return tuple(range(pairs // 2)), tuple(range(pairs // 2, pairs))


def planned_changes(layers: Sequence[RotaryLayer], by: Level) -> tuple[PairChange, ...]:
    """List the changes: each pair, both halves and all pairs in the model, then pairs by layer or head as `by` says.

    Args:
        layers: Those that rotate.
        by: The level.

    Returns:
        The changes, in the order in which they are measured.
    """
    most = max(len(layer.radians) for layer in layers)
    groups = dict.fromkeys((*((pair,) for pair in range(most)), *filter(None, halves(most)), tuple(range(most))))
    planned = [PairChange(effect, group) for group in groups for effect in EFFECTS]
    for layer in layers if by != "model" else ():
        heads = range(layer.heads) if by == "head" else (None,)
        planned += [
            PairChange(effect, (pair,), layer.number, head)
            for head in heads
            for pair in range(len(layer.radians))
            for effect in EFFECTS
        ]
    return tuple(planned)
