"""Mistakes of conversions: folders whose rows moved, and GGUF files that another tool would have written otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from safetensors.numpy import load_file, save_file

from diagnosis.blind_bank.architectures import Config, rope, sizes
from diagnosis.blind_bank.planted_configs import other_configs, rotary_configs
from diagnosis.blind_bank.planted_models import built

Tensors = dict[str, np.ndarray]
Mover = Callable[[Tensors, Config], bool]
ORDER = ("order", "row", "head", "layout", "pair", "permut")


def saved(config: Config, folder: Path) -> Path:
    """A model of this config as a folder; biases and tables are drawn, so that their order shows."""
    model = built(config)
    rng = np.random.default_rng(5)
    for _, parameter in model.named_parameters():
        drawn = rng.standard_normal(tuple(parameter.shape)).astype(np.float32)
        parameter.data.copy_(parameter.data.new_tensor(drawn))
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def changed(source: Path, target: Path, move: Mover, config: Config) -> bool:
    shutil.copytree(source, target)
    tensors = load_file(target / "model.safetensors")
    if not move(tensors, config):
        return False
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    save_file(tensors, target / "model.safetensors", {"format": "pt"})
    return True


def named(tensors: Tensors, *ends: str) -> list[str]:
    return sorted(name for name in tensors if name.endswith(ends))


def to_neighbours(rows: np.ndarray, head: int) -> np.ndarray:
    """Rows of halves in the order of adjacent pairs, head by head."""
    shape = rows.shape
    return rows.reshape(-1, 2, head // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def of_rows(change: Callable[[np.ndarray, int], np.ndarray], *ends: str, layers: str = "") -> Mover:
    def move(tensors: Tensors, config: Config) -> bool:
        held = [name for name in named(tensors, *ends) if layers in name]
        for name in held:
            tensors[name] = change(tensors[name], 32)
        return bool(held)

    return move


def first_heads(rows: np.ndarray, head: int) -> np.ndarray:
    """The first two heads exchanged."""
    return np.concatenate([rows[head : 2 * head], rows[:head], rows[2 * head :]])


def exchange(first: str, second: str) -> Mover:
    def move(tensors: Tensors, config: Config) -> bool:
        pairs = [(name, name.replace(first, second)) for name in tensors if first in name]
        held = [(a, b) for a, b in pairs if b in tensors and tensors[a].shape == tensors[b].shape]
        for a, b in held:
            tensors[a], tensors[b] = tensors[b], tensors[a]
        return bool(held)

    return move


def neox_whole_head(tensors: Tensors, config: Config) -> bool:
    """Pairs moved over all 64 channels of a head of which 16 rotate."""
    held = (
        named(tensors, "query_key_value.weight", "query_key_value.bias") if config["model_type"] == "gpt_neox" else []
    )
    for name in held:
        heads = tensors[name].reshape(4, 3, 64, *tensors[name].shape[1:]).copy()
        for part in (0, 1):
            heads[:, part] = to_neighbours(heads[:, part].reshape(256, *heads.shape[3:]), 64).reshape(
                heads[:, part].shape
            )
        tensors[name] = heads.reshape(tensors[name].shape)
    return bool(held)


def neox_grouped(tensors: Tensors, config: Config) -> bool:
    """All queries first, then keys, then values; the class wants them head by head."""
    held = named(tensors, "query_key_value.weight") if config["model_type"] == "gpt_neox" else []
    for name in held:
        rows = tensors[name].reshape(4, 3, 64, -1)
        tensors[name] = rows.swapaxes(0, 1).reshape(tensors[name].shape)
    return bool(held)


TABLE_NAMES = ("wpe.weight", "embed_positions.weight", "position_embeddings.weight")


def table(change: Callable[[np.ndarray], np.ndarray]) -> Mover:
    def move(tensors: Tensors, config: Config) -> bool:
        held = named(tensors, *TABLE_NAMES)
        for name in held:
            tensors[name] = change(tensors[name])
        return bool(held)

    return move


def without_two(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows[2:], rows[-2:]])


def buckets(change: Callable[[np.ndarray], np.ndarray]) -> Mover:
    def move(tensors: Tensors, config: Config) -> bool:
        held = named(tensors, "relative_attention_bias.weight")
        for name in held:
            tensors[name] = change(tensors[name])
        return bool(held)

    return move


FOLDER_MISTAKES: dict[str, tuple[Mover, tuple[str, ...]]] = {
    "queries alone moved to neighbours": (of_rows(to_neighbours, "q_proj.weight"), ORDER),
    "queries and keys moved to neighbours": (of_rows(to_neighbours, "q_proj.weight", "k_proj.weight"), ORDER),
    "first heads of queries exchanged": (of_rows(first_heads, "q_proj.weight"), ("head",)),
    "heads of keys exchanged": (of_rows(first_heads, "k_proj.weight"), ("head", "key")),
    "first heads of layer 1 exchanged": (of_rows(first_heads, "q_proj.weight", layers="layers.1."), ("head",)),
    "queries of layers 0, 1 exchanged": (exchange("layers.0.self_attn.q", "layers.1.self_attn.q"), ("layer",)),
    "rotated over the whole head": (neox_whole_head, ORDER),
    "queries, keys and values grouped": (neox_grouped, (*ORDER, "group")),
    "biases of queries left behind": (of_rows(to_neighbours, "q_proj.bias"), (*ORDER, "bias")),
    "table one row on": (table(lambda rows: np.roll(rows, 1, 0)), ("row", "shift", "one")),
    "table without its first two rows": (table(without_two), ("row", "shift", "offset", "2")),
    "table cut": (table(lambda rows: rows[:-32]), ("row", "cut", "length")),
    "buckets the other way round": (buckets(lambda rows: rows[::-1]), ("row", "order", "bucket", "table")),
    "heads of buckets exchanged": (buckets(lambda rows: rows[:, [1, 0, 2, 3]]), ("head", "order", "column", "table")),
}  # fmt: skip


def folder_rows() -> list[tuple[str, Config, Mover, tuple[str, ...]]]:
    """Every model that is saved in a second, with every move that its tensors allow; found while building."""
    models = rotary_configs() | other_configs()
    return [
        (f"{name} / {mistake}", config, move, words)
        for name, config in models.items()
        for mistake, (move, words) in FOLDER_MISTAKES.items()
    ]


GGUF_CONFIGS = {
    "llama": sizes("llama", rope_theta=500_000.0),
    "qwen2": sizes("qwen2", rope_theta=1_000_000.0),
    "mistral": sizes("mistral", rope_theta=1_000_000.0, head_dim=32, sliding_window=None),
    "qwen3": sizes("qwen3", rope_parameters=rope(1e6), head_dim=32),
}
PERMUTED = ("llama", "mistral")  # llama.cpp rotates these as neighbours and moves their rows
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}  # fmt: skip
GGUF_MISTAKES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "rows as they should not be": ({"queries": "other", "keys": "other"}, ORDER),
    "queries alone": ({"queries": "other"}, ORDER),
    "keys alone": ({"keys": "other"}, ORDER),
    "keys moved with the heads of queries": ({"keys": "heads of queries"}, ORDER),
    "another base": ({"base": 10_000.0}, ("base",)),
    "linear scaling that nobody asked for": ({"scaling": 4.0}, ("scaling",)),
}


def write_gguf(folder: Path, target: Path, kind: str, **wrong: Any) -> Path:
    """The folder as llama.cpp's converter writes it, in float32, but for what is wrong."""
    config, tensors = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")
    architecture = "llama" if kind == "mistral" else kind
    writer = gguf.GGUFWriter(target, architecture)
    writer.add_block_count(2), writer.add_context_length(4096), writer.add_embedding_length(128)
    writer.add_feed_forward_length(64), writer.add_head_count(4), writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6), writer.add_vocab_size(64)
    writer.add_rope_dimension_count(32), writer.add_key_length(32), writer.add_value_length(32)
    rope_theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
    writer.add_rope_freq_base(wrong.get("base", rope_theta))
    if "scaling" in wrong:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(wrong["scaling"])
    for name, tensor in tensors.items():
        writer.add_tensor(_gguf_name(name), np.ascontiguousarray(_rows(name, tensor, kind, wrong)))
    writer.write_header_to_file(), writer.write_kv_data_to_file(), writer.write_tensors_to_file()
    writer.close()
    return target


def _rows(name: str, tensor: np.ndarray, kind: str, wrong: dict[str, Any]) -> np.ndarray:
    for part in ("q_proj", "k_proj"):
        if part in name:
            said = wrong.get("queries" if part == "q_proj" else "keys")
            if said == "heads of queries":
                return to_neighbours(tensor, 16)
            return to_neighbours(tensor, 32) if (kind in PERMUTED) != (said == "other") else tensor
    return tensor


def _gguf_name(name: str) -> str:
    name = name.removeprefix("model.")
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        stem, end = rest.rsplit(".", 1)
        return f"blk.{layer}.{NAMES[stem]}.{end}"
    return {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]


def gguf_rows() -> list[tuple[str, str, dict[str, Any], tuple[str, ...]]]:
    return [
        (f"{kind} gguf / {mistake}", kind, wrong, words)
        for kind in GGUF_CONFIGS
        for mistake, (wrong, words) in GGUF_MISTAKES.items()
        if not (kind not in PERMUTED and "heads of queries" in wrong.values())
    ]


def as_copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


def in_shards(source: Path, target: Path) -> None:
    """Every tensor in a file of its own, with an index."""
    tensors = load_file(source / "model.safetensors")
    target.mkdir()
    shutil.copy(source / "config.json", target)
    files = {name: f"model-{i:05}-of-{len(tensors):05}.safetensors" for i, name in enumerate(tensors, 1)}
    for name, file in files.items():
        save_file({name: tensors[name]}, target / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": files}
    (target / "model.safetensors.index.json").write_text(json.dumps(index))


def under_model(source: Path, target: Path) -> None:
    """Names as those of the model with a head."""
    shutil.copytree(source, target)
    tensors = load_file(target / "model.safetensors")
    save_file(
        {f"model.{name}": tensor for name, tensor in tensors.items()}, target / "model.safetensors", {"format": "pt"}
    )


def in_float16(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    tensors = {name: tensor.astype(np.float16) for name, tensor in load_file(target / "model.safetensors").items()}
    save_file(tensors, target / "model.safetensors", {"format": "pt"})


HARMLESS_FOLDERS = {"a copy": as_copy, "in shards": in_shards, "in float16": in_float16, "under model.": under_model}
BARE = ("gpt_neox", "qwen2_vl", "gpt2", "bert", "roberta", "bloom", "bloom 12 heads", "mpt", "t5", "opt")  # other names
