"""Trace of a loaded model: which positions it uses while it runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from posenc.core import arrays, validation
from posenc.diagnosis.tracing.position_trace import PositionTrace
from posenc.diagnosis.tracing.trace_records import StatedRequest
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions
from posenc.transformers.recording import attends_as_stated
from posenc.transformers.refusals import check_torch_module
from posenc.transformers.tracing.position_recorder import PositionRecorder


def trace(
    model: Any,
    *,
    expected: ModelPositions | None = None,
    waive: Iterable[str] = (),
    positions: Any = None,
    documents: Sequence[int] | None = None,
    offset: int = 0,
) -> AbstractContextManager[PositionTrace]:
    """Record the positions that a model uses in every call inside a `with` block, a forward or a whole `generate`.

    Positions are read off the vectors: from queries and keys before and after their rotation, from the rows that are
    read of a table of positions, and from the keys that attention is given. What the model is told by position_ids does
    not count. The model is not changed, and computes the same.

    Args:
        model: Loaded model of transformers, as it is called. Attention may be "eager", "sdpa" or "flex_attention".
        expected: Positions that the model is to have; read from its own config if None.
        waive: Keys of its config that concern positions and may go unread, as for `from_config`.
        positions: Positions of all tokens in the order in which the model reads them, (total,), (batch, total) or
            (batch, total, axes), where a mask does not say them: for images and videos what
            `posenc.positions.multimodal` returns, for the rank of a sharded sequence its rows of the global positions.
        documents: Lengths of the documents that are packed into each row; read from position_ids that begin again at 0
            if None.
        offset: Position of the first token that this process holds.

    Returns:
        Context manager of the trace: `print(traced)` shows the schedule, `traced.check()` compares it with the config
        and the request.

    Raises:
        TypeError: `model` is no torch module, or `positions` hold no numbers.
        ValueError: The config is not known, or `positions`, `documents` or `offset` break their rule.

    Example:
        >>> import torch
        >>> from transformers import LlamaConfig, LlamaModel
        >>> sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 8, "num_attention_heads": 2}
        >>> model = LlamaModel(LlamaConfig(num_hidden_layers=2, **sizes)).eval()
        >>> with trace(model) as traced:
        ...     output = model(torch.arange(6)[None])
        >>> print(traced)
        call 0: 6 tokens after 0
          row 0, layers 0-1: q and k at 0-5; the last query sees tokens 0-5 (6 of 6 slots)
        >>> print(traced.check().verdict)
        agree in everything that this evidence can show
    """
    check_torch_module(model)
    if hasattr(model, "_orig_mod"):
        raise ValueError("model must not be compiled; got a compiled one. Trace model._orig_mod.")
    if expected is None:
        expected = from_config(_plain_config(model), waive=waive)
    elif tuple(waive):
        raise ValueError("waive must come without expected, which is read already; got both. Leave one out.")
    validation.instance("expected", expected, ModelPositions, "what posenc.models.from_config returns")
    stated = _stated(positions, documents, offset)
    return _recording(model, PositionTrace(expected, stated, attends=attends_as_stated(getattr(model, "config", None))))


@contextmanager
def _recording(model: Any, record: PositionTrace) -> Iterator[PositionTrace]:
    """Watch a model inside a `with` block."""
    with ExitStack() as stack:
        PositionRecorder(model, record).watch(stack)
        yield record


def _plain_config(model: Any) -> dict[str, Any]:
    """The config of a model as plain data."""
    config = getattr(model, "config", None)
    if config is None or not hasattr(config, "to_json_string"):
        raise ValueError(
            f"model must have a config of transformers; got {type(model).__name__} without. Give expected=from_config("
            "...)."
        )
    plain: dict[str, Any] = json.loads(config.to_json_string())
    return plain


def _stated(positions: Any, documents: Sequence[int] | None, offset: int) -> StatedRequest:
    """Check the caller's positions, documents and offset, and return them as a StatedRequest."""
    validation.integer("offset", offset, 0, 2**53)
    lengths = () if documents is None else tuple(validation.integers("documents", documents, 1, 2**31))
    if documents is not None and not lengths:
        raise ValueError("documents must hold the length of each document; got none. Leave it out.")
    if positions is None:
        return StatedRequest(None, lengths, offset)
    if lengths or offset:
        raise ValueError("positions must come alone; got documents or offset as well. Put these into the positions.")
    array = arrays.numbers_on_host("positions", positions)
    if array.ndim not in (1, 2, 3) or not array.size:
        raise ValueError(
            f"positions must have shape (total,), (batch, total) or (batch, total, axes); got {array.shape}. Give one "
            "for each token."
        )
    while array.ndim < 3:
        array = array[None] if array.ndim == 1 else array[..., None]
    return StatedRequest(array)
