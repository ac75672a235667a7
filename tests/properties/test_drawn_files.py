"""Configs with any value in any of their keys, and GGUF files with any bytes changed: read, or refused in one line."""

from __future__ import annotations

from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from posenc.models import ModelPositions, from_config, from_gguf
from properties.strategies import answered

BASES: tuple[dict[str, Any], ...] = (
    {"model_type": "llama", "rope_theta": 5e5, "head_dim": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
     "hidden_size": 256, "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
    {"model_type": "gemma3_text", "head_dim": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "hidden_size": 256,
     "sliding_window": 512, "rope_local_base_freq": 1e4, "rope_theta": 1e6},
    {"model_type": "gpt2", "n_positions": 128, "n_embd": 64, "n_layer": 2, "n_head": 4},
    {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "num_hidden_layers": 2,
     "num_attention_heads": 4, "hidden_size": 256, "rope_theta": 1e4},
)  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)
NEW = (
    "rope_parameters", "rope_scaling", "layer_types", "sliding_window", "partial_rotary_factor",
    "max_position_embeddings",
)  # fmt: skip


@st.composite
def configs(draw: Any) -> dict[str, Any]:
    """A config of one of the types, with one to three of its keys set to anything that JSON can hold."""
    config = dict(draw(st.sampled_from(BASES)))
    for key in draw(st.lists(st.sampled_from((*config, *NEW)), min_size=1, max_size=3, unique=True)):
        config[draw(st.sampled_from((key, f"{key}\n", f"\x1b{key}")))] = draw(JSON)
    return config


@given(configs())
@example(BASES[0] | {"rope_\ntheta": 1e4})
@example(BASES[0] | {"rope_scaling": {"rope_type": "linear", "factor": 2.0, "rope_\nfactor": 3}})
@example({"model_type": "mine\n", "sliding_\nwindow": 4})
@settings(max_examples=150, deadline=None)
def test_any_value_of_a_key_is_read_or_refused(config: dict[str, Any]) -> None:
    assert isinstance(answered(lambda: from_config(config)), ModelPositions | None)


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small GGUF file of a Llama, as the gguf package writes it."""
    path = tmp_path_factory.mktemp("gguf") / "whole.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for key, number in {
        "block_count": 2,
        "context_length": 2048,
        "embedding_length": 256,
        "attention.head_count": 4,
    }.items():
        writer.add_uint32(f"llama.{key}", number)
    writer.add_float32("llama.rope.freq_base", 5e5)
    writer.add_tensor("token_embd.weight", np.ones((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4), st.integers(0, 600))
@example([], 10_000)
@example([(239, 10)], 10_000)  # a line break in the key rope.freq_base
@settings(max_examples=200, deadline=None)
def test_any_bytes_of_a_gguf_file_are_read_or_refused(
    whole_file: bytes, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], kept: int
) -> None:
    data = bytearray(whole_file)
    for place, byte in changes:
        data[place % len(data)] = byte
    path = tmp_path_factory.getbasetemp() / "drawn.gguf"
    path.write_bytes(data[:kept])
    read = answered(lambda: from_gguf(path))
    assert isinstance(read, ModelPositions | None)
    assert read is not None or changes or kept < len(whole_file)
