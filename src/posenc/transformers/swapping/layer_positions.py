"""Encodings of one attention layer in place of its own: a child module of the attention of a transformers model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from posenc.core import validation
from posenc.core.checked_attention import repeated
from posenc.core.rotation import PairLayout, of_pairs
from posenc.torch.attention_paths.attend import attention
from posenc.torch.attention_paths.tiles import adds_to_output
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import Bias, Rotate, RotateValues, Score
from posenc.torch.modules.one_call import rotation_at
from posenc.transformers.swapping.attention_interface import NAME, OURS, as_seen, documents_seen, module_is_causal
from posenc.transformers.swapping.cached_positions import LayerCall, PositionedCache

#: Queries, keys and values.
Vectors = tuple[Any, Any, Any]
#: Arguments of attention that change its logits in ways that encodings do not share; None where a model has none.
CHANGES_LOGITS = ("softcap", "s_aux", "position_bias", "head_mask", "cache")


class LayerPositions(torch.nn.ModuleList):  # type: ignore[misc]
    """Encodings that act in one attention layer instead of its own.

    The layer's own rotation gets other tables: those of `by_table`, or none, so that queries and keys pass unchanged.
    What such tables cannot say acts `inside` attention, where the positions of all keys are known.

    Args:
        arguments: Names of the arguments of the layer, in order.
        by_table: Rotation that the layer's own code applies, if there is one.
        inside: Encodings that act inside attention.
        repeat: How the layer's own tables hold each frequency twice, if they do.
    """

    def __init__(
        self, arguments: tuple[str, ...], by_table: Rotate | None, inside: Sequence[EncodingModule], repeat: PairLayout
    ) -> None:
        super().__init__([*([] if by_table is None else [by_table]), *inside])
        self.arguments, self.by_table, self.inside, self.repeat = arguments, (by_table,), tuple(inside), repeat

    @property
    def acts_inside(self) -> bool:
        """Whether transformers must call `attend`."""
        return bool(self.inside)

    def before(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Replace the layer's cosines and sines before each call, and pass positions to what acts inside attention."""
        named = dict(zip(self.arguments, given, strict=False)) | named
        hidden = named["hidden_states"]
        positions = checked_position_ids(named.get("position_ids"), hidden)
        if named.get("position_embeddings") is not None:
            named["position_embeddings"] = self._tables(named["position_embeddings"], positions)
        if self.acts_inside:
            self._check_reached(module)
            call = named[NAME] = LayerCall(positions, positions, hidden)
            for name, value in named.items():
                if callable(getattr(value, "update", None)) and hasattr(value, "layers"):
                    named[name] = PositionedCache(value, call)
        return (), named

    def _tables(self, own: Any, positions: Any) -> tuple[Any, Any]:
        """Cosines and sines (batch, tokens, width) for the layer's own rotation, in place of `own`."""
        if not isinstance(own, tuple | list) or len(own) != 2:
            raise ValueError(
                f"model must give each layer two tables, cosines and sines; got {validation.shown(own)}. Its rotation "
                "cannot be replaced."
            )
        cos, sin = own
        (rotate,) = self.by_table
        if rotate is None:
            return torch.ones_like(cos), torch.zeros_like(sin)
        rotation = of_pairs("encoding", rotation_at(rotate.encoding, rotate.params, cos, positions, "both"))
        if cos.shape[-1] not in (rotation.cos.shape[-1], 2 * rotation.cos.shape[-1]):
            raise ValueError(
                f"model must give tables for {rotation.cos.shape[-1]} pairs of channels; got width "
                f"{cos.shape[-1]}. Its rotation cannot be replaced."
            )
        return self._as_wide_as(cos, rotation.cos), self._as_wide_as(sin, rotation.sin)

    def _as_wide_as(self, own: Any, part: Any) -> Any:
        """Cosines or sines, one a pair, repeated to the width of the model's own table, in its dtype."""
        if own.shape[-1] > part.shape[-1]:
            part = torch.cat((part, part), -1) if self.repeat == "halves" else part.repeat_interleave(2, -1)
        return part.to(own.dtype)

    def _check_reached(self, module: Any) -> None:
        """Refuse a call that would leave out what acts inside attention."""
        name = module.config._attn_implementation
        if name not in OURS.values():
            raise ValueError(
                f"model must keep the attention it was swapped with; got {name!r}, which would leave out "
                f"{[part.encoding for part in self.inside]}. Undo the swap, set the attention, and swap again."
            )

    def attend(
        self, function: Callable[..., Any], name: str, module: Any, vectors: Vectors, mask: Any, **named: Any
    ) -> Any:
        """Attend with the encodings that act inside.

        Args:
            function: The layer's own attention.
            name: What transformers calls it.
            module: The layer.
            vectors: Queries, keys and values, (batch, heads, tokens, width).
            mask: Mask as transformers gives it, or None.
            named: Other arguments of the layer's own attention.

        Returns:
            Output (batch, tokens, heads, width), and the weights or None.
        """
        call = named.pop(NAME)
        if not self._of(Bias, Score) and not self._by_head(vectors):
            output, weights = function(module, *self._rotated(call, vectors), mask, **named)
            return self._rotated_back(call, output), weights
        for argument in CHANGES_LOGITS:
            if named.get(argument) is not None:
                raise ValueError(
                    f"model must attend by softmax of scaled logits alone, for {self.inside[0].encoding!r}; got "
                    f"{argument} in {type(module).__name__}. Swap in what rotates."
                )
        if name == "eager":
            return self._in_mask(call, function, module, vectors, mask, **named)
        return self._by_posenc(call, module, vectors, mask, **named), None

    def _of(self, *kinds: type) -> list[Any]:
        """Modules inside attention that are of these classes."""
        return [part for part in self.inside if isinstance(part, kinds)]

    def _by_head(self, vectors: Vectors) -> bool:
        """Whether keys that heads share must be rotated for each head, which the layer's own attention cannot take."""
        shared = vectors[0].shape[1] != vectors[1].shape[1]
        return shared and any(getattr(part.encoding, "heads", None) for part in self._of(Rotate))

    def _rotated(self, call: LayerCall, vectors: Vectors) -> Vectors:
        """Queries, keys and values, rotated."""
        query, key, value = vectors
        for part in self._of(Rotate):
            query, key = part(query, key, call.query_positions, call.key_positions, layout="bhtd")
        for part in self._of(RotateValues):
            value = part(value, call.key_positions, layout="bhtd")
        return query, key, value

    def _rotated_back(self, call: LayerCall, output: Any) -> Any:
        """Output (batch, tokens, heads, width) after rotations of values are taken back."""
        for part in self._of(RotateValues)[::-1]:
            output = part.back(output, call.query_positions, layout="bthd")
        return output

    def _by_posenc(
        self,
        call: LayerCall,
        module: Any,
        vectors: Vectors,
        mask: Any,
        *,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        **unused: Any,
    ) -> Any:
        """Attend by `posenc.torch.attention`: logits in float32, memory that grows with the tokens."""
        query, key, value = vectors
        causal = module_is_causal(module) if is_causal is None else is_causal
        causal, key_positions = mask is None and causal and query.shape[2] > 1, call.key_positions
        if causal and key.shape[2] > query.shape[2]:  # keys that a static cache has no tokens for yet
            count = query.shape[2]
            key, value, key_positions = key[:, :, :count], value[:, :, :count], key_positions[:, :count]
        seen = None if mask is None else as_seen(mask)
        output = attention(
            query,
            key,
            value,
            query_positions=call.query_positions,
            key_positions=key_positions,
            layout="bhtd",
            encodings=self.inside,
            causal=causal,
            mask=seen,
            documents=self._documents(seen, module, query, key),
            hidden=self._hidden(call, key),
            scale=scaling,
            dropout=dropout,
        )
        return output.transpose(1, 2).contiguous()

    def _in_mask(
        self, call: LayerCall, function: Any, module: Any, vectors: Vectors, mask: Any, **named: Any
    ) -> tuple[Any, Any]:
        """Attend by the layer's own function, with biases and scores added to its mask in the dtype of the queries."""
        query, key, _ = vectors
        heads = query.shape[1]
        if self._by_head(vectors):
            raise ValueError(
                f"encoding must rotate all heads alike where attention is eager and {key.shape[1]} heads of keys serve "
                f"{heads}; got {self._of(Rotate)[0].encoding!r}. Call model.set_attn_implementation('sdpa') first."
            )
        documents = self._documents(None if mask is None else as_seen(mask), module, query, key)
        precise = torch.promote_types(query.dtype, torch.float32)
        places = call.query_positions, call.key_positions
        terms = [bias(*places, dtype=precise) for bias in self._of(Bias)]
        keys = repeated(key, heads)
        for score in self._of(Score):
            hidden = self._hidden(call, key) if score.encoding.reads else None
            terms.append(score(query, keys, *places, hidden=hidden, documents=documents))
        total = sum(term if term.ndim == 4 else term[None] for term in terms).to(query.dtype)
        rotated = self._rotated(call, vectors)
        output, weights = function(module, *rotated, total if mask is None else mask + total, **named)
        output = self._rotated_back(call, output)
        for score in filter(adds_to_output, self._of(Score)):
            output = output + score.values(weights, *places).transpose(1, 2)
        return output, weights

    def _documents(self, seen: Any, module: Any, query: Any, key: Any) -> tuple[Any, Any] | None:
        """Document numbers of queries and keys, where a score reads the keys in between; else None."""
        if seen is None or not any(score.encoding.gathers for score in self._of(Score)):
            return None
        return documents_seen(
            seen.expand(key.shape[0], 1, query.shape[2], key.shape[2])[:, 0], module_is_causal(module)
        )

    def _hidden(self, call: LayerCall, key: Any) -> Any:
        """Input of the layer at the tokens where a score reads it; None where none does."""
        reads = {score.encoding.reads for score in self._of(Score)} - {None}
        if not reads:
            return None
        if reads != {"query"} and call.hidden.shape[1] != key.shape[2]:
            raise ValueError(
                f"use_cache must be False for {self._of(Score)[0].encoding!r}, which reads the layer's input at every "
                f"key; got {call.hidden.shape[1]} inputs for {key.shape[2]} keys. Pass use_cache=False."
            )
        return torch.cat([call.hidden, call.hidden], 1) if "both" in reads else call.hidden


def checked_position_ids(positions: Any, hidden: Any) -> Any:
    """Positions (batch or 1, tokens) of the new tokens as int64, as the model gives them to its layers."""
    shape = None if positions is None else tuple(positions.shape)
    if not validation.equals_one_of(shape, (1, hidden.shape[1]), tuple(hidden.shape[:2])):
        raise ValueError(
            f"position_ids must reach each attention layer, one for each of {tuple(hidden.shape[:2])} tokens; got "
            f"{'none' if shape is None else shape}. Call the whole model, with position_ids (batch, tokens) if any."
        )
    return positions.long()
