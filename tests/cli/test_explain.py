"""`posenc explain`: worked numbers, and what order does to a sentence."""

from __future__ import annotations

import math
import re

import pytest

from effort import calls_at_most
from posenc.catalog import CATALOG
from posenc.core.doors import AttentionBias
from posenc.explorer.lesson.orders import orders_of


def test_a_rotation_worked_out(posenc):
    out = posenc("explain", "RoPE(dim=8)", "--position", "3").out
    assert "angle = 3 / 10000^(2/8) = 0.3 rad" in out
    assert "(1, 0) → (0.9553, 0.2955)" in out
    assert "Su et al. 2021, arXiv:2104.09864" in out
    assert "isometry" in out
    assert "6283.1853" in out


@pytest.mark.parametrize("encoding", ["RoPE(dim=1048576)", "Sinusoidal(dim=1048576)", "ALiBi(heads=65536)"])
def test_an_encoding_too_wide_to_explain_is_refused_before_it_is_made(posenc, encoding):
    with calls_at_most():
        ran = posenc("explain", encoding)
    assert (ran.code, "must have at most 32,768 channels or heads" in ran.err) == (2, True)


def test_the_product_of_two_rotated_vectors_is_derived(posenc):
    command = ("explain", "RoPE(dim=4)", "--position", "7", "--key", "3")
    vectors = ("--query-vector", "1", "0", "2", "1", "--key-vector", "0.5", "1", "-1", "2")
    out = posenc(*command, *vectors).out
    assert out.count("= -0.8837") == 4
    assert "R(7)ᵀ R(3) = R(-7) R(3) = R(-4)" in out
    assert posenc(*command, *vectors, "--json").data["product"] == pytest.approx(-0.88368, abs=5e-6)
    alone = posenc(*command, *vectors[:5])
    assert (alone.code, "key_vector must come with the other vector" in alone.err) == (2, True)
    assert "dims must be left out for a product" in posenc(*command, *vectors, "--dims", "0").err
    assert "position must be one number" in posenc(*command[:4], "5", *vectors).err
    biases = posenc("explain", "ALiBi(heads=4)", "--query-vector", "1", "--key-vector", "1")
    assert "query_vector must come with an encoding that rotates" in biases.err


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
    assert (ran.code, ran.data["encoding"]) == (0, repr(sample))
    assert ran.data["steps"]


def test_a_wide_encoding_is_cut_and_all_is_whole(posenc):
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


CAT = ("The cat sat on the mat", "--versus", "The mat sat on the cat")


def test_no_encoding_sees_no_order_and_a_mirror_image_fools_alibi(posenc):
    ran = posenc("explain", "Dog bites man", "--versus", "Man bites dog", "--all", "--json")
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
    ran = posenc("explain", " ".join(words), "--versus", " ".join(words[::-1]), "--all", "--json")
    assert ran.code == 0


def test_six_encodings_fit_eighty_columns(posenc, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = posenc("explain", *CAT)
    lines = ran.out.splitlines()
    assert len(lines) < 30
    table = [line for line in lines if re.match(r"word |\w+ \d→\d |causal: largest", line)]
    assert len(table) == 8
    assert max(map(len, table)) <= 80
    header = next(line for line in lines if line.startswith("word "))
    assert header.split() == ["word", "none", "Sinusoidal", "Learned", "RoPE", "ALiBi", "T5Bias", "Shaw"]
    cells = [line.split() for line in lines if re.match(r"\w+ \d→\d ", line)]
    assert len(cells) == 6
    assert all(len(row) == 9 and all(float(cell) >= 0 for cell in row[2:]) for row in cells)  # no number is cut in two


def test_every_encoding_on_request_and_no_number_cut_in_two(posenc, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    ran = posenc("explain", *CAT, "--all")
    rows = re.findall(r"^ *(\d)/6 +([\d.e-]+) +([\d.e-]+)  (\S.*)$", ran.out, re.MULTILINE)
    assert len(rows) == len(CATALOG)  # no encoding stands first, for NoPE
    assert {float(number) >= 0 for row in rows for number in row[1:3]} == {True}


def test_punctuation_makes_no_other_word(posenc):
    plain = posenc("explain", "Dog bites man", "--versus", "Man bites dog", "--json").data
    ended = posenc("explain", "“Dog bites man!”", "--versus", "Man bites dog.", "--json").data
    assert ended["results"] == plain["results"]


def test_the_lesson_and_the_command_line_show_the_same_numbers(posenc):
    pair = orders_of(CAT[::2], 0)
    shown = {
        one["encoding"].partition("(")[0]: list(one["changes"][pair["other"]].values())
        for one in pair["choices"]
        if one["encoding"]
    }
    results = [
        one for one in posenc("explain", *CAT, "--json").data["results"] if one["encoding"] and not one["causal"]
    ]
    assert shown == {
        one["encoding"].partition("(")[0]: ["0.0" if word["same"] else f"{word['amount']:.3g}" for word in one["words"]]
        for one in results
    }


def test_reasons_are_given_only_where_they_were_computed(posenc):
    ran = posenc("explain", *CAT, "--all", "--json")
    for one in ran.data["results"]:
        reasons = [note for note in one["notes"] if "keeps its output" in note or "mirror" in note]
        if reasons:
            kind = next(row.encoding for row in CATALOG if one["encoding"].startswith(f"{row.encoding.__name__}("))
            assert issubclass(kind, AttentionBias), one["encoding"]
        if one["encoding"] and not one["causal"] and one["encoding"].startswith(("CoPE", "LogNTemperature")):
            assert any("changes no output at these positions" in note for note in one["notes"])


def test_one_encoding(posenc):
    ran = posenc("explain", "Dog bites man", "--versus", "Man bites dog", "--encoding", "RoPE(dim=8)")
    assert "RoPE(dim=8)" in ran.out
    assert "ALiBi" not in ran.out


def test_a_place_of_several_coordinates(posenc):
    axial = "AxialRoPE(axis=(0, 1), frequency_index=(0, 0), frequency_dim=2)"
    assert "at position (3, 5)" in posenc("explain", axial, "--position", "3", "5").out
    assert "at position (3, 4)" in posenc("explain", axial).out
    ran = posenc("explain", axial, "--position", "3")
    assert ran.code == 2
    assert "position must be 2 numbers, one for each axis; got (3,)" in ran.err
