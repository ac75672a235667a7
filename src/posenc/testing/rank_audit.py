"""Audit of an encoding on ranks that share a row: simulated in one process, against the readable reference."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from posenc.attention import attention
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding, RotaryEncoding
from posenc.positions.sequences import documents, packed
from posenc.positions.shards import Sharding
from posenc.testing.audit import Audit, _compared
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import module, simulated_attention


def ranks_equal_whole(encoding: Encoding, sharding: Sharding, *, causal: bool = True, seed: int = 0) -> Audit:
    """Compare attention of ranks that share a row with attention of the whole: outputs and gradients, in float64.

    No second process and no accelerator is needed, for any number of ranks.

    Args:
        encoding: An encoding that rotates, biases or scores; what it learns is drawn.
        sharding: Division of a row, or of packed documents, among ranks.
        causal: Whether a query sees no token behind it.
        seed: Seed of the vectors and of what is learned.

    Returns:
        The comparison; `first` is a token of the row.

    Raises:
        TypeError: An argument is of another kind than stated.
        ValueError: The encoding cannot be shared so: scores with parameters for each head under "ulysses".

    Example:
        >>> from posenc import T5Bias
        >>> sharding = Sharding([16, 32], ranks=8, scheme="zigzag", each_document=True)
        >>> ranks_equal_whole(T5Bias(heads=4), sharding).ok
        True
    """
    validation.instance("encoding", encoding, Encoding, "an encoding")
    validation.instance("sharding", sharding, Sharding, "a Sharding of posenc.positions")
    if isinstance(encoding, AdditiveEncoding):
        raise TypeError(
            f"encoding must act inside attention; got {type(encoding).__name__}, which adds to its input. Use "
            "sharded_equals_whole with its module."
        )
    held, lengths = module(encoding, seed=seed), sharding.lengths
    tensors, hidden = _vectors(encoding, sharding, seed)
    places = spread_over_axes(encoding, torch.from_numpy(packed(lengths)))  # type: ignore[arg-type]
    number = torch.from_numpy(documents(lengths))  # type: ignore[arg-type]
    twice = getattr(encoding, "reads", None) == "both"
    whole = attention(
        *tensors,
        query_positions=places,
        key_positions=places,
        layout="bhtd",
        encodings=[encoding],
        params=[held.params],
        causal=causal,
        hidden=torch.cat([hidden, hidden], 1) if hidden is not None and twice else hidden,
        documents=(number, number),
    ).output
    shared = simulated_attention(
        *tensors,
        sharding=sharding,
        layout="bhtd",
        encodings=[held],
        positions=places,
        causal=causal,
        hidden=hidden,
    )
    return _compared("ranks equal whole", _with_gradients(whole, tensors), _with_gradients(shared, tensors))


def _vectors(encoding: Any, sharding: Sharding, seed: int) -> tuple[list[Tensor], Tensor | None]:
    """Queries, keys and values that an encoding takes, and inputs of the layer where it reads them."""
    draw = torch.Generator().manual_seed(validation.integer("seed", seed, 0, 2**63 - 1))
    heads = getattr(encoding, "heads", None) or 2 * sharding.ranks
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", None) or 8
    shape = (1, heads, sharding.tokens, width)
    tensors = [torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_() for _ in range(3)]
    if getattr(encoding, "reads", None) is None:
        return tensors, None
    return tensors, torch.randn(1, sharding.tokens, encoding.model_dim, generator=draw, dtype=torch.float64)


def _with_gradients(output: Tensor, tensors: list[Tensor]) -> Tensor:
    """Output beside the gradients of a weighted sum of it (all weights differ), with a row for each token."""
    weights = torch.linspace(-1.0, 1.0, output.numel(), dtype=output.dtype).reshape(output.shape)
    gradients = torch.autograd.grad((output * weights).sum(), tensors, retain_graph=True, materialize_grads=True)
    return torch.cat([x.transpose(1, 2).flatten(2) for x in (output.detach(), *gradients)], -1)
