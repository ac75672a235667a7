"""Keys that a config class pops, renames, fills in or ignores: a file with one of them reads as what its class makes
of it and saves."""

from __future__ import annotations

import copy
import inspect
import json
import re
from itertools import product, zip_longest
from typing import Any

import pytest

pytest.importorskip("transformers")

from model_peers.ledger import SETTINGS
from posenc.models import from_config
from posenc.models.config.config_classes import config_classes as facts
from posenc.models.config.config_classes import nested
from posenc.models.config.model_types import MODEL_TYPES
from write_model_classes import config_classes

pytestmark = pytest.mark.parity
POPPED = re.compile(r'kwargs\.(?:pop|get|setdefault)\(\s*"(\w+)"|"(\w+)" in kwargs|kwargs\["(\w+)"\]')
#: Keys that every class has or that the base class folds in, each with values to try.
COMMON: dict[str, list[Any]] = {
    "rope_theta": [4321.0],
    "partial_rotary_factor": [0.5],
    "rope_scaling": [
        {"rope_type": "linear", "factor": 8.0},
        {"type": "linear", "factor": 8.0},
        {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048},
    ],
    "rope_parameters": [None, {"rope_type": "linear", "factor": 2.0}],
    "sliding_window": [None, 33],
    "head_dim": [None, 64],
    "layer_types": [None, ["full_attention"] * 80],
}
#: Keys that some class pops for itself.
OWN: dict[str, list[Any]] = {
    "attention_windows": [[[2, 2]], [4, 4], [0, 4] * 16],
    "compress_rate_csa": [8],
    "compress_rate_hca": [64],
    "compress_ratios": [[0, 0] + [4, 128] * 40, [128] * 90],
    "embed_dim": [512],
    "first_k_dense_replace": [0, 2],
    "full_attention_interval": [3],
    "global_attn_every_n_layers": [2],
    "global_head_dim": [128],
    "global_rope_theta": [4321.0],
    "heads": [8],
    "hybrid_override_pattern": ["M-M*ME"],
    "image_default_input_size": [[28, 42]],
    "image_num_pos": [12],
    "image_patch_size": [7],
    "image_size": [512],
    "layers": [3],
    "linear_attn_config": [{"full_attn_layers": [2, 27], "kda_layers": [1, *range(3, 27)]}, {"head_dim": 64}],
    "local_rope_theta": [4321.0],
    "moe_layer_freq": [2],
    "no_rope_layer_interval": [3],
    "num_heads": [8],
    "partial_rotary_factors": [[0.5] * 80],
    "per_layer_config": [{"1": {"head_dim": 64}}, {"01": {"head_dim": 64}}],
    "qk_rope_head_dim": [32],
    "rope_local_base_freq": [4321.0],
    "rotary_dim": [32],
    "rotary_emb_base": [4321.0],
    "rotary_pct": [0.5],
    "sliding_window_pattern": [2, 3],
    "sliding_window_size": [77],
    "swa_qk_rope_head_dim": [32],
    "swa_rope_theta": [4321.0],
    "use_dsa": [False, True],
    "use_sliding_window": [False, True],
    "width": [640],
}
#: Keys that are popped and concern no position, or stand for a whole config inside.
OTHERS = {
    "adapter_output_size", "attention_other_setting", "backbone", "block_ff_dim", "capacity_factor", "decoder",
    "frame_rate", "id2label", "model_type", "segmentation_indices", "vit_layers",
    "index_skip_topk_offset", "index_topk_freq", "index_topk_pattern", "is_causal", "label2id", "ls_init_value",
    "mamba_chunk_size", "mamba_conv_bias", "mamba_d_conv", "mamba_dt_init_floor", "mamba_dt_limit", "mamba_dt_max",
    "mamba_dt_min", "mamba_expand", "mamba_n_groups", "mtp_hybrid_override_pattern", "use_falcon_mambapy",
    "moe_layers_enum", "moe_shared_expert_intermediate_size", "n_embed", "num_experts", "num_global_key_value_heads",
    "num_hash_layers", "num_labels", "num_nextn_predict_layers", "out_features", "out_indices", "pooler_hidden_size",
    "pyramid_num_routed", "router_scale", "sparse_attention_config", "tie_embedding", "tie_word_embeddings",
    "use_bias", "whisper_adapter_in_dim", "whisper_adapter_out_dim", "whisper_config",
}  # fmt: skip
#: Types with a habit each: what is filled in where a file has no object, older keys that never count, one object for
#: each type of layer.
BY_DAY = {"ministral3", "moonshine_streaming", "gpt_neox", "lfm3", "deepseek_v4", "cohere2_moe"}
CLASSES = config_classes()
TYPES = sorted(name for name, row in MODEL_TYPES.items() if name in CLASSES and not row.unsupported)


def popped(model_type: str) -> set[str]:
    """What the config class of a type, and those that it is made from, take out of their arguments."""
    found: set[str] = set()
    for kind in CLASSES[model_type].__mro__:
        if ".models." in kind.__module__:
            found |= {next(filter(None, groups)) for groups in POPPED.findall(inspect.getsource(kind))}
    return found


def groups(config: dict[str, Any], parts: set[str] | None = None) -> list[tuple[Any, ...]] | str:
    """What each group of layers does; the error where a config is refused."""
    try:
        found = from_config(config).groups
    except (ValueError, TypeError) as problem:
        return str(problem)
    return [
        (group.part, group.attention, group.layers, group.encodings, group.logit_factor, group.window)
        for group in found
        if parts is None or group.part in parts
    ]


def differences(model_type: str, **keys: Any) -> str:
    """Where a file with these keys reads otherwise than what its class saves; "" where neither can be had."""
    file = {"model_type": model_type, **copy.deepcopy(SETTINGS.get(model_type, {})), **keys}
    ours = groups(copy.deepcopy(file))
    if isinstance(ours, str):  # refused by name
        return ""
    try:
        made = CLASSES[model_type].from_dict(copy.deepcopy(file)).to_json_string(use_diff=False)
    except Exception:  # the class refuses it as well
        return ""
    inside = CLASSES[model_type].sub_configs.keys() - file.keys()  # which a file that lacks them says nothing of
    saved = {name: own for name, own in json.loads(made).items() if name not in inside}
    rope = saved.get("rope_parameters") or {}
    if "partial_rotary_factor" in json.dumps(rope):  # the share that counts; DeepSeek-V4 saves another next to it
        saved.pop("partial_rotary_factor", None)
    theirs = groups({**saved, "model_type": model_type}, {group[0] for group in ours})
    if isinstance(theirs, str):
        return f"{model_type} with {keys}: the saved config is refused: {theirs}"
    unequal = [pair for pair in zip_longest(ours, theirs) if pair[0] != pair[1]]
    return f"{model_type} with {keys}: {unequal[0][0]}\nand as its class saves it {unequal[0][1]}" if unequal else ""


def test_every_popped_key_is_known():
    """A key that a new transformers pops is in neither list, and fails here."""
    unknown = set().union(*map(popped, TYPES)) - {*COMMON, *OWN, *OTHERS}
    assert not unknown


@pytest.mark.parametrize("model_type", [name for name in TYPES if popped(name) & OWN.keys()])
def test_a_key_that_a_class_pops_reads_as_the_class_reads_it(model_type: str):
    """Alone, and next to a scaling."""
    found = [
        differences(model_type, **{key: value}, **beside)
        for key in sorted(popped(model_type) & OWN.keys())
        for value in OWN[key]
        for beside in ({}, {"rope_scaling": COMMON["rope_scaling"][0]})
    ]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", TYPES)
def test_a_common_key_reads_as_the_class_reads_it(model_type: str):
    found = [differences(model_type, **{key: value}) for key, values in COMMON.items() for value in values]
    assert not any(found), "\n".join(filter(None, found))


def beside_objects(model_type: str) -> list[dict[str, Any]]:
    """Files that state a base, or a share of the channels: alone, next to an object that lacks it, and inside one."""
    absent = facts()[model_type].absent
    stated = [{"rope_type": "linear", "factor": 2.0}, {"type": "linear", "factor": 2.0}, {"rope_type": "default"}]
    files: list[dict[str, Any]] = [{}]
    for key, value in (("rope_theta", 4321.0), ("partial_rotary_factor", 0.5)):
        files += [{key: value}, {key: value, "rope_parameters": {}}]
        for name, rope in product(("rope_scaling", "rope_parameters"), stated):
            files += [{key: value, name: rope}, {name: {**rope, key: value}}]
        if nested(absent):
            by_type = {layer_type: dict(stated[0]) for layer_type in absent or {}}
            inside = {layer_type: {**rope, key: value} for layer_type, rope in by_type.items()}
            files += [{key: value, "rope_parameters": by_type}, {"rope_parameters": inside}]
    return files


@pytest.mark.parametrize(
    "model_type",
    [
        pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly)
        for name in TYPES
        if facts()[name].absent is not None
    ],
)
def test_a_base_beside_a_scaling_reads_as_the_class_reads_it(model_type: str):
    found = [differences(model_type, **file) for file in beside_objects(model_type)]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize("model_type", ["gemma3_text", "gemma3n_text", "olmo3", "t5gemma2_text"])
def test_a_null_rotation_of_a_type_of_layer_is_filled_in_as_by_the_class(model_type: str):
    """Not a type of layer that does not rotate: the class puts its own base there."""
    stated = {name: {"rope_type": "default", "rope_theta": 77.0} for name in ("full_attention", "sliding_attention")}
    for name in stated:
        keys = {"rope_parameters": stated | {name: None}}
        live = config_classes()[model_type](**copy.deepcopy(keys)).rope_parameters
        bases = {
            group.attention: group.value("rope_theta").value
            for group in from_config({"model_type": model_type, **keys}).groups
        }
        assert bases == {label: one["rope_theta"] for label, one in live.items()}
