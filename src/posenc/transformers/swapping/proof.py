"""The proof on the spot: what a model does with positions by itself, swapped in, changes none of its logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core.rotation import PairLayout
from posenc.torch.modules.modules import Add, Rotate, module
from posenc.transformers.evaluation_mode import evaluating
from posenc.transformers.swapping.install import Parts, installed
from posenc.transformers.swapping.layer_positions import LayerPositions
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions

#: Two rows of tokens: the first at far positions, the second with padding before it. Where a model has a cache the last
#: ones come in a second call.
TOKENS, PADDED, LATER = 6, 2, 2


@dataclass(frozen=True)
class Proof:
    """What swapping in a model's own positions did to its logits.

    Args:
        logits: How many were compared.
        difference: The largest; 0.0 where no bit changed.
        tables: The largest difference of a cosine or sine, as a share of what rounding to the model's dtype allows.
        attention: That between the model's own attention and ours without an encoding, as a share of what rounding
            allows; None where the model's own attention stays in use.
    """

    logits: int
    difference: float
    tables: float
    attention: float | None


def proved(
    model: Any, own: OwnPositions, layers: tuple[AttentionLayer, ...], attends: bool
) -> tuple[Proof, PairLayout]:
    """Swap in what the layers have by themselves, and compare; ValueError where that is not what they do.

    Args:
        attends: Whether our attention is to take the place of the model's own, which is then compared too. Result: the
            proof, and how the model's tables hold each frequency twice.
    """
    far = max(0, own.length - TOKENS)
    before = logits_of_few_tokens(model, own, far)
    for repeat in ("halves", "adjacent"):
        compared = {layer.number: _ComparedLayer(layer, repeat, attends) for layer in layers}
        with installed(own, Parts(compared, _own_table(own))):
            after = logits_of_few_tokens(model, own, far)
        difference = max(float((a - b).abs().max()) for a, b in zip(after, before, strict=True))
        tables = max(layer.tables for layer in compared.values())
        attention = max(layer.attention for layer in compared.values()) if attends else None
        if (difference == 0.0 or 0.0 < tables <= 1.0) and (attention or 0.0) <= 1.0:
            return Proof(sum(each.numel() for each in after), difference, tables, attention), repeat
    raise ValueError(
        f"model must do with positions what its config says; got {type(model).__name__}, whose logits changed by "
        f"{difference:.3g} with its own positions swapped in (tables by {tables:.3g} times what rounding allows, "
        f"attention by {attention or 0.0:.3g} times). Load it in its dtype: a cast after loading rounds frequencies."
    )


def logits_of_few_tokens(model: Any, own: OwnPositions, far: int = 0, cached: bool = True) -> list[Any]:
    """What a model says of a few tokens, in float32: of those that are no padding; the last ones from a cache.

    Args:
        far: The position of the first row's first token.
    """
    vocabulary = model.config.get_text_config().vocab_size
    device = model.get_input_embeddings().weight.device
    tokens = torch.randint(vocabulary, (2, TOKENS), generator=torch.Generator().manual_seed(0)).to(device)
    mask = torch.ones_like(tokens)
    mask[1, :PADDED] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0) + (0 if own.table is None else own.table.offset)
    positions[0] += far
    with torch.no_grad(), evaluating(model):
        first = model(tokens[:, :-LATER], attention_mask=mask[:, :-LATER], position_ids=positions[:, :-LATER])
        results = [(first[0], mask[:, :-LATER])]
        cache = getattr(first, "past_key_values", None)
        if cached and cache is not None:
            later = {"attention_mask": mask, "position_ids": positions[:, -LATER:], "past_key_values": cache}
            results.append((model(tokens[:, -LATER:], **later)[0], mask[:, -LATER:]))
    return [(x[seen.bool()] if x.shape[:2] == seen.shape else x).float() for x, seen in results]


def _own_table(own: OwnPositions) -> tuple[Add, ...]:
    """The table of a model as a module of ours, with its numbers."""
    if own.table is None:
        return ()
    add = module(own.table.encoding, seed=0).to(own.table.module.weight)
    with torch.no_grad():
        add.table.copy_(own.table.module.weight[own.table.offset :])
    return (add,)


class _ComparedLayer(LayerPositions):
    """The own positions of a layer, with the largest differences from what its code does."""

    def __init__(self, layer: AttentionLayer, repeat: PairLayout, attends: bool) -> None:
        rotation = None if layer.rotation is None else Rotate(layer.rotation)
        super().__init__(layer.arguments, rotation, (), repeat)
        self.attends, self.tables, self.attention = attends, 0.0, 0.0

    @property
    def acts_inside(self) -> bool:
        return self.attends

    def _tables(self, own: Any, positions: Any) -> tuple[Any, Any]:
        """Ours; each may be a rounding away, and what float32 loses of the angle."""
        tables = super()._tables(own, positions)
        allowed = torch.finfo(own[0].dtype).eps + float(positions.max() + 1) * torch.finfo(torch.float32).eps
        if self.by_table[0] is not None:
            difference = max(_largest_difference(mine, theirs) for mine, theirs in zip(tables, own, strict=True))
            self.tables = max(self.tables, difference / (allowed * max(1.0, float(own[0].abs().max()))))
        return tables

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
        """The layer's own attention, after ours is compared with it."""
        call = named.pop("posenc")
        output, weights = function(module, query, key, value, attention_mask, **named)
        if name == "sdpa":
            ours = self._by_posenc(call, module, query, key, value, attention_mask, **named)
            seen = (
                torch.ones_like(query[..., 0], dtype=torch.bool) if attention_mask is None else attention_mask.any(-1)
            )
            seen = seen.transpose(1, 2).expand(output.shape[:3])
            difference = _largest_difference(ours[seen], output[seen])
            allowed = _attention_tolerance(query, key, value, named.get("scaling"))
            self.attention = max(self.attention, difference / allowed)
        return output, weights


def _largest_difference(mine: Any, theirs: Any) -> float:
    """The largest difference; infinite where shapes differ."""
    if mine.shape != theirs.shape:
        return float("inf")
    return float((mine.float() - theirs.float()).abs().max()) if mine.numel() else 0.0


def _attention_tolerance(query: Any, key: Any, value: Any, scale: float | None) -> float:
    """How far two ways of attention may differ by rounding: twice what one may err.

    A logit of width d errs by (d + 1) roundings of float32 and two of the dtype of at most |q||k|, a weight by that
    factor twice over (itself and the sum), and the mean of n values by n roundings of float32 and two of the dtype.
    """
    eps, wide = torch.finfo(query.dtype).eps, torch.finfo(torch.float32).eps
    width, keys = query.shape[-1], key.shape[-2]
    largest = float(query.float().norm(dim=-1).max() * key.float().norm(dim=-1).max())
    logit = (width**-0.5 if scale is None else scale) * largest * ((width + 1) * wide + 2 * eps)
    largest_value = float(value.float().abs().max())
    return float(2 * largest_value * (2 * logit + (keys + 2) * wide + 2 * eps))
