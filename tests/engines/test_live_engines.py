"""Real engines, each in its own environment: what is known of them from outside is found unaided."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from posenc.engines import EngineRow, engine_table
from posenc.engines.cache_folder import cache_folder
from posenc.engines.compare_engines import compare_engines
from posenc.engines.engine import RUNNERS, named
from posenc.engines.engine_question import read_question
from posenc.engines.known_engines import known_engines

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
@pytest.mark.parametrize("name", ["onnxruntime-genai", "mobius", "openvino", "transformers.js"])
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


GPT2 = {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 3, "n_positions": 128, "vocab_size": 100}
#: What transformers.js is given, and what else it could be given: two mistakes in the positions that it makes itself.
PLANTED = {
    "cached keys are not counted": (
        "{ input_ids: rest, attention_mask: mask, past_key_values }",
        "{ input_ids: rest, attention_mask: mask, past_key_values, position_ids: integers(rest.tolist()"
        ".map((row) => row.map((_, at) => at))) }",
    ),
    "masked tokens are counted": (
        "const first = await model(inputs)",
        "const first = await model({ ...inputs, position_ids: integers(padded.map((row) => "
        "row.slice(0, cut).map((_, at) => at))) })",
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("planted", [None, *PLANTED])
def test_positions_that_transformers_js_makes(planted: str | None, tmp_path: Path) -> None:
    rows(
        {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}, "transformers.js"
    )
    engine = named(known_engines(), "transformers.js")
    for name in ("run_transformers_js.py", "run_transformers_js.mjs"):
        text = (RUNNERS / name).read_text(encoding="utf-8")
        if planted and name.endswith(".mjs"):
            right, wrong = PLANTED[planted]
            assert right in text
            text = text.replace(right, wrong)
        (tmp_path / name).write_text(text, encoding="utf-8")
    engine = replace(engine, runner=str(tmp_path / "run_transformers_js"))
    question = read_question(GPT2, cache_folder(), "tests")
    (row,) = compare_engines(question, [engine], threading.Event(), lambda *_: None).rows
    assert (row.failure, row.cells["rows"].source, row.differs) == ("", "live", planted is not None)
