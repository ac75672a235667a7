"""Claims on what the frequencies of a trained model are for."""

from __future__ import annotations

from posenc.lab.claims.judging import FRESH, NONE, ROTARY, ClaimPart, helps_in_range, runs, trained
from posenc.lab.claims.quantities import HalfCost
from posenc.lab.frequency_roles.roles import RolesStudy

HELPS = (helps_in_range("rotary", ROTARY),)

early_pairs_serve_position_later_ones_meaning = trained(
    statement="Early dimensions serve position, later ones meaning.",
    sources=("article",),
    rule=(
        "the rotary pairs of the trained model are changed, the faster half or the slower. Stopped, pairs rotate by "
        "zero, and their position is gone; averaged, they are the same for all tokens before they rotate, and their "
        "content is gone. Four numbers exceed 0.02 nats of held-out loss: what stopping the faster half costs; how "
        "much more that is than stopping the slower; what averaging the slower half costs; how much more that is than "
        "averaging the faster."
    ),
    experiments=runs("character-lm", (NONE, ROTARY), FRESH),
    studies=tuple(RolesStudy(each) for each in runs("character-lm", (ROTARY,), FRESH)),
    parts={
        "early ones serve position": ClaimPart(HalfCost("stopped", 0), HELPS),
        "position lies in early ones more than in later": ClaimPart(HalfCost("stopped", 0, than_other=True), HELPS),
        "later ones serve meaning": ClaimPart(HalfCost("averaged", 1), HELPS),
        "meaning lies in later ones more than in early": ClaimPart(HalfCost("averaged", 1, than_other=True), HELPS),
    },
    margin=0.02,
    note=(
        "Nats of held-out loss that a change of four of eight pairs costs, in all layers and heads. A change also puts "
        "the model off balance, so costs tell what it uses, not how little it could do without."
    ),
    revised="A run with seed 0 had been seen when the rule was set; no seed of it is used.",
)
