"""Sections on models of today: their numbers by another way of computing them."""

import itertools
import math

import numpy as np
import pytest
import torch

from posenc.explorer.lesson.media_places import media_places
from posenc.explorer.lesson.packed_rows import BACK, CACHES, LENGTHS, packed_rows
from posenc.explorer.lesson.precision_curves import ROWS, precision_curves
from posenc.explorer.lesson.scaled_curves import scaled_curves
from posenc.explorer.lesson.todays_models import KNOWN, SHOWN, todays_models


def test_about_twenty_models_are_shown_with_a_source_each():
    models = todays_models()
    assert [(model["name"], model["year"]) for model in models] == list(SHOWN)
    assert [year for _, year in SHOWN] == sorted(year for _, year in SHOWN)
    assert set(KNOWN) <= {name for name, _ in SHOWN}
    for model in models:
        assert model["source"]
        assert model["paper"]
        for group in model["groups"]:
            if group["wavelengths"]:
                inside = [length for length in group["wavelengths"] if length <= group["reach"]]
                assert group["whole"] == len(inside)


def test_ids_that_run_on_matter_to_added_vectors_alone():
    cases = packed_rows()["cases"]
    assert set(cases["restart/mask"].values()) == {0.0}
    assert cases["on/mask"]["rotary"] == cases["on/mask"]["ALiBi"] == 0.0
    assert cases["on/mask"]["sinusoidal"] > 0.5
    for ids in ("restart", "on"):
        assert min(cases[f"{ids}/open"].values()) > 0.5


def test_weights_of_the_cache_are_those_of_complex_numbers():
    """A head that looks two back, with a pair as one complex number: q·k = Σ cos((m − 2 − n)·ω)."""
    frequencies = [500.0 ** (-2 * pair / 32) for pair in range(16)]
    for case, shown in zip(CACHES, packed_rows()["caches"], strict=True):
        logits = [0.7 * sum(math.cos((case.query - BACK - key) * w) for w in frequencies) for key in case.keys]
        weights = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(shown["weights"], weights, atol=1e-4)
    best = [int(np.argmax(one["weights"])) == one["right"] for one in packed_rows()["caches"]]
    assert best == [True, False, False, False, True]


def test_documents_begin_where_packing_says():
    assert sum(LENGTHS) == 12


def test_rows_that_become_equal_are_those_of_pytorch():
    tables = {one["name"]: one for one in precision_curves()["tables"]}
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        kept = torch.arange(ROWS).to(dtype).tolist()
        one = tables[f"positions in {name}"]
        assert one["different"] == len(set(kept))
        first = next(pair for pair in itertools.pairwise(range(ROWS)) if kept[pair[0]] == kept[pair[1]])
        assert tuple(one["alike"]) == first
    assert tables["rows in bf16"]["different"] == ROWS


def test_errors_of_cosines_are_those_of_pytorch():
    """float32 by PyTorch at one position of an octave is never above the largest error of that octave."""
    curves = precision_curves()
    exact = np.cos(np.float64(262_144) * np.array([500_000.0 ** (-2 * pair / 128) for pair in range(64)]))
    single = torch.tensor([500_000.0 ** (-2 * pair / 128) for pair in range(64)], dtype=torch.float32) * 262_144.0
    error = np.abs(np.cos(single.double().numpy()) - exact).max()
    largest = curves["errors"]["all in float32"][curves["octaves"].index(262_144)]
    assert error <= largest * 1.01 < 0.1
    assert curves["errors"]["positions in bf16"][:8] == [0.0] * 8, "all positions up to 255 are kept"
    assert max(curves["errors"]["cosines in bf16"]) <= 2**-9


def test_axes_of_the_pairs_and_how_fast_they_turn():
    one, text, vision = media_places()["ways"]
    assert one["axis"] == [0] * 64
    assert [text["axis"].count(axis) for axis in range(3)] == [16, 24, 24]
    assert [vision["axis"].count(axis) for axis in range(3)] == [0, 20, 20]
    assert f"24 by row ({2 * math.pi * 1e6 ** (16 / 64):.3g})" in text["note"]
    assert "20 by row (6.28), 20 by column (6.28)" in vision["note"]


@pytest.mark.parametrize("given", [[], ["none"]])
def test_no_scaled_curves_without_a_rotary_model(given):
    class Bare:
        scaled = ()

    assert scaled_curves([Bare() for _ in given]) is None
