"""Encodings as GGUF metadata."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.frequencies import DynamicNTK, Linear, LongRoPE, Proportional, YaRN
from posenc.models.config.converted_type import converted_type
from posenc.models.formats.gguf_architectures import ARCHITECTURES, all_but_every_nth
from posenc.models.formats.gguf_divisors import STANDS_STILL, divisors_of
from posenc.models.formats.single_rotation import (
    SingleRotation,
    check_one_part,
    layer_count,
    single_rotation,
)
from posenc.models.model_positions import ModelPositions, Window, windows_of_layers


def to_gguf(
    positions: ModelPositions, arch: str, *, context_length: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Write encodings as the keys and small tensors of a GGUF file that make llama.cpp rotate alike.

    Give the keys to `gguf.GGUFWriter.add_key_value` with the types of the format: whole numbers as UINT32, others as
    FLOAT32. Scalings other than linear, YaRN and LongRoPE become divisors of the frequencies, rope_freqs.weight.
    Windows are written for Gemma 2 and gpt-oss alone; elsewhere llama.cpp has them in its code, or not at all.

    Args:
        positions: From any reader.
        arch: The architecture, whose pairing must be the encoding's: GGUF has no key for it. Where rows are reordered
            for it, as for "llama", read the config as theirs, with the model type "llama-adjacent-pairs".
        context_length: Positions that the file is for.

    Returns:
        The keys, and the tensors by name, float32.

    Raises:
        ValueError: The format cannot say what the encodings say, or `arch` does not fit them.
        TypeError: `context_length` is no whole number.

    Example:
        >>> from posenc.models import from_gguf, GGUFHead
        >>> head = GGUFHead({"general.architecture": "qwen3", "qwen3.block_count": 2, "qwen3.attention.key_length": 128,
        ...                  "qwen3.rope.freq_base": 1e6, "qwen3.context_length": 40960}, (), {})
        >>> to_gguf(from_gguf(head), "qwen3", context_length=40960)[0]["qwen3.rope.freq_base"]
        1000000.0
    """
    check_one_part(positions, "GGUF")
    validation.integer("context_length", context_length, 1, 2**31)
    validation.text("arch", arch)
    full, sliding = _full_and_sliding(_rotations(positions, arch), arch)
    keys, tensors = _scaling_keys(full)
    keys |= {"block_count": layer_count(positions), "context_length": context_length, **_widths(full, "")}
    keys |= _scale_of_logits(positions, arch, full)
    if full.group.encodings != sliding.group.encodings:
        if sliding.scaling is not None or full.scaling is not None:
            raise ValueError(
                "scaling must be None for GGUF where two kinds of layers rotate, since its readers disagree. Leave it "
                "out."
            )
        keys |= _widths(sliding, "_swa")
    keys |= _windows(positions, arch)
    named = {"general.architecture": arch, **{f"{arch}.{name}": value for name, value in keys.items()}}
    return named, {name: np.array(values, np.float32) for name, values in tensors.items()}


def _rotations(positions: ModelPositions, arch: str) -> list[SingleRotation]:
    """Return the rotations of one or two kinds of layers; ValueError where the architecture makes others."""
    groups = [single_rotation(replace(group, logit_factor=1.0), "GGUF") for group in positions.groups]
    row = ARCHITECTURES.get(arch)
    if row is None or row.pairing is None or row.varying or row.windows or row.windowed or row.rotating:
        raise ValueError(
            f"arch must be one that rotates all layers alike; got {arch!r}. Choose 'llama' or 'qwen3', say."
        )
    rotations = [rotation for rotation in groups if rotation is not None]
    if len(rotations) != len(groups) or len(groups) > 2:
        raise ValueError(
            f"positions must be rotations of one or two kinds of layers for GGUF; got {len(groups)} groups. GGUF has "
            "no keys for that."
        )
    for rotation in rotations:
        if rotation.pairing != row.pairing:
            raise ValueError(
                f"arch must pair channels as the encoding does, {rotation.pairing!r}; {arch!r} does not. Choose one "
                "that does, or, where the rows of queries and keys are reordered (by posenc convert, or for 'llama' by "
                "llama.cpp's converter), read the config as theirs: from_config({**config, 'model_type': "
                f"{converted_type(positions.model_type, row.pairing)!r}}})."
            )
        if rotation.start != (rotation.dim - rotation.width if row.last else 0):
            raise ValueError(
                f"start must be the one of {arch}, since no key states it: the first channels, or the last with "
                f"latent attention; got {rotation.start}. Choose the architecture of the model."
            )
    return rotations


def _full_and_sliding(rotations: list[SingleRotation], arch: str) -> tuple[SingleRotation, SingleRotation]:
    """Return the rotation of layers without a window, and of those with one; the same twice where all rotate alike."""
    first, last = rotations[0], rotations[-1]
    if first.group.encodings == last.group.encodings:
        return first, last
    if not ARCHITECTURES[arch].period:
        raise ValueError(
            "arch must be one with sliding layers, such as 'gpt-oss', where two kinds of layers rotate differently; "
            f"got {arch!r}, in which llama.cpp rotates all alike. Choose the architecture of the model."
        )
    if (first.group.window is None) is (last.group.window is None):
        raise ValueError(
            "window must be in one of two kinds of layers that rotate differently to be written as GGUF; got "
            f"{first.group.window} and {last.group.window}. It has no keys for that."
        )
    return (first, last) if first.group.window is None else (last, first)


def _windows(positions: ModelPositions, arch: str) -> dict[str, Any]:
    """Return the keys of the window and of the layers that have it, for architectures that read them from keys."""
    windows = windows_of_layers(positions)
    sizes = dict.fromkeys(window for window in windows.values() if window)
    row = ARCHITECTURES[arch]
    if not row.period:
        return {}
    if not sizes:
        taken = f"takes one of {row.window:,} where no key states it" if row.window else "needs the key of one"
        raise ValueError(
            f"window must be in some layers to be written as {arch!r}, which {taken}; got none. Write the windows of "
            "the model, or choose another architecture."
        )
    (window, *others) = sizes
    if others or not isinstance(window, Window) or window.after:
        raise ValueError(
            f"window must be one for {arch!r}, of keys before the query; got {', '.join(map(str, sizes))}. GGUF has no "
            "keys for that."
        )
    (part,) = positions.parts
    slides = tuple(windows[part, layer] is not None for layer in range(layer_count(positions)))
    # Older versions of llama.cpp read a number here and ignore a list, and still older ones take the period of the row.
    period = slides.index(False) + 1 if False in slides else 0
    pattern = period if all_but_every_nth(period, len(slides)) == slides else list(slides)
    return {"attention.sliding_window": window.before + 1, "attention.sliding_window_pattern": pattern}


def _scale_of_logits(positions: ModelPositions, arch: str, rotation: SingleRotation) -> dict[str, float]:
    """Return attention.scale where the architecture reads it; ValueError where it may scale logits otherwise."""
    row, (factor, *others) = ARCHITECTURES[arch], dict.fromkeys(group.logit_factor for group in positions.groups)
    if row.scale == "key" and not others:
        return {"attention.scale": factor / math.sqrt(rotation.dim)}
    scaling = rotation.scaling
    if row.scale == "rotation" and scaling and (isinstance(scaling, Linear) or scaling.attention_factor != 1.0):
        raise ValueError(
            f"scaling must be no linear one and have an attention factor of 1 to be written as {arch!r}, in which "
            f"llama.cpp multiplies logits by it as well; got {scaling!r:.100}. Write YaRN's with attention=1."
        )
    computed = row.scale == "layers" and layer_count(positions) == row.largest
    if others or factor != 1.0 or computed:
        reason = (
            "computes it of embedding_length and head_count, which no encoding states"
            if computed
            else "has no key for it that is read one way"
        )
        raise ValueError(
            f"logit_factor must be 1 in all layers to be written as {arch!r}, which {reason}; got "
            f"{', '.join(f'{one:.6g}' for one in (factor, *others))}. Set it in the program that runs the file."
        )
    return {}


def _widths(rotation: SingleRotation, suffix: str) -> dict[str, Any]:
    return {
        f"rope.freq_base{suffix}": rotation.base,
        f"attention.key_length{suffix}": rotation.dim,
        f"rope.dimension_count{suffix}": rotation.width,
    }


def _scaling_keys(rotation: SingleRotation) -> tuple[dict[str, Any], dict[str, tuple[float, ...]]]:
    """Return a rotation's keys under rope.scaling, and its tensors of frequency divisors by name."""
    scaling = rotation.scaling
    if isinstance(scaling, DynamicNTK):
        raise ValueError(
            f"scaling must not follow the length to be written as GGUF, which holds one set of frequencies; got "
            f"{scaling!r:.100}. Write those of one length: leave the scaling out and serve up to "
            f"{scaling.original:,} tokens, or take NTKAware."
        )
    if scaling is None:
        return {"rope.scaling.type": "none"}, {}
    if isinstance(scaling, Linear):
        return {"rope.scaling.type": "linear", "rope.scaling.factor": scaling.factor}, {}
    if isinstance(scaling, YaRN):
        return _yarn(scaling), {}
    if isinstance(scaling, LongRoPE):
        keys = {"rope.scaling.type": "longrope", "rope.scaling.original_context_length": scaling.original}
        if scaling.attention_factor != 1.0:
            keys["rope.scaling.attn_factor"] = scaling.attention_factor
        return keys, {"rope_factors_long.weight": scaling.long, "rope_factors_short.weight": scaling.short}
    if scaling.attention_factor != 1.0:
        raise ValueError(
            f"scaling must have no attention factor to be written as divisors; got {scaling!r:.100}. GGUF has no key "
            "for it."
        )
    divisors = divisors_of(scaling, rotation.width, rotation.base)
    if STANDS_STILL in divisors and not isinstance(scaling, Proportional):
        raise ValueError(
            f"scaling must slow every pair or be Proportional to be written as divisors; got {scaling!r:.100}. "
            "No file of llama.cpp has others whose pairs stand still."
        )
    return {"rope.scaling.type": "none"}, {"rope_freqs.weight": divisors}


def _yarn(scaling: YaRN) -> dict[str, Any]:
    if not scaling.truncate:
        raise ValueError("truncate must be True for GGUF; got False. llama.cpp rounds the ends of the ramp.")
    keys: dict[str, Any] = {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": scaling.factor,
        "rope.scaling.original_context_length": scaling.original,
        "rope.scaling.yarn_beta_fast": scaling.beta_fast,
        "rope.scaling.yarn_beta_slow": scaling.beta_slow,
    }
    plain = YaRN(scaling.factor, scaling.original).attention_factor
    if scaling.attention_factor != plain:  # llama.cpp multiplies its own with this
        keys["rope.scaling.attn_factor"] = scaling.attention_factor / plain
    return keys
