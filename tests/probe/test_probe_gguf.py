"""GGUF files of probes hold the config's positions, as the reader of GGUF files understands them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from every import every
from posenc.models import ModelPositions, from_config, from_gguf
from posenc.models.pair_rotation import pair_rotation
from posenc.probe import write_probe
from posenc.probe.architectures import ARCHITECTURES
from probe.live_engine import MODEL_TYPES, config_of

#: What llama.cpp does otherwise than the config says, which its own run of the probe shows: it has no window in
#: Llama's architecture, nor in a small EXAONE 4, and truncates YaRN's ramp.
OTHERWISE = ("mistral", "ministral", "exaone4", "gpt_oss_yarn")
#: Architectures whose layers differ as no key says, or do not rotate.
UNREADABLE = ("cohere2", "smollm3", "bloom", "mpt", "gpt2", "bert", "modernbert", "t5")


def layers(positions: ModelPositions) -> dict[int, tuple]:
    """Base, pairs and window of every layer; pairs are reordered, so that their layout may differ."""
    found = {}
    for group in positions.groups:
        rotation = group.rotary_encoding and pair_rotation(group.rotary_encoding)
        frequencies = () if rotation is None else rotation.radians()
        for layer in group.layers:
            found[layer] = (np.round(frequencies, 7).tolist(), str(group.window), rotation and rotation.factor)
    return found


def test_files_hold_the_positions_of_the_config(tmp_path: Path) -> None:
    named = [name for name in MODEL_TYPES if ARCHITECTURES[config_of(name)["model_type"]].gguf]
    assert len(named) >= 27

    def check(name: str) -> None:
        folder = write_probe(config_of(name), tmp_path / name, length=32, gguf=True)
        read = from_gguf(folder / "model.gguf")
        assert layers(read) == layers(from_config(folder))

    every([name for name in named if name not in OTHERWISE + UNREADABLE], check)


def test_an_architecture_without_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^gguf must be left out for this architecture; files are written for bert, bloom, "
    ):
        write_probe(config_of("opt"), tmp_path / "probe", gguf=True)
    assert not list(tmp_path.iterdir())


LARGEST_GEMMA = {
    "model_type": "gemma2", "hidden_size": 4608, "num_attention_heads": 32, "head_dim": 128, "num_hidden_layers": 46,
    "query_pre_attn_scalar": 144, "sliding_window": 4096, "max_position_embeddings": 8192, "vocab_size": 256_000,
}  # fmt: skip


def test_the_largest_gemma_has_the_layers_and_widths_by_which_llama_cpp_scales(tmp_path: Path) -> None:
    """llama.cpp divides logits by the root of 4608 / 32 in a model of 46 layers; GGUF has no key for it."""
    folder = write_probe(LARGEST_GEMMA, tmp_path / "probe", length=8, gguf=True)
    read = from_gguf(folder / "model.gguf")
    assert [group.logit_factor for group in read.groups] == pytest.approx([(128 / 144) ** 0.5] * len(read.groups))
    assert layers(read) == layers(from_config(folder))
    with pytest.raises(ValueError, match=r"^layers must be an integer from 46 to 46; got 3"):
        write_probe(LARGEST_GEMMA, tmp_path / "short", layers=3, gguf=True)
    assert from_config(write_probe(LARGEST_GEMMA, tmp_path / "short", layers=3)).groups[0].logit_factor < 1
