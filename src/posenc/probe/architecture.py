"""Architectures as data: names of their tensors, how norms and projections are written, and which sizes are free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

#: What a probe reads: the score of each query channel by distance, the bias of each head, the row of a table, or the
#: bucket of a distance.
Quantity = Literal["rotation", "bias", "row", "bucket"]


class Sizes(NamedTuple):
    """Widths of a probe.

    Args:
        hidden: Of the stream.
        head: Of a head of queries and keys.
        heads: Heads of queries.
        groups: Heads of keys and values.
        inner: Of the feed-forward layers, which are zero.
        vocabulary: Tokens.
        experts: Experts of a layer, which are zero.
        rows: Rows of a learned table of positions, or of biases.
    """

    hidden: int
    head: int
    heads: int
    groups: int
    vocabulary: int
    inner: int = 32
    experts: int = 4
    rows: int = 0

    def shape(self, letters: str) -> tuple[int, ...]:
        """Return the shape that letters name, for example "ih" for (inner, hidden); `widths` lists all letters."""
        widths = {
            "h": self.hidden, "i": self.inner, "I": 2 * self.inner, "q": self.heads * self.head,
            "k": self.groups * self.head, "d": self.head, "n": self.heads, "e": self.experts, "r": self.rows,
            "a": self.heads * self.head + 2 * self.groups * self.head, "f": 4 * self.hidden, "v": self.vocabulary,
            "t": 2,
        }  # fmt: skip
        return tuple(widths[letter] for letter in letters)


#: Keys of a config for the widths of a probe.
SizeKeys = Callable[[Sizes], dict[str, Any]]


def llama_sizes(sizes: Sizes) -> dict[str, Any]:
    """Return the config keys of these widths, as Llama and most other architectures spell them."""
    return {
        "hidden_size": sizes.hidden, "intermediate_size": sizes.inner, "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.groups, "head_dim": sizes.head, "vocab_size": sizes.vocabulary,
        "rms_norm_eps": 1e-12,
    }  # fmt: skip


def biases(prefix: str, **letters: str) -> dict[str, str]:
    """Name the biases of a module's projections, each with the letters of its shape (see `Sizes.shape`)."""
    return {f"{prefix}.{name}.bias": shape for name, shape in letters.items()}


class EmptyVision(NamedTuple):
    """A vision tower that a probe of text never runs: it has no blocks, and its weights are zero.

    Args:
        keys: Keys of the config's `vision_config`, by the widths of the probe.
        tensors: Shapes of its tensors, with h for the width of the text model.
    """

    keys: SizeKeys
    tensors: Mapping[str, tuple[int | Literal["h"], ...]]

    def zeros(self, sizes: Sizes) -> dict[str, np.ndarray]:
        """Return the tower's tensors by name, all zero, float32."""
        shapes = {name: [sizes.hidden if one == "h" else one for one in shape] for name, shape in self.tensors.items()}
        return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}


@dataclass(frozen=True)
class ProbeArchitecture:
    """How a probe is written for some model types.

    Attributes:
        model_types: As configs state them.
        quantity: What the probe reads.
        keys: Sizes as keys of the config.
        layer: Prefix of a layer's tensors; {} is its number.
        embedding: Name of the token embedding.
        head: Name of the output head; "" where it is always the embedding.
        final: Name of the final norm, without ".weight"; "" where there is none.
        q, k, v, o: Names of the projections, in a layer.
        fused: How one projection (`q`) holds queries, keys and values: all queries first, or head by head.
        transposed: Whether projections are stored (in, out).
        input_norm: Norm before attention; "" where there is none.
        output_norm: Norm after attention, of what it adds to the stream; "" where there is none.
        other_norms: Further norms, which have weight 1.
        biased_norms: Whether norms have a bias.
        balanced: Whether norms subtract the mean.
        norm_offset: What the architecture adds to the weight of a norm.
        q_norm, k_norm: Norms of queries and keys, after their projection.
        wide_norm: Whether these two norms cover all heads together.
        zeros: Tensors of a layer that are zero, with the letters of their shapes.
        outside: Tensors outside of the layers that are zero, with the letters of their shapes.
        sinks: Logits of attention sinks, which are set far below all others.
        latent: Whether attention is multi-head latent attention.
        table: Name of the learned table of positions.
        own_tables: Whether every layer has a table of biases, and not the first of each part alone.
        embedding_norm: Norm behind the token embedding.
        first_norm: Whether the first layer has the norm before attention, as the others do.
        prediction: Projection behind the last norm in models that predict masked tokens; "" elsewhere.
        prediction_norm: Norm behind the activation that follows.
        encoder: Whether queries see later keys.
        scaled_embedding: Whether the model multiplies its embeddings by √hidden.
        one_key_head: Whether one head of keys may serve all queries.
        softcaps: Caps of attention's logits and of the output's where the file states none, by their keys.
        vision: The vision tower without blocks that stands beside the text model; None where there is none.
    """

    model_types: tuple[str, ...]
    gguf: str = ""
    quantity: Quantity = "rotation"
    keys: SizeKeys = llama_sizes
    layer: str = "model.layers.{}."
    embedding: str = "model.embed_tokens.weight"
    head: str = "lm_head.weight"
    final: str = "model.norm"
    q: str = "self_attn.q_proj"
    k: str = "self_attn.k_proj"
    v: str = "self_attn.v_proj"
    o: str = "self_attn.o_proj"
    fused: Literal["concatenated", "by head"] | None = None
    transposed: bool = False
    input_norm: str = "input_layernorm"
    output_norm: str = ""
    other_norms: tuple[str, ...] = ("post_attention_layernorm",)
    biased_norms: bool = False
    balanced: bool = False
    norm_offset: float = 0.0
    q_norm: str = ""
    k_norm: str = ""
    wide_norm: bool = False
    zeros: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType(
            {"mlp.gate_proj.weight": "ih", "mlp.up_proj.weight": "ih", "mlp.down_proj.weight": "hi"}
        )
    )
    outside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    sinks: str = ""
    latent: bool = False
    table: str = ""
    own_tables: bool = False
    embedding_norm: str = ""
    first_norm: bool = True
    prediction: str = ""
    prediction_norm: str = ""
    encoder: bool = False
    scaled_embedding: bool = False
    one_key_head: bool = True
    softcaps: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))
    vision: EmptyVision | None = None

    @property
    def tied(self) -> bool:
        """Whether the output head is the embedding."""
        return not self.head

    @property
    def auto_class(self) -> str:
        """Class of transformers that loads a model with the head that the probe reads."""
        if self.quantity == "bucket":
            return "AutoModelForSeq2SeqLM"
        if self.vision is not None:
            return "AutoModelForImageTextToText"
        return "AutoModelForMaskedLM" if self.encoder else "AutoModelForCausalLM"
