"""A config and a checkpoint: learned tables have the rows and columns that are meant, or it is said which have not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from posenc.diagnosis import diagnose

GPT2 = {"model_type": "gpt2", "n_positions": 64, "n_embd": 8}
OPT = {"model_type": "opt", "max_position_embeddings": 64, "hidden_size": 8}
T5 = {"model_type": "t5", "num_heads": 4, "num_layers": 2, "d_kv": 8}
BART = {"model_type": "bart", "max_position_embeddings": 64, "d_model": 8}
SWIN = {"model_type": "swin", "depths": [1, 1], "num_heads": [2, 4], "window_size": 4}
BIAS = "{}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
STAGE = "encoder.layers.{}.blocks.0.attention.self.relative_position_bias_table"


def saved(folder: Path, **shapes: tuple[int, ...]) -> Path:
    path = folder / "model.safetensors"
    save_file(
        {name: np.zeros(shape, np.float32) for name, shape in shapes.items()} | {"lm_head.weight": np.zeros((2, 2))},
        path,
    )
    return path


CASES: dict[str, tuple[Any, dict[str, tuple[int, ...]], set[str]]] = {
    "gpt2": (GPT2, {"wpe.weight": (64, 8)}, set()),
    "gpt2 of another length": (GPT2, {"transformer.wpe.weight": (128, 8)}, {"rows of a table"}),
    "gpt2 of another width": (GPT2, {"wpe.weight": (64, 16)}, {"width of a table"}),
    "opt": (OPT, {"model.decoder.embed_positions.weight": (66, 8)}, set()),
    "opt without its offset": (OPT, {"model.decoder.embed_positions.weight": (64, 8)}, {"rows of a table"}),
    "bart": (BART, {f"model.{part}.embed_positions.weight": (66, 8) for part in ("encoder", "decoder")}, set()),
    "t5": (T5, {BIAS.format("encoder"): (32, 4), BIAS.format("decoder"): (32, 4)}, set()),
    "t5 with other heads": (
        T5,
        {BIAS.format("encoder"): (32, 4), BIAS.format("decoder"): (32, 8)},
        {"width of a table"},
    ),
    "swin": (SWIN, {STAGE.format(0): (49, 2), STAGE.format(1): (49, 4)}, set()),
    "swin with a window of 7": (SWIN, {STAGE.format(0): (169, 2), STAGE.format(1): (169, 4)}, {"rows of a table"}),
}


@pytest.mark.parametrize("case", CASES)
def test_tables_of_a_checkpoint(case: str, tmp_path: Path):
    config, shapes, names = CASES[case]
    found = diagnose(config, saved(tmp_path, **shapes))
    assert {finding.name for finding in found.findings} == names
    assert found.agree == (not names)
    assert "compared: shapes of" in str(found)


def test_a_rotary_model_has_no_use_for_tables(tmp_path: Path):
    llama = {
        "model_type": "llama",
        "rope_theta": 1e4,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 1,
    }
    with pytest.raises(ValueError, match="actual must hold arrays of a positional encoding"):
        diagnose(llama, saved(tmp_path, **{"wpe.weight": (64, 8)}))


def test_tensors_by_name_are_a_checkpoint() -> None:
    found = diagnose(GPT2, {"transformer.wpe.weight": np.zeros((48, 8)), "transformer.wte.weight": np.zeros((9, 8))})
    assert [finding.name for finding in found.findings] == ["rows of a table"]
    with pytest.raises(ValueError, match="actual must hold arrays named"):
        diagnose(GPT2, {"transformer.wpe.weight": np.zeros((64, 8)), "q": np.zeros((4, 8))})
