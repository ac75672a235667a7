"""What a comparison runs: contestants × tasks × seeds, at a budget."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from posenc.declared_fields import Declared, Real, Whole
from posenc.lab.experiment import Experiment

NAME = "plan.json"
Count = Annotated[int, Whole(1, 10**9)]


@dataclass(frozen=True)
class Budget(Declared):
    """How much is spent on a run, and how many seeds are run."""

    seeds: Annotated[int, Whole(1, 10_000)]
    steps: Count
    batch: Count = 32
    width: Annotated[int, Whole(1, 1 << 14)] = 64
    layers: Annotated[int, Whole(1, 1 << 10)] = 2
    heads: Annotated[int, Whole(1, 1 << 10)] = 4
    rate: Annotated[float, Real(0.0, 1.0, above=True)] = 2e-3
    encoding_rate: Annotated[float, Real(0.0, 1e4)] = 10.0


#: smoke: seconds, to see that everything works; too few seeds for a verdict. core: minutes on two cores. full: an hour
#: on two cores, or a cluster. big: models of 100 million parameters, for graphics cards.
TIERS = {
    "smoke": Budget(seeds=1, steps=100),
    "core": Budget(seeds=5, steps=500),
    "full": Budget(seeds=8, steps=1500),
    "big": Budget(seeds=3, steps=100_000, batch=64, width=768, layers=12, heads=12, rate=3e-4, encoding_rate=1.0),
}


def save(folder: str | os.PathLike[str], experiments: Sequence[Experiment]) -> None:
    """Write down which runs a folder is to have, beside those that it was to have before."""
    wanted = dict.fromkeys((*load(folder), *experiments))
    path = Path(folder) / NAME
    unfinished = path.with_name(f".{NAME}.part")
    lines = ",\n".join(json.dumps(each.fields(), sort_keys=True) for each in wanted)
    unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    unfinished.replace(path)


def load(folder: str | os.PathLike[str]) -> tuple[Experiment, ...]:
    """The runs that a folder is to have; none where there is no plan."""
    path = Path(folder) / NAME
    if not path.exists():
        return ()
    try:
        return tuple(Experiment(**fields) for fields in json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged: {' '.join(str(error).split())[:200]}. Delete it and compare again: finished runs are "
            "kept."
        ) from None
