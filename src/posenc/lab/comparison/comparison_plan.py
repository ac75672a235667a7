"""Plans of comparisons: encodings × tasks × seeds, at a budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from posenc import (
    FIRE,
    ALiBi,
    CoPE,
    FoPE,
    KerpleLog,
    Learned,
    LearnedRoPE,
    LearnedScale,
    NoPE,
    Partial,
    PoPE,
    RoPE,
    Sandwich,
    Shaw,
    Sinusoidal,
    Sum,
    T5Bias,
    TransformerXL,
    XPos,
)
from posenc.core import validation
from posenc.core.declared_fields import Declared, Whole
from posenc.core.doors import Encoding
from posenc.core.text_lines import short
from posenc.lab import encodings as read_encodings
from posenc.lab.comparison.rate_sweep import FIRST_PILOT, RateSweep
from posenc.lab.experiment import Experiment
from posenc.lab.models.model_folder import OWN, head_dim_of_folder, model_folder, rotates_itself
from posenc.lab.result import Result
from posenc.lab.tasks.corpus import text_options
from posenc.lab.tasks.language import CharacterLM, SubwordLM
from posenc.lab.tasks.task_table import TASKS, experiment, task_of, task_row

TierName = Literal["smoke", "core", "full", "table", "big"]


def for_transformers_model(
    width: int, heads: int, head_dim: int, length: int, *, causal: bool, rotates: bool
) -> tuple[Encoding, ...]:
    """Encodings of `six` for a model of transformers, without RoPE where the model rotates by itself."""
    every = six(width, heads, length, causal=causal)
    return tuple(
        RoPE(dim=head_dim, pairing="halves") if isinstance(each, RoPE) else each
        for each in every
        if not (rotates and isinstance(each, RoPE))
    )


def three(width: int, heads: int) -> tuple[Encoding, ...]:
    """Encodings of the smoke tier: no positions (NoPE), rotary and ALiBi."""
    return NoPE(dim=width), RoPE(dim=width // heads), ALiBi(heads=heads)


def six(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """NoPE, sinusoidal, learned, rotary, ALiBi and T5. The learned table has `length` rows, the last used beyond."""
    return (
        NoPE(dim=width),
        Sinusoidal(dim=width),
        Learned(dim=width, length=length, outside="clamp"),
        RoPE(dim=width // heads),
        ALiBi(heads=heads),
        T5Bias(heads=heads, bidirectional=not causal),
    )


def many(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """Encodings of the full tier: `six`, more biases, XPos if causal, RoPE of other bases, partial RoPE and hybrids."""
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


def twenty(width: int, heads: int, length: int, *, causal: bool) -> tuple[Encoding, ...]:
    """Encodings of the table tier: the ten of `FIRST_BLOCK`, which most papers compare, then ten more of every door."""
    head, sinusoidal = width // heads, Sinusoidal(dim=width)
    return (
        *six(width, heads, length, causal=causal),
        KerpleLog(heads=heads),
        FIRE(heads=heads),
        Partial(RoPE(dim=head // 4 * 2), head),
        Shaw(dim=head, clip=16),
        RoPE(dim=head, base=100.0),
        RoPE(dim=head, base=1e6),
        LearnedRoPE(dim=head),
        FoPE(dim=head, heads=heads, length=length),
        PoPE(dim=head, heads=heads),
        Sandwich(heads=heads),
        TransformerXL(dim=head, heads=heads, model_dim=width),
        CoPE(dim=head),
        LearnedScale(sinusoidal),
        Sum((sinusoidal, Learned(dim=width, length=length, outside="clamp"))),
    )


@dataclass(frozen=True)
class Tier(Declared):
    """Budget of a comparison: defaults for what the options do not state.

    Args:
        seeds: Of each encoding and task.
        most_steps: Of training, for the tier's own tasks.
        tasks: Names of tasks.
        model: Changes of the experiments' fields.
        rates: Learning rates of which each encoding gets the best; that of the model where there are none.
    """

    seeds: Annotated[int, Whole(1, 10_000)]
    most_steps: Annotated[int, Whole(1, 10**9)]
    tasks: tuple[str, ...]
    model: tuple[tuple[str, float], ...] = ()
    rates: tuple[float, ...] = ()


#: Tasks whose data has to be fetched first: they are run where they are named.
DOWNLOADS = ("wmt14",)
#: smoke: half a minute, to see that everything works; too few seeds for a verdict. core: a quarter of an hour on two
#: cores. full: hours on two cores, minutes on a cluster. table: twenty encodings at the best of three rates, the first
#: six tasks with the first ten encodings before all others. big: models of 100 million parameters.
TIERS: Mapping[TierName, Tier] = {
    "smoke": Tier(1, 100, ("fixed-offset", "cued-offset")),
    "core": Tier(5, 500, ("fixed-offset", "cued-offset", "absolute-index", "last", "character-lm")),
    "full": Tier(8, 10**9, tuple(row.name for row in TASKS if row.name not in DOWNLOADS)),
    "table": Tier(
        5,
        1000,
        (
            *("fixed-offset", "absolute-index", "last", "cued-offset", "copy", "character-lm"),
            *("first", "flip-flop", "selective-copy", "needle"),
        ),
        rates=(7e-4, 2e-3, 6e-3),
    ),
    "big": Tier(
        5, 10**9, ("bpe-lm",), (("width", 768), ("layers", 12), ("heads", 12), ("steps", 100_000), ("rate", 3e-4))
    ),
}
#: Encodings and tasks of the table that are done before all others.
FIRST_BLOCK = (10, 6)
#: The parameters of an encoding learn at this multiple of the model's rate: at 1, small tables hardly move in a short
#: training, and the comparison would measure the rate.
ENCODING_RATE = 10.0


def plan_comparison(
    encodings: Sequence[str],
    tasks: Sequence[str],
    tier: TierName,
    *,
    seeds: int | None = None,
    first_seed: int = 0,
    encoding_rates: Sequence[float] = (ENCODING_RATE,),
    changes: Mapping[str, Any],
    tokenizer: str = "",
) -> tuple[Experiment, ...]:
    """Plan the runs seed by seed, so that a comparison stopped midway still has pairs of encodings with equal seeds.

    Args:
        encodings: Texts; those of the tier where none are named.
        tasks: Names; those of the tier where none are named.
        tier: The budget.
        seeds: How many; those of the tier where None.
        first_seed: The first of them.
        encoding_rates: Each is run for encodings that learn.
        changes: Fields of `Experiment` that the options state.
        tokenizer: A folder with a tokenizer for tasks of pieces.

    Returns:
        The runs.

    Raises:
        ValueError: An encoding cannot be read or does not fit the model, or a task is unknown.
    """
    chosen = TIERS[tier]
    first_seed = validation.integer("first_seed", first_seed, 0, FIRST_PILOT - 10_000)
    one_seed: list[Experiment] = []
    for task in dict.fromkeys(tasks or chosen.tasks):
        steps = task_row(task).steps
        capped = {} if tasks and tier not in ("smoke", "table") else {"steps": min(steps, chosen.most_steps)}
        fields = {**capped, **dict(chosen.model), **changes}
        if issubclass(task_row(task).kind, CharacterLM):  # the text of another Python is another task
            fields.setdefault("options", text_options(""))
        if tokenizer and issubclass(task_row(task).kind, SubwordLM):
            fields["options"] = (*fields.get("options", ()), ("tokenizer", tokenizer))
        blank = experiment("NoPE(dim=1)", task, **fields)
        for encoding in dict.fromkeys(encodings or _usual(tier, blank)):
            rates = tuple(dict.fromkeys(encoding_rates)) if _learns(encoding, blank) else (1.0,)
            one_seed += [dataclasses.replace(blank, encoding=encoding, encoding_rate=rate) for rate in rates]
    count = chosen.seeds if seeds is None else seeds
    seeds_of_all = range(first_seed, first_seed + count)
    return tuple(dataclasses.replace(each, seed=seed) for seed in seeds_of_all for each in one_seed)


def parts(runs: Sequence[Experiment], tier: TierName) -> tuple[tuple[Experiment, ...], ...]:
    """Cut runs into parts that are finished one after the other.

    Args:
        runs: Planned.
        tier: Whose order is kept.

    Returns:
        All runs as one part; for the table a part for each task, those of its first block first.
    """
    if tier != "table":
        return (tuple(runs),)
    encodings, tasks = FIRST_BLOCK
    places: dict[str, list[str]] = {}
    for run in runs:
        own = places.setdefault(run.task, [])
        if run.encoding not in own:
            own.append(run.encoding)
    order = list(places)
    found: dict[tuple[bool, int], list[Experiment]] = {}
    for run in runs:
        task, encoding = order.index(run.task), places[run.task].index(run.encoding)
        found.setdefault((task >= tasks or encoding >= encodings, task), []).append(run)
    return tuple(tuple(found[place]) for place in sorted(found))


def stages(
    runs: Sequence[Experiment], tier: TierName, sweep: RateSweep | None, results: Mapping[str, Result]
) -> Iterator[tuple[Experiment, ...]]:
    """Runs in the order in which they are done: of each part the pilots, then those that are judged.

    Args:
        runs: Planned.
        tier: Whose order is kept.
        sweep: How learning rates are chosen.
        results: Those that there are, by identity; looked at when the pilots of a part are done.

    Yields:
        Runs that may be done at the same time.
    """
    for part in parts(runs, tier):
        if sweep is None:
            yield part
        else:
            yield sweep.pilot_runs(part)
            yield sweep.at_best_rates(part, results, all_tried=True)


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
    chosen = {"full": many, "table": twenty}.get(tier, six)
    return tuple(map(short, chosen(blank.width, blank.heads, rows, causal=blank.causal)))


def _learns(encoding: str, blank: Experiment) -> bool:
    """Whether an encoding has parameters."""
    if encoding == OWN and model_folder(blank.model) is not None:
        return False
    read = read_encodings.read_encodings(encoding, width=blank.width, heads=blank.heads, layers=blank.layers)
    return any(record.shapes for record in read.encodings)
