"""What to write for transformers, vLLM and llama.cpp, read back before it is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from posenc.encodings.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, YaRN
from posenc.models.read import from_config
from posenc.models.records import ModelPositions

#: Keys of rope_parameters that belong to a scaling, and are replaced with it.
SCALING_KEYS = (
    "rope_type", "type", "factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "truncate",
    "low_freq_factor", "high_freq_factor", "short_factor", "long_factor",
)  # fmt: skip
#: Keys of older files, which would win over the new ones or contradict them.
OLDER = ("rope_scaling", "rope_theta", "original_max_position_embeddings")


def rope_parameters(record: RoPE) -> dict[str, Any]:
    """The keys of a config that say what the record says; the width of a partial rotation is not among them."""
    scaling, keys = record.scaling, {"rope_theta": record.base}
    if scaling is None:
        return {"rope_type": "default", **keys}
    if isinstance(scaling, Linear):
        return {"rope_type": "linear", "factor": scaling.factor, **keys}
    if isinstance(scaling, DynamicNTK):
        return {"rope_type": "dynamic", "factor": scaling.factor, **keys}
    if isinstance(scaling, Llama3):
        ends = {"low_freq_factor": scaling.low, "high_freq_factor": scaling.high}
        return {
            "rope_type": "llama3",
            "factor": scaling.factor,
            "original_max_position_embeddings": scaling.original,
            **ends,
            **keys,
        }
    if isinstance(scaling, YaRN):
        made: dict[str, Any] = {
            "rope_type": "yarn",
            "factor": scaling.factor,
            "original_max_position_embeddings": scaling.original,
        }
        beside = {"beta_fast": scaling.beta_fast, "beta_slow": scaling.beta_slow, "mscale": scaling.mscale}
        beside |= {"mscale_all_dim": scaling.mscale_all_dim, "attention_factor": scaling.attention}
        made |= {name: value for name, value in beside.items() if value is not None}
        return made | ({} if scaling.truncate else {"truncate": False}) | keys
    raise ValueError(f"scaling must be one that a config can state here; got {scaling!r:.80}. Write it by hand.")


def changed(data: Mapping[str, Any], attention: str, record: RoPE, length: int) -> dict[str, Any]:
    """The config with the rotation of one type of layer replaced."""
    if isinstance(data.get("text_config"), Mapping):
        return {**data, "text_config": changed(data["text_config"], attention, record, length)}
    old = data.get("rope_parameters")
    new = rope_parameters(record)
    if isinstance(old, Mapping) and isinstance(old.get(attention), Mapping):
        made: dict[str, Any] = {**old, attention: _merged(old[attention], new)}
        kept = dict(data)
    else:
        made = _merged(old if isinstance(old, Mapping) else data.get("rope_scaling") or {}, new)
        kept = {name: value for name, value in data.items() if name not in OLDER}
    # The dynamic type counts from the length in the file, which must stay the trained one.
    longest = {} if isinstance(record.scaling, DynamicNTK) else {"max_position_embeddings": length}
    return {**kept, **longest, "rope_parameters": made}


def _merged(old: Mapping[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in old.items() if name not in SCALING_KEYS}, **new}


def snippets(
    data: Mapping[str, Any], attention: str, record: RoPE, expected: ModelPositions, trained: int, length: int
) -> tuple[dict[str, str], str]:
    """The text for each engine, and how it was checked; no text where reading it back gives another model."""
    try:
        made = changed(data, attention, record, length)
        read = from_config(made, length=length)
    except (ValueError, TypeError) as error:
        return {}, f"none: a config that says so cannot be read back ({error})"
    if [group.encodings for group in read.groups] != [group.encodings for group in expected.groups]:
        return {}, "none: read back, the config does not say the same"
    own = made.get("text_config", made)
    keys = {name: own[name] for name in ("max_position_embeddings", "rope_parameters") if name in own}
    nested = {"text_config": keys} if "text_config" in made else keys
    shown = json.dumps(nested, ensure_ascii=False)
    found = {"transformers": f"config.json: {shown}"}
    if not isinstance(record.scaling, DynamicNTK):  # which vLLM takes as constant, for factor · the trained length
        found["vLLM"] = f"vllm serve MODEL --hf-overrides '{shown}' --max-model-len {length}"
    engine = _llama_cpp(record, trained, length)
    return found | ({"llama.cpp": engine} if engine else {}), "read back through from_config: the same records"


def _llama_cpp(record: RoPE, trained: int, length: int) -> str:
    """Options of llama.cpp, "" where it has none: scalings as in a GGUF file's keys, over a file without a scaling."""
    scaling, start = record.scaling, f"llama-server -m MODEL.gguf -c {length}"
    if scaling is None:
        return f"{start} --rope-scaling none --rope-freq-base {record.base:.7g}"
    if isinstance(scaling, Linear):
        return f"{start} --rope-scaling linear --rope-scale {scaling.factor:.7g}"
    if isinstance(scaling, YaRN) and scaling.truncate and scaling.attention is None and scaling.mscale is None:
        ends = f" --yarn-beta-fast {scaling.beta_fast:g} --yarn-beta-slow {scaling.beta_slow:g}"
        ends = "" if (scaling.beta_fast, scaling.beta_slow) == (32.0, 1.0) else ends
        return f"{start} --rope-scaling yarn --rope-scale {scaling.factor:.7g} --yarn-orig-ctx {scaling.original}{ends}"
    return ""
