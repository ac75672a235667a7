"""What a training step of the lab's model needs at once with each encoding, and the same model in plain PyTorch.

PyTorch reports every block that it takes and gives back, so the peak is exact, whatever else the machine does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from lab_cost.lab_models import LARGE, LARGE_BATCH, NOTHING, OURS, PLAIN, SMALL, SMALL_BATCH, WRITTEN, at, fitted
from library_cost.catalog import places
from measuring.plain_model import step, twin
from torch.profiler import ProfilerActivity, profile, record_function

import posenc
from posenc import NoPE
from posenc.core.doors import Encoding
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import Transformer

MIB, MARK = 2**20, "the second step"


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    rows = [row for row in posenc.CATALOG if row.name in WRITTEN]
    cases = [case_of(row.name, fitted(row, SMALL), SMALL, SMALL_BATCH) for row in posenc.CATALOG]
    return [*cases, *(case_of(row.name, fitted(row, LARGE), LARGE, LARGE_BATCH) for row in rows)]


def case_of(name: str, encoding: Encoding, shape: Shape, size: tuple[int, int]) -> dict[str, Any]:
    rng = torch.Generator().manual_seed(0)
    tokens, targets = torch.randint(0, shape.vocabulary, (2, *size), generator=rng)
    case = {"case": f"{name}, {shape.width} channels, {size[0]} × {size[1]} tokens", "encoding": repr(encoding)}
    nothing = NoPE(dim=shape.width)
    positions = None if encoding.axes == 1 else torch.from_numpy(places(encoding, size[1]))
    try:
        model = Transformer(shape, [encoding], seed=0)
        ours = peak(step(at(model, positions), tokens, targets))
    except (ValueError, TypeError, RuntimeError) as error:
        return {**case, "values": {}, "left out": {OURS: " ".join(str(error).split())[:200]}}
    bare = twin(Transformer(shape, [nothing], seed=0), nothing, size[1])
    written = twin(model, encoding, size[1]) if positions is None else None
    models = {NOTHING: bare, PLAIN: written}
    values = {each: peak(step(plain, tokens, targets)) for each, plain in models.items() if plain is not None}
    sizes = {f"{each}, MiB": round(most / MIB, 2) for each, most in {**values, OURS: ours}.items()}
    ratios = {f"{OURS} / {each}": round(ours / most, 3) for each, most in values.items()}
    return {**case, "values": sizes | ratios, "left out": {}}


def peak(run: Callable[[], None]) -> int:
    """The most bytes that PyTorch holds during a run beyond those before it. The first run, which makes gradients, the
    optimizer's state and whatever is kept, is watched too, so that what the second gives back is known, but does not
    count."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        run()
        with record_function(MARK):
            run()
    events = sorted(profiled.profiler.kineto_results.events(), key=lambda each: each.start_ns())
    begin = next(each.start_ns() for each in events if each.name() == MARK)
    held = before = most = 0
    for event in (each for each in events if each.name() == "[memory]"):
        held += event.nbytes()
        if event.start_ns() < begin:
            before = most = held
        most = max(most, held)
    return most - before
