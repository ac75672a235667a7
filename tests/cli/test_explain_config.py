"""`posenc explain config.json`: a row a group of layers, in words, and where every value comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from effort import calls_at_most
from posenc.explorer.views.config_view import ConfigView
from posenc.models import from_config
from posenc.models.layer_sentences import in_words

LLAMA = {
    "model_type": "llama",
    "rope_theta": 500_000.0,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 131_072,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}


@pytest.fixture
def config(tmp_path):
    def write(**changes):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(LLAMA | changes))
        return str(path)

    return write


def test_a_row_a_group_in_words(posenc, config, tmp_path):
    out = posenc("explain", config()).out
    assert "RoPE: all 128 channels of a head, pairs (i, i + half), base 500,000, scaled by" in " ".join(out.split())
    assert "0-3" in out
    assert "rope_theta = 500000.0 (file: rope_theta)" in out
    assert posenc("explain", str(tmp_path)).out == out


def test_json_is_the_encoding(posenc, config):
    data = posenc("explain", config(), "--json").data
    assert data["model_type"] == "llama"
    assert len(data["fingerprint"]) == 16
    group = data["groups"][0]
    assert group["layers"] == [0, 1, 2, 3]
    assert group["pairing"] == "halves"
    assert {"name": "factor", "value": 8.0, "source": "file", "key": "rope_scaling.factor"} in group["values"]


def test_a_key_that_no_class_reads_is_named_and_one_that_is_not_understood_can_be_waived(posenc, config):
    path = config(rope_style="spiral")
    assert "rope_style = 'spiral' is read by no class of transformers" in posenc("explain", path).out
    path = config(use_mrope=True)
    refused = posenc("explain", path)
    assert refused.code == 2
    assert "give --waive use_mrope" in refused.err
    read = posenc("explain", path, "--waive", "use_mrope")
    assert read.code == 0
    assert "use_mrope = True is waived" in read.out


@pytest.mark.parametrize("verb", ["doctor", "diff"])
def test_a_verdict_names_the_keys_that_are_waived(posenc, config, verb):
    path = config(rope_style="spiral")
    ran = posenc(verb, path, path, "--waive", "rope_style")
    assert ran.code == 3
    assert "in what was compared\n" in ran.out
    assert "not compared, because posenc does not read it: rope_style = 'spiral' is waived\n" in ran.out
    # A key that would be read and is waived all the same is left out, so it is named too.
    assert (
        "rope_scaling.rope_type = 'llama3' is waived"
        in posenc(verb, path, path, "--waive", "rope_type", "rope_style").out
    )
    idle = posenc(verb, path, path, "--waive", "rope_style", "hidden_size")
    assert idle.code == 2
    assert "waive must name keys of the config that posenc would otherwise reject; got 'hidden_size'" in idle.err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[1, 2]",
        b"{",
        b"\x80\x04\x95pickle",
        b'{"model_type": 3}',
        b'{"model_type": "llama", "rope_theta": NaN}',
        b'{"model_type": "llama", "rope_theta": -1e999, "hidden_size": 64, "num_attention_heads": 4, '
        b'"num_hidden_layers": 1}',
        b'{"a":' * 100_000,
        b" " * (100 << 20),
    ],
    ids=["empty", "list", "cut", "pickle", "number", "nan", "infinite", "deep", "100 MB"],
)
def test_hostile_files_get_one_line_at_once(posenc, tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with calls_at_most():
        ran = posenc("explain", str(path))
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.safetensors", "dump.npz", "absent.json"])
def test_what_is_no_config_is_refused(posenc, tmp_path, name):
    ran = posenc("explain", str(tmp_path / name))
    assert ran.code == 2
    assert ran.err.startswith("posenc explain: config must")


def test_options_of_a_config_belong_to_a_config(posenc):
    ran = posenc("explain", "RoPE(dim=8)", "--length", "100")
    assert ran.code == 2
    assert "length must be left out for an encoding" in ran.err


#: Model types, with keys of a file; the sentence of its first group in words; and what explain() says of the same.
SAID = (
    ("t5", {}, "T5Bias: a bias for each of 8 heads, heads=8, buckets=32", "T5Bias(heads=8"),
    ("t5", {}, "logits are multiplied by 8 besides 1/√d", "logits are multiplied by 8 besides 1/√d"),
    (
        "mpnet",
        {},
        "Learned: a vector of 768 channels, 512 rows is added to the embeddings",
        "before the layers: Learned",
    ),
    ("mpnet", {}, "the first token reads row 2 of the table", "the first token reads row 2 of the table"),
    (
        "falcon",
        {"alibi": True, "num_attention_heads": 8, "hidden_size": 64},
        "biases are multiplied by 0.353553 before they are added to the scaled logits",
        "biases are multiplied by 0.353553",
    ),
    (
        "gptj",
        {},
        "RoPE: 64 of 256 channels from 0 of a head, pairs (2i, 2i+1), base 10,000, one revolution in 6.283",
        "Partial(",
    ),
    (
        "llama",
        {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}},
        "cos and sin times 1.13863",
        "scaling=YaRN(factor=4.0",
    ),
)


@pytest.mark.parametrize(("model_type", "keys", "words", "line"), SAID, ids=[f"{row[0]} {row[2][:12]}" for row in SAID])
def test_what_a_group_does_is_said_in_words_and_as_a_line(
    model_type: str, keys: dict[str, Any], words: str, line: str
) -> None:
    group = from_config({"model_type": model_type, **keys}).groups[0]
    assert any(words in sentence for sentence in in_words(group))
    assert line in group.explain()


def test_layers_without_positions_and_the_temperature_of_their_queries_are_said() -> None:
    group = next(group for group in from_config({"model_type": "llama4_text"}).groups if not group.encodings)
    nothing, temperature = in_words(group)
    assert nothing == "no positional encoding"
    assert temperature.startswith("queries are multiplied by StepTemperature(")
    assert ": no positional encoding. queries are multiplied by StepTemperature(" in group.explain()


def test_what_rotates_besides_queries_and_keys_is_said_in_words(posenc, config):
    said = " ".join(posenc("explain", config(model_type="deepseek_v4", num_hidden_layers=4)).out.split())
    assert "compressor: rotated as queries and keys are, vector i at position 128·i" in said
    assert "indexer: RoPE: 64 of 128 channels from 64 of a head" in said
    assert "output: rotated back by as much" in said
    assert "numerics=" not in said


def test_layers_that_draft_stand_in_words_and_in_data(posenc, config):
    path = config(model_type="glm4_moe", head_dim=64, num_nextn_predict_layers=2, rope_scaling=None)
    assert "draft  4-5" in posenc("explain", path).out
    said = posenc("explain", path, "--json").data["groups"]
    shown = ConfigView(config=json.loads(Path(path).read_text())).facts()["groups"]
    for groups in (said, shown):
        assert [(group["part"], group["layers"]) for group in groups] == [("text", [0, 1, 2, 3]), ("draft", [4, 5])]


def test_pairs_of_time_height_and_width_are_told_apart(posenc, config):
    rope = {"rope_type": "default", "mrope_section": [24, 20, 20]}
    said = posenc("explain", config(model_type="qwen3_vl_text", head_dim=128, rope_scaling=rope)).out
    assert "of which time has 0, 3, … 60 and 61-63, height has 1, 4, … 58, width has 2, 5, … 59" in " ".join(
        said.split()
    )


def test_an_encoder_and_a_decoder_of_one_type_keep_their_names(posenc, tmp_path):
    part = {"model_type": "t5_gemma_module", "num_hidden_layers": 2}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5gemma", "encoder": part, "decoder": part}))
    found = posenc("explain", str(tmp_path), "--json").data
    assert [group["part"] for group in found["groups"]] == ["decoder", "decoder", "encoder", "encoder"]
