"""Audio models that rotate queries and keys."""

from functools import partial

from posenc.models.config.factors import unscaled
from posenc.models.config.head_rules import encoder_head_dim, hidden_over_heads
from posenc.models.config.layer_type_rules import count_of
from posenc.models.config.model_type import ModelType
from posenc.models.config.rotation_rules import ByLayerType
from posenc.models.config.speech_readers import CONVOLUTION, ROTATED_INPUT, conformer_scores
from posenc.models.config.window_rules import in_every_layer, own_block

#: Keys of conformers that only size their tables.
CONFORMER_SIZES = (
    "max_source_positions", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups", "left_max_position_embeddings",
    "right_max_position_embeddings",
)  # fmt: skip
Conformer = partial(ModelType, part="audio", ignored_keys=CONFORMER_SIZES, head_dim=hidden_over_heads)
CONFORMER_ROTATIONS = ByLayerType(
    where=("position_embeddings_type", "rotary", "relative"), base="rotary_embedding_base"
)
BERT_ROTATIONS = ByLayerType(
    where=("position_embeddings_type", "rotary", "relative", "relative_key"), base="rotary_embedding_base"
)

WINDOWED_CODECS = (
    "Qwen3OmniMoeCode2WavConfig", "mimi", "mimi_decoder", "mimi_encoder", "pocket_tts_audio_tokenizer",
    "pocket_tts_audio_tokenizer_decoder", "pocket_tts_audio_tokenizer_encoder", "voxtral_realtime_encoder",
)  # fmt: skip
PARTLY_ROTATING_AUDIO = (
    "glmasr_encoder", "nemotron3_5_transcribe_asr_audio",
    "nemotron3_5_transcribe_word_timestamp", "nemotron3_diarization_audio",
)  # fmt: skip

FIRST_HEAD = "only the first head of each layer rotates; the others know no positions"
NEXT_BLOCKS = (
    "layers of look_backward_layers see the block before their own as well, those of look_ahead_layers the one after "
    "it; no window says this"
)

MOONSHINE_ENCODER = ModelType(
    (),
    part="encoder",
    layer_count=count_of("encoder_num_hidden_layers"),
    pairing="adjacent",
    head_dim=encoder_head_dim,
    partial=True,
)

AUDIO = (
    ModelType(("lasr_encoder",), part="audio"),
    ModelType(
        ("qwen2_5_omni_dit",), part="audio", pairing="adjacent", window=own_block, notes=(FIRST_HEAD, NEXT_BLOCKS)
    ),
    ModelType(WINDOWED_CODECS, part="audio", window=in_every_layer("sliding_window")),
    ModelType(PARTLY_ROTATING_AUDIO, part="audio", partial=True),
    ModelType(("dots3_note_audio_encoder",), part="audio", partial=True, head_dim=hidden_over_heads),
    ModelType(("pe_audio_encoder", "pe_audio_video_encoder"), part="audio", pairing="adjacent"),
    # Encoders and decoders of speech.
    ModelType(("moonshine",), part="decoder", pairing="adjacent", partial=True, stacks=(MOONSHINE_ENCODER,)),
    ModelType(("moonshine_streaming",), part="decoder", pairing="adjacent", partial=True),
    ModelType(("dia_encoder",), part="encoder", logit_factor=unscaled),
    ModelType(("dia_decoder",), part="decoder", logit_factor=unscaled),
    ModelType(("csm_depth_decoder_model",), part="depth decoder"),
    # Conformers that rotate, or score the distance, as their file says.
    Conformer(("wav2vec2-bert",), rotations=BERT_ROTATIONS, unrotated=conformer_scores, notes=(ROTATED_INPUT,)),
    Conformer(
        ("wav2vec2-conformer",),
        rotations=CONFORMER_ROTATIONS,
        unrotated=partial(conformer_scores, notes=(CONVOLUTION,)),
        notes=(ROTATED_INPUT, CONVOLUTION),
    ),
)
