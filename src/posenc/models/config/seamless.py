"""SeamlessM4T: sines before the text layers, and a speech encoder that rotates or sees the distance."""

from __future__ import annotations

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.encodings.scores.transformer_xl import TransformerXL
from posenc.models.config.fields import Fields
from posenc.models.config.layer_types import MOST_LAYERS
from posenc.models.model_positions import LayerGroup
from posenc.phase import Numerics

TURNED = "the layer turns its input, before queries and keys are made of it"
SIDE_BY_SIDE = "linear_pos reads sine and cosine of a frequency side by side, where W_R has all sines first"


def seamless(fields: Fields, model_type: str, numerics: Numerics) -> tuple[LayerGroup, ...]:
    """A group for each stack that knows positions: the encoder of units has none of its own."""
    width = fields.integer("hidden_size")
    sines = [
        _sines(fields, part, width, key, numerics)
        for part, key in (
            ("encoder", "pad_token_id"),
            ("decoder", "pad_token_id"),
            ("unit decoder", "t2u_pad_token_id"),
        )
    ]
    fields.use(("max_position_embeddings", "t2u_max_position_embeddings", "max_source_positions"))
    fields.use(("num_conv_pos_embeddings", "num_conv_pos_embedding_groups"))  # which the class does not use
    heads = fields.integer("speech_encoder_attention_heads")
    layers = tuple(range(fields.integer("speech_encoder_layers", 1, MOST_LAYERS)))
    kind, base = fields.get("position_embeddings_type"), fields.need("rotary_embedding_base")
    values = tuple(value for value in fields.values if value.name not in ("pad_token_id", "t2u_pad_token_id"))
    if kind is None:
        return (*sines, LayerGroup("speech encoder", "full_attention", layers, ()))
    if kind.value == "rotary":
        turning = RoPE(width // heads, float(base.value), "halves", numerics)  # type: ignore[arg-type]
        return (
            *sines,
            LayerGroup("speech encoder", "full_attention", layers, (turning,), values=values, notes=(TURNED,)),
        )
    if kind.value != "relative":
        raise ValueError(f"{kind.key} must be 'relative', 'rotary' or null; got {kind.value!r:.80}. Look at the file.")
    scored = TransformerXL(width // heads, heads, width)
    return (
        *sines,
        LayerGroup("speech encoder", "full_attention", layers, (scored,), values=values, notes=(SIDE_BY_SIDE,)),
    )


def _sines(fields: Fields, part: str, width: int, padding: str, numerics: Numerics) -> LayerGroup:
    """As tensor2tensor has them, counted from behind the padding token."""
    start = fields.integer(padding, 0) + 1
    record = Sinusoidal(width, layout="concatenated", exponent="i/(d/2-1)", start=start, numerics=numerics)
    own = tuple(value for value in fields.values if value.name in ("hidden_size", padding))
    return LayerGroup(part, "embedding", (), (record,), values=own)
