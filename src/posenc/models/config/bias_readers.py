"""Models of text and proteins that bias logits or score content by distance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.encodings.adds.learned import Learned
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.scores.deberta import DeBERTa
from posenc.models.config.added_tables import MOST_ROWS
from posenc.models.config.config_classes import ConfigClass
from posenc.models.config.factors import factor_of
from posenc.models.config.fields import Fields, wrong
from posenc.models.config.layer_type_rules import MOST_LAYERS, num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.model_positions import LayerGroup, Value

ALWAYS_ALIBI = "the class of transformers 5 adds ALiBi whatever attn_config.alibi says; the code of MosaicML reads it"
ALWAYS_EIGHT = "the class of transformers 5 always takes 8 for alibi_bias_max; the code of MosaicML reads the file"


def bloom(fields: Fields) -> Groups:
    """BLOOM: always ALiBi; no key says so."""
    encoding = ALiBi(fields.integer("num_attention_heads"))
    return (_text_layers(fields, encoding, fields.values_of("num_attention_heads")),)


def mpt(fields: Fields) -> Groups:
    """MPT: ALiBi, or a learned table where attn_config.alibi is false; softmax_scale in place of 1/√d where stated."""
    attention, _ = fields.json_object("attn_config") or ({}, "file")
    defaults = ConfigClass(defaults={"alibi": True, "alibi_bias_max": 8})
    attention_fields = Fields(attention, defaults, fields.options, f"{fields.where}attn_config.")
    fields.mark_used("learned_pos_emb")
    factor = _mpt_factor(fields, attention_fields)
    if attention_fields.flag("alibi"):
        steepest = attention_fields.require("alibi_bias_max")
        largest = validation.real(steepest.key, steepest.value, 0.0, 64.0)
        group = _text_layers(fields, ALiBi(fields.integer("num_attention_heads"), largest))
        values = (*fields.values_of("num_attention_heads"), *attention_fields.values)
        notes = () if largest == 8 else (ALWAYS_EIGHT,)
        return (replace(group, logit_factor=factor, values=values, notes=notes),)
    layers = replace(_text_layers(fields, None, attention_fields.values), logit_factor=factor, notes=(ALWAYS_ALIBI,))
    if not fields.flag("learned_pos_emb"):
        return (layers,)
    encoding = Learned(fields.integer("hidden_size"), fields.integer("max_seq_len", 1, MOST_ROWS))
    table = LayerGroup("text", "embedding", (), (encoding,), values=fields.values, notes=(ALWAYS_ALIBI,))
    return table, layers


def _mpt_factor(fields: Fields, attention: Fields) -> float:
    """The factor of logits besides 1/√d."""
    if attention.get("softmax_scale") is None:
        return 1.0
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    return factor_of(attention.real("softmax_scale"), width)


def falcon_alibi(fields: Fields) -> Groups | None:
    """Falcon with alibi: the bias is added before logits are divided by √d."""
    if not fields.flag("alibi"):
        return None
    heads = fields.integer("num_attention_heads")
    width = fields.integer("hidden_size") // heads
    fields.mark_used("rope_theta", "rope_scaling", "rope_parameters")
    group = _text_layers(fields, ALiBi(heads), fields.values_of("alibi", "num_attention_heads"))
    note = "slope times place is rounded to bfloat16 in released code, and rope_parameters are not used"
    return (replace(group, bias_factor=1 / math.sqrt(width), notes=(note,)),)


def _text_layers(fields: Fields, encoding: Encoding | None, values: tuple[Value, ...] = ()) -> LayerGroup:
    layers = tuple(range(num_hidden_layers(fields)))
    return LayerGroup("text", "full_attention", layers, () if encoding is None else (encoding,), values=values)


def t5(fields: Fields, note: str, parts: tuple[str, ...] = ("encoder", "decoder")) -> Groups:
    """T5 and its kin: bucketed biases, bidirectional in the encoder alone; logits are not divided by √d."""
    heads, factor = fields.integer("num_attention_heads"), math.sqrt(fields.integer("d_kv"))
    buckets = fields.integer("relative_attention_num_buckets")
    furthest = fields.integer("relative_attention_max_distance")
    values, groups = fields.values, []
    for part in parts:
        count = num_hidden_layers(fields)
        if part == "decoder" and fields.get("num_decoder_layers") is not None:
            count = fields.integer("num_decoder_layers", 1, MOST_LAYERS)
        encoding, layers = T5Bias(heads, buckets, furthest, bidirectional=part == "encoder"), tuple(range(count))
        group = LayerGroup(
            part, "self_attention", layers, (encoding,), logit_factor=factor, values=values, notes=(note,)
        )
        groups.append(group)
    return tuple(groups)


def mpnet(fields: Fields) -> Groups:
    """MPNet: T5's buckets up to a distance of 128, next to a learned table that starts after the padding token."""
    heads, buckets = fields.integer("num_attention_heads"), fields.integer("relative_attention_num_buckets")
    rows = fields.integer("max_position_embeddings", 1, MOST_ROWS)
    fields.integer("pad_token_id", 0)  # the class takes 1 for it, whatever the file says
    table = Learned(fields.integer("hidden_size"), rows)
    values = fields.values
    bias = T5Bias(heads, buckets, 128, bidirectional=True)
    layers = tuple(range(num_hidden_layers(fields)))
    return (
        LayerGroup("text", "embedding", (), (table,), offset=2, values=values),
        LayerGroup("text", "self_attention", layers, (bias,), values=values),
    )


def deberta(fields: Fields, log_buckets: bool) -> Groups:
    """DeBERTa: scores between content and distance, and a learned table where position_biased_input says so."""
    groups: Groups = ()
    rows = fields.integer("max_position_embeddings", 1, MOST_ROWS)
    fields.mark_used("norm_rel_ebd", "share_att_key", "pos_att_type", "position_buckets", "max_relative_positions")
    has_scores = fields.flag("relative_attention")
    if fields.flag("position_biased_input"):
        table = Learned(fields.integer("hidden_size"), rows)
        groups = (LayerGroup("text", "embedding", (), (table,), values=fields.values),)
    if not has_scores:
        return groups
    encoding = _deberta_encoding(fields, rows, log_buckets)
    layers = tuple(range(num_hidden_layers(fields)))
    return (*groups, LayerGroup("text", "self_attention", layers, (encoding,), values=fields.values))


def _deberta_encoding(fields: Fields, rows: int, log_buckets: bool) -> DeBERTa:
    heads = fields.integer("num_attention_heads")
    reach = _distance(fields, "max_relative_positions")
    reach = reach if reach > 0 else rows
    buckets = _distance(fields, "position_buckets", log_buckets)
    return DeBERTa(
        dim=fields.integer("hidden_size") // heads,
        heads=heads,
        buckets=buckets if buckets > 0 else reach,
        max_distance=reach if buckets > 0 else None,
        terms=_deberta_terms(fields),
    )


def _distance(fields: Fields, key: str, counts: bool = True) -> int:
    """A distance; -1 where the file states none or the class ignores it."""
    value = fields.get(key)
    return -1 if value is None or not counts else validation.integer(value.key, value.value, -1, 1 << 20)


def _deberta_terms(fields: Fields) -> Literal["both", "c2p", "p2c"]:
    value = fields.get("pos_att_type")
    stated = value.value if value else ()
    words = stated.lower().split("|") if isinstance(stated, str) else stated if isinstance(stated, tuple) else ()
    terms = frozenset(words)
    if not terms or not terms <= {"c2p", "p2c"}:
        raise ValueError(wrong("pos_att_type", "must name c2p, p2c or both", stated))
    return "both" if len(terms) == 2 else "c2p" if "c2p" in terms else "p2c"


def table_unless_rotary(fields: Fields) -> Groups:
    """ESM: a learned table where position_embedding_type is "absolute"; position 0 reads row pad_token_id + 1."""
    kind = fields.get("position_embedding_type")
    if kind is None or kind.value != "absolute":
        return ()
    before = len(fields.values)
    rows = fields.integer("max_position_embeddings", 1, MOST_ROWS)
    offset, encoding = fields.integer("pad_token_id", 0) + 1, Learned(fields.integer("hidden_size"), rows)
    return (LayerGroup("text", "embedding", (), (encoding,), offset, values=(kind, *fields.values[before:])),)
