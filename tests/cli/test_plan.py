"""`posenc plan`: the table, the snippets, JSON, and one-line errors."""

from __future__ import annotations

import json

import pytest

CONFIG = {
    "model_type": "llama",
    "rope_theta": 1e4,
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
}
CONFIG |= {"max_position_embeddings": 2048}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    return str(path)


def test_the_plan_in_words(posenc, config):
    ran = posenc("plan", config, "--length", "8192")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("llama: from 2,048 to 8,192 positions\n")
    for word in (
        "Llama 3",
        "YaRN",
        "linear",
        "dynamic",
        "larger base",
        "as it is",
        "rule of thumb",
        "vllm serve",
        "llama-server",
    ):
        assert word in ran.out
    assert "transformers, keys of config.json: {" in ran.out
    assert ran.out.endswith("What to write for the other ways (dynamic, linear, as it is) is in --json, under ways.\n")


def test_the_plan_as_json(posenc, config):
    data = posenc("plan", config, "--length", "8192", "--typical", "100", "--json").data
    assert (data["trained"], data["length"], data["typical"]) == (2048, 8192, 100)
    assert len(data["ways"]) == 6
    assert {band["name"] for band in data["ways"][0]["figures"]["bands"]} == {"fast", "middle", "slow"}
    assert data["least_base"] > 8192
    for way in data["ways"]:
        assert json.loads(way["snippets"]["transformers"])["max_position_embeddings"] in (2048, 8192)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--length", "-5"), "length must be an integer from 2"),
        (("--length", "8192", "--trained", "1"), "trained must be"),
    ],
)
def test_refusals(posenc, config, words, says):
    ran = posenc("plan", config, *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert ran.err.count("\n") == 1
