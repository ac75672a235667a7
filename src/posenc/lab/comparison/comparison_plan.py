"""Plans of comparisons: encodings × tasks × seeds, at a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from posenc import (
    FIRE,
    ALiBi,
    KerpleLog,
    Learned,
    LearnedScale,
    NoPE,
    Partial,
    RoPE,
    Sinusoidal,
    Sum,
    T5Bias,
    XPos,
)
from posenc.core.declared_fields import Declared, Whole
from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.lab import encodings as read_encodings
from posenc.lab.experiment import Experiment
from posenc.lab.models.model_folder import OWN, head_dim_of_folder, model_folder, rotates_itself
from posenc.lab.tasks.language import SubwordLM
from posenc.lab.tasks.task_table import TASKS, experiment, task_of, task_row

TierName = Literal["smoke", "core", "full", "big"]


def for_transformers_model(
    width: int, heads: int, head_dim: int, length: int, *, causal: bool, rotates: bool
) -> tuple[Encoding, ...]:
    """The six for a model of transformers, without rotary where its own positions are that."""
    every = six(width, heads, length, causal=causal)
    return tuple(
        RoPE(dim=head_dim, pairing="halves") if isinstance(each, RoPE) else each
        for each in every
        if not (rotates and isinstance(each, RoPE))
    )


def three(width: int, heads: int) -> tuple[Encoding, ...]:
    """None, rotary and ALiBi."""
    return NoPE(dim=width), RoPE(dim=width // heads), ALiBi(heads=heads)


def six(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """None, sinusoidal, learned, rotary, ALiBi and T5. The learned table has `length` rows, the last used beyond."""
    return (
        NoPE(dim=width),
        Sinusoidal(dim=width),
        Learned(dim=width, length=length, outside="clamp"),
        RoPE(dim=width // heads),
        ALiBi(heads=heads),
        T5Bias(heads=heads, bidirectional=not causal),
    )


def many(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """The six, further biases, rotations of other bases and of half the channels, and hybrids."""
    head, sinusoidal = width // heads, Sinusoidal(dim=width)
    return (
        *six(width, heads, length, causal=causal),
        KerpleLog(heads=heads),
        FIRE(heads=heads),
        *((XPos(dim=head),) if causal else ()),
        RoPE(dim=head, base=100.0),
        RoPE(dim=head, base=1e6),
        Partial(RoPE(dim=head // 4 * 2), head),
        LearnedScale(sinusoidal),
        Sum((sinusoidal, Learned(dim=width, length=length, outside="clamp"))),
    )


@dataclass(frozen=True)
class Tier(Declared):
    """Budget of a comparison where the options leave it open.

    Args:
        seeds: Of each encoding and task.
        most_steps: Of training, for the tier's own tasks.
        tasks: Names of tasks.
        model: Changes of the experiments' fields.
    """

    seeds: Annotated[int, Whole(1, 10_000)]
    most_steps: Annotated[int, Whole(1, 10**9)]
    tasks: tuple[str, ...]
    model: tuple[tuple[str, float], ...] = ()


#: Tasks whose data has to be fetched first: they are run where they are named.
DOWNLOADS = ("wmt14",)
#: smoke: half a minute, to see that everything works; too few seeds for a verdict. core: a quarter of an hour on two
#: cores. full: hours on two cores, minutes on a cluster. big: models of 100 million parameters.
TIERS: Mapping[TierName, Tier] = {
    "smoke": Tier(1, 100, ("fixed-offset", "cued-offset")),
    "core": Tier(5, 500, ("fixed-offset", "cued-offset", "absolute-index", "last", "character-lm")),
    "full": Tier(8, 10**9, tuple(row.name for row in TASKS if row.name not in DOWNLOADS)),
    "big": Tier(
        5, 10**9, ("bpe-lm",), (("width", 768), ("layers", 12), ("heads", 12), ("steps", 100_000), ("rate", 3e-4))
    ),
}
#: The parameters of an encoding learn at this multiple of the model's rate: at 1, small tables hardly move in a short
#: training, and the comparison would measure the rate.
ENCODING_RATE = 10.0


def plan_comparison(
    encodings: Sequence[str],
    tasks: Sequence[str],
    tier: TierName,
    *,
    seeds: int | None = None,
    encoding_rates: Sequence[float] = (ENCODING_RATE,),
    changes: Mapping[str, Any],
    tokenizer: str = "",
) -> tuple[Experiment, ...]:
    """Plan the runs, those of the first seed first, so that a comparison that is stopped has whole pairs.

    Args:
        encodings: Texts; those of the tier where none are named.
        tasks: Names; those of the tier where none are named.
        tier: The budget.
        seeds: How many; those of the tier where None.
        encoding_rates: Each is run for encodings that learn.
        changes: Fields of `Experiment` that the options state.
        tokenizer: A folder with a tokenizer for tasks of pieces.

    Returns:
        The runs.

    Raises:
        ValueError: An encoding cannot be read or does not fit the model, or a task is unknown.
    """
    chosen = TIERS[tier]
    one_seed: list[Experiment] = []
    for task in dict.fromkeys(tasks or chosen.tasks):
        steps = task_row(task).steps
        capped = {} if tasks and tier != "smoke" else {"steps": min(steps, chosen.most_steps)}
        fields = {**capped, **dict(chosen.model), **changes}
        if tokenizer and issubclass(task_row(task).kind, SubwordLM):
            fields["options"] = (*fields.get("options", ()), ("tokenizer", tokenizer))
        blank = experiment("NoPE(dim=1)", task, **fields)
        for encoding in dict.fromkeys(encodings or _usual(tier, blank)):
            rates = tuple(dict.fromkeys(encoding_rates)) if _learns(encoding, blank) else (1.0,)
            one_seed += [dataclasses.replace(blank, encoding=encoding, encoding_rate=rate) for rate in rates]
    count = chosen.seeds if seeds is None else seeds
    return tuple(dataclasses.replace(each, seed=seed) for seed in range(count) for each in one_seed)


def check(experiments: Sequence[Experiment], device: str = "cpu") -> None:
    """Build a model for each encoding, task and rate, to see that all of them can be run.

    Args:
        experiments: The runs.
        device: Of PyTorch.

    Raises:
        ValueError: An encoding does not fit its task, model or lengths, or the device is not there.
    """
    from posenc.lab.trial import prepare

    for each in dict.fromkeys(dataclasses.replace(one, seed=0) for one in experiments):
        prepare(each, device)


def _usual(tier: TierName, blank: Experiment) -> tuple[str, ...]:
    """Encodings of a tier for a model of this size.

    For a model of transformers, they are its own positions and the six.
    """
    rows, folder = task_of(blank).tokens_at(blank.length), model_folder(blank.model)
    if folder is not None:
        channels, rotates = head_dim_of_folder(folder.path), rotates_itself(folder.path)
        others = for_transformers_model(blank.width, blank.heads, channels, rows, causal=blank.causal, rotates=rotates)
        return (OWN, *map(short, others))
    if tier == "smoke":
        return tuple(map(short, three(blank.width, blank.heads)))
    chosen = many if tier == "full" else six
    return tuple(map(short, chosen(blank.width, blank.heads, rows, causal=blank.causal)))


def _learns(encoding: str, blank: Experiment) -> bool:
    """Whether an encoding has parameters."""
    if encoding == OWN and model_folder(blank.model) is not None:
        return False
    read = read_encodings.read_encodings(encoding, width=blank.width, heads=blank.heads, layers=blank.layers)
    return any(record.shapes for record in read.encodings)
