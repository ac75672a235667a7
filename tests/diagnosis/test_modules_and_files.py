"""Live modules, checkpoints and files: what they hold and return, against the config."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch import nn
from transformers import Gemma3TextConfig, LlamaConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from posenc import ALiBi, Learned, LongRoPE, RoPE, YaRN
from posenc.diagnosis import diagnose
from posenc.models import from_config

PARAMETERS = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 131_072,
    "rope_parameters": PARAMETERS,
}
YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 4096}


def module(**rope: Any) -> LlamaRotaryEmbedding:
    keys = {key: value for key, value in CONFIG.items() if key not in ("model_type", "rope_parameters")}
    return LlamaRotaryEmbedding(LlamaConfig(**keys, rope_parameters=PARAMETERS | rope))


def names(found: Any) -> list[str]:
    return [finding.name for finding in found.findings]


def test_a_healthy_module_agrees_with_its_config() -> None:
    found = diagnose(CONFIG, module())
    assert found.agree, str(found)
    assert found.findings == ()


def test_a_module_cast_to_bfloat16_and_back_is_found_out() -> None:
    damaged = module().to(torch.bfloat16).float()
    assert names(diagnose(CONFIG, damaged)) == ["frequencies in bfloat16"]


def test_a_module_cast_to_float16_is_found_out() -> None:
    assert names(diagnose(CONFIG, module().half())) == ["frequencies in float16"]


def test_a_module_with_the_default_base_is_found_out() -> None:
    assert names(diagnose(CONFIG, module(rope_theta=10_000.0))) == ["base"]


def test_a_module_that_never_saw_its_scaling_is_found_out() -> None:
    keys = {key: value for key, value in CONFIG.items() if key not in ("model_type", "rope_parameters")}
    plain = LlamaRotaryEmbedding(LlamaConfig(**keys, rope_parameters={"rope_type": "default", "rope_theta": 500_000.0}))
    assert names(diagnose(CONFIG, plain)) == ["scaling ignored"]


def test_a_lost_attention_factor_is_found_out() -> None:
    config = CONFIG | {"rope_parameters": YARN}
    keys = {key: value for key, value in CONFIG.items() if key not in ("model_type", "rope_parameters")}
    live = LlamaRotaryEmbedding(LlamaConfig(**keys, rope_parameters=YARN))
    assert diagnose(config, live).agree
    live.attention_scaling = 1.0
    assert names(diagnose(config, live)) == ["attention factor ignored"]


def test_buffers_that_were_never_filled_are_named() -> None:
    lost = module()
    lost.inv_freq = torch.full_like(lost.inv_freq, 3e-3)
    found = diagnose(CONFIG, lost)
    assert not found.agree
    assert names(found) == ["frequencies never set"]


def test_layer_types_are_compared_each_with_its_own() -> None:
    keys = {"hidden_size": 256, "num_attention_heads": 4, "head_dim": 64, "num_hidden_layers": 6}
    config = Gemma3TextConfig(**keys)
    meant = from_config(json.loads(json.dumps(config.to_dict(), default=str)), waive=())
    live = Gemma3RotaryEmbedding(config)
    for layer in (None, 0, 5):
        assert diagnose(meant, live, layer=layer).agree, str(diagnose(meant, live, layer=layer))
    full, local = live.full_attention_inv_freq.clone(), live.sliding_attention_inv_freq.clone()
    live.full_attention_inv_freq, live.sliding_attention_inv_freq = local, full
    assert set(names(diagnose(meant, live))) == {"local and global exchanged"}


class Mine(nn.Module):
    """cos and sin for (x, position_ids), as many write it."""

    def __init__(self, rates: torch.Tensor, first: int = 0) -> None:
        super().__init__()
        self.rates, self.first = rates, first

    def forward(self, x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        angle = (position_ids[..., None].float() + self.first) * self.rates
        both = torch.cat([angle, angle], -1)
        return both.cos(), both.sin()


def test_a_module_of_ones_own_is_called() -> None:
    rates = 500_000.0 ** (-torch.arange(0, 64, 2) / 64)
    meant = RoPE(64, base=500_000.0, pairing="halves")
    assert diagnose(meant, Mine(rates)).agree
    assert "harmless" in str(diagnose(meant, Mine(rates, first=1)))
    assert names(diagnose(meant, Mine(10_000.0 ** (-torch.arange(0, 64, 2) / 64)))) == ["base"]


def test_a_module_without_positions_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^actual must hold inv_freq or return cos and sin"):
        diagnose(CONFIG, nn.Linear(2, 2))


def test_files_are_read_and_pickles_never(tmp_path: Path) -> None:
    meant = RoPE(64, base=500_000.0, pairing="halves")
    rotation = meant.rotation(np.arange(100))
    np.savez(tmp_path / "table.npz", cos=rotation.cos, sin=rotation.sin)
    assert diagnose(meant, tmp_path / "table.npz").agree
    rates = meant.frequencies.radians().astype(np.float32)
    save_file(
        {"model.layers.0.self_attn.rotary_emb.inv_freq": rates, "w": np.zeros((2, 2))}, tmp_path / "a.safetensors"
    )
    assert diagnose(meant, str(tmp_path / "a.safetensors")).agree
    assert names(diagnose(RoPE(64, pairing="halves"), tmp_path / "a.safetensors")) == ["base"]
    for name in ("weights.pt", "pytorch_model.bin", "dump.pkl"):
        (tmp_path / name).write_bytes(pickle.dumps({"cos": 1}))
        with pytest.raises(ValueError, match=r"^actual must not be a pickle"):
            diagnose(meant, tmp_path / name)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_damaged_files_are_one_line(tmp_path: Path, suffix: str) -> None:
    meant, whole = RoPE(64), tmp_path / f"whole.{suffix}"
    if suffix == "npz":
        np.savez(whole, cos=np.ones((4, 32)), sin=np.ones((4, 32)))
    else:
        save_file({"cos": np.ones((4, 32)), "sin": np.ones((4, 32))}, whole)
    data = whole.read_bytes()
    for bad in (b"", b"\x80\x04junk", data[:50], data[:-300], b"\xff" * 200, pickle.dumps([1, 2])):
        path = tmp_path / f"bad.{suffix}"
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"must be|must hold") as error:
            diagnose(meant, path)
        assert "\n" not in str(error.value)


def test_an_npz_with_a_pickle_inside_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "object.npz", cos=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match=r"^actual must be a readable \.npz"):
        diagnose(RoPE(64), tmp_path / "object.npz")


TABLE = {"cos": np.ones((3, 32)), "sin": np.ones((3, 32))}


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (3, CONFIG, "expected must be an encoding, a config"),
        (CONFIG, 3, "actual must be an encoding, a config"),
        (RoPE(64), {"cosine": np.ones(3)}, "actual .* model_type must be in the config"),
        (RoPE(64), {"cos": np.ones((3, 2)), "tan": np.ones(3)}, "actual must hold arrays named"),
        (RoPE(64), {"cos": np.ones((3, 2))}, "actual must hold cos and sin together"),
        (RoPE(64), {"cos": np.ones((3, 2)), "sin": np.ones((3, 3))}, "cos and sin must have one shape"),
        (RoPE(64), {"positions": np.arange(3)}, "actual must hold arrays that show a rotation"),
        (RoPE(64), {"q": np.ones((3, 64)), "q_rotated": np.ones((4, 64))}, "q and q_rotated must have one shape"),
        (RoPE(64), {"q": np.ones((1, 2, 3, 64)), "q_rotated": np.ones((1, 2, 3, 64))}, "layout must be"),
        (RoPE(64), {"q": np.ones((3, 64)), "k": np.ones((3, 64)), "logits": np.ones((2, 3))}, "logits must have shape"),
        (RoPE(64), {"cos": np.array(["a"]), "sin": np.ones(1)}, "cos must hold up to"),
        (RoPE(64), {"cos": np.ones((3, 32)), "sin": np.ones((3, 32)), "positions": [0, 1]}, "positions must have one"),
        (RoPE(64), TABLE | {"positions": np.array([0, 1, 2**60])}, r"positions must be of magnitude at most 2\^53"),
        (RoPE(64), TABLE | {"positions": np.array([0, 2**64 - 1, 2], np.uint64)}, "positions must be of magnitude"),
        (RoPE(64), TABLE | {"positions": np.array([0, 1.0, -1e300])}, "positions must be of magnitude at most"),
        (ALiBi(8), {"inv_freq": np.ones(3)}, "actual must hold bias, or q, k and logits, for ALiBi"),
        (Learned(8, 8), {"inv_freq": np.ones(3)}, "expected must rotate queries and keys"),
    ],
)
def test_bad_input_is_named(first: Any, second: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^{message}"):
        diagnose(first, second)


def test_layers_that_differ_must_be_chosen() -> None:
    config = {
        "model_type": "gemma3_text",
        "hidden_size": 256,
        "num_attention_heads": 4,
        "head_dim": 64,
        "num_hidden_layers": 6,
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
        "max_position_embeddings": 8192,
    }
    local = {"inv_freq": 1e4 ** (-np.arange(0, 64, 2) / 64)}
    with pytest.raises(ValueError, match=r"^layer must name the layer"):
        diagnose(config, local)
    assert diagnose(config, local, layer=0).agree
    assert names(diagnose(config, local, layer=5)) == ["local and global exchanged"]
    for layer in (6, 99):
        with pytest.raises(ValueError, match=f"^layer must be one with positions, layers 0-5; got {layer}"):
            diagnose(config, local, layer=layer)


@pytest.mark.parametrize("option", [{"layer": 0}, {"part": "text"}, {"layout": "bthd"}, {"length": 4096}])
def test_options_without_effect_are_refused(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(ValueError, match=f"^{name} must come with arrays or a module; got two configs"):
        diagnose(CONFIG, CONFIG, **option)
    if name in ("layer", "part"):
        with pytest.raises(ValueError, match=f"^{name} must come with the config of a model; got an encoding"):
            diagnose(RoPE(64), TABLE, **option)
    if name == "layout":
        with pytest.raises(ValueError, match=r"^layout must come with arrays of q or k; got a module"):
            diagnose(CONFIG, module(), **option)


def test_tensors_of_torch_are_taken_in_their_own_type() -> None:
    meant = RoPE(64, scaling=YaRN(4.0, 4096))
    rotation = meant.rotation(np.arange(64))
    found = diagnose(
        meant, {"cos": torch.tensor(rotation.cos).bfloat16(), "sin": torch.tensor(rotation.sin).bfloat16()}
    )
    assert found.agree


def test_a_module_that_switches_lists_is_asked_below_its_length() -> None:
    short, long = tuple([1.0] * 32), tuple(1.0 + i / 4 for i in range(32))
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10_000.0,
        "short_factor": list(short),
        "long_factor": list(long),
        "original_max_position_embeddings": 1024,
        "factor": 8.0,
    }
    keys = {key: value for key, value in CONFIG.items() if key not in ("model_type", "rope_parameters")}
    live = LlamaRotaryEmbedding(LlamaConfig(**keys | {"max_position_embeddings": 8192}, rope_parameters=rope))
    for length in (1024, 8192):
        meant = RoPE(64, pairing="halves", scaling=LongRoPE(short, long, 1024, length, 8.0))
        assert diagnose(meant, live).agree, (length, str(diagnose(meant, live)))


@pytest.mark.parametrize(
    ("at", "byte", "reason"),
    [(8, 97, "That compression method is not supported"), (6, 1, ".* is encrypted")],
    ids=["compressed by no known method", "with a password"],
)
def test_an_npz_that_zipfile_cannot_open_is_refused(tmp_path: Path, at: int, byte: int, reason: str) -> None:
    """The method stands 10 bytes into the central directory and 8 into an entry; the flags 2 bytes before it."""
    place = tmp_path / "table.npz"
    np.savez(place, cos=np.ones(4))
    content = bytearray(place.read_bytes())
    content[at] = content[content.index(b"PK\x01\x02") + at + 2] = byte
    place.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^actual must be a readable \.npz file; got table\.npz: {reason}"):
        diagnose(RoPE(64), place)
