"""The positions that from_config states for the patches of vision towers, against live towers of transformers 5.23.0.

A tiny tower is given an image of 4 by 6 patches, and the cos and sin that it computes must be those of the group's
encoding at the group's own positions.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

pytest.importorskip("transformers")

from every import every
from model_peers import ask
from model_peers.live_towers import HEIGHT, NEEDS, SQUARES, WIDTH, read_from_table, rotated_by, settings
from model_peers.rotary import config_class
from parity.test_models_rotary import unwrapped
from posenc import GridLearned, Learned
from posenc.models import LayerGroup, from_config
from posenc.models.config.model_types import MODEL_TYPES
from posenc.models.config.model_types.several_axes import VISION

pytestmark = pytest.mark.parity
#: Towers that rotate patches; the layers of pe_video_encoder count frames.
TOWERS = sorted({name for row in VISION for name in row.names} - {"pe_video_encoder"})
DAILY = (
    "dinov3_vit", "gemma4_vision", "inkling2_vision", "llama4_vision_model", "muse_spark_vision", "pixtral",
    "qwen2_5_vl_vision", "sam2_video", "sam3_vit_model", "video_llama_3_vision",
)  # fmt: skip
#: Where the class token stands that a tower rotates by nothing, with its patches.
CLASS_TOKEN = {"inkling2_vision": slice(1, None), "llama4_vision_model": slice(None, -1)}
#: Four roundings of an angle below 16 in float32, and that of its cosine.
ROUNDINGS = (4 * 16 + 1) * 2.0**-24


def positions_at(group: LayerGroup, height: int, width: int, merge: int | None = None) -> torch.Tensor:
    return torch.from_numpy(group.positions(height, width, merge=merge).copy())


def positions(model_type: str, group: LayerGroup) -> torch.Tensor:
    height, width = SQUARES.get(model_type, (HEIGHT, WIDTH))
    if group.attention == "window_attention" and group.patches is not None and group.patches.sizes:
        height, width = group.patches.sizes
    merge = 2 if model_type == "video_llama_3_vision" else None
    return positions_at(group, height, width, merge)


def check(model_type: str) -> None:
    keys = settings(model_type)
    found = from_config({"model_type": model_type, **keys})
    groups = [group for group in found.groups if group.rotary_encoding is not None]
    live = rotated_by(model_type, keys)
    assert groups
    assert len(live) == len({str(group.patches) for group in groups})
    for group, made in zip(groups, live, strict=False):
        encoding = unwrapped(group.rotary_encoding)
        rotation = encoding.rotation(positions(model_type, group))
        cos, sin = ask.tables(made, rotation.pairing)
        patches = CLASS_TOKEN.get(model_type, slice(None))
        for ours, theirs in ((rotation.cos, cos), (rotation.sin, sin)):
            assert ours.shape == theirs[patches].shape
            assert (ours - theirs[patches]).abs().max() <= ROUNDINGS


@pytest.mark.parametrize("model_type", DAILY)
def test_patches_rotate_by_their_positions(model_type: str) -> None:
    check(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", sorted({*TOWERS} - {*DAILY}))
def test_patches_of_every_tower_rotate_by_their_positions(model_type: str) -> None:
    check(model_type)


#: Sizes of tables, by the names of keys: no table has the grid of the image but where a class takes no other.
TABLE = {
    "image_size": 24, "max_image_size": 24, "num_position_embeddings": 16, "num_patches": 16, "posemb_grid_size": 4,
}  # fmt: skip
#: Towers with a table that are not run, and why.
NOT_RUN = {
    "gemma4_vision": "two tables, read at the positions that its processor states, as its rotation is",
    "gemma4_unified_vision": "the same, without layers",
    "idefics_vision": "no model of its own; the layers and the table of CLIP",
    "kosmos_2_5_vision_model": "its processor states the positions",
    "lw_detr_vit": "takes windows before its first layer",
    "pix2struct_vision_model": "its processor states the positions",
    "pp_chart2table_vision": "no model of its own",
    "rf_detr_dinov2": "takes windows before its first layer",
    "unlimited_ocr_vision_encoder": "takes what another tower makes of the image",
    "videomt": "takes frames of a video, each as eomt takes an image",
    "vitdet": "holds sizes of its windows that a tiny image has not",
    "vitpose_backbone": "pads the image",
}
TABLES = sorted(
    name
    for name, row in MODEL_TYPES.items()
    if row.part == "vision" and not row.unsupported and name not in NOT_RUN and "swin" not in name
)
DAILY_TABLES = ("clip_vision_model", "cosmos3_edge_vision", "idefics3_vision", "llama4_vision_model", "qwen3_vl_vision")


def keys_of_table(model_type: str) -> dict[str, object]:
    known = config_class(model_type)().to_dict()
    sizes = {key: value for key, value in TABLE.items() if key in known and key not in NEEDS.get(model_type, {})}
    return settings(model_type) | sizes


def rows_at(group: LayerGroup, height: int, width: int) -> torch.Tensor:
    """What each position of a group reads of each row of its table."""
    encoding, places = group.encodings[0], positions_at(group, height, width)
    if isinstance(encoding, Learned):
        return torch.eye(encoding.length)[places]
    assert isinstance(encoding, GridLearned)
    assert group.patches is not None
    table = torch.eye(encoding.shapes["table"][0])
    grid = (width, height) if group.patches.transposed else (height, width)
    if group.resizing and grid != encoding.sizes:
        table = group.resizing.table(table, encoding.sizes, grid, prefix=encoding.prefix)
        encoding = replace(encoding, sizes=grid)
    return replace(encoding, dim=table.shape[1]).embed(places, {"table": table})


def check_table(model_type: str) -> None:
    keys = keys_of_table(model_type)
    (group,) = (
        group for group in from_config({"model_type": model_type, **keys}).groups if group.attention == "embedding"
    )
    live = read_from_table(model_type, keys, group.encodings[0].shapes["table"])
    ours = rows_at(group, *SQUARES.get(model_type, (HEIGHT, WIDTH))).abs()
    ours = ours / ours.amax(1, keepdim=True)
    assert ours.shape == live.shape
    # Places between patches are rounded in float32 before they weigh rows.
    assert (ours - live).abs().max() <= 64 * 2.0**-24


@pytest.mark.parametrize("model_type", DAILY_TABLES)
def test_patches_read_the_table_at_their_positions(model_type: str) -> None:
    check_table(model_type)


@pytest.mark.nightly
@pytest.mark.parametrize("model_type", sorted({*TABLES} - {*DAILY_TABLES}))
def test_patches_of_every_tower_read_the_table_at_their_positions(model_type: str) -> None:
    if any(group.attention == "embedding" for group in from_config({"model_type": model_type}).groups):
        check_table(model_type)


def test_every_group_of_a_tower_that_takes_patches_states_their_positions() -> None:
    def check(model_type: str) -> None:
        for group in from_config({"model_type": model_type}).groups:
            assert group.patches is not None or not group.encodings

    every(sorted({*TABLES, *NOT_RUN} - {"pe_video_encoder"}), check)
