"""Encodings written into a Hugging Face config: rope_parameters, for all layers or for each type of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.rotates.temperature import StepTemperature
from posenc.models.config.json_file import load_config
from posenc.models.config.model_type import ModelType
from posenc.models.config.reader import from_config
from posenc.models.config.rope_parameters import TRAINED
from posenc.models.config.rope_scaling import rope_parameters_of
from posenc.models.formats.single_rotation import check_positions
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.pair_rotation import unwrapped

#: Keys of older files, which would win over rope_parameters or contradict it.
OLDER_KEYS = ("rope_scaling", "rope_theta", TRAINED)
#: The key of the share of a head that rotates.
SHARE = "partial_rotary_factor"
#: Keys of a rotation next to rope_parameters, in older files of several model types.
OUTER_KEYS = (
    *OLDER_KEYS,
    SHARE,
    "rotary_pct",
    "rotary_emb_base",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
)


def to_config(
    positions: ModelPositions,
    config: Mapping[str, Any] | str | Path,
    *,
    length: int | None = None,
    types: Sequence[ModelType] = (),
) -> dict[str, Any]:
    """Write encodings into a Hugging Face config: its rotations become those of `positions`, all else stays as it was.

    The result is in the present spelling, and is read back before it is returned.

    Args:
        positions: From any reader: a GGUF file, params.json, Megatron's arguments.
        config: As for `from_config`, of the same architecture; it says what no rotation does: the model type, sizes,
            types of layers.
        length: As for `from_config`.
        types: As for `from_config`, where it was read with these.

    Returns:
        The config.

    Raises:
        ValueError: The config's class cannot say what the encodings say, such as another pairing (see
            `convert_checkpoint`).

    Example:
        >>> from posenc.models import from_megatron
        >>> config = {"model_type": "llama", "rope_theta": 1e4, "hidden_size": 96, "num_attention_heads": 12,
        ...           "num_hidden_layers": 2, "max_position_embeddings": 4096}
        >>> arguments = {"num_layers": 2, "kv_channels": 8, "position_embedding_type": "rope", "rotary_base": 500000}
        >>> to_config(from_megatron(arguments), config)["rope_parameters"]
        {'rope_type': 'default', 'rope_theta': 500000.0}
    """
    check_positions(positions)
    validation.instance("types", types, Sequence, "a tuple of posenc.models.ModelType, types=(mine,)")
    data = load_config(config)
    part = positions.main_part
    groups = positions.of(part)
    wanted, problem = _by_layer(groups), ""
    candidates = _candidates(groups)
    for rope_parameters, twice in ((rope, twice) for twice in (False, True) for rope in candidates):
        written = _with_rope_parameters(data, rope_parameters, twice=twice)
        try:
            read = from_config(written, length=length, types=types)
        except (ValueError, TypeError) as error:
            problem = problem or str(error)
            continue
        read_back = _by_layer(read.of(part) if part in read.parts else ())
        if read_back == wanted:
            return written
        problem = problem or f"read back, it says {_first_difference(read_back, wanted)}"
    raise ValueError(
        f"positions must be those that a config of this model type can state; {problem[:300].rstrip('.')}. Choose the "
        "config of that model."
    )


def rope_parameters_of_group(group: LayerGroup) -> dict[str, Any] | None:
    """Return a group's rope_parameters, with partial_rotary_factor if needed; None for layers without a rotation."""
    encoding = group.rotary_encoding
    if encoding is None:
        return None
    inner = unwrapped(encoding)
    if not isinstance(inner, RoPE):
        raise ValueError(f"scaling must be one that a config can state; got {encoding!r:.80}. Write it by hand.")
    share = {SHARE: inner.dim / encoding.head_dim} if inner.dim != encoding.head_dim else {}
    temperature = group.query_temperature
    beta = {"llama_4_scaling_beta": temperature.scale} if isinstance(temperature, StepTemperature) else {}
    return {**share, **beta, **rope_parameters_of(inner.base, inner.scaling)}


def _candidates(groups: tuple[LayerGroup, ...]) -> list[dict[str, Any]]:
    """Propose one rotation for all layers that rotate, if they have one, and one for each type of layer.

    Both also without the share of a head that rotates, for classes that state a width in its place.
    """
    stated = [rope_parameters_of_group(group) for group in groups]
    candidates: list[dict[str, Any]] = []
    for ropes in (stated, [rope and {key: rope[key] for key in rope if key != SHARE} for rope in stated]):
        rotating = [rope for rope in ropes if rope is not None]
        if rotating and all(rope == rotating[0] for rope in rotating):
            candidates.append(rotating[0])
        candidates.append({group.attention: rope for group, rope in zip(groups, ropes, strict=True)})
    return candidates


def _with_rope_parameters(
    data: Mapping[str, Any], rope_parameters: dict[str, Any], *, twice: bool = False
) -> dict[str, Any]:
    """Write rope_parameters; `twice`: the trained length outside them too, where classes such as Phi-3's look first."""
    if isinstance(data.get("text_config"), Mapping):
        return {**data, "text_config": _with_rope_parameters(data["text_config"], rope_parameters, twice=twice)}
    kept = {key: value for key, value in data.items() if key not in OUTER_KEYS}
    trained = {TRAINED: rope_parameters[TRAINED]} if twice and TRAINED in rope_parameters else {}
    return {**kept, **trained, "rope_parameters": rope_parameters}


def _by_layer(groups: tuple[LayerGroup, ...]) -> dict[int, tuple[Any, ...]]:
    """Return for each layer its encodings, and the factors of queries and logits."""
    return {
        layer: (*group.encodings, group.query_temperature, group.logit_factor)
        for group in groups
        for layer in group.layers
    }


def _first_difference(read_back: Mapping[int, Any], wanted: Mapping[int, Any]) -> str:
    layer = next(layer for layer in sorted({*read_back, *wanted}) if read_back.get(layer) != wanted.get(layer))
    return f"{read_back.get(layer)!r:.110} in layer {layer}, and not {wanted.get(layer)!r:.110}"
