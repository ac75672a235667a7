"""What a plan says to write is taken by the class of transformers, which then has the frequencies that were planned."""

import json
from typing import Any

import numpy as np
import pytest

from posenc.models import plan_context

pytest.importorskip("transformers")

from transformers import AutoConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

SIZES = {
    "hidden_size": 128, "num_attention_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 4096,
    "rope_theta": 10_000.0,
}  # fmt: skip
TRAINED = "original_max_position_embeddings"
LLAMA, PHI3 = SIZES | {"model_type": "llama"}, SIZES | {"model_type": "phi3"}
WRITTEN = ["Llama 3", "YaRN", "larger base", "linear", "as it is"]


@pytest.mark.parametrize(
    ("config", "rotary", "names"),
    [
        (LLAMA, LlamaRotaryEmbedding, WRITTEN),
        (LLAMA | {TRAINED: None}, LlamaRotaryEmbedding, WRITTEN),
        (LLAMA | {TRAINED: 2048}, LlamaRotaryEmbedding, WRITTEN),
        (PHI3 | {TRAINED: 4096}, Phi3RotaryEmbedding, ["larger base", "as it is"]),
    ],
)
def test_the_class_has_the_planned_frequencies(config: dict[str, Any], rotary: Any, names: list[str]) -> None:
    plan = {one.candidate.name: one for one in plan_context(config, length=16_384).candidates}
    texts = {name: dict(one.snippets).get("transformers") for name, one in plan.items() if name != "dynamic"}
    assert {name for name, text in texts.items() if text} == set(names)
    for name in names:
        keys = json.loads(str(texts[name]))
        made = rotary(AutoConfig.for_model(**(config | keys)))
        encoding = plan[name].candidate.encoding
        frequencies = [float(one) for one in encoding.frequencies.exact()]
        assert made.inv_freq.numpy() == pytest.approx(np.array(frequencies), rel=1e-5), name
        assert made.attention_scaling == pytest.approx(plan[name].figures.attention), name


def test_phi3_is_told_of_options_of_engines_alone() -> None:
    plan = {one.candidate.name: one for one in plan_context(PHI3 | {TRAINED: 4096}, length=16_384).candidates}
    assert [engine for engine, _ in plan["YaRN"].snippets] == ["llama.cpp"]
    assert plan["YaRN"].checked.endswith("takes no rope_type but longrope")
