"""Every architecture that a probe can be written for."""

from __future__ import annotations

from dataclasses import replace

from posenc.probe.architecture import Architecture

LLAMA = Architecture(("llama", "mistral"), gguf="llama")
QWEN2 = replace(
    LLAMA,
    model_types=("qwen2",),
    gguf="qwen2",
    zeros={**LLAMA.zeros, "self_attn.q_proj.bias": "q", "self_attn.k_proj.bias": "k", "self_attn.v_proj.bias": "k"},
)

ARCHITECTURES: dict[str, Architecture] = {name: row for row in (LLAMA, QWEN2) for name in row.model_types}


def architecture_of(model_type: str) -> Architecture:
    """The architecture of a model type.

    Raises:
        ValueError: No probe can be written for it.
    """
    if model_type not in ARCHITECTURES:
        raise ValueError(
            f"config must be of a model type that a probe can be written for; got {model_type!r:.60}. Known are "
            f"{', '.join(sorted(ARCHITECTURES))}."
        )
    return ARCHITECTURES[model_type]
