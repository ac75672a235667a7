"""Rotations besides those of the queries and keys of attention: a rule for each habit of the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from posenc.compose import Backward, Partial
from posenc.core import validation
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import PairLayout
from posenc.encodings.rotates.axial_rope import AxialRoPE
from posenc.encodings.rotates.rope import RoPE
from posenc.models.config.fields import Fields
from posenc.models.config.layer_type_rules import SPARSE_LAYER
from posenc.models.model_positions import LayerGroup, RoleRotation
from posenc.models.pair_rotation import unwrapped

#: The rotations other than attention of a group of layers, from what its attention does.
RoleRule = Callable[[Fields, LayerGroup], tuple[RoleRotation, ...]]


@dataclass(frozen=True)
class Indexer:
    """DeepSeek-V3.2: an indexer of heads of index_head_dim rotates as many channels as attention, with its frequencies.

    Args:
        pairing: Of its channels, which may be another than that of attention.
        last: Whether its last channels rotate.
    """

    pairing: PairLayout
    last: bool = False

    def __call__(self, fields: Fields, group: LayerGroup) -> tuple[RoleRotation, ...]:
        stated = fields.get("indexer_rope_interleave", listed=False)
        rope = unwrapped(group.rotary_encoding)
        if not isinstance(rope, RoPE) or "indexed" not in group.attention:
            return ()
        pairing = self.pairing
        if stated is not None:
            pairing = "adjacent" if validation.truth(stated.key, stated.value) else "halves"
        dim = fields.integer("index_head_dim")
        return (RoleRotation("indexer", in_head(replace(rope, pairing=pairing), dim, self.last)),)


def in_head(rope: RoPE | AxialRoPE, dim: int, last: bool = False, key: str = "index_head_dim") -> RotaryEncoding:
    """A rotation of the first, or last, channels of a head of an indexer."""
    width = rope.head_dim
    if width > dim:
        raise ValueError(f"{key} must be at least the {width} channels that rotate; got {dim}. Correct the config.")
    return rope if width == dim else Partial(rope, dim, dim - width if last else 0)


def indexer_of_blocks(fields: Fields, group: LayerGroup) -> tuple[RoleRotation, ...]:
    """Qwen 4: an indexer rotates as attention does; its keys are means of blocks, which stand at a block's first token.

    The class makes none without indexer_head_dim.
    """
    rope, chooses = unwrapped(group.rotary_encoding), group.attention == "indexed_attention"
    if not chooses or not isinstance(rope, RoPE | AxialRoPE) or not fields.states("indexer_head_dim"):
        return ()
    encoding = in_head(rope, fields.integer("indexer_head_dim"), key="indexer_head_dim")
    rate = fields.integer("indexer_compress_ratio", 1, 1 << 20)
    return (RoleRotation("indexer", encoding), RoleRotation("compressor", encoding, rate))


def sparse_indexer(fields: Fields, group: LayerGroup) -> tuple[RoleRotation, ...]:
    """MiniMax-M3: the indexer of sparse layers; its width in sparse_attention_config wins over index_head_dim."""
    rope = unwrapped(group.rotary_encoding)
    if group.attention != SPARSE_LAYER or not isinstance(rope, RoPE):
        return ()
    inside = (fields.json_object("sparse_attention_config") or ({}, "file"))[0].get("sparse_index_dim")
    dim = fields.integer("index_head_dim") if inside is None else validation.integer("sparse_index_dim", inside, 1)
    return (RoleRotation("indexer", in_head(rope, dim)),)


def compressed_keys(fields: Fields, group: LayerGroup) -> tuple[RoleRotation, ...]:
    """DeepSeek-V4: keys serve as values, so the output is rotated back; compressed keys stand at every n-th position.

    An indexer over compressed keys rotates as they do.
    """
    rotation = group.rotary_encoding
    if rotation is None:
        return ()
    roles = [RoleRotation("values", rotation), RoleRotation("output", Backward(rotation))]
    default = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    older = {"compressed_sparse_attention": "compress_rate_csa", "heavily_compressed_attention": "compress_rate_hca"}
    stated = fields.json_object("compress_rates")
    fields.mark_used(*older.values())
    if group.attention not in default:
        return tuple(roles)
    key = older[group.attention]
    usual = (stated[0] if stated else {}).get(group.attention, default[group.attention])
    rate = fields.integer(key) if fields.states(key) else validation.integer("compress_rates", usual, 1, 1 << 20)
    roles.insert(0, RoleRotation("compressor", rotation, rate))
    rope = unwrapped(rotation)
    if group.attention == "compressed_sparse_attention" and isinstance(rope, RoPE):
        roles.insert(1, RoleRotation("indexer", in_head(rope, fields.integer("index_head_dim"), last=True)))
    return tuple(roles)


def rotated_values(fields: Fields, group: LayerGroup) -> tuple[RoleRotation, ...]:
    """CLVP: values are rotated as queries and keys are, and the output is not rotated back."""
    return () if group.rotary_encoding is None else (RoleRotation("values", group.rotary_encoding),)
