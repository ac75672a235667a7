"""Advice that can be followed: keys of the user's file, numbers that differ as printed, and what to do for a part."""

from __future__ import annotations

import numpy as np
import pytest

from every import every
from posenc import Linear, RoPE, YaRN
from posenc.core.text_lines import told_apart
from posenc.diagnosis import diagnose
from posenc.diagnosis.rotation.explain_rotation import LOOK_AT_POSITIONS
from posenc.models import diff
from posenc.models.difference import _shown

OPT = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}


def test_a_remedy_names_the_key_of_the_file_and_its_value():
    found = diagnose(OPT, OPT | {"max_position_embeddings": 1024}).findings[0]
    assert found.sentence == "length is 1026 where 2050 is meant."
    assert found.fix == "Set max_position_embeddings to 2048, where it is 1024."


def test_two_values_in_one_sentence_differ_as_printed():
    def check(base: float) -> None:
        (found,) = diagnose(RoPE(64, 1e6), RoPE(64, base)).findings
        got, meant = found.sentence.removeprefix("The base is ").removesuffix(" is meant.").split(" where ")
        assert got != meant
        assert float(got) == pytest.approx(base, rel=1e-9)

    every([1_000_000.5, 999_999.0, 1e6 * (1 + 2**-40)], check)


def test_numbers_are_told_apart_with_as_few_digits_as_do():
    assert told_apart(0.1234567, [0.1234568]) == "0.1234567"
    assert told_apart(0.5, [float("nan")]) == "0.5"


def test_a_difference_of_nothing_is_not_said():
    one, other = RoPE(64, scaling=YaRN(4.0, 4096)), RoPE(64, scaling=YaRN(4.0, 4096, attention=2.0))
    assert not any(" rad" in line for line in diff(one, other).lines())
    assert any("attention factor times" in line for line in diff(one, other).lines())


def test_long_values_are_shown_from_where_they_differ():
    one, other = "a" * 300 + "b", "a" * 300 + "c"
    assert _shown(one, other) == ("..." + "a" * 50 + "b", "..." + "a" * 50 + "c")
    assert _shown(Linear(2.0), "none")[1] == "none"


def test_what_to_do_for_some_positions_says_that_the_others_are_right_and_what_to_look_at():
    meant, positions = RoPE(64), np.arange(256)
    q = np.random.default_rng(0).standard_normal((256, 64))
    right = meant.rotation(positions)(q[None, None], layout="bhtd")[0, 0]
    for wrong, told in ((q, "This concerns positions 64 to 127 alone"), (q[::-1], LOOK_AT_POSITIONS)):
        rotated = np.where(((positions >= 64) & (positions < 128))[:, None], wrong, right)
        (found,) = diagnose(meant, {"q": q, "q_rotated": rotated, "positions": positions}).findings
        assert found.where == "positions 64 to 127"
        assert told in found.fix
