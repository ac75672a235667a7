"""Advice that can be followed: keys of the user's file, numbers that differ as printed, and what to do for a part."""

from __future__ import annotations

import numpy as np
import pytest

from every import every
from posenc import Linear, RoPE, YaRN
from posenc.core.text_lines import told_apart
from posenc.diagnosis import diagnose, preflight
from posenc.diagnosis.rotation.explain_rotation import LOOK_AT_POSITIONS
from posenc.models import diff, from_config
from posenc.models.difference import _shown

OPT = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}


def test_a_remedy_names_the_key_of_the_file_and_its_value():
    found = diagnose(OPT, OPT | {"max_position_embeddings": 1024}).findings[0]
    assert found.sentence == "length is 1026 where 2050 is meant."
    assert found.fix == "Set max_position_embeddings to 2048, where it is 1024."


LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 1e4}
BANDS = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
NEOX = {"model_type": "gpt_neox", "num_hidden_layers": 2, "rotary_pct": 0.25, "rotary_emb_base": 10000}
GEMMA = {"model_type": "gemma3_text", "num_hidden_layers": 6, "rope_local_base_freq": 1e4, "sliding_window": 512}

SMOL = {"model_type": "smollm3", "num_hidden_layers": 8}
QWEN = {"model_type": "qwen2_vl", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}  # fmt: skip


def _seen(**keys: object) -> dict[str, object]:
    return QWEN | {"vision_config": {"depth": 2, "embed_dim": 64, "num_heads": 4, "spatial_merge_size": 2} | keys}


def _scaled(**keys: object) -> dict[str, object]:
    return LLAMA | {"rope_scaling": BANDS | keys}


#: The expected file, the other one, and for each finding what to do in it.
IN_FILES = (
    (LLAMA, LLAMA | {"rope_theta": 5e5}, "Set rope_theta to 10000.0, where it is 500000.0."),
    (NEOX, NEOX | {"rotary_emb_base": 20000}, "Set rotary_emb_base to 10000, where it is 20000."),
    (NEOX, NEOX | {"rotary_pct": 0.5}, "Set rotary_pct to 0.25, where it is 0.5."),
    (GEMMA, GEMMA | {"rope_local_base_freq": 2e4}, "Set rope_local_base_freq to 10000.0, where it is 20000.0."),
    (GEMMA, GEMMA | {"sliding_window": 1024}, "Set sliding_window to 512, where it is 1024."),
    (SMOL, SMOL | {"no_rope_layer_interval": 3}, "Set no_rope_layer_interval to 4, where it is 3."),
    (SMOL | {"no_rope_layers": [1, 1, 1, 0] * 2}, SMOL | {"no_rope_layers": [1, 1, 0, 1] * 2},
     "Set no_rope_layers to (1, 1, 1, 0, 1, 1, 1, 0), where it is (1, 1, 0, 1, 1, 1, 0, 1)."),
    (_seen(), _seen(spatial_merge_size=4), "Set vision_config.spatial_merge_size to 2, where it is 4."),
    (_scaled(), _scaled(factor=16.0), "Set rope_scaling.factor to 8.0, where it is 16.0."),
    (
        _scaled(), _scaled(low_freq_factor=2.0, high_freq_factor=8.0),
        "Set rope_scaling.low_freq_factor to 1.0, where it is 2.0; set rope_scaling.high_freq_factor to 4.0, "
        "where it is 8.0.",
    ),
    (
        LLAMA | {"rope_scaling": YARN}, LLAMA | {"rope_scaling": YARN | {"attention_factor": 1.0}},
        "Leave out rope_scaling.attention_factor, which is 1.0.",
    ),
    (
        LLAMA | {"rope_scaling": YARN}, LLAMA,
        "Set rope_scaling.rope_type to 'yarn'; set rope_scaling.factor to 4.0; "
        "set rope_scaling.original_max_position_embeddings to 8192.",
    ),
)  # fmt: skip


def test_remedies_of_two_files_name_keys_as_the_file_spells_them():
    def check(case: tuple[dict[str, object], dict[str, object], str]) -> None:
        meant, other, remedy = case
        assert [finding.fix for finding in diagnose(meant, other).findings] == [remedy]

    every(IN_FILES, check)


def test_a_check_before_serving_names_keys_where_no_finding_does():
    deberta = {"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": ["p2c"]}
    for one, other, key in (
        (_seen(), _seen(embed_dim=128), "vision_config.embed_dim: 64 in the served file, where it is 128"),
        (deberta, deberta | {"relative_attention": False},
         "relative_attention: True in the served file, where it is False"),
    ):  # fmt: skip
        assert key in preflight(one, other).to_write


def test_of_several_keys_of_one_name_a_finding_names_its_own():
    found = diagnose(GEMMA | {"rope_theta": 1e6}, GEMMA | {"rope_theta": 5e5, "rope_local_base_freq": 2e4}).findings
    assert {finding.fix for finding in found} == {
        "Set rope_theta to 1000000.0, where it is 500000.0.",
        "Set rope_local_base_freq to 10000.0, where it is 20000.0.",
    }


def test_keys_are_named_where_no_mistake_explains_their_difference():
    long = {"rope_type": "longrope", "original_max_position_embeddings": 1024, "short_factor": [1.0] * 8}
    one, other = (LLAMA | {"rope_scaling": long | {"long_factor": [2.0] * 7 + [last]}} for last in (2.0, 2.5))
    found = diagnose(one | {"max_position_embeddings": 4096}, other | {"max_position_embeddings": 4096})
    assert not found.explained
    assert found.notes[0].startswith("the files differ in their keys. Set rope_scaling.long_factor to (2.0, ")


def test_a_key_that_transformers_ignores_and_others_read_is_named_where_files_differ_in_it():
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2]}
    text = {"model_type": "qwen3_vl_text", "head_dim": 16, "num_hidden_layers": 2}
    one, other = (text | {"rope_scaling": rope | {"mrope_interleaved": value}} for value in (True, False))
    found = diagnose(one, other)
    assert found.agree
    assert found.verdict == "agree in what was compared"
    said = "rope_scaling.mrope_interleaved = {} is not read by its class; others may (the {} alone)"
    assert found.not_compared == (said.format(True, "first"), said.format(False, "second"))
    assert diagnose(one, one).not_compared == ()
    assert diff(one_model := from_config(one), one_model).verdict.startswith("agree in everything")


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


def test_a_finding_on_queries_alone_says_so_once():
    meant, positions = RoPE(64), np.arange(256)
    q, k = np.random.default_rng(0).standard_normal((2, 4, 256, 64))
    rotated, keys = (np.stack([meant.rotation(positions)(head) for head in heads]) for heads in (q, k))
    found = diagnose(meant, {"q": q, "q_rotated": rotated[[1, 0, 2, 3]], "k": k, "k_rotated": keys}).findings[0]
    assert (found.name, found.where) == ("order of heads", "queries alone")
    assert found.fix.endswith("This concerns queries alone; the others are right.")
