"""Models that add a vector for every position before the first layer, and whose layers know none: tables and sines."""

from posenc.models.config.added_tables import TextTable, both_sides, embeddings_only, patches
from posenc.models.config.model_type import ModelType

BERT_KIN = (
    "bert", "big_bird", "clip_text_model", "distilbert", "ernie", "flaubert", "gpt2", "gpt_bigcode", "gpt_neo",
    "megatron-bert", "mobilebert", "openai-gpt", "siglip_text_model", "xlm",
)  # fmt: skip
ROBERTA_KIN = (
    "camembert", "data2vec-text", "ibert", "longformer", "luke", "roberta", "roberta-prelayernorm",
    "xlm-roberta", "xlm-roberta-xl", "xmod",
)  # fmt: skip

LEARNED_TABLES = (
    # Text: a table from the first row on.
    ModelType(
        BERT_KIN,
        tables=(TextTable(),),
        reader=embeddings_only,
    ),
    ModelType(
        ("albert", "convbert", "electra", "squeezebert"),
        tables=(TextTable(dim="embedding_size"),),
        reader=embeddings_only,
    ),
    ModelType(("rembert",), tables=(TextTable(dim="input_embedding_size"),), reader=embeddings_only),
    ModelType(("blenderbot", "blenderbot-small"), tables=both_sides(), reader=embeddings_only),
    ModelType(
        ("led",),
        tables=(
            TextTable("encoder", rows="max_encoder_position_embeddings"),
            TextTable("decoder", rows="max_decoder_position_embeddings"),
        ),
        reader=embeddings_only,
    ),
    # Behind rows that belong to no position: the padding token's and those before it, or two that fairseq left.
    ModelType(
        ROBERTA_KIN,
        tables=(TextTable(start="padding"),),
        reader=embeddings_only,
    ),
    ModelType(("biogpt", "opt"), tables=(TextTable(start="two", extra=True),), reader=embeddings_only),
    ModelType(("bart", "mbart", "mvp", "plbart"), tables=both_sides(start="two", extra=True), reader=embeddings_only),
    # Sines.
    ModelType(
        ("m2m_100", "nllb-moe"), tables=both_sides(start="padding", kind="tensor2tensor"), reader=embeddings_only
    ),
    ModelType(("marian", "pegasus"), tables=both_sides(kind="split"), reader=embeddings_only),
    ModelType(("xglm",), tables=(TextTable(start="padding", kind="tensor2tensor"),), reader=embeddings_only),
    ModelType(
        ("whisper",),
        tables=(
            TextTable("encoder", rows="max_source_positions", kind="tensor2tensor"),
            TextTable("decoder", rows="max_target_positions"),
        ),
        reader=embeddings_only,
    ),
    # Pictures: a vector for every patch, behind rows for the class token and for the one that distils.
    ModelType(("siglip_vision_model",), part="vision", tables=(patches(front=0),), reader=embeddings_only),
    ModelType(
        ("clip_vision_model", "dinov2", "vit"), part="vision", tables=(patches(front=1),), reader=embeddings_only
    ),
    ModelType(("deit",), part="vision", tables=(patches(front=2),), reader=embeddings_only),
)
