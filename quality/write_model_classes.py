"""Write src/posenc/models/config/classes.json: what the config classes of the installed transformers fill in.

Facts alone: names of classes and keys, and their default values. `python quality/write_model_classes.py` rewrites the
file; tests/models/test_models_page.py generates it again and compares.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from posenc.models.config.fields import ATTENTION_KEYS

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "posenc" / "models" / "config" / "classes.json"
#: Keys whose defaults matter to positions.
KEYS = re.compile(
    r"rope|rotary|theta|alibi|position|head_dim|relative|rel_pos|bucket|sinusoid|sinus|layer_types$|layer_type_"
    r"|sliding|window"
    r"|^n_ctx$|max_seq|max_source|max_target|interval|pattern|temperature_tuning|floor_scale|attn_scale|scale_attn"
    r"|^hidden_size$|^d_model$"
    r"|^num_.*layers$|^num_.*heads$|^.*_layers$|^.*_heads$|every_n|share_att_key|pos_att_type|norm_rel_ebd"
    r"|patch_size|image_size|grid"
    r"|^d_kv$|pad_token_id|crop_size|tubelet_size|frames_per_clip|spatial_merge_size|scale_embedding|layer_group"
    r"|block_types|log_scaling|^embed_dim$|embedding_size$|^d_rel$|^rel_extent$|^memory_attention|pos_emb|posemb"
    r"|conv_pos|^projection_dim$|^depths$|absolute_embed"
    r"|^block_size$|^num_patches$|is_native|is_hybrid|n_cls_tokens|num_mel_bins|^(time|frequency)_stride$"
    r"|^max_length$|^num_stacked_frames$|interpolate_mode"
    r"|^seq_len$|max_num_patches|max_image_size|global_attn_indexes|use_abs_pos|max_ep_len|mm_embed_dim"
    r"|query_pre_attn_scalar|qk_scale_factor|attention_multiplier|chunk_size|local_attention|first_k_dense|no_rope_layer"
    r"|^tokens_per_second$|position_id_per|seconds_per_chunk|insert_layer_id|_aggregation_|^spec_size$"
    r"|^patch_stride$|^chunk_(length|left_context|right_context)$|^fifo_length$|^use_rel_pos$|^patching_"
    r"|^max_patch_length$"
)
#: Keys of attention that count as read by the classes that declare them, whatever their defaults.
ON_ATTENTION = re.compile(rf"{ATTENTION_KEYS.pattern}|^layer_types$")
#: Keys of older files next to rope_parameters, each with a value that no class has.
OLDER_KEYS = {
    "rope_theta": 4321.0,
    "rope_scaling": {"rope_type": "linear", "factor": 3.0},
    "partial_rotary_factor": 0.375,
}
GEOMETRY = {"hidden_size", "num_attention_heads", "num_hidden_layers", "num_key_value_heads"}


def config_classes() -> dict[str, type]:
    """Every config class with a model type, by the type; where two share one, the first of its folder."""
    import transformers
    from transformers import PreTrainedConfig

    transformers.logging.set_verbosity_error()
    found: dict[str, type] = {}
    for file in sorted((Path(transformers.__file__).parent / "models").glob("*/configuration_*.py")):
        module = importlib.import_module(f"transformers.models.{file.parent.name}.{file.stem}")
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, PreTrainedConfig) and value.__module__ == module.__name__:
                found.setdefault(value.model_type or value.__name__, value)
    return found


def plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def called(part: Any) -> str | None:
    """The model type of a config inside; the name of its class where it has none; None where any may stand there."""
    own = getattr(part, "model_type", None)
    return part.__name__ if own == "" else own


def row(kind: type) -> dict[str, Any] | None:
    """One class; None where it cannot be made without arguments and is made of no parts."""
    try:
        made = kind()
    except Exception:
        parts = {key: called(part) for key, part in kind.sub_configs.items()}
        return {"config": kind.__name__, "parts": parts} if parts else None
    names = {key: value for key, value in kind.attribute_map.items() if KEYS.search(key) or key in GEOMETRY}
    declared = {name: getattr(kind, name, None) for name in getattr(kind, "__dataclass_fields__", {})}
    wanted = {
        name: value
        for name, value in declared.items()
        if (KEYS.search(name) or name in names.values()) and plain(value)
    }
    found: dict[str, Any] = {
        "config": kind.__name__,
        "defaults": {k: v for k, v in wanted.items() if v is not None and k != "rope_parameters"},
    }
    also_reads = [name for name in declared if name not in found["defaults"] and ON_ATTENTION.search(name)]
    if also_reads:
        found["also_reads"] = sorted(also_reads)
    if names:
        found["names"] = names
    parts = {key: called(part) for key, part in kind.sub_configs.items()}
    if parts:
        found["parts"] = parts
    optional = [key for key in parts if getattr(made, key, None) is None]
    if optional:
        found["optional"] = optional
    if getattr(made, "rope_parameters", None) is not None or "rope_parameters" in declared:
        found |= {
            "absent": made.rope_parameters,
            "filled": completed(kind, made.rope_parameters),
            "ignores": ignores(kind),
        }
        if fills_layer_types(kind, made.rope_parameters):
            found["fills_layer_types"] = True
        if beside := ignores_beside(kind, made.rope_parameters):
            found["ignores_beside"] = beside
    return found


def completed(kind: type, absent: Any) -> dict[str, Any]:
    """What a rope_parameters that says nothing but its type becomes."""
    return changed(kind, rope_parameters=emptied(absent)) or {}


def fills_layer_types(kind: type, absent: Any) -> bool:
    """Whether the class adds the types of layers that an object for one type lacks."""
    of_type = emptied(absent)
    if "rope_type" in of_type or not of_type:
        return False
    first = next(iter(of_type))
    made = changed(kind, rope_parameters={first: {"rope_type": "default", "rope_theta": OLDER_KEYS["rope_theta"]}})
    return isinstance(made, dict) and of_type.keys() <= made.keys()


def emptied(absent: Any) -> dict[str, Any]:
    """A rope_parameters that says nothing but its type, with an object for each type of layer where the class has."""
    nested = isinstance(absent, dict) and any(isinstance(value, dict) for value in absent.values())
    return {label: {"rope_type": "default"} for label in absent} if nested else {"rope_type": "default"}


def ignores(kind: type, **file: Any) -> list[str]:
    """Older keys that change no rope_parameters where the file has none, or has what is given."""
    plain = changed(kind, **file)
    older = {key: value for key, value in OLDER_KEYS.items() if key not in file and plain is not None}
    return [key for key, value in older.items() if changed(kind, **file, **{key: value}) == plain]


def ignores_beside(kind: type, absent: Any) -> dict[str, list[str]]:
    """Older keys that change nothing next to an object which lacks them, where they are others than without one."""
    alone = ignores(kind)
    beside = {"rope_parameters": ignores(kind, rope_parameters=emptied(absent))}
    if "rope_scaling" not in alone:
        beside["rope_scaling"] = ignores(kind, rope_scaling=OLDER_KEYS["rope_scaling"])
    return {key: ignored for key, ignored in beside.items() if ignored != alone}


def changed(kind: type, **file: Any) -> Any:
    """rope_parameters as a class makes it of a file; None where the class refuses that."""
    try:
        return kind(**copy.deepcopy(file)).rope_parameters
    except Exception:
        return None


def generated() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = {name: made for name, kind in sorted(config_classes().items()) if (made := row(kind)) is not None}
    lines = [f"{json.dumps(name)}: {json.dumps(made, sort_keys=True)}" for name, made in rows.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    FILE.write_text(generated(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
