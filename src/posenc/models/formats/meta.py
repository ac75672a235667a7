"""Meta's params.json as encodings, and encodings as params.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Llama3, Scaling
from posenc.models.config.config_classes import ConfigClass
from posenc.models.config.fields import Fields, Options, stated_values
from posenc.models.config.json_file import load_config
from posenc.models.config.layer_type_rules import count_of
from posenc.models.formats.single_rotation import (
    every_nth,
    groups_by_rotation,
    layer_count,
    only_rotation,
    refuse_windows,
    unrotated_layers,
)
from posenc.models.model_positions import ModelPositions, Value
from posenc.models.notes import NotRead

#: What Meta's code has as constants, the high factor only where a file has none.
CONSTANTS = ConfigClass(
    defaults={
        "rope_low_freq_factor": 1.0,
        "rope_high_freq_factor": 4.0,
        "rope_original_length": 8192,
        "use_scaled_rope": False,
    }
)

#: Keys that are noted: what they say of the keys that a query sees. Mistral's files state windows.
NOT_READ = {
    "attention_chunk_size": "the chunks of some layers",
    "sliding_window": "the window of some or all layers",
    "_sliding_window": "the window of some or all layers",
}


def from_meta(
    params: Mapping[str, Any] | str | Path, *, stated: Mapping[str, Any] | None = None, waive: Iterable[str] = ()
) -> ModelPositions:
    """Read a params.json of Meta's Llama releases, or one of the same form; channels pair up adjacent.

    Args:
        params: A dict, or the path of the file.
        stated: Values by the file's keys, which win. Two must often be stated, since files leave them to the code of
            their release: rope_theta (10000 in Llama 1 and 2), and rope_scaling_factor where use_scaled_rope is true (8
            in Llama 3.1, 32 in Llama 3.2). One that nothing reads is refused.
        waive: Keys that concern positions and may go unread.

    Returns:
        The groups of layers.

    Raises:
        ValueError: A key on positions is not understood or missing, or a value breaks its rule.
        TypeError: A value has another type than its key takes.

    Example:
        >>> params = {"dim": 4096, "n_layers": 32, "n_heads": 32, "rope_theta": 5e5, "use_scaled_rope": True}
        >>> from_meta(params, stated={"rope_scaling_factor": 8.0}).groups[0].encodings[0].scaling
        Llama3(factor=8.0, original=8192, low=1.0, high=4.0)
    """
    data = load_config(params, "params")
    if isinstance(data.get("model"), Mapping):  # Llama 4
        data = dict(data["model"])
    fields = Fields(data, CONSTANTS, Options(stated_values(stated)))
    layers = tuple(range(count_of("n_layers")(fields)))
    if fields.states("head_dim"):
        dim = fields.integer("head_dim", 2)
    else:
        dim = fields.integer("dim") // fields.integer("n_heads")
    base = validation.real("rope_theta", fields.require("rope_theta").value, 0.0, 1e30, above=True)
    encoding = RoPE(dim=dim, base=base, pairing="adjacent", scaling=_scaling(fields))
    interval = fields.integer_or("nope_layer_interval", 0)
    neutral = ("max_seq_len", "rope_scaling_factor", "rope_high_freq_factor", "nope_layer_interval")
    waived = fields.notes_of_unknown_keys(neutral, validation.texts("waive", waive))
    fields.options.refuse_unread()
    unread = (f"{key} = {data[key]!r:.80}, {what}" for key, what in NOT_READ.items() if data.get(key))
    notes = (*waived, *map(NotRead, unread))
    values = (*fields.values, Value("pairing", "adjacent", "class default", "Meta's code"))
    return ModelPositions("meta", groups_by_rotation(layers, every_nth(interval, layers), encoding, values), notes)


def _scaling(fields: Fields) -> Llama3 | None:
    if not fields.flag("use_scaled_rope"):
        return None
    keys = {"factor": "rope_scaling_factor", "low": "rope_low_freq_factor", "high": "rope_high_freq_factor"}
    numbers = {name: validation.real(name, fields.require(key).value, 0.0, 1e9) for name, key in keys.items()}
    return Llama3(original=fields.integer("rope_original_length", 1, 1 << 30), **numbers)


def to_meta(positions: ModelPositions) -> dict[str, Any]:
    """Write encodings as keys of Meta's params.json; head_dim stands for dim / n_heads.

    Args:
        positions: From any reader, with adjacent pairs (see `convert_checkpoint`).

    Returns:
        The keys; add what the file says besides.

    Raises:
        ValueError: The file cannot say what the encodings say, or a layer has a window.
    """
    rotation = only_rotation(positions, "params.json")
    refuse_windows(positions, "params.json")
    if rotation.pairing != "adjacent" or rotation.width != rotation.dim:
        raise ValueError(
            f"pairing must be 'adjacent' over whole heads for params.json; got {rotation.pairing!r} over "
            f"{rotation.width} of {rotation.dim} channels. Convert the checkpoint first."
        )
    count, unrotated = layer_count(positions), unrotated_layers(positions, rotation)
    keys = {"n_layers": count, "head_dim": rotation.dim, "rope_theta": rotation.base, **_scaling_keys(rotation.scaling)}
    if unrotated:
        interval = unrotated[0] + 1
        if frozenset(unrotated) != every_nth(interval, tuple(range(count))):
            raise ValueError(
                f"layers without rotation must be every n-th layer for params.json; got {list(unrotated)}. It has no "
                "key for that."
            )
        keys["nope_layer_interval"] = interval
    return keys


def _scaling_keys(scaling: Scaling | None) -> dict[str, Any]:
    if scaling is None:
        return {"use_scaled_rope": False}
    if not isinstance(scaling, Llama3) or (scaling.low, scaling.original) != (1.0, 8192):
        raise ValueError(
            f"scaling must be that of Llama 3 with low=1 and original=8192 for params.json; got {scaling!r}. "
            "Meta's code has no other."
        )
    return {"use_scaled_rope": True, "rope_scaling_factor": scaling.factor, "rope_high_freq_factor": scaling.high}
