"""Learned tables of patches: their grid, also of pictures that are no squares, and how they are resized."""

from __future__ import annotations

from typing import Any

import pytest

from posenc import GridLearned, Resizing
from posenc.diagnosis import diagnose
from posenc.models import diff, fingerprint, from_config

VIT: dict[str, Any] = {"model_type": "vit", "hidden_size": 32}
BICUBIC = Resizing("bicubic", antialias=False, align_corners=False)


@pytest.mark.parametrize(
    ("sizes", "grid"),
    [
        ({"image_size": 48, "patch_size": 16}, (3, 3)),
        ({"image_size": [48, 80], "patch_size": 16}, (3, 5)),
        ({"image_size": [48, 80], "patch_size": [16, 8]}, (3, 10)),
        ({"image_size": 48, "patch_size": [8, 16]}, (6, 3)),
    ],
)
def test_a_grid_of_height_and_width(sizes: dict[str, Any], grid: tuple[int, int]) -> None:
    (group,) = from_config(VIT | sizes).groups
    assert (group.encodings, group.offset, group.resizing) == ((GridLearned(32, grid, prefix=1),), 0, BICUBIC)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (VIT | {"image_size": [48, 80, 3]}, "^image_size must be a number, or a height and a width; got"),
        (VIT | {"image_size": [48, 8]}, r"^patch_size must be at most image_size, \[48, 8\]; got 16"),
        (VIT | {"image_size": [48, 0]}, "^image_size must be an integer from 1"),
        (
            {"model_type": "clip_vision_model", "image_size": [224, 320]},
            "^image_size must be equal in height and width, since its class takes squares alone",
        ),
    ],
)
def test_what_is_no_picture(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config(config)


def test_resizing_is_explained_compared_and_no_part_of_the_fingerprint() -> None:
    one, other = (
        from_config({"model_type": name, **sizes})
        for name, sizes in (
            ("paddleocr_vl_vision", {"image_size": 48, "patch_size": 16}),
            ("qwen3_vl_vision", {"num_position_embeddings": 9}),
        )
    )
    tables = [model.groups[0] for model in (one, other)]
    assert tables[1].explain().count("resized: bilinear, corner patches on corner patches, without antialias") == 1
    assert fingerprint(one) == fingerprint(other)
    assert not diff(one, other).same
    assert [field.name for field in diff(one, other).parts[0].fields] == ["resizing", "patches"]
    assert [finding.name for finding in diagnose(one, other).findings] == ["resizing", "patches"]
