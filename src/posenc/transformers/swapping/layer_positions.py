"""The encodings of one attention layer in place of its own: a child module of the attention of a transformers model."""

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
from posenc.transformers.swapping.attention_function import NAME, OURS
from posenc.transformers.swapping.attention_mask import as_seen, documents_seen, module_is_causal
from posenc.transformers.swapping.cached_positions import LayerCall, PositionedCache

#: Arguments of attention that change its logits in ways that encodings do not share; None where a model has none.
CHANGES_LOGITS = ("softcap", "s_aux", "position_bias", "head_mask", "cache")


class LayerPositions(torch.nn.ModuleList):  # type: ignore[misc]
    """What one attention layer does with positions instead of what its own code does.

    The layer's own rotation gets other tables: those of `by_table`, or none, so that queries and keys pass unchanged.
    What such tables cannot say acts `inside` attention, where the positions of all keys are known.

    Args:
        arguments: The names of what the layer is called with, in order.
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
        """Before each call of the layer: other tables, and positions for what acts inside attention."""
        named = dict(zip(self.arguments, given, strict=False)) | named
        hidden, positions = named["hidden_states"], checked_positions(named.get("position_ids"), named["hidden_states"])
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
        """Cosines and sines (batch, tokens, width) for the layer's own rotation."""
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
        """The cosine or sine of each pair as the model's own table has it: once or twice, in its dtype."""
        if own.shape[-1] > part.shape[-1]:
            part = torch.cat((part, part), -1) if self.repeat == "halves" else part.repeat_interleave(2, -1)
        return part.to(own.dtype)

    def _check_reached(self, module: Any) -> None:
        name = module.config._attn_implementation
        if name not in OURS.values():
            raise ValueError(
                f"model must keep the attention it was swapped with; got {name!r}, which would leave out "
                f"{[each.encoding for each in self.inside]}. Undo the swap, set the attention, and swap again."
            )

    def attend(
        self,
        function: Callable[..., Any],
        name: str,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Any,
        **named: Any,
    ) -> Any:
        """Attention with the encodings that act inside.

        Output (batch, tokens, heads, width), and the weights or None.

        Args:
            function: The layer's own attention, which transformers calls `name`.
        """
        call = named.pop(NAME)
        if not self._adds(Bias, Score) and not self._by_head(query, key):
            q, k, v = self._rotated(call, query, key, value)
            output, weights = function(module, q, k, v, attention_mask, **named)
            return self._rotated_back(call, output), weights
        for each in CHANGES_LOGITS:
            if named.get(each) is not None:
                raise ValueError(
                    f"model must attend by softmax of scaled logits alone, for {self.inside[0].encoding!r}; got {each} "
                    f"in {type(module).__name__}. Swap in what rotates."
                )
        if name == "eager":
            return self._in_mask(call, function, module, query, key, value, attention_mask, **named)
        return self._by_posenc(call, module, query, key, value, attention_mask, **named), None

    def _adds(self, *kinds: type) -> list[Any]:
        return [each for each in self.inside if isinstance(each, kinds)]

    def _by_head(self, query: Any, key: Any) -> bool:
        """Whether keys that heads share must be rotated for each head, which the layer's own attention cannot take."""
        return query.shape[1] != key.shape[1] and any(
            getattr(each.encoding, "heads", None) for each in self._adds(Rotate)
        )

    def _rotated(self, call: LayerCall, query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        for each in self._adds(Rotate):
            query, key = each(query, key, call.query, call.key, layout="bhtd")
        for each in self._adds(RotateValues):
            value = each(value, call.key, layout="bhtd")
        return query, key, value

    def _rotated_back(self, call: LayerCall, output: Any) -> Any:
        for each in self._adds(RotateValues)[::-1]:
            output = each.back(output, call.query, layout="bthd")
        return output

    def _by_posenc(
        self,
        call: LayerCall,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        mask: Any,
        *,
        scaling: float | None = None,
        dropout: float = 0.0,
        is_causal: bool | None = None,
        **unused: Any,
    ) -> Any:
        """Attention by `posenc.torch.attention`: logits in float32, memory that grows with the tokens."""
        causal = module_is_causal(module) if is_causal is None else is_causal
        causal, positions = mask is None and causal and query.shape[2] > 1, call.key
        if causal and key.shape[2] > query.shape[2]:  # keys that a static cache has no tokens for yet
            key, value, positions = (x[:, :, : query.shape[2]] for x in (key, value, positions[:, None]))
            positions = positions[:, 0]
        seen = None if mask is None else as_seen(mask)
        output = attention(
            query,
            key,
            value,
            query_positions=call.query,
            key_positions=positions,
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
        self, call: LayerCall, function: Any, module: Any, query: Any, key: Any, value: Any, mask: Any, **named: Any
    ) -> tuple[Any, Any]:
        """The layer's own attention with what is added to the logits in its mask, in its dtype, and so its weights."""
        heads = query.shape[1]
        if self._by_head(query, key):
            raise ValueError(
                f"encoding must rotate all heads alike where attention is eager and {key.shape[1]} heads of keys serve "
                f"{heads}; got {self._adds(Rotate)[0].encoding!r}. Call model.set_attn_implementation('sdpa') first."
            )
        documents = self._documents(None if mask is None else as_seen(mask), module, query, key)
        precise = torch.promote_types(query.dtype, torch.float32)
        added = [each(call.query, call.key, dtype=precise) for each in self._adds(Bias)]
        keys = repeated(key, heads)
        for each in self._adds(Score):
            hidden = self._hidden(call, key) if each.encoding.reads else None
            added.append(each(query, keys, call.query, call.key, hidden=hidden, documents=documents))
        total = sum(each if each.ndim == 4 else each[None] for each in added).to(query.dtype)
        q, k, v = self._rotated(call, query, key, value)
        output, weights = function(module, q, k, v, total if mask is None else mask + total, **named)
        output = self._rotated_back(call, output)
        for each in filter(adds_to_output, self._adds(Score)):
            output = output + each.values(weights, call.query, call.key).transpose(1, 2)
        return output, weights

    def _documents(self, seen: Any, module: Any, query: Any, key: Any) -> tuple[Any, Any] | None:
        """Which tokens are of one text, where a score reads the keys in between; None where all are."""
        if seen is None or not any(each.encoding.gathers for each in self._adds(Score)):
            return None
        return documents_seen(
            seen.expand(key.shape[0], 1, query.shape[2], key.shape[2])[:, 0], module_is_causal(module)
        )

    def _hidden(self, call: LayerCall, key: Any) -> Any:
        """The input of the layer at the tokens that a score reads it at; None where none does."""
        reads = {each.encoding.reads for each in self._adds(Score)} - {None}
        if not reads:
            return None
        if reads != {"query"} and call.hidden.shape[1] != key.shape[2]:
            raise ValueError(
                f"use_cache must be False for {self._adds(Score)[0].encoding!r}, which reads the layer's input at every "
                f"key; got {call.hidden.shape[1]} inputs for {key.shape[2]} keys. Pass use_cache=False."
            )
        return torch.cat([call.hidden, call.hidden], 1) if "both" in reads else call.hidden


def checked_positions(positions: Any, hidden: Any) -> Any:
    """Positions of the new tokens, (batch or 1, tokens), int64, as the model gives them to its layers."""
    shape = None if positions is None else tuple(positions.shape)
    if not validation.equals_one_of(shape, (1, hidden.shape[1]), tuple(hidden.shape[:2])):
        raise ValueError(
            f"position_ids must reach each attention layer, one for each of {tuple(hidden.shape[:2])} tokens; got "
            f"{'none' if shape is None else shape}. Call the whole model, with position_ids (batch, tokens) if any."
        )
    return positions.long()
