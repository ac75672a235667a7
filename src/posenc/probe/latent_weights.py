"""Weights of multi-head latent attention, in which one shared slice of the key rotates."""

from __future__ import annotations

from typing import Any

import numpy as np

from posenc.probe.architecture import Sizes, llama_sizes
from posenc.probe.stream import FILLER, FIRST_QUERY, KEY, Stream

#: Width of the latent vector of keys and values, and of a head's values.
LATENT, VALUES = 32, 32
#: Size of latent vectors, beside which the epsilon of their norms, which no config states, is nothing.
LARGE = 64.0


def latent_keys(sizes: Sizes) -> dict[str, Any]:
    """Return the config keys of these widths for latent attention, with all layers dense (no experts)."""
    return {
        **{key: value for key, value in llama_sizes(sizes).items() if key != "head_dim"},
        "num_key_value_heads": sizes.heads, "kv_lora_rank": LATENT, "v_head_dim": VALUES,
        "q_lora_rank": LATENT * 4, "first_k_dense_replace": 1 << 16,
    }  # fmt: skip


def latent_projections(stream: Stream, sizes: Sizes, first: int, score: float) -> dict[str, np.ndarray]:
    """Make a layer's projections and norms, for queries of size `score` in one rotated channel and a key of ones."""
    rank, unit = LATENT * 4, stream.unit
    down = np.zeros((rank, sizes.hidden))
    asked = np.arange(stream.queries)
    down[asked, FIRST_QUERY + asked] = LARGE / unit
    up = np.zeros((sizes.head, rank))
    up[first + asked, asked] = score / np.sqrt(rank)
    latent = np.zeros((LATENT + stream.queries, sizes.hidden))
    # Vectors (1, 0, 1) of the key and (0, 1, 1) of others have one length, which the norm divides by.
    latent[0, KEY] = latent[2, stream.constant] = LARGE / unit
    latent[1, FILLER : stream.constant] = LARGE / unit
    latent[LATENT:, KEY] = 1 / unit
    values = np.zeros((first + VALUES, LATENT))
    values[first, 0] = values[first + 1, 2] = np.sqrt(2 / LATENT)
    return {
        "self_attn.q_a_proj.weight": down, "self_attn.q_a_layernorm.weight": np.ones(rank),
        "self_attn.q_b_proj.weight": up, "self_attn.kv_a_proj_with_mqa.weight": latent,
        "self_attn.kv_a_layernorm.weight": np.ones(LATENT), "self_attn.kv_b_proj.weight": values,
    }  # fmt: skip
