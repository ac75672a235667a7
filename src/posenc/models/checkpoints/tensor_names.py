"""Names of the tensors of a checkpoint that have a row for each channel of a query or a key."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["query", "key", "latent", "fused", "query norm", "key norm", "stays"]
Moves = Literal["rows", "scale", "zero point", "packed columns", "columns", "packed zeros", "one number", "stays"]

_MODULES: dict[Kind, tuple[str, ...]] = {
    "query": ("q_proj", "wq", "query", "to_q", "linear_q", "q_b_proj", "wq_b"),
    "key": ("k_proj", "wk", "key", "to_k", "linear_k"),
    "latent": ("kv_a_proj_with_mqa", "wkv_a"),
    "fused": ("qkv_proj", "query_key_value", "Wqkv", "wqkv", "qkv", "W_pack", "c_attn", "linear_qkv"),
    "query norm": ("q_norm", "query_norm", "q_layernorm", "query_layernorm", "norm_q"),
    "key norm": ("k_norm", "key_norm", "k_layernorm", "key_layernorm", "norm_k"),
    "stays": (
        "v_proj", "wv", "value", "to_v", "linear_v", "v_norm", "o_proj", "wo", "out_proj", "dense", "to_out",
        "linear_proj", "linear_out", "c_proj", "q_a_proj", "q_a_layernorm", "wq_a", "kv_a_layernorm", "kv_norm",
        "kv_b_proj", "wkv_b",
        "rotary_emb", "inner_attention", "sinks", "bias", "masked_bias",
    ),
}  # fmt: skip

#: What a module is, by its name.
MODULES: dict[str, Kind] = {name: kind for kind, names in _MODULES.items() for name in names}
MOVING = frozenset(name for kind in ("query", "key", "latent", "fused") for name in _MODULES[kind])

#: What follows the name of a module, and how it moves with the rows of the weight.
_PARTS: tuple[tuple[str, Moves], ...] = (
    (r"(base_layer\.)?(weight|bias)", "rows"),
    (r"weight_packed", "rows"),
    (r"lora_B(\.\w+)?\.(weight|bias)", "rows"),
    (r"lora_magnitude_vector(\.\w+)?(\.weight)?", "rows"),
    (r"lora_A(\.\w+)?\.weight", "stays"),
    (r"SCB", "rows"),
    (r"biases", "rows"),
    (r"weight_scale(_inv)?|scales?|weight\.scale", "scale"),
    (r"weight_zero_point|zero_point", "zero point"),
    (
        r"(input|output|q|k|v)_scale|input_zero_point|(weight|input)_global_scale|weight_scale_2|weight_format",
        "one number",
    ),
    (r"weight_shape|(weight_)?g_idx", "stays"),
    (r"qweight", "packed columns"),
    (r"qzeros", "packed zeros"),
)

#: A word in a name that speaks of queries or keys.
_SUSPECT = re.compile(r"(^|[._])(q|k|qk|kq|qkv|query|key|wq|wk|wqkv)([._]|$)", re.IGNORECASE)


def attention_module_of(name: str) -> str | None:
    """The name of the attention module that a query or key tensor lies in; None for any other tensor."""
    words = name.split(".")
    index = next((i for i, word in enumerate(words) if word in MOVING), None)
    return None if not index else ".".join(words[:index])


def parents(name: str) -> list[str]:
    """The modules that a tensor lies in, the innermost first."""
    words = name.split(".")
    return [".".join(words[:count]) for count in range(len(words) - 1, 0, -1)]


def part_moves(part: str) -> Moves | None:
    """Return how a part such as a scale is reordered when the weight's rows are; None where that is not known."""
    return next((moves for pattern, moves in _PARTS if re.fullmatch(pattern, part)), None)


def suspect(name: str) -> bool:
    """Say whether a name outside attention speaks of queries or keys all the same."""
    return _SUSPECT.search(name) is not None


def stem(name: str) -> str:
    """A module's name without the numbers of its layers: what all layers of one stack share."""
    return ".".join("#" if word.isdecimal() else word for word in name.split("."))


def layer_of(name: str) -> int | None:
    """The number of the layer that a module lies in."""
    return next((int(word) for word in name.split(".") if word.isdecimal() and len(word) < 7), None)
