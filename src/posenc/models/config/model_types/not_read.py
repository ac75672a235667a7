"""Models whose positions no encoding here holds, or no config says: why each is not read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from posenc.models.config.model_type import ModelType

#: Model types by the reason why they are not read. A reason goes on the sentence "got 'detr', which …".
REASONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # Of any model
        "may hold a model of any kind": ("timm_backbone", "timm_wrapper"),
        "is settings of a part, read with the model around it": ("DbrxAttentionConfig", "MptAttentionConfig"),
        "holds two models, in question_encoder and generator, each of which is to be read by itself": ("rag",),
        "is a model of timm, which transformers does not define": ("gemma3n_vision",),
        # Of rotations
        "repeats its angles over channels in another order than it pairs them, which no encoding does": ("vjepa2",),
        "rotates by products of two times, besides the rotations of its parts": ("musicflamingo",),
        "rotates by a learned linear map of the coordinates of keypoints": ("lightglue",),
        "places keypoints by a network of their coordinates": ("superglue",),
        "mixes coordinates of atoms and numbers of residues in one head, and scores relative chains": (
            "EsmFold2AtomEncoderConfig", "EsmFold2ConfidenceHeadConfig", "EsmFold2DiffusionModuleConfig",
            "EsmFold2LmEncoderConfig", "EsmFold2MsaEncoderConfig", "EsmFold2StructureHeadConfig", "esmfold2",
        ),
        "biases pairs of residues by their distance along the chain and in space": (
            "EsmFoldConfig", "StructureModuleConfig", "TrunkConfig",
        ),
        # Of scores and biases
        "mixes profiles of the distance by what each query reads, and scales logits by the log of the length": (
            "inkling2_text", "inkling_text",
        ),
        "scores shifted sines by a network, in funnels of growing strides": ("funnel",),
        "scores distances by Transformer-XL's terms and by segments, in two streams": ("xlnet",),
        "biases n-grams of the future by buckets that the content of a query weighs": ("prophetnet",),
        "adds buckets of distances to scores of segments, by a table that holds both": ("cpmant",),
        "scores distances by DeBERTa's terms over convolutional positions": ("sew-d",),
        "biases logits by a table of distances within a neighbourhood, in code of natten": ("dinat",),
        "biases keys by a table over a grid that every stage samples in its own way": ("levit",),
        "biases logits by a network of log distances as Swin v2 does, in stages of one size": ("swin2sr",),
        "adds a learned table and scores the distance along rows and columns by tables of several lengths": ("seggpt",),
        "scores sines of the distance within chunks and bounds its logits by tanh": ("gemma3n_audio", "gemma4_audio"),
        "scores clipped distances by a learned vector each, within blocks of context_size": (
            "granite_speech5_encoder", "granite_speech_encoder", "granite_speech_plus_encoder",
        ),
        "biases logits by a table of clipped distances, next to convolutions over them": ("phi4_multimodal_audio",),
        "scores clipped distances for keys, next to a convolution over neighbouring positions": ("speecht5",),
        "scores distances within a window for keys and values, and zero beyond": ("vits",),
        "adds sines, and scores clipped distances in its speech encoder, within chunks": ("seamless_m4t_v2",),
        "scores distances by Transformer-XL's terms, with the positions of its decoder counted by durations": (
            "fastspeech2_conformer",
        ),
        "sees chunks of frames whose number the call chooses, and scores by Transformer-XL's terms": (
            "nemotron_asr_streaming_encoder",
        ),
        # Of tables
        "adds a convolution over neighbouring positions, which no encoding holds": (
            "data2vec-audio", "hubert", "sew", "unispeech", "unispeech-sat", "wav2vec2",
        ),
        "adds tables of the corners of boxes, and one of the order of tokens": (
            "PPDocLayoutV2ReadingOrderConfig", "layoutlm", "layoutlmv2", "layoutlmv3", "layoutxlm", "lilt", "udop",
        ),
        "scores sines of the corners of boxes, and adds a table of the order of tokens": ("bros",),
        "adds tables of rows, columns and frames of a video, and one of the order of tokens": ("tvp",),
        "adds a table of text and one of patches, in one sequence": ("vilt",),
        "adds a table of patches and one of frames": ("timesformer", "videoprism_vision_model"),
        "adds a table of patches over frames, behind a row for the class token": ("vivit",),
        "adds a table of patches over frames, or of patches alone, in windows that it pools": ("hiera",),
        "adds sines of patches over frames": ("videomae",),
        "adds a table of patches again in every layer, with rows for the objects that it detects": ("yolos",),
        "adds a table of patches in every stage, for a grid of its own": ("pvt",),
        "cuts a window of each image's shape out of its table": ("radio",),
        "adds gated tables of patches and of tiles": ("mllama_vision_model",),
        "adds a background table and a window table, tiled over each other": ("sam2_hiera_det_model",),
        "adds tables of rows and columns that it concatenates, or one table, as axial_pos_embds says": ("reformer",),
        "adds Fourier features of each modality's coordinates, or a table": ("perceiver",),
        # Of sines
        "adds sines of frequencies of its own, from min_timescale to max_timescale": ("timesfm",),
        "adds sines that its checkpoint holds, and features of the time": (
            "autoformer", "informer", "time_series_transformer",
        ),
        "adds sines or a table over patches of a series, by positional_encoding_type": ("patchtsmixer", "patchtst"),
        "adds sines of rows and columns to queries and keys of every layer, and learned vectors to its queries": (
            "conditional_detr", "d_fine", "dab-detr", "deformable_detr", "deimv2", "detr", "grounding-dino", "lw_detr",
            "mask2former", "maskformer", "mm-grounding-dino", "omdet-turbo", "oneformer", "pp_doclayout_v2",
            "pp_doclayout_v3", "pp_doclayout_v4", "rf_detr", "rt_detr", "rt_detr_v2", "sam3_detr_decoder",
            "sam3_detr_encoder", "sam3_lite_text_detr_decoder", "sam3_lite_text_detr_encoder", "table-transformer",
        ),
        "adds random Fourier features of points and boxes to the tokens of its prompt and of its image": (
            "edgetam_prompt_encoder", "edgetam_video_prompt_encoder", "sam2_prompt_encoder",
            "sam2_video_prompt_encoder",
            "sam3_geometry_encoder", "sam3_lite_text_geometry_encoder", "sam3_tracker_prompt_encoder",
            "sam3_tracker_video_prompt_encoder", "sam_hq_prompt_encoder", "sam_prompt_encoder",
        ),
        "adds the positions of the prompt and of the image to queries and keys of every layer": (
            "edgetam_mask_decoder", "edgetam_video_mask_decoder", "sam2_mask_decoder", "sam2_video_mask_decoder",
            "sam3_lite_text_mask_decoder", "sam3_mask_decoder", "sam3_tracker_mask_decoder",
            "sam3_tracker_video_mask_decoder", "sam_hq_mask_decoder", "sam_mask_decoder",
        ),
    }
)  # fmt: skip
#: Parts that a model is read without, with a note that says what they do.
LEFT_OUT = frozenset(
    {
        "gemma3n_audio", "gemma3n_vision", "gemma4_audio", "mllama_vision_model", "phi4_multimodal_audio", "radio",
        "sam2_hiera_det_model",
        "sam3_detr_decoder", "sam3_detr_encoder", "sam3_lite_text_detr_decoder", "sam3_lite_text_detr_encoder",
        *(name for names in REASONS.values() for name in names if name.endswith(("_mask_decoder", "_prompt_encoder"))),
        "sam3_geometry_encoder", "sam3_lite_text_geometry_encoder",
    }
)  # fmt: skip

NOT_READ = tuple(
    ModelType((name,), unsupported=reason, left_out=name in LEFT_OUT)
    for reason, names in REASONS.items()
    for name in names
)
