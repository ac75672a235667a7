"""Summary of several seeds of a study: means with intervals, ways that are better than no change, and a picture."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc import parse
from posenc.encodings.rotates.rope import RoPE
from posenc.lab.comparison.judge import SEEDS, ScoredPairs, Verdict, judge_together
from posenc.lab.extension_study.study import Extended, Extension, Study
from posenc.lab.statistics import Interval, student_interval
from posenc.models import plan_context
from posenc.models.extension_planning.planner import UNCHANGED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Heat maps in a row.
ACROSS = 7


@dataclass(frozen=True)
class StudySummary:
    """The extensions of studies that differ in their seed alone."""

    extensions: tuple[Extension, ...]

    @property
    def study(self) -> Study:
        """The study of the first seed."""
        return self.extensions[0].study

    @property
    def encoding(self) -> RoPE:
        """The rotary encoding that was trained."""
        encoding: RoPE = parse.record(self.study.experiment.encoding)
        return encoding

    @property
    def finds(self) -> bool:
        """Whether answers are counted, and more is better. Otherwise losses are measured."""
        return self.study.experiment.task == "needle"

    @property
    def tunings(self) -> tuple[int, ...]:
        """Steps of tuning that were measured."""
        return tuple(sorted({each.steps for each in self.extensions[0].ways}))

    @property
    def names(self) -> tuple[str, ...]:
        """The ways, in the order in which they were tried."""
        return tuple(dict.fromkeys(each.way for each in self.extensions[0].ways))

    def runs(self, way: str, steps: int) -> tuple[Extended, ...]:
        """Measurements of a way in every seed."""
        return tuple(
            each for extension in self.extensions for each in extension.ways if (each.way, each.steps) == (way, steps)
        )

    def scores(self, steps: int, length: int) -> dict[str, dict[int, float]]:
        """Means at a length, by way, then by seed."""
        seeds = [extension.study.experiment.seed for extension in self.extensions]
        return {
            way: dict(zip(seeds, (run.at(length) for run in self.runs(way, steps)), strict=True)) for way in self.names
        }

    def interval(self, way: str, steps: int, length: int) -> Interval:
        """Mean and 95 % Student-t interval of a way at a length."""
        return student_interval(list(self.scores(steps, length)[way].values()))

    def ranked(self, steps: int) -> tuple[str, ...]:
        """The ways, best mean at the new length first."""
        means = {way: self.interval(way, steps, self.study.length).mean for way in self.names}
        return tuple(sorted(means, key=lambda way: means[way], reverse=self.finds))

    def verdicts(self, steps: int) -> tuple[Verdict, ...]:
        """Judge each way against no change, at the new length."""
        return self._judged()[2 * self.tunings.index(steps)]

    def _judged(self) -> tuple[tuple[Verdict, ...], ...]:
        """Verdicts of each tuning on all ways against no change, then on pairs of planned ways; one family of tests."""
        unchanged = [(way, UNCHANGED) for way in self.names if way != UNCHANGED]
        planned = list(itertools.combinations([way for way in self.planned() if way in self.names], 2))
        return judge_together(
            [
                ScoredPairs(self.scores(steps, self.study.length), self.finds, pairs)
                for steps in self.tunings
                for pairs in (unchanged, planned)
            ]
        )

    def conditions(self) -> str:
        """Training of the models in a line: a verdict holds for this and no more."""
        one, measured = self.study.experiment, "needles found" if self.finds else "loss of the same last tokens, nats"
        seeds = ", ".join(str(each.study.experiment.seed) for each in self.extensions)
        own_text = "the task's own"
        options = "".join(f", {name} {option or own_text}" for name, option in one.options if name != "digest")
        return (
            f"{one.task}: {one.encoding} from {one.length} to {self.study.length} tokens; {measured}; {one.model}, "
            f"width {one.width}, {one.layers} layers, {one.heads} heads; {one.steps} steps of {one.batch} sequences, "
            f"learning rate {one.rate:g}{options}; tuned for {self.study.tuning} steps at {self.study.length}; "
            f"seeds {seeds}"
        )

    def table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
        """Headers, a row for each way, best after tuning first, and which columns hold numbers.

        Means and 95 % Student-t intervals at the trained length and at the new one, as trained and after tuning.
        """
        lengths = (self.study.experiment.length, self.study.length)
        cells = [(steps, length) for steps in self.tunings for length in lengths]
        headers = (
            "way",
            *(f"at {length}{f', {steps} steps' if steps else ''}" for steps, length in cells),
        )
        rows = [(way, *(str(self.interval(way, *cell)) for cell in cells)) for way in self.ranked(self.tunings[-1])]
        return headers, rows, range(1, len(headers))

    def sentence(self, steps: int) -> str:
        """Sentence on the ways that are better at the new length than changing nothing, and on those that are not."""
        when = _when(steps).capitalize()
        means = {way: self.interval(way, steps, self.study.length).mean for way in self.ranked(steps)}
        first = next(iter(means.values()))
        best = [way for way, mean in means.items() if mean == first]
        has = f"{', '.join(best)} {'have' if len(best) > 1 else 'has'} the best mean"
        if len(self.extensions) < SEEDS:
            return f"{when}, {has}; a verdict needs {SEEDS} seeds."
        verdicts = self.verdicts(steps)
        parts = {
            "better than no change": [each.first for each in verdicts if each.better == each.first],
            "worse": [each.first for each in verdicts if each.better == each.second],
            "undecided": [each.first for each in verdicts if not each.decided],
        }
        told = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts.items() if names)
        return f"{when}, {has}. At {self.study.length}, {told} (95 % confidence, corrected by Holm)."

    def planned(self) -> tuple[str, ...]:
        """The ways that `posenc plan` ranks for this rotation, the first ranked best."""
        return planned_ways(self.encoding, self.study.experiment.length, self.study.length)

    def plan_checked(self, steps: int) -> str:
        """Agreement of the planner's order with what was measured, pair by pair."""
        order, verdicts = self.planned(), self._judged()[2 * self.tunings.index(steps) + 1]
        agreeing = [each for each in verdicts if each.better == each.first]
        against = [f"{each.second} before {each.first}" for each in verdicts if each.better == each.second]
        contrary = f"; the runs show {', '.join(against)}" if against else ""
        decided = len(agreeing) + len(against)
        told = f"{decided} are decided, {len(agreeing)} of them as planned{contrary}" if decided else "none is decided"
        return f"`posenc plan` ranks them: {', '.join(order)}. Of {len(verdicts)} pairs, {_when(steps)}, {told}."


def _when(steps: int) -> str:
    return f"after {steps} steps of tuning" if steps else "as trained"


def summaries(extensions: Sequence[Extension]) -> tuple[StudySummary, ...]:
    """Extensions by study, whatever their seed, in the order in which they come."""
    gathered: dict[Study, list[Extension]] = {}
    for each in extensions:
        seedless = replace(each.study, experiment=replace(each.study.experiment, seed=0))
        gathered.setdefault(seedless, []).append(each)
    return tuple(StudySummary(tuple(group)) for group in gathered.values())


def planned_ways(encoding: RoPE, trained: int, length: int) -> tuple[str, ...]:
    """The ways that `plan_context` ranks for a rotary encoding, the first ranked best.

    Args:
        encoding: Trained.
        trained: The trained length.
        length: To reach.

    Returns:
        Names of ways.

    Example:
        >>> planned_ways(RoPE(dim=16), 64, 256)[-1]
        'as it is'
    """
    config = {
        "model_type": "llama",
        "rope_theta": encoding.base,
        "hidden_size": encoding.dim,
        "num_attention_heads": 1,
        "num_hidden_layers": 1,
        "max_position_embeddings": trained,
    }
    return tuple(planned.candidate.name for planned in plan_context(config, length=length).candidates)


def extension_picture(summary: StudySummary) -> Figure:
    """Heat maps where answers are found at depths, lines otherwise."""
    return heat_maps(summary) if summary.finds else lines(summary)


def lines(summary: StudySummary) -> Figure:
    """A panel for each tuning: the mean of each way at each length, with a dot for each seed at the longest."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.4), layout="constrained")
    panels = figure.subplots(1, len(summary.tunings), squeeze=False, sharey=True)[0]
    for steps, panel in zip(summary.tunings, panels, strict=True):
        for way in summary.ranked(steps):
            _line(panel, summary, way, steps)
        panel.axvline(summary.study.experiment.length, color="0.6", linewidth=0.8, linestyle=":")
        panel.set(title=_title(steps), xlabel="tokens read (dotted: trained length)")
        panel.legend(fontsize="x-small", frameon=False, title="best first", title_fontsize="x-small")
    panels[0].set_ylabel("loss of the same last tokens (nats)")
    return figure


def _line(panel: Axes, summary: StudySummary, way: str, steps: int) -> None:
    from posenc.lab.comparison.comparison_picture import run_style

    lengths, index = summary.study.lengths, summary.names.index(way)
    style = run_style(index)
    means = [summary.interval(way, steps, length).mean for length in lengths]
    panel.plot(lengths, means, linewidth=1.2, markersize=4, label=way, **style)
    ends = [run.at(lengths[-1]) for run in summary.runs(way, steps)]
    panel.plot([lengths[-1]] * len(ends), ends, linestyle="", markersize=3, alpha=0.4, **style)


def heat_maps(summary: StudySummary) -> Figure:
    """A map for each way and tuning: length downwards, depth from left to right, the share found as a colour."""
    names, tunings = summary.names, summary.tunings
    blocks = -(-len(names) // ACROSS)
    rows = blocks * len(tunings)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.65 * ACROSS, 1.75 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, ACROSS, squeeze=False)
    image: Any = None
    for index, panel in np.ndenumerate(panels):
        way, steps = index[0] // len(tunings) * ACROSS + index[1], tunings[index[0] % len(tunings)]
        if way < len(names):
            image = _map(panel, summary, names[way], steps, first=not index[1])
        else:
            panel.axis("off")
    figure.colorbar(image, ax=panels, label="share of needles found", shrink=0.6)
    return figure


def _map(panel: Axes, summary: StudySummary, way: str, steps: int, *, first: bool) -> Any:
    lengths = summary.study.lengths
    found = np.mean([[values for _, values in run.values] for run in summary.runs(way, steps)], 0)
    image = panel.imshow(found, vmin=0, vmax=1, aspect="auto", cmap="viridis", interpolation="nearest")
    trained = lengths.index(summary.study.experiment.length)
    panel.axhline(trained + 0.5, color="white", linewidth=0.8, linestyle=":")
    panel.set_title(f"{way}\n{f'tuned for {steps} steps' if steps else 'as trained'}", fontsize=7)
    panel.set_xticks([])
    panel.set_yticks(range(len(lengths)), map(str, lengths) if first else [], fontsize=6)
    panel.set_xlabel("start … end", fontsize=6)
    return image


def _title(steps: int) -> str:
    return f"after {steps} steps at the new length" if steps else "as trained"
