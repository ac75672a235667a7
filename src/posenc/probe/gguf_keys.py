"""Keys of a probe's GGUF file: its widths, and what llama.cpp reads of its positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.diagnosis.rotation.rotation_usage import RotationUsage, rope_base
from posenc.frequencies import YaRN
from posenc.models.formats.gguf_architectures import ARCHITECTURES
from posenc.models.formats.gguf_write import to_gguf
from posenc.models.model_positions import LayerGroup, ModelPositions, Window, windows_of_layers
from posenc.models.reordered_rows import with_encodings
from posenc.probe.architecture import ProbeArchitecture
from posenc.probe.bucket_weights import FILLER
from posenc.probe.latent_weights import LATENT, VALUES
from posenc.probe.weights import ProbePlan

Keys = dict[str, Any]
#: Architectures whose code says how layers differ, which `to_gguf` therefore refuses: a probe shows what it does.
OF_CODE = ("gemma2", "gemma3", "olmo2", "cohere2", "exaone4", "smollm3", "modern-bert")
EPSILON = 1e-12
#: llama.cpp then returns the state of every token.
NO_POOLING = 0


def position_keys(name: str, positions: ModelPositions, config: Mapping[str, Any]) -> tuple[Keys, Keys]:
    """Return the GGUF keys of positions, and frequency divisors; the engine decides what the format cannot state.

    Raises:
        ValueError: The format has no keys for these positions.
    """
    length = int(config.get("max_position_embeddings") or config.get("n_positions") or 4096)
    if ARCHITECTURES[name].pairing is None:
        return {"context_length": length, **({"attention.max_alibi_bias": 8.0} if name == "mpt" else {})}, {}
    said = with_encodings(positions, lambda encoding, group: _sayable(encoding, group, ARCHITECTURES[name].pairing))
    if name == "deepseek2":
        return _latent(name, said, length), {}
    if name not in OF_CODE:
        keys, divisors = to_gguf(said, name, context_length=length)
        return {key.removeprefix(f"{name}."): value for key, value in keys.items()}, divisors
    keys, divisors = _of_rotating_layers(name, said, length)
    return {"context_length": length, **keys, **_windows(name, said)}, divisors


def scaled_by_layers(row: ProbeArchitecture) -> bool:
    """Whether llama.cpp takes the scale of logits from widths at one count of layers, without a key for it."""
    return bool(row.gguf) and ARCHITECTURES[row.gguf].scale == "layers"


def layers_that_scale(row: ProbeArchitecture, positions: ModelPositions, layers: int) -> int | None:
    """Return the count of layers at which llama.cpp scales logits as the config states; None if any count will do."""
    scaled = any(group.logit_factor != 1.0 for group in positions.groups)
    return layers if scaled and scaled_by_layers(row) and layers == ARCHITECTURES[row.gguf].largest else None


def _sayable(encoding: Encoding, group: LayerGroup, layout: PairLayout | None) -> Encoding:
    """Return the encoding in the architecture's pairing, and YaRN with truncate=True, since llama.cpp truncates."""
    if not isinstance(encoding, RotaryEncoding) or layout is None:
        return encoding
    usage = RotationUsage(encoding).with_rope(pairing=layout)
    if usage is not None and isinstance(usage.scaling, YaRN):
        usage = usage.with_scaling(truncate=True)
    return encoding if usage is None else usage.encoding


def _latent(name: str, positions: ModelPositions, length: int) -> Keys:
    """Return the keys that the converter writes for DeepSeek: 0.1 · mscale_all_dim, and no scale of the softmax.

    llama.cpp makes both the scale and the factor of cosines and sines of that one number.
    """
    rotation = positions.groups[0].rotary_encoding
    scaling = None if rotation is None else RotationUsage(rotation).scaling
    plain = with_encodings(positions, lambda encoding, group: _without_mscale(encoding))
    plain = replace(plain, groups=tuple(replace(group, logit_factor=1.0) for group in plain.groups))
    keys, _ = to_gguf(plain, name, context_length=length)
    said = {key.removeprefix(f"{name}."): value for key, value in keys.items()}
    said.pop("rope.scaling.attn_factor", None)  # of the attention factor 1 above, which no converter writes
    if isinstance(scaling, YaRN) and scaling.mscale_all_dim:
        said["rope.scaling.yarn_log_multiplier"] = 0.1 * scaling.mscale_all_dim
    return said


def _without_mscale(encoding: Encoding) -> Encoding:
    if not isinstance(encoding, RotaryEncoding) or not isinstance(RotationUsage(encoding).scaling, YaRN):
        return encoding
    changed = RotationUsage(encoding).with_scaling(mscale=None, mscale_all_dim=None, attention=1.0)
    return encoding if changed is None else changed.encoding


def _of_rotating_layers(name: str, positions: ModelPositions, length: int) -> tuple[Keys, Keys]:
    """Return rope keys and divisors of rotating layers without a window, else of all, as if there were no others."""
    rotating = tuple(group for group in positions.groups if group.rotary_encoding is not None)
    groups = tuple(group for group in rotating if group.window is None) or rotating
    numbered = tuple(range(sum(len(group.layers) for group in groups)))
    alone = tuple(replace(groups[0], layers=numbered) if group is groups[0] else group for group in groups[:1])
    alone = tuple(replace(group, logit_factor=1.0) for group in alone)
    plain = "llama" if ARCHITECTURES[name].pairing == "adjacent" else "qwen3"
    keys, divisors = to_gguf(replace(positions, groups=alone), plain, context_length=length)
    return {key.removeprefix(f"{plain}."): value for key, value in keys.items() if ".rope." in key}, divisors


def _windows(name: str, positions: ModelPositions) -> Keys:
    """Return the keys of the sliding window, of the layers that have it and, where there is one, of their base."""
    windows = {layer: window for (_, layer), window in windows_of_layers(positions).items()}
    sizes = [window for window in windows.values() if isinstance(window, Window)]
    if not sizes:
        return {}
    slides = [windows[layer] is not None for layer in sorted(windows)]
    keys: Keys = {"attention.sliding_window": sizes[0].before + 1, "attention.sliding_window_pattern": slides}
    if name == "modern-bert":  # both sides together, and every how many layers have none
        period = next((layer for layer in range(1, len(slides)) if not slides[layer]), len(slides))
        keys = {"attention.sliding_window": 2 * sizes[0].before, "attention.sliding_window_pattern": period}
    if name in ("gemma3", "modern-bert"):
        local = next(group.rotary_encoding for group in positions.groups if group.window is not None)
        rope = None if local is None else RotationUsage(local).rope
        keys["rope.freq_base_swa"] = float(rope_base(rope)) if rope is not None else 0.0
    return keys


def size_keys(name: str, plan: ProbePlan, config: Mapping[str, Any]) -> Keys:
    """Keys of the widths of the probe."""
    sizes, row = plan.sizes, plan.architecture
    wide = "f" in "".join(row.zeros.values())
    keys: Keys = {
        "block_count": plan.stream.layers, "embedding_length": sizes.hidden,
        "feed_forward_length": 4 * sizes.hidden if wide else sizes.inner, "attention.head_count": sizes.heads,
        "attention.head_count_kv": sizes.groups, "attention.key_length": sizes.head,
        "attention.value_length": sizes.head,
        f"attention.layer_norm_{'' if row.balanced else 'rms_'}epsilon": EPSILON,
    }  # fmt: skip
    if name == "gpt-oss":
        keys |= {"expert_count": sizes.experts, "expert_used_count": 2, "expert_feed_forward_length": sizes.inner}
    if row.latent:
        keys |= _latent_keys(plan)
    if row.encoder:
        keys |= {"attention.causal": False, "pooling_type": NO_POOLING}
    if row.quantity == "bucket":
        layers = plan.stream.layers // 2
        keys |= {
            "block_count": layers, "decoder_block_count": layers, "attention.relative_buckets_count": sizes.rows,
            "decoder_start_token_id": FILLER,
        }  # fmt: skip
    caps = ("attn_logit_softcapping", "final_logit_softcapping")
    keys |= {cap: float(config[cap]) for cap in caps if config.get(cap)}
    return keys | OTHER_PARTS.get(name, {})


#: Keys of other parts, which a probe sets so that they do nothing.
OTHER_PARTS: Mapping[str, Keys] = {
    "command-r": {"logit_scale": 1.0}, "cohere2": {"logit_scale": 1.0},
    "granite": {"embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0},
    "gptneox": {"use_parallel_residual": True}, "bert": {"tokenizer.ggml.token_type_count": 2},
}  # fmt: skip


def _latent_keys(plan: ProbePlan) -> Keys:
    """Return the keys of latent attention's widths, for one head of compressed keys that serves all queries."""
    rotated = plan.stream.queries
    return {
        "attention.head_count_kv": 1, "attention.q_lora_rank": 4 * LATENT, "attention.kv_lora_rank": LATENT,
        "attention.key_length": LATENT + rotated, "attention.value_length": LATENT,
        "attention.key_length_mla": plan.sizes.head, "attention.value_length_mla": VALUES,
        "rope.dimension_count": rotated, "leading_dense_block_count": plan.stream.layers, "expert_count": 4,
        "expert_used_count": 2, "expert_shared_count": 1, "expert_feed_forward_length": plan.sizes.inner,
        "expert_weights_scale": 1.0, "expert_gating_func": 2,
    }  # fmt: skip
