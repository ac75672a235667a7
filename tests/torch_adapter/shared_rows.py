"""Packed rows for every encoding, and the readable reference of the whole row, for tests of ranks that share it.

Run by torchrun, or by as many processes that have its environment variables, it compares `sharded_attention` on their
process group with the reference, for every encoding of the catalog or for those of which it is given the indices:

    torchrun --nproc-per-node 2 tests/torch_adapter/shared_rows.py zigzag
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist

from posenc import attention as reference
from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding, AttentionScore, RotaryEncoding
from posenc.positions import Sharding, documents, packed
from posenc.testing.one_coordinate import spread_over_axes
from posenc.torch import module, sharded_attention

RECORDS = [sample for row in CATALOG for sample in row.samples if not isinstance(sample, AdditiveEncoding)]
HEADS, KEY_HEADS, WIDTH, BATCH = 12, 4, 8, 2
#: Sums of a few dozen float64 products in another order, and of float32 parameters' gradients over all pairs.
FLOAT64, FLOAT32 = 1e-11, 4e-6


def row_of(encoding, lengths):
    """Leaves q, k, v and the layer's input for a packed row, and a module with parameters away from zero."""
    draw = torch.Generator().manual_seed(sum(lengths))
    heads = getattr(encoding, "heads", None) or HEADS
    rotates = isinstance(encoding, RotaryEncoding)
    width = encoding.head_dim if rotates else getattr(encoding, "dim", WIDTH)
    key_heads = KEY_HEADS if heads == HEADS else 1
    tensors = [
        torch.randn(BATCH, number, sum(lengths), width, generator=draw, dtype=torch.float64)
        for number in (heads, key_heads, key_heads)
    ]
    if getattr(encoding, "reads", None) is not None:
        tensors.append(torch.randn(BATCH, sum(lengths), encoding.model_dim, generator=draw, dtype=torch.float64))
    held = module(encoding, seed=3)
    with torch.no_grad():
        for parameter in held.parameters():
            parameter.mul_(1.5).add_(0.25)
    return [x.requires_grad_() for x in tensors], held


def positions_of(encoding, lengths):
    """Positions of a packed row, as the encoding takes them."""
    return spread_over_axes(encoding, torch.from_numpy(packed(lengths)))


def whole(tensors, held, lengths, causal):
    """The readable reference on the whole row."""
    encoding, hidden = held.encoding, tensors[3] if len(tensors) > 3 else None
    at, number = positions_of(encoding, lengths), torch.from_numpy(documents(lengths))
    if hidden is not None and encoding.reads == "both":
        hidden = torch.cat([hidden, hidden], 1)
    return reference.attention(
        *tensors[:3],
        query_positions=at,
        key_positions=at,
        layout="bhtd",
        encodings=[encoding],
        params=[held.params],
        causal=causal,
        documents=(number, number),
        hidden=hidden,
    ).output


def weights_of(output):
    """Weights of a sum that counts every number of the output differently."""
    return torch.linspace(-1.0, 1.0, output.numel(), dtype=output.dtype).reshape(output.shape)


def gradients(output, weights, tensors, held):
    leaves = [*tensors, *held.parameters()]
    return torch.autograd.grad((output * weights).sum(), leaves, allow_unused=True, materialize_grads=True)


def close(got, want):
    tolerance = FLOAT64 if got.dtype == torch.float64 else FLOAT32
    assert got.shape == want.shape, (got.shape, want.shape)
    assert torch.isfinite(got).all()
    largest = float((got - want).detach().abs().max())
    assert largest <= tolerance * max(1.0, float(want.detach().abs().max())), largest


def needs_all_heads(encoding):
    """Whether some heads of the score cannot be computed without the others."""
    return isinstance(encoding, AttentionScore) and hasattr(encoding, "heads")


def compare_on_group(encoding, sharding, causal):
    """On every rank: its part of the output and of the gradients is that of the whole."""
    rank = dist.get_rank()
    tensors, held = row_of(encoding, sharding.lengths)
    want = whole(tensors, held, sharding.lengths, causal)
    expected = gradients(want, weights_of(want), tensors, held)
    axes = [2, 2, 2, 1]
    own = [sharding.shard(x.detach(), rank, axis=axis).requires_grad_() for x, axis in zip(tensors, axes, strict=False)]
    at = positions_of(encoding, sharding.lengths)
    got = sharded_attention(
        *own[:3],
        sharding=sharding,
        layout="bhtd",
        encodings=[held],
        positions=None if encoding.axes == 1 else sharding.shard(at, rank),
        causal=causal,
        hidden=own[3] if len(own) > 3 else None,
    )
    close(got, sharding.shard(want, rank, axis=2))
    mine = gradients(got, sharding.shard(weights_of(want), rank, axis=2), own, held)
    for index, theirs in enumerate(expected):
        if index < len(own):
            close(mine[index], sharding.shard(theirs, rank, axis=axes[index]))
        else:
            # Ranks add up memory as it lies, and a gradient may lie transposed on one of them.
            total = mine[index].clone(memory_format=torch.contiguous_format)
            dist.all_reduce(total)
            close(total, theirs)


def main() -> None:
    dist.init_process_group("gloo")
    scheme, chosen = sys.argv[1], [RECORDS[int(index)] for index in sys.argv[2:]] or RECORDS
    ranks = dist.get_world_size()
    sharding = Sharding([4 * ranks, 2 * ranks], ranks=ranks, scheme=scheme, each_document=scheme == "zigzag")
    compared = 0
    for encoding in chosen:
        heads = getattr(encoding, "heads", None) or HEADS
        if scheme == "ulysses" and (heads % ranks or needs_all_heads(encoding)):
            continue
        for causal in (True, False):
            try:
                compare_on_group(encoding, sharding, causal)
            except Exception as error:
                raise AssertionError(f"{encoding!r}, causal={causal}: {error}") from error
        compared += 1
    if dist.get_rank() == 0:
        print(f"{compared} encodings on {ranks} ranks, {scheme}")
    dist.destroy_process_group()


if __name__ == "__main__" and "RANK" in os.environ:
    main()
