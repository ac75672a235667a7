"""Proof on the spot that a model's own positions, swapped in, change none of its logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core.rotation import PairLayout
from posenc.torch.modules.modules import Add, Rotate, module
from posenc.transformers.model_changes import evaluating, few_tokens, largest_gap, share_of_allowed
from posenc.transformers.swapping.attention_interface import NAME
from posenc.transformers.swapping.install import Parts, installed
from posenc.transformers.swapping.layer_positions import LayerPositions, Vectors
from posenc.transformers.swapping.own_positions import AttentionLayer, OwnPositions

#: Two rows of tokens: the first at far positions, the second with padding before it. Where a model has a cache the last
#: ones come in a second call.
TOKENS, PADDED, LATER = 6, 2, 2


@dataclass(frozen=True)
class Proof:
    """Change of a model's logits when its own positions are swapped in: rounding at most, as the places are right.

    It says nothing about the encoding that is swapped in after it. `str` says the same in a sentence.

    Attributes:
        logits: Number of logits that were compared.
        difference: Largest difference of a logit; 0.0 where no bit changed.
        tables: Largest difference of a cosine or sine, as a share of what rounding to the model's dtype allows.
        attention: Largest difference of the model's own attention and ours without an encoding, as a share of what
            rounding allows; None where the model's own attention stays in use.
    """

    logits: int
    difference: float
    tables: float
    attention: float | None

    def __str__(self) -> str:
        return (
            f"the model's own positions, put in its modules, changed {self.logits} logits by at most "
            f"{self.difference:.3g}; of the encoding that is in now, nothing was measured"
        )


def proved(
    model: Any, own: OwnPositions, layers: tuple[AttentionLayer, ...], attends: bool
) -> tuple[Proof, PairLayout]:
    """Swap a model's own positions into its layers, and compare the logits with those before.

    Args:
        model: Loaded model.
        own: What it does with positions.
        layers: Layers of attention that are compared.
        attends: Whether our attention is to take the place of the model's own, which is then compared too.

    Returns:
        The proof, and how the model's tables hold each frequency twice.

    Raises:
        ValueError: The model does something else with positions than its config says.
    """
    far = max(0, own.length - TOKENS)
    before = logits_of_few_tokens(model, own, far)
    for repeat in ("halves", "adjacent"):
        compared = {layer.number: _ComparedLayer(layer, repeat, attends) for layer in layers}
        with installed(own, Parts(compared, _own_table(own))):
            after = logits_of_few_tokens(model, own, far)
        difference = max(largest_gap(a, b) for a, b in zip(after, before, strict=True))
        tables = max(layer.tables for layer in compared.values())
        attention = max(layer.attention for layer in compared.values()) if attends else None
        rounded = difference == 0.0 or (0.0 < tables <= 1.0 and math.isfinite(difference))
        if rounded and (attention or 0.0) <= 1.0:
            return Proof(sum(each.numel() for each in after), difference, tables, attention), repeat
    raise ValueError(
        f"model must do with positions what its config says; got {type(model).__name__}, whose logits changed by "
        f"{difference:.3g} with its own positions swapped in (tables by {tables:.3g} times what rounding allows, "
        f"attention by {attention or 0.0:.3g} times). Load it in its dtype: a cast after loading rounds frequencies."
    )


def logits_of_few_tokens(model: Any, own: OwnPositions, far: int = 0, cached: bool = True) -> list[Any]:
    """Logits in float32 of a few tokens that are no padding.

    Args:
        model: Loaded model.
        own: What it does with positions.
        far: Position of the first row's first token.
        cached: Whether the last tokens come in a second call, where the model has a cache.
    """
    tokens, mask = few_tokens(model, TOKENS, PADDED)
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
    """Position table of a model as an `Add` module with the same rows; empty where it has none."""
    if own.table is None:
        return ()
    add = module(own.table.encoding, seed=0).to(own.table.module.weight)
    with torch.no_grad():
        add.table.copy_(own.table.module.weight[own.table.offset :])
    return (add,)


class _ComparedLayer(LayerPositions):
    """Own positions of a layer, with the largest differences from what its code does."""

    def __init__(self, layer: AttentionLayer, repeat: PairLayout, attends: bool) -> None:
        rotation = None if layer.rotation is None else Rotate(layer.rotation)
        super().__init__(layer.arguments, rotation, (), repeat)
        self.attends, self.tables, self.attention = attends, 0.0, 0.0

    @property
    def acts_inside(self) -> bool:
        """Whether attention is compared."""
        return self.attends

    def _tables(self, own: Any, positions: Any) -> tuple[Any, Any]:
        """Return our tables, after measuring how far they are from `own` as a share of what rounding allows."""
        tables = super()._tables(own, positions)
        allowed = torch.finfo(own[0].dtype).eps + float(positions.max() + 1) * torch.finfo(torch.float32).eps
        if self.by_table[0] is not None:
            difference = max(largest_gap(mine, theirs) for mine, theirs in zip(tables, own, strict=True))
            allowed *= max(1.0, float(own[0].abs().max()))
            self.tables = max(self.tables, share_of_allowed(difference, allowed))
        return tables

    def attend(
        self, function: Callable[..., Any], name: str, module: Any, vectors: Vectors, mask: Any, **named: Any
    ) -> Any:
        """Return the output of the layer's own attention, after comparing ours with it."""
        call = named.pop(NAME)
        output, weights = function(module, *vectors, mask, **named)
        if name == "sdpa":
            ours = self._by_posenc(call, module, vectors, mask, **named)
            seen = torch.ones_like(vectors[0][..., 0], dtype=torch.bool) if mask is None else mask.any(-1)
            seen = seen.transpose(1, 2).expand(output.shape[:3])
            difference = largest_gap(ours[seen], output[seen])
            allowed = _attention_tolerance(vectors, named.get("scaling"))
            self.attention = max(self.attention, share_of_allowed(difference, allowed))
        return output, weights


def _attention_tolerance(vectors: Vectors, scale: float | None) -> float:
    """Largest difference that rounding allows between two ways of attention: twice the error bound of one.

    A logit of width d errs by (d + 1) roundings of float32 and two of the dtype of at most |q||k|, a weight by that
    factor twice over (itself and the sum), and the mean of n values by n roundings of float32 and two of the dtype.
    """
    query, key, value = vectors
    eps, wide = torch.finfo(query.dtype).eps, torch.finfo(torch.float32).eps
    width, keys = query.shape[-1], key.shape[-2]
    largest = float(query.float().norm(dim=-1).max() * key.float().norm(dim=-1).max())
    logit = (width**-0.5 if scale is None else scale) * largest * ((width + 1) * wide + 2 * eps)
    largest_value = float(value.float().abs().max())
    return float(2 * largest_value * (2 * logit + (keys + 2) * wide + 2 * eps))
