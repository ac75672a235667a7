"""Models that encode no positions: recurrences and convolutions, which know the order, and attention between them."""

from functools import partial

from posenc.models.config.factors import root_of_half_width
from posenc.models.config.head_rules import twice_hidden_over_heads
from posenc.models.config.layer_type_rules import (
    by_attn_layer_period,
    by_hybrid_override_pattern,
    by_linear_attn_config,
    hybrid_by_period,
    listed_or_counted,
    uniform,
)
from posenc.models.config.model_type import ModelType
from posenc.models.config.rotation_rules import none_rotates

NoPositions = partial(
    ModelType,
    rotations=none_rotates,
    notes=("nothing encodes positions: the layers that are no attention know the order of tokens by themselves",),
)

NO_POSITIONS = (
    NoPositions(("falcon_mamba", "mamba", "mamba2"), layer_types=uniform("mamba")),
    NoPositions(("rwkv", "xlstm"), layer_types=uniform("recurrent")),
    NoPositions(("jamba",), layer_types=by_attn_layer_period),
    NoPositions(
        ("zamba",),
        layer_types=hybrid_by_period,
        head_dim=twice_hidden_over_heads,
        logit_factor=root_of_half_width,
    ),
    NoPositions(("nemotron_h",), layer_count=listed_or_counted, layer_types=by_hybrid_override_pattern),
    NoPositions(
        ("kimi_linear",),
        layer_types=by_linear_attn_config,
        ignored_keys=("qk_rope_head_dim", "qk_nope_head_dim", "mla_use_nope"),
    ),
)
