"""Text models whose positions of text, pictures and video have several coordinates: time, height and width."""

from posenc.models.config.layer_type_rules import EveryNth, by_max_window_layers
from posenc.models.config.model_type import ModelType
from posenc.models.config.pair_axes import alternating, channel_runs, even_and_odd, every_third, section_runs
from posenc.models.config.rotation_rules import object_for_each_type
from posenc.models.config.window_rules import short_and_long

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
    ),
    ModelType(
        ("cohere_compass_text",),
        axes=every_third,
        sections=(24, 20, 20),
        rotations=object_for_each_type,
    ),
    ModelType(("ernie4_5_vl_moe_text",), pairing="adjacent", axes=alternating, sections=(22, 22, 20)),
    # Rows and columns.
    ModelType(("neomme",), partial=True, axes=even_and_odd, layer_types=EveryNth(6, last=True), window=short_and_long),
)
