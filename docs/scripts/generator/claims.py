"""docs/claims.md: every claim of the sources with its verdict, from the findings that ship with posenc."""

from __future__ import annotations

import textwrap
from statistics import median
from typing import get_args

import numpy as np
from scipy import stats

from generator.text import WIDE, escaped, table
from posenc.lab.claims import claim_catalog, findings
from posenc.lab.claims.claim import Claim, ClaimFinding, Word

WORDS = get_args(Word)

START = """# What the sources claim

The documents that posenc is built on, a lecture, an article, a lesson, notes and a chapter ([the mission](mission.md)
lists them), say what positional encodings do. Each statement that can be checked stands here, in our words, with the
rule by which it is decided, which was fixed before anything was run, and with what came out, also where it speaks
against the sources. Each part of a statement has its own verdict. Some are decided by computation, others by training
small models: those verdicts hold for the models, tasks and budgets named with them, and no further.

`posenc claims NAME --run` checks one again, `posenc claims --run --out claims` all of them. [Add a
claim](add-a-claim.md) says how to add one, from these documents or from any paper.
"""

QUESTIONS = """
The lecture asks the following and claims no answer. The answers are ours; each was tested as a statement is.
"""

TRAINED = """
Each dot is one seed. A part of a claim is supported if the whole interval of the mean lies beyond the margin,
contradicted if it lies before it, and undecided otherwise. It is *not testable* where the runs cannot show it: where
what it presupposes was not shown by the same rule (an encoding that changes nothing within the trained length shows
nothing beyond it), or where all runs are at the ceiling or the floor of their scale. A claim is supported if all of its
parts are, and contradicted if one is. The intervals are Student's at 99.875 %: with at most forty parts, the chance of
any wrong verdict is one in twenty.

All seeds are fresh: rules, margins and budgets were committed before any of these runs was started, and each claim says
what was changed after an earlier run had been seen. The models are small (0.1 to 0.3 million parameters; width 64, 2
layers, 4 heads) and the budgets short; the learning rate is 0.002, and ten times that for the parameters of encodings.
Every run is in `docs/claims_runs/results.parquet` of the repository, with its training curve and its scores; models
whose rotary pairs were changed are in `docs/claims_runs/roles.jsonl`.

![The numbers of every seed, with intervals and margins](images/claims.svg)

**How often this rule errs, simulated.** Of sets of forty numbers whose means equal their margins, normally distributed
over eight seeds, NULL have a wrong verdict anywhere. A number that exceeds its margin by 1, 2 and 3 standard deviations
of its seeds is shown to do so in POWER of cases. Student's interval assumes normal numbers, and eight seeds cannot show
that they are: where a single seed learns late, the interval is too narrow. With numbers drawn anew from the deviations
of the seeds themselves, the share of wrong verdicts on a part, 0.125 % by design, is MEDIAN in the median and
WORST at worst, for *NAME*. So look at the dots too: SIDES of the DECIDED decided parts have all their seeds on the
side of the margin that the verdict says, which equal chances for both sides would give once in 128 parts. Verdicts
cover other seeds, and no other text, size or learning rate.
"""
#: Sets of seeds that are drawn for each simulated figure.
DRAWN = 100_000


def page() -> str:
    """The whole page."""
    filed = findings.read_findings()
    missing = [name for name in claim_catalog.NAMES if name not in filed]
    assert not missing, f"claims without a finding: {missing}; run `posenc claims NAME --run` and keep what it files"
    decided = {name: (claim, filed[name].finding) for name, claim in claim_catalog.CLAIMS.items()}
    trained = {name: decided[name][1] for name in claim_catalog.TRAINED}
    verdicts = [finding.verdict for _, finding in decided.values()]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(sorted(verdicts, key=WORDS.index)))
    rows = (
        (
            f"**{finding.verdict}**",
            f"[{escaped(claim.statement)}](#{name}){_differing(finding)}",
            _sources(claim),
            _way(claim),
        )
        for name, (claim, finding) in decided.items()
        if not claim.question
    )
    answers = (
        (escaped(claim.question), f"**{finding.verdict}**", f"[{escaped(claim.statement)}](#{name})", _sources(claim))
        for name, (claim, finding) in decided.items()
        if claim.question
    )
    parts = [
        f"{WIDE}{START}",
        f"{len(decided)} statements: {counted}.\n",
        table(["verdict", "statement", "said by", "decided by"], rows),
        QUESTIONS,
        table(["question", "verdict", "answer that was tested", "asked by"], answers),
    ]
    for title, names in (
        ("Decided by computation", claim_catalog.COMPUTED),
        ("Decided by training", claim_catalog.TRAINED),
    ):
        parts += [f"\n## {title}", *([_errors(trained)] if names is claim_catalog.TRAINED else [])]
        parts += [_section(name, *decided[name], filed[name].date) for name in names]
    return "\n".join(parts) + "\n"


def _errors(decided: dict[str, ClaimFinding]) -> str:
    """The text on training with simulated shares of wrong verdicts and of shown effects.

    Written without the code that judges, which this checks as well.
    """
    rng, parts = np.random.default_rng(0), 40
    normal = rng.normal(size=(DRAWN, 8))
    wrong = {}
    for claim, finding in decided.items():
        for part, by_seed in finding.runs:
            numbers = np.array([number for _, number in by_seed])
            wrong[claim, part] = _shown(rng.choice(numbers - numbers.mean(), normal.shape), parts, both_sides=True)
    words = {(claim, part): word for claim, finding in decided.items() for part, word in _parts(finding)}
    sides = [
        all(number > margin if word == "supported" else number < margin for _, number in by_seed)
        for claim, finding in decided.items()
        for margin in [dict(finding.figures)["margin"]]
        for part, by_seed in finding.runs
        if (word := words[claim, part]) in ("supported", "contradicted")
    ]
    worst = max(wrong, key=lambda each: wrong[each])
    power = [_shown(normal + shift, parts) for shift in (1, 2, 3)]
    figures = {
        "NULL": f"{1 - (1 - _shown(normal, parts, both_sides=True)) ** parts:.0%}",
        "POWER": f"{power[0]:.0%}, {power[1]:.0%} and {power[2]:.0%}",
        "MEDIAN": f"{median(wrong.values()):.1%}",
        "WORST": f"{wrong[worst]:.0%}",
        "NAME": worst[1],
        "SIDES": "all" if all(sides) else str(sum(sides)),
        "DECIDED": str(len(sides)),
    }
    text = TRAINED
    for name, figure in figures.items():
        text = text.replace(name, figure.replace("%", " %"))
    *before, told = text.split("\n\n")
    return "\n\n".join([*before, textwrap.fill(told, 120, break_on_hyphens=False)]) + "\n"


def _parts(finding: ClaimFinding) -> tuple[tuple[str, str], ...]:
    """Verdict of each part; a claim of one part has that of the claim."""
    return finding.parts or ((finding.runs[0][0], finding.verdict),)


def _shown(numbers: np.ndarray, parts: int, *, both_sides: bool = False) -> float:
    """Share of rows whose Student interval at 1 - 0.05 / `parts` lies above 0, or beside it."""
    count = numbers.shape[1]
    half = stats.t.isf(0.025 / parts, count - 1) * numbers.std(1, ddof=1) / np.sqrt(count)
    means, spread = numbers.mean(1), half > 1e-15
    return float((spread & ((abs(means) if both_sides else means) > half)).mean())


def _sources(claim: Claim) -> str:
    return ", ".join(claim.sources)


def _differing(finding: ClaimFinding) -> str:
    """Parts whose verdicts are not all the same, for the row of their statement."""
    differ = len({word for _, word in finding.parts}) > 1
    return "".join(f"; {escaped(part)}: {word}" for part, word in finding.parts) if differ else ""


def _way(claim: Claim) -> str:
    return "training" if claim.trained else "computation"


def _section(name: str, claim: Claim, finding: ClaimFinding, date: str) -> str:
    figures = [f"- {escaped(figure)}: {number:.6g}" for figure, number in finding.figures]
    of_parts = [f"- {escaped(part)}: **{word}**" for part, word in finding.parts if len(finding.parts) > 1]
    lines = [
        f"\n### {escaped(claim.statement)} {{: #{name} }}\n",
        f"**{finding.verdict.capitalize()}**, {date}. {escaped(finding.note)}\n",
        *([f"Question: {escaped(claim.question)}\n"] if claim.question else []),
        f"Rule: {escaped(claim.rule)}\n",
        *([f"Revised: {escaped(claim.revised)}\n"] if claim.revised else []),
        *([*of_parts, ""] if of_parts else []),
        *figures,
        f"\n`posenc claims {name} --run`",
    ]
    return "\n".join(lines)
