"""`posenc plan`: ways to a longer context, ranked, with figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from posenc.cli.answer import Answer, Heading, Verb, Verbatim, attributes, columns

if TYPE_CHECKING:
    from posenc.models.extension_planning.metrics import Band
    from posenc.models.extension_planning.planner import ContextPlan, RankedCandidate


CAPTION = (
    "computed: pairs at angles never trained, and how many times farther the farthest gets; how much the pairs are "
    "disturbed, by which the ways are ordered; the largest change of the mean cosine at short distances; the factor of "
    "logits; the distance at which the sum of cosines turns negative. The order is a rule of thumb."
)
#: How many ways the page describes below its table.
DETAILED = 3
#: Names of snippets that are no command.
WHERE = {"transformers": "transformers, keys of config.json"}


@dataclass(frozen=True)
class PlanVerb(Verb):
    """Rank ways for a model to reach a longer context.

    Shows figures for each; for the first three, and with --json for all, also what to tune, and what to write for
    transformers, vLLM and llama.cpp.

    The figures are computed from the frequencies in the config; the order is a rule of thumb that small trained models
    agree with in the main (posenc extend); what to tune is what the method's authors say. None of it was measured on
    your model: test on your own text, short and long.

    Some examples:
      posenc plan config.json --length 131072
      posenc plan model/ --length 32768 --typical 2000
      posenc plan config.json --length 32768 --trained 8192 --json
    """

    config: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="CONFIG|FOLDER")]
    """A config.json, or its folder."""

    length: int
    """The length to reach, in tokens."""

    typical: int | None = None
    """The length of most inputs; 4096, or the trained length if that is shorter."""

    trained: int | None = None
    """The length the model takes now; if left out, max_position_embeddings, or what its own scaling reaches beyond."""

    def run(self) -> Answer:
        from posenc.models.extension_planning.planner import plan_context

        plan = plan_context(self.config, length=self.length, typical=self.typical, trained=self.trained)
        return Answer(lambda: _facts(plan), lambda: _lines(plan))


def _facts(plan: ContextPlan) -> dict[str, Any]:
    ways = [
        {
            **attributes(one.candidate, "name", "encoding"),
            "figures": one.figures,
            **attributes(one.candidate, "tune", "source"),
            "snippets": dict(one.snippets),
            "checked": one.checked,
        }
        for one in plan.candidates
    ]
    return {
        **attributes(plan, "model_type", "encoding", "trained", "trained_from", "length", "typical", "left"),
        "least_base": plan.bound,
        "ways": ways,
        "order": "a rule of thumb: the least disturbance first; the figures are computed, not measured on a model",
    }


def _lines(plan: ContextPlan) -> Iterator[str]:
    yield Heading(f"{plan.model_type}: from {plan.trained:,} to {plan.length:,} positions")
    yield repr(plan.encoding)
    yield f"trained length: {plan.trained_from}"
    yield from (f"left as it is: {one}" for one in plan.left)
    if plan.bound is not None:
        yield f"least base for this length without a scaling (Men et al. 2024): {plan.bound:,.0f}"
    yield ""
    short = f"changed within {plan.typical:,}"
    headers = ("", "way", "unseen pairs", "beyond", "disturbance", short, "logits", "sum of cosines")
    yield from columns(
        headers, [_row(rank, one) for rank, one in enumerate(plan.candidates, 1)], numbers=(2, 3, 4, 5, 6)
    )
    yield ""
    yield CAPTION
    for one in plan.candidates[:DETAILED]:
        yield ""
        yield Heading(one.candidate.name)
        yield f"  pairs: {'; '.join(map(_band, one.figures.bands))}"
        yield f"  tune: {one.candidate.tune} ({one.candidate.source})"
        yield from (Verbatim(f"  {WHERE.get(engine, engine)}: {text}") for engine, text in one.snippets)
        yield f"  checked: {one.checked}"
    if others := [one.candidate.name for one in plan.candidates[DETAILED:]]:
        yield ""
        yield f"What to write for the other ways ({', '.join(others)}) is in --json, under ways."


def _row(rank: int, one: RankedCandidate) -> tuple[str, ...]:
    numbers = one.figures
    positive = "positive throughout" if numbers.aggregates_to is None else f"negative from {numbers.aggregates_to:,}"
    beyond = f"{numbers.beyond:.2f}" if numbers.unseen else "-"
    figures = (f"{numbers.disturbance:.3g}", f"{numbers.short:.3f}", f"{numbers.attention**2:.3f}")
    return (str(rank), one.candidate.name, str(numbers.unseen), beyond, *figures, positive)


def _band(band: Band) -> str:
    least, most = (f"{slowed:.3g}" for slowed in band.slowed)
    between = least if least == most else f"{least} to {most}"
    by = "as trained" if between == "1" else f"slowed {between} times"
    unseen = f", {band.unseen} at angles never trained" if band.unseen else ""
    return f"{band.pairs} {band.name}{f' {by}' if band.pairs else ''}{unseen}"
