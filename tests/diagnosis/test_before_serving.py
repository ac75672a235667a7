"""`preflight`: positions, weights, length and a draft of two files, one verdict, and what to write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import checkpoints
from posenc.diagnosis import preflight
from posenc.models import from_config, manifest

LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
         "rope_theta": 500_000.0, "max_position_embeddings": 32_768}  # fmt: skip
SERVED = {**LLAMA, "rope_theta": 10_000.0, "max_position_embeddings": 8192}


def gguf_file(path: Path, **keys: Any) -> Path:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_embedding_length(64)
    writer.add_context_length(keys.get("length", 32_768))
    writer.add_rope_dimension_count(16)
    writer.add_rope_freq_base(keys.get("base", 500_000.0))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def verdicts(*files: Any, **options: Any) -> dict[str, str]:
    return {check.name: check.verdict.split()[0] for check in preflight(*files, **options).checks}


def test_what_agrees(tmp_path: Path):
    """A config beside itself, a GGUF file of it, and its manifest, in any order."""
    served = (LLAMA, gguf_file(tmp_path / "served.gguf"), manifest(from_config(LLAMA)).to_dict())
    for one in served:
        for other in served:
            found = preflight(one, other, length=32_768)
            assert (found.exit_code, found.to_write) == (0, ()), str(found)


def test_a_difference_and_the_keys_that_repair_it(tmp_path: Path):
    found = preflight(LLAMA, SERVED, length=32_768)
    assert (found.exit_code, found.explained) == (1, False)
    assert [check.verdict for check in found.checks] == ["differ", "differ"]
    assert "The base is 10000 where 500000 is meant." in str(found)
    assert found.to_write == (
        "rope_theta: 500000.0 in the served file, where it is 10000.0",
        "max_position_embeddings: 32768 in the served file, where it is 8192",
        "serve 8,192 tokens, or extend the context: posenc plan FILE --length 32768",
    )
    repaired = {**SERVED, "rope_theta": 500_000.0, "max_position_embeddings": 32_768}
    assert preflight(LLAMA, repaired, length=32_768).exit_code == 0
    of_file = preflight(LLAMA, gguf_file(tmp_path / "served.gguf", base=10_000.0))
    assert of_file.to_write == ("llama.rope.freq_base: 500000.0 in the served file, where it is 10000.0",)


def test_lengths():
    assert verdicts(LLAMA, LLAMA, length=32_769) == {"positions": "agree", "length": "differ"}
    assert verdicts(LLAMA, {**LLAMA, "max_position_embeddings": 8192})["length"] == "differ"
    assert verdicts(LLAMA, {**LLAMA, "max_position_embeddings": 65_536})["length"] == "agree"
    yarn = {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32_768}}
    assert verdicts(yarn, yarn, length=131_072)["length"] == "agree"
    table = {"model_type": "gpt2", "n_positions": 1024}
    found = preflight(table, table, length=2048)
    assert "1,024 table (encoding: length) of the 2,048 that are served; its table ends there" in str(found)
    bloom = {"model_type": "bloom"}
    assert preflight(bloom, bloom).exit_code == 3
    assert "states no length: give the one that is served" in str(preflight(bloom, bloom))
    assert "the served file states no length" in str(preflight(bloom, bloom, length=9))


def test_a_length_declared_beyond_what_yarn_reaches_is_named_and_does_not_count():
    yarn = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 32_768}
    config = {**LLAMA, "rope_scaling": yarn, "max_position_embeddings": 131_072}
    beyond = "the served file: 131,072 declared (file: max_position_embeddings), while its YaRN reaches 65,536"
    for length, verdict in ((None, "differ"), (131_072, "differ"), (65_536, "agree")):
        assert verdicts(config, config, length=length) == {"positions": "agree", "length": verdict}
        assert beyond in str(preflight(config, config, length=length))
    assert (
        "YaRN reaches"
        not in str(preflight(config, {**config, "max_position_embeddings": 65_536}, length=65_536)).split(
            "the served file"
        )[1]
    )
    llama3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0}  # fmt: skip
    stock = {**LLAMA, "rope_scaling": llama3, "max_position_embeddings": 131_072}
    assert verdicts(stock, stock, length=131_072)["length"] == "agree"


def test_a_scaling_that_depends_on_the_length_is_read_at_it():
    lists = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    phi = {**LLAMA, "model_type": "phi3", "original_max_position_embeddings": 4096,
           "rope_scaling": {"rope_type": "longrope", **lists}}  # fmt: skip
    other = {**phi, "rope_scaling": {"rope_type": "longrope", **lists, "long_factor": [3.0] * 8}}
    assert verdicts(phi, other, length=4096)["positions"] == "agree"
    assert "of every layer, where up to 4,096 tokens are served" in str(preflight(phi, other, length=4096))
    assert "tokens are served" not in str(preflight(phi, phi).checks[0].lines)
    assert verdicts(phi, other, length=8192)["positions"] == "differ"


def test_a_draft():
    small = {**LLAMA, "vocab_size": 1000, "max_position_embeddings": 2048}
    target = {**LLAMA, "vocab_size": 1000}
    assert verdicts(target, target, draft=target)["draft and served"] == "agree"  # the tokenizers are not compared
    assert preflight(target, target, draft=target).exit_code == 3
    found = preflight(target, target, draft=small)
    assert found.exit_code == 1
    assert "the draft has 2,048 of the 32,768 tokens that are served" in str(found)


def test_a_draft_of_a_gguf_file(tmp_path: Path):
    found = preflight(LLAMA, LLAMA, draft=gguf_file(tmp_path / "draft.gguf", length=512))
    assert "the draft has 512 of the 32,768" in str(found)


def test_the_rows_of_two_folders(tmp_path: Path):
    """Saved and reloaded: the same, and with the rows of the other layout of pairs."""
    generator = np.random.default_rng(0)
    own = "model.layers.{}.self_attn.{}_proj.weight"
    tensors = {own.format(layer, name): generator.normal(size=(64, 8)).astype(np.float32)
               for layer in range(2) for name in "qk"}  # fmt: skip
    moved = {name: rows.reshape(4, 2, 8, 8).swapaxes(1, 2).reshape(64, 8) for name, rows in tensors.items()}
    folders = []
    for name, held in (("saved", tensors), ("reloaded", tensors), ("moved", moved)):
        folder = tmp_path / name
        folder.mkdir()
        checkpoints.saved(folder / "model.safetensors", held)
        (folder / "config.json").write_text(json.dumps(LLAMA))
        folders.append(folder)
    same = preflight(folders[0], folders[1])
    assert (same.exit_code, same.checks[0].name) == (0, "positions and weights")
    found = preflight(folders[0], folders[2])
    assert found.exit_code == 1
    assert "order of rows" in str(found)


def test_weights_that_were_not_read_are_not_said_to_agree(tmp_path: Path):
    for name, file in (("a", None), ("b", None), ("c", "pytorch_model.bin"), ("d", "pytorch_model-1.bin")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(LLAMA))
        if file:
            (tmp_path / name / file).write_bytes(name.encode())
    configs, pickled = (preflight(tmp_path / one, tmp_path / other) for one, other in ("ab", "cd"))
    assert (configs.exit_code, configs.checks[0].name) == (0, "positions")
    assert (pickled.exit_code, pickled.checks[0].name) == (3, "positions")
    assert "not compared: order of rows" in str(pickled)


@pytest.mark.parametrize(
    ("files", "options", "error", "said"),
    [
        ((LLAMA, "nowhere.json"), {}, ValueError, r"^served cannot be read: config must name a file or a folder"),
        (({"model_type": "who"}, LLAMA), {}, ValueError, r"^trainer cannot be read: model_type must be one that is"),
        ((LLAMA, LLAMA), {"draft": {}}, ValueError, r"^draft cannot be read: model_type must be in the config"),
        ((LLAMA, 3), {}, TypeError, r"^served must be an encoding, a config or what from_config returns; got int"),
        ((LLAMA, LLAMA), {"length": 0}, ValueError, r"^length must be an integer from 1"),
        ((LLAMA, LLAMA), {"length": "9"}, TypeError, r"^length must be an integer from 1"),
        ((LLAMA, LLAMA), {"waive": "all"}, TypeError, r"^waive must be"),
    ],
)
def test_bad_input(files: Any, options: Any, error: type[Exception], said: str):
    with pytest.raises(error, match=said):
        preflight(*files, **options)


def test_an_encoding_is_no_model():
    from posenc import RoPE

    with pytest.raises(TypeError, match=r"^served must be a model; got an encoding, RoPE\(dim=8.* Give its config"):
        preflight(LLAMA, RoPE(dim=8))  # type: ignore[arg-type]
