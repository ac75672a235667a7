"""Models that bias logits, or score content, by distance."""

from functools import partial

from posenc.models.config.added_tables import BICUBIC_ANTIALIASED
from posenc.models.config.bias_readers import bloom, deberta, mpnet, mpt, parakeet, seamless, t5, wavlm
from posenc.models.config.model_type import ModelType
from posenc.models.config.window_readers import beit, sam, swin, swin_without_table, swinv2

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
