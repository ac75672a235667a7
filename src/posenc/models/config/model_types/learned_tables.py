"""Models that add a vector for every position before the first layer, and whose layers know none: tables and sines."""

from functools import partial

from posenc.models.config.added_tables import TextTable, both_sides, embeddings_only, patches
from posenc.models.config.model_type import ModelType

TableType = partial(ModelType, reader=embeddings_only)

BERT_KIN = (
    "bert", "big_bird", "clip_text_model", "distilbert", "ernie", "flaubert", "gpt2", "gpt_bigcode", "gpt_neo",
    "megatron-bert", "mobilebert", "openai-gpt", "siglip2_text_model", "siglip_text_model",
    "xlm",
)  # fmt: skip
ROBERTA_KIN = (
    "camembert", "data2vec-text", "ibert", "longformer", "luke", "roberta", "roberta-prelayernorm",
    "xlm-roberta", "xlm-roberta-xl", "xmod",
)  # fmt: skip

LEARNED_TABLES = (
    # Text: a table from the first row on.
    TableType(BERT_KIN, tables=(TextTable(),)),
    TableType(("albert", "convbert", "electra", "squeezebert"), tables=(TextTable(dim="embedding_size"),)),
    TableType(("rembert",), tables=(TextTable(dim="input_embedding_size"),)),
    TableType(("blenderbot", "blenderbot-small"), tables=both_sides()),
    TableType(
        ("led",),
        tables=(
            TextTable("encoder", rows="max_encoder_position_embeddings"),
            TextTable("decoder", rows="max_decoder_position_embeddings"),
        ),
    ),
    # Behind rows that belong to no position: the padding token's and those before it, or two that fairseq left.
    TableType(ROBERTA_KIN, tables=(TextTable(start="padding"),)),
    TableType(("biogpt", "opt"), tables=(TextTable(start="two", extra=True),)),
    TableType(("bart", "mbart", "mvp", "plbart"), tables=both_sides(start="two", extra=True)),
    # Sines.
    TableType(("m2m_100", "nllb-moe"), tables=both_sides(start="padding", kind="tensor2tensor")),
    TableType(("marian", "pegasus"), tables=both_sides(kind="split")),
    TableType(("xglm",), tables=(TextTable(start="padding", kind="tensor2tensor"),)),
    TableType(
        ("whisper",),
        tables=(
            TextTable("encoder", rows="max_source_positions", kind="tensor2tensor"),
            TextTable("decoder", rows="max_target_positions"),
        ),
    ),
    # Pictures: a vector for every patch, behind rows for the class token and for the one that distils.
    TableType(("siglip_vision_model",), part="vision", tables=(patches(front=0, square=True),)),
    TableType(("clip_vision_model",), part="vision", tables=(patches(front=1, square=True),)),
    TableType(("dinov2", "vit"), part="vision", tables=(patches(front=1),)),
    TableType(("deit",), part="vision", tables=(patches(front=2),)),
)
