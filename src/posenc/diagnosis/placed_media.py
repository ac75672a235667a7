"""Positions that images and videos are to have in a run, and the tokens that see each other, by the inputs given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posenc.models.model_positions import LayerGroup
from posenc.positions.families import FAMILIES
from posenc.positions.multimodal import multimodal

#: Parts of a model whose tokens are patches or frames instead of words, and may stand on a grid.
MEDIA = ("vision", "audio")
#: Inputs of a model that say where its tokens stand.
GIVEN = ("position_ids", "mm_token_type_ids", "token_type_ids", "image_grid_thw", "video_grid_thw",
         "second_per_grid_ts")  # fmt: skip
GRIDS = ("image_grid_thw", "video_grid_thw")
#: Types of models, and the family whose rule places their images.
FAMILY_OF = {
    "qwen2_vl": "qwen2-vl",
    "qwen2_5_vl": "qwen2.5-vl",
    "qwen3_vl": "qwen3-vl",
    "qwen3_vl_moe": "qwen3-vl",
    "qwen3_5": "qwen3.5",
    "qwen3_5_moe": "qwen3.5",
    "qwen4_exp": "qwen4",
    "glm4v": "glm-4v",
    "glm4v_moe": "glm-4v",
    "glm46v": "glm-4v",
    "glm_ocr": "glm-ocr",
    "cohere_compass": "cohere-compass",
    "ernie4_5_vl_moe": "ernie4.5-vl",
    "paddleocr_vl": "paddleocr-vl",
}
#: What an argument of `multimodal` is called in a vision config.
VISION_KEYS = {
    "merge": "spatial_merge_size",
    "tokens_per_second": "tokens_per_second",
    "temporal_merge": "temporal_merge_size",
}


class UnplacedError(ValueError):
    """Images or videos whose positions do not follow from the config and the inputs."""


def placed_tokens(config: Mapping[str, Any], given: Mapping[str, np.ndarray], axes: int) -> np.ndarray | None:
    """Positions (batch, n) or (batch, n, axes) of tokens, by the inputs of a run.

    Args:
        config: Config of the model, as plain data.
        given: Inputs of the run, by the names of `GIVEN`, and attention_mask.
        axes: Coordinates of a position.

    Returns:
        Positions by the grids of images and videos, or the position_ids that were given; None where neither was.

    Raises:
        UnplacedError: The model has images and several coordinates, and its family is not known or contradicts them.
    """
    if axes > 1 and set(given) & set(GRIDS):
        return _of_media(config, given)
    ids = given.get("position_ids")
    if ids is None:
        return None
    if ids.ndim == 3:  # (axes, batch, n); the fourth of Qwen's are those of the text
        ids = np.moveaxis(ids, 0, -1)[..., -axes:]
    return np.repeat(ids[..., None], axes, -1) if axes > 1 and ids.ndim == 2 else ids


def placed_patches(config: Mapping[str, Any], given: Mapping[str, np.ndarray], group: LayerGroup) -> np.ndarray:
    """Positions (1, n, axes) of the patches of all images and videos in the order in which a tower takes them.

    Args:
        config: Config of the model, as plain data.
        given: Inputs of the run.
        group: A group of layers of the tower.

    Raises:
        UnplacedError: No grid says how many rows and columns there are, or the tower changes the order.
    """
    grids = [grid for name in GRIDS for grid in given.get(name, ())]
    if len(set(given) & set(GRIDS)) != 1 or "fullatt_block_indexes" in config.get("vision_config", {}):
        order = "no grid of images was given" if not grids else "its tower takes them by windows, or images and videos"
        raise UnplacedError(f"positions of the patches of {group.part}: {order}")
    try:
        of_each = [group.positions(int(rows), int(columns), frames=int(frames)) for frames, rows, columns in grids]
    except ValueError as problem:
        raise UnplacedError(f"positions of the patches of {group.part}: {problem}") from problem
    return np.concatenate(of_each)[None]


def _of_media(config: Mapping[str, Any], given: Mapping[str, np.ndarray]) -> np.ndarray:
    """Positions by the rule of the model's family."""
    model_type = str(config.get("model_type", ""))
    family, types = FAMILY_OF.get(model_type), given.get("mm_token_type_ids")
    if family is None or types is None:
        missing = f"the family of {model_type} is not known" if family is None else "mm_token_type_ids was not given"
        raise UnplacedError(f"positions of images and videos: {missing}")
    taken = FAMILIES[family].takes
    vision = {name: config.get("vision_config", {}).get(key) for name, key in VISION_KEYS.items()}
    named = {name: value for name, value in {**given, **vision}.items() if name in taken and value is not None}
    try:
        return multimodal(family, types, attention_mask=given.get("attention_mask"), **named).coordinates
    except (ValueError, TypeError) as problem:
        raise UnplacedError(f"positions of images and videos: {problem}") from problem


class BlockRule(NamedTuple):
    """Rule for the tokens of a model type that see each other in both directions, as those of one image.

    Attributes:
        key: The input that holds the kind of each token.
        kinds: Kinds of tokens that see each other.
        one_block: Whether all of them see each other, and not only those of one run.
        setting: Value of `use_bidirectional_attention` without which there are no blocks; None where there always are.
    """

    key: str
    kinds: tuple[int, ...]
    one_block: bool = False
    setting: str | None = None


#: Gemma 3 and 4 let the tokens of one image see each other, PaliGemma all of the prompt.
BLOCKS = {
    "gemma3": BlockRule("token_type_ids", (1,)),
    "gemma4": BlockRule("mm_token_type_ids", (1, 2), setting="vision"),
    "gemma4_unified": BlockRule("mm_token_type_ids", (1, 2), setting="vision"),
    "paligemma": BlockRule("token_type_ids", (0,), one_block=True),
}


def tokens_together(config: Mapping[str, Any], given: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Number the blocks (batch, n) of tokens that see each other in both directions, -1 outside; None without any."""
    rule = BLOCKS.get(str(config.get("model_type", "")))
    if rule is None or rule.key not in given:
        return None
    text = config.get("text_config") or config
    if rule.setting is not None and text.get("use_bidirectional_attention") != rule.setting:
        return None
    seen = np.isin(given[rule.key], rule.kinds)
    begins = seen & ~np.pad(seen, ((0, 0), (1, 0)))[:, :-1]
    return np.where(seen, 0 if rule.one_block else np.cumsum(begins, 1) - 1, -1)
