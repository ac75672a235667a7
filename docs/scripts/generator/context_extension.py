"""docs/context-extension.md: every way to a longer context on small trained models, from the results of the command."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from generator.text import WIDE, escaped, table
from posenc.lab.comparison.judge import judge
from posenc.lab.extension_study.study import Extension
from posenc.lab.extension_study.study_summary import StudySummary, summaries

#: What `posenc extend` wrote.
RESULTS = Path(__file__).parents[2] / "context_extension"


#: The rotation of the first runs, and how the planner ranked its ways before them.
FIRST = "RoPE(dim=16)"
OLD_ORDER = ("YaRN", "Llama 3", "linear", "larger base", "as it is", "dynamic")


class Part(NamedTuple):
    """A part of the page. kind: of picture.   said: before the figures."""

    title: str
    picture: str
    kind: str
    said: str


START = """# Ways to a longer context, measured

What does each way to use a rotary model beyond its trained length cost, before and after a little training there?
`posenc extend` trains small models, then changes nothing but their rotation. This page shows what

```sh
posenc extend
```

gives, but for the parts that name a command of their own; the results are in `docs/context_extension`. All runs of this
page took MINUTES minutes of processor time. Other rotations, lengths, budgets and your own text are options (`posenc
extend --help`).

Most ways change the frequencies for every context, also for one within the trained length; `dynamic` has frequencies
of its own for each length, and `searched` one set up to the trained length and one beyond. `searched` is LongRoPE with
divisors found by a small search on the model itself, on training text; `clipped` slows the pairs that made no full
revolution in training to a standstill, little by little, `slow pairs stopped` (p-RoPE) all of them at once, and `no
positions` is DroPE: the rotation is left out. `NTKAware` is the planner's larger base. ReRoPE is missing: it reads a
key at two positions at once, which no rotation of queries and keys does.
"""
LOSS = """The last 16 tokens of each text are read with more and more before them. If a longer context
helped, the loss at its end would be below that at the trained length, which is what a cut text gives. Here it never is:
models as small as these gain nothing from text so far back, so what is measured is how much each way loses."""
NEEDLE = """A fact stands somewhere in a text of fillers, and an older value of it somewhere before: the later one is
right. The models are encoders, which know no order without positions: at best they guess which of the two is later,
and are right in half of the texts. (A decoder's mask tells order, so this would say little of it: one that was trained
without any encoding, at a rate of 0.006, was right in 99.6 % of the texts.) Nothing was tuned (`posenc extend --task
needle --tuning 0`)."""
OTHER = """The planner's new rule, below, was made after the first of the runs above. This is its test: another base,
twice the length, and a rule that was fixed before anything of this part was trained. Nothing was tuned
(`posenc extend --task character-lm --encoding "RoPE(dim=16, base=500.0)" --length 512 --tuning 0`)."""
PARTS = (
    Part("Loss", "context_extension_loss.svg", "lines of loss by length", LOSS),
    Part("A fact to find", "context_extension_needle.png", "heat maps of length and depth", NEEDLE),
    Part("Loss, with another base", "context_extension_other.svg", "lines of loss by length", OTHER),
)
END = """
## What the planner made of it

[The planner](planning.md) ranked ways without unseen angles first, and those whose frequencies follow the length last.
These runs showed otherwise: of its ways, linear interpolation, which leaves no angle unseen, did worst, about as badly
as no change, because it slows the pairs that tell neighbours apart, and `dynamic` was among the best. So it now ranks
by *disturbance*: how much those pairs are slowed, and how much farther than in training the slower ones go. The rule
has no fitted number. For the fact that was updated, which asks for the order of two far tokens and not for neighbours,
linear interpolation is among the best, and better than a larger base, which the rule has the other way round. The old
one had OLD of the first part, as trained, the other way round.
"""


def found() -> tuple[StudySummary, ...]:
    """All results on file, in the order of the parts."""
    read = [Extension.from_json(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    by_seed = sorted(read, key=lambda each: each.study.experiment.seed)
    return tuple(sorted(summaries(by_seed), key=lambda each: (each.study.experiment.encoding != FIRST, each.finds)))


def page() -> str:
    """The whole page."""
    results = found()
    seconds = sum(each.seconds for summary in results for each in summary.extensions)
    start = START.replace("MINUTES", f"{seconds / 60:.0f}")
    parts = [_part(*each) for each in zip(PARTS, results, strict=True)]
    return "\n".join([WIDE + start, *parts, END.lstrip("\n").replace("OLD", _contrary(results[0]))])


def _contrary(summary: StudySummary) -> str:
    """How many decided pairs the rule before had the other way round, of how many."""
    verdicts = judge({way: summary.scores(0, summary.study.length)[way] for way in OLD_ORDER}, higher_is_better=False)
    contrary, decided = (
        sum(flags) for flags in zip(*((v.better == v.second, v.decided) for v in verdicts), strict=True)
    )
    return f"{contrary} of the {decided} decided pairs"


def _part(part: Part, summary: StudySummary) -> str:
    headers, rows, _ = summary.table()
    lines = [
        f"## {part.title}\n",
        f"{part.said}\n",
        f"{escaped(summary.conditions())}. Means and 95 % Student-t intervals:\n",
        table(list(map(escaped, headers)), rows),
        f"\n![{part.kind}, for each way](images/{part.picture})\n",
        *(f"- {escaped(said)}" for steps in summary.tunings for said in _verdicts(summary, steps)),
        "",
    ]
    return "\n".join(lines)


def _verdicts(summary: StudySummary, steps: int) -> tuple[str, str]:
    return summary.sentence(steps), summary.plan_checked(steps)
