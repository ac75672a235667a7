"""Every rope_type: the scaling that it means, and the keys of rope_parameters that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from posenc.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Proportional, Scaling, YaRN


@dataclass(frozen=True)
class RopeType:
    """One rope_type.

    scaling  the class of its encodings
    fields   the keys of rope_parameters, each with the field of the encoding that it sets
    partial  whether partial_rotary_factor counts
    """

    scaling: type[Scaling] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    partial: bool = True

    @property
    def reads(self) -> frozenset[str]:
        """The keys that count, besides "rope_type", "type" and "rope_theta", which all types read."""
        return frozenset(self.fields) | ({"partial_rotary_factor"} if self.partial else frozenset())


_FACTOR = {"factor": "factor"}
_TRAINED = {"original_max_position_embeddings": "original"}
ROPE_TYPES: dict[str, RopeType] = {
    "default": RopeType(),
    "axial": RopeType(partial=False),
    "linear": RopeType(Linear, _FACTOR),
    "dynamic": RopeType(DynamicNTK, _FACTOR),
    "proportional": RopeType(Proportional, {"partial_rotary_factor": "fraction", **_FACTOR}),
    "llama3": RopeType(Llama3, {**_FACTOR, **_TRAINED, "low_freq_factor": "low", "high_freq_factor": "high"}),
    "yarn": RopeType(
        YaRN,
        {
            **_FACTOR,
            **_TRAINED,
            "beta_fast": "beta_fast",
            "beta_slow": "beta_slow",
            "truncate": "truncate",
            "mscale": "mscale",
            "mscale_all_dim": "mscale_all_dim",
            "attention_factor": "attention",
        },
    ),
    "longrope": RopeType(
        LongRoPE,
        {**_FACTOR, **_TRAINED, "short_factor": "short", "long_factor": "long", "attention_factor": "attention"},
    ),
}
#: Names of a rope_type in older files.
OLDER_TYPES = {"su": "longrope", "mrope": "default", "xdrope": "dynamic"}
#: Keys that are understood, whether the type at hand reads them or not.
KNOWN_KEYS = frozenset().union(*(rope_type.reads for rope_type in ROPE_TYPES.values())) | {
    "rope_type", "type", "rope_theta", "mrope_section", "mrope_interleaved",
}  # fmt: skip
