"""What a swap is asked to put in, checked against the model before anything is changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.compose import PerLayer
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.core.rotation import PairLayout, Rotation, of_pairs
from posenc.encodings.adds.nope import NoPE
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import module
from posenc.torch.modules.one_call import one_rotation_serves
from posenc.transformers.swapping.install import Parts
from posenc.transformers.swapping.layer_positions import LayerPositions
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions

#: An encoding, or the module that holds one and what it learns.
Given = Encoding | EncodingModule


@dataclass(frozen=True)
class Asked:
    """What acts inside the attention of each layer, and what is added at the input."""

    layers: tuple[tuple[AttentionLayer, tuple[Given, ...]], ...]
    added: tuple[Given, ...]

    @property
    def attends(self) -> bool:
        """Whether attention itself has to be ours in some layer."""
        return any(_split_off_table(layer, given)[1] for layer, given in self.layers)

    @property
    def reads_cache(self) -> bool:
        """Whether a cache of keys and values is all that later tokens need: not the input of earlier ones."""
        encodings = [_encoding_of(one) for _, given in self.layers for one in given]
        return not any(
            isinstance(encoding, AttentionScore) and encoding.reads in ("key", "both") for encoding in encodings
        )


def asked_positions(own: OwnPositions, encoding: Any, layers: Iterable[int] | None) -> Asked:
    """The encodings of each layer that is chosen, or the TypeError or ValueError that says why they cannot be."""
    chosen = _chosen(own, layers)
    if isinstance(encoding, PerLayer):
        if layers is not None or len(encoding.layers) != len(own.layers):
            raise ValueError(
                f"encoding must be a schedule for all of the model's {len(own.layers)} layers, without layers; got one "
                f"for {len(encoding.layers)}{'' if layers is None else ' and layers'}. Give one encoding a layer."
            )
        each = [() if record is None else _as_list(record) for record in encoding.layers]
    else:
        each = [_as_list(encoding)] * len(chosen)
    added = tuple(
        dict.fromkeys(one for given in each for one in given if isinstance(_encoding_of(one), AdditiveEncoding))
    )
    if added and (len(chosen) < len(own.layers) or isinstance(encoding, PerLayer)):
        raise ValueError(
            f"layers must be left out for {_encoding_of(added[0])!r}, which is added to the input of all; got "
            f"{[layer.number for layer in chosen]}. Leave layers out."
        )
    if own.table is not None and len(chosen) < len(own.layers):
        raise ValueError(
            f"layers must be left out for this model, whose own positions are added at its input, by {own.table.name}; "
            f"got {[layer.number for layer in chosen]}. Leave layers out, or give PerLayer."
        )
    inside = [tuple(one for one in given if not isinstance(_encoding_of(one), AdditiveEncoding)) for given in each]
    for layer, given in zip(chosen, inside, strict=True):
        for one in (*added, *given):
            _check_fits(_encoding_of(one), own, layer)
    return Asked(tuple(zip(chosen, inside, strict=True)), added)


def parts_to_install(asked: Asked, repeat: PairLayout) -> Parts:
    """The modules to put in: of an encoding one for each layer, of a module that is given the same in all."""
    by_layer = {}
    for layer, given in asked.layers:
        by_table, inside = _split_off_table(layer, given)
        device = next(layer.module.parameters()).device
        table = None if by_table is None else _as_module(by_table, device)
        by_layer[layer.number] = LayerPositions(
            layer.arguments, table, [_as_module(one, device) for one in inside], repeat
        )
    device = next(asked.layers[0][0].block.parameters()).device
    return Parts(by_layer, tuple(_as_module(one, device) for one in asked.added))


def _chosen(own: OwnPositions, layers: Any) -> list[AttentionLayer]:
    by_number = {layer.number: layer for layer in own.layers}
    if layers is None:
        return list(own.layers)
    if isinstance(layers, str | bytes) or not isinstance(layers, Iterable):
        raise TypeError(f"layers must be numbers of layers; got {validation.shown(layers)}. Give [0, 1], say.")
    numbers = list(layers)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"layers must be numbers of layers; got {validation.shown(number)}. Give [0, 1], say.")
    if not numbers or len(set(numbers)) < len(numbers) or not set(numbers) <= set(by_number):
        raise ValueError(
            f"layers must be some of {sorted(by_number)}, each once; got {numbers}. Leave layers out for all."
        )
    return [by_number[number] for number in sorted(numbers)]


def _as_list(encoding: Any) -> tuple[Given, ...]:
    """The encodings as they are given, one or a list; without NoPE, which is nothing."""
    given = encoding if isinstance(encoding, list | tuple) else [encoding]
    for one in given:
        if not isinstance(one, Encoding | EncodingModule):
            raise TypeError(
                f"encoding must be an encoding, a module of posenc.torch, or a list of them; got {validation.shown(one)}. "
                "Give RoPE(dim=64), say, or NoPE(dim=64) for no positions."
            )
    return tuple(one for one in given if not isinstance(_encoding_of(one), NoPE))


def _encoding_of(given: Given) -> Any:
    return given.encoding if isinstance(given, EncodingModule) else given


def _as_module(given: Given, device: Any) -> Any:
    return given if isinstance(given, EncodingModule) else module(given).to(device)


def _check_fits(encoding: Any, own: OwnPositions, layer: AttentionLayer) -> None:
    """Refuse an encoding that was made for another shape than the model's."""
    if encoding.axes > 1:
        raise ValueError(
            f"encoding must take one coordinate, as position_ids are; got {encoding!r}, which takes {encoding.axes}. Use a "
            "encoding of one."
        )
    wanted: dict[str, int] = {}
    if isinstance(encoding, AdditiveEncoding):
        wanted["width"] = own.width
    elif isinstance(encoding, RotaryEncoding):
        wanted |= {"head_dim": layer.head_dim, "heads": layer.heads}
    elif isinstance(encoding, AttentionBias):
        wanted["heads"] = layer.heads
    elif isinstance(encoding, AttentionScore):
        wanted |= {"dim": layer.head_dim, "heads": layer.heads, "model_dim": own.width}
    for name, value in wanted.items():
        if getattr(encoding, name, None) not in (None, value):
            raise ValueError(
                f"encoding must have the model's {name}, {value}; got {encoding!r}, with {getattr(encoding, name)}. Build "
                "the encoding for this model."
            )
    window = getattr(layer.module, "sliding_window", None)
    if window is not None and getattr(encoding, "gathers", False):
        raise ValueError(
            f"encoding must not read the keys in between where a window hides them; got {encoding!r} for layer "
            f"{layer.number}, with a window of {window}. Give layers of full attention alone."
        )


def _split_off_table(layer: AttentionLayer, given: tuple[Given, ...]) -> tuple[Given | None, tuple[Given, ...]]:
    """The one rotation that the layer's own code can do with other tables, if there is one, and the others."""
    rotates = [
        one for one in given if isinstance(_encoding_of(one), RotaryEncoding) and "query" in _encoding_of(one).roles
    ]
    scores = any(
        isinstance(_encoding_of(one), AttentionScore) for one in given
    )  # they read queries and keys before rotation
    if len(rotates) != 1 or scores or not _fits_table(_encoding_of(rotates[0]), layer.rotation):
        return None, given
    return rotates[0], tuple(one for one in given if one is not rotates[0])


def _fits_table(encoding: RotaryEncoding, own: RotaryEncoding | None) -> bool:
    """Whether an encoding rotates the same pairs of channels as the layer's code.

    Queries like keys, all heads alike.
    """
    if own is None or not one_rotation_serves(encoding):
        return False
    params = encoding.init(np.random.default_rng(0)) or None
    rotation = encoding.rotation([0], params)
    return (
        type(rotation) is Rotation
        and rotation.heads is None
        and rotation.pairing == of_pairs("encoding", own.rotation([0])).pairing
    )
