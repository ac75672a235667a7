"""Configs that mean harm or make no sense: one line of an error, at once, and nothing allocated."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from effort import calls_at_most
from every import every
from posenc.models import from_config, from_megatron
from posenc.models.config.json_file import LARGEST_FILE

#: More than the class table takes when it is first read; far below what a hostile number would ask for.
MOST_BYTES = 64 << 20
WHOLE = ("hidden_size", "num_attention_heads", "num_hidden_layers", "head_dim", "max_position_embeddings")
HOSTILE: list[Any] = [
    10**30, -1, 0, 2**63, 1.5, float("nan"), float("inf"), -float("inf"), True, "12", [], [8], {}, {"a": 1}, "\x00" * 9,
    1e400, b"8",
]  # fmt: skip


#: What a hostile value of a key that the model reads may be, to be answered: any other is refused.
ANY_BASE = (10**30, 2**63, 1.5)
MEANT = {
    **dict.fromkeys(("hidden_size", "num_attention_heads", "num_hidden_layers", "head_dim", "layer_types"), ()),
    "rope_theta": ANY_BASE,
    "rope_scaling": (0, [], {}, {"a": 1}),
}
WHOLE_SCALING = {
    "factor": 4.0,
    "original_max_position_embeddings": 1024,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
WHOLE_SCALING |= {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
EVERY_SCALING = {"factor": (1.5,), "rope_type": (), "partial_rotary_factor": ()}
ORIGINAL = {"original_max_position_embeddings": ()}
MEANT_BY_SCALING: dict[str, dict[str, tuple[Any, ...]]] = {
    "linear": EVERY_SCALING | {"rope_theta": ANY_BASE},
    "dynamic": EVERY_SCALING | {"rope_theta": ANY_BASE},
    # A base of 1.5 is too small for YaRN: every pair would turn more often than its band says.
    "yarn": EVERY_SCALING | ORIGINAL | {"rope_theta": (10**30, 2**63), "beta_fast": (0, 1.5), "truncate": (True,),
        "attention_factor": (1.5,)},
    "longrope": EVERY_SCALING | ORIGINAL | {"rope_theta": ANY_BASE, "short_factor": (), "long_factor": (),
        "attention_factor": (1.5,)},
    "llama3": EVERY_SCALING | ORIGINAL | {"rope_theta": ANY_BASE, "low_freq_factor": (1.5,)},
    "proportional": EVERY_SCALING | {"rope_theta": ANY_BASE},
}  # fmt: skip


def refused(config: Any) -> bool:
    """Whether there is no answer: then a ValueError or TypeError of one line, and in any case quickly and cheaply."""
    said = ""
    tracemalloc.start()
    try:
        with calls_at_most():
            from_config(config)
    except (ValueError, TypeError) as problem:
        said = str(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in said
    assert len(said) < 700
    assert peak < MOST_BYTES
    return said != ""


@pytest.mark.parametrize("key", MEANT)
def test_what_means_nothing_is_refused(key: str):
    def check(value: Any) -> None:
        assert refused({"model_type": "llama", key: value}) == (value not in MEANT[key])

    every(HOSTILE, check)


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in MEANT_BY_SCALING.items() for key in keys])
def test_what_means_nothing_in_a_scaling_is_refused(kind: str, key: str):
    def check(value: Any) -> None:
        config = {"model_type": "llama", "rope_scaling": {"rope_type": kind, **WHOLE_SCALING, key: value}}
        assert refused(config) == (value not in MEANT_BY_SCALING[kind][key])

    every(HOSTILE, check)


@pytest.mark.parametrize(
    "key", [*WHOLE, "rope_theta", "rope_scaling", "rope_parameters", "layer_types", "partial_rotary_factor"]
)
def test_any_value_of_a_rotary_model_is_answered_or_refused(key: str):
    def check(value: Any) -> None:
        refused({"model_type": "llama", key: value})
        refused({"model_type": "gemma3_text", key: value})
        refused({"model_type": "qwen2_vl", "vision_config": {key: value}, key: value})

    every(HOSTILE, check)


@pytest.mark.parametrize(
    "key",
    ["factor", "rope_type", "rope_theta", "original_max_position_embeddings", "short_factor", "long_factor",
        "beta_fast",
     "low_freq_factor", "mscale", "truncate", "attention_factor", "mrope_section", "partial_rotary_factor"],
)  # fmt: skip
def test_any_value_inside_rope_parameters_is_answered_or_refused(key: str):
    def check(value: Any) -> None:
        for kind in MEANT_BY_SCALING:
            refused({"model_type": "llama", "rope_scaling": {"rope_type": kind, **WHOLE_SCALING, key: value}})
        refused({"model_type": "qwen2_vl_text", "rope_scaling": {"rope_type": "default", key: value}})

    every(HOSTILE, check)


@pytest.mark.parametrize(
    "model_type", ["bert", "roberta", "opt", "whisper", "t5", "mpt", "deberta-v2", "vit", "gptj", "llama4_text"]
)
def test_any_value_of_other_models_is_answered_or_refused(model_type: str):
    keys = ("max_position_embeddings", "hidden_size", "pad_token_id", "relative_attention_num_buckets", "attn_config",
    "n_head",
            "image_size", "patch_size", "rotary_dim", "no_rope_layers", "pos_att_type", "position_buckets",
            "max_source_positions")  # fmt: skip

    def check(case: tuple[str, Any]) -> None:
        key, value = case
        refused({"model_type": model_type, "relative_attention": True, key: value})

    every(product(keys, HOSTILE), check)


def test_nothing_is_too_deep():
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="config must be nested at most 64 levels deep"):
        from_config({"model_type": "llama", "rope_scaling": deep})


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters", "sliding_window", "layer_types"])
@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: [x], lambda x: {"factor": x}])
def test_arrays_are_no_values_of_a_config(key: str, wrapped: Any):
    with pytest.raises(TypeError, match=rf"^config\['{key}'\].* must be what JSON holds; got array"):
        from_config({"model_type": "llama", key: wrapped(np.zeros(3))})


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", ValueError, "config must be JSON"),
        (b"{", ValueError, "config must be JSON"),
        (b"[" * 200_000, ValueError, "config must be JSON; got config.json, where objects are nested too deep"),
        (b"[1, 2]", TypeError, "config must hold a JSON object; got list"),
        (b'"llama"', TypeError, "config must hold a JSON object; got str"),
        (
            pickle.dumps({"model_type": "llama"}),
            ValueError,
            "config must be JSON; got config.json, where byte 0 is no UTF-8",
        ),
        (b"\xff\xfe\x00", ValueError, "where byte 0 is no UTF-8"),
        (b'{"model_type": "llama", "rope_theta": ' + b"9" * 5000 + b"}", ValueError, "config must be JSON"),
        (
            b'{"model_type": "llama", "model_type": "gpt2"}',
            ValueError,
            "config must be JSON; got config.json, where the key 'model_type' occurs twice",
        ),
        (b'{"model_type": "llama", "rope_theta": NaN}', ValueError, "rope_theta must be a finite number"),
    ],
)
def test_files_that_are_no_config(tmp_path: Any, content: bytes, error: type[Exception], message: str):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(error, match=message) as caught:
        from_config(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_large_file_is_refused_by_its_size(tmp_path: Any):
    place = tmp_path / "config.json"
    with place.open("wb") as file:
        file.truncate(100 << 20)  # a hole: nothing is written, nothing may be read
    with (
        calls_at_most(),
        pytest.raises(ValueError, match=f"config must be a file of at most {LARGEST_FILE} bytes; got 104857600"),
    ):
        from_config(place)


@pytest.mark.parametrize("path", ["no/such/place", "", "\x00", "x" * 5000])
def test_paths_that_lead_nowhere(path: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="config must name a file or a folder with"):
        from_config(path)


@pytest.mark.parametrize("config", [None, 3, [1], b"{}", json.dumps])
def test_what_is_no_config_at_all(config: Any):
    with pytest.raises(TypeError, match="config must be a dict, an object with to_dict"):
        from_config(config)


def test_an_object_with_to_dict_is_read_as_its_dict():
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    config |= {"rope_theta": 500_000.0, "max_position_embeddings": 8192}
    assert from_config(SimpleNamespace(to_dict=lambda: config)) == from_config(config)
    for kind, advice in ((SimpleNamespace(config=config), "Give model.config"), (dict, "Give one of these")):
        with pytest.raises(TypeError, match=rf"^config must be a dict, an object with to_dict\(\) .* {advice}"):
            from_config(kind)
    with pytest.raises(TypeError, match="config must be a dict"):
        from_config(SimpleNamespace(to_dict=lambda: [config]))


def test_an_error_about_many_keys_names_a_few():
    megatron = {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "position_embedding_type": "rope"}
    for keys, told in (({f"rope_{i}": 1 for i in range(50_000)}, "and 49994 more"), ({"rope_" + "x" * 10_000: 1}, "")):
        with pytest.raises(ValueError, match=f"^rope_.* must be understood.*{told}") as caught:
            from_megatron({**megatron, **keys})
        assert len(str(caught.value)) < 400
        assert all(len(note) < 250 for note in from_config({"model_type": "llama", **keys}).notes)
