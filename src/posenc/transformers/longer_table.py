"""Longer learned tables of positions in copies of a loaded transformers model, and how ways to fill them compare."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from posenc.core import validation
from posenc.encodings.adds.learned import resized
from posenc.transformers.model_changes import evaluating, largest_gap
from posenc.transformers.refusals import check_reads_tokens, check_unchanged, unsupported
from posenc.transformers.swapping.attention_interface import NAME
from posenc.transformers.swapping.own_positions import OwnTable, own_table

Way = Literal["stretch", "repeat", "last", "draw"]
WAYS: tuple[Way, ...] = ("stretch", "repeat", "last", "draw")


def extend_table(model: torch.nn.Module, length: int, *, way: Way, seed: int | None = None) -> Any:
    """Copy a loaded transformers model with more rows in its learned table of positions.

    The copy is a plain model of the same class: its config states the new length, and `save_pretrained` and
    `from_pretrained` keep both. It has to be trained before it reads longer texts well; `compare_extensions` says where
    each way starts. The limit of a tokenizer (`model_max_length`) is yours to raise.

    Args:
        model: Decoder or encoder with one learned table of positions: GPT-2, BERT, RoBERTa and others like them. It
            stays as it is.
        length: Positions of the copy, more than those of the model.
        way: Numbers of the rows. "stretch" interpolates the table linearly, so that all rows but the first and the
            last change. The others keep every row: "repeat" begins again with the first, "last" copies the last, and
            "draw" draws from the normal distribution with the mean and the standard deviation of each channel.
        seed: Of what "draw" draws; only for this way.

    Returns:
        The copy, on the same device, in the same dtype and mode.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: `model` has no such table, or another size follows from its length; `length` is not larger; `seed`
            and `way` do not belong together.

    References:
        Stretching: Dosovitskiy et al. 2021, arXiv:2010.11929, §3.2; repeating: Beltagy et al. 2020, arXiv:2004.05150.

    Example:
        >>> from transformers import GPT2Config, GPT2LMHeadModel
        >>> sizes = {"vocab_size": 8, "n_embd": 16, "n_layer": 1, "n_head": 2, "bos_token_id": 1, "eos_token_id": 2}
        >>> model = GPT2LMHeadModel(GPT2Config(n_positions=4, **sizes))
        >>> longer = extend_table(model, 6, way="repeat")
        >>> longer.config.n_positions, torch.equal(longer.transformer.wpe.weight[4:], model.transformer.wpe.weight[:2])
        (6, True)
    """
    validation.choice("way", way, WAYS)
    if (way == "draw") != (seed is not None):
        raise ValueError(
            f"seed must be given for way='draw' and for no other; got seed={validation.shown(seed)} with way={way!r}. "
            + ("Give a number." if seed is None else "Leave it out.")
        )
    table = _table(model)
    rows = table.module.weight.detach()
    read = rows.shape[0] - table.offset
    length = validation.integer("length", length, read + 1, 1 << 24)
    longer = torch.cat([rows[: table.offset], _rows(rows[table.offset :], length, way, seed)])
    return _copied(model, table, longer, length - read)


def _table(model: Any) -> OwnTable:
    """Table of a model; a ValueError where it has none, or where a swap is in it."""
    check_reads_tokens(model)
    table = own_table(model)
    if table is None:
        raise ValueError(
            f"model must have a learned table of positions; got {type(model).__name__}, which has none. "
            "posenc.models.plan_context plans a longer context for it."
        )
    check_unchanged({table.name: table.module}, NAME, "have its own table", "a swap in")
    return table


def _rows(rows: Tensor, length: int, way: Way, seed: int | None) -> Tensor:
    """Extend the rows of a table to (length, dim) by `way`, in its dtype."""
    if way == "stretch":
        stretched: Tensor = resized(rows, length)
        return stretched
    if way == "repeat":
        return rows[torch.arange(length, device=rows.device) % len(rows)]
    more = length - len(rows)
    if way == "last":
        return torch.cat([rows, rows[-1:].expand(more, -1)])
    wide = rows.double().cpu()
    generator = torch.Generator().manual_seed(validation.integer("seed", seed, 0, 2**63 - 1))
    drawn = torch.randn((more, rows.shape[1]), generator=generator, dtype=torch.float64)
    drawn = wide.mean(0) + drawn * wide.std(0, correction=0)
    return torch.cat([rows, drawn.to(rows)])


def _copied(model: Any, table: OwnTable, rows: Tensor, more: int) -> Any:
    """Copy a model with `more` positions in its config and `rows` in its table; other weights stay."""
    config = copy.deepcopy(model.config)
    text, before = config.get_text_config(), len(rows) - more
    stated = getattr(text, "max_position_embeddings", None)
    if stated not in (before, before - table.offset):
        raise unsupported(config.model_type, f"its table has {before} rows, and its config states {stated}")
    text.max_position_embeddings = stated + more
    with torch.random.fork_rng():
        longer = type(model)._from_config(config, dtype=model.dtype).to(rows.device)
    try:
        longer.load_state_dict({**model.state_dict(), f"{table.name}.weight": rows})
    except RuntimeError as error:
        raise unsupported(config.model_type, f"more than the table follows from its length: {error}") from error
    for theirs, mine in zip(model.parameters(), longer.parameters(), strict=True):
        mine.requires_grad_(theirs.requires_grad)
    if getattr(model, "generation_config", None) is not None:
        longer.generation_config = copy.deepcopy(model.generation_config)
    return longer.train(model.training)


@dataclass(frozen=True)
class TableExtension:
    """Effect of a way of making rows on a model before any training.

    Attributes:
        way: The way.
        loss_within: Mean loss of the next token at the positions that the model had, in nats.
        loss_beyond: The same at the positions that are new.
        logit_change: Largest change of a logit at the positions that the model had; 0.0 where its rows are kept.
    """

    way: Way
    loss_within: float
    loss_beyond: float
    logit_change: float


@dataclass(frozen=True)
class TableComparison:
    """Comparison of ways to extend a table on the same text; `str` gives it as a table.

    Attributes:
        rows: Positions that the model had.
        length: Positions that were read.
        loss_before: Mean loss of the next token of the model as it is, at its own positions, in nats.
        loss_of_chance: Loss of a guess among all tokens, log(vocabulary).
        ways: Effect of each way.
    """

    rows: int
    length: int
    loss_before: float
    loss_of_chance: float
    ways: tuple[TableExtension, ...]

    def __str__(self) -> str:
        within, beyond = f"at 0 to {self.rows - 1}", f"at {self.rows} to {self.length - 1}"
        lines = [
            f"loss (nats a token), before training; chance is {self.loss_of_chance:.3f}",
            f"{'':10}  {within:>16}  {beyond:>20}  largest change of a logit {within}",
            f"{'as it is':10}  {self.loss_before:16.3f}  {'no rows':>20}",
        ]
        lines += [
            f"{each.way:10}  {each.loss_within:16.3f}  {each.loss_beyond:20.3f}  {each.logit_change:.3g}"
            for each in self.ways
        ]
        return "\n".join(lines)


def compare_extensions(model: torch.nn.Module, ids: Tensor, *, seed: int = 0) -> TableComparison:
    """Compare the ways of `extend_table` on a text: the loss of the next token within the old length and beyond.

    Args:
        model: Decoder with a learned table of positions.
        ids: Token ids of texts without padding, (batch, n), with n larger than the positions of the model.
        seed: Of what "draw" draws.

    Returns:
        Losses of each way before any training.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: `model` has no such table or does not predict the next token, or `ids` have another shape.

    Example:
        >>> from transformers import GPT2Config, GPT2LMHeadModel
        >>> sizes = {"vocab_size": 8, "n_embd": 16, "n_layer": 1, "n_head": 2, "bos_token_id": 1, "eos_token_id": 2}
        >>> model = GPT2LMHeadModel(GPT2Config(n_positions=4, **sizes))
        >>> compared = compare_extensions(model, torch.tensor([[3, 1, 4, 1, 5, 6]]))
        >>> [each.way for each in compared.ways if each.logit_change < 1e-6]
        ['repeat', 'last', 'draw']
    """
    table = _table(model)
    validation.integer("seed", seed, 0, 2**63 - 1)
    rows = table.module.weight.shape[0] - table.offset
    kind = validation.instance("ids", ids, Tensor, "a tensor of token ids")
    if kind.ndim != 2 or kind.shape[1] <= rows + 1 or kind.is_floating_point():
        raise ValueError(
            f"ids must be whole numbers (batch, n) with n from {rows + 2}, since the model has {rows} positions; got "
            f"{kind.dtype} of shape {tuple(kind.shape)}. Give longer texts."
        )
    ids = ids.to(table.module.weight.device)
    before = _logits(model, ids[:, :rows])
    _check_predicts_the_next(model, ids[:, :rows], before)
    ways = []
    for way in WAYS:
        longer = extend_table(model, ids.shape[1], way=way, seed=seed if way == "draw" else None)
        logits = _logits(longer, ids)
        losses = _losses(logits, ids)
        change = largest_gap(logits[:, :rows], before)
        ways.append(TableExtension(way, float(losses[:, :rows].mean()), float(losses[:, rows:].mean()), change))
    loss = float(_losses(before, ids[:, : rows + 1]).mean())
    return TableComparison(rows, ids.shape[1], loss, math.log(before.shape[-1]), tuple(ways))


def _check_predicts_the_next(model: Any, ids: Tensor, logits: Tensor) -> None:
    """Refuse a model whose logits are not of tokens, or change with a token that they should predict."""
    vocabulary = model.config.get_text_config().vocab_size
    said = f"logits of shape {tuple(logits.shape)}"
    if tuple(logits.shape) == (*ids.shape, vocabulary):
        other = ids.clone()
        other[:, -1] = (other[:, -1] + 1) % vocabulary
        change = largest_gap(_logits(model, other)[:, :-1], logits[:, :-1])
        # The same products in the same order: a hidden token has a weight of exactly zero.
        if change <= 4 * torch.finfo(model.dtype).eps * float(logits.abs().max()):
            return
        said = f"logits that change by {change:.3g} with a later token"
    raise ValueError(
        f"model must predict the next token from those before it; got {type(model).__name__}, with {said}. Extend the "
        "table each way, and compare the copies on your own objective."
    )


def _logits(model: Any, ids: Tensor) -> Tensor:
    with torch.no_grad(), evaluating(model):
        logits: Tensor = model(ids, use_cache=False)[0].float()
    return logits


def _losses(logits: Tensor, ids: Tensor) -> Tensor:
    """Loss of the next token at each position but the last of the ids."""
    count = ids.shape[1] - 1
    return torch.nn.functional.cross_entropy(logits[:, :count].transpose(1, 2), ids[:, 1:], reduction="none")
