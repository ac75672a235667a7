"""Heads of a layer, as a conversion of its weights must know them, and as a config states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from posenc.core import validation
from posenc.core.declared_fields import Declared, EvenWidth, Heads, Whole, Width
from posenc.core.rotation import Pairing, PairLayout
from posenc.models.checkpoints.row_permutation import MOST_HEADS, Fused
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config

#: Keys of the counts of heads in files.
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_kv_heads")
#: Types whose projection of queries, keys and values has one group of heads after another.
GROUPED = frozenset({"gpt_neox", "gpt_neox_japanese", "falcon", "bloom", "internlm2", "persimmon"})
#: Types whose projection has all queries, then all keys, then all values.
CONCATENATED = frozenset({"phi3", "phi4_multimodal", "modernbert", "modernbert-decoder", "dbrx", "qwen", "baichuan"})
#: Types whose projection has queries, values and keys in each of four parts (`mp_num` of CodeGen).
IN_PARTS = frozenset({"codegen"})


@dataclass(frozen=True)
class HeadShape(Declared):
    """The heads of a layer's queries and keys, as a conversion of their weights must know them.

    Args:
        heads: Heads of queries.
        kv_heads: Heads of keys and values; they divide `heads`.
        head_dim: Channels of a head of queries, from 2.
        width: Channels of a head that rotate; None for all from `start` on.
        start: The first of them.
        latent: Channels of the compressed keys and values that lie before the shared rotary slice of multi-head latent
            attention (`kv_lora_rank` of DeepSeek: heads=128, kv_heads=128, head_dim=192, width=64, start=128,
            latent=512); None without it.
        grouped: For projections that make queries, keys and values in one: see `Fused`; None where there are none.

    Raises:
        ValueError: A number is out of range, `kv_heads` does not divide `heads`, or the slice does not fit the head.
        TypeError: A number is no whole number.

    Example:
        >>> HeadShape(heads=32, kv_heads=8, head_dim=128).pairing("halves")
        Pairing(layout='halves', dim=128, width=128, start=0, blocks=1)
    """

    heads: Heads
    kv_heads: Heads
    head_dim: Annotated[int, Whole(2)]
    width: EvenWidth | None = None
    start: Annotated[int, Whole(0)] = 0
    latent: Width | None = None
    grouped: bool | None = None

    def _check_together(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(
                f"kv_heads must divide heads; got heads={self.heads}, kv_heads={self.kv_heads}. "
                "Give the counts of the model."
            )
        if self.width is None:
            start = validation.integer("start", self.start, 0, self.head_dim - 2)
            validation.settle(self, width=self.head_dim - start)
        self.pairing("halves")

    def pairing(self, layout: PairLayout) -> Pairing:
        """Return the pairing of a head of queries.

        Args:
            layout: "adjacent" or "halves".

        Returns:
            The channels of a head that rotate together.
        """
        return Pairing(layout, self.head_dim, self.width or self.head_dim, self.start)

    def latent_pairing(self, layout: PairLayout) -> Pairing:
        """Return the pairing of MLA's latent rows: compressed keys and values, then the shared rotary slice.

        Args:
            layout: "adjacent" or "halves".

        Returns:
            The pairing of these rows (kv_a_proj_with_mqa of DeepSeek).

        Raises:
            ValueError: `latent` is None.
        """
        if self.latent is None:
            raise ValueError("latent must be given for multi-head latent attention; got None. Give kv_lora_rank.")
        width = self.width or self.head_dim
        return Pairing(layout, self.latent + width, width, self.latent)

    def fused(self) -> Fused:
        """Return the heads of a fused projection for queries, keys and values.

        Returns:
            The heads, in the order of the rows.

        Raises:
            ValueError: `grouped` is None.
        """
        if self.grouped is None:
            raise ValueError(
                "grouped must be given where one projection makes queries, keys and values; got None. Say True for one "
                "group of heads after another (GPT-NeoX, Falcon, InternLM2), False for all queries before all keys "
                "(Phi-3)."
            )
        return Fused(self.heads, self.kv_heads, self.kv_heads, self.grouped)


def head_shapes(
    config: Mapping[str, Any] | str | Path, *, part: str = "text", grouped: bool | None = None
) -> tuple[HeadShape | None, ...]:
    """Read the heads of every layer from a config, as `from_config` reads it.

    A file without a count of key and value heads means as many as of queries; a checkpoint that has others is refused
    when its conversion is planned.

    Args:
        config: As for `from_config`.
        part: Of the model, as `from_config` names it.
        grouped: As in `HeadShape`, since no config states it.

    Returns:
        The heads of each layer; None for a layer that does not rotate.

    Raises:
        ValueError: A key cannot be read, the model has no such part, or a layer has two kinds of rotation.
        TypeError: A value of the config has another type than its key takes.

    Example:
        >>> head_shapes({"model_type": "llama", "rope_theta": 1e4, "hidden_size": 96, "num_attention_heads": 12,
        ...     "num_key_value_heads": 4, "num_hidden_layers": 1, "max_position_embeddings": 2048})
        (HeadShape(heads=12, kv_heads=4, head_dim=8, width=8, start=0, latent=None, grouped=None),)
    """
    positions = from_config(config)
    validation.choice("part", part, positions.parts)
    data = load_config(config)
    part_data = data.get(f"{part}_config", data)
    layers: dict[int, HeadShape | None] = {}
    for group in positions.of(part):
        for layer in group.layers:
            pairing = group.channels
            shape = None if pairing is None else _shape(part_data, pairing.dim, pairing.width, pairing.start, grouped)
            if layers.get(layer, shape) != shape:
                raise ValueError(
                    f"config must have one kind of rotation in layer {layer}; it has two. Give heads yourself."
                )
            layers[layer] = shape
    return tuple(layers.get(layer) for layer in range(max(layers, default=-1) + 1))


def plain_head_shape(config: Mapping[str, Any]) -> HeadShape | None:
    """Read the heads of a config in which some or all layers do not rotate; None where it does not state them.

    Their channels are taken as if all rotated, for an order of rows is named by them.
    """
    data = config.get("text_config", config)
    heads = _count(data, (*HEADS, "decoder_attention_heads", "encoder_attention_heads"))
    width = next((data[key] for key in ("head_dim", "d_kv") if data.get(key)), None)
    hidden = next((data[key] for key in ("hidden_size", "d_model", "n_embd") if data.get(key)), None)
    dim = width if width is not None or hidden is None or heads is None else hidden // heads
    if heads is None or dim is None:
        return None
    kv_heads = _count(data, KV_HEADS) or heads
    return None if dim < 2 or heads % kv_heads else HeadShape(heads, kv_heads, dim)


def _shape(part_data: Mapping[str, Any], dim: int, width: int, start: int, grouped: bool | None) -> HeadShape:
    """Make the HeadShape of a layer; in multi-head latent attention only qk_rope_head_dim channels rotate."""
    heads = _count(part_data, HEADS)
    if heads is None:
        raise ValueError(
            f"config must state its heads under one of {', '.join(HEADS)}; it does not. Give heads yourself."
        )
    if part_data.get("kv_lora_rank") is not None:
        latent = validation.integer("kv_lora_rank", part_data["kv_lora_rank"], 1)
        unrotated = validation.integer("qk_nope_head_dim", part_data.get("qk_nope_head_dim"), 0)
        return HeadShape(heads, heads, unrotated + width, width, unrotated, latent, grouped)
    return HeadShape(heads, _count(part_data, KV_HEADS) or heads, dim, width, start, None, grouped)


def _count(part_data: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    present = next((key for key in keys if part_data.get(key) is not None), None)
    return None if present is None else validation.integer(present, part_data[present], 1, MOST_HEADS)
