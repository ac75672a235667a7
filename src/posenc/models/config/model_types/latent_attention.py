"""Multi-head latent attention: a slice of every head rotates, behind channels that do not."""

from functools import partial

from posenc.models.config import window_rules
from posenc.models.config.factors import squared_mscale
from posenc.models.config.head_rules import latent, latent_part, latent_share, latent_windows
from posenc.models.config.layer_type_rules import (
    EveryNth,
    full_as_indexed,
    indexed_and_sliding,
    two_in_each_layer,
    uniform,
)
from posenc.models.config.model_type import ModelType
from posenc.models.config.role_rules import Indexer
from posenc.models.config.rotation_rules import bases_by_width, by_no_rope_layers

LatentType = partial(ModelType, pairing="adjacent", rotated_slice=latent, logit_factor=squared_mscale)
INDEXED = uniform("indexed_attention")

LATENT_ATTENTION = (
    LatentType(("deepseek_v2",)),
    LatentType(("longcat_flash",), layer_count=two_in_each_layer),
    LatentType(("axk1", "deepseek_v3", "youtu"), pairing="rope_interleave"),
    LatentType(("glm4_moe_lite",), pairing="rope_interleave", rotated_slice=latent_part),
    LatentType(
        ("mistral4",),
        pairing="rope_interleave",
        rope_keys=("llama_4_scaling_beta", "max_position_embeddings"),
        rotated_slice=latent_share,
    ),
    LatentType(("minicpm3",), pairing="halves"),
    # An indexer chooses the keys of every layer.
    LatentType(("axk2", "deepseek_v32"), layer_types=INDEXED, roles=Indexer("halves")),
    LatentType(("glm_moe_dsa",), layer_types=INDEXED, roles=Indexer("adjacent")),
    LatentType(("hy_v4",), pairing="halves", layer_types=INDEXED, roles=Indexer("halves", last=True)),
    LatentType(
        ("mistral_large4_text",),
        layer_types=INDEXED,
        rotations=by_no_rope_layers,
        roles=Indexer("adjacent"),
        notes=(
            "queries of every layer, and those of its indexer, are multiplied by s·ln(position + 1) + b, with s and b "
            "learned for each head (softmax_scaling.scale and .bias of the checkpoint)",
            "frequencies are multiplied by exp(alpha), learned for each pair (rotary_emb.alpha of the checkpoint)",
        ),
    ),
    # Among layers of other kinds.
    LatentType(("bailing_hybrid",), layer_types=EveryNth(4, key="layer_group_size", other="linear_attention")),
    ModelType(
        ("dots3_note_text",),
        pairing="adjacent",
        layer_types=indexed_and_sliding,
        settled_types=full_as_indexed,
        rotations=bases_by_width,
        rotated_slice=latent_windows,
        window=window_rules.window_or_size,
        roles=Indexer("adjacent"),
    ),
)
