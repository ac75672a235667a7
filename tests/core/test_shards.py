"""Global ids of the ranks of context parallelism, against the formulas of Megatron-core and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from posenc.positions import Sharding, TokenRun

ROWS = [(8,), (4, 4), (8, 16, 24), (0, 8), (24,)]


def megatron(lengths, rank, ranks):
    """Ids by the formula of Megatron-core for packed frequencies, token by token.

    NVIDIA, Megatron-LM, megatron/core/models/common/embeddings/rope_utils.py, as corrected by pull request 5243.
    """
    ids, offset = [], 0
    for length in lengths:
        local = length // ranks
        first, second = (local + 1) // 2, local // 2
        for token in range(local):
            if token < first:
                ids.append(offset + rank * first + token)
            else:
                ids.append(offset + local * ranks - (rank + 1) * second + token - first)
        offset += length
    return ids


@pytest.mark.parametrize("lengths", ROWS, ids=str)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_zigzag_of_each_document_is_that_of_megatron(lengths, ranks):
    sharding = Sharding(lengths, ranks=ranks, scheme="zigzag", each_document=True) if ranks < 4 else None
    sharding = sharding or Sharding([2 * n for n in lengths], ranks=ranks, scheme="zigzag", each_document=True)
    for rank in range(ranks):
        assert sharding.indices(rank).tolist() == megatron(sharding.lengths, rank, ranks)


def test_the_second_document_does_not_get_the_ids_of_the_first():
    """Megatron-LM 5243: with packing and two ranks, rank 0 holds tokens 0, 3, 4, 7 of the row, not 0, 3, 0, 3."""
    sharding = Sharding([4, 4], ranks=2, scheme="zigzag", each_document=True)
    assert [sharding.indices(rank).tolist() for rank in (0, 1)] == [[0, 3, 4, 7], [1, 2, 5, 6]]
    assert sharding.positions(0).tolist() == [0, 3, 0, 3]
    assert sharding.documents(1).tolist() == [0, 0, 1, 1]
    whole_row = Sharding([4, 4], ranks=2, scheme="zigzag", each_document=False)
    assert whole_row.indices(0).tolist() == [0, 1, 6, 7]
    assert whole_row.documents(0).tolist() == [0, 0, 1, 1]


@pytest.mark.nightly  # it loads torch's compiler
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_zigzag_of_a_row_is_the_head_tail_order_of_pytorch(ranks):
    torch = pytest.importorskip("torch")
    from torch.distributed.tensor.experimental import _context_parallel

    order = _context_parallel._load_balancer._HeadTailLoadBalancer(48, ranks, "cpu")._generate_indices()
    sharding = Sharding([40, 8], ranks=ranks, scheme="zigzag", each_document=False)
    assert order.reshape(ranks, -1).tolist() == [sharding.indices(rank).tolist() for rank in range(ranks)]
    restored = torch.arange(48)[order[0].long()]
    assert sharding.unshard(list(restored.split(48 // ranks))).tolist() == list(range(48))


@pytest.mark.parametrize("scheme", ["contiguous", "zigzag", "ulysses"])
@pytest.mark.parametrize("each_document", [True, False])
def test_every_token_has_one_rank_and_comes_back_to_its_place(scheme, each_document):
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    sharding = Sharding([12, 0, 24], ranks=6, scheme=scheme, each_document=each_document)
    held = [sharding.indices(rank) for rank in range(6)]
    assert sorted(np.concatenate(held).tolist()) == list(range(36))
    assert {len(each) for each in held} == {6} == {sharding.tokens_of_rank}
    assert all((np.diff(each) > 0).all() for each in held)
    for make in (np.asarray, torch.as_tensor, jnp.asarray):
        x = make(np.arange(2 * 36 * 3).reshape(2, 36, 3))
        for axis in (1, -2):
            parts = [sharding.shard(x, rank, axis=axis) for rank in range(6)]
            assert parts[4][1, 2, 0] == (36 + held[4][2]) * 3
            assert (sharding.unshard(parts, axis=axis) == x).all()
            assert type(sharding.unshard(parts, axis=axis)) is type(x)


def test_runs_are_consecutive_tokens_of_one_document():
    sharding = Sharding([5, 11], ranks=4, scheme="zigzag", each_document=False)
    assert sharding.runs(2) == [TokenRun(4, 5, 0, 5), TokenRun(5, 6, 5, 16), TokenRun(10, 12, 5, 16)]
    assert sharding.runs(3) == [TokenRun(6, 10, 5, 16)], "pieces that touch are one run"
    for rank in range(4):
        tokens = [token for run in sharding.runs(rank) for token in range(run.start, run.stop)]
        assert tokens == sharding.indices(rank).tolist()
    assert Sharding(0, ranks=2, scheme="zigzag").runs(1) == []


def test_gradients_flow_back_to_the_ranks():
    torch = pytest.importorskip("torch")
    sharding = Sharding(8, ranks=2, scheme="zigzag")
    parts = [torch.zeros(4, requires_grad=True) for _ in range(2)]
    (sharding.unshard(parts) * torch.arange(8.0)).sum().backward()
    assert [part.grad.tolist() for part in parts] == [[0, 1, 6, 7], [2, 3, 4, 5]]


def test_ids_of_a_long_row_are_exact_and_no_slower_than_an_index():
    sharding = Sharding([2**20] * 8, ranks=64, scheme="zigzag", each_document=True)
    ids = sharding.indices(63)
    assert (ids[0], ids[-1]) == (2**20 // 2 - 2**13, 7 * 2**20 + 2**20 // 2 + 2**13 - 1)


REFUSED = [
    (
        lambda: Sharding([8, 6], ranks=2, scheme="zigzag", each_document=True),
        ValueError,
        r"^lengths must be multiples of 2·ranks = 4 where each document is cut \(zigzag\); got 6\. Pad it to 8",
    ),
    (
        lambda: Sharding([7, 6], ranks=2, scheme="contiguous", each_document=False),
        ValueError,
        r"^lengths must be multiples of ranks = 2 where the row is cut \(contiguous\); got 13\. Pad it to 14",
    ),
    (lambda: Sharding([4, 4], ranks=2, scheme="zigzag"), ValueError, r"^each_document must be said for 2 documents"),
    (lambda: Sharding(8, ranks=0, scheme="zigzag"), ValueError, r"^ranks must be an integer from 1 to \d+; got 0"),
    (lambda: Sharding(8, ranks=True, scheme="zigzag"), TypeError, r"^ranks must be an integer from 1"),
    (lambda: Sharding(8, ranks=2, scheme="striped"), ValueError, r"^scheme must be one of 'contiguous', 'zigzag'"),
    (lambda: Sharding(-8, ranks=2, scheme="zigzag"), ValueError, r"^lengths must be an integer from 0 to \d+; got -8"),
    (lambda: Sharding(8.0, ranks=2, scheme="zigzag"), TypeError, r"^lengths must be an integer from 0"),
    (lambda: Sharding("8", ranks=2, scheme="zigzag"), TypeError, r"^lengths must be a list of whole numbers; got '8'"),
    (lambda: Sharding([2**30] * 64, ranks=2, scheme="zigzag", each_document=True), ValueError, r"^lengths must need"),
    (lambda: Sharding(8, ranks=2, scheme="zigzag", each_document=1), TypeError, r"^each_document must be True or"),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").indices(2),
        ValueError,
        r"^rank must be an integer from 0 to 1; got 2",
    ),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").positions(-1),
        ValueError,
        r"^rank must be an integer from 0 to 1; got",
    ),
    (
        lambda: Sharding(8, ranks=4, scheme="ulysses").heads(0, 6),
        ValueError,
        r"^heads must be a multiple of ranks = 4 for 'ulysses'; got 6",
    ),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").shard(np.zeros(6), 0),
        ValueError,
        r"^x must have 8 tokens on axis 0; got shape \(6,\)",
    ),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").shard(np.zeros(8), 0, axis=1),
        ValueError,
        r"^axis must be an integer from -1 to 0; got 1",
    ),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").unshard([np.zeros(4)]),
        ValueError,
        r"^parts must be a list of one array for each of 2 ranks; got 1",
    ),
    (
        lambda: Sharding(8, ranks=2, scheme="zigzag").unshard([np.zeros(4), np.zeros(3)]),
        ValueError,
        r"^parts\[1\] must have 4 tokens on axis 0; got shape \(3,\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals_name_the_argument_and_both_numbers(call, error, message):
    with pytest.raises(error, match=message):
        call()
