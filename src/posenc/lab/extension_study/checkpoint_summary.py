"""Summary of a study of a user's own model at a longer context: table, sentence, facts and picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc.lab.comparison.comparison_picture import run_style
from posenc.lab.extension_study.checkpoint_extension import DEPTHS, CheckpointExtension
from posenc.lab.statistics import Interval, student_interval
from posenc.models.extension_planning.planner import UNCHANGED

#: Maps in a row, and the windows from which on an interval is printed.
ACROSS, FEWEST_WINDOWS = 7, 5


@dataclass(frozen=True)
class CheckpointSummary:
    """Ranking, gains, table, sentence and picture of a study's outcome.

    Args:
        extension: The outcome.
    """

    extension: CheckpointExtension

    @property
    def ranked(self) -> tuple[str, ...]:
        """The ways, least loss at the new length first."""
        measured, length = self.extension.measured, self.extension.study.length
        return tuple(sorted(measured, key=lambda way: measured[way][length].loss))

    @property
    def finds(self) -> bool:
        """Whether any needle was found."""
        return any(any(each.found) for by in self.extension.measured.values() for each in by.values())

    def gain(self, way: str) -> Interval:
        """Nats that a way saves at the new length against no change, over the windows of this text."""
        measured, length = self.extension.measured, self.extension.study.length
        pairs = zip(measured[UNCHANGED][length].losses, measured[way][length].losses, strict=True)
        return student_interval([before - after for before, after in pairs])

    def conditions(self) -> str:
        """Return the model, the text and the lengths, in a line."""
        study = self.extension.study
        windows = len(self.extension.measured[UNCHANGED][study.length].losses)
        return (
            f"{self.extension.subject} from {study.trained} to {study.length} tokens, without training: loss of the "
            f"same last {study.last} tokens of {windows} windows, nats; {study.needles} pass keys at each of "
            f"{len(DEPTHS)} depths."
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
        """Headers, a row for each way, best at the new length first, and which columns hold numbers."""
        lengths, measured = self.extension.study.lengths, self.extension.measured
        headers = ("way", *(f"loss, {length}" for length in lengths), *(f"found, {length}" for length in lengths))
        rows = [
            (
                way,
                *(f"{measured[way][length].loss:.3f}" for length in lengths),
                *(f"{100 * np.mean(measured[way][length].found):.0f} %" for length in lengths),
            )
            for way in self.ranked
        ]
        return headers, rows, range(1, len(headers))

    def sentence(self) -> str:
        """The best way, and what it saves against no change."""
        best, study = self.ranked[0], self.extension.study
        if best == UNCHANGED:
            return f"No way has a smaller loss at {study.length} than changing nothing."
        gain = self.gain(best)
        several = len(self.extension.measured[best][study.length].losses) >= FEWEST_WINDOWS
        saved = f"{gain} nats (95 % of windows of this text alone)" if several else f"{gain.mean:.3f} nats"
        cost = self._loss(best, study.trained) - self._loss(UNCHANGED, study.trained)
        within = f"it costs {cost:.3f} nats" if cost > 0 else "it costs nothing"
        found = "" if self.finds else " No pass key was found at any length, so the maps show the nats of its tokens."
        return f"At {study.length} tokens {best} saves {saved} against no change; at {study.trained} {within}.{found}"

    def _loss(self, way: str, length: int) -> float:
        return self.extension.measured[way][length].loss

    def facts(self) -> dict[str, Any]:
        """Everything as JSON can hold it."""
        study = self.extension.study
        return {
            "conditions": self.conditions(),
            "trained": study.trained,
            "length": study.length,
            "depths": DEPTHS,
            "ways": [
                {"way": way, "at": {str(n): each._asdict() for n, each in self.extension.measured[way].items()}}
                for way in self.ranked
            ],
            "gain": {way: self.gain(way) for way in self.ranked if way != UNCHANGED},
        }

    def picture(self) -> Figure:
        """Losses by length, and a map of needles by length and depth for each way."""
        rows = -(-len(self.ranked) // ACROSS)
        figure = Figure(figsize=(1.75 * ACROSS, 4.0 + 1.9 * rows), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=(4.0, 1.9 * rows), squeeze=False)[:, 0]
        self._lines(upper.subplots())
        panels = lower.subplots(rows, ACROSS, squeeze=False)
        image: Any = None
        for panel, way in zip(panels.flat, (*self.ranked, *[""] * panels.size), strict=False):
            if way:
                image = self._map(panel, way)
            else:
                panel.axis("off")
        lower.colorbar(image, ax=panels, label="share of pass keys found" if self.finds else "nats of its tokens")
        return figure

    def _lines(self, axes: Axes) -> None:
        study = self.extension.study
        for index, way in enumerate(self.ranked):
            losses = [self._loss(way, length) for length in study.lengths]
            axes.plot(study.lengths, losses, linewidth=1.2, markersize=4, label=way, **run_style(index))
        axes.axvline(study.trained, color="0.6", linewidth=0.8, linestyle=":")
        axes.set(xlabel="tokens read (dotted: trained length)", ylabel="loss of the same last tokens (nats)")
        axes.legend(fontsize="x-small", frameon=False, title="best first", loc="center left", bbox_to_anchor=(1, 0.5))

    def _map(self, panel: Axes, way: str) -> Any:
        measured, lengths = self.extension.measured[way], self.extension.study.lengths
        values = [measured[length].found if self.finds else measured[length].answers for length in lengths]
        every = [each for by in self.extension.measured.values() for each in by.values()]
        most = 1.0 if self.finds else max(max(each.answers) for each in every)
        image = panel.imshow(values, vmin=0, vmax=most, aspect="auto", cmap="viridis" if self.finds else "viridis_r")
        panel.axhline(lengths.index(self.extension.study.trained) + 0.5, color="white", linewidth=0.8, linestyle=":")
        panel.set_title(way, fontsize=7)
        panel.set_xticks([])
        panel.set_yticks(range(len(lengths)), [str(length) for length in lengths], fontsize=6)
        panel.set_xlabel("start … end", fontsize=6)
        return image
