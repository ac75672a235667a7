"""The tour's last stages: how the models trained, what they do at positions they never saw, what they write."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Sequence

from posenc.encodings.adds.learned import Learned
from posenc.explorer.report import Report, Section
from posenc.explorer.tour_text import Reading
from posenc.explorer.tour_words import LEAST, at, change, lengths, verdict
from posenc.inspect._text import short
from posenc.lab.data import seeds
from posenc.lab.run_config import Outcome, Recipe


def results(report: Report, outcomes: Sequence[Outcome], recipe: Recipe, reading: Reading) -> None:
    """All that the finished models show."""
    trained(report.section("Small models that differ in nothing else"), outcomes, recipe)
    by_position(report.section("Beyond the length they trained on"), outcomes, recipe)
    did(report.section("What each encoding did"), outcomes, recipe)
    samples(report.section("What they write"), outcomes, recipe, reading)


def trained(section: Section, outcomes: Sequence[Outcome], recipe: Recipe) -> None:
    from posenc.plot import curves

    section.text(
        f"Each model is the same decoder: {recipe.layers} layers, {recipe.width} channels, {recipe.heads} heads, "
        f"{min(outcome.parameters - outcome.learned for outcome in outcomes):,} parameters that all of them share, "
        f"drawn from the same seed. Each reads the same {recipe.steps} batches of {recipe.batch} windows of "
        f"{recipe.length} tokens in the same order, and learns to predict the next token. Only the encoding differs."
    )
    rows = [
        [
            o.contestant.name,
            short(o.contestant.encoding),
            o.contestant.encoding.door,
            f"{o.learned:,} numbers" if o.learned else "nothing",
            _pace(o),
            f"{o.curve[-1].loss:.3f}",
        ]
        for o in outcomes
    ]
    section.table(
        ["encoding", "record", "door", "it learns", "at a rate of", "last training loss"],
        rows,
    )
    named = {o.contestant.name: ([p.step for p in o.curve], [p.loss for p in o.curve]) for o in outcomes}
    section.figure(
        curves(
            named, x="step", y="training loss (nats a token)", title="Learning to predict the next token", linewidth=1.2
        ),
        alt="Training loss against step, a curve for each encoding.",
        caption=(
            "Lower is better. A nat is a factor of e: a loss lower by 0.1 gives the right token about 10% more "
            "probability. All models begin with the same weights and read the same batches. Vectors that are added to "
            "the embeddings change even the first loss, so curves may begin apart; where one leaves the others, the "
            "encoding made the difference."
        ),
    )


def by_position(section: Section, outcomes: Sequence[Outcome], recipe: Recipe) -> None:
    from posenc.plot import curves

    block = recipe.longest // recipe.bins
    windows = len(outcomes[0].losses)
    section.text(
        "Now the models read held-out text at positions they never saw. To be fair, the target tokens stay the same: "
        f"the last {block} tokens of each of {windows} windows ({block * windows:,} tokens). Only the text before "
        f"them grows, from nothing to {recipe.longest} tokens, and pushes them to later positions. Up to "
        f"{recipe.length} is what training showed; beyond is new. "
        "More text to look back on should help, or at least not hurt."
    )
    ends = [block * (index + 1) for index in range(recipe.bins)]
    marks = {f"{length // recipe.length}× training": float(length) for length in lengths(recipe)}
    axes = curves(
        {o.contestant.name: (ends, o.losses.mean(0).tolist()) for o in outcomes},
        x="position of the last target token (tokens of context)",
        y="loss of the same tokens (nats)",
        title="The same tokens, later in the sequence",
        marks=marks,
        marker=".",
    )
    axes.set_xlim(0, 1.2 * recipe.longest)  # room for the name of the last mark
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize="small")  # where no curve is
    section.figure(
        axes,
        alt="Loss of the same held-out tokens against the length of their context, a curve for each encoding.",
        caption=(
            "Flat or falling beyond the first mark: the encoding carries on where training stopped. Rising: "
            "it does not."
        ),
    )
    named = lengths(recipe)
    section.table(
        [
            "encoding",
            *(f"{length} tokens ({length // recipe.length}×)" for length in named),
            *(f"change at {n // recipe.length}×" for n in named[1:]),
        ],
        [
            [
                o.contestant.name,
                *(f"{at(o, n, recipe).mean():.3f}" for n in named),
                *(str(change(at(o, n, recipe), at(o, named[0], recipe))) for n in named[1:]),
            ]
            for o in outcomes
        ],
        caption="Mean loss of the same target tokens, nats a token. ± is twice the standard error over the windows.",
    )
    hidden = section.details(f"All {recipe.bins} contexts")
    hidden.table(
        ["context", *(o.contestant.name for o in outcomes)],
        [[end, *(f"{o.losses[:, index].mean():.3f}" for o in outcomes)] for index, end in enumerate(ends)],
    )


def did(section: Section, outcomes: Sequence[Outcome], recipe: Recipe) -> None:
    section.text(
        "Each verdict is decided by the numbers in it: a difference of nats a token counts when it is more than "
        f"{LEAST:g} and more than twice its standard error over the windows (the ±)."
    )
    section.bullets(f"{o.contestant.name}: {verdict(o, outcomes, recipe)}" for o in outcomes)


def samples(section: Section, outcomes: Sequence[Outcome], recipe: Recipe, reading: Reading) -> None:
    prompt = reading.corpus.held_out[: recipe.length // 4].tolist()
    inside = recipe.length - len(prompt)
    section.text(
        f"Every model continues the same beginning, with the same random draws (temperature {recipe.temperature:g}). "
        f"At ⟦{recipe.length}⟧ the text gets longer than any in training. Do not expect sense from so small a model: "
        "look at whether the text changes its nature there."
    )
    section.code(reading.shown(prompt).strip("\n"))
    for outcome in outcomes:
        tokens = list(outcome.sample)
        beyond = f"⟦{recipe.length}⟧{reading.shown(tokens[inside:])}" if len(tokens) > inside else ""
        section.heading(outcome.contestant.name)
        section.code(_wrapped(reading.shown(tokens[:inside]) + beyond))


def conditions(report: Report, outcomes: Sequence[Outcome], recipe: Recipe, reading: Reading) -> None:
    """What the numbers depend on, so that nobody takes them for more than they are."""
    section = report.section("How far to trust this")
    paces = [f"{o.contestant.name} {_pace(o)}" for o in outcomes if o.learned]
    tables = [o for o in outcomes if isinstance(o.contestant.encoding, Learned)]
    policy = [
        f"outside={o.contestant.encoding.outside!r}" for o in tables if isinstance(o.contestant.encoding, Learned)
    ]
    section.bullets(
        [
            f"One seed ({recipe.seed}). Another seed moves every loss by some hundredths; the ± above is the spread "
            "over held-out text, and knows nothing of that. Differences of a few hundredths are not settled by this "
            f"page: it calls nothing below {LEAST:g} a difference.",
            f"{recipe.steps} steps of {recipe.batch * recipe.length:,} tokens, "
            f"{recipe.steps * recipe.batch * recipe.length / len(reading.corpus.train):.1f} times through the "
            "training text (so the training loss falls below that of the held-out text). Orderings can change with "
            "budget: what learns fastest is not always best in the end, and a model without an encoding catches up "
            "late.",
            f"AdamW (0.9, 0.98), peak learning rate {recipe.rate:g} after {recipe.warmup} steps, cosine to a tenth, "
            "gradients clipped at norm 1, no dropout; one rate for all, tuned for none.",
            *(
                [
                    f"The encoding's own parameters have their own learning rate: {', '.join(paces)}. This is the "
                    "largest hidden choice of such a comparison: a T5 bias that learns at the model's rate hardly "
                    "moves in so few steps and looks like no encoding."
                ]
                if paces
                else []
            ),
            *(
                [
                    "A learned table has no rows beyond its length. What happens there is a policy, here "
                    f"{policy[0]}; the library's default is an error."
                ]
                if policy
                else []
            ),
            "A decoder: its causal mask tells order even without an encoding. "
            "In an encoder, “none” would be a bag of words.",
            f"{seeds(recipe.seed)}; Python {platform.python_version()}; {sum(o.seconds for o in outcomes):.0f} "
            f"seconds of processor time for {len(outcomes)} models. "
            "The same command on the same machine gives the same numbers.",
        ]
    )
    section.text(
        "To see how firm a difference is, repeat the tour with another seed, then with more steps, or with a text of "
        "your own:"
    )
    section.code("posenc tour --seed 1\nposenc tour --steps 3000\nposenc tour --text my-book.txt")


def _wrapped(text: str) -> str:
    """Long lines cut between words, so that nothing has to be scrolled."""
    lines = (
        textwrap.wrap(line, 96, drop_whitespace=False, replace_whitespace=False) or [""] for line in text.split("\n")
    )
    return "\n".join(part for line in lines for part in line)


def _pace(outcome: Outcome) -> str:
    if not outcome.learned:
        return "–"
    return f"{outcome.contestant.pace:g}× the model's"
