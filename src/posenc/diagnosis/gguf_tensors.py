"""Tensors of attention in a GGUF file, and what its converter does to those of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from posenc.core.rotation import PairLayout
from posenc.diagnosis.attention_tensors import Checkpoint, Place
from posenc.models.checkpoints.stored_rows import BLOCKS, NUMBERS, PACKED, can_unpack
from posenc.models.formats.gguf_header import read_gguf

#: The words of llama.cpp for what a tensor is; queries of latent attention come from their second projection.
WORDS: dict[str, tuple[str, ...]] = {
    "query": ("attn_q_b", "attn_q"), "key": ("attn_k",), "value": ("attn_v",), "output": ("attn_output",),
    "fused": ("attn_qkv",), "latent": ("attn_kv_a_mqa",), "query norm": ("attn_q_norm",),
    "key norm": ("attn_k_norm",),
}  # fmt: skip
#: What the converter of these architectures adds to norms.
ADDED_TO_NORMS = {"gemma2": 1.0, "gemma3": 1.0}


def checkpoint_of_gguf(path: Path, layout: PairLayout | None) -> Checkpoint:
    """Read a GGUF file as a checkpoint: its tensors, and the constant that its converter added to norms."""
    head = read_gguf(path)
    added = ADDED_TO_NORMS.get(str(head.keys.get("general.architecture")), 0.0)
    return Checkpoint(path, dict(head.stored), layout, added)


def names_in_gguf(places: Iterable[Place], second: Checkpoint) -> dict[str, str]:
    """Map names of a folder's tensors to their names in a GGUF file, except for types that cannot be read."""
    names: dict[str, str] = {}
    for place in places:
        words = (
            [] if place.is_tower else [f"blk.{place.layer}.{word}.{place.leaf}" for word in WORDS.get(place.role, ())]
        )
        name = next((word for word in words if word in second.tensors), None)
        if name is not None:
            names[place.name] = name
    return {name: other for name, other in names.items() if is_read(second, other)}


def is_read(checkpoint: Checkpoint, name: str) -> bool:
    """Whether the numbers of a tensor can be read: some quantised types need the package gguf."""
    dtype = checkpoint.tensors[name].dtype
    return dtype in NUMBERS or dtype in BLOCKS or (dtype in PACKED and can_unpack())


def unread_types(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Types of attention tensors whose numbers are not read."""
    types = {
        tensor.dtype
        for name, tensor in checkpoint.tensors.items()
        if ".attn_" in name and not is_read(checkpoint, name)
    }
    return tuple(sorted(types))


def compared_roles(places: Mapping[str, Place]) -> dict[str, Place]:
    """Select the text tensors of a folder whose role has a name of its own in GGUF files."""
    return {name: place for name, place in places.items() if place.role in WORDS and not place.is_tower}
