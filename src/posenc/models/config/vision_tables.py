"""Learned tables of vision towers that also rotate, a vector for every patch, and of ESM: added before the first layer.

Read in the modeling files of transformers 5.23.0, and proved by tests/parity/test_models_beside.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from posenc.doors import Encoding
from posenc.encodings.adds.factorised_learned import FactorisedLearned
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.adds.learned import Learned
from posenc.models.config.absolute_models import side
from posenc.models.config.fields import Fields
from posenc.models.model_positions import LayerGroup

#: A grid larger than this is no grid of patches.
MOST = 1 << 12
Made = Callable[[Fields], Encoding]


def _counted(fields: Fields) -> Encoding:
    """num_position_embeddings patches of a square: Qwen3-VL and its kin."""
    rows = math.isqrt(count := fields.integer("num_position_embeddings", 1, MOST**2))
    if rows * rows != count:
        raise ValueError(f"num_position_embeddings must be a square, a grid of patches; got {count}. Look at the file.")
    return GridLearned(fields.integer("hidden_size"), (rows, rows))


def _stated(fields: Fields) -> Encoding:
    """pos_emb_height by pos_emb_width patches: Kimi K2.5, Muse."""
    sizes = tuple(fields.integer(key, 1, MOST) for key in ("pos_emb_height", "pos_emb_width"))
    fields.use(("pos_emb_time",))
    return GridLearned(fields.integer("hidden_size"), sizes)


def _of_sides(image: str = "image_size", last: int = 0) -> Made:
    """As many patches as an image has, and rows behind them for tokens that are no patch."""

    def made(fields: Fields) -> Encoding:
        rows, dim = side(fields, image) // side(fields, "patch_size"), fields.integer("hidden_size")
        return Learned(dim, rows * rows + last) if last else GridLearned(dim, (rows, rows))

    return made


def _grid_size(fields: Fields) -> Encoding:
    rows = fields.integer("posemb_grid_size", 1, MOST)
    return GridLearned(fields.integer("hidden_size"), (rows, rows))


def _by_axis(fields: Fields) -> Encoding:
    """A table for columns and one for rows: Gemma 4."""
    rows, dim = fields.integer("position_embedding_size", 1, 1 << 20), fields.integer("hidden_size")
    return FactorisedLearned((rows, rows), (dim, dim))


def _unless_rotary(fields: Fields) -> tuple[LayerGroup, ...]:
    """ESM: a learned table where position_embedding_type is "absolute", read from behind the padding token's row on."""
    kind, before = fields.get("position_embedding_type"), len(fields.values)
    if kind is None or kind.value != "absolute":
        return ()
    rows = fields.integer("max_position_embeddings", 1, 1 << 24)
    offset, record = fields.integer("pad_token_id", 0) + 1, Learned(fields.integer("hidden_size"), rows)
    return (LayerGroup("text", "embedding", (), (record,), offset, values=(kind, *fields.values[before:])),)


_LINEAR = "the table is resized bilinearly to the grid of every picture"
_CUBIC = "the table is resized bicubically to the grid of every picture"
TABLES: dict[str, tuple[Made, str]] = {
    **dict.fromkeys(
        (
            "cohere_compass_vision", "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder",
            "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision",
        ),
        (_counted, _LINEAR),
    ),
    "gemma4_vision": (_by_axis, "the first coordinate is the column"),
    "glm4v_moe_vision": (_of_sides(), _CUBIC),
    "glm4v_vision": (_of_sides(), _CUBIC),
    "inkling2_vision": (_grid_size, f"{_LINEAR}; the class token has a vector of its own"),
    "kimi_k25_vision": (_stated, f"{_CUBIC}; sines of the frame are added, from the second frame on"),
    "llama4_vision_model": (_of_sides(last=1), "the last row is that of the class token"),
    "muse_glimmer_vision": (_stated, _LINEAR),
    "muse_spark_vision": (_stated, _LINEAR),
    "paddleocr_vl_vision": (_of_sides(), _LINEAR),
    "sam3_vit_model": (_of_sides("pretrain_image_size"), "the table is tiled over larger pictures"),
    "step3p5_vision": (_of_sides(), _LINEAR),
}  # fmt: skip


def beside(fields: Fields, model_type: str) -> tuple[LayerGroup, ...]:
    """The table beside a rotation, or in its place, where there is one."""
    if model_type in ("esm", "SaProtConfig"):
        return _unless_rotary(fields)
    if model_type not in TABLES:
        return ()
    make, note = TABLES[model_type]
    before = len(fields.values)
    record = make(fields)
    return (LayerGroup("vision", "embedding", (), (record,), values=tuple(fields.values[before:]), notes=(note,)),)
