"""Engines that the code does not know, some thirty lines of NumPy each, whose one mistake is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from posenc.probe import read_probe, write_probe
from probe.live_engine import config_of

Weights = dict[str, np.ndarray]


def norm(x: np.ndarray, weight: np.ndarray, centred: bool = True) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True) if centred else x
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weight


def softmax(z: np.ndarray) -> np.ndarray:
    z = np.exp(z - z.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def attend(q: Any, k: Any, v: Any, heads: int, bias: np.ndarray | float, scale: float) -> np.ndarray:
    q, k, v = (x.reshape(len(x), heads, -1).swapaxes(0, 1) for x in (q, k, v))
    return (softmax(q @ k.swapaxes(1, 2) * scale + bias) @ v).swapaxes(0, 1).reshape(q.shape[1], -1)


def causal(n: int) -> np.ndarray:
    return np.where(np.tri(n, dtype=bool), 0.0, -np.inf)


def mpt(w: Weights, config: dict, prompt: dict) -> np.ndarray:
    """ALiBi whose slopes count heads from 0."""
    x, heads, n = w["transformer.wte.weight"][prompt["tokens"]], config["n_heads"], len(prompt["tokens"])
    slopes = 2.0 ** (-8 * np.arange(heads) / heads)
    bias = -slopes[:, None, None] * np.abs(np.subtract.outer(np.arange(n), np.arange(n))) + causal(n)
    for layer in range(config["n_layers"]):
        p = f"transformer.blocks.{layer}."
        q, k, v = np.split(norm(x, w[p + "norm_1.weight"]) @ w[p + "attn.Wqkv.weight"].T, 3, -1)
        x = x + attend(q, k, v, heads, bias, (q.shape[1] / heads) ** -0.5) @ w[p + "attn.out_proj.weight"].T
    return norm(x, w["transformer.norm_f.weight"]) @ w["transformer.wte.weight"].T


def gpt2(w: Weights, config: dict, prompt: dict) -> np.ndarray:
    """Positions of tokens begin at 1."""
    n, heads = len(prompt["tokens"]), config["n_head"]
    x = w["wte.weight"][prompt["tokens"]] + w["wpe.weight"][1 : n + 1]
    for layer in range(config["n_layer"]):
        p = f"h.{layer}."
        q, k, v = np.split(norm(x, w[p + "ln_1.weight"]) @ w[p + "attn.c_attn.weight"], 3, -1)
        x = x + attend(q, k, v, heads, causal(n), (q.shape[1] / heads) ** -0.5) @ w[p + "attn.c_proj.weight"]
    return norm(x, w["ln_f.weight"]) @ w["wte.weight"].T


def bucket(relative: np.ndarray, both: bool, count: int, largest: int) -> np.ndarray:
    count, after = (count // 2, count // 2 * (relative > 0)) if both else (count, 0)
    distance, exact = np.abs(relative) if both else np.maximum(-relative, 0), count // 2
    far = exact + np.log(np.maximum(distance, 1) / exact) / np.log(largest / exact) * (count - exact)
    return after + np.where(distance < exact, distance, np.minimum(far.astype(int), count - 1))


def t5(w: Weights, config: dict, prompt: dict) -> np.ndarray:
    """The largest distance is never read from the file."""
    heads = config["num_heads"]

    def stack(part: str, tokens: list[int], memory: np.ndarray | None) -> np.ndarray:
        x, n = w["shared.weight"][tokens], len(tokens)
        relative = np.subtract.outer(np.arange(n), np.arange(n)).T
        table = w[f"{part}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        bias = table[bucket(relative, memory is None, len(table), 64)].transpose(2, 0, 1)
        bias = bias if memory is None else bias + causal(n)
        for layer in range(config["num_layers"]):
            for number, name in enumerate(("SelfAttention", "EncDecAttention")[: 1 if memory is None else 2]):
                p = f"{part}.block.{layer}.layer.{number}."
                h = norm(x, w[p + "layer_norm.weight"], False)
                seen = (h, memory, memory) if number else (h, h, h)
                q, k, v = (y @ w[f"{p}{name}.{m}.weight"].T for m, y in zip("qkv", seen, strict=True))
                x = x + attend(q, k, v, heads, 0.0 if number else bias, 1.0) @ w[f"{p}{name}.o.weight"].T
        return norm(x, w[f"{part}.final_layer_norm.weight"], False)

    return stack("decoder", prompt["decoder_tokens"], stack("encoder", prompt["tokens"], None)) @ w["shared.weight"].T


def gelu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-1.702 * x))


def modernbert(w: Weights, config: dict, prompt: dict) -> np.ndarray:
    """Windows are twice as wide: `local_attention` counts both sides, and the engine takes it for one."""
    heads, n, p = config["num_attention_heads"], len(prompt["tokens"]), "model.embeddings."
    x = norm(w[p + "tok_embeddings.weight"][prompt["tokens"]], w[p + "norm.weight"])
    width = x.shape[1] // heads
    far = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) > config["local_attention"]

    def rotate(x: np.ndarray, base: float) -> np.ndarray:
        angle = np.tile(np.outer(np.arange(n), base ** (-np.arange(0, width, 2) / width)), 2)
        x = x.reshape(n, heads, width).swapaxes(0, 1)
        turned = x * np.cos(angle) + np.concatenate([-x[..., width // 2 :], x[..., : width // 2]], -1) * np.sin(angle)
        return turned.swapaxes(0, 1).reshape(n, -1)

    for layer in range(config["num_hidden_layers"]):
        p, local = f"model.layers.{layer}.", layer % 3 > 0
        h = norm(x, w[p + "attn_norm.weight"]) if layer else x
        q, k, v = np.split(h @ w[p + "attn.Wqkv.weight"].T, 3, -1)
        base = config["local_rope_theta" if local else "global_rope_theta"]
        bias = np.where(far & local, -np.inf, 0.0)
        x = x + attend(rotate(q, base), rotate(k, base), v, heads, bias, width**-0.5) @ w[p + "attn.Wo.weight"].T
    h = norm(gelu(norm(x, w["model.final_norm.weight"]) @ w["head.dense.weight"].T), w["head.norm.weight"])
    return h @ w["decoder.weight"].T


@pytest.mark.parametrize(
    ("engine", "mistake", "says"),
    [
        (mpt, "first slope", "count heads from 0"),
        (gpt2, "off by one", "1 too high"),
        (t5, "largest distance", "64 where 128"),
        (modernbert, "window", "back where 24 positions are meant"),
    ],
)
def test_the_one_mistake_is_named(
    engine: Callable[[Weights, dict, dict], np.ndarray], mistake: str, says: str, tmp_path: Path
) -> None:
    folder = write_probe(config_of(engine.__name__), tmp_path / "probe", length=64)
    config, probe = (json.loads((folder / name).read_text()) for name in ("config.json", "probe.json"))
    weights = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()}
    answers: dict[str, Any] = {
        prompt["name"]: engine(weights, config, prompt)[prompt["rows"]].astype(np.float32)
        for prompt in probe["prompts"]
    }
    reading = read_probe(folder, answers)
    assert {finding.name for finding in reading.diagnosis.findings} == {mistake}, reading.lines()
    assert any(says in finding.sentence for finding in reading.diagnosis.findings)
