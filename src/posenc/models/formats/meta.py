"""Meta's params.json as records, and records as params.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from posenc import _check
from posenc.encodings.rotates.rope import RoPE
from posenc.frequencies import Llama3
from posenc.models.config.fields import CONCERNS, Fields
from posenc.models.config.json_file import loaded
from posenc.models.formats.single_rope import SingleRotation, layers_of, single_rotation
from posenc.models.model_positions import LayerGroup, ModelPositions, Value

#: What Meta's code has as constants: the scaling's low factor and trained length, and its high factor where a file has none.
CONSTANTS = {
    "rope_low_freq_factor": 1.0,
    "rope_high_freq_factor": 4.0,
    "rope_original_length": 8192,
    "use_scaled_rope": False,
}


def from_meta(
    params: Mapping[str, Any] | str | Path, *, stated: Mapping[str, Any] | None = None, waive: Iterable[str] = ()
) -> ModelPositions:
    """Read a params.json of Meta's Llama releases, or one of the same form: channels pair up adjacent, as complex numbers.

    stated: values by the file's keys, which win. Two things must often be stated, since files leave them to the code of their release:
    rope_theta (10000 in Llama 1 and 2), and rope_scaling_factor where use_scaled_rope is true (8 in Llama 3.1, 32 in Llama 3.2).
    waive: keys that concern positions and may go unread. Raises ValueError or TypeError naming the key.

    >>> params = {"dim": 4096, "n_layers": 32, "n_heads": 32, "rope_theta": 5e5, "use_scaled_rope": True}
    >>> from_meta(params, stated={"rope_scaling_factor": 8.0}).groups[0].encodings[0].scaling
    Llama3(factor=8.0, original=8192, low=1.0, high=4.0)
    """
    data, _ = loaded(params)
    if isinstance(data.get("model"), Mapping):  # Llama 4
        data = dict(data["model"])
    fields = Fields(data, CONSTANTS, {}, dict(stated or {}))
    layers = tuple(range(fields.integer("n_layers", 1, 1 << 13)))
    if fields.given("head_dim"):
        dim = fields.integer("head_dim", 2)
    else:
        dim = fields.integer("dim") // fields.integer("n_heads")
    base = _check.real("rope_theta", fields.need("rope_theta").value, 0.0, 1e30, above=True)
    record = RoPE(dim=dim, base=base, pairing="adjacent", scaling=_scaling(fields))
    interval = fields.integer("nope_layer_interval", 1) if fields.given("nope_layer_interval") else 0
    waived = set(waive)
    known = {"max_seq_len", "rope_scaling_factor", "rope_high_freq_factor", "nope_layer_interval", *fields.used}
    strangers = [key for key, value in data.items() if CONCERNS.search(key) and value and key not in known | waived]
    if strangers:
        raise ValueError(
            f"{strangers[0]} must be understood, since it concerns positions; it is not known here. If it is harmless, give "
            f"waive={tuple(strangers)!r}."
        )
    values = (*fields.values, Value("pairing", "adjacent", "class default", "Meta's code"))
    still = tuple(layer for layer in layers if interval and (layer + 1) % interval == 0)
    turning = LayerGroup("text", "full_attention", tuple(sorted(set(layers) - set(still))), (record,), values=values)
    groups = (turning, LayerGroup("text", "no rotation", still, (), values=values)) if still else (turning,)
    return ModelPositions("meta", tuple(group for group in groups if group.layers))


def _scaling(fields: Fields) -> Llama3 | None:
    if not fields.truth("use_scaled_rope"):
        return None
    numbers = {
        name: _check.real(name, fields.need(key).value, 0.0, 1e9)
        for name, key in (
            ("factor", "rope_scaling_factor"),
            ("low", "rope_low_freq_factor"),
            ("high", "rope_high_freq_factor"),
        )
    }
    return Llama3(original=fields.integer("rope_original_length", 1, 1 << 30), **numbers)


def to_meta(positions: ModelPositions) -> dict[str, Any]:
    """The keys of a params.json that say the same; ValueError for what it cannot say.

    head_dim stands for dim / n_heads: add what the file says besides. The pairing must be adjacent: see `convert_checkpoint`.
    """
    found = [single_rotation(group, "params.json") for group in positions.groups]
    turning = [one for one in found if one is not None]
    if len(turning) != 1:
        raise ValueError(
            f"positions must have one rotation to be written as params.json; got {len(turning)}. It has keys for one."
        )
    one, count = turning[0], layers_of(positions)
    if one.pairing != "adjacent" or one.width != one.dim:
        raise ValueError(
            f"pairing must be 'adjacent' over whole heads for params.json; got {one.pairing!r} over {one.width} of {one.dim} channels. Convert "
            "the checkpoint first."
        )
    keys = {"n_layers": count, "head_dim": one.dim, "rope_theta": one.base, **_scaled(one)}
    still = sorted(set(range(count)) - set(one.group.layers))
    if still:
        period = still[0] + 1
        if still != [layer for layer in range(count) if (layer + 1) % period == 0]:
            raise ValueError(
                f"layers without rotation must come every so many layers for params.json; got {still}. It has no key for that."
            )
        keys["nope_layer_interval"] = period
    return keys


def _scaled(one: SingleRotation) -> dict[str, Any]:
    if one.scaling is None:
        return {"use_scaled_rope": False}
    if not isinstance(one.scaling, Llama3) or (one.scaling.low, one.scaling.original) != (1.0, 8192):
        raise ValueError(
            f"scaling must be that of Llama 3 with low=1 and original=8192 for params.json; got {one.scaling!r}. Meta's code has no other."
        )
    return {
        "use_scaled_rope": True,
        "rope_scaling_factor": one.scaling.factor,
        "rope_high_freq_factor": one.scaling.high,
    }
