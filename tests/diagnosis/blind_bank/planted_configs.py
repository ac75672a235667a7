"""Mistakes of a served config: a key dropped, misread or set to another value. Keys name what the config has."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from diagnosis.blind_bank.architectures import BIASES, QWEN2_VL, ROTARY, T5, TABLES, Config

Change = Callable[[Config], Any]  # changes the config in place; False or None where it has nothing of the kind


def ropes(config: Config) -> list[Config]:
    """Every dict of rope keys: that of rope_parameters, one for each kind of layer, or the old rope_scaling."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    nested = [value for value in given.values() if isinstance(value, dict)]
    return nested or ([given] if given else [])


def theta(config: Config, change: Callable[[float], float]) -> bool:
    held = [rope for rope in [config, *ropes(config)] if "rope_theta" in rope]
    for rope in held:
        rope["rope_theta"] = change(rope["rope_theta"])
    return bool(held)


def in_ropes(key: str, change: Callable[[Any], Any]) -> Change:
    def plant(config: Config) -> bool:
        held = [rope for rope in ropes(config) if key in rope]
        for rope in held:
            rope[key] = change(rope[key])
        return bool(held)

    return plant


def at_top(key: str, change: Callable[[Any], Any]) -> Change:
    def plant(config: Config) -> bool:
        if config.get(key) is None:
            return False
        config[key] = change(config[key])
        return True

    return plant


def drop_scaling(config: Config) -> bool:
    if "rope_scaling" in config:
        del config["rope_scaling"]
        return True
    scaled = [rope for rope in ropes(config) if rope.get("rope_type", "default") != "default"]
    for rope in scaled:
        kept = rope["rope_theta"]
        rope.clear()
        rope.update(rope_type="default", rope_theta=kept)
    return bool(scaled)


def exchange_kinds(config: Config) -> bool:
    given = config.get("rope_parameters", {})
    if "full_attention" not in given:
        return False
    given["full_attention"], given["sliding_attention"] = given["sliding_attention"], given["full_attention"]
    return True


def scale_every_kind(config: Config) -> bool:
    """The scaling of full layers reaches local ones too."""
    given = config.get("rope_parameters", {})
    if given.get("full_attention", {}).get("rope_type", "default") == "default":
        return False
    local = given["sliding_attention"]["rope_theta"]
    given["sliding_attention"] = given["full_attention"] | {"rope_theta": local}
    return True


def shift_layers(config: Config) -> bool:
    types = config.get("layer_types")
    if types:
        config["layer_types"] = types[1:] + types[:1]
    return bool(types)


def exchange_betas(config: Config) -> bool:
    held = [rope for rope in ropes(config) if "beta_fast" in rope]
    for rope in held:
        rope["beta_fast"], rope["beta_slow"] = rope["beta_slow"], rope["beta_fast"]
    return bool(held)


def exchange_lists(config: Config) -> bool:
    held = [rope for rope in ropes(config) if "short_factor" in rope]
    for rope in held:
        rope["short_factor"], rope["long_factor"] = rope["long_factor"], rope["short_factor"]
    return bool(held)


def attention_factor_one(config: Config) -> bool:
    held = [rope for rope in ropes(config) if "yarn" in rope.values() and "mscale" not in rope]
    for rope in held:
        rope["attention_factor"] = 1.0
    return bool(held)


def width(config: Config) -> bool:
    if "head_dim" not in config or config["model_type"] in ("glm4",):
        return False
    config["head_dim"] //= 2
    return True


def share(config: Config) -> bool:
    return at_top("partial_rotary_factor", lambda held: 1.0)(config) or at_top("rotary_pct", lambda held: 1.0)(config)


# Names of a layer that does as one of the other kind: in OLMo 3 these differ by the scaling alone.
OTHER_KIND = ("one encoding for all", "local and global exchanged")
CHANGES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "base ten times larger": (lambda config: theta(config, lambda held: held * 10), ("base",)),
    "old key of the base": (at_top("rotary_emb_base", lambda held: 500_000), ("base",)),
    "scaling dropped": (drop_scaling, ("scaling", *OTHER_KIND)),
    "twice the factor": (in_ropes("factor", lambda held: held * 2), ("factor", "scaling")),
    "a quarter of the trained length": (
        in_ropes("original_max_position_embeddings", lambda held: held // 4),
        ("original", "trained length", "scaling"),
    ),
    "half the trained length beside it": (
        at_top("original_max_position_embeddings", lambda held: held // 2),
        ("original", "trained length", "length", "attention factor", "factor"),
    ),
    "betas exchanged": (exchange_betas, ("beta", "ramp", "fast", "slow")),
    "high frequency factor 2": (
        in_ropes("high_freq_factor", lambda held: 2.0),
        ("high", "ramp", "band"),
    ),
    "truncate flipped": (in_ropes("truncate", lambda held: not held), ("truncat",)),
    "attention factor 1": (attention_factor_one, ("attention factor", "attention_factor", "amplitude")),
    "mscale of all channels ignored": (
        in_ropes("mscale_all_dim", lambda held: 0.5),
        ("mscale", "attention factor", "softmax", "scale"),
    ),
    "short and long exchanged": (exchange_lists, ("short", "list", "long")),
    "whole head rotated": (share, ("share", "partial", "rotated", "whole head")),
    "half the head": (width, ("width", "head", "channels", "dim")),
    "kinds of layers exchanged": (exchange_kinds, ("exchang", "local", "global", "base", "scaling")),
    "scaling of every kind of layer": (scale_every_kind, ("scaling", "local", "layers")),
    "layers one further": (shift_layers, ("shift", "layer", "plan")),
    "window one longer": (at_top("sliding_window", lambda held: held + 1), ("window",)),
    "window half": (at_top("local_attention", lambda held: held // 2), ("window",)),
    "layers without rotation inverted": (
        at_top("no_rope_layers", lambda held: [1 - one for one in held]),
        ("nope", "invert", "layers", "rotat"),
    ),
    "scalar before attention": (
        at_top("query_pre_attn_scalar", lambda held: held * 2),
        ("softmax", "scale", "logit", "query_pre_attn_scalar"),
    ),
    "sections the other way round": (in_ropes("mrope_section", lambda held: held[::-1]), ("section",)),
    "rotary slice half": (at_top("qk_rope_head_dim", lambda held: held // 2), ("width", "channels", "dim", "head")),
    "pairs not interleaved": (lambda config: _not_interleaved(config), ("layout", "pair", "interleav", "adjacent")),
}
DOORS: dict[str, tuple[Change, tuple[str, ...]]] = {
    "half the heads": (lambda config: _heads(config), ("head", "slope")),
    "steepest slope 16": (
        lambda config: "attn_config" in config and not config["attn_config"].update(alibi_bias_max=16),
        ("steep", "slope", "alibi_bias_max"),
    ),
    "no ALiBi": (
        lambda config: "attn_config" in config and not config["attn_config"].update(alibi=False),
        ("alibi", "learned", "left out", "bias", "no "),
    ),
    "half the buckets": (at_top("relative_attention_num_buckets", lambda held: held // 2), ("bucket",)),
    "twice the reach": (at_top("relative_attention_max_distance", lambda held: held * 2), ("distance", "reach")),
    "half the table": (lambda config: _table(config), ("row", "length", "table", "position")),
    "other padding row": (
        lambda config: config["model_type"] == "roberta" and not config.update(pad_token_id=0),
        ("offset", "padding", "row"),
    ),
}  # fmt: skip


def _not_interleaved(config: Config) -> bool:
    """DeepSeek's checkpoints pair neighbours unless the file says otherwise."""
    if config["model_type"] != "deepseek_v3":
        return False
    config["rope_interleave"] = False
    return True


def _heads(config: Config) -> bool:
    held = [key for key in ("n_head", "n_heads") if key in config and config["model_type"] != "gpt2"]
    for key in held:
        config[key] //= 2
    return bool(held)


def _table(config: Config) -> bool:
    held = [key for key in ("n_positions", "max_position_embeddings") if key in config]
    for key in held:
        config[key] //= 2
    return bool(held)


def rotary_configs() -> dict[str, Config]:
    """One for each config of the table of architectures, and Qwen2-VL."""
    found: dict[str, Config] = {}
    for architecture in ROTARY:
        if all(architecture.config is not config for config in found.values()):
            found[architecture.name.split(" ")[0]] = architecture.config
    return found | {"qwen2_vl": QWEN2_VL}


def other_configs() -> dict[str, Config]:
    return {**BIASES, "t5": T5} | {name: config for name, (config, _) in TABLES.items()}


def planted(configs: dict[str, Config], changes: dict[str, Any]) -> list[tuple[str, Config, Config, tuple[str, ...]]]:
    """Every config with every change that it has a key for: name, expected, served, words."""
    found = []
    for name, config in configs.items():
        for change, (plant, words) in changes.items():
            served = copy.deepcopy(config)
            if plant(served):
                found.append((f"{name} / {change}", config, served, words))
    return found


def config_rows() -> list[tuple[str, Config, Config, tuple[str, ...]]]:
    return planted(rotary_configs(), CHANGES) + planted(other_configs(), DOORS)
