"""Sentences on what a group of layers does with positions."""

from __future__ import annotations

from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.core.rotation import Pairing
from posenc.frequencies import Scaling
from posenc.inspect import spectrum
from posenc.models.model_positions import LayerGroup


def in_words(group: LayerGroup) -> list[str]:
    """Say what happens to positions in these layers, a sentence each."""
    encodings = [_of_encoding(encoding, group) for encoding in group.encodings] or ["no positional encoding"]
    return [*encodings, *group.beside_encodings()]


def _of_encoding(encoding: Encoding, group: LayerGroup) -> str:
    name = type(encoding).__name__
    if isinstance(encoding, AttentionBias):
        return (
            f"{name}: a bias for each of {encoding.heads} heads, {repr(encoding).partition('(')[2].removesuffix(')')}"
        )
    if isinstance(encoding, AdditiveEncoding):
        length = getattr(encoding, "length", None)
        rows = "" if length is None else f", {length} rows"
        return f"{name}: a vector of {encoding.width} channels{rows} is added to the embeddings"
    if isinstance(encoding, RotaryEncoding) and encoding is group.rotary_encoding and group.channels is not None:
        return _rotation(encoding, group.channels)
    return repr(encoding)


def _rotation(encoding: RotaryEncoding, channels: Pairing) -> str:
    """The rotation of a model in words: which channels, how fast, scaled how."""
    inner = encoding
    while isinstance(within := getattr(inner, "encoding", None), RotaryEncoding):
        inner = within
    which = f"{channels.width} of {channels.dim} channels from {channels.start}"
    which = f"all {channels.dim} channels" if channels.width == channels.dim else which
    pairs = "(2i, 2i+1)" if channels.layout == "adjacent" else "(i, i + half)"
    words = [f"{type(inner).__name__}: {which} of a head, pairs {pairs}"]
    base, scaling = getattr(inner, "base", None), getattr(inner, "scaling", None)
    if base is not None:
        words.append(f"base {base:,.10g}")
    if isinstance(scaling, Scaling):
        words.append(f"scaled by {scaling!r}")
    factor = getattr(inner, "attention_factor", 1.0)
    if factor != 1.0:
        words.append(f"cos and sin times {factor:.6g}")
    return ", ".join([*words, *_wavelengths(inner)])


def _wavelengths(encoding: Encoding) -> list[str]:
    try:
        finite = [length for length in spectrum(encoding).wavelengths if length != float("inf")]
    except TypeError:
        return []
    return [f"one revolution in {min(finite):.4g} to {max(finite):.4g} positions"] if finite else []
