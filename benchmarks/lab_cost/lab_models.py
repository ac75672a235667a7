"""The lab's model and the same model written plainly in PyTorch: a training step with each encoding that one writes
in a few lines, with tables made once and SDPA.

The logits of both are compared first. `lab_catalog` has every encoding of the
catalog compared with the plain model without positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from library_cost.catalog import places, with_sizes
from measuring.measure import distance, ratios
from measuring.plain_model import step, twin

import posenc
from posenc import (
    DAPE,
    ALiBi,
    AxialLearned,
    DAPEv2,
    FactorisedLearned,
    GatedBias,
    GridLearned,
    GridSinusoidal,
    Learned,
    LongRoPE,
    NoPE,
    RandomFourierFeatures,
    RoPE,
    Sinusoidal,
    SphericalRoPE,
    T5Bias,
    XDRoPE,
    axial,
)
from posenc.catalog import Row
from posenc.compose import Backward, LearnedScale, Scaled, Sum
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import Transformer

SMALL, SMALL_BATCH = Shape(vocabulary=64, width=64, heads=4, layers=2), (32, 64)
LARGE, LARGE_BATCH = Shape(vocabulary=512, width=256, heads=8, layers=4), (2, 256)
ROUNDS = 5
NOTHING, PLAIN, OURS = "plain PyTorch without positions", "plain PyTorch with this encoding", "posenc lab"
#: Encodings whose fields do not say the width of the model by the names that others have.
FITTED: dict[str, Encoding] = {
    "GridSinusoidal": GridSinusoidal(dims=(32, 32)),
    "AxialLearned": AxialLearned(shape=(8, 8), dims=(32, 32)),
    "GridLearned": GridLearned(dim=64, sizes=(8, 8)),
    "FactorisedLearned": FactorisedLearned(sizes=(8, 8), dims=(64, 64)),
    "RandomFourierFeatures": RandomFourierFeatures(features=32),
    "AxialRoPE": axial(dim=16),
    "SphericalRoPE": SphericalRoPE(dim=15),
    "XDRoPE": XDRoPE(sections=(4, 4)),
    "LongRoPE": RoPE(
        dim=16,
        pairing="halves",
        scaling=LongRoPE(
            short=(1.0,) * 8, long=(1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5), original=64, length=65, factor=2.0
        ),
    ),
    "DAPE": DAPE(ALiBi(heads=4), dim=16, width=32),
    "DAPEv2": DAPEv2(ALiBi(heads=4), dim=16, width=32, kernel=3),
    "GatedBias": GatedBias(T5Bias(heads=4), dim=16),
    "Sum": Sum((Sinusoidal(dim=64), Learned(dim=64, length=64))),
    "Scaled": Scaled(Sinusoidal(dim=64), 0.5),
    "LearnedScale": LearnedScale(Sinusoidal(dim=64), 0.25),
    "Backward": Backward(RoPE(dim=16, pairing="halves")),
}
#: What is written plainly.
WRITTEN = ("NoPE", "Sinusoidal", "Learned", "RoPE", "ALiBi", "T5Bias", "RelativeBias", "KerpleLog")


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    rows = [row for row in posenc.CATALOG if row.name in WRITTEN]
    sizes = ((SMALL, SMALL_BATCH), (LARGE, LARGE_BATCH))
    return [case_of(row.name, fitted(row, shape), shape, batch) for shape, batch in sizes for row in rows]


def fitted(row: Row, shape: Shape) -> Encoding:
    """The first sample of a row, for a model of this size."""
    encoding = row.samples[0]
    if shape is SMALL and row.name in FITTED:
        return FITTED[row.name]
    if isinstance(encoding, RoPE):
        encoding = replace(encoding, pairing="halves")
    if isinstance(encoding, T5Bias):
        encoding = replace(encoding, bidirectional=False)
    wide = shape.width if isinstance(encoding, AdditiveEncoding) else shape.width // shape.heads
    return with_sizes(encoding, {"dim": wide, "heads": shape.heads, "model_dim": shape.width, "length": 2048})


def case_of(name: str, encoding: Encoding, shape: Shape, size: tuple[int, int]) -> dict[str, Any]:
    rng = torch.Generator().manual_seed(0)
    tokens, targets = torch.randint(0, shape.vocabulary, (2, *size), generator=rng)
    case = {"case": f"{name}, {shape.width} channels, {size[0]} × {size[1]} tokens", "encoding": repr(encoding)}
    bare = Transformer(shape, [NoPE(dim=shape.width)], seed=0)
    plain = twin(bare, NoPE(dim=shape.width), size[1])
    try:
        model = Transformer(shape, [encoding], seed=0)
        positions = None if encoding.axes == 1 else torch.from_numpy(places(encoding, size[1]))
        ours = step(at(model, positions), tokens, targets)
        ours()
    except (ValueError, TypeError, RuntimeError) as error:
        return {**case, "left out": {OURS: " ".join(str(error).split())[:200]}}
    baseline = step(plain, tokens, targets)  # type: ignore[arg-type]
    variants: dict[str, Callable[[], None]] = {NOTHING: baseline, OURS: ours}
    gap = None
    if positions is None and (other := twin(Transformer(shape, [encoding], seed=0), encoding, size[1])) is not None:
        with torch.no_grad():
            gap = distance(Transformer(shape, [encoding], seed=0)(tokens), other(tokens))
        if gap > 1e-4:
            raise SystemExit(f"{case['case']}: the plain model differs by {gap}")
        variants[PLAIN] = step(other, tokens, targets)
    found = ratios(case["case"], NOTHING, variants, rounds=ROUNDS)
    count = size[0] * size[1]
    seconds = {variant: sorted(taken)[len(taken) // 2] / 1e6 for variant, taken in found["microseconds"].items()}
    speed = {f"{variant}, tokens a second": count / taken for variant, taken in seconds.items()}
    return {**case, **found, "gap": gap, "values": speed, "left out": {}}


def at(model: Transformer, positions: Any) -> Any:
    """The model at these positions."""
    if positions is None:
        return model

    class At(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, tokens: Any) -> Any:
            return self.model(tokens, positions)

    return At()
