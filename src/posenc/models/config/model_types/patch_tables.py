"""Vision towers that add a learned vector for every patch before the first layer, and whose layers know no position."""

from functools import partial

from posenc.models.config import added_tables
from posenc.models.config.added_tables import (
    BICUBIC_ANTIALIASED,
    BILINEAR,
    BILINEAR_ANTIALIASED,
    NEVER_READ,
    embeddings_only,
    grid_of_count,
    patch_table,
    patches,
)
from posenc.models.config.model_type import ModelType
from posenc.models.config.patch_rules import always, by_share, in_squares, without_front
from posenc.models.notes import NotRead
from posenc.models.patch_positions import PatchPositions

PatchType = partial(ModelType, part="vision", reader=embeddings_only)

BUCKETS = "of a smaller image, a patch reads the row of the patch at the same share of height and width"
FROM_ONE = "its processor counts rows and columns from 1"

#: Square images, whose table is resized bicubically.
CLIP_KIN = (
    "altclip_vision_model", "blip_2_vision_model", "blip_vision_model", "bridgetower_vision_model",
    "chinese_clip_vision_model", "clip_vision_model", "clipseg_vision_model", "git_vision_model", "idefics_vision",
    "instructblip_vision_model", "instructblipvideo_vision_model", "kosmos_2_vision_model",
    "metaclip_2_vision_model", "owlv2_vision_model", "owlvit_vision_model", "xclip_vision_model",
)  # fmt: skip
NAVIT_KIN = (
    "idefics2_vision", "idefics3_vision", "minicpm_ocr_vision", "minicpmv4_6_vision", "minicpmv4_7_vision",
    "phi4_multimodal_vision", "smolvlm_vision",
)  # fmt: skip

PATCH_TABLES = (
    # Behind vectors for the class token and for the one that distils.
    PatchType(("janus_vision_model", "siglip_vision_model"), tables=(patches(front=0, square=True),)),
    PatchType(("groupvit_vision_model", "ijepa"), tables=(patches(front=0),)),
    PatchType(CLIP_KIN, tables=(patches(front=1, square=True),)),
    PatchType(("dinov2", "flava_image_model", "vit", "vit_msn"), tables=(patches(front=1),)),
    PatchType(("deit",), tables=(patches(front=2),)),
    PatchType(("pixio",), tables=(added_tables.class_tokens_and_patches,)),
    PatchType(
        ("internvl_vision", "qianfan_ocr_vision"),
        neutral_keys={"use_absolute_position_embeddings": True},
        tables=(patches(front=1),),
    ),
    PatchType(
        ("vit_mae",),
        tables=(patches(front=1, note="the table holds sines of rows and columns; it is saved, and not trained"),),
    ),
    PatchType(
        ("lw_detr_vit", "vitdet"),
        neutral_keys={"use_absolute_position_embeddings": True, "use_relative_position_embeddings": False},
        tables=(patches(1, "pretrain_image_size", note=NEVER_READ),),
        patches=without_front,
    ),
    # Resized in other ways.
    PatchType(("dinov2_with_registers", "rf_detr_dinov2"), tables=(patches(front=1, resizing=BICUBIC_ANTIALIASED),)),
    PatchType(("unlimited_ocr_vision_encoder",), tables=(patches(front=1, square=True, resizing=BICUBIC_ANTIALIASED),)),
    PatchType(("tipsv2_vision_model",), tables=(patches(front=1, resizing=BILINEAR_ANTIALIASED),)),
    PatchType(("dpt",), tables=(added_tables.unless_backbone,)),
    PatchType(
        ("cosmos3_edge_vision",),
        patches=in_squares(PatchPositions()),
        tables=(patch_table(grid_of_count("num_patches"), resizing=BILINEAR_ANTIALIASED),),
    ),
    PatchType(
        ("siglip2_vision_model",),
        tables=(patch_table(grid_of_count("num_patches"), resizing=BILINEAR_ANTIALIASED),),
    ),
    PatchType(("glm_image_vision",), tables=(patches(front=0, square=True, resizing=BILINEAR),)),
    PatchType(("hunyuan_vl_vision",), patches=without_front, tables=(added_tables.by_interpolate_mode,)),
    PatchType(
        ("granite_docling_vision",),
        tables=(patches(front=0, square=True),),
        notes=(NotRead("its connector adds learned vectors to the patches that it pools, which are not read"),),
    ),
    # Never resized.
    PatchType(("eomt", "videomt"), tables=(patches(front=0, resizing=None),)),
    PatchType(("ovis2_vision",), tables=(patches(front=0, square=True, resizing=None),)),
    PatchType(("mgp-str",), tables=(patches(front=1, resizing=None),)),
    PatchType(
        ("vitpose_backbone",),
        patches=without_front,
        tables=(patches(front=1, resizing=None),),
        notes=("the row in front belongs to no token: it is added to every patch as well",),
    ),
    PatchType(("aimv2_vision_model",), tables=(added_tables.unless_native,)),
    PatchType(NAVIT_KIN, patches=by_share, tables=(patches(front=0, square=True, resizing=None),), notes=(BUCKETS,)),
    PatchType(
        ("molmo2_vision",),
        older_names={
            "image_size": "image_default_input_size",
            "num_position_embeddings": "image_num_pos",
            "patch_size": "image_patch_size",
        },
        patches=always(PatchPositions("number")),
        tables=(patch_table(added_tables.stated_or_378),),
    ),
    # A table for rows and one for columns.
    PatchType(
        ("kosmos_2_5_vision_model",),
        patches=always(PatchPositions(start=1)),
        tables=(patch_table(added_tables.two_tables("max_num_patches"), FROM_ONE),),
    ),
    PatchType(
        ("pix2struct_vision_model",),
        ignored_keys=("relative_attention_num_buckets", "relative_attention_max_distance"),
        patches=always(PatchPositions(start=1)),
        tables=(patch_table(added_tables.two_tables("seq_len"), FROM_ONE),),
    ),
    PatchType(
        ("gemma4_unified_vision",),
        patches=always(PatchPositions("wh")),
        tables=(
            patch_table(
                added_tables.two_tables("mm_posemb_size", "mm_embed_dim"),
                "the first coordinate is the column; no layer of its own attends",
            ),
        ),
    ),
    PatchType(
        ("audio-spectrogram-transformer",),
        part="audio",
        tables=(patch_table(added_tables.spectrogram_patches, part="audio", offset=2),),
    ),
)
