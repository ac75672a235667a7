"""Two folders of one tower for pictures of other sizes: was the table resized, and as the model resizes it?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from posenc import resize_table
from posenc.diagnosis import Diagnosis, diagnose

OLD, NEW = (6, 6), (4, 9)
TABLE = np.random.default_rng(5).normal(size=(1 + 36, 8)).astype(np.float32)
CUBIC: dict[str, Any] = {"prefix": 1, "method": "bicubic", "antialias": False}


def folder(path: Path, name: str, grid: tuple[int, int], rows: np.ndarray) -> Path:
    made = path / name
    made.mkdir()
    config = {"model_type": "vit", "image_size": [16 * side for side in grid], "patch_size": 16, "hidden_size": 8}
    (made / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file({"vit.embeddings.position_embeddings": rows[None]}, made / "model.safetensors")
    return made


def verdict(path: Path, new: tuple[int, int], rows: np.ndarray) -> Diagnosis:
    return diagnose(folder(path, "one", OLD, TABLE), folder(path, "other", new, np.ascontiguousarray(rows)))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_table_resized_as_the_model_resizes_it(tmp_path: Path, dtype: type) -> None:
    found = verdict(tmp_path, NEW, resize_table(TABLE, OLD, NEW, **CUBIC).astype(dtype))
    assert found.agree
    assert "position_embeddings of 4 by 9 patches with that of 6 by 6, resized" in found.compared


TURNED = resize_table(TABLE, OLD, (9, 4), **CUBIC)
MISTAKES: dict[str, tuple[tuple[int, int], np.ndarray, str]] = {
    "exchanged": (NEW, TURNED, "height and width exchanged"),
    "exchanged and rotated": (
        NEW,
        np.concatenate([TURNED[:1], TURNED[1:].reshape(9, 4, 8).swapaxes(0, 1).reshape(36, 8)])[
            [0, *(1 + np.arange(36).reshape(4, 9)[::-1].ravel())]
        ],
        "sizes",
    ),
    "unchanged": (NEW, TABLE, "table not resized"),
    "antialias": ((3, 3), resize_table(TABLE, OLD, (3, 3), **CUBIC | {"antialias": True}), "resizing"),
    "corners": (NEW, resize_table(TABLE, OLD, NEW, **CUBIC, align_corners=True), "resizing"),
    "bilinear": (NEW, resize_table(TABLE, OLD, NEW, **CUBIC | {"method": "bilinear"}), "resizing"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_table_resized_otherwise_is_named(tmp_path: Path, name: str) -> None:
    """Rows that no known way leads to leave what the configs say: another grid."""
    new, rows, finding = MISTAKES[name]
    found = verdict(tmp_path, new, rows)
    assert not found.agree
    assert [one.name for one in found.findings] == [finding]
