"""A file that says two things of one value, or gives attention what its class does not read, is read with a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from every import every
from posenc.diagnosis import diagnose
from posenc.models import from_config

RELEASED = json.loads((Path(__file__).parent / "released.json").read_text(encoding="utf-8"))
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}
YARN = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 512}
GEMMA = {
    "model_type": "gemma3_text", "num_hidden_layers": 6,
    "rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
}  # fmt: skip
BY_CLASS = "is not read by its class"
#: Files that contradict themselves, and all that they are told.
CONTRADICTING: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a base next to the object": (
        LLAMA | {"rope_theta": 1e4, "rope_parameters": LINEAR},
        (f"rope_theta = 10000.0 {BY_CLASS}, which reads rope_parameters.rope_theta = 500000.0",),
    ),
    "two types": (
        LLAMA | {"rope_scaling": LINEAR | {"type": "dynamic"}},
        (f"rope_scaling.type = 'dynamic' {BY_CLASS}, which reads rope_scaling.rope_type = 'linear'",),
    ),
    "two objects": (
        LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 4.0}, "rope_parameters": LINEAR},
        (
            f"rope_parameters.factor = 2.0 {BY_CLASS}, which reads rope_scaling.factor = 4.0",
            f"rope_parameters.rope_theta = 500000.0 {BY_CLASS}, which takes its default "
            "rope_parameters.rope_theta = 10000.0",
        ),
    ),
    "a trained length next to the object": (
        LLAMA | {"rope_scaling": YARN, "original_max_position_embeddings": 256},
        (
            f"rope_scaling.original_max_position_embeddings = 512 {BY_CLASS}, which reads "
            "original_max_position_embeddings = 256",
        ),
    ),
    "a share next to the object": (
        LLAMA | {"rope_scaling": LINEAR | {"partial_rotary_factor": 0.5}, "partial_rotary_factor": 0.25},
        (f"partial_rotary_factor = 0.25 {BY_CLASS}, which reads rope_scaling.partial_rotary_factor = 0.5",),
    ),
    "two names of a width": (
        {"model_type": "gpt2", "n_embd": 64, "hidden_size": 32, "n_head": 4, "n_layer": 2},
        (f"n_embd = 64 {BY_CLASS}, which reads hidden_size = 32",),
    ),
    "a base of the layers with a window": (
        GEMMA | {"rope_local_base_freq": 2e4, "rope_theta": 1e6},
        (
            f"rope_local_base_freq = 20000.0 {BY_CLASS}, which reads "
            "rope_parameters.sliding_attention.rope_theta = 10000.0",
        ),
    ),
    "a scaling next to the objects": (
        GEMMA | {"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
        (
            f"rope_parameters.full_attention.factor = 8.0 {BY_CLASS}, which reads rope_scaling.factor = 4.0",
        ),
    ),
}  # fmt: skip
#: Files that say one thing twice, or state a null.
REPEATING: dict[str, dict[str, Any]] = {
    "a base": LLAMA | {"rope_theta": 500000, "rope_parameters": LINEAR},
    "a type": LLAMA | {"rope_scaling": LINEAR | {"type": "linear"}},
    "an older name of a type": LLAMA | {"rope_scaling": {"rope_type": "default", "type": "mrope"}},
    "an object": LLAMA | {"rope_scaling": LINEAR, "rope_parameters": LINEAR},
    "a trained length": LLAMA | {"rope_scaling": YARN, "original_max_position_embeddings": 512},
    "a width": {"model_type": "gpt2", "n_embd": 64, "hidden_size": 64, "n_head": 4, "n_layer": 2},
    "bases of two types": GEMMA | {"rope_local_base_freq": 1e4, "rope_theta": 1e6},
    "no window": LLAMA | {"sliding_window": None, "use_sliding_window": False},
    "a flag of other classes": LLAMA | {"scale_attn_weights": True},
    "a window that its class turns off": LLAMA
    | {"model_type": "qwen2", "sliding_window": 32768, "max_window_layers": 2},
}


def notes(config: dict[str, Any], **options: Any) -> tuple[str, ...]:
    found = from_config(config, **options)
    return (*found.notes, *(note for group in found.groups for note in group.notes))


def test_a_value_that_another_overrides_is_named_with_the_one_that_counts():
    def check(name: str) -> None:
        config, expected = CONTRADICTING[name]
        assert notes(config) == expected

    every(CONTRADICTING, check)


def test_what_is_said_twice_alike_is_no_contradiction():
    every(REPEATING, lambda name: assert_silent(REPEATING[name]))


def assert_silent(config: dict[str, Any]) -> None:
    assert notes(config) == ()


def test_released_files_contradict_nothing():
    told = {one["checkpoint"]: notes(one["config"]) for one in RELEASED}
    assert not {name: said for name, said in told.items() if "which reads" in str(said) or "which takes" in str(said)}


def test_what_a_caller_states_or_waives_is_no_contradiction():
    config = LLAMA | {"rope_theta": 1e4, "rope_parameters": LINEAR}
    assert notes(config, stated={"rope_theta": 2e4}) == ()
    two_types = LLAMA | {"rope_scaling": LINEAR | {"type": "dynamic"}}
    assert notes(two_types, waive=["rope_scaling.type"]) == ("rope_scaling.type = 'dynamic' is waived",)
    assert notes(LLAMA | {"attention_multiplier": 2}, waive=["attention_multiplier"]) == (
        "attention_multiplier = 2 is waived",
    )


def test_numbers_of_attention_that_its_class_does_not_read_are_named_and_not_compared():
    def check(key: str) -> None:
        (note,) = notes(LLAMA | {key: 0.5})
        assert note == f"{key} = 0.5 {BY_CLASS}"
        assert diagnose(LLAMA, LLAMA | {key: 0.5}).not_compared == (f"{note}; others may (the second alone)",)
        mine = LLAMA | {"model_type": "mine", "rope_theta": 1e4, key: 0.5}
        assert notes(mine, stated={"pairing": "halves"})[0].startswith(f"{key} = 0.5 is not read")

    every(["attention_multiplier", "query_pre_attn_scalar", "attn_logit_softcapping"], check)
    assert notes({**LLAMA, "model_type": "granite", "attention_multiplier": 0.5}) == ()


def test_a_window_of_a_class_without_windows_is_one_of_its_caches():
    def told(**keys: Any) -> tuple[str, ...]:
        return notes(LLAMA | keys)

    (note,) = told(sliding_window=4)
    assert note.startswith("sliding_window = 4: its class has no such key, and shows a query all keys in one pass")
    assert told(sliding_window=4, layer_types=["full_attention"] * 2) == (f"sliding_window = 4 {BY_CLASS}",)
    assert diagnose(LLAMA, LLAMA | {"sliding_window": 4}).not_compared == (f"{note} (the second alone)",)
    assert "attention_chunk_size = 8: its class has no" in str(told(attention_chunk_size=8))
