"""What an encoding computes in JAX, from inputs that suit it: shared by the tests of the adapter."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding
from posenc.jax import Bound, bind
from posenc.testing import budgets
from posenc.testing.one_coordinate import spread_over_axes


def bound_to(encoding: Encoding) -> Bound:
    """Parameters that are no longer those of the seed, as after training."""
    shift = -0.25 if type(encoding).__name__ == "PoPE" else 0.25  # its phases end at 0
    return jax.tree.map(lambda value: 1.5 * value + shift, bind(encoding, seed=3))


def inputs(encoding: Encoding, n: int = 5) -> tuple[jax.Array, ...]:
    rng = np.random.default_rng(n)
    # Far out, unless positions end somewhere, or the angle is a float, as of a learned frequency, which loses digits.
    start = 70_000 if "unlimited" in encoding.claims and not budgets.formed(encoding) else 0
    query_positions, key_positions = (spread_over_axes(encoding, jnp.arange(count) + start) for count in (n, n + 2))
    if isinstance(encoding, AdditiveEncoding):
        return jnp.asarray(rng.standard_normal((3, n, encoding.width)), jnp.float32), query_positions
    if isinstance(encoding, AttentionBias):
        return query_positions, key_positions
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 8)
    own = getattr(
        encoding, "heads", None
    )  # of a rotation: those that each rotation in their own way, which are not grouped
    heads = own or 12
    key_heads = 4 if isinstance(encoding, RotaryEncoding) and own is None else heads
    q, k = (rng.standard_normal((3, h, m, width)) for h, m in ((heads, n), (key_heads, n + 2)))
    content = [q, k]
    if isinstance(encoding, AttentionScore) and encoding.reads:
        content += [rng.standard_normal((3, encoding.hidden_length(n, n + 2), encoding.model_dim))]
    return *(jnp.asarray(part, jnp.float32) for part in content), query_positions, key_positions


def run(bound: Bound, *arguments: jax.Array) -> tuple[jax.Array, ...]:
    """All that an encoding computes: for an encoding that scores, the scores and what goes to the output."""
    if isinstance(bound.encoding, AdditiveEncoding):
        return (bound.add(*arguments),)
    if isinstance(bound.encoding, RotaryEncoding) and "value" in bound.encoding.roles:
        q, k, query_positions, key_positions = arguments
        return bound.rotate_values(k, key_positions, layout="bhtd"), bound.rotate_back(
            q, query_positions, layout="bhtd"
        )
    if isinstance(bound.encoding, RotaryEncoding):
        return bound.rotate(*arguments, layout="bhtd")
    if isinstance(bound.encoding, AttentionBias):
        return (bound.bias(*arguments),)
    q, k, *hidden, query_positions, key_positions = arguments
    scores = bound.score(q, k, query_positions, key_positions, hidden=hidden[0] if hidden else None)
    values = bound.values(jax.nn.softmax(scores), query_positions, key_positions)
    return (scores,) if values is None else (scores, values)
