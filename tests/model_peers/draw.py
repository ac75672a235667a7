"""Configs at random, that together vary every key of positions that a class takes."""

from __future__ import annotations

import random
from typing import Any

from model_peers.rotary import Peer
from posenc.models.config import head_rules
from posenc.models.config.config_classes import config_classes
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.pair_axes import AxisLayout, alternating, every_third

KINDS = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
#: Types that a class refuses to be built with, or computes with a width that its own code cannot use.
ONLY = {
    "phi3": ("default", "longrope"),
    "phi4_multimodal": ("default", "longrope"),
    "phimoe": ("default", "longrope"),
    "recurrent_gemma": ("default",),
    "cosmos3_edge_text": ("default",),
    "ernie4_5_vl_moe_text": ("default",),
    "llama4_vision_model": ("default",),
    "mistral4": ("linear", "dynamic", "yarn", "longrope", "llama3"),
    # Their full layers have heads of another width than their sliding ones, which the other types look up in the wrong
    # place.
    "diffusion_gemma_text": ("default",),
    "embedding_gemma2_text": ("default", "proportional"),
    "gemma4_text": ("default", "proportional"),
    "gemma4_unified_text": ("default", "proportional"),
    "dots3_note_text": ("default", "linear", "yarn", "llama3"),
    "lfm3": ("default", "linear", "yarn", "llama3", "proportional"),
}
#: Types of layers of a class whose own defaults name none.
LABELS = {"cohere_compass_text": {"sliding_attention": {}, "full_attention": None}}
#: Classes that check widths against other parts of the model, and are drawn with their own.
OWN_WIDTHS = {
    "bamba", "beam", "granitemoehybrid", "dots3_note_audio_encoder", "gradium_phonon_tts", "pocket_tts", "zamba2",
    "falcon_h1", "t5gemma2_text",
    "diffusion_gemma_text", "embedding_gemma2_text", "gemma4_text", "gemma4_unified_text", "step3p5", "deepseek_v4",
    "neomme",
    "dots3_note_vision_encoder",
}  # fmt: skip
#: Classes whose older spelling is another one, or that came after rope_parameters and know no other.
NEW_SPELLING = {"gpt_neox", "gpt_neox_japanese", "mistral4", "cohere2_moe", "bamba"}


def kinds(peer: Peer) -> tuple[str, ...]:
    """The types of rotation that a class can be built with."""
    row = MODEL_TYPES[peer.model_type]
    if row.part == "vision" and row.axes and peer.model_type not in ONLY:
        return ("axial",)
    return ONLY.get(peer.model_type, KINDS)


def settings(peer: Peer, draw: random.Random, kind: str) -> dict[str, Any]:
    """A config of one rope_type, in either spelling."""
    known, row = config_classes()[peer.model_type], MODEL_TYPES[peer.model_type]
    longest = known.names.get("max_position_embeddings", "max_position_embeddings")
    made: dict[str, Any] = {longest: draw.choice([4096, 8192, 131_072])}
    width = _widths(made, peer, draw)
    labels = LABELS.get(peer.model_type, known.absent)
    if any(isinstance(own, dict) for own in (labels or {}).values()):
        return made | _nested(peer, labels, draw, kind, width)
    spelled = one(draw, kind, width, row.partial, row.axes is None and row.rotated_slice is None)
    if row.sections:
        part = 1.0 if kind == "proportional" else spelled.get("partial_rotary_factor", 1.0)
        spelled["mrope_section"] = _sections(draw, row.axes, int(width * part) // 2)
    if peer.model_type == "phimoe" and kind != "default":
        spelled |= {"short_mscale": 1.25, "long_mscale": 1.5}
        spelled.pop("attention_factor", None)
    if peer.model_type.startswith("hunyuan_v1") and kind == "dynamic" and draw.random() < 0.7:
        spelled["alpha"] = draw.choice([50.0, 1000.0])
    theta = spelled.pop("rope_theta")
    if peer.model_type in NEW_SPELLING or known.ignores or draw.random() < 0.5:
        return made | {"rope_parameters": spelled | {"rope_theta": theta}}
    if "partial_rotary_factor" in spelled and draw.random() < 0.5:
        made["partial_rotary_factor"] = spelled.pop("partial_rotary_factor")
    made["rope_theta"] = theta
    if spelled != {"rope_type": "default"}:
        spelled["type" if draw.random() < 0.3 else "rope_type"] = spelled.pop("rope_type")
        made["rope_scaling"] = spelled
    return made


def _sections(draw: random.Random, layout: AxisLayout, pairs: int) -> list[int]:
    """Pairs of time, height and width; of height, width and time where they alternate."""
    if layout is alternating:
        each = draw.randrange(1, pairs // 2)
        return [each, each, pairs - 2 * each]
    if layout is every_third:
        each = pairs // 3
        return [pairs - 2 * each, each, each]
    first = draw.randrange(1, pairs - 1)
    second = draw.randrange(1, pairs - first) if pairs - first > 1 else 1
    return [first, second, pairs - first - second]


def _widths(made: dict[str, Any], peer: Peer, draw: random.Random) -> int:
    """Widths of a model, small and odd ones among them; the width that rotates."""
    known, row = config_classes()[peer.model_type], MODEL_TYPES[peer.model_type]
    if (
        row.rotated_slice is head_rules.latent_windows
    ):  # whose two types of layers turn 64 channels by default, and are drawn alike
        return 64
    if peer.model_type in OWN_WIDTHS:
        config = peer.configured({})
        own = config.__dict__.get("head_dim") or config.hidden_size // config.num_attention_heads
        return int(own) * (2 if row.head_dim is head_rules.twice_hidden_over_heads else 1)
    if row.rotated_slice in (head_rules.latent, head_rules.latent_share):
        made |= {"qk_rope_head_dim": draw.choice([16, 32, 64]), "qk_nope_head_dim": draw.choice([16, 48, 128])}
        if peer.model_type == "longcat_flash":
            made["head_dim"] = made["qk_rope_head_dim"]
        return int(made["qk_rope_head_dim"])
    dim, heads = draw.choice([32, 64, 128] if row.axes else [16, 32, 64, 80, 128]), draw.choice([2, 4, 8])
    if row.head_dim is head_rules.memory_head_dim:
        made |= {"memory_attention_hidden_size": dim * heads, "memory_attention_num_attention_heads": heads}
        return dim
    if row.head_dim is head_rules.embed_over_heads:
        made |= {"embed_dim": dim * heads, "num_heads": heads}
        return dim
    made[known.names.get("num_attention_heads", "num_attention_heads")] = heads
    if "encoder_num_attention_heads" in known.defaults:  # whose encoder rotates by the same class
        made["encoder_num_attention_heads"] = heads
    made[known.names.get("hidden_size", "hidden_size")] = dim * heads
    # A class that declares head_dim and leaves it null divides by it when it scales.
    if row.head_dim is head_rules.stated_head_dim and (
        "head_dim" in peer.config.__dataclass_fields__ or "head_dim" in known.names
    ):
        dim = made["head_dim"] = draw.choice([32, 64, 128] if row.axes else [16, 32, 64, 80, 128])
    return dim


def one(draw: random.Random, kind: str, dim: int, partial: bool, whole: bool = False) -> dict[str, Any]:
    """rope_parameters of one type. whole: whether a class whose default type turns whole heads may be asked for a
    part."""
    made: dict[str, Any] = {"rope_type": kind, "rope_theta": draw.choice([100.0, 1e4, 5e5, 123_456.7, 1_000_000])}
    width = dim
    if kind == "proportional":
        made["partial_rotary_factor"] = draw.choice([0.25, 0.5, 1.0])
    elif partial or (whole and kind != "default" and draw.random() < 0.3):
        # The functions of transformers for the other types read it in every class.
        made["partial_rotary_factor"] = draw.choice([0.25, 0.5, 1.0])
        width = int(dim * made["partial_rotary_factor"])
    if kind in ("linear", "dynamic", "llama3", "yarn"):
        made["factor"] = draw.choice([1.0, 2.0, 4.0, 8.0, 32.0, 3.7])
    if kind == "proportional" and draw.random() < 0.5:
        made["factor"] = draw.choice([2.0, 8.0])
    if kind in ("yarn", "longrope", "llama3"):
        made["original_max_position_embeddings"] = draw.choice([1024, 2048, 4096])
    if kind == "llama3":
        low = draw.choice([0.5, 1.0, 2.0])
        made |= {"low_freq_factor": low, "high_freq_factor": low * draw.choice([1.5, 4.0])}
    if kind == "yarn":
        made |= _yarn(draw)
    if kind == "longrope":
        pairs = width // 2
        made["short_factor"] = [1.0 + draw.random() for _ in range(pairs)]
        made["long_factor"] = [1.0 + 40 * draw.random() for _ in range(pairs)]
        made |= draw.choice([{}, {"factor": 16.0}, {"attention_factor": 1.19}, {"factor": 1.0}])
    return made


def _yarn(draw: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = draw.choice([{}, {"beta_fast": 16.0, "beta_slow": 2.0}, {"beta_fast": 64, "beta_slow": 1}])
    made |= draw.choice([{}, {"truncate": True}, {"truncate": False}])
    return made | draw.choice(
        [
            {},
            {"attention_factor": 1.25},
            {"mscale": 1.0, "mscale_all_dim": 0.8},
            {"mscale": 0.707, "mscale_all_dim": 0.707},
        ]
    )


def _nested(peer: Peer, labels: Any, draw: random.Random, kind: str, width: int) -> dict[str, Any]:
    """A dict for each type of layer, without YaRN's truncate: transformers reads it from the wrong place there."""
    row, ropes = MODEL_TYPES[peer.model_type], {}
    for label, own in labels.items():
        ropes[label] = None if own is None else one(draw, kind, width, row.partial)
        if own is not None:
            ropes[label].pop("truncate", None)
            if row.sections:
                ropes[label]["mrope_section"] = _sections(draw, row.axes, width // 2)
    return {"rope_parameters": ropes}
