"""`posenc diff` and `posenc doctor` give one answer about a file and the config that it was converted from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from posenc.diagnosis import diagnose
from posenc.models import diff, from_config, from_gguf, from_meta, to_gguf

SIZES: dict[str, Any] = {
    "hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8192,
    "rope_theta": 500_000.0,
}  # fmt: skip
LLAMA_3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {"model_type": "llama", **SIZES},
    "scaled": {"model_type": "llama", **SIZES, "rope_scaling": LLAMA_3},
    "halves": {"model_type": "qwen2", **SIZES},
}


def file_of(path: Path, config: dict[str, Any]) -> Path:
    """The .gguf file of a config: llama.cpp's architecture of the same name rotates llama's rows in adjacent pairs."""
    arch = config["model_type"]
    positions = from_config(config | ({"model_type": "llama-adjacent-pairs"} if arch == "llama" else {}))
    keys, tensors = to_gguf(positions, arch, context_length=8192)
    writer = gguf.GGUFWriter(path, arch)
    for key, value in keys.items():
        if key != "general.architecture":
            {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}[type(value)](key, value)
    writer.add_embedding_length(256)
    writer.add_head_count(4)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.add_tensor("token_embd.weight", np.ones((4, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("name", CONFIGS)
def test_both_verbs_say_the_same_of_a_gguf_file(posenc, tmp_path, name):
    folder, config = tmp_path / "model", CONFIGS[name]
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    file = str(file_of(tmp_path / "a.gguf", config))
    for verb in ("diff", "doctor"):
        for sides in ((file, str(folder)), (str(folder), file)):
            said = posenc(verb, *sides)
            assert said.code == 0, said.out
            assert ("reorders the rows" in said.out) == (config["model_type"] == "llama")
    (folder / "config.json").write_text(json.dumps(config | {"rope_theta": 10_000.0}))
    for verb in ("diff", "doctor"):
        said = posenc(verb, file, str(folder))
        assert said.code == 1
        assert "base" in said.out
        assert "pairing: " not in said.out
    told = posenc("diff", file, str(folder), "--json").data
    assert (told["same"], bool(told["difference"]["notes"])) == (False, config["model_type"] == "llama")


def test_two_gguf_files_are_compared_as_they_are(tmp_path):
    first = from_gguf(file_of(tmp_path / "a.gguf", CONFIGS["plain"]))
    other = from_gguf(file_of(tmp_path / "b.gguf", CONFIGS["halves"]))
    assert "pairing" in str(diff(first, other))
    assert not diff(first, other).same
    assert not diagnose(first, other).agree


def test_the_file_of_meta_and_the_folder_of_transformers_agree():
    meta = from_meta({"dim": 256, "n_layers": 2, "n_heads": 4, "rope_theta": 500_000.0})
    config = from_config(CONFIGS["plain"])
    for sides in ((meta, config), (config, meta)):
        found, diagnosis = diff(*sides), diagnose(*sides)
        assert (found.same, diagnosis.agree) == (True, True)
        assert found.notes == diagnosis.notes
        assert "Meta's code rotates adjacent pairs here, and its converter reorders" in found.notes[0]
    other = from_config(CONFIGS["plain"] | {"rope_theta": 10_000.0})
    assert not diff(meta, other).same
    assert [finding.name for finding in diagnose(meta, other).findings] == ["base"]
