"""Models whose embeddings get a vector for their place: learned tables and sines, each with its offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from posenc import _check
from posenc.doors import Encoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.models.config.fields import Fields
from posenc.models.model_positions import LayerGroup
from posenc.phase import Numerics

#: A row before the first that is never used for a token: after padding_idx, or two that fairseq left.
Start = Literal["none", "two", "padding"]


@dataclass(frozen=True)
class Table:
    """A table of vectors: part of the model; the keys of its rows and channels; where its first token reads.

    kind: "learned"; "split", sines then cosines with the exponent 2i/d (Marian); "tensor2tensor", the same with i/(d/2-1).
    extra: whether the table has rows for the offset besides those of the key.
    """

    part: str = "text"
    rows: str = "max_position_embeddings"
    dim: str = "hidden_size"
    start: Start = "none"
    kind: Literal["learned", "split", "tensor2tensor"] = "learned"
    extra: bool = False


PLAIN = [
    "albert",
    "bert",
    "big_bird",
    "clip_text_model",
    "convbert",
    "distilbert",
    "electra",
    "ernie",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "megatron-bert",
    "mobilebert",
    "openai-gpt",
    "rembert",
    "siglip_text_model",
    "squeezebert",
    "xlm",
    "flaubert",
]
PADDED = [
    "camembert",
    "data2vec-text",
    "ibert",
    "longformer",
    "luke",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
]
TWO = ["biogpt", "opt"]
TWO_SIDED = ["bart", "mbart", "mvp", "plbart"]
SINES = ["m2m_100", "nllb-moe"]

_BOTH = (Table("encoder"), Table("decoder"))
TABLES: dict[str, tuple[Table, ...]] = {
    **dict.fromkeys(PLAIN, (Table(),)),
    **dict.fromkeys(("albert", "convbert", "electra", "squeezebert"), (Table(dim="embedding_size"),)),
    "rembert": (Table(dim="input_embedding_size"),),
    **dict.fromkeys(PADDED, (Table(start="padding"),)),
    **dict.fromkeys(TWO, (Table(start="two", extra=True),)),
    **dict.fromkeys(TWO_SIDED, tuple(Table(part, start="two", extra=True) for part in ("encoder", "decoder"))),
    **dict.fromkeys(
        SINES, tuple(Table(part, start="padding", kind="tensor2tensor") for part in ("encoder", "decoder"))
    ),
    **dict.fromkeys(("blenderbot", "blenderbot-small"), _BOTH),
    **dict.fromkeys(("marian", "pegasus"), tuple(Table(part, kind="split") for part in ("encoder", "decoder"))),
    "whisper": (
        Table("encoder", "max_source_positions", kind="tensor2tensor"),
        Table("decoder", "max_target_positions"),
    ),
    "xglm": (Table(start="padding", kind="tensor2tensor"),),
    "led": (Table("encoder", "max_encoder_position_embeddings"), Table("decoder", "max_decoder_position_embeddings")),
}
#: Vision towers with a learned vector for every patch, and rows besides for tokens that are no patch.
PATCHES = {"clip_vision_model": 1, "deit": 2, "dinov2": 1, "siglip_vision_model": 0, "vit": 1}


def tables(fields: Fields, model_type: str, numerics: Numerics) -> tuple[LayerGroup, ...]:
    """A group for every table."""
    if model_type in PATCHES:
        return (_patches(fields, PATCHES[model_type]),)
    return tuple(_group(fields, table, numerics) for table in TABLES[model_type])


def _group(fields: Fields, table: Table, numerics: Numerics) -> LayerGroup:
    rows = fields.integer(table.rows, 1, 1 << 24)
    dim = fields.integer(table.dim) if fields.get(table.dim) else fields.integer("hidden_size")
    offset = _offset(fields, table.start)
    record: Encoding
    if table.kind == "learned":
        record = Learned(dim, rows + (offset if table.extra else 0))
    else:
        exponent: Literal["2i/d", "i/(d/2-1)"] = "2i/d" if table.kind == "split" else "i/(d/2-1)"
        record = Sinusoidal(dim, layout="concatenated", exponent=exponent, start=offset, numerics=numerics)
    values = tuple(
        value for value in fields.values if value.name in (table.rows, table.dim, "hidden_size", "pad_token_id")
    )
    return LayerGroup(
        table.part,
        "embedding",
        (),
        (record,),
        offset=offset if table.kind == "learned" else 0,
        values=values,
        notes=_notes(fields, table),
    )


def _notes(fields: Fields, table: Table) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    fields.use(("sinusoidal_pos_embds",))  # DistilBERT: what a fresh table starts from
    if table.start == "padding" and table.kind == "learned":
        notes = (
            "rows up to the padding token's are not for tokens: the table serves that many places fewer than it has rows",
        )
    kind = fields.get("position_embedding_type", keep=False)
    if kind is not None and kind.value != "absolute":
        raise ValueError(
            f"{kind.key} must be 'absolute', since the class of transformers 5 knows no other; got {kind.value!r}. Older ones "
            "added a score for the distance besides."
        )
    return notes


def _offset(fields: Fields, start: Start) -> int:
    if start == "none":
        return 0
    if start == "two":
        return 2
    return fields.integer("pad_token_id", 0) + 1


def _patches(fields: Fields, besides: int) -> LayerGroup:
    image, patch = (side(fields, key) for key in ("image_size", "patch_size"))
    if patch > image:
        raise ValueError(f"patch_size must be at most image_size, {image}; got {patch}. Look at the file.")
    record = Learned(fields.integer("hidden_size"), (image // patch) ** 2 + besides)
    values = tuple(value for value in fields.values if value.name in ("image_size", "patch_size", "hidden_size"))
    return LayerGroup("vision", "embedding", (), (record,), offset=besides, values=values)


def side(fields: Fields, key: str) -> int:
    """A length that may stand there twice, for height and width."""
    value = fields.need(key)
    if isinstance(value.value, tuple) and len(set(value.value)) == 1:
        return _check.integer(value.key, value.value[0], 1)
    return _check.integer(value.key, value.value, 1)
