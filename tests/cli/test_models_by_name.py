"""`posenc explain llama-3` and `posenc list gpt2`: released models without any network."""

import socket

import pytest


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refused(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)


def test_a_model_is_explained_by_its_name(posenc):
    ran = posenc("explain", "llama-3")
    assert ran.code == 0
    assert ran.out.startswith("Llama 3 8B\n")
    assert "35 of 64 pairs within 8,192" in " ".join(ran.out.split())
    assert "litgpt/config.py" in ran.out
    assert "rope_theta = 500000.0 (file: rope_theta)" in ran.out


def test_axes_of_a_model_for_images(posenc):
    ran = posenc("explain", "qwen2-vl")
    assert "time has 0-15, height has 16-39, width has 40-63" in " ".join(ran.out.split())


def test_facts_for_programs(posenc):
    data = posenc("explain", "gpt2", "--json").data
    assert (data["name"], data["layers"][0]["encoding"]) == ("GPT-2", "Learned")
    assert data["config"]["n_positions"] == data["layers"][0]["reach"] == 1024
    assert data["positions"]["model_type"] == "gpt2"
    (listed,) = posenc("list", "gpt2", "--json").data
    assert listed == data


def test_all_models_are_listed(posenc):
    ran = posenc("list", "--models")
    assert ran.code == 0
    assert all(name in ran.out for name in ("Llama 3 8B", "GPT-2", "Qwen2-VL 7B", "DeepSeek-V3", "BLOOM 176B"))


def test_a_name_that_begins_several_says_so(posenc):
    assert "'qwen' begins the names of" in posenc("list", "qwen").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("explain", "lama-3"), "near ones are Llama 3 8B"),
        (("list", "lama-3"), "near ones are Llama 3 8B"),
        (("list", "nothing like it"), "`posenc list --models` shows the models"),
        (("explain", "llama-3", "--position", "3"), "position must be left out for a model by name"),
        (("explain", "llama-3", "--length", "9"), "length must be left out for a model by name"),
        (("list", "gpt2", "--door", "adds"), "name must be that of an encoding; got 'gpt2'"),
        (("list", "gpt2", "--models"), "models must come without a name"),
    ],
)
def test_what_is_no_model(posenc, words, said):
    ran = posenc(*words)
    assert ran.code == 2
    assert said in ran.err


def test_a_sentence_stays_a_sentence(posenc):
    """A model's name with --versus is a sentence."""
    assert posenc("explain", "llama 3", "--versus", "3 llama").code == 0
