"""Vision towers that rotate by rows and columns of patches, some of which also add a learned table."""

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
from posenc.models.config.layer_type_rules import EveryNth, count_of, uniform
from posenc.models.config.model_type import ModelType

Tower = partial(ModelType, part="vision", axes=pair_axes.rows_then_columns)

COLUMN_FIRST = "the first coordinate of a position is the column of its patch, the second its row"

GRID_TOWERS = (
    "ernie4_5_vl_moe_vision", "exaone4_5_vision", "glm5_next_vision",
    "glm_ocr_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision", "video_llama_3_vision",
)  # fmt: skip
TOWERS_WITH_SQUARE_TABLE = (
    "cohere_compass_vision", "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder",
    "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision",
)  # fmt: skip

VISION = (
    Tower(GRID_TOWERS),
    Tower(("dots3_note_vision_encoder",), older_names={"hidden_size": "embed_dim", "num_attention_heads": "num_heads"}),
    Tower(("qwen2_vl_vision",), head_dim=embed_over_heads),
    Tower(("mlcd_vision_model",), notes=("the class token rotates by learned angles",)),
    Tower(("lfm3_vl_vision",), layer_types=EveryNth(2, nth="conv", other="full_attention", first=2)),
    Tower(
        ("dinov3_vit", "eomt_dinov3", "sapiens2"),
        head_dim=hidden_over_heads,
        axes=pair_axes.rows_then_columns_in_turns,
        notes=("positions are the centres of patches in coordinates from -1 to 1, posenc.positions.centres",),
    ),
    Tower(("pixtral",), axes=pair_axes.even_and_odd_frequencies),
    Tower(("minimax_m3_vl_vision",), axes=pair_axes.time_rows_columns),
    ModelType(("pe_video_encoder",), part="vision", pairing="adjacent"),
    # A learned vector for every patch besides.
    Tower(
        TOWERS_WITH_SQUARE_TABLE, tables=(patch_table(added_tables.grid_of_count(), resizing=BILINEAR_BETWEEN_CORNERS),)
    ),
    Tower(("glm4v_moe_vision", "glm4v_vision"), tables=(patches(front=0, square=True),)),
    Tower(("paddleocr_vl_vision",), tables=(patches(front=0, square=True, resizing=BILINEAR),)),
    Tower(
        ("step3p5_vision",),
        older_names={"num_attention_heads": "heads", "num_hidden_layers": "layers", "hidden_size": "width"},
        tables=(patches(front=0, square=True, resizing=BILINEAR),),
        axes=pair_axes.columns_then_rows,
    ),
    Tower(
        ("sam3_vit_model",),
        tables=(patches(0, "pretrain_image_size", square=True, resizing=TILED),),
        pairing="adjacent",
        axes=pair_axes.column_then_row,
        notes=(COLUMN_FIRST,),
    ),
    Tower(
        ("muse_glimmer_vision",),
        tables=(patch_table(added_tables.grid_of_height_and_width, resizing=BILINEAR_IN_ZEROS),),
        layer_types=EveryNth(4, other="window_attention", last=True),
    ),
    Tower(
        ("muse_spark_vision",),
        tables=(
            patch_table(
                added_tables.grid_of_height_and_width,
                "the table is resized to as many rows as the picture has columns, and read in the order of its patches",
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
    ),
    Tower(
        ("inkling2_vision",),
        tables=(patch_table(added_tables.grid_of_size, "the class token has a vector of its own", resizing=BILINEAR),),
        pairing="adjacent",
        axes=pair_axes.columns_then_rows,
    ),
    Tower(
        ("llama4_vision_model",),
        tables=(patch_table(added_tables.patches_and_class, "the last row is that of the class token"),),
        pairing="adjacent",
        axes=pair_axes.columns_then_rows,
        notes=("positions of patches count from 1; the class token does not rotate",),
    ),
    Tower(
        ("gemma4_vision",),
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
        notes=(COLUMN_FIRST,),
    ),
    Tower(
        ("efficientloftr",),
        pairing="adjacent",
        layer_count=count_of("num_attention_layers"),
        head_dim=all_heads,
        axes=pair_axes.rows_and_columns_in_turn,
        notes=(
            "queries and keys rotate before they are cut into heads, in self-attention alone; positions of the "
            "aggregated map count from 1",
        ),
    ),
)
