"""A row that four virtual devices share gives what one device gives, forward and backward, for every encoding.

Run as a program, since the number of devices is fixed when JAX starts. It prints how many encodings it compared.
"""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from posenc import ALiBi, HeadwiseRoPE, Partial, RoPE, RoPEPlusPlus, T5Bias
from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding, AttentionScore, RotaryEncoding
from posenc.jax import attention, bind, sharded_attention
from posenc.positions import Sharding, documents, packed

RECORDS = [sample for row in CATALOG for sample in row.samples if not isinstance(sample, AdditiveEncoding)]
HEADS, KEY_HEADS, WIDTH = 12, 4, 8
#: Biases of the catalog's samples have too few heads to be divided by 4; and a rotation by head inside another one.
BY_HEADS = (ALiBi(heads=8), T5Bias(heads=4), Partial(HeadwiseRoPE(dim=4, heads=4, shares=(1, 2)), dim=6))
#: Sums of a few dozen products of numbers of size one in float32, in another order.
TOLERANCE = 2e-4


def row_of(encoding, tokens):
    heads = getattr(encoding, "heads", None) or HEADS
    width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", WIDTH)
    key_heads = KEY_HEADS if heads == HEADS else 1
    draw = np.random.default_rng(tokens)
    counts = (heads, key_heads, key_heads)
    tensors = [jnp.asarray(draw.standard_normal((1, count, tokens, width)), jnp.float32) for count in counts]
    if getattr(encoding, "reads", None) is not None:
        tensors.append(jnp.asarray(draw.standard_normal((1, tokens, encoding.model_dim)), jnp.float32))
    return tensors


def compare(encoding, sharding):
    mesh, bound, lengths = Mesh(np.array(jax.devices()), ("row",)), bind(encoding, seed=3), sharding.lengths
    order = np.concatenate([sharding.indices(rank) for rank in range(4)])
    tensors, number = row_of(encoding, sharding.tokens), jnp.asarray(documents(lengths))
    at = jnp.asarray(packed(lengths))
    at = at if encoding.axes == 1 else jnp.stack([at * (axis + 1) for axis in range(encoding.axes)], -1)
    weights = jnp.linspace(-1.0, 1.0, tensors[0].size).reshape(tensors[0].shape)[..., : tensors[2].shape[-1]]

    def whole(bound, q, k, v, hidden=None):
        read = jnp.concatenate([hidden] * 2, 1) if getattr(encoding, "reads", None) == "both" else hidden
        places = {"query_positions": at, "key_positions": at, "documents": (number, number)}
        output = attention(q, k, v, **places, layout="bhtd", encodings=[bound], causal=True, hidden=read)
        return (output * weights).sum(), output

    along = [PartitionSpec(None, None, "row")] * 3 + [PartitionSpec(None, "row")] * (len(tensors) - 3)

    def on_device(bound, at, *own):
        return sharded_attention(
            *own[:3], sharding=sharding, axis_name="row", layout="bhtd", encodings=[bound], causal=True,
            positions=None if encoding.axes == 1 else at, hidden=own[3] if len(own) > 3 else None,
        )  # fmt: skip

    def shared(bound, *tensors):
        divided = [x[:, :, order] if x.ndim == 4 else x[:, order] for x in tensors]
        specs = (PartitionSpec(), PartitionSpec("row"), *along)
        mapped = jax.shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=along[0], check_vma=False)
        output = mapped(bound, at[order], *divided)[:, :, np.argsort(order)]
        return (output * weights).sum(), output

    places = tuple(range(1 + len(tensors)))
    results = [jax.jit(jax.value_and_grad(f, places, has_aux=True))(bound, *tensors) for f in (whole, shared)]
    for want, got in zip(*map(jax.tree.leaves, results), strict=True):
        if want.size:
            largest, size = float(jnp.abs(got - want).max()), max(1.0, float(jnp.abs(want).max()))
            assert largest <= TOLERANCE * size, largest


def compare_order_of_rotations():
    """Rotations of other pairs do not commute, so those before one that differs by head may not come after it."""
    mesh, sharding = Mesh(np.array(jax.devices()), ("row",)), Sharding(8, ranks=4, scheme="ulysses")
    bound = [bind(RoPE(dim=8, pairing="halves")), bind(RoPEPlusPlus(dim=8, heads=4, pairing="adjacent"))]
    q, k, v = (jnp.asarray(x, jnp.float32) for x in np.random.default_rng(0).standard_normal((3, 1, 4, 8, 8)))
    spec, options = PartitionSpec(None, None, "row"), {"layout": "bhtd", "causal": True}

    def on_device(q, k, v):
        return sharded_attention(q, k, v, sharding=sharding, axis_name="row", encodings=bound, **options)

    got = jax.shard_map(on_device, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False)(q, k, v)
    at = {"query_positions": jnp.arange(8), "key_positions": jnp.arange(8)}
    want, other = (attention(q, k, v, encodings=order, **at, **options) for order in (bound, bound[::-1]))
    assert float(jnp.abs(got - want).max()) <= TOLERANCE < 1e-3 < float(jnp.abs(want - other).max())


def divides_heads(encoding):
    """Whether devices can exchange tokens for heads: 4 divides them, and a score needs no others."""
    scores = isinstance(encoding, AttentionScore) and hasattr(encoding, "heads")
    return not scores and (getattr(encoding, "heads", None) or HEADS) % 4 == 0


def main() -> None:
    assert len(jax.devices()) == 4
    chosen = [RECORDS[int(index)] for index in sys.argv[1:]] or RECORDS
    exchanged = 0
    compare_order_of_rotations()
    for encoding in chosen:
        try:
            compare(encoding, Sharding([8, 16], ranks=4, scheme="zigzag", each_document=True))
            if encoding is chosen[0]:
                compare(encoding, Sharding([5, 7], ranks=4, scheme="contiguous", each_document=False))
                compare(encoding, Sharding([8, 4], ranks=4, scheme="contiguous", each_document=True))
                compare(encoding, Sharding([5, 7], ranks=4, scheme="ulysses", each_document=False))
            if divides_heads(encoding):
                compare(encoding, Sharding([8, 4], ranks=4, scheme="ulysses", each_document=True))
                exchanged += 1
        except Exception as error:
            raise AssertionError(f"{encoding!r}: {error}") from error
        jax.clear_caches()  # each program is tens of megabytes, and none is used again
    for encoding in BY_HEADS if len(chosen) == len(RECORDS) else ():
        compare(encoding, Sharding([5, 7], ranks=4, scheme="ulysses", each_document=False))
        exchanged += 1
    print(f"{len(chosen)} encodings on 4 devices, {exchanged} by heads")


if __name__ == "__main__":
    main()
