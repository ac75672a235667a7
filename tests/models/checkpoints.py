"""Small checkpoints for tests, written with the safetensors package."""

from __future__ import annotations

import json

import numpy as np
from safetensors.numpy import save_file

from posenc.models import HeadShape

HEADS, KV_HEADS, DIM, WIDTH, INPUTS = 12, 4, 10, 6, 16
SHAPE = HeadShape(heads=HEADS, kv_heads=KV_HEADS, head_dim=DIM, width=WIDTH)


def layer(rng, number, prefix="model."):
    """A layer's tensors, with bias, norms and an old buffer next to queries and keys."""
    own = f"{prefix}layers.{number}.self_attn."
    draw = rng.standard_normal
    return {
        f"{own}q_proj.weight": draw((HEADS * DIM, INPUTS)).astype(np.float32),
        f"{own}q_proj.bias": draw(HEADS * DIM).astype(np.float32),
        f"{own}k_proj.weight": draw((KV_HEADS * DIM, INPUTS)).astype(np.float32),
        f"{own}k_proj.bias": draw(KV_HEADS * DIM).astype(np.float32),
        f"{own}v_proj.weight": draw((KV_HEADS * DIM, INPUTS)).astype(np.float32),
        f"{own}o_proj.weight": draw((INPUTS, HEADS * DIM)).astype(np.float32),
        f"{own}q_norm.weight": draw(DIM).astype(np.float32),
        f"{own}k_norm.weight": draw(KV_HEADS * DIM).astype(np.float32),
        f"{own}rotary_emb.inv_freq": draw(WIDTH // 2).astype(np.float32),
        f"{prefix}layers.{number}.mlp.up_proj.weight": draw((8, INPUTS)).astype(np.float32),
    }


def model(layers=2, seed=0):
    rng = np.random.default_rng(seed)
    tensors = {"model.embed_tokens.weight": rng.standard_normal((11, INPUTS)).astype(np.float32)}
    for number in range(layers):
        tensors |= layer(rng, number)
    return tensors


def saved(path, tensors, metadata=None):
    save_file(tensors, path, metadata=metadata)
    return path


def sharded(folder, tensors, count=3):
    """A folder of shards with their index."""
    folder.mkdir()
    names = sorted(tensors)
    files = {name: f"model-{i % count + 1:05}-of-{count:05}.safetensors" for i, name in enumerate(names)}
    for file in sorted(set(files.values())):
        save_file({name: tensors[name] for name in names if files[name] == file}, folder / file)
    size = sum(tensor.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def for_examples(folder):
    """The files that the examples of the command line name: small, with the heads that they give."""
    own = "model.layers.0.self_attn."
    tensors = {f"{own}q_proj.weight": np.zeros((4096, 1), np.int8), f"{own}k_proj.weight": np.zeros((1024, 1), np.int8)}
    saved(folder / "model.safetensors", tensors)
    sharded(folder / "model", tensors, count=2)
    config = {"model_type": "llama", "rope_theta": 5e5, "hidden_size": 4096, "num_attention_heads": 32}
    config |= {"num_key_value_heads": 8, "num_hidden_layers": 1, "max_position_embeddings": 8192}
    for path in (folder / "model" / "config.json", folder / "config.json"):
        path.write_text(json.dumps(config))
    fused = {"gpt_neox.layers.0.attention.query_key_value.weight": np.zeros((3 * 64 * 96, 1), np.int8)}
    saved(folder / "neox.safetensors", fused)
    bands = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    bands["original_max_position_embeddings"] = 8192
    config |= {"num_hidden_layers": 32, "max_position_embeddings": 131_072, "rope_scaling": bands}
    (folder / "config.json").write_text(json.dumps(config))
    dynamic = config | {"max_position_embeddings": 4096, "rope_style": "adjacent"}
    dynamic["rope_scaling"] = {"rope_type": "dynamic", "factor": 4.0}
    (folder / "dynamic.json").write_text(json.dumps(dynamic))
    (folder / "served.json").write_text(json.dumps(config | {"rope_theta": 10_000.0}))
    own = {"model_type": "qwen2", "vocab_size": 151_936, "num_hidden_layers": 2}
    for name, length, base in (("draft", 2048, 1e4), ("target", 131_072, 1e6)):
        (folder / name).mkdir()
        config = own | {"max_position_embeddings": length, "rope_theta": base}
        (folder / name / "config.json").write_text(json.dumps(config))
        (folder / name / "tokenizer.json").write_text("{}")
    angles = np.arange(64)[:, None] * 5e5 ** (-np.arange(0, 128, 2) / 128)
    np.savez(folder / "dumped.npz", cos=np.cos(angles), sin=np.sin(angles))
