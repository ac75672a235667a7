"""Models that encode no positions: where recurrences and convolutions know the order, and where nothing does."""

from functools import partial

from posenc.models.config.factors import root_of_half_width
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import twice_hidden_over_heads
from posenc.models.config.layer_type_rules import (
    EveryNth,
    by_attn_layer_period,
    by_hybrid_override_pattern,
    by_linear_attn_config,
    full_as_indexed,
    hybrid_by_period,
    listed_or_counted,
    uniform,
)
from posenc.models.config.model_type import Groups, ModelType
from posenc.models.config.rotation_rules import no_layer_rotates
from posenc.models.config.window_rules import pair_for_each_layer


def without_positions(fields: Fields) -> Groups:
    """Return no groups, since no layer of these models knows a position."""
    return ()


NoPositions = partial(
    ModelType,
    rotations=no_layer_rotates,
    notes=("nothing encodes positions: the layers that are no attention know the order of tokens by themselves",),
)

CONVOLUTIONS = (
    "align_vision_model", "bit", "convnext", "convnextv2", "dinov3_convnext", "efficientnet", "flava_image_codebook",
    "focalnet", "hgnet_v2", "mobilenet_v1", "mobilenet_v2", "poolformer", "pp_lcnet", "pp_lcnet_v3", "pp_lcnet_v4",
    "regnet", "resnet", "rt_detr_resnet", "superpoint", "textnet", "uvdoc_backbone",
)  # fmt: skip
CODECS = (
    "dac", "encodec", "fastspeech2_conformer_hifigan", "muse_spark_audio", "qwen2_5_omni_bigvgan", "speecht5_hifigan",
    "univnet", "vibevoice_acoustic_tokenizer", "vibevoice_acoustic_tokenizer_decoder",
    "vibevoice_acoustic_tokenizer_encoder",
)  # fmt: skip
AUTOENCODERS = ("chameleon_vqgan", "emu3_vqgan", "glm_image_vqmodel", "janus_vqgan")
BETWEEN_CONVOLUTIONS = (
    "cvt", "florence_vision", "glpn", "mobilevit", "mobilevitv2", "pvt_v2", "segformer", "swiftformer",
)  # fmt: skip
UNORDERED = (
    "blip_2_qformer", "flava_multimodal_model", "idefics2_perceiver", "idefics_perciever", "molmo2_adapter",
)  # fmt: skip
#: Settings of a head or of a part that has none of its own, and parts that only project.
NO_LAYERS = (
    "DbrxFFNConfig", "GradiumPhononTTSFlowHeadConfig", "Nemotron3DiarizationHeadConfig",
    "Nemotron3DiarizationStreamingConfig", "PocketTTSFlowHeadConfig", "gemma4_unified_audio", "inkling_audio",
    "inkling_vision", "sapiens2_head", "vibevoice_diffusion",
)  # fmt: skip

NO_POSITIONS = (
    NoPositions(("falcon_mamba", "mamba", "mamba2"), layer_types=uniform("mamba")),
    NoPositions(("rwkv", "xlstm"), layer_types=uniform("recurrent")),
    NoPositions(("jamba",), layer_types=by_attn_layer_period),
    NoPositions(
        ("zamba",),
        layer_types=hybrid_by_period,
        head_dim=twice_hidden_over_heads,
        logit_factor=root_of_half_width,
    ),
    NoPositions(("nemotron_h",), layer_count=listed_or_counted, layer_types=by_hybrid_override_pattern),
    NoPositions(
        ("kimi_linear",),
        layer_types=by_linear_attn_config,
        ignored_keys=("qk_rope_head_dim", "qk_nope_head_dim", "mla_use_nope"),
    ),  # Without a rotation or a table, as their classes are written.
    NoPositions(
        ("glm5_next_text",),
        layer_types=EveryNth(4, nth="indexed_attention", other="linear_attention"),
        settled_types=full_as_indexed,
        ignored_keys=("qk_rope_head_dim", "qk_nope_head_dim"),
    ),
    NoPositions(
        ("moonshine_streaming_encoder",),
        part="encoder",
        window=pair_for_each_layer,
        notes=("nothing encodes positions: layers have windows alone, and none without a mask of padding",),
    ),
    # Decoders of codebooks, whose tokens are few and have embeddings of their own.
    NoPositions(
        ("moshi_depth",),
        part="depth decoder",
        notes=("nothing encodes positions: every codebook has embeddings and projections of its own",),
    ),
    # A rotation along the heads: logits, which compare vectors of one head, are those without it.
    NoPositions(
        ("neucodec", "xcodec2"),
        part="audio",
        notes=("nothing encodes positions: each head is rotated by its own number, the same at every token",),
        ignored_keys=("rope_parameters", "rope_theta", "rope_scaling"),
    ),
    # Pictures and sound without attention.
    *(
        ModelType(
            names,
            part=part,
            reader=without_positions,
            ignored_keys=("n_attn_blocks",),  # MobileViT v2: how many layers of a stage attend
            notes=(f"nothing encodes positions: {reason}",),
        )
        for names, part, reason in (
            (CONVOLUTIONS, "vision", "convolutions know where a pixel is, and no layer attends"),
            (CODECS, "audio", "convolutions know where a sample is, and no layer attends"),
            (AUTOENCODERS, "vision", "convolutions know where a pixel is, and attention between them does not"),
            (BETWEEN_CONVOLUTIONS, "vision", "attention does not, convolutions around it know where a patch is"),
            (("FunAsrNanoAdaptorConfig",), "audio", "its layers follow an encoder that adds them"),
            (UNORDERED, "text", "its tokens are queries or parts whose order other layers know"),
            (NO_LAYERS, "part", "it has no layer that attends"),
        )
    ),
)
