"""Vision towers that rotate by rows and columns of patches, some of which also add a learned table."""

from posenc.models.config.added_tables import (
    columns_and_rows,
    grid_of_count,
    grid_of_height_and_width,
    grid_of_image,
    grid_of_size,
    patch_table,
    patches_and_class,
)
from posenc.models.config.head_rules import all_heads, embed_over_heads, hidden_over_heads, memory_head_dim
from posenc.models.config.layer_type_rules import EveryNth, count_of, uniform
from posenc.models.config.model_type import ModelType
from posenc.models.config.pair_axes import (
    COLUMNS_AND_ROWS_IN_TURN,
    COLUMNS_THEN_ROWS,
    ROWS_AND_COLUMNS_IN_TURN,
    ROWS_THEN_COLUMNS,
    ROWS_THEN_COLUMNS_IN_BLOCKS,
    SPLIT_RUNGS,
    TIME_ROWS_COLUMNS,
)

BILINEAR = "the table is resized bilinearly to the grid of every picture"
BICUBIC = "the table is resized bicubically to the grid of every picture"

GRID_TOWERS = (
    "dots3_note_vision_encoder", "ernie4_5_vl_moe_vision", "exaone4_5_vision", "glm5_next_vision",
    "glm_ocr_vision", "qwen2_5_omni_vision_encoder", "qwen2_5_vl_vision", "video_llama_3_vision",
)  # fmt: skip
TOWERS_WITH_SQUARE_TABLE = (
    "cohere_compass_vision", "qwen3_5_moe_vision", "qwen3_5_vision", "qwen3_omni_moe_vision_encoder",
    "qwen3_vl_moe_vision", "qwen3_vl_vision", "qwen4_exp_vision",
)  # fmt: skip

VISION = (
    ModelType(
        GRID_TOWERS,
        part="vision",
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(("qwen2_vl_vision",), part="vision", axes=ROWS_THEN_COLUMNS, head_dim=embed_over_heads),
    ModelType(
        ("mlcd_vision_model",),
        part="vision",
        axes=ROWS_THEN_COLUMNS,
        notes=("the class token rotates by learned angles",),
    ),
    ModelType(
        ("lfm3_vl_vision",),
        part="vision",
        axes=ROWS_THEN_COLUMNS,
        layer_types=EveryNth(2, nth="conv", other="full_attention", at=1, first=2),
    ),
    ModelType(
        ("dinov3_vit", "eomt_dinov3", "sapiens2"),
        part="vision",
        axes=ROWS_THEN_COLUMNS,
        head_dim=hidden_over_heads,
        notes=("positions are 2π times the centres of patches in coordinates from -1 to 1",),
    ),
    ModelType(("pixtral",), part="vision", axes=SPLIT_RUNGS),
    ModelType(("minimax_m3_vl_vision",), part="vision", axes=TIME_ROWS_COLUMNS),
    ModelType(("pe_video_encoder",), part="vision", pairing="adjacent"),
    # A learned vector for every patch besides.
    ModelType(
        TOWERS_WITH_SQUARE_TABLE,
        part="vision",
        tables=(patch_table(grid_of_count, BILINEAR),),
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("glm4v_moe_vision", "glm4v_vision"),
        part="vision",
        tables=(patch_table(grid_of_image(), BICUBIC),),
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("paddleocr_vl_vision",),
        part="vision",
        tables=(patch_table(grid_of_image(), BILINEAR),),
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("step3p5_vision",),
        part="vision",
        tables=(patch_table(grid_of_image(), BILINEAR),),
        axes=COLUMNS_THEN_ROWS,
    ),
    ModelType(
        ("sam3_vit_model",),
        part="vision",
        tables=(patch_table(grid_of_image("pretrain_image_size"), "the table is tiled over larger pictures"),),
        pairing="adjacent",
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("muse_glimmer_vision", "muse_spark_vision"),
        part="vision",
        tables=(patch_table(grid_of_height_and_width, BILINEAR),),
        layer_types=EveryNth(4, other="window_attention", last=True),
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("kimi_k25_vision",),
        part="vision",
        tables=(
            patch_table(grid_of_height_and_width, f"{BICUBIC}; sines of the frame are added, from the second frame on"),
        ),
        axes=COLUMNS_AND_ROWS_IN_TURN,
    ),
    ModelType(
        ("inkling2_vision",),
        part="vision",
        tables=(patch_table(grid_of_size, f"{BILINEAR}; the class token has a vector of its own"),),
        pairing="adjacent",
        axes=COLUMNS_THEN_ROWS,
    ),
    ModelType(
        ("llama4_vision_model",),
        part="vision",
        tables=(patch_table(patches_and_class, "the last row is that of the class token"),),
        pairing="adjacent",
        axes=COLUMNS_THEN_ROWS,
        notes=("positions of patches count from 1; the class token does not rotate",),
    ),
    ModelType(
        ("gemma4_vision",),
        part="vision",
        tables=(patch_table(columns_and_rows, "the first coordinate is the column"),),
        axes=ROWS_THEN_COLUMNS_IN_BLOCKS,
    ),
    # Attention over a memory, or over all heads together.
    ModelType(
        ("edgetam_video", "sam2_video", "sam3_tracker_video"),
        part="vision",
        pairing="adjacent",
        layer_count=count_of("memory_attention_num_layers"),
        layer_types=uniform("memory_attention"),
        head_dim=memory_head_dim,
        axes=ROWS_THEN_COLUMNS,
    ),
    ModelType(
        ("efficientloftr",),
        part="vision",
        pairing="adjacent",
        layer_count=count_of("num_attention_layers"),
        head_dim=all_heads,
        axes=ROWS_AND_COLUMNS_IN_TURN,
        notes=(
            "queries and keys rotate before they are cut into heads, in self-attention alone; positions of the "
            "aggregated map count from 1",
        ),
    ),
    ModelType(("timm_backbone", "timm_wrapper"), part="vision", unsupported="may hold a model of any kind"),
    ModelType(
        ("vjepa2",),
        part="vision",
        unsupported="repeats its angles over channels in another order than it pairs them, which no record does",
    ),
)
