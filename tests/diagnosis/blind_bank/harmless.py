"""Variants that change no logit. None may be flagged; with complete evidence the verdict is everything."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig

from diagnosis.blind_bank.architectures import BIASES, QWEN2_VL, ROTARY, T5, TABLES, Architecture, Config
from diagnosis.blind_bank.formulas import bfloat16, slopes
from diagnosis.blind_bank.planted_arrays import (
    CACHE,
    FREQUENCIES,
    LOGITS,
    MASKED,
    SCORES,
    TABLED,
    VECTORS,
    WEIGHTS,
    arrays,
    correct,
)  # fmt: skip
from diagnosis.blind_bank.planted_biases import (
    IN_BLOCKS,
    LENGTH,
    media_arrays,
    media_positions,
    scores,
    sloped,
    t5_bias,
    table_of,
)  # fmt: skip
from diagnosis.blind_bank.planted_configs import other_configs, ropes, rotary_configs
from diagnosis.blind_bank.planted_models import SEEN, built
from posenc import ALiBi, Learned, RoPE

Harmless = tuple[str, Any, Any, dict[str, Any]]


def as_saved(config: Config) -> Config:
    return AutoConfig.for_model(**copy.deepcopy(config)).to_dict()


def backwards(config: Config) -> Config:
    return {key: backwards(value) if isinstance(value, dict) else value for key, value in reversed(config.items())}


def with_others(config: Config) -> Config:
    """Keys that say nothing of positions."""
    return config | {
        "torch_dtype": "bfloat16",
        "use_cache": False,
        "transformers_version": "4.40.0",
        "tie_word_embeddings": True,
    }


def old_spelling(config: Config) -> Config | None:
    """`rope_theta` and `rope_scaling` in place of `rope_parameters`, where one dict serves every layer."""
    said = dict(config.get("rope_parameters") or {})
    if "rope_theta" not in said:
        return None
    kept = {key: value for key, value in config.items() if key != "rope_parameters"}
    base, kind = said.pop("rope_theta"), said.pop("rope_type")
    return kept | {"rope_theta": base} | ({"rope_scaling": {"type": kind} | said} if said else {})


def whole_numbers(config: Config) -> Config | None:
    """A base written as 10000 rather than 10000.0."""
    found = copy.deepcopy(config)
    held = [rope for rope in [found, *ropes(found)] if "rope_theta" in rope]
    for rope in held:
        rope["rope_theta"] = int(rope["rope_theta"])
    return found if held else None


def deeper_vocabulary(config: Config) -> Config:
    return config | {"vocab_size": 128, "intermediate_size": 96, "n_inner": 96, "ffn_dim": 96}


SPELLINGS: dict[str, Callable[[Config], Config | None]] = {
    "as it is": lambda config: config, "saved by transformers": as_saved, "keys in another order": backwards,
    "other keys": with_others, "the old spelling": old_spelling, "whole numbers": whole_numbers,
    "another vocabulary": deeper_vocabulary,
}  # fmt: skip


def config_variants() -> Iterator[Harmless]:
    for name, config in (rotary_configs() | other_configs()).items():
        for variant, spell in SPELLINGS.items():
            served = spell(copy.deepcopy(config))
            if served is not None:
                yield f"{name} / {variant}", config, served, {}


def rounded(given: dict[str, np.ndarray], to: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
    return {key: to(value).astype(np.float32) for key, value in given.items()}


def float16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(np.float32)


def shifted(architecture: Architecture, evidence: str) -> dict[str, np.ndarray]:
    code = correct(architecture)
    return arrays(replace(code, query_positions=lambda p: p + 7, key_positions=lambda p: p + 7), evidence)


def reordered_heads(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Heads numbered the other way, in every array alike."""
    return {key: value[::-1].copy() for key, value in given.items()}


def by_token(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: value[None].swapaxes(1, 2) for key, value in given.items()}


def one_head(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: value[0] for key, value in given.items()}


def less_maximum(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return given | {"logits": given["logits"] - given["logits"].max(-1, keepdims=True)}


def log_softmax(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    z = less_maximum(given)["logits"]
    return given | {"logits": z - np.log(np.exp(z).sum(-1, keepdims=True))}


def doubled(given: dict[str, np.ndarray], adjacent: bool) -> dict[str, np.ndarray]:
    """Cosines and sines for each channel, not for each pair."""
    return {key: np.repeat(value, 2, -1) if adjacent else np.tile(value, 2) for key, value in given.items()}


def later_tokens(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The last 100 tokens alone, with their positions."""
    return {key: value[..., 300:, :] for key, value in given.items()} | {"positions": np.arange(300, 400)}


def array_variants() -> Iterator[Harmless]:
    for architecture in ROTARY:
        where = {"layer": architecture.layer} | architecture.options
        kinds = [VECTORS] if architecture.shows == "rotation" else [VECTORS, *SCORES]
        kinds += [FREQUENCIES, TABLED, CACHE] if architecture.rotary else []
        given = {kind: arrays(correct(architecture), kind) for kind in kinds}
        found: dict[str, Any] = {f"{kind} as it is": held for kind, held in given.items()}
        found["activations in bfloat16"] = rounded(given[VECTORS], bfloat16)
        found["activations in float16"] = rounded(given[VECTORS], float16)
        found["positions shifted by 7"] = shifted(architecture, VECTORS)
        found["heads in another order"] = reordered_heads(given[VECTORS])
        found["one head"] = one_head(given[VECTORS])
        found["float64"] = arrays(correct(architecture), VECTORS, dtype=np.float64)
        found["queries alone"] = {key: value for key, value in given[VECTORS].items() if key.startswith("q")}
        found["the last 100 tokens"] = later_tokens(given[VECTORS])
        if architecture.rotary:
            found["a row for each channel"] = doubled(given[TABLED], architecture.rotary.adjacent)
            found["tables in bfloat16"] = rounded(given[TABLED], bfloat16)
        if LOGITS in given:
            found["logits less the maximum of their row"] = less_maximum(given[LOGITS])
            found["log-softmax"] = log_softmax(given[LOGITS])
            found["logits of shifted positions"] = shifted(architecture, LOGITS)
            found["masked log-softmax"] = log_softmax(given[MASKED])
            found["probabilities of one head"] = one_head(given[WEIGHTS])
        for variant, held in found.items():
            yield f"{architecture.name} / {variant}", architecture.config, held, where
        yield (f"{architecture.name} / axes by token", architecture.config, by_token(given[VECTORS]),
               where | {"layout": "bthd"})  # fmt: skip


def door_variants() -> Iterator[Harmless]:
    key = np.arange(LENGTH)
    for name, config in BIASES.items():
        right = slopes(config.get("n_head") or config["n_heads"])
        by_key = np.broadcast_to(right[:, None, None] * key, (len(right), LENGTH, LENGTH))
        for kind in ("bias", "logits", "probabilities"):
            yield f"{name} / {kind}", config, scores(sloped(right), 8, kind), {}
        yield f"{name} / slope times key", config, {"bias": by_key}, {}
        yield f"{name} / slope times key before the end", config, {"bias": by_key - right[:, None, None] * LENGTH}, {}
        yield f"{name} / positions shifted", config, scores(by_key + 3 * right[:, None, None], 8, "logits"), {}
    for part, both in (("encoder", True), ("decoder", False)):
        bias = t5_bias(both)
        yield f"t5 {part} / bias and table", T5, {"bias": bias, "table": table_of()}, {"part": part}
        yield f"t5 {part} / bias alone", T5, {"bias": bias}, {"part": part}
        yield f"t5 {part} / logits", T5, scores(bias, 16, "logits", 1.0) | {"table": table_of()}, {"part": part}
    rng = np.random.default_rng(6)
    for name, (config, first) in TABLES.items():
        width = config.get("n_embd") or config["hidden_size"]
        rows = config.get("n_positions") or config["max_position_embeddings"] + (first if name == "opt" else 0)
        table, embeddings = (rng.standard_normal((n, width)).astype(np.float32) for n in (rows, LENGTH))
        given = {"embeddings": embeddings, "table": table}
        for variant, held in (("", given), (" in bfloat16", rounded(given, bfloat16))):
            states = {"hidden_states": held["embeddings"] + held["table"][np.arange(LENGTH) + first]}
            states = rounded(states, bfloat16) if variant else states
            yield f"{name} / hidden states{variant}", config, held | states, {}
    yield "qwen2_vl / text, image, text", QWEN2_VL, media_arrays(IN_BLOCKS, media_positions()), {}
    yield "qwen2_vl / positions shifted", QWEN2_VL, media_arrays(IN_BLOCKS, media_positions() + 11), {}


def complete_arrays() -> Iterator[Harmless]:
    """Arrays that show everything that a lone encoding is: no window, no other layer."""
    llama = ROTARY[0]
    meant = RoPE(dim=32, base=500_000.0, pairing="halves")
    for kind in (VECTORS, LOGITS, MASKED, WEIGHTS):
        yield f"encoding / {kind}", meant, arrays(correct(llama), kind), {}
    yield "encoding / bias", ALiBi(heads=8), {"bias": -abs(sloped(slopes(8)))}, {}
    rng = np.random.default_rng(7)
    table, embeddings = (rng.standard_normal((n, 16)).astype(np.float32) for n in (64, 64))
    given = {"embeddings": embeddings, "hidden_states": embeddings + table, "table": table}
    yield "encoding / hidden states", Learned(dim=16, length=64), given, {}


Run = Callable[[Config, Any], tuple[Any, dict[str, Any]]]  # model and the arguments of `capture`


def as_it_is(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    return built(config), {}


def reloaded(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    model = built(config)
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder), {}


def reloaded_in_bfloat16(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    model = built(config)
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder, dtype=torch.bfloat16), {}


def padded(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    """20 tokens of padding on the left."""
    return built(config), {"inputs": {"attention_mask": (torch.arange(SEEN) >= 20).long()[None]}}


def decoded(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    return built(config), {"decoded": 8}


def later_positions(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    return built(config), {"inputs": {"position_ids": torch.arange(7, 7 + SEEN)[None]}}


def around_an_image(config: Config, folder: Any) -> tuple[Any, dict[str, Any]]:
    """20 tokens of text, an image of 6 by 10, text: coordinates that differ, as M-RoPE needs to be seen whole."""
    placed = media_positions()
    after = placed.max() + 1 + np.arange(SEEN - placed.shape[1])
    ids = np.concatenate([placed, np.tile(after, (3, 1))], 1)
    return built(config), {"inputs": {"position_ids": torch.from_numpy(ids)[:, None]}}


RUNS: dict[str, Run] = {
    "around an image": around_an_image,
    "as it is": as_it_is, "saved and reloaded": reloaded, "reloaded in bfloat16": reloaded_in_bfloat16,
    "padded on the left": padded, "decoded with a cache": decoded, "positions from 7": later_positions,
}  # fmt: skip
ONE_PASS = (
    "t5",
    "bert",
    "roberta",
    "modernbert",
    "bloom",
    "mpt",
    "gpt2",
    "opt",
)  # no cache, or positions that are added


def model_variants() -> Iterator[tuple[str, Config, Run]]:
    for name, config in (rotary_configs() | other_configs()).items():
        for variant, run in RUNS.items():
            if config["model_type"] in ONE_PASS and run in (padded, decoded, later_positions):
                continue
            if run is around_an_image and config is not QWEN2_VL:
                continue
            yield f"{name} / {variant}", config, run
