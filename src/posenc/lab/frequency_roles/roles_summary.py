"""Roles of frequencies over seeds: intervals, tables, sentences, rows of a CSV file and a picture. Imports no torch."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc.lab.frequency_roles.roles import EFFECTS, FrequencyRoles, PairChange, halves
from posenc.lab.statistics import Interval, student_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Changes that are listed where there are more than a table holds.
COSTLIEST = 12
#: What each change takes from a pair.
TAKES = {"stopped": "position is gone", "averaged": "content is gone", "removed": "both are gone"}
#: Colours that readers with any colour vision tell apart (Okabe and Ito 2008).
COLOURS = {"stopped": "#0072B2", "averaged": "#E69F00", "removed": "#7F7F7F"}
#: More rows of heads than this are named by every so many.
NAMED_ROWS = 24


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
        """Tokens a turn of one pair: "varies" where layers differ, "never" at frequency 0; "" for several pairs."""
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


def roles_picture(summary: RolesSummary) -> Figure:
    """Draw what each pair costs, the share of |q||k| by head and pair, and costs by layer and head if measured."""
    local = any(change.layer is not None for change, _ in summary.first.changes)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.2 if local else 3.8), layout="constrained")
    upper, *lower = figure.subfigures(2 if local else 1, 1, squeeze=False)[:, 0]
    costs, shares = upper.subplots(1, 2, width_ratios=(1.3, 1))
    _draw_costs(costs, summary)
    _draw_shares(shares, summary)
    if lower:
        _draw_maps(lower[0], summary)
    return figure


def _draw_costs(axes: Axes, summary: RolesSummary) -> None:
    """Draw the loss added by changing each pair as bars, with a dot for each of several seeds."""
    pairs = np.arange(summary.first.pairs)
    for index, effect in enumerate(EFFECTS):
        costs = np.array([[each.loss_of(PairChange(effect, (int(pair),))) for pair in pairs] for each in summary.roles])
        place = pairs + (index - 1) * 0.27
        axes.bar(place, costs.mean(0), 0.25, color=COLOURS[effect], label=f"{effect}: {TAKES[effect]}")
        if len(costs) > 1:
            axes.plot(np.tile(place, len(costs)), costs.ravel(), ".", color="black", markersize=2.5, alpha=0.6)
    axes.axhline(0, color="0.4", linewidth=0.8)
    axes.set_xticks(pairs[:: max(1, len(pairs) // 16)])
    axes.set(xlabel="pair, from the fastest", ylabel="loss added (nats)", title="A pair changed in all layers")
    axes.legend(frameon=False, fontsize="small")


def _draw_shares(axes: Axes, summary: RolesSummary) -> None:
    rows = [(layer.number, head) for layer in summary.first.layers for head in range(layer.heads)]
    shares = np.mean([_padded([s for layer in each.layers for s in layer.shares]) for each in summary.roles], 0)
    image = axes.imshow(shares, aspect="auto", cmap="viridis", vmin=0, interpolation="nearest")
    _name_rows(axes, rows)
    axes.set(xlabel="pair, from the fastest", title="Share of |q||k|")
    axes.figure.colorbar(image, ax=axes)


def _draw_maps(part: Any, summary: RolesSummary) -> None:
    """A map of costs for each effect: layers or heads downwards, pairs from left to right."""
    rows = list(dict.fromkeys((c.layer, c.head) for c, _ in summary.first.changes if c.layer is not None))
    maps = {effect: np.full((len(rows), summary.first.pairs), np.nan) for effect in EFFECTS}
    for change, _ in summary.first.changes:
        if change.layer is not None:
            maps[change.effect][rows.index((change.layer, change.head)), change.pairs[0]] = summary.loss(change).mean
    most = max(float(np.nanmax(np.abs(each))) for each in maps.values()) or 1.0
    panels = part.subplots(1, len(maps), sharey=True)
    for panel, (effect, costs) in zip(panels, maps.items(), strict=True):
        image = panel.imshow(costs, aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
        panel.set(title=f"{effect}, one at a time", xlabel="pair")
    _name_rows(panels[0], rows)
    part.colorbar(image, ax=panels, label="loss added (nats)")


def _name_rows(axes: Axes, rows: list[tuple[Any, Any]]) -> None:
    """Name rows "layer.head", or by the layer alone."""
    step = max(1, len(rows) // NAMED_ROWS)
    names = [str(layer) if head is None else f"{layer}.{head}" for layer, head in rows]
    axes.set_yticks(range(0, len(rows), step), names[::step], fontsize=7)
    axes.set_ylabel("layer" if rows and rows[0][1] is None else "layer.head")


def _padded(rows: list[tuple[float, ...]]) -> np.ndarray:
    """Rows of different length as an array, NaN behind the short ones."""
    most = max(map(len, rows))
    return np.array([[*row, *([np.nan] * (most - len(row)))] for row in rows])
