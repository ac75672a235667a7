"""Other spellings of the same positions in a config, for engines that read some keys and not others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions
from posenc.models.pair_rotation import pair_rotation


class Spelling(NamedTuple):
    """A config with the same positions but other keys, and a description of the change."""

    words: str
    config: dict[str, Any]


def other_spellings(config: Mapping[str, Any]) -> list[Spelling]:
    """Return configs with more keys that mean the same to posenc, layer by layer.

    Args:
        config: The file.

    Returns:
        Those that differ from the file: old keys beside `rope_parameters`, `rope_type` beside `type`, and numbers that
        the file leaves to be computed.

    Example:
        >>> new = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
        >>> new |= {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}
        >>> [spelling.words for spelling in other_spellings(new)]
        ['"rope_theta": 500000.0 beside rope_parameters', '"head_dim": 16']
    """
    meant = from_config(config)
    fitting = []
    for spelling in (*_old_keys(config), *_both_types(config), *_computed(config, meant)):
        with contextlib.suppress(ValueError, TypeError):  # posenc refuses keys that contradict each other
            if _same(from_config(spelling.config), meant):
                fitting.append(spelling)
    return fitting


def _same(one: ModelPositions, other: ModelPositions) -> bool:
    contents = (
        [(group.layers, group.encodings, group.window, group.logit_factor) for group in positions.groups]
        for positions in (one, other)
    )
    first, second = contents
    return first == second


def _old_keys(config: Mapping[str, Any]) -> Iterator[Spelling]:
    """Yield the config with old keys `rope_theta` and `rope_scaling` added beside a flat `rope_parameters`."""
    held = config.get("rope_parameters")
    if not isinstance(held, Mapping) or "rope_theta" not in held or "rope_theta" in config:
        return
    scaling = {key: value for key, value in held.items() if key not in ("rope_theta", "partial_rotary_factor")}
    words = f'"rope_theta": {held["rope_theta"]}'
    if scaling.get("rope_type", "default") == "default":
        yield Spelling(f"{words} beside rope_parameters", {**config, "rope_theta": held["rope_theta"]})
        return
    yield Spelling(
        f'{words} and "rope_scaling" with the other keys, beside rope_parameters',
        {**config, "rope_theta": held["rope_theta"], "rope_scaling": scaling},
    )


def _both_types(config: Mapping[str, Any]) -> Iterator[Spelling]:
    held = config.get("rope_scaling")
    if isinstance(held, Mapping) and "type" in held and "rope_type" not in held:
        words = f'"rope_type": "{held["type"]}" beside "type" in rope_scaling'
        yield Spelling(words, {**config, "rope_scaling": {**held, "rope_type": held["type"]}})


def _computed(config: Mapping[str, Any], meant: ModelPositions) -> Iterator[Spelling]:
    """Yield configs that state computed values: `head_dim`, and YaRN's `attention_factor`."""
    encoding = meant.groups[0].rotary_encoding if meant.groups else None
    pairs = None if encoding is None else pair_rotation(encoding)
    if pairs is None:
        return
    if "head_dim" not in config and "qk_rope_head_dim" not in config:
        yield Spelling(f'"head_dim": {pairs.dim}', {**config, "head_dim": pairs.dim})
    for key in ("rope_scaling", "rope_parameters"):
        held = config.get(key)
        kind = held.get("rope_type", held.get("type")) if isinstance(held, Mapping) else None
        if kind == "yarn" and held is not None and not {"attention_factor", "mscale"} & set(held):
            words = f'"attention_factor": {pairs.factor} in {key}'
            yield Spelling(words, {**config, key: {**held, "attention_factor": pairs.factor}})
