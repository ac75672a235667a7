"""GGUF files beside the folder that they were written from: right ones agree, and mistakes of a converter are named."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from diagnosis.quantised import quantised
from diagnosis.tiny_folders import FAMILIES, Tensors, by_channel, by_head, changed, exchanged, save_each, tensors_of
from every import every
from posenc.diagnosis import diagnose, gguf_tensors

pytest.importorskip("transformers")
ARCHITECTURES = {"llama": "llama", "qwen3": "qwen3", "stablelm": "stablelm", "gpt_neox": "gptneox", "phi3": "phi3"}
WORDS = {
    "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output", "dense": "attn_output",
    "query_key_value": "attn_qkv", "qkv_proj": "attn_qkv", "q_norm": "attn_q_norm", "k_norm": "attn_k_norm",
}  # fmt: skip
TYPES = (None, "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1")
#: Types whose blocks have 256 numbers.
LONG = ("Q2_K", "Q4_K", "Q6_K")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("families")
    save_each(path, *ARCHITECTURES)
    return path


def to_adjacent(rows: np.ndarray, dim: int) -> np.ndarray:
    return by_channel(rows, dim, np.arange(dim).reshape(2, -1).T.ravel())


def as_converted(family: str, tensors: Tensors) -> Tensors:
    """What llama.cpp's converter makes of them."""
    if family == "llama":
        return changed(tensors, lambda rows: to_adjacent(rows, 8), "q_proj", "k_proj")
    kind = FAMILIES[family]
    if family != "gpt_neox":
        return tensors
    order = [kind.labels.index(head) for head in kind._replace(grouped=False).labels]
    return changed(tensors, lambda rows: by_head(rows, 24, order), "query_key_value")


def written(path: Path, family: str, tensors: Tensors, config: dict[str, Any], kind: str | None) -> Path:
    """A file with the tensors of attention, of this type where the format allows it."""
    arch = ARCHITECTURES[family]
    writer = gguf.GGUFWriter(path, arch)
    rope, dim = config["rope_parameters"], FAMILIES[family].dim
    whole = {
        "block_count": 2, "context_length": 32, "embedding_length": config["hidden_size"], "attention.head_count": 8,
        "attention.head_count_kv": FAMILIES[family].kv_heads, "attention.key_length": dim,
        "rope.dimension_count": FAMILIES[family].width,
    }  # fmt: skip
    for key, value in whole.items():
        writer.add_uint32(f"{arch}.{key}", value)
    writer.add_float32(f"{arch}.rope.freq_base", rope["rope_theta"])
    for name, rows in tensors.items():
        *_, module, leaf = name.split(".")
        layer = next((word for word in name.split(".") if word.isdecimal()), None)
        if module in WORDS and layer is not None:
            own = "F32" if rows.ndim == 1 or kind is None else kind
            own = "Q8_0" if own in LONG and rows.shape[-1] % 256 else own
            dtype, stored = gguf.GGMLQuantizationType[own], quantised(rows, own)
            writer.add_tensor(f"blk.{layer}.{WORDS[module]}.{leaf}", stored, raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def found_in(root: Path, to: Path, family: str, tensors: Tensors, kind: str | None) -> Any:
    config = json.loads((root / family / "config.json").read_text())
    return diagnose(root / family, written(to, family, tensors, config, kind))


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_what_the_converter_writes_agrees(family: str, root: Path, tmp_path: Path) -> None:
    tensors = as_converted(family, tensors_of(root / family))

    def check(kind: str | None) -> None:
        found = found_in(root, tmp_path / f"{kind}.gguf", family, tensors, kind)
        assert found.verdict == "agree in everything that this evidence can show", str(found)

    every(TYPES, check)


def test_mistakes_of_a_converter_are_named(root: Path, tmp_path: Path) -> None:
    llama, stablelm, neox, qwen3 = (tensors_of(root / name) for name in ("llama", "stablelm", "gpt_neox", "qwen3"))
    right = as_converted("llama", llama)
    first, other = (f"model.layers.{layer}.self_attn.q_proj.weight" for layer in (0, 1))
    keys = {name: llama[name] for name in llama if "k_proj" in name}
    as_eight = changed(keys, lambda rows: to_adjacent(rows, 4), "k_proj")
    moved = changed(qwen3, lambda rows: to_adjacent(rows, 8), "q_proj", "k_proj")
    whole = changed(stablelm, lambda rows: to_adjacent(rows, 16), "q_proj", "k_proj")
    heads = changed(qwen3, lambda rows: by_head(rows, 8, exchanged(8, 3, 5)), "q_proj")
    planted: list[tuple[str, Tensors, str]] = [
        ("llama", llama, "(4 tensors) stay in their order, where llama.cpp means from halves to adjacent."),
        ("llama", right | keys, "those of the queries are right"),
        ("llama", right | as_eight, "from halves to adjacent with 8 heads in place of 4: a wrong number of heads"),
        ("llama", right | {first: right[other], other: right[first]}, "layer 0 holds q_proj.weight of layer 1"),
        ("qwen3", moved, "pairs from halves to adjacent"),
        ("qwen3", heads, "head 3 and head 5 exchanged"),
        ("stablelm", whole, "over all 16 channels of a head, of which 4 rotate"),
        ("gpt_neox", neox, "where llama.cpp means all queries, then all keys, then all values"),
    ]
    numbers = count()

    def check(case: tuple[str, Tensors, str, str | None]) -> None:
        family, tensors, sentence, kind = case
        found = found_in(root, tmp_path / f"{next(numbers)}.gguf", family, tensors, kind)
        assert sentence in str(found), str(found)
        assert not found.agree

    every(((*case, kind) for case in planted for kind in (None, "Q8_0", "Q4_0", "Q4_1")), check)


def test_plain_encoders_round_to_a_step() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 512))
    steps = {"Q2_K": 3, "Q4_K": 15, "Q6_K": 60}

    def check(kind: str) -> None:
        back = gguf.quants.dequantize(quantised(rows, kind), gguf.GGMLQuantizationType[kind])
        assert np.abs(back - rows).max() < 0.6 * np.ptp(rows) / steps[kind]

    every(LONG, check)


@pytest.mark.parametrize("kind", LONG)
def test_rows_in_blocks_of_256_are_compared(kind: str, tmp_path: Path) -> None:
    save_each(tmp_path, "llama", hidden_size=256, head_dim=8)
    tensors = tensors_of(tmp_path / "llama")
    right = as_converted("llama", tensors)
    found = found_in(tmp_path, tmp_path / "right.gguf", "llama", right, kind)
    assert found.verdict == "agree in everything that this evidence can show", str(found)
    keys = {name: tensors[name] for name in tensors if "k_proj" in name}
    layers = [f"model.layers.{layer}.self_attn.q_proj.weight" for layer in (0, 1)]
    moved = {layers[0]: right[layers[1]], layers[1]: right[layers[0]]}
    planted: list[tuple[Tensors, str]] = [
        (tensors, "(4 tensors) stay in their order"),
        (right | keys, "those of the queries are right"),
        (right | moved, "layer 0 holds q_proj.weight of layer 1"),
    ]
    for number, (wrong, sentence) in enumerate(planted):
        found = found_in(tmp_path, tmp_path / f"{number}.gguf", "llama", wrong, kind)
        assert sentence in str(found), str(found)


def test_types_that_are_not_read_are_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TQ1_0 and its like, and where the package that unpacks the others is not installed."""
    tensors = as_converted("llama", tensors_of(root / "llama"))
    monkeypatch.setattr(gguf_tensors, "can_unpack", lambda: False)
    found = found_in(root, tmp_path / "a.gguf", "llama", tensors, "Q4_1")
    assert found.exit_code == 3
    assert "(8 tensors of attention in the first alone or of Q4_1, model.layers.0.self_attn.k_proj.weight" in str(found)
    beside_config = diagnose(root / "llama" / "config.json", tmp_path / "a.gguf")
    assert "order of rows: give the folder with its weights, then the other folder or a .gguf" in str(beside_config)


def test_missing_divisors_of_llama_3_are_named(root: Path, tmp_path: Path) -> None:
    """The tensor rope_freqs.weight holds the scaling, and nothing else in the file does."""
    config = json.loads((root / "llama" / "config.json").read_text())
    bands = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config["rope_parameters"] |= bands | {"original_max_position_embeddings": 8192}
    path = written(tmp_path / "a.gguf", "llama", as_converted("llama", tensors_of(root / "llama")), config, None)
    found = diagnose(config, path)
    assert not found.agree
    assert "scaling" in found.findings[0].name, str(found)


def test_a_file_that_is_cut_off_shows_no_rows(root: Path, tmp_path: Path) -> None:
    tensors = as_converted("llama", tensors_of(root / "llama"))
    config = json.loads((root / "llama" / "config.json").read_text())
    path = written(tmp_path / "a.gguf", "llama", tensors, config, None)
    path.write_bytes(path.read_bytes()[:-30_000])
    found = diagnose(root / "llama", path)
    assert found.exit_code == 3
    assert "of F32, cut off" in str(found)
