"""Keys and values rotated once, when they enter a cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posenc.core.arrays import Array
from posenc.core.checked_attention import checked_vectors, number_of_axes, repeated, token_positions
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import Layout
from posenc.torch.attention_paths.arguments import held_encodings
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.one_call import rotate_at
from posenc.torch.tensor_arguments import check_alike, on_same_device


def rotate_keys(
    k: Array, v: Array, *, key_positions: Array, encodings: Sequence[Any | EncodingModule], layout: Layout
) -> tuple[Array, Array]:
    """Keys and values after the rotations among the encodings, which `attention` takes with `keys_rotated=True`.

    A cache that holds them so rotates each key once, and not again in every step of decoding.

    Args:
        k: (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens before heads for "bthd".
        v: (batch, key heads, m, d) and (batch, key heads, m, width) for layout "bhtd", tokens before heads for "bthd".
        key_positions: Positions (m,) or (batch, m), with a last axis of coordinates for encodings that have several.
        encodings: Those of attention; what biases is passed over. Result: k and v, new where they are rotated; for a
            rotation with a table for each head of queries, repeated for these heads.

    Raises:
        TypeError: A value breaks its rule; the message names the argument.
        ValueError: A value breaks its rule; the message names the argument.

    Example:
        >>> import torch
        >>> from posenc import RoPE
        >>> from posenc.torch import attention
        >>> q, k, place, encodings = torch.randn(1, 2, 1, 8), torch.randn(1, 2, 5, 8), torch.arange(5), [RoPE(dim=8)]
        >>> cached, values = rotate_keys(k, k, key_positions=place, encodings=encodings, layout="bhtd")
        >>> given = {"query_positions": place[4:], "key_positions": place, "encodings": encodings, "layout": "bhtd"}
        >>> torch.allclose(attention(q, cached, values, keys_rotated=True, **given), attention(q, k, k, **given), atol=1e-6)
        True
    """
    check_alike(k=k, v=v)
    _, k, v = checked_vectors(k, k, v, layout)
    held, _ = held_encodings(encodings)
    rotations = [each for each in held if isinstance(each.encoding, RotaryEncoding)]
    axes = number_of_axes([each.encoding for each in held])
    key_positions = token_positions("key_positions", on_same_device("key_positions", key_positions, k), k, axes).array
    heads: Any = next(filter(None, (getattr(each.encoding, "heads", None) for each in rotations)), k.shape[1])
    k, v = repeated(k, heads), repeated(v, heads)
    for each in rotations:
        if each.door == "value_rotations":
            v = rotate_at(each.encoding, each.params, v, key_positions, "value", "bhtd")
        else:
            k = rotate_at(each.encoding, each.params, k, key_positions, "key", "bhtd")
    return (k, v) if layout == "bhtd" else (k.transpose(1, 2), v.transpose(1, 2))
