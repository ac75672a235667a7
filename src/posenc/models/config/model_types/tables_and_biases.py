"""Models whose layers do not rotate: they add a vector for every position, bias logits or score content."""

from __future__ import annotations

from functools import partial

from posenc.models.config.added_tables import (
    BICUBIC_ANTIALIASED,
    TextTable,
    embeddings_only,
    encoder_and_decoder,
    patch_table,
    stacked_frames,
)
from posenc.models.config.bias_readers import bloom, deberta, mpnet, mpt, t5
from posenc.models.config.model_type import ModelType
from posenc.models.config.plain_layers import around_by_layer, global_and_local, scaled_by_keys
from posenc.models.config.speech_readers import parakeet, seamless, wavlm
from posenc.models.config.window_readers import beit, sam, swin, swin_without_table, swinv2
from posenc.models.notes import NotRead

TableType = partial(ModelType, reader=embeddings_only)

BERT_KIN = (
    "aimv2_text_model", "align_text_model", "bert", "bert-generation", "big_bird", "blip_text_model",
    "chinese_clip_text_model", "clip_text_model", "clipseg_text_model", "clvp_decoder", "distilbert", "dpr", "ernie",
    "flaubert", "flava_text_model", "git", "groupvit_text_model",
    "instructblip_qformer", "instructblipvideo_qformer", "megatron-bert", "metaclip_2_text_model", "mobilebert",
    "openai-gpt", "owlv2_text_model", "owlvit_text_model", "roc_bert", "siglip2_text_model",
    "siglip_text_model", "splinter", "xclip_text_model", "xlm",
)  # fmt: skip
ROBERTA_KIN = (
    "altclip_text_model", "bridgetower_text_model", "camembert", "clap_text_model", "data2vec-text", "ibert",
    "luke", "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
)  # fmt: skip
BARK = ("BarkSubModelConfig", "coarse_acoustics", "fine_acoustics", "semantic")
#: Encoders of speech whose table is Whisper's in their checkpoints; their classes load it and do not train it.
WHISPER_KIN = ("audioflamingo3_encoder", "moss_transcribe_diarize_audio", "qwen2_audio_encoder", "voxtral_encoder")
FROZEN = "the table is loaded from the checkpoint and not trained; Whisper's checkpoints hold sines"
IN_CHUNKS = "positions are counted anew in every chunk of the audio"

LEARNED_TABLES = (
    # Text: a table from the first row on.
    TableType(BERT_KIN, tables=(TextTable(),)),
    ModelType(("gpt_neo",), tables=(TextTable(),), reader=global_and_local),
    ModelType(("gpt2", "imagegpt"), tables=(TextTable(),), reader=scaled_by_keys),
    ModelType(("gpt_bigcode",), tables=(TextTable(),), reader=partial(scaled_by_keys, by_layer=False)),
    TableType(BARK, part="audio", tables=(TextTable("audio", rows="block_size"),)),
    TableType(("albert", "convbert", "electra", "squeezebert"), tables=(TextTable(dim="embedding_size"),)),
    TableType(("rembert",), tables=(TextTable(dim="input_embedding_size"),)),
    TableType(("bigbird_pegasus", "blenderbot", "blenderbot-small"), tables=encoder_and_decoder()),
    ModelType(
        ("led",),
        tables=(
            TextTable("encoder", rows="max_encoder_position_embeddings"),
            TextTable("decoder", rows="max_decoder_position_embeddings"),
        ),
        reader=partial(around_by_layer, part="encoder"),
    ),
    TableType(
        ("fnet",),
        tables=(TextTable(),),
        notes=("no layer attends: a Fourier transform over all positions mixes tokens",),
    ),
    TableType(
        ("sam3_lite_text_text_model",),
        tables=(TextTable(),),
        notes=("the whole table is resized bilinearly to the length of every text",),
    ),
    TableType(
        ("canine",),
        tables=(TextTable(rows="num_hash_buckets"),),
        notes=(
            "positions are those of characters, and num_hash_buckets, not max_position_embeddings, sizes the table",
        ),
    ),
    ModelType(
        ("decision_transformer",),
        tables=(TextTable("text", rows="max_ep_len"),),
        reader=scaled_by_keys,
        notes=("rows are time steps, each of which three tokens share: return, state and action",),
    ),
    TableType(
        ("lxmert",),
        tables=(TextTable(),),
        ignored_keys=("visual_pos_dim",),
        notes=(NotRead("regions of an image are placed by a linear map of their boxes, which no encoding holds"),),
    ),
    TableType(
        ("visual_bert",),
        tables=(TextTable(),),
        notes=(
            NotRead(
                "regions of an image read a table of their own: its row 0, or the mean of the rows of the text that "
                "they are aligned with"
            ),
        ),
    ),
    TableType(
        ("tapas",),
        tables=(TextTable(),),
        notes=(
            "where reset_position_index_per_cell is true, positions are counted anew in every cell of a table",
            NotRead("tokens also learn their row, column and rank, which no encoding holds"),
        ),
    ),
    # Behind rows that belong to no position: the padding token's and those before it, or two that fairseq left.
    TableType(ROBERTA_KIN, tables=(TextTable(start="padding"),)),
    ModelType(("longformer",), tables=(TextTable(start="padding"),), reader=around_by_layer),
    TableType(
        ("markuplm",),
        tables=(TextTable(start="padding"),),
        notes=(NotRead("tokens also learn the path of their node in the document, which no encoding holds"),),
    ),
    TableType(("biogpt", "mra", "nystromformer", "opt", "yoso"), tables=(TextTable(start="two", extra=True),)),
    TableType(("pp_formulanet_text",), part="decoder", tables=(TextTable("decoder", start="two", extra=True),)),
    TableType(
        ("trocr",),
        part="decoder",
        neutral_keys={"use_learned_position_embeddings": True},
        tables=(TextTable("decoder", start="two", extra=True),),
    ),
    TableType(("bart", "mbart", "mvp", "plbart"), tables=encoder_and_decoder(start="two", extra=True)),
    # Sines.
    TableType(("fsmt", "m2m_100", "nllb-moe"), tables=encoder_and_decoder(start="padding", kind="tensor2tensor")),
    TableType(("pegasus_x",), tables=encoder_and_decoder(kind="tensor2tensor")),
    TableType(("marian", "pegasus"), tables=encoder_and_decoder(kind="split")),
    TableType(
        ("kosmos_2_5_text_model", "kosmos_2_text_model", "xglm"),
        tables=(TextTable(start="padding", kind="tensor2tensor"),),
    ),
    TableType(("tipsv2_text_model",), tables=(TextTable(kind="tensor2tensor"),)),
    TableType(("ctrl", "videoprism_text_model"), tables=(TextTable(kind="split"),)),
    TableType(("canary_decoder",), part="decoder", tables=(TextTable("decoder", kind="split/√d"),)),
    TableType(
        ("musicgen_decoder", "musicgen_melody_decoder"),
        part="decoder",
        tables=(TextTable("decoder", kind="cosines first"),),
    ),
    TableType(
        ("speech_to_text",),
        tables=(
            TextTable("encoder", rows="max_source_positions", start="padding", kind="tensor2tensor"),
            TextTable("decoder", rows="max_target_positions", start="padding", kind="tensor2tensor"),
        ),
    ),
    TableType(
        ("whisper",),
        tables=(
            TextTable("encoder", rows="max_source_positions", kind="tensor2tensor"),
            TextTable("decoder", rows="max_target_positions"),
        ),
    ),
    # Encoders of speech.
    TableType(WHISPER_KIN, part="audio", tables=(TextTable("audio", rows="max_source_positions"),), notes=(FROZEN,)),
    TableType(
        ("qwen2_5_omni_audio_encoder", "qwen3_omni_moe_audio_encoder"),
        part="audio",
        tables=(TextTable("audio", rows="max_source_positions", kind="tensor2tensor"),),
        notes=(IN_CHUNKS,),
    ),
    TableType(
        ("fun_asr_nano_encoder",),
        part="audio",
        tables=(patch_table(stacked_frames, part="audio"),),
        notes=(NotRead("a convolution over neighbouring frames stands in every layer next to attention"),),
    ),
    TableType(
        ("cohere_asr",),
        part="decoder",
        tables=(TextTable("decoder"),),
        notes=("the table of the decoder is loaded from the checkpoint, which holds sines by a comment of the class",),
    ),
    TableType(
        ("qwen3_asr_encoder",), part="audio", tables=(TextTable("audio", kind="tensor2tensor"),), notes=(IN_CHUNKS,)
    ),
)


SHARED_BY_ALL = "all layers share the table of the first"
SAM_KIN = (
    "got_ocr2_vision", "pp_chart2table_vision", "pp_formulanet_vision", "sam_hq_vision_model", "sam_vision_model",
    "slanext_vision",
)  # fmt: skip
RESIZED_SAM = ("deepseek_ocr2_sam_vision_model", "unlimited_ocr_sam_vision_model")

BIASES = (
    ModelType(("bloom",), reader=bloom, ignored_keys=("offset_alibi",)),
    ModelType(("mpt",), reader=mpt),
    ModelType(("longt5", "mt5", "pop2piano", "switch_transformers", "t5"), reader=partial(t5, note=SHARED_BY_ALL)),
    ModelType(("pix2struct_text_model",), part="decoder", reader=partial(t5, note=SHARED_BY_ALL, parts=("decoder",))),
    ModelType(("umt5",), reader=partial(t5, note="every layer has a table of its own")),
    ModelType(("mpnet",), reader=mpnet),
    ModelType(("deberta",), reader=partial(deberta, log_buckets=False)),
    ModelType(("deberta-v2",), reader=partial(deberta, log_buckets=True)),
    ModelType(("swin",), part="vision", reader=swin),
    ModelType(("clap_audio_model",), part="audio", reader=swin),
    ModelType(("donut-swin", "maskformer-swin"), part="vision", reader=swin_without_table),
    ModelType(("beit", "data2vec-vision"), part="vision", reader=beit),
    ModelType(SAM_KIN, part="vision", reader=sam, ignored_keys=("num_pos_feats",)),
    ModelType(RESIZED_SAM, part="vision", reader=partial(sam, resizing=BICUBIC_ANTIALIASED)),
    ModelType(("swinv2",), part="vision", reader=swinv2),
    ModelType(("wavlm",), part="audio", reader=wavlm),
    ModelType(("parakeet_encoder",), part="audio", reader=parakeet),
    ModelType(("seamless_m4t",), part="audio", reader=seamless),
)
