"""Released models by name: the names that people type, and figures that follow from the configs alone."""

import json
import math
from pathlib import Path

import pytest

from posenc.models.released.position_facts import position_facts
from posenc.models.released.released_models import models_called, near_names, released_models

#: Values of checkpoints with what each must be read as, by another hand (test_released.py).
EXPECTED = {
    one["checkpoint"]: one for one in json.loads((Path(__file__).parent / "released.json").read_text(encoding="utf-8"))
}


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("llama-3", "Llama 3 8B"),
        ("llama3", "Llama 3 8B"),
        ("Llama-3.1-8B", "Llama 3.1 8B"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "Llama 3 8B"),
        ("gpt2", "GPT-2"),
        ("gpt-2", "GPT-2"),
        ("mistral", "Mistral 7B v0.3"),
        ("qwen2-vl", "Qwen2-VL 7B"),
        ("qwen3", "Qwen3 8B"),
        ("gemma-3", "Gemma 3 27B"),
        ("google/gemma-3-1b-it", "Gemma 3 1B"),
        ("phi3", "Phi-3.5 mini"),
        ("deepseek-v3", "DeepSeek-V3"),
        ("bert-base-uncased", "BERT base"),
        ("cohere2", "Command R7B"),
        ("GLM4", "GLM-4 9B"),
    ],
)
def test_names_that_people_type(typed, name):
    assert models_called(typed)[0].name == name


@pytest.mark.parametrize("typed", ["", "!", "llama-9", "gpt4", "Dog bites man", "RoPE"])
def test_other_names_are_no_models(typed):
    assert models_called(typed) == ()


def test_near_names():
    assert near_names("lama-3")[0] == "Llama 3 8B"
    assert "Llama 3 8B" in near_names("llama-3-70b")
    assert near_names("Dog bites man") == ()


def test_every_model_is_read_and_says_where_it_stands():
    models = released_models()
    assert len({model.name for model in models}) == len(models) > 50
    for model in models:
        assert model.source
        assert models_called(model.name)[0].name == model.name
        for facts in position_facts(model):
            assert facts.sentences
            assert facts.reach is None or facts.reach > 1
            assert (facts.encoding == "none") == (facts.sentences[0] == "no positional encoding")


def test_configs_are_read_as_another_list_of_released_checkpoints_has_them():
    both = [model for model in released_models() if model.name in EXPECTED]
    assert len(both) > 12
    for model in both:
        expected = EXPECTED[model.name]["expect"]
        groups = model.positions.groups
        assert [" ".join(map(repr, group.encodings)) for group in groups] == [one[2] for one in expected], model.name


@pytest.mark.parametrize(
    ("name", "rotated", "base", "context"),
    [
        ("Llama 2 7B", 128, 10_000, 4096),
        ("Llama 3 8B", 128, 500_000, 8192),
        ("Pythia 6.9B", 32, 10_000, 2048),
        ("GLM-4 9B", 64, 10_000, 8192),
        ("Qwen2-VL 7B", 128, 1_000_000, 32768),
        ("Gemma 2 9B", 256, 10_000, 4096),
    ],
)
def test_pairs_that_turn_a_whole_circle(name, rotated, base, context):
    """λ_i = 2π·base^(2i/d) by hand; of Gemma 2's layers the first has a window of 4,096 keys."""
    facts = position_facts(models_called(name)[0])[0]
    lengths = [2 * math.pi * base ** (2 * pair / rotated) for pair in range(rotated // 2)]
    assert facts.reach == context
    assert facts.wavelengths == pytest.approx(lengths, rel=1e-12)
    assert facts.whole == len([length for length in lengths if length <= context])
