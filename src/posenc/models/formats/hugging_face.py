"""Records written into a Hugging Face config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posenc.models.config.json_file import loaded
from posenc.models.config.reader import from_config
from posenc.models.formats.rope_keys import OLDER, of_group
from posenc.models.model_positions import LayerGroup, ModelPositions

#: The key of the share of a head that turns.
SHARE = "partial_rotary_factor"
#: Keys of a rotation beside rope_parameters, in older files of several model types.
BESIDE = (
    *OLDER,
    SHARE,
    "rotary_pct",
    "rotary_emb_base",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
)


def to_config(
    positions: ModelPositions, config: Mapping[str, Any] | str | Path, *, length: int | None = None
) -> dict[str, Any]:
    """A config whose rotations are those of `positions`, with everything else as it was.

    positions: from any reader: a GGUF file, params.json, Megatron's arguments.      config: of the same architecture; it says what
    no rotation does: the model type, sizes, which layers are of which type.      length: as in `from_config`.
    The result is in the present spelling, and is read back before it is returned: ValueError where its class cannot say what the
    records say, such as another pairing (see `convert_checkpoint`).

    >>> from posenc.models import from_megatron
    >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 96, "num_attention_heads": 12, "num_hidden_layers": 2,
    ...           "max_position_embeddings": 4096}
    >>> arguments = {"num_layers": 2, "kv_channels": 8, "position_embedding_type": "rope", "rotary_base": 500000}
    >>> to_config(from_megatron(arguments), config)["rope_parameters"]
    {'rope_type': 'default', 'rope_theta': 500000.0}
    """
    data, _ = loaded(config)
    part = "text" if "text" in positions.parts else positions.parts[0]
    groups = positions.of(part)
    wanted, said = _by_layer(groups), ""
    for keys in _forms(groups):
        made = _with(data, keys)
        try:
            read = from_config(made, length=length)
        except (ValueError, TypeError) as error:
            said = said or str(error)
            continue
        found = _by_layer(read.of(part) if part in read.parts else ())
        if found == wanted:
            return made
        said = said or f"read back, it says {_first_difference(found, wanted)}"
    raise ValueError(
        f"positions must be what a config of this model type can say; {said[:300]}. Choose the config of that model."
    )


def _forms(groups: tuple[LayerGroup, ...]) -> list[dict[str, Any]]:
    """One rotation for all layers that turn, if they have one, and one for each type of layer; both without the share of a head
    that turns as well, for classes that state a width in its place."""
    made = [of_group(group) for group in groups]
    found: list[dict[str, Any]] = []
    for kept in (made, [keys and {name: keys[name] for name in keys if name != SHARE} for keys in made]):
        turning = [keys for keys in kept if keys is not None]
        found += [turning[0]] if turning and all(keys == turning[0] for keys in turning) else []
        found.append({group.attention: keys for group, keys in zip(groups, kept, strict=True)})
    return found


def _with(data: Mapping[str, Any], keys: dict[str, Any]) -> dict[str, Any]:
    if isinstance(data.get("text_config"), Mapping):
        return {**data, "text_config": _with(data["text_config"], keys)}
    return {**{name: value for name, value in data.items() if name not in BESIDE}, "rope_parameters": keys}


def _by_layer(groups: tuple[LayerGroup, ...]) -> dict[int, tuple[Any, ...]]:
    """What each layer does: its records, and what multiplies queries and logits."""
    return {
        layer: (*group.encodings, group.query_temperature, group.logit_factor)
        for group in groups
        for layer in group.layers
    }


def _first_difference(found: Mapping[int, Any], wanted: Mapping[int, Any]) -> str:
    layer = next(one for one in sorted({*found, *wanted}) if found.get(one) != wanted.get(one))
    return f"{found.get(layer)!r:.110} in layer {layer}, and not {wanted.get(layer)!r:.110}"
