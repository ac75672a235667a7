"""A fingerprint is equal exactly where the mathematics is: stated pairs, pinned values, and every field of the
catalog."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc import (
    AdditiveEncoding,
    ALiBi,
    AxialLearned,
    BoundedALiBi,
    CayleySTRING,
    Concatenated,
    DualBaseRoPE,
    DynamicNTK,
    Encoding,
    FoPE,
    FourierFeatures,
    Learned,
    LearnedRoPE,
    LearnedScale,
    Linear,
    Llama3,
    LongRoPE,
    NoPE,
    NTKAware,
    NTKByParts,
    NTKFixed,
    NTKMixed,
    Partial,
    PerLayer,
    PoPE,
    Proportional,
    RelativeBias,
    Resonance,
    RoPE,
    RotaryEncoding,
    Scaled,
    Sinusoidal,
    Sum,
    T5Bias,
    TimestepEmbedding,
    TransformerXL,
    ValueRotation,
    XPos,
    YaRN,
)
from posenc.catalog import CATALOG
from posenc.models.fingerprints import fingerprint
from posenc.testing.checks.encoding_fields import variants
from posenc.testing.door_probe import moved_parameters, probed_rows, sides
from samples import FIRST, SAMPLES, by_night

HALVES = "halves"
YARN = YaRN(factor=4.0, original=4096)

EQUAL: tuple[tuple[Any, Any], ...] = (
    (RoPE(64), Partial(RoPE(64), dim=64)),
    (RoPE(64), RoPE(64, scaling=Linear(factor=1.0))),
    (RoPE(64), RoPE(64, scaling=YaRN(factor=1.0, original=4096))),
    (RoPE(64), RoPE(64, scaling=NTKAware(factor=1.0))),
    (RoPE(64), RoPE(64, scaling=NTKFixed(factor=1.0))),
    (RoPE(64), RoPE(64, scaling=NTKMixed(factor=1.0, b=0.5))),
    (RoPE(64), RoPE(64, scaling=Proportional(fraction=1.0))),
    (RoPE(64), RoPE(64, scaling=DynamicNTK(factor=4.0, original=4096, length=4096))),
    (RoPE(4), RoPE(4, scaling=LongRoPE((1.0, 1.0), (1.0, 5.0), original=64, length=64, factor=1.0))),
    (RoPE(64), RoPE(64, numerics="float32")),
    (RoPE(2, base=1e4), RoPE(2, base=5e5)),  # one pair rotates by one radian, whatever the base is
    (RoPE(2), RoPE(2, pairing=HALVES)),
    (RoPE(2, pairing=HALVES), Partial(RoPE(2), dim=2)),
    (Partial(Partial(RoPE(8), dim=16, start=2), dim=32, start=4), Partial(RoPE(8), dim=32, start=6)),
    (DualBaseRoPE(8, base=100.0, second_base=100.0, pairing="adjacent"), DualBaseRoPE(8, 100.0, 100.0)),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=YaRN(4.0, 4096, attention=YARN.attention_factor))),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=YaRN(4.0, 4096, mscale=1.0, mscale_all_dim=0.0))),
    (RoPE(64, scaling=Linear(2.0)), RoPE(64, scaling=Proportional(fraction=1.0, factor=2.0))),
    (
        RoPE(8, scaling=DynamicNTK(factor=2.0, original=64, length=64)),
        RoPE(8, scaling=DynamicNTK(factor=3.0, original=128, length=128)),
    ),
    (ALiBi(8), ALiBi(8, rule="geometric")),
    (ALiBi(16), ALiBi(16, rule="geometric")),
    (ALiBi(8), ALiBi(8, rule="linear")),  # evenly from 1 to 8: the same slopes, for 8 heads alone
    (T5Bias(heads=2, buckets=8, max_distance=5), T5Bias(heads=2, buckets=8, max_distance=5, scale=1.0)),
    (Sinusoidal(8), Sinusoidal(8, numerics="float32")),
    (Sinusoidal(8, scale=2.0), Scaled(Sinusoidal(8), 2.0)),
    (Sinusoidal(8, scale=2.0), Sum((Sinusoidal(8), Sinusoidal(8)))),
    (Sinusoidal(8, layout="concatenated"), TimestepEmbedding(8, shift=0.0)),
    (Sinusoidal(8, layout="concatenated", exponent="i/(d/2-1)"), TimestepEmbedding(8)),
    (Sinusoidal(8, layout="concatenated", first="cosine"), TimestepEmbedding(8, shift=0.0, flip=True)),
    (Sinusoidal(9, odd="zero", layout="concatenated"), TimestepEmbedding(9, shift=0.0)),
    (Sinusoidal(8, base=100.0), Sinusoidal(8, base=10_000.0, exponent="i/d")),
    (NoPE(8), Scaled(Sinusoidal(8), 0.0)),
    (Scaled(Scaled(Learned(4, 9), 2.0), 3.0), Scaled(Learned(4, 9), 6.0)),
    (Scaled(Learned(4, 9), 1.0), Learned(4, 9)),
    (Learned(4, 9, std=0.5), Learned(4, 9)),
    (AxialLearned((2, 3), (2, 2), std=0.1), AxialLearned((2, 3), (2, 2))),
    (LearnedRoPE(8, base=100.0), LearnedRoPE(8)),
    (CayleySTRING(dim=4, axes=1, base=100.0), CayleySTRING(dim=4, axes=1)),
    (FoPE(dim=4, heads=2, length=100, gain=0.6), FoPE(dim=4, heads=2, length=100)),
    (PoPE(dim=4, heads=2, phase="uniform"), PoPE(dim=4, heads=2, phase="zero")),
    (LearnedScale(Sinusoidal(8), initial=0.5), LearnedScale(Sinusoidal(8))),
    (BoundedALiBi(8, initial_bound=0.5), BoundedALiBi(8)),
    (PerLayer((RoPE(8), None)), PerLayer((Partial(RoPE(8), 8), None))),
    (ValueRotation(RoPE(8)), ValueRotation(Partial(RoPE(8), 8))),
)

DIFFERENT: tuple[tuple[Any, Any], ...] = (
    (RoPE(64), RoPE(64, pairing=HALVES)),
    (RoPE(64), RoPE(64, base=5e5)),
    (RoPE(64), RoPE(64, base=10_000.000000000002)),
    (RoPE(64), RoPE(128)),
    (RoPE(64), Partial(RoPE(64), dim=128)),
    (Partial(RoPE(64), 128), Partial(RoPE(64), 128, start=64)),
    (RoPE(64), RoPE(64, scaling=Linear(4.0))),
    (RoPE(64, scaling=Linear(4.0)), RoPE(64, scaling=Linear(factor=4.000001))),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=YaRN(4.0, 4096, truncate=False))),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=YaRN(4.0, 4096, attention=1.0))),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=NTKByParts(factor=4.0, original=4096))),
    (RoPE(64, scaling=YARN), RoPE(64, scaling=Resonance(YARN))),
    (RoPE(64, scaling=Llama3(8.0, 8192)), RoPE(64, scaling=Llama3(8.0, 4096))),
    (RoPE(8, scaling=Proportional(fraction=0.5)), Partial(RoPE(4), dim=8)),
    (XPos(8), RoPE(8)),
    (LearnedRoPE(8), RoPE(8)),
    (ValueRotation(RoPE(8)), RoPE(8)),
    (ALiBi(12), ALiBi(12, rule="geometric")),
    (ALiBi(16), ALiBi(16, rule="linear")),
    (ALiBi(8), ALiBi(8, form="signed")),
    (ALiBi(8), ALiBi(8, steepest=4.0)),
    (T5Bias(heads=2), T5Bias(heads=2, bidirectional=False)),
    (T5Bias(heads=2), T5Bias(heads=2, max_distance=129)),
    (T5Bias(heads=2), T5Bias(heads=3)),
    (T5Bias(heads=2), T5Bias(heads=2, scale=8.0)),
    (RelativeBias(heads=3), RelativeBias(heads=3, clip=5)),
    (TransformerXL(4, 3, 8), TransformerXL(4, 3, 8, base=100.0)),
    (Sinusoidal(8), Sinusoidal(8, layout="concatenated")),
    (Sinusoidal(8), Sinusoidal(8, first="cosine")),
    (Sinusoidal(8), Sinusoidal(8, start=1)),
    (Sinusoidal(8), Concatenated(Sinusoidal(8))),
    (Sinusoidal(8), Sum((Sinusoidal(8), Learned(8, 9)))),
    (NoPE(8), NoPE(16)),
    (FourierFeatures(3), FourierFeatures(3, coordinate=True)),
    (Learned(4, 9), Learned(4, 9, outside="clamp")),
    (PerLayer((RoPE(8), None)), PerLayer((None, RoPE(8)))),
    (PerLayer((RoPE(8),)), RoPE(8)),
    (None, NoPE(8)),
)

#: Written once and never changed: a release that alters one of these makes stored fingerprints worthless.
PINNED: tuple[tuple[Any, str], ...] = (
    (None, "126eb89fb174a8f9"),
    (RoPE(64), "d8fdfb247d052c29"),
    (RoPE(128, base=5e5, pairing=HALVES, scaling=Llama3(8.0, 8192)), "74cd1d9f2e26c8a0"),
    (RoPE(128, base=1e6, pairing=HALVES, scaling=YaRN(4.0, 32_768)), "c610f48ea621f21e"),
    (RoPE(64, scaling=LongRoPE((1.0,) * 32, (4.0,) * 32, 4096, 131_072, 32.0)), "d82b1797585a6698"),
    (Partial(RoPE(32), 128, start=8), "7b47c29db2e92b4d"),
    (DualBaseRoPE(64, pairing=HALVES), "e2cab4c23f666bd9"),
    (XPos(64), "b9601bdc7d08a0ad"),
    (Sinusoidal(512), "bda04b6ffbdb9ade"),
    (Learned(768, 512), "b30d60fec5d49dda"),
    (ALiBi(12), "d04a9ecb36e3e485"),
    (T5Bias(heads=12), "77c8de91f9422185"),
    (PerLayer((RoPE(64), None, RoPE(64, base=1e6))), "fcbad475a65b3d58"),
)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_mathematics_have_equal_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_mathematics_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


class Farther(RoPE):
    """Rotates twice as far."""

    def rotation(self, positions: Any, *args: Any, **more: Any) -> Any:
        return super().rotation(np.asarray(positions) * 2, *args, **more)


class Louder(Sinusoidal):
    """Adds twice as much."""

    def embed(self, *args: Any, **more: Any) -> Any:
        return super().embed(*args, **more) * 2


class Steeper(ALiBi):
    """Falls twice as fast."""

    def bias(self, *args: Any, **more: Any) -> Any:
        return super().bias(*args, **more) * 2


class Doubled(Scaled):
    """Multiplies by twice its factor."""

    def embed(self, *args: Any, **more: Any) -> Any:
        return super().embed(*args, **more) * 2


class Renamed(RoPE):
    """Computes what RoPE does."""


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Farther(8), RoPE(8)),
        (Partial(Farther(8), dim=12), Partial(RoPE(8), dim=12)),
        (ValueRotation(Farther(8)), ValueRotation(RoPE(8))),
        (Louder(8), Sinusoidal(8)),
        (Scaled(Louder(8), 0.5), Scaled(Sinusoidal(8), 0.5)),
        (Doubled(Sinusoidal(8), 0.5), Scaled(Sinusoidal(8), 0.5)),
        (Scaled(Doubled(Sinusoidal(8), 0.5), 3.0), Scaled(Scaled(Sinusoidal(8), 0.5), 3.0)),
        (Scaled(Doubled(Learned(8, 4), 0.5), 3.0), Scaled(Scaled(Learned(8, 4), 0.5), 3.0)),
        (Sum((Doubled(Sinusoidal(8), 0.5), NoPE(8))), Sum((Scaled(Sinusoidal(8), 0.5), NoPE(8)))),
        (Steeper(8), ALiBi(8)),
    ],
)
def test_an_encoding_that_overrides_what_another_computes_is_another(mine: Any, theirs: Any) -> None:
    assert fingerprint(mine) != fingerprint(theirs)
    assert fingerprint(mine) == fingerprint(replace(mine))
    assert fingerprint(Renamed(8)) == fingerprint(RoPE(8))


@pytest.mark.parametrize(("encoding", "pinned"), PINNED)
def test_a_release_does_not_change_a_fingerprint(encoding: Any, pinned: str) -> None:
    assert fingerprint(encoding) == pinned


def test_every_sample_of_the_catalog_keeps_its_fingerprint() -> None:
    pinned = json.loads(Path(__file__).with_name("fingerprints.json").read_text(encoding="utf-8"))
    assert {row.name: [fingerprint(sample) for sample in row.samples] for row in CATALOG} == pinned


def test_another_process_gives_the_same_fingerprint() -> None:
    code = "from posenc import RoPE; from posenc.models.fingerprints import fingerprint; print(fingerprint(RoPE(64)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert said == fingerprint(RoPE(64))


@pytest.mark.parametrize("value", ["RoPE", 3, {"dim": 64}, Linear(2.0), RoPE])
def test_what_is_no_encoding_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^encoding must be an encoding"):
        fingerprint(value)


#: As far as the last bucket of any sample; each alone where an encoding refuses what is outside its table.
PLACES = (np.arange(150), np.array([1_003, 100_003]), np.array([0.5, 2.75]), np.array([-3]))
ALONE = tuple(np.array([place]) for place in range(34))


def _seen(encoding: Any, params: dict[str, np.ndarray]) -> list[np.ndarray | str]:
    """What an encoding gives for stated parameters, far and near; the name of the error where it refuses."""
    found: list[np.ndarray | str] = []
    for places in (*PLACES, *(ALONE if isinstance(encoding, AdditiveEncoding) and encoding.shapes else ())):
        for side in sides(encoding):
            try:
                found.append(np.asarray(probed_rows(encoding, places, side=side, params=params)))
            except (ValueError, TypeError) as error:
                found.append(type(error).__name__)
    if isinstance(encoding, RotaryEncoding):  # which channels rotate together
        heads = getattr(encoding, "heads", 1)
        x = np.arange(1.0, heads * encoding.head_dim + 1).reshape(1, heads, 1, encoding.head_dim)
        place = [1] if encoding.axes == 1 else [list(range(1, encoding.axes + 1))]
        rotation = encoding.rotation(place, params or None, role=encoding.roles[0], dtype=np.float64)
        found.append(rotation(x, layout="bhtd"))
    return found


def _alike(one: Any, other: Any) -> bool:
    params = moved_parameters(one)
    if one.shapes != other.shapes or one.axes != other.axes:
        return False
    pairs = zip(_seen(one, params), _seen(other, params), strict=True)
    return all(
        a == b
        if isinstance(a, str) and isinstance(b, str)
        else np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)  # type: ignore[arg-type]
        for a, b in pairs
    )


@pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=FIRST))
def test_every_field_of_the_catalog_counts_exactly_where_it_changes_a_value(encoding: Any) -> None:
    for field in fields(encoding):
        for other in variants(encoding, field.name) if field.init else ():
            if ("float32" in repr(encoding)) != ("float32" in repr(other)):  # the same numbers, rounded otherwise
                assert fingerprint(encoding) == fingerprint(other)
                continue
            same, alike = fingerprint(encoding) == fingerprint(other), _alike(encoding, other)
            # An encoding inside an encoding is compared as it is, even where the outer one reads a part of it alone.
            inside = isinstance(getattr(encoding, field.name), Encoding | tuple)
            # Of an encoding that learns, a field may say where a parameter begins: those that are known are in `EQUAL`.
            assert same == alike or (not same and (inside or encoding.shapes)), (field.name, other)
