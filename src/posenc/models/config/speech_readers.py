"""Models of speech that bias logits or score content by distance."""

from __future__ import annotations

from dataclasses import replace

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.gated_bias import GatedBias
from posenc.encodings.scores.shaw import Shaw
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.models.config.fields import Fields
from posenc.models.config.head_rules import HEAD_KEYS
from posenc.models.config.layer_type_rules import count_of, num_hidden_layers
from posenc.models.config.model_type import Groups
from posenc.models.model_positions import LayerGroup, Value
from posenc.models.notes import NotRead

ROTATED_INPUT = "the layer rotates its input, before queries and keys are made of it"
CONVOLUTION = NotRead(
    "a convolution over neighbouring positions is added before the first layer, which no encoding holds"
)
KEYS_ALONE = "distances have vectors for keys alone: relative_values are zeros"
FIRST_LAYER = "the first layer holds the table of all"
SIDE_BY_SIDE = "linear_pos reads sine and cosine of a frequency side by side, where W_R has all sines first"


def conformer_scores(fields: Fields, group: LayerGroup, *, notes: tuple[str, ...] = ()) -> LayerGroup:
    """Conformers whose layers do not rotate score the distance, unless position_embeddings_type is null."""
    chosen = fields.get("position_embeddings_type")
    if chosen is None:
        return replace(group, notes=notes)
    if chosen.value == "relative_key":
        return _clipped_distances(fields, group, chosen, notes)
    encoding = _transformer_xl(fields.integer("hidden_size"), fields.integer("num_attention_heads"))
    values = (chosen, *fields.values_of(*HEAD_KEYS))
    return replace(group, encodings=(encoding,), values=values, notes=(SIDE_BY_SIDE, *notes))


def _clipped_distances(fields: Fields, group: LayerGroup, chosen: Value, notes: tuple[str, ...]) -> LayerGroup:
    """Wav2Vec2-BERT: Shaw's relative keys, distances clipped to a number of frames on each side; no relative values."""
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads")
    reach = ("left_max_position_embeddings", "right_max_position_embeddings")
    encoding = Shaw(width, *(fields.integer(key, 0, 1 << 20) for key in reach))
    values = (chosen, *fields.values_of(*HEAD_KEYS, *reach))
    return replace(group, encodings=(encoding,), values=values, notes=(KEYS_ALONE, *notes))


def parakeet(fields: Fields) -> Groups:
    """Parakeet and Nemotron ASR: Transformer-XL's terms, in every layer of the encoder."""
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    layers, values = tuple(range(num_hidden_layers(fields))), fields.values_of("num_attention_heads", "hidden_size")
    encoding = _transformer_xl(width, heads)
    return (LayerGroup("audio", "full_attention", layers, (encoding,), values=values, notes=(SIDE_BY_SIDE,)),)


def _transformer_xl(width: int, heads: int) -> TransformerXL:
    return TransformerXL(width // heads, heads, width)


def seamless(fields: Fields) -> Groups:
    """SeamlessM4T: sines before the text layers, and a speech encoder that rotates or scores the distance.

    The encoder of units has no positions of its own.
    """
    width = fields.integer("hidden_size")
    paddings = {"encoder": "pad_token_id", "decoder": "pad_token_id", "unit decoder": "t2u_pad_token_id"}
    sines = [_sines(fields, part, width, key) for part, key in paddings.items()]
    # Sizes of tables, and of a convolution that the class does not use.
    fields.mark_used("max_position_embeddings", "t2u_max_position_embeddings", "max_source_positions")
    fields.mark_used("num_conv_pos_embeddings", "num_conv_pos_embedding_groups")
    heads = fields.integer("speech_encoder_attention_heads")
    layers = tuple(range(count_of("speech_encoder_layers")(fields)))
    kind, base = fields.get("position_embeddings_type"), fields.require("rotary_embedding_base")
    values = tuple(value for value in fields.values if value.name not in paddings.values())
    speech = LayerGroup("speech encoder", "full_attention", layers, ())
    if kind is None:
        return (*sines, speech)
    if kind.value == "rotary":
        rope = RoPE(width // heads, float(base.value), "halves", fields.options.numerics)  # type: ignore[arg-type]
        return (*sines, replace(speech, encodings=(rope,), values=values, notes=(ROTATED_INPUT,)))
    if kind.value != "relative":
        raise ValueError(
            f"{kind.key} must be 'relative', 'rotary' or null; got {kind.value!r:.80}. Correct the config."
        )
    encoding = _transformer_xl(width, heads)
    return (*sines, replace(speech, encodings=(encoding,), values=values, notes=(SIDE_BY_SIDE,)))


def _sines(fields: Fields, part: str, width: int, padding: str) -> LayerGroup:
    """Make tensor2tensor's sinusoids for one part, whose first position is the padding token's id + 1."""
    start, numerics = fields.integer(padding, 0) + 1, fields.options.numerics
    encoding = Sinusoidal(width, layout="concatenated", exponent="i/(d/2-1)", start=start, numerics=numerics)
    return LayerGroup(part, "embedding", (), (encoding,), values=fields.values_of("hidden_size", padding))


def wavlm(fields: Fields) -> Groups:
    """WavLM: T5's bucketed biases, each multiplied by a gate computed from the query."""
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    bias = T5Bias(heads, fields.integer("num_buckets"), fields.integer("max_bucket_distance"), bidirectional=True)
    fields.mark_used("num_conv_pos_embeddings", "num_conv_pos_embedding_groups")
    layers, encoding = tuple(range(num_hidden_layers(fields))), GatedBias(bias, width // heads)
    values = fields.values_of("num_attention_heads", "hidden_size", "num_buckets", "max_bucket_distance")
    return (
        LayerGroup("audio", "self_attention", layers, (encoding,), values=values, notes=(FIRST_LAYER, CONVOLUTION)),
    )
