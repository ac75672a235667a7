"""Multi-head latent attention: a slice of every head rotates, behind channels that do not."""

from posenc.models.config.head_rules import latent, latent_share, latent_windows
from posenc.models.config.layer_type_rules import EveryNth, two_in_each_layer, uniform
from posenc.models.config.model_type import ModelType
from posenc.models.config.rotation_rules import bases_by_width, by_no_rope_layers

INDEXED = uniform("indexed_attention")

LATENT_ATTENTION = (
    ModelType(("deepseek_v2",), pairing="adjacent", rotated_slice=latent, scales_logits=True),
    ModelType(
        ("longcat_flash",),
        pairing="adjacent",
        layer_count=two_in_each_layer,
        rotated_slice=latent,
        scales_logits=True,
    ),
    ModelType(
        ("axk1", "deepseek_v3", "glm4_moe_lite", "youtu"),
        pairing="rope_interleave",
        rotated_slice=latent,
        scales_logits=True,
    ),
    ModelType(
        ("mistral4",),
        pairing="rope_interleave",
        rope_keys=("llama_4_scaling_beta", "max_position_embeddings"),
        rotated_slice=latent_share,
        scales_logits=True,
    ),
    ModelType(("minicpm3",), rotated_slice=latent, scales_logits=True),
    # An indexer chooses the keys of every layer.
    ModelType(
        ("axk2", "deepseek_v32", "glm_moe_dsa"),
        pairing="adjacent",
        layer_types=INDEXED,
        rotated_slice=latent,
        scales_logits=True,
    ),
    ModelType(("hy_v4",), layer_types=INDEXED, rotated_slice=latent, scales_logits=True),
    ModelType(
        ("mistral_large4_text",),
        pairing="adjacent",
        layer_types=INDEXED,
        rotations=by_no_rope_layers,
        rotated_slice=latent,
        scales_logits=True,
    ),
    # Among layers of other kinds.
    ModelType(
        ("bailing_hybrid",),
        pairing="adjacent",
        layer_types=EveryNth(4, key="layer_group_size", other="linear_attention"),
        rotated_slice=latent,
        scales_logits=True,
    ),
    ModelType(
        ("dots3_note_text",),
        pairing="adjacent",
        layer_types=EveryNth(4, nth="indexed_attention", at=1, first=2),
        rotations=bases_by_width,
        rotated_slice=latent_windows,
    ),
)
