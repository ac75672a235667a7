"""Faster attention for loaded T5, DeBERTa, BLOOM and MPT models, computed by `posenc.torch.attention`.

Each function in `FORMS` makes a replacement for the forward of one transformers class. It returns what that forward
returns, or None for a call that it leaves to the class itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import copy
from types import MethodType
from typing import Any

import torch

from posenc.core.doors import Encoding
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.scores.deberta import DeBERTa
from posenc.models import from_config
from posenc.torch.attention_paths.attend import attention
from posenc.torch.modules.encoding_module import EncodingModule
from posenc.torch.modules.modules import module
from posenc.transformers.model_changes import evaluating, few_tokens, largest_gap, replace_attribute, share_of_allowed
from posenc.transformers.swapping.attention_interface import as_seen

Call = Callable[..., Any]
#: How many tokens a model is proved on: more than T5 has buckets for single distances.
TOKENS = 40
#: From how many new tokens on ours takes less time than the class's own call, which makes T5's and BLOOM's numbers once
#: for all layers: measured on whole models with one thread, with padding and without.
FEWEST: dict[type[Encoding], int] = {T5Bias: 512, ALiBi: 512, DeBERTa: 32}


def calls_inside(model: Any) -> Iterator[tuple[str, Any, Call, int]]:
    """Yield (name, module, replacement for its forward, fewest tokens) for each module of a class in `FORMS`.

    From the fewest tokens on, the replacement is faster than the forward of the class itself.

    Raises:
        ValueError: The model's config says that something else acts inside attention.
    """
    found = [(name, part, FORMS[form]) for name, part in model.named_modules() if (form := _class_name(part)) in FORMS]
    if not found:
        return
    encodings = {group.part: group.encodings for group in from_config(model.config.to_dict()).groups if group.layers}
    tables: dict[bool, Any] = {}
    for name, part, (kind, make) in found:
        if kind is T5Bias and not name.endswith("SelfAttention"):
            continue  # attention to the encoder, which knows no positions
        inside = encodings.get(("decoder" if part.is_decoder else "encoder") if kind is T5Bias else "text", ())
        if [type(encoding) for encoding in inside] != [kind]:
            raise ValueError(
                f"model must have {kind.__name__} alone inside attention; its config says {inside!r}. Use attention "
                "yourself."
            )
        if kind is T5Bias:
            tables.setdefault(part.is_decoder, part)  # the first layer of a stack holds the table of all
        table = tables[part.is_decoder] if kind is T5Bias else None
        yield name, part, make(module(inside[0], seed=0), table), FEWEST[kind]


def calling(attended: Call, fewest: int) -> Call:
    """Make a forward: `attended`, or the class's own below `fewest` tokens and where `attended` returns None."""

    def forward(self: Any, x: Any, *given: Any, **named: Any) -> Any:
        output = attended(self, x, *given, **named) if x.shape[1] >= fewest else None
        return type(self).forward(self, x, *given, **named) if output is None else output

    return forward


def check_equal(model: Any, calls: list[tuple[str, Any, Call, int]]) -> None:
    """Run the model on a few tokens, with and without padding, and compare `calls` with its own attention.

    Raises:
        ValueError: An output differs by more than rounding allows (one rounding a channel), or ours took none of a
            module's calls.
    """
    for padded in (0, 3):
        tokens, real = _padded_tokens(model, padded)
        comparisons = [(name, part, _ComparedCall(attended, real)) for name, part, attended, _ in calls]
        with torch.no_grad(), evaluating(model), ExitStack() as stack:
            for _, part, comparison in comparisons:
                replace_attribute(stack, part, "forward", MethodType(comparison.forward, part))
            model(**tokens)
        for name, _, comparison in comparisons:
            if comparison.difference > 1.0:
                raise ValueError(
                    f"model must attend as its config says; got another output at {name!r}, by "
                    f"{comparison.difference:.3g} times what rounding allows. Use attention yourself."
                )
            if not comparison.compared:
                raise ValueError(
                    f"model must make calls that attention can take; got none at {name!r}, where attention is "
                    f"{model.config._attn_implementation!r}. Call model.set_attn_implementation('sdpa') first."
                )


class _ComparedCall:
    """Largest difference of our call from the class's own, as a share of what rounding allows."""

    def __init__(self, attended: Call, real: Any) -> None:
        self.attended, self.real, self.difference, self.compared = attended, real, 0.0, False

    def forward(self, layer: Any, *given: Any, **named: Any) -> Any:
        """Return the output of the class's own forward, after comparing ours with it."""
        theirs, ours = type(layer).forward(layer, *given, **named), self.attended(layer, *given, **named)
        if ours is not None:
            mine, own = ours[0][self.real], theirs[0][self.real]
            allowed = mine.shape[-1] * torch.finfo(own.dtype).eps * (1.0 + float(own.float().abs().max()))
            self.compared = True
            self.difference = max(self.difference, share_of_allowed(largest_gap(mine, own), allowed))
        return theirs


def _padded_tokens(model: Any, padded: int) -> tuple[dict[str, Any], Any]:
    """Arguments of a model's forward for two rows of tokens, and which tokens are no padding."""
    ids, mask = few_tokens(model, TOKENS, padded)
    given = {"input_ids": ids, "attention_mask": mask}
    takes = inspect.signature(model.forward).parameters
    if model.config.is_encoder_decoder and "decoder_input_ids" in takes:
        given |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    if "use_cache" in takes:
        given["use_cache"] = False  # both calls would write into it
    return given, mask.bool()


def _class_name(part: Any) -> tuple[str, str]:
    """Folder of transformers that a class comes from, and its name."""
    path = type(part).__module__.split(".")
    return (path[-2] if path[:2] == ["transformers", "models"] else "", type(part).__name__)


def _t5(bias: EncodingModule, first: Any) -> Call:
    """Make the replacement for the forward of T5Attention, with the bias table of the first layer of its stack."""

    def attended(
        layer: Any, x: Any, mask: Any = None, key_value_states: Any = None, position_bias: Any = None,
        past_key_values: Any = None, **others: Any,
    ) -> Any:  # fmt: skip
        if past_key_values is not None or layer.config._attn_implementation != "sdpa":
            return None
        q, k, v = (each(x).view(*x.shape[:2], layer.n_heads, -1) for each in (layer.q, layer.k, layer.v))
        own = _holding(bias, table=first.relative_attention_bias.weight)
        dropout = layer.dropout if layer.training else 0.0
        return layer.o(_by_ours(q, k, v, own, mask, 1.0, dropout, layer.is_causal)), None, None

    return attended


def _deberta(score: EncodingModule, _: Any) -> Call:
    """Make the replacement for the forward of DisentangledSelfAttention (DeBERTa v2 and v3)."""

    def attended(
        layer: Any, x: Any, attention_mask: Any, output_attentions: bool = False, query_states: Any = None,
        relative_pos: Any = None, rel_embeddings: Any = None,
    ) -> Any:  # fmt: skip
        if output_attentions or query_states is not None:
            return None
        encoding: Any = score.encoding
        shared = layer.share_att_key
        q, k, v = (
            each(x).view(*x.shape[:2], encoding.heads, -1)
            for each in (layer.query_proj, layer.key_proj, layer.value_proj)
        )
        table = layer.pos_dropout(rel_embeddings)[: 2 * encoding.buckets]
        made: dict[str, Any] = {
            "position_keys": layer.key_proj if shared else getattr(layer, "pos_key_proj", None),
            "position_queries": layer.query_proj if shared else getattr(layer, "pos_query_proj", None),
        }
        vectors = {
            name: made[name](table).view(len(table), encoding.heads, -1).transpose(0, 1) for name in encoding.shapes
        }
        dropout = layer.dropout.p if layer.training else 0.0
        return _by_ours(q, k, v, _holding(score, **vectors), attention_mask.bool(), encoding.scale, dropout), None

    return attended


def _bloom(bias: EncodingModule, _: Any) -> Call:
    """Make the replacement for the forward of BloomAttention."""

    def attended(
        layer: Any, x: Any, residual: Any, alibi: Any, attention_mask: Any, layer_past: Any = None,
        use_cache: bool = False, output_attentions: bool = False, **others: Any,
    ) -> Any:  # fmt: skip
        parts = layer.pretraining_tp > 1 and layer.slow_but_exact
        if output_attentions or parts or not _grows(layer_past) or attention_mask is None:
            return None
        if not _tokens_stand_together(seen := as_seen(attention_mask)):
            return None
        q, k, v = layer.query_key_value(x).view(*x.shape[:2], layer.num_heads, 3, -1).unbind(3)
        k, v = _with_cached(k, v, layer_past, layer.layer_idx)
        dropout = layer.attention_dropout.p if layer.training else 0.0
        output = layer.dense(_by_ours(q, k, v, bias, seen, None, dropout))
        return torch.nn.functional.dropout(output, layer.hidden_dropout, layer.training) + residual, None

    return attended


def _mpt(bias: EncodingModule, _: Any) -> Call:
    """Make the replacement for the forward of MptBlock."""

    def attended(
        block: Any, x: Any, position_bias: Any, attention_mask: Any, layer_past: Any = None, use_cache: bool = False,
        output_attentions: bool = False, **others: Any,
    ) -> Any:  # fmt: skip
        if output_attentions or not _grows(layer_past):
            return None
        layer = block.attn
        mixed = layer.Wqkv(block.norm_1(x))
        mixed = mixed.clamp(-layer.clip_qkv, layer.clip_qkv) if layer.clip_qkv else mixed
        q, k, v = (each.reshape(*x.shape[:2], layer.n_heads, -1) for each in mixed.chunk(3, 2))
        k, v = _with_cached(k, v, layer_past, layer.layer_idx)
        dropout = layer.attn_dropout_p if layer.training else 0.0
        output = layer.out_proj(_by_ours(q, k, v, bias, ~attention_mask, layer.softmax_scale, dropout))
        x = block.resid_attn_dropout(output) + x
        return block.ffn(block.norm_2(x), x), None

    return attended


#: Classes of transformers by their folder: what acts inside their attention, and how they are called.
FORMS: dict[tuple[str, str], tuple[type[Encoding], Call]] = {
    ("t5", "T5Attention"): (T5Bias, _t5),
    ("mt5", "MT5Attention"): (T5Bias, _t5),
    ("deberta_v2", "DisentangledSelfAttention"): (DeBERTa, _deberta),
    ("bloom", "BloomAttention"): (ALiBi, _bloom),
    ("mpt", "MptBlock"): (ALiBi, _mpt),
}


def _by_ours(
    q: Any, k: Any, v: Any, encoding: Any, mask: Any, scale: float | None, dropout: float, causal: bool = False
) -> Any:
    """Attend by `posenc.torch.attention`: layout "bthd", the queries being the last of the tokens in k and v.

    The mask is as transformers gives it, or None; `causal` counts where there is none. A row that padding alone
    shortens attends to its own tokens, without a mask. Gives (batch, n, channels).
    """
    seen, causal = _mask_and_causal(mask, q.shape[1], k.shape[1], causal)
    at = torch.arange(k.shape[1], device=k.device)
    given: dict[str, Any] = {"layout": "bthd", "encodings": [encoding], "scale": scale, "dropout": dropout}
    rows = None if seen is None else _rows_without_padding(seen, q.shape[1], k.shape[1])
    if rows is None:
        positions = {"query_positions": at[k.shape[1] - q.shape[1] :], "key_positions": at}
        return attention(q, k, v, **positions, **given, causal=causal, mask=seen).flatten(2)
    output = torch.zeros_like(q)
    for row, parts in enumerate(rows):
        for asked, told, causal in parts:
            positions = {"query_positions": at[asked], "key_positions": at[told]}
            some = slice(row, row + 1)
            found = attention(q[some, asked], k[some, told], v[some, told], **positions, **given, causal=causal)
            output[some, asked] = found
    return output.flatten(2)


def _holding(held: EncodingModule, **params: Any) -> EncodingModule:
    """Copy a module with `params` in place of its parameters; gradients reach these tensors."""
    one = copy(held)
    one._parameters = {}
    for name, tensor in params.items():
        object.__setattr__(one, name, tensor)
    return one


def _mask_and_causal(mask: Any, queries: int, keys: int, causal: bool) -> tuple[Any, bool]:
    """Convert a transformers mask to (mask, causal) of `attention`; mask None for full or causal attention."""
    if mask is None:
        return None, causal
    seen = as_seen(mask)
    if seen.all():
        return None, False
    if seen.shape[-2:] == (queries, keys) and (seen == torch.ones_like(seen[0, 0]).tril(keys - queries)).all():
        return None, True
    return seen, False


#: Queries of a row, the keys that they see, and whether only up to the own one.
Part = tuple[slice, slice, bool]


def _rows_without_padding(seen: Any, queries: int, keys: int) -> list[list[Part]] | None:
    """Split each row into `Part`s that need no mask; None where more than padding and causality hides keys."""
    if queries != keys or seen.shape[1] != 1 or len(seen) == 1:
        return None
    rows = [_parts_of_row(row) for row in seen[:, 0].expand(-1, queries, keys)]
    return rows if all(rows) else None  # type: ignore[return-value]


def _parts_of_row(seen: Any) -> list[Part] | None:
    """Split a row's mask (n, n) into `Part`s that need no mask; None where more than padding and causality hides."""
    places = seen.any(0).nonzero()
    if not len(places):
        return None
    tokens = slice(int(places[0]), int(places[-1]) + 1)
    own, parts = seen[tokens, tokens], []
    causal = not own.all()
    if causal and not (own == torch.ones_like(own).tril()).all():
        return None
    parts.append((tokens, tokens, causal))
    for padding in (slice(0, tokens.start), slice(tokens.stop, len(seen))):
        if (others := seen[padding, tokens]).any():
            if not others.all():
                return None
            parts.append((padding, tokens, False))
    return parts


def _tokens_stand_together(seen: Any) -> bool:
    """Whether padding is on one side of the tokens at most: then position distances equal index distances."""
    return bool((torch.diff(seen.any(-2).int()) != 0).sum(-1).le(1).all())


def _grows(cache: Any) -> bool:
    """Whether the cache is None or a `DynamicCache`, which holds the keys of all tokens so far and no spare slots."""
    return cache is None or type(cache).__name__ == "DynamicCache"


def _with_cached(k: Any, v: Any, cache: Any, layer: int) -> tuple[Any, Any]:
    """Keys and values of all tokens so far, after the new ones are written into the cache."""
    if cache is None:
        return k, v
    k, v = cache.update(k.transpose(1, 2), v.transpose(1, 2), layer)
    return k.transpose(1, 2), v.transpose(1, 2)
