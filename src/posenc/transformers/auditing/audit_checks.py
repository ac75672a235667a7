"""Checks of an audit: ways to give a model the same tokens, each of which must give the same result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from posenc.transformers.auditing.model_states import ModelStates, side_by_side, states_of

#: Tokens of padding, of a chunk, and how far positions are shifted.
PADDING, CHUNK, SHIFT = 5, 7, 64


class AuditCheck(NamedTuple):
    """An invariance of a model.

    Attributes:
        name: Short name.
        sentence: What is compared.
        runs: From a model and tokens (rows, n): states of the plain run, and of the other way for the same tokens.
        needs: "causal" where only a model that predicts the next token has it, "shift" where one shift of all positions
            is to change nothing, "" for every model.
        ids: Whether it gives the model position_ids.
    """

    name: str
    sentence: str
    runs: Callable[[Any, torch.Tensor], tuple[ModelStates, ModelStates]]
    needs: str = ""
    ids: bool = False


def _plain(model: Any, tokens: torch.Tensor) -> ModelStates:
    """Run each row by itself, in one forward without a cache."""
    return side_by_side([states_of(model, row[None], use_cache=False)[0] for row in tokens], 0)


def _batch(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    return _plain(model, tokens), states_of(model, tokens, use_cache=False)[0]


def _left_padding(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    return _padded(model, tokens, stated=False)


def _left_padding_with_ids(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    return _padded(model, tokens, stated=True)


def _padded(model: Any, tokens: torch.Tensor, stated: bool) -> tuple[ModelStates, ModelStates]:
    """Run two rows by themselves, and in a batch with padding before the first; of the second as many tokens count."""
    padded = torch.cat([tokens[:1, :PADDING], tokens[:1, :-PADDING]], 1)
    mask = torch.ones_like(tokens[:2])
    mask[0, :PADDING] = 0
    named = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if stated else {}
    both = torch.cat([padded, tokens[1:2]])
    other, _ = states_of(model, both, attention_mask=mask, use_cache=False, **named)
    first, full = slice(0, 1), slice(1, 2)
    alone = [_plain(model, tokens[first, :-PADDING]), _plain(model, tokens[full]).tokens(first, 0, -PADDING)]
    together = [other.tokens(first, PADDING), other.tokens(full, 0, -PADDING)]
    return side_by_side(alone, 0), side_by_side(together, 0)


def _packed(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    """Run two documents each by itself, and packed into one row that position_ids alone divide."""
    first, second = tokens[:1, :-CHUNK], tokens[1:2, : CHUNK + 2]
    ids = torch.cat([torch.arange(first.shape[1]), torch.arange(second.shape[1])]).to(tokens.device)
    packed, _ = states_of(model, torch.cat([first, second], 1), position_ids=ids[None], use_cache=False)
    return side_by_side([_plain(model, first), _plain(model, second)], 1), packed


def _in_steps(model: Any, tokens: torch.Tensor, ends: list[int]) -> ModelStates:
    """Run the tokens in several calls with one cache; `ends` are the ends of the calls."""
    steps, past, start = [], None, 0
    for end in ends:
        states, past = states_of(model, tokens[:, start:end], past_key_values=past, use_cache=True)
        if past is None:
            raise ValueError("the model returns no cache")
        steps.append(states)
        start = end
    return side_by_side(steps, 1)


def _cached(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    count = tokens.shape[1]
    return _plain(model, tokens), _in_steps(model, tokens, list(range(count // 2, count + 1)))


def _chunked(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    count = tokens.shape[1]
    return _plain(model, tokens), _in_steps(model, tokens, [*range(CHUNK, count, CHUNK), count])


def _shifted(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    return _plain(model, tokens), run_at(model, tokens, torch.arange(tokens.shape[1], device=tokens.device) + SHIFT)


def run_at(model: Any, tokens: torch.Tensor, ids: torch.Tensor) -> ModelStates:
    """Run all rows at the positions `ids`, (n,)."""
    every = torch.ones_like(tokens)  # stated, as a gap of positions is otherwise taken for the start of a document
    ids = ids[None].expand(tokens.shape)
    return states_of(model, tokens, attention_mask=every, position_ids=ids, use_cache=False)[0]


def _generated(model: Any, tokens: torch.Tensor) -> tuple[ModelStates, ModelStates]:
    """Logits of one forward over prompt and answer, as in training, and those that chose the answer in generate."""
    half, new = tokens[:, : tokens.shape[1] // 2], tokens.shape[1] // 4
    fixed = {"do_sample": False, "min_new_tokens": new, "max_new_tokens": new, "pad_token_id": 0}
    with torch.no_grad():
        answer = model.generate(
            half, attention_mask=torch.ones_like(half), output_logits=True, return_dict_in_generate=True, **fixed
        )
        whole = model(answer.sequences, use_cache=False).logits.double()
    chosen = torch.stack(answer.logits, 1).double()
    trained = whole[:, half.shape[1] - 1 : -1]
    return ModelStates((trained,)), ModelStates((chosen,))


CHECKS = (
    AuditCheck("batch", "rows in a batch, and each by itself", _batch),
    AuditCheck(
        "left padding", "a padded and a full row in one batch, with attention_mask, and each by itself", _left_padding,
    ),
    AuditCheck(
        "left padding with ids",
        "a padded and a full row in one batch, with attention_mask and position_ids, and each by itself",
        _left_padding_with_ids, ids=True,
    ),
    AuditCheck(
        "packed", "two documents in one row with position_ids that begin again, and each by itself", _packed,
        "causal", True,
    ),
    AuditCheck("cached", "half of the tokens, then one by one with a cache, and all in one forward", _cached, "causal"),
    AuditCheck("chunked", "chunks of 7 tokens with a cache, and all in one forward", _chunked, "causal"),
    AuditCheck("shift", "all positions 64 higher, and from 0", _shifted, "shift", True),
    AuditCheck(
        "generate then train", "logits that chose an answer in generate, and those of one forward over it", _generated,
        "causal",
    ),
)  # fmt: skip
