"""Speed of learning: rotary and sinusoidal."""

from __future__ import annotations

from posenc.lab.claims.judging import gain, trained
from posenc.lab.claims.recipes import EIGHT, ROTARY, SINUSOIDAL, runs
from posenc.lab.result import Result
from posenc.lab.statistics.learning_curves import area_under


def area(result: Result) -> float:
    return area_under([(point.step, point.loss) for point in result.curve])


CLAIM = trained(
    statement="Rotary encoding converges faster than sinusoidal.",
    sources=("article",),
    rule="the mean training loss over all steps with sinusoidal minus that with rotary exceeds 0.02 nats.",
    experiments=runs("character-lm", (SINUSOIDAL, ROTARY), EIGHT),
    numbers={"sinusoidal - rotary, nats": gain(SINUSOIDAL, ROTARY, area)},
    margin=0.02,
    note="Mean training loss over all steps, sinusoidal minus rotary: what rotary saves while it learns.",
)
