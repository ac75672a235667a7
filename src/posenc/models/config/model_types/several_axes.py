"""Vision towers that rotate by rows and columns of patches, some of which also add a learned table."""

from __future__ import annotations

from functools import partial

from posenc.models.config import added_tables, pair_axes
from posenc.models.config.added_tables import (
    BICUBIC,
    BILINEAR,
    BILINEAR_BETWEEN_CORNERS,
    BILINEAR_IN_ZEROS,
    TILED,
    patch_table,
    patches,
)
from posenc.models.config.head_rules import all_heads, embed_over_heads, hidden_over_heads, memory_head_dim
from posenc.models.config.layer_type_rules import (
    EveryNth,
    by_global_attn_indexes,
    by_max_window_layers,
    count_of,
    every_full_as_indexed,
    uniform,
)
from posenc.models.config.model_type import ModelType
from posenc.models.config.pair_axes import alternating, channel_runs, even_and_odd, every_third, section_runs
from posenc.models.config.patch_rules import (
    always,
    in_squares,
    numbered_before_class,
    on_transposed_table,
    stretched_to_window,
    where_rotated,
)
from posenc.models.config.role_rules import indexer_of_blocks
from posenc.models.config.rotation_rules import ByLayerType, object_for_each_type
from posenc.models.config.window_rules import short_and_long
from posenc.models.patch_positions import PatchPositions

Tower = partial(ModelType, part="vision", axes=pair_axes.rows_then_columns, patches=in_squares(PatchPositions()))
ROW_BY_ROW = where_rotated(PatchPositions())

COLUMN_FIRST = "the first coordinate of a position is the column of its patch, the second its row"

GRID_TOWERS = (
    "ernie4_5_vl_moe_vision", "exaone4_5_vision", "glm5_next_vision",
    "glm_ocr_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision",
)  # fmt: skip
TOWERS_WITH_SQUARE_TABLE = (
    "cohere_compass_vision", "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder",
    "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision",
)  # fmt: skip

VISION = (
    Tower(GRID_TOWERS),
    Tower(("video_llama_3_vision",), patches=where_rotated(PatchPositions(merge=None))),
    Tower(("dots3_note_vision_encoder",), older_names={"hidden_size": "embed_dim", "num_attention_heads": "num_heads"}),
    Tower(("qwen2_vl_vision",), head_dim=embed_over_heads),
    Tower(("mlcd_vision_model",), patches=ROW_BY_ROW, notes=("the class token rotates by learned angles",)),
    Tower(("lfm3_vl_vision",), layer_types=EveryNth(2, nth="conv", other="full_attention", first=2)),
    Tower(
        ("dinov3_vit", "eomt_dinov3", "sapiens2"),
        head_dim=hidden_over_heads,
        axes=pair_axes.rows_then_columns_in_revolutions,
        patches=where_rotated(PatchPositions(centred=True)),
        notes=("positions are the centres of patches in coordinates from -1 to 1, posenc.positions.centres",),
    ),
    Tower(("pixtral",), patches=ROW_BY_ROW, axes=pair_axes.even_and_odd_frequencies),
    Tower(("minimax_m3_vl_vision",), axes=pair_axes.time_rows_columns, patches=in_squares(PatchPositions("thw"))),
    ModelType(("pe_video_encoder",), part="vision", pairing="adjacent"),
    # A learned vector for every patch besides.
    Tower(
        TOWERS_WITH_SQUARE_TABLE, tables=(patch_table(added_tables.grid_of_count(), resizing=BILINEAR_BETWEEN_CORNERS),)
    ),
    Tower(("glm4v_moe_vision", "glm4v_vision"), tables=(patches(front=0, square=True),)),
    Tower(("paddleocr_vl_vision",), patches=ROW_BY_ROW, tables=(patches(front=0, square=True, resizing=BILINEAR),)),
    Tower(
        ("step3p5_vision",),
        older_names={"num_attention_heads": "heads", "num_hidden_layers": "layers", "hidden_size": "width"},
        patches=ROW_BY_ROW,
        tables=(patches(front=0, square=True, resizing=BILINEAR),),
        axes=pair_axes.columns_then_rows,
    ),
    Tower(
        ("sam3_vit_model",),
        tables=(patches(0, "pretrain_image_size", square=True, resizing=TILED),),
        pairing="adjacent",
        axes=pair_axes.column_then_row,
        layer_types=by_global_attn_indexes,
        patches=stretched_to_window,
        notes=(COLUMN_FIRST,),
    ),
    Tower(
        ("muse_glimmer_vision",),
        patches=where_rotated(PatchPositions("wh", start=1)),
        notes=(COLUMN_FIRST,),
        tables=(patch_table(added_tables.grid_of_height_and_width, resizing=BILINEAR_IN_ZEROS),),
        layer_types=EveryNth(4, other="window_attention", last=True),
    ),
    Tower(
        ("muse_spark_vision",),
        patches=where_rotated(PatchPositions("wh", start=1), on_transposed_table),
        notes=(COLUMN_FIRST,),
        tables=(
            patch_table(
                added_tables.grid_of_height_and_width,
                "the table is resized to as many rows as the image has columns, and read in the order of its patches",
                resizing=BILINEAR_IN_ZEROS,
            ),
        ),
        layer_types=EveryNth(4, other="window_attention", last=True),
    ),
    Tower(
        ("kimi_k25_vision",),
        tables=(
            patch_table(
                added_tables.grid_of_height_and_width,
                "sines of the frame are added, from the second frame on",
                resizing=BICUBIC,
            ),
        ),
        axes=pair_axes.columns_and_rows_in_turn,
        patches=ROW_BY_ROW,
    ),
    Tower(
        ("inkling2_vision",),
        patches=in_squares(PatchPositions(start=1)),
        tables=(patch_table(added_tables.grid_of_size, "the class token has a vector of its own", resizing=BILINEAR),),
        pairing="adjacent",
        axes=pair_axes.columns_then_rows,
    ),
    Tower(
        ("llama4_vision_model",),
        patches=where_rotated(PatchPositions(start=1), numbered_before_class),
        tables=(patch_table(added_tables.patches_and_class, "the last row is that of the class token"),),
        pairing="adjacent",
        axes=pair_axes.columns_then_rows,
        notes=("positions of patches count from 1; the class token does not rotate",),
    ),
    Tower(
        ("gemma4_vision",),
        patches=always(PatchPositions("wh")),
        notes=(COLUMN_FIRST,),
        tables=(patch_table(added_tables.two_tables("position_embedding_size"), "the first coordinate is the column"),),
        axes=pair_axes.column_then_row_in_blocks,
    ),
    # Attention over a memory, or over all heads together.
    Tower(
        ("edgetam_video", "sam2_video", "sam3_tracker_video"),
        pairing="adjacent",
        layer_count=count_of("memory_attention_num_layers"),
        layer_types=uniform("memory_attention"),
        head_dim=memory_head_dim,
        axes=pair_axes.column_then_row,
        patches=where_rotated(PatchPositions("wh")),
        notes=(COLUMN_FIRST,),
    ),
    Tower(
        ("efficientloftr",),
        pairing="adjacent",
        layer_count=count_of("num_attention_layers"),
        head_dim=all_heads,
        patches=where_rotated(PatchPositions(start=1)),
        axes=pair_axes.rows_and_columns_in_turn,
        notes=(
            "queries and keys rotate before they are cut into heads, in self-attention alone; positions of the "
            "aggregated map count from 1",
        ),
    ),
)


LINEAR_BUT_EVERY_4TH = EveryNth(4, key="full_attention_interval", other="linear_attention")

QWEN3_KIN = (
    "cosmos3_edge_text", "qwen3_omni_moe_talker_text", "qwen3_omni_moe_text", "qwen3_vl_moe_text",
    "qwen3_vl_text",
)  # fmt: skip

MEDIA_TEXT = (
    # Runs of pairs, time, height, width.
    ModelType(("paddleocr_vl_text",), axes=section_runs, sections=(16, 24, 24)),
    ModelType(
        ("qwen2_5_omni_talker", "qwen2_5_omni_text", "qwen2_5_vl_text", "qwen2_vl_text"),
        axes=section_runs,
        sections=(16, 24, 24),
        layer_types=by_max_window_layers,
    ),
    ModelType(("glm4v_moe_text", "glm_image_text"), partial=True, axes=section_runs, sections=(8, 12, 12)),
    ModelType(
        ("glm4v_text", "glm_ocr_text"), pairing="adjacent", partial=True, axes=section_runs, sections=(8, 12, 12)
    ),
    ModelType(("hunyuan_vl_text",), axes=channel_runs, rope_keys=("alpha", "xdrope_section")),
    # Height and width on every third pair, or in turn.
    ModelType(QWEN3_KIN, axes=every_third, sections=(24, 20, 20)),
    ModelType(
        ("qwen3_5_moe_text", "qwen3_5_text"),
        partial=True,
        axes=every_third,
        sections=(11, 11, 10),
        layer_types=LINEAR_BUT_EVERY_4TH,
    ),
    ModelType(
        ("qwen4_exp_text",),
        partial=True,
        axes=every_third,
        sections=(11, 11, 10),
        layer_types=EveryNth(4, key="full_attention_interval", nth="indexed_attention", other="linear_attention"),
        settled_types=every_full_as_indexed,
        roles=indexer_of_blocks,
    ),
    ModelType(
        ("cohere_compass_text",),
        axes=every_third,
        sections=(24, 20, 20),
        rotations=object_for_each_type,
    ),
    ModelType(("ernie4_5_vl_moe_text",), pairing="adjacent", axes=alternating, sections=(22, 22, 20)),
    # Rows and columns.
    ModelType(
        ("neomme",),
        partial=True,
        axes=even_and_odd,
        layer_types=EveryNth(6, last=True),
        rotations=ByLayerType(older_type=False),
        window=short_and_long,
    ),
)
