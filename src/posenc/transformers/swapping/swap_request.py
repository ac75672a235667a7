"""Encodings that a swap is asked to put in, checked against the model before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.compose import PerLayer
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout, Rotation, of_pairs
from posenc.encodings.adds.nope import NoPE
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import module
from posenc.torch.modules.one_call import one_rotation_serves
from posenc.transformers.refusals import (
    check_all_layers,
    check_keeps_rows,
    check_made_for,
    check_schedule,
    checked_layer_numbers,
)
from posenc.transformers.swapping.install import Parts
from posenc.transformers.swapping.layer_positions import LayerPositions
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions

#: An encoding, or the module that holds one and its parameters.
EncodingLike = Encoding | EncodingModule


@dataclass(frozen=True)
class SwapRequest:
    """Encodings that a swap puts in.

    Args:
        layers: Layers of attention, each with the encodings that act in it.
        added: Encodings that are added at the input.
    """

    layers: tuple[tuple[AttentionLayer, tuple[EncodingLike, ...]], ...]
    added: tuple[EncodingLike, ...]

    @property
    def attends(self) -> bool:
        """Whether some layer needs attention of ours, and not only other tables for its own rotation."""
        return any(_split_off_table(layer, encodings)[1] for layer, encodings in self.layers)

    @property
    def reads_cache(self) -> bool:
        """Whether later tokens need only cached keys and values, not the layer's input at earlier tokens."""
        inside = [_encoding_of(one) for _, encodings in self.layers for one in encodings]
        return not any(isinstance(one, AttentionScore) and one.reads in ("key", "both") for one in inside)


def checked_request(own: OwnPositions, encoding: Any, layers: Iterable[int] | None) -> SwapRequest:
    """Find the encodings of each chosen layer; raise TypeError or ValueError where they cannot be put in."""
    by_number = {layer.number: layer for layer in own.layers}
    numbers = checked_layer_numbers(layers, list(by_number))
    scheduled = isinstance(encoding, PerLayer)
    if scheduled:
        check_schedule(len(encoding.layers), len(own.layers), layers)
        by_layer = [() if one is None else _as_list(one) for one in encoding.layers]
    else:
        by_layer = [_as_list(encoding)] * len(numbers)
    added = tuple(dict.fromkeys(one for encodings in by_layer for one in encodings if _is_added(one)))
    table = None if own.table is None else own.table.name
    first = _encoding_of(added[0]) if added else None
    check_all_layers(numbers, len(own.layers), added=first, scheduled=scheduled, table=table)
    if own.table is not None:
        check_keeps_rows(added, own.table.name, own.table.encoding.length)
    inside = [tuple(one for one in encodings if not _is_added(one)) for encodings in by_layer]
    chosen = tuple(zip([by_number[number] for number in numbers], inside, strict=True))
    for layer, encodings in chosen:
        sizes = {"width": own.width, "heads": layer.heads, "head_dim": layer.head_dim}
        window = getattr(layer.module, "sliding_window", None)
        for one in (*added, *encodings):
            check_made_for(_encoding_of(one), **sizes, layer=layer.number, window=window)
    return SwapRequest(chosen, added)


def parts_to_install(request: SwapRequest, repeat: PairLayout) -> Parts:
    """Make the modules to put in: one a layer of each encoding; a module that is given is shared by all layers."""
    by_layer = {}
    for layer, encodings in request.layers:
        by_table, inside = _split_off_table(layer, encodings)
        device = next(layer.module.parameters()).device
        table = None if by_table is None else _as_module(by_table, device)
        parts = [_as_module(one, device) for one in inside]
        by_layer[layer.number] = LayerPositions(layer.arguments, table, parts, repeat)
    device = next(request.layers[0][0].block.parameters()).device
    return Parts(by_layer, tuple(_as_module(one, device) for one in request.added))


def _as_list(encoding: Any) -> tuple[EncodingLike, ...]:
    """Tuple of the encodings, given as one or a list, without NoPE, which does nothing."""
    encodings = encoding if isinstance(encoding, list | tuple) else [encoding]
    for one in encodings:
        if not isinstance(one, Encoding | EncodingModule):
            raise TypeError(
                f"encoding must be an encoding, a module of posenc.torch, or a list of them; got "
                f"{validation.shown(one)}. Give RoPE(dim=64), say, or NoPE(dim=64) for no positions."
            )
    return tuple(one for one in encodings if not isinstance(_encoding_of(one), NoPE))


def _encoding_of(one: EncodingLike) -> Any:
    """Encoding of a module, or the encoding itself."""
    return one.encoding if isinstance(one, EncodingModule) else one


def _is_added(one: EncodingLike) -> bool:
    """Whether an encoding is added at the input."""
    return isinstance(_encoding_of(one), AdditiveEncoding)


def _as_module(one: EncodingLike, device: Any) -> Any:
    """Module of an encoding, or the module itself."""
    return one if isinstance(one, EncodingModule) else module(one).to(device)


def _split_off_table(
    layer: AttentionLayer, encodings: tuple[EncodingLike, ...]
) -> tuple[EncodingLike | None, tuple[EncodingLike, ...]]:
    """Split encodings into the rotation that the layer's own code can do with other tables, if any, and the others."""
    kinds = [_encoding_of(one) for one in encodings]
    rotations = [kind for kind in kinds if isinstance(kind, RotaryEncoding) and "query" in kind.roles]
    scores = any(isinstance(kind, AttentionScore) for kind in kinds)  # they read queries and keys before rotation
    if len(rotations) != 1 or scores or not _fits_table(rotations[0], layer.rotation):
        return None, encodings
    place = next(place for place, kind in enumerate(kinds) if kind is rotations[0])
    return encodings[place], encodings[:place] + encodings[place + 1 :]


def _fits_table(encoding: RotaryEncoding, own: RotaryEncoding | None) -> bool:
    """Whether an encoding rotates the same pairs of channels as the layer's code, and all heads alike."""
    if own is None or not one_rotation_serves(encoding):
        return False
    rotation = encoding.rotation([0], encoding.init(np.random.default_rng(0)) or None)
    if type(rotation) is not Rotation or rotation.heads is not None:
        return False
    return rotation.pairing == of_pairs("encoding", own.rotation([0])).pairing
