"""Gradients at the parameters that `init` draws, where several stand at a bound, against those of PyTorch."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import torch

from jax_adapter.calls import inputs, run
from posenc import Time2Vec
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.jax import bind
from posenc.testing import budgets
from samples import SAMPLES, by_night, firsts

LEARNED = [encoding for encoding in SAMPLES if encoding.shapes]


def in_torch(encoding: Any, params: dict[str, torch.Tensor], *arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What `calls.run` computes, in PyTorch."""
    if isinstance(encoding, AdditiveEncoding):
        return (encoding.attach(*arguments, params),)
    if isinstance(encoding, AttentionBias):
        return (encoding.matrix(*arguments, params),)
    q, k, *hidden, query, key = arguments
    if isinstance(encoding, RotaryEncoding):
        pairs = [(q, query, "query"), (k, key, "key")]
        if "value" in encoding.roles:
            pairs = [(k, key, "value"), (q, query, "output")]
        return tuple(encoding.rotation(at, params, role=role)(x, layout="bhtd") for x, at, role in pairs)
    scores = encoding.score(q, k, query, key, params, hidden=hidden[0] if hidden else None)
    values = encoding.values(scores.softmax(-1), query, key, params)
    return (scores,) if values is None else (scores, values)


def angle_budget(encoding: Any, params: dict[str, torch.Tensor]) -> float:
    """How far an angle may move in JAX, which has no float64 here: Time2Vec's are products of learned frequencies."""
    if not isinstance(encoding, Time2Vec):
        return budgets.angle(encoding, 70_000, "float32")
    return 70_004 * float(params["omega"].detach().abs().max()) * budgets.EPSILON["float32"]


@pytest.mark.parametrize("encoding", by_night(LEARNED, daily=firsts("KerpleLog", "PoPE")))
def test_the_gradient_at_first_parameters_is_that_of_pytorch(encoding: Encoding) -> None:
    bound, arguments = bind(encoding, seed=3), inputs(encoding)
    if type(encoding).__name__.startswith("Kerple"):  # draws few numbers at its floor
        bound = jax.tree.map(lambda value: value.at[0].set(0.01), bound)
    weights = [
        np.random.default_rng(8).standard_normal(part.shape).astype(np.float32) for part in run(bound, *arguments)
    ]
    got = jax.jit(
        jax.grad(lambda bound: sum((w * part).sum() for w, part in zip(weights, run(bound, *arguments), strict=True)))
    )(bound).params
    params = {name: torch.tensor(np.array(value), requires_grad=True) for name, value in bound.params.items()}
    parts = in_torch(encoding, params, *(torch.tensor(np.array(x)) for x in arguments))
    sum((torch.from_numpy(w) * part).sum() for w, part in zip(weights, parts, strict=True)).backward()  # type: ignore[union-attr]
    for name, value in params.items():
        want = np.zeros(value.shape) if value.grad is None else value.grad.numpy()
        allowed = (2.0**-18 + angle_budget(encoding, params)) * max(1.0, np.abs(want).max())
        assert np.abs(np.asarray(got[name]) - want).max() <= allowed, name
