"""Records as the keys of a config: rope_parameters, for all layers or for each type of them."""

from __future__ import annotations

from typing import Any

from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, YaRN
from posenc.models.model_positions import LayerGroup
from posenc.models.pair_rotation import unwrapped

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
    if isinstance(scaling, LongRoPE):
        lists = {"short_factor": list(scaling.short), "long_factor": list(scaling.long), "factor": scaling.factor}
        given = {} if scaling.attention is None else {"attention_factor": scaling.attention}
        return {"rope_type": "longrope", "original_max_position_embeddings": scaling.original, **lists, **given, **keys}
    if isinstance(scaling, Proportional):
        return {
            "rope_type": "proportional",
            "partial_rotary_factor": scaling.fraction,
            "factor": scaling.factor,
            **keys,
        }
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


def of_group(group: LayerGroup) -> dict[str, Any] | None:
    """The keys of one group of layers, with the share of a head that turns; None for layers without a rotation."""
    record = group.rotation
    if record is None:
        return None
    inner = unwrapped(record)
    if not isinstance(inner, RoPE):
        raise ValueError(f"scaling must be one that a config can state here; got {record!r:.80}. Write it by hand.")
    share = {"partial_rotary_factor": inner.dim / record.head_dim} if inner.dim != record.head_dim else {}
    heat = {} if group.query_temperature is None else {"llama_4_scaling_beta": group.query_temperature.scale}
    return {**share, **heat, **rope_parameters(inner)}
