"""Models that bias or gate by distance inside windows, or along speech: Swin, Swin v2, WavLM."""

from __future__ import annotations

from posenc import _check
from posenc.doors import Encoding
from posenc.encodings.adds.grid_learned import GridLearned
from posenc.encodings.biases.log_cpb import LogCPB
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.biases.window_bias import WindowBias
from posenc.encodings.scores.gated_bias import GatedBias
from posenc.models.config.absolute_models import side
from posenc.models.config.fields import Fields
from posenc.models.config.layer_types import MOST_LAYERS
from posenc.models.model_positions import LayerGroup
from posenc.phase import Numerics

Groups = tuple[LayerGroup, ...]
SHIFTED = "positions are rows and columns within a window; every second layer shifts its windows by half of one"
COSINES = "logits are cosines times a learned factor, in place of products times 1/√d"
CONVOLVED = "a convolution over neighbouring places is added before the first layer, which no record holds"
SHARED = "the first layer holds the table of all"
#: The most stages of a tower.
STAGES = 64


def swin(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """Swin: a table of distances within a window, for each stage its own heads; v2 a network of their logarithms."""
    heads, depths = _listed(fields, "num_attention_heads"), _listed(fields, "depths")
    if len(heads) != len(depths) or sum(depths) > MOST_LAYERS:
        raise ValueError(f"depths must have a number for each of {len(heads)} stages; got {depths}. Look at the file.")
    fields.use(("pretrained_window_sizes",))
    made, first = list(_table(fields)), 0
    for stage, (count, depth) in enumerate(zip(heads, depths, strict=True)):
        record, notes = _of_stage(fields, model_type, stage, count)
        layers = tuple(range(first, first + depth))
        values = tuple(value for value in fields.values if value.name != "embed_dim")
        made.append(LayerGroup("vision", "window_attention", layers, (record,), values=values, notes=notes))
        first += depth
    return tuple(made)


def _of_stage(fields: Fields, model_type: str, stage: int, heads: int) -> tuple[Encoding, tuple[str, ...]]:
    window = side(fields, "window_size")
    if model_type == "swin":
        return WindowBias(heads, (window, window)), (SHIFTED,)
    window = min(window, side(fields, "image_size") // side(fields, "patch_size") >> stage)
    trained = fields.get("pretrained_window_sizes")
    listed = trained.value if trained is not None and isinstance(trained.value, tuple) else ()
    if trained is not None and stage >= len(listed):
        raise ValueError(
            f"{trained.key} must have a number for each stage; got {_check.shown(trained.value)}. Look at the file."
        )
    before = _check.integer("pretrained_window_sizes", listed[stage], 0, 1 << 12) if listed else 0
    return LogCPB(heads, (before or window,) * 2), (SHIFTED, COSINES)


def _table(fields: Fields) -> Groups:
    """A learned vector for every patch, where use_absolute_embeddings says so."""
    if not fields.truth("use_absolute_embeddings"):
        return ()
    rows = side(fields, "image_size") // side(fields, "patch_size")
    record = GridLearned(fields.integer("embed_dim"), (rows, rows))
    return (LayerGroup("vision", "embedding", (), (record,), values=tuple(fields.values)),)


def _listed(fields: Fields, name: str) -> tuple[int, ...]:
    given = fields.need(name)
    if not isinstance(given.value, tuple) or not 0 < len(given.value) <= STAGES:
        raise TypeError(
            f"{given.key} must list a number for each stage; got {_check.shown(given.value)}. Look at the file."
        )
    return tuple(_check.integer(given.key, one, 1, 1 << 20) for one in given.value)


def wavlm(fields: Fields, model_type: str, numerics: Numerics) -> Groups:
    """WavLM: T5's buckets, gated by what each query reads."""
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    bias = T5Bias(heads, fields.integer("num_buckets"), fields.integer("max_bucket_distance"), bidirectional=True)
    fields.use(("num_conv_pos_embeddings", "num_conv_pos_embedding_groups"))
    layers = tuple(range(fields.integer("num_hidden_layers", 1, MOST_LAYERS)))
    names = ("num_attention_heads", "hidden_size", "num_buckets", "max_bucket_distance")
    values = tuple(value for value in fields.values if value.name in names)
    record = GatedBias(bias, width // heads)
    return (LayerGroup("audio", "self_attention", layers, (record,), values=values, notes=(SHARED, CONVOLVED)),)
