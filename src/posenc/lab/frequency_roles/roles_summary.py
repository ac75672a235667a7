"""Roles of frequencies over seeds: intervals, tables, sentences and rows of a CSV file. Loads no torch."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from posenc.lab.frequency_roles.roles import EFFECTS, FrequencyRoles, PairChange, halves
from posenc.lab.statistics import Interval, student_interval

#: Changes that are listed where there are more than a table holds.
COSTLIEST = 12
#: What each change takes from a pair.
TAKES = {"stopped": "position is gone", "averaged": "content is gone", "removed": "both are gone"}


@dataclass(frozen=True)
class RolesSummary:
    """Roles of the frequencies of one kind of model, trained with several seeds, or of a single model.

    Args:
        roles: For each seed; all have the same layers and changes.
    """

    roles: tuple[FrequencyRoles, ...]

    @property
    def first(self) -> FrequencyRoles:
        """Roles of the first seed."""
        return self.roles[0]

    def loss(self, change: PairChange) -> Interval:
        """Mean over the seeds of what a change adds to the loss, with its 95 % Student interval."""
        return student_interval([each.loss_of(change) for each in self.roles])

    def accuracy(self, change: PairChange) -> Interval:
        """Mean over the seeds of the accuracy that a change costs, with its interval."""
        costs = [each.unchanged.accuracy - dict(each.changes)[change].accuracy for each in self.roles]
        return student_interval(costs)

    def conditions(self) -> str:
        """The model and what was read, in a line."""
        one = self.first
        scores = [each.unchanged for each in self.roles]
        loss, accuracy = (sum(part) / len(scores) for part in zip(*scores, strict=True))
        seeds = "" if one.seed is None else f"; seeds {', '.join(str(each.seed) for each in self.roles)}"
        return (
            f"{one.subject}; {one.windows} windows of {one.length} tokens{seeds}. As it is: loss {loss:.4f} nats, "
            f"accuracy {accuracy:.4f}."
        )

    def groups(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Rows of the tables: each pair, both halves, and all pairs."""
        faster, slower = halves(self.first.pairs)
        single = [(str(pair), (pair,)) for pair in range(self.first.pairs)]
        together = [("faster half", faster), ("slower half", slower), ("all", (*faster, *slower))]
        return (*single, *(group for group in together if len(group[1]) > 1))

    def table(self, of: str) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
        """Headers, rows, and which columns hold numbers.

        Args:
            of: "loss" or "accuracy", whose change is shown.
        """
        interval = self.loss if of == "loss" else self.accuracy
        headers = ("pair", "tokens a turn", "|q||k|", *EFFECTS)
        rows = [
            (name, self._wavelength(pairs), self._share(pairs), *(
                _shown(interval(PairChange(effect, pairs)), len(self.roles)) for effect in EFFECTS
            ))
            for name, pairs in self.groups()
        ]  # fmt: skip
        return headers, rows, range(1, len(headers))

    def _wavelength(self, pairs: Sequence[int]) -> str:
        """Tokens of a full turn of a single pair: of the first layer, or "varies" where layers differ."""
        found = {layer.radians[pairs[0]] for layer in self.first.layers if pairs[0] < len(layer.radians)}
        if len(pairs) > 1:
            return ""
        (radians,) = found if len(found) == 1 else (None,)
        if radians is None:
            return "varies"
        return f"{2 * math.pi / radians:.4g}" if radians else "never"

    def _share(self, pairs: Sequence[int]) -> str:
        share = sum(each.share(pair) for each in self.roles for pair in pairs) / len(self.roles)
        return f"{100 * share:.1f} %"

    def sentence(self) -> str:
        """Costs of changing the faster and the slower half, in words."""
        faster, slower = halves(self.first.pairs)
        if not faster:
            return ""
        told = [
            f"{effect}, the faster half costs {self.loss(PairChange(effect, faster)).mean:.3f} nats and the slower "
            f"{self.loss(PairChange(effect, slower)).mean:.3f} ({TAKES[effect]})"
            for effect in EFFECTS
        ]
        return f"{'; '.join(told)}.".capitalize()

    def costliest(self) -> list[tuple[str, ...]]:
        """Rows of the changes in single layers or heads that cost most; empty where none was made."""
        local = [change for change, _ in self.first.changes if change.layer is not None]
        ranked = sorted(local, key=lambda change: -self.loss(change).mean)[:COSTLIEST]
        return [
            (
                str(change.layer),
                "all" if change.head is None else str(change.head),
                str(change.pairs[0]),
                change.effect,
                _shown(self.loss(change), len(self.roles)),
            )
            for change in ranked
        ]

    def csv_text(self) -> str:
        """Every measurement and every share as CSV, a row for each."""
        file = io.StringIO(newline="")
        writer = csv.writer(file)
        writer.writerow(("seed", "layer", "head", "pairs", "what", "loss", "accuracy", "share"))
        for each in self.roles:
            writer.writerows(_csv_rows(each))
        return file.getvalue()


def _csv_rows(roles: FrequencyRoles) -> Iterator[tuple[object, ...]]:
    yield roles.seed, None, None, "", "unchanged", *roles.unchanged, None
    for change, cost in roles.changes:
        yield roles.seed, change.layer, change.head, " ".join(map(str, change.pairs)), change.effect, *cost, None
    for layer in roles.layers:
        for head, shares in enumerate(layer.shares):
            for pair, share in enumerate(shares):
                yield roles.seed, layer.number, head, pair, "share of |q||k|", None, None, share


def _shown(interval: Interval, count: int) -> str:
    """A difference with its sign, and with its interval where there are several seeds."""
    mean = f"{interval.mean:+.4f}"
    return mean if count < 2 else f"{mean} ±{interval.mean - interval.low:.4f}"
