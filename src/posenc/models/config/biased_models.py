"""Models that bias or score by distance: ALiBi, T5, DeBERTa; and GPT-J, whose rotation has a table of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

from posenc import _check
from posenc.compose import Partial
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.deberta import DeBERTa
from posenc.models.config.fields import Fields
from posenc.models.config.layer_types import MOST_LAYERS
from posenc.models.config.seamless import seamless
from posenc.models.config.windowed_models import swin, wavlm
from posenc.models.model_positions import LayerGroup, Value
from posenc.phase import Numerics

Groups = tuple[LayerGroup, ...]


def bloom(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """BLOOM: always ALiBi; no key says so."""
    return (_layers(fields, ALiBi(fields.integer("num_attention_heads")), "num_attention_heads"),)


def mpt(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """MPT: ALiBi, or a learned table where attn_config.alibi is false."""
    table = fields.table("attn_config")
    own = Fields(
        table[0] if table else {},
        {"alibi": True, "alibi_bias_max": 8},
        {},
        fields.stated,
        f"{fields.where}attn_config.",
    )
    fields.use(("learned_pos_emb",))
    if own.truth("alibi"):
        steepest = own.need("alibi_bias_max")
        record = ALiBi(fields.integer("num_attention_heads"), _check.real(steepest.key, steepest.value, 0.0, 64.0))
        return (_layers(fields, record, "num_attention_heads", more=tuple(own.values)),)
    if not fields.truth("learned_pos_emb"):
        return (_layers(fields, None),)
    record_of_rows = Learned(fields.integer("hidden_size"), fields.integer("max_position_embeddings", 1, 1 << 24))
    return (LayerGroup("text", "embedding", (), (record_of_rows,), values=tuple(fields.values)),)


def falcon_alibi(fields: Fields) -> Groups:
    """Falcon with alibi: the bias is added before logits are divided by √d, and slopes times places are bfloat16."""
    heads = fields.integer("num_attention_heads")
    width = fields.integer("hidden_size") // heads
    note = "slope times place is rounded to bfloat16 in released code, and rope_parameters are not used"
    fields.use(("rope_theta", "rope_scaling", "rope_parameters"))
    return (
        _layers(fields, ALiBi(heads), "alibi", "num_attention_heads", bias_factor=1 / math.sqrt(width), notes=(note,)),
    )


def t5(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """T5 and its kin: one table for all layers of a side, buckets of both directions in the encoder alone; logits unscaled."""
    heads, width = fields.integer("num_attention_heads"), fields.integer("d_kv")
    buckets = fields.integer("relative_attention_num_buckets")
    furthest = fields.integer("relative_attention_max_distance")
    names = ("num_attention_heads", "d_kv", "relative_attention_num_buckets", "relative_attention_max_distance")
    made = []
    for part in ("encoder", "decoder"):
        count = fields.integer("num_hidden_layers", 1, MOST_LAYERS)
        if part == "decoder" and fields.get("num_decoder_layers") is not None:
            count = fields.integer("num_decoder_layers", 1, MOST_LAYERS)
        record = T5Bias(heads, buckets, furthest, bidirectional=part == "encoder")
        note = (
            "every layer has a table of its own" if model_type == "umt5" else "all layers share the table of the first"
        )
        made.append(
            LayerGroup(
                part, "self_attention", tuple(range(count)), (record,), logit_factor=math.sqrt(width),
                values=tuple(value for value in fields.values if value.name in names), notes=(note,),
            )
        )  # fmt: skip
    return tuple(made)


def mpnet(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """MPNet: T5's buckets up to a distance of 128, beside a learned table that starts after the padding token."""
    heads, buckets = fields.integer("num_attention_heads"), fields.integer("relative_attention_num_buckets")
    rows, padding = fields.integer("max_position_embeddings", 1, 1 << 24), fields.integer("pad_token_id", 0)
    table = Learned(fields.integer("hidden_size"), rows)
    values = tuple(fields.values)
    bias = T5Bias(heads, buckets, 128, bidirectional=True)
    return (
        LayerGroup("text", "embedding", (), (table,), offset=padding + 1, values=values),
        LayerGroup("text", "self_attention", _counted(fields), (bias,), values=values),
    )


def deberta(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """DeBERTa: scores between content and distance, and a learned table where position_biased_input says so."""
    made: list[LayerGroup] = []
    rows = fields.integer("max_position_embeddings", 1, 1 << 24)
    fields.use(("norm_rel_ebd", "share_att_key", "position_biased_input", "pos_att_type", "position_buckets"))
    fields.use(("max_relative_positions",))
    if fields.truth("position_biased_input"):
        made.append(
            LayerGroup(
                "text", "embedding", (), (Learned(fields.integer("hidden_size"), rows),), values=tuple(fields.values)
            )
        )
    if not fields.truth("relative_attention"):
        return tuple(made)
    heads = fields.integer("num_attention_heads")
    furthest = fields.get("max_relative_positions")
    reach = rows if furthest is None or _whole(furthest) < 1 else _whole(furthest)
    buckets = fields.get("position_buckets")
    spaced = model_type == "deberta-v2" and buckets is not None and _whole(buckets) > 0
    record = DeBERTa(
        dim=fields.integer("hidden_size") // heads,
        heads=heads,
        buckets=_whole(buckets) if spaced and buckets else reach,
        max_distance=reach if spaced else None,
        terms=_terms(fields),
    )
    made.append(LayerGroup("text", "self_attention", _counted(fields), (record,), values=tuple(fields.values)))
    return tuple(made)


def _terms(fields: Fields) -> Literal["both", "c2p", "p2c"]:
    value = fields.get("pos_att_type")
    given = value.value if value else ()
    words = (
        set(given.lower().split("|")) if isinstance(given, str) else set(given) if isinstance(given, tuple) else set()
    )
    if words == {"c2p", "p2c"}:
        return "both"
    if words == {"c2p"}:
        return "c2p"
    if words == {"p2c"}:
        return "p2c"
    raise ValueError(f"pos_att_type must name c2p, p2c or both; got {_check.shown(given)}. Look at the file.")


def gptj(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """GPT-J and CodeGen: the first rotary_dim channels turn in adjacent pairs, by a base of 10000 that no key states."""
    dim = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    width = fields.integer("rotary_dim") if fields.get("rotary_dim") else fields.integer("hidden_size")
    record = RoPE(width, 10_000.0, "adjacent", numerics)
    base = Value("rope_theta", 10_000.0, "class default", "a constant of the class")
    names = ("hidden_size", "num_attention_heads", "rotary_dim", "max_position_embeddings")
    turned = record if width == dim else Partial(record, dim)
    values = tuple(value for value in fields.values if value.name in names)
    return (LayerGroup("text", "full_attention", _counted(fields), (turned,), values=(base, *values)),)


def _layers(
    fields: Fields, record: ALiBi | None, *names: str, bias_factor: float = 1.0, notes: tuple[str, ...] = (),
    more: tuple[Value, ...] = (),
) -> LayerGroup:  # fmt: skip
    layers = _counted(fields)
    values = (*(value for value in fields.values if value.name in names), *more)
    encodings = () if record is None else (record,)
    return LayerGroup("text", "full_attention", layers, encodings, values=values, notes=notes, bias_factor=bias_factor)


def _counted(fields: Fields) -> tuple[int, ...]:
    return tuple(range(fields.integer("num_hidden_layers", 1, MOST_LAYERS)))


def _whole(value: Value) -> int:
    return _check.integer(value.key, value.value, -1, 1 << 20)


READERS: Mapping[str, Callable[[Fields, str, Numerics], Groups]] = {
    "bloom": bloom,
    "codegen": gptj,
    "deberta": deberta,
    "deberta-v2": deberta,
    "gptj": gptj,
    "longt5": t5,
    "mpnet": mpnet,
    "mpt": mpt,
    "mt5": t5,
    "seamless_m4t": seamless,
    "swin": swin,
    "swinv2": swin,
    "switch_transformers": t5,
    "t5": t5,
    "umt5": t5,
    "wavlm": wavlm,
}
