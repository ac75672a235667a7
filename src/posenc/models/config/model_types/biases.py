"""Models that bias logits, or score content, by distance."""

from posenc.models.config.bias_readers import bloom, deberta, mpnet, mpt, swin, swinv2, t5
from posenc.models.config.model_type import ModelType
from posenc.models.config.speech_readers import seamless, wavlm

BIASES = (
    ModelType(("bloom",), reader=bloom, ignored_keys=("offset_alibi",)),
    ModelType(("mpt",), reader=mpt),
    ModelType(("longt5", "mt5", "switch_transformers", "t5"), reader=t5("all layers share the table of the first")),
    ModelType(("umt5",), reader=t5("every layer has a table of its own")),
    ModelType(("mpnet",), reader=mpnet),
    ModelType(("deberta",), reader=deberta(log_buckets=False)),
    ModelType(("deberta-v2",), reader=deberta(log_buckets=True)),
    ModelType(("swin",), part="vision", reader=swin),
    ModelType(("swinv2",), part="vision", reader=swinv2),
    ModelType(("wavlm",), part="audio", reader=wavlm),
    ModelType(("seamless_m4t",), part="audio", reader=seamless),
)
