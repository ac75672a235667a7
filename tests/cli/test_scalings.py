"""Scalings on the command line: inside a rotation they are explained and drawn; alone they are no encoding."""

import pytest


def test_a_scaled_rotation_is_explained_with_its_own_row(posenc):
    ran = posenc("explain", "RoPE(dim=8, scaling=YaRN(factor=4, original=64))", "--position", "3", "--json")
    assert ran.code == 0
    assert ran.data["paper"].startswith("Peng et al. 2023")
    assert "isometry" not in ran.data["claims"]
    assert "isometry" in posenc("explain", "RoPE(dim=8)", "--json").data["claims"]


@pytest.mark.parametrize("verb", [["explain"], ["plot", "--picture", "all", "--output", "none.png"]])
def test_a_scaling_alone_is_no_encoding(posenc, verb):
    ran = posenc(*verb, "YaRN(factor=4, original=64)")
    assert ran.code == 2
    assert "a scaling. Give it to a rotation, RoPE(dim=64, scaling=...)." in ran.err


def test_frequencies_alone_is_no_encoding(posenc):
    ran = posenc("explain", "Geometric(dim=8)")
    assert ran.code == 2
    assert "got Geometric(dim=8), a record of frequencies. Give it to a rotation of several axes." in ran.err


def test_a_scaling_is_listed_by_its_name(posenc):
    assert posenc("list", "Llama3", "--json").data[0]["name"] == "Llama3"
