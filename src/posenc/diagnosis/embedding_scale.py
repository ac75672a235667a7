"""Whether token embeddings are multiplied by √d before positions are added: how loud words are then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posenc.diagnosis.mistake import Finding

KEY = "scale_embedding"
#: Types whose class multiplies where the file does not say; the others that know the key do not.
BY_DEFAULT = frozenset(
    {"bigbird_pegasus", "fsmt", "m2m_100", "nllb-moe", "pegasus_x", "plbart", "seamless_m4t", "seamless_m4t_v2",
     "speech_to_text", "xglm"}
)  # fmt: skip


def compare_embedding_scales(expected: Mapping[str, Any] | None, actual: Mapping[str, Any] | None) -> Finding | None:
    """What differs in the scale of the embedding of two configs; None where nothing does, or neither says anything."""
    if expected is None or actual is None or not {KEY} & (set(expected) | set(actual)):
        return None
    scaled, got = (_is_scaled(config) for config in (expected, actual))
    if scaled == got:
        return None
    names = {True: "multiplied by √d", False: "left as they are"}
    sentence = f"{KEY} is {got} where {scaled} is meant: token embeddings are {names[got]} before positions are added."
    return Finding(
        "embedding scale", sentence, f"Set {KEY}={scaled}: it decides how much positions weigh compared with words."
    )


def _is_scaled(config: Mapping[str, Any]) -> bool:
    value = config.get(KEY)
    return config.get("model_type") in BY_DEFAULT if value is None else bool(value)
