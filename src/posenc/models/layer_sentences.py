"""Sentences on what a group of layers does with positions."""

from __future__ import annotations

from collections.abc import Sequence

from posenc.compose import Backward
from posenc.core import text_lines
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.core.rotation import Pairing, of_pairs
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.frequencies import Scaling
from posenc.inspect import spectrum
from posenc.models.model_positions import LayerGroup, RoleRotation
from posenc.models.patch_positions import IN_WORDS, PatchPositions

#: The axes of a position, by how many it has. Of an image, some towers count columns first.
AXES = {3: ("time", "height", "width"), 2: ("first coordinate", "second coordinate")}


def in_words(group: LayerGroup) -> list[str]:
    """Say what happens to positions in these layers, a sentence each."""
    encodings = [_of_encoding(encoding, group) for encoding in group.encodings] or ["no positional encoding"]
    roles = {str(role): _of_role(role, group) for role in group.roles}
    return [*encodings, *(roles.get(sentence, sentence) for sentence in group.beside_encodings())]


def _of_role(role: RoleRotation, group: LayerGroup) -> str:
    """Say what a role rotates besides queries and keys, and whether it rotates as they do."""
    encoding, meant = role.encoding, group.rotary_encoding
    at = f", vector i at position {role.rate:,}·i" if role.rate != 1 else ""
    if encoding == meant:
        return f"{role.role}: rotated as queries and keys are{at}"
    if isinstance(encoding, Backward) and encoding.encoding == meant:
        return f"{role.role}: rotated back by as much{at}"
    return f"{role.role}: {_rotation(encoding, _channels(encoding))}{at}"


def _channels(encoding: RotaryEncoding) -> Pairing:
    origin = [0] if encoding.axes == 1 else [[0] * encoding.axes]
    return of_pairs("rotation", encoding.rotation(origin)).pairing


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
        return _rotation(encoding, group.channels, group.patches)
    return text_lines.short(encoding)


def _rotation(encoding: RotaryEncoding, channels: Pairing, patches: PatchPositions | None = None) -> str:
    """The rotation of a model in words: which channels, how fast, scaled how."""
    inner = encoding
    while isinstance(within := getattr(inner, "encoding", None), RotaryEncoding):
        inner = within
    which = f"{channels.width} of {channels.dim} channels from {channels.start}"
    which = f"all {channels.dim} channels" if channels.width == channels.dim else which
    pairs = "(2i, 2i+1)" if channels.layout == "adjacent" else "(i, i + half)"
    words = [f"{type(inner).__name__}: {which} of a head, pairs {pairs}"]
    if isinstance(inner, AxialRoPE) and inner.axes in AXES:
        words[0] += f", of which {_pairs_of_axes(inner, patches)}"
    base, scaling = getattr(inner, "base", None), getattr(inner, "scaling", None)
    if base is not None:
        words.append(f"base {base:,.10g}")
    if isinstance(scaling, Scaling):
        words.append(f"scaled by {text_lines.abridged(scaling)}")
    factor = getattr(inner, "attention_factor", 1.0)
    if factor != 1.0:
        words.append(f"cos and sin times {factor:.6g}")
    return ", ".join([*words, *_wavelengths(inner)])


def _pairs_of_axes(encoding: AxialRoPE, patches: PatchPositions | None) -> str:
    """Sentence on the pairs that rotate with each coordinate of a position, as patches name them where they do."""
    names = () if patches is None else tuple(IN_WORDS[patches.coordinates].replace(" and ", ", ").split(", "))
    pairs = {
        name: [pair for pair, axis in enumerate(encoding.axis) if axis == number]
        for number, name in enumerate(names if len(names) == encoding.axes else AXES[encoding.axes])
    }
    return ", ".join(f"{name} has {runs_of_pairs(numbers)}" for name, numbers in pairs.items())


def runs_of_pairs(numbers: Sequence[int]) -> str:
    """Write numbers of pairs, or of layers, as runs with one step each.

    Example:
        >>> runs_of_pairs([0, 1, 2]), runs_of_pairs([1, 4, 7, 10]), runs_of_pairs([0, 3, 6, 7, 8, 9]), runs_of_pairs([])
        ('0-2', '1, 4, … 10', '0, 3, 6 and 7-9', 'none')
    """
    runs: list[list[int]] = []
    for number in numbers:
        last = runs[-1] if runs else []
        if last and (len(last) == 1 or number - last[-1] == last[-1] - last[-2]):
            last.append(number)
        else:
            runs.append([number])
    return " and ".join(map(_run, runs)) or "none"


def _run(numbers: list[int]) -> str:
    first, *_, last = (*numbers, numbers[-1])
    if len(numbers) > 1 and numbers[1] - first == 1:
        return f"{first}-{last}"
    return ", ".join(map(str, numbers)) if len(numbers) < 4 else f"{first}, {numbers[1]}, … {last}"


def _wavelengths(encoding: Encoding) -> list[str]:
    try:
        finite = [length for length in spectrum(encoding).wavelengths if length != float("inf")]
    except TypeError:
        return []
    return [f"one revolution in {min(finite):.4g} to {max(finite):.4g} positions"] if finite else []
