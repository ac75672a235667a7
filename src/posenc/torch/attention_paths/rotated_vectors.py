"""Rotation of queries, keys and values before attention, and of its output behind it, on every path."""

from __future__ import annotations

from typing import Any

from posenc.core.checked_attention import repeated
from posenc.torch.attention_paths.arguments import AttentionCall
from posenc.torch.modules.one_call import rotate_at, rotate_pair_at


def rotated_vectors(call: AttentionCall) -> tuple[Any, Any, Any]:
    """Queries, keys and values after the rotations that act on them."""
    q, k, v, query, key = call.q, call.k, call.v, call.query, call.key
    rotations = (*call.rotations, *call.value_rotations)
    if any(getattr(rotation.encoding, "heads", None) for rotation in rotations):  # a rotation for each head of q
        k, v = repeated(k, q.shape[1]), repeated(v, q.shape[1])
    if call.keys_rotated:
        for rotation in call.rotations:
            q = rotate_at(rotation.encoding, rotation.params, q, query, "query", "bhtd")
        return q, k, v
    for rotation in call.rotations:
        encoding, params = rotation.encoding, rotation.params
        if query is key:
            q, k = rotate_pair_at(encoding, params, q, k, query, "bhtd")
        else:
            q, k = (
                rotate_at(encoding, params, q, query, "query", "bhtd"),
                rotate_at(encoding, params, k, key, "key", "bhtd"),
            )
    for rotation in call.value_rotations:
        v = rotate_at(rotation.encoding, rotation.params, v, key, "value", "bhtd")
    return q, k, v


def rotated_back(call: AttentionCall, output: Any, query: Any) -> Any:
    """Rotate the output back at the positions of its queries, to undo rotations of values."""
    for rotation in call.value_rotations[::-1]:
        output = rotate_at(rotation.encoding, rotation.params, output, query, "output", "bhtd")
    return output
