"""Tiny folders of many families, as transformers saves them, and mistakes that a conversion of them can make."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file

Tensors = dict[str, np.ndarray]
Change = Callable[[np.ndarray], np.ndarray]

SIZES = {
    "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 2,
    "intermediate_size": 16, "vocab_size": 12, "max_position_embeddings": 32, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
ALIKE = {name: size for name, size in SIZES.items() if name != "num_key_value_heads"}
WIDE = {**SIZES, "hidden_size": 128}
OLDER = {
    "n_embd": 64,
    "n_head": 8,
    "n_layer": 2,
    "n_positions": 32,
    "vocab_size": 12,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CODERS = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
    "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 12, "max_position_embeddings": 32,
}  # fmt: skip
LATENT = {
    **SIZES, "num_key_value_heads": 8, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_group": 2,
    "topk_group": 1, "moe_intermediate_size": 16, "n_shared_experts": 1, "first_k_dense_replace": 2,
}  # fmt: skip


class Family(NamedTuple):
    """A kind of model: its config, and how its attention lies in a folder.

    Args:
        config: Name of the class.
        options: Of the config.
        modules: Names of queries, keys, values and outputs; of the one projection where it makes all three.
        kv_heads: Of 8 heads of queries.
        dim: Channels of a head.
        width: Channels that rotate; 0 for none.
        layout: Of pairs.
        grouped: Whether one projection has its heads in groups; None where there are three.
    """

    config: str
    options: dict[str, object]
    modules: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    kv_heads: int = 4
    dim: int = 8
    width: int = 8
    layout: str = "halves"
    grouped: bool | None = None

    @property
    def labels(self) -> list[tuple[str, int]]:
        """The heads of the one projection in their order."""
        each = 8 // self.kv_heads
        groups = [
            (kind, number)
            for group in range(self.kv_heads)
            for kind, number in (*(("q", group * each + one) for one in range(each)), ("k", group), ("v", group))
        ]
        return groups if self.grouped else sorted(groups, key=lambda head: "qkv".index(head[0]))


LEARNED = {"kv_heads": 8, "width": 0}
FAMILIES = {
    "llama": Family("LlamaConfig", SIZES),
    "qwen2": Family("Qwen2Config", SIZES),
    "qwen3": Family("Qwen3Config", {**SIZES, "head_dim": 8}),
    "olmo2": Family("Olmo2Config", SIZES),
    "phi": Family("PhiConfig", {**WIDE, "partial_rotary_factor": 0.5}, ("q_proj", "k_proj", "v_proj", "dense"), dim=16),
    "glm": Family("GlmConfig", {**WIDE, "head_dim": 16, "partial_rotary_factor": 0.5}, dim=16, layout="adjacent"),
    "stablelm": Family("StableLmConfig", {**WIDE, "partial_rotary_factor": 0.25}, dim=16, width=4),
    "opt": Family(
        "OPTConfig", {**ALIKE, "ffn_dim": 16, "word_embed_proj_dim": 64}, ("q_proj", "k_proj", "v_proj", "out_proj"),
        **LEARNED,
    ),
    "bart": Family("BartConfig", CODERS, ("q_proj", "k_proj", "v_proj", "out_proj"), **LEARNED),
    "bert": Family("BertConfig", ALIKE, ("query", "key", "value", "dense"), **LEARNED),
    "t5": Family(
        "T5Config", {"d_model": 64, "d_kv": 8, "num_heads": 8, "num_layers": 2, "d_ff": 16, "vocab_size": 12},
        ("q", "k", "v", "o"), **LEARNED,
    ),
    "gpt_neox": Family(
        "GPTNeoXConfig", {**WIDE, "rotary_pct": 0.25}, ("query_key_value",), 8, 16, 4, grouped=True
    ),
    "phi3": Family("Phi3Config", SIZES, ("qkv_proj",), grouped=False),
    "falcon": Family(
        "FalconConfig", {**SIZES, "num_kv_heads": 4, "new_decoder_architecture": True}, ("query_key_value",),
        grouped=True,
    ),
    "bloom": Family("BloomConfig", OLDER | {"hidden_size": 64}, ("query_key_value",), 8, width=0, grouped=True),
    "gpt2": Family("GPT2Config", OLDER, ("c_attn",), 8, width=0, grouped=False),
    "deepseek_v3": Family("DeepseekV3Config", LATENT, ("q_b_proj",), 8, 24, 8, "adjacent"),
}  # fmt: skip
TABLES = ("embed_positions.weight", "wpe.weight", "position_embeddings.weight")


def save_each(root: Path, *names: str, **options: Any) -> None:
    """Save a model of each family, or of these, of random weights, biases and norms; options of its config besides."""
    import torch
    import transformers

    for name in names or FAMILIES:
        family = FAMILIES[name]
        config = getattr(transformers, family.config)(**{**family.options, **options})
        torch.manual_seed(len(name))
        with_head = type(config) in transformers.AutoModelForCausalLM._model_mapping and name not in ("bart", "bert")
        model = (transformers.AutoModelForCausalLM if with_head else transformers.AutoModel).from_config(config)
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.data += 0.1 * torch.randn_like(parameter)
        model.save_pretrained(root / name)


def tensors_of(folder: Path) -> Tensors:
    return load_file(folder / "model.safetensors")


def copied(folder: Path, tensors: Tensors, to: Path, shards: int = 1) -> Path:
    """The folder with these tensors, in so many files of another name."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.safetensors"))
    files = {name: f"part-{index % shards}.safetensors" for index, name in enumerate(sorted(tensors))}
    for file in set(files.values()):
        save_file({name: np.ascontiguousarray(tensors[name]) for name in files if files[name] == file}, to / file)
    if shards > 1:
        (to / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))
    return to


def is_of(name: str, *modules: str) -> bool:
    return any(f".{module}." in name for module in modules)


def changed(tensors: Tensors, change: Change, *modules: str) -> Tensors:
    return {name: change(rows) if is_of(name, *modules) else rows for name, rows in tensors.items()}


def by_head(rows: np.ndarray, count: int, order: list[int]) -> np.ndarray:
    """Heads in this order."""
    return rows.reshape(count, -1, *rows.shape[1:])[order].reshape(rows.shape)


def by_channel(rows: np.ndarray, dim: int, order: np.ndarray) -> np.ndarray:
    """The channels of each head in this order."""
    return rows.reshape(-1, dim, *rows.shape[1:])[:, order].reshape(rows.shape)


def exchanged(count: int, one: int, other: int) -> list[int]:
    order = list(range(count))
    order[one], order[other] = order[other], order[one]
    return order


def other_layout(family: Family, width: int) -> np.ndarray:
    """The order of a head's channels that takes pairs from the layout of a family to the other one."""
    order, pairs = np.arange(family.dim), np.arange(width)
    start = 16 if family.config.startswith("Deepseek") else 0
    moved = pairs.reshape(2, -1).T if family.layout == "halves" else pairs.reshape(-1, 2).T
    order[start : start + width] = start + moved.ravel()
    return order


def taken_from(tensors: Tensors, source: Callable[[str], str]) -> Tensors:
    """Tensors under the names of others."""
    return {name: tensors.get(source(name), rows) for name, rows in tensors.items()}


def mistakes(name: str, tensors: Tensors) -> Iterator[tuple[str, Tensors, str]]:
    """Each mistake in words, the tensors that it leaves, and the finding that names it."""
    family = FAMILIES[name]
    if family.grouped is not None:
        yield from _of_one_projection(name, family, tensors)
    elif name == "deepseek_v3":
        yield "heads", changed(tensors, lambda rows: by_head(rows, 8, exchanged(8, 3, 5)), "q_b_proj"), "order of heads"
        for width in (8, 24):
            order = other_layout(family, 8) if width == 8 else np.arange(24).reshape(2, -1).T.ravel()
            yield (
                f"pairs of {width}",
                changed(tensors, lambda r, o=order: by_channel(r, 24, o), "q_b_proj"),
                "order of rows",
            )
    else:
        yield from _of_three_projections(family, tensors)
    yield from _of_tables(tensors)


def _of_three_projections(family: Family, tensors: Tensors) -> Iterator[tuple[str, Tensors, str]]:
    (q, k, v, _), kv_heads, dim = family.modules, family.kv_heads, family.dim
    yield "heads 3 and 5 of q", changed(tensors, lambda r: by_head(r, 8, exchanged(8, 3, 5)), q), "order of heads"
    yield (
        "heads 0 and 2 of k",
        changed(tensors, lambda r: by_head(r, kv_heads, exchanged(kv_heads, 0, 2)), k),
        "order of heads",
    )
    yield (
        "heads 1 and 2 of v",
        changed(tensors, lambda r: by_head(r, kv_heads, exchanged(kv_heads, 1, 2)), v),
        "order of heads",
    )
    yield "a head twice", changed(tensors, lambda r: by_head(r, 8, [0, 1, 2, 2, 4, 5, 6, 7]), q), "order of heads"
    drawn = np.random.default_rng(0).permutation(8 * dim)
    yield "rows at random", changed(tensors, lambda rows: rows[drawn], q), "order of rows"
    noise = np.random.default_rng(1).standard_normal
    yield (
        "some rows lost",
        changed(tensors, lambda r: np.concatenate([r[:-8], 0.1 * noise(r[:8].shape)]).astype(r.dtype), q),
        "numbers of some rows",
    )
    layers = {"0": "1", "1": "0"}
    yield (
        "layers",
        taken_from(tensors, lambda n: _with_layer(n, layers) if is_of(n, q, k, v) else n),
        "layers exchanged",
    )
    yield (
        "q of another layer",
        taken_from(tensors, lambda n: _with_layer(n, layers) if is_of(n, q) else n),
        "layers exchanged",
    )
    other = {q: k, k: q} if kv_heads == 8 else {k: v, v: k}
    yield "projections", taken_from(tensors, lambda n: _with_module(n, other)), "projections exchanged"
    if family.width:
        order, whole = other_layout(family, family.width), other_layout(family, dim)
        yield "pairs", changed(tensors, lambda r: by_channel(r, dim, order), q, k), "order of rows"
        yield "pairs of q alone", changed(tensors, lambda r: by_channel(r, dim, order), q), "order of rows"
        yield "the whole head", changed(tensors, lambda r: by_channel(r, dim, whole), q, k), "order of rows"
        narrow = np.arange(dim // 2).reshape(2, -1).T.ravel()
        yield "keys with 8 heads", changed(tensors, lambda r: by_channel(r, dim // 2, narrow), k), "order of rows"


def _with_layer(name: str, layers: dict[str, str]) -> str:
    words = name.split(".")
    index = next((index for index, word in enumerate(words) if word.isdecimal()), None)
    if index is not None:
        words[index] = layers[words[index]]
    return ".".join(words)


def _with_module(name: str, other: dict[str, str]) -> str:
    return ".".join(other.get(word, word) for word in name.split("."))


def _of_one_projection(name: str, family: Family, tensors: Tensors) -> Iterator[tuple[str, Tensors, str]]:
    labels, (module,) = family.labels, family.modules
    count = len(labels)

    def with_rows(change: Change) -> Tensors:
        columns = name == "gpt2"
        return changed(tensors, lambda r: change(r.T).T if columns and r.ndim == 2 else change(r), module)

    def at(kind: str, number: int) -> int:
        return labels.index((kind, number))

    other = family._replace(grouped=not family.grouped).labels
    yield (
        "the other order",
        with_rows(lambda r: by_head(r, count, [labels.index(one) for one in other])),
        "order of q, k and v",
    )
    for kind in "qkv":
        order = exchanged(count, at(kind, 1), at(kind, 2))
        yield f"heads of {kind}", with_rows(lambda r, o=order: by_head(r, count, o)), "order of heads"
    one_for_other = exchanged(count, at("q", 0), at("k", 0))
    yield "a query for a key", with_rows(lambda rows: by_head(rows, count, one_for_other)), "order of heads"
    yield (
        "layers",
        taken_from(tensors, lambda n: _with_layer(n, {"0": "1", "1": "0"}) if is_of(n, module) else n),
        "layers exchanged",
    )
    for width in {family.width, family.dim} if family.width else ():
        channels = other_layout(family, width)
        for kinds in ("qk", "q", "qkv"):
            moves = [channels if kind in kinds else np.arange(family.dim) for kind, _ in labels]
            rows = np.concatenate([index * family.dim + move for index, move in enumerate(moves)])
            yield f"{width} channels of {kinds}", with_rows(lambda r, o=rows: r[o]), "order of rows"


def _of_tables(tensors: Tensors) -> Iterator[tuple[str, Tensors, str]]:
    def with_table(change: Change, *endings: str) -> Tensors:
        return {name: change(rows) if name.endswith(endings) else rows for name, rows in tensors.items()}

    if any(name.endswith(TABLES) for name in tensors):
        drawn = np.random.default_rng(2).standard_normal((64, 64)).astype(np.float32)
        yield "table two late", with_table(lambda r: np.concatenate([drawn[:2], r[:-2]]), *TABLES), "table shifted"
        yield "table two early", with_table(lambda r: np.concatenate([r[2:], drawn[:2]]), *TABLES), "table shifted"
        yield "table rolled", with_table(lambda rows: np.roll(rows, 1, 0), *TABLES), "table shifted"
        yield (
            "half a table",
            with_table(lambda r: np.concatenate([r[:16], drawn[: len(r) - 16]]), *TABLES),
            "other rows in a table",
        )
        yield "table cut", with_table(lambda rows: rows[:-4], *TABLES), "table cut"
        yield "table without its offset", with_table(lambda rows: rows[2:], *TABLES), "table shifted"
        yield "table extended", with_table(lambda r: np.concatenate([r, drawn[:8]]), *TABLES), "table extended"
        yield "another table", with_table(lambda rows: drawn[: len(rows)], *TABLES), "table of another model"
        yield "no table", with_table(np.zeros_like, *TABLES), "table of another model"
        yield "table reversed", with_table(lambda rows: rows[::-1], *TABLES), "order of rows"
    if any(name.endswith(BIAS) for name in tensors):
        yield "heads of a bias", with_table(lambda rows: rows[:, exchanged(8, 1, 2)], BIAS), "order of heads"
        yield "buckets of a bias", with_table(lambda rows: np.roll(rows, 1, 0), BIAS), "table shifted"


BIAS = "relative_attention_bias.weight"
