"""Config of a probe: the file's own position keys, with widths of a few hundred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core.doors import Encoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.t5 import T5Bias
from posenc.models.config.reader import from_config
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.probe.architecture import ProbeArchitecture, Sizes

#: Layers of a probe at least, so that one with two neighbours is seen.
FEWEST_LAYERS = 3
#: Parts of a model besides the text.
TOWERS = frozenset({"vision_config", "audio_config"})
#: Keys of files that describe weights, code or other parts.
LEFT_OUT = TOWERS | {"quantization_config", "auto_map", "torch_dtype", "_name_or_path"}
LAYER_KEYS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")


def text_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config of the text model, where a file has several parts."""
    text = config.get("text_config")
    return {key: value for key, value in (text if isinstance(text, Mapping) else config).items() if key not in TOWERS}


def layers_needed(positions: ModelPositions) -> int:
    """The fewest leading layers, three or more, in which every kind of layer occurs."""
    return max([FEWEST_LAYERS, *(min(group.layers) + 1 for group in positions.groups if group.layers)])


def layers_of_model(config: Mapping[str, Any], positions: ModelPositions) -> int:
    """Return the number of layers of the whole model; 3 where neither its positions nor the file state it."""
    numbered = [layer + 1 for group in positions.groups for layer in group.layers]
    stated = config.get(layer_key(config))
    return max(numbered, default=stated if isinstance(stated, int) else FEWEST_LAYERS)


def layer_key(config: Mapping[str, Any]) -> str:
    """Key that states the number of layers; that of most architectures where the file leaves it out."""
    return next((key for key in LAYER_KEYS if key in config), LAYER_KEYS[0])


def probe_config(
    config: Mapping[str, Any], row: ProbeArchitecture, sizes: Sizes, layers: int, all_layers: int, unused: int
) -> dict[str, Any]:
    """The config with the probe's widths; lists with an entry for every layer are cut, all else stays as it is."""
    kept = {
        key: value[:layers] if isinstance(value, list) and len(value) == all_layers else value
        for key, value in config.items()
        if key not in LEFT_OUT
    }
    special = {f"{name}_token_id": unused for name in ("bos", "eos", "pad")}
    if row.quantity == "bucket":
        special["num_decoder_layers"] = layers
    own = {layer_key(config): layers, "tie_word_embeddings": row.tied, "dtype": "float32", **special}
    return {**row.softcaps, **kept, **row.keys(sizes), **own}


def whole_config(written: dict[str, Any], row: ProbeArchitecture, sizes: Sizes) -> dict[str, Any]:
    """Return the whole model's config: the written text config, with an empty vision tower where the model has one."""
    if row.vision is None:
        return written
    whole = written["model_type"].removesuffix("_text")
    shared = ("tie_word_embeddings", "dtype", "bos_token_id", "eos_token_id", "pad_token_id")
    nested = {"text_config": written, **{key: written[key] for key in shared}}
    text = written if whole == written["model_type"] else nested
    return {**text, "model_type": whole, "vision_config": row.vision.keys(sizes)}


def require_same_positions(config: Mapping[str, Any], written: Mapping[str, Any], layers: int) -> ModelPositions:
    """Return the positions of the written config, which must equal those of the file's first layers.

    Raises:
        ValueError: The smaller widths change what the file says of positions.
    """
    one, other = (_by_layer(from_config(each), layers) for each in (config, written))
    if one != other:
        raise ValueError(
            "config must state its positions apart from its widths; a probe of it would have others, "
            f"{_first_difference(one, other):.300}. Write head_dim and the layers' kinds into the file."
        )
    return from_config(written)


ByLayer = dict[tuple[str, int], tuple[object, ...]]


def _by_layer(positions: ModelPositions, layers: int) -> ByLayer:
    return {
        (group.part, layer): _content(group)
        for group in positions.groups
        for layer in group.layers or (-1,)
        if layer < layers
    }


def _content(group: LayerGroup) -> tuple[object, ...]:
    encodings = tuple(map(_apart_from_widths, group.encodings))
    # T5 multiplies logits by 1, whatever the width of a head is.
    factor = 1.0 if any(isinstance(one, T5Bias) for one in group.encodings) else group.logit_factor
    return encodings, group.window, group.offset, factor, group.bias_factor


def _apart_from_widths(encoding: Encoding) -> Encoding:
    if isinstance(encoding, Learned):
        return replace(encoding, dim=1)
    return replace(encoding, heads=1) if isinstance(encoding, T5Bias) else encoding


def _first_difference(one: ByLayer, other: ByLayer) -> str:
    layer = next(layer for layer in {*one, *other} if one.get(layer) != other.get(layer))
    return f"in layer {layer[1]} {other.get(layer)!r} for {one.get(layer)!r}"
