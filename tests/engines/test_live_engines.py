"""Real engines, each in its own environment: what is known of them from outside is found unaided."""

from __future__ import annotations

import pytest

from posenc.engines import EngineRow, engine_table

GPT_OSS = {
    "model_type": "gpt_oss", "head_dim": 64, "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8,
    "num_hidden_layers": 24, "layer_types": ["sliding_attention", "full_attention"] * 12, "sliding_window": 128,
    "max_position_embeddings": 131072, "rope_theta": 150000, "num_local_experts": 32, "num_experts_per_tok": 4,
    "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                     "original_max_position_embeddings": 4096},
}  # fmt: skip
SAVED_BY_TRANSFORMERS_5 = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
                        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
}  # fmt: skip


def rows(config: dict[str, object], *names: str) -> dict[str, EngineRow]:
    """Rows by engine; skips where one could not be installed."""
    found = {row.engine: row for row in engine_table(config, engines=names).rows}
    for row in found.values():
        if row.failure.startswith(("downloading", "making its environment", "finding what it runs on")):
            pytest.skip(f"{row.engine} cannot be installed here: {row.failure}")
        assert row.failure == ""
    return found


@pytest.mark.nightly
def test_gpt_oss_is_truncated_by_two_engines() -> None:
    found = rows(GPT_OSS, "transformers", "mlx-lm", "llama.cpp")
    assert not found["transformers"].differs
    for name in ("mlx-lm", "llama.cpp"):
        assert "truncate is True where False is meant" in found[name].cells["frequencies"].value
        assert any("#27722" in report for report in found[name].reports)


@pytest.mark.nightly
def test_a_folder_saved_by_transformers_5_in_mlx_lm() -> None:
    (row,) = rows(SAVED_BY_TRANSFORMERS_5, "mlx-lm").values()
    assert row.cells["frequencies"].differs
    assert row.write.startswith('"rope_theta": 500000.0 and "rope_scaling"')


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["onnxruntime-genai", "mobius", "openvino"])
def test_whole_models_agree_on_llama_with_the_older_keys(name: str) -> None:
    parameters = dict(SAVED_BY_TRANSFORMERS_5["rope_parameters"])  # type: ignore[call-overload]
    older = {key: value for key, value in SAVED_BY_TRANSFORMERS_5.items() if key != "rope_parameters"}
    older |= {"rope_theta": parameters.pop("rope_theta"), "rope_scaling": parameters, "vocab_size": 1000}
    (row,) = rows(older, name).values()
    assert {cell.source for cell in row.cells.values()} == {"live"}
    assert not row.differs


@pytest.mark.nightly
def test_ctranslate_2_leaves_the_factor_of_llama_3_out() -> None:
    (row,) = rows({**SAVED_BY_TRANSFORMERS_5, "vocab_size": 1000}, "ctranslate2").values()
    assert "is not applied" in row.cells["frequencies"].value


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["vllm", "sglang", "megatron-core", "torchtitan", "keras-hub", "transformers-4"])
def test_engines_agree_on_llama_3(name: str) -> None:
    (row,) = rows({**SAVED_BY_TRANSFORMERS_5, "vocab_size": 1000}, name).values()
    assert row.cells["pairs"].source == "live"


@pytest.mark.nightly
def test_long_rope_is_chosen_by_the_sequence_or_by_the_served_length() -> None:
    longrope = {"rope_type": "longrope", "short_factor": [1.0] * 16, "long_factor": [1.0 + 2.0 * i for i in range(16)]}
    config = {
        "model_type": "phi3", "hidden_size": 256, "num_attention_heads": 8, "num_hidden_layers": 2, "vocab_size": 1000,
        "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "rope_scaling": longrope,
    }  # fmt: skip
    found = rows(config, "vllm", "sglang")
    assert found["sglang"].cells["frequencies"].value == "as the file"
    assert found["vllm"].cells["frequencies"].value.startswith("The long list of LongRoPE is used where the short one")
    assert found["vllm"].reports[0].startswith("vllm-project/vllm#27431")
