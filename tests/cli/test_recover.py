"""Mission row 16 on the command line: the practice question with its erratum, told in full."""

from __future__ import annotations

import math


def test_the_practice_question(posenc):
    out = posenc("recover", "--dim", "5120", "--at", "1088=0.488814").out
    assert "exponent i/d, interleaved, sine first, start 0: k = 7, next 60,676" in out
    assert "exponent 2i/d, interleaved, sine first, start 0: k = 929,505" in out
    assert "0.835354" in out
    assert "sin(7/10000^(544/5120))" in out
    assert "0.48881494" in out
    for convention in ("i/(d/2-1)", "concatenated", "cosine first", "start 1"):
        assert convention in out
    assert "Give more values to decide." in out


def test_json(posenc):
    data = posenc("recover", "--dim", "5120", "--at", "1088=0.488814", "--json").data
    fits = {
        fit["encoding"]: (fit["first"], fit["following"])
        for fit in data["fits"]
        if "interleaved" in fit["encoding"] and "first='sine'" in fit["encoding"] and "start=0" in fit["encoding"]
    }
    found = {
        exponent: fits[next(key for key in fits if f"exponent='{exponent}'" in key)] for exponent in ("i/d", "2i/d")
    }
    assert found["i/d"] == (7, 60_676)
    assert found["2i/d"][0] == 929_505
    assert data["printed"][0]["unit"] == 1e-6


def test_a_stated_convention(posenc):
    words = ("--exponent", "i/d", "--layout", "interleaved", "--first", "sine", "--start", "0", "--largest", "1000")
    ran = posenc("recover", "--dim", "5120", "--at", "1088=0.488814", *words, "--json")
    assert [fit["first"] for fit in ran.data["fits"]] == [7]


def test_a_position_where_none_fits(posenc):
    words = ("--exponent", "2i/d", "--layout", "interleaved", "--first", "sine", "--start", "0", "--largest", "1000")
    ran = posenc("recover", "--dim", "5120", "--at", "1088=0.488814", *words)
    assert "no position fits" in ran.out


def test_several_values_decide(posenc):
    angle = 2 / 100 ** (2 / 16)
    values = (f"1={math.cos(2):.6f}", f"2={math.sin(angle):.6f}", f"3={math.cos(angle):.6f}")
    words = [word for value in values for word in ("--at", value)]
    ran = posenc("recover", "--dim", "16", "--base", "100", *words, "--largest", "5000", "--json")
    found = [fit for fit in ran.data["fits"] if fit["count"]]
    assert {(fit["first"], fit["count"]) for fit in found} == {(2, 1), (1, 1)}  # 1 where positions are counted from 1
    assert all("layout='interleaved', exponent='2i/d', first='sine'" in fit["encoding"] for fit in found)
