"""`posenc explain`: worked numbers, and what order does to a sentence."""

from __future__ import annotations

import math

import pytest

from posenc.catalog import CATALOG


def test_a_rotation_worked_out(posenc):
    out = posenc("explain", "RoPE(dim=8)", "--position", "3").out
    assert "angle = 3 / 10000^(2/8) = 0.3 rad" in out
    assert "(1, 0) → (0.9553, 0.2955)" in out
    assert "Su et al. 2021, arXiv:2104.09864" in out
    assert "isometry" in out
    assert "6283.1853" in out


def test_json_has_numbers(posenc):
    data = posenc("explain", "Sinusoidal(dim=4)", "--position", "1", "--json").data
    values = [value for step in data["steps"] for value in step["values"]]
    assert values == pytest.approx([math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)], abs=1e-15)
    assert data["position"] == 1
    assert data["spectrum"]["wavelengths"] == pytest.approx([2 * math.pi, 200 * math.pi], rel=1e-15)
    assert data["door"] == "adds"


@pytest.mark.parametrize("sample", [sample for row in CATALOG for sample in row.samples])
def test_every_sample_is_explained(posenc, sample):
    ran = posenc("explain", repr(sample), "--position", *["2"] * sample.axes, "--json")
    assert (ran.code, ran.data["record"]) == (0, repr(sample))
    assert ran.data["steps"]


def test_a_wide_record_is_cut_and_all_is_whole(posenc):
    short = posenc("explain", "Sinusoidal(dim=64)")
    assert "(the first 16; --all shows every one" in short.out
    assert "PE(3, 16)" not in short.out
    whole = posenc("explain", "Sinusoidal(dim=64)", "--all")
    assert "PE(3, 63)" in whole.out
    assert "more ..." not in whole.out
    assert "... 16 more ..." in short.out


def test_chosen_dimensions(posenc):
    out = posenc("explain", "Sinusoidal(dim=16, base=100)", "--position", "2", "--dims", "3").out
    assert "PE(2, 3)" in out
    assert "PE(2, 0)" not in out
    assert "printed 0.41" in out


def test_no_encoding_sees_no_order_and_a_mirror_image_fools_alibi(posenc):
    ran = posenc("explain", "Dog bites man", "--versus", "Man bites dog", "--json")
    results = {(one["encoding"], one["causal"]): one for one in ran.data["results"]}
    assert [word["word"] for word in results[None, False]["words"]] == ["dog", "bites", "man"]
    assert results[None, False]["blind"] is True
    assert results[None, True]["blind"] is False
    assert {name for (name, causal), one in results.items() if one["blind"] and not causal and name} == {
        repr(sample)
        for row in CATALOG
        for sample in row.samples[:1]
        if "symmetric" in sample.claims
        # CoPE's table begins as zeros and says nothing; FIRE is symmetric for queries below its threshold, PoPE with
        # phases of zero; a temperature tells nothing of places before its length.
        or row.name in ("CoPE", "FIRE", "PoPE", "LogNTemperature", "StepTemperature")
    }


def test_a_sentence_longer_than_a_sample_s_table(posenc):
    words = [f"w{index}" for index in range(40)]
    ran = posenc("explain", " ".join(words), "--versus", " ".join(words[::-1]), "--json")
    assert ran.code == 0


def test_one_encoding(posenc):
    ran = posenc("explain", "Dog bites man", "--versus", "Man bites dog", "--encoding", "RoPE(dim=8)")
    assert "RoPE(dim=8)" in ran.out
    assert "ALiBi" not in ran.out


def test_a_place_of_several_coordinates(posenc):
    axial = "AxialRoPE(axis=(0, 1), rung=(0, 0), ladder=2)"
    assert "at position (3, 5)" in posenc("explain", axial, "--position", "3", "5").out
    assert "at position (3, 4)" in posenc("explain", axial).out
    ran = posenc("explain", axial, "--position", "3")
    assert ran.code == 2
    assert "position must be 2 numbers, one for each axis; got (3,)" in ran.err
