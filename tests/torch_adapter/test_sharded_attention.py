"""Attention that ranks share equals the whole: simulated for every encoding and scheme, and on process groups."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from every import every
from posenc import ALiBi, RoPE, RoPEPlusPlus, T5Bias, ValueRotation
from posenc.catalog import CATALOG
from posenc.core.doors import AdditiveEncoding
from posenc.positions import Sharding
from posenc.torch import attention, module, simulated_attention
from samples import EACH_DOOR, firsts
from torch_adapter.shared_rows import (
    HEADS,
    RECORDS,
    close,
    gradients,
    needs_all_heads,
    positions_of,
    row_of,
    weights_of,
    whole,
)

PROGRAM = Path(__file__).with_name("shared_rows.py")
#: One of each door, and what has parts of its own: scores that read between, that read the input, wide keys, values.
FEW = EACH_DOOR | firsts("PaTH", "DAPEv2", "PathGRAPE", "DistanceBank", "PoPE", "ValueRotation", "HeadwiseRoPE")


def compare(encoding, sharding, causal):
    tensors, held = row_of(encoding, sharding.lengths)
    at = positions_of(encoding, sharding.lengths)
    want = whole(tensors, held, sharding.lengths, causal)
    got = simulated_attention(
        *tensors[:3],
        sharding=sharding,
        layout="bhtd",
        encodings=[held],
        positions=None if encoding.axes == 1 else at,
        causal=causal,
        hidden=tensors[3] if len(tensors) > 3 else None,
    )
    close(got, want)
    both = [gradients(output, weights_of(want), tensors, held) for output in (got, want)]
    for mine, theirs in zip(*both, strict=True):
        close(mine, theirs)


SHARDINGS = [
    Sharding([8, 16], ranks=2, scheme="zigzag", each_document=True),
    Sharding([5, 11], ranks=4, scheme="zigzag", each_document=False),
    Sharding([7, 3, 2], ranks=3, scheme="contiguous", each_document=False),
    Sharding(12, ranks=3, scheme="contiguous"),
]


def test_ranks_that_share_a_row_attend_as_one_does_with_its_gradients():
    every([each for each in RECORDS if each in FEW], lambda encoding: compare(encoding, SHARDINGS[0], causal=True))


@pytest.mark.nightly
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "all"])
@pytest.mark.parametrize("sharding", SHARDINGS, ids=range(4))
def test_every_encoding_in_every_sharding(sharding, causal):
    every(RECORDS, lambda encoding: compare(encoding, sharding, causal))


def compare_with_shared_heads(encoding, causal):
    heads = getattr(encoding, "heads", None) or HEADS
    ranks = 2 if heads % 2 == 0 else heads
    sharding = Sharding([2 * ranks, 3 * ranks], ranks=ranks, scheme="ulysses", each_document=False)
    if needs_all_heads(encoding):
        with pytest.raises(ValueError, match="encodings must not need all heads at once under 'ulysses'"):
            compare(encoding, sharding, causal)
    else:
        compare(encoding, sharding, causal)


def test_ranks_that_share_the_heads_attend_as_one_does():
    every([each for each in RECORDS if each in FEW], lambda encoding: compare_with_shared_heads(encoding, causal=True))


@pytest.mark.nightly
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "all"])
def test_every_encoding_with_shared_heads(causal):
    every(RECORDS, lambda encoding: compare_with_shared_heads(encoding, causal))


def test_rotations_keep_their_order_where_ranks_share_the_heads():
    """Rotations of other pairs do not commute, so those before one that differs by head may not come after it."""
    halves, by_head = RoPE(dim=8, pairing="halves"), RoPEPlusPlus(dim=8, heads=4, pairing="adjacent")
    draw = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, heads, 16, 8, generator=draw, dtype=torch.float64) for heads in (4, 2, 2))
    sharding, at = Sharding(16, ranks=2, scheme="ulysses"), torch.arange(16)
    differs = []
    for encodings in ([halves, by_head], [by_head, halves], [halves, by_head, halves, ValueRotation(halves)]):
        options = {"layout": "bhtd", "encodings": encodings, "causal": True}
        want = attention(q, k, v, query_positions=at, key_positions=at, **options)
        close(simulated_attention(q, k, v, sharding=sharding, **options), want)
        differs.append(want)
    assert (differs[0] - differs[1]).abs().max() > 1e-3


def test_a_rank_that_counts_its_own_tokens_from_zero_gives_something_else():
    """The planted fault of the field: local positions instead of those of the row."""
    sharding = Sharding(16, ranks=2, scheme="zigzag")
    for encoding, seen in ((RoPE(dim=8), True), (ALiBi(heads=12), True), (RoPE(dim=8), False)):
        tensors, held = row_of(encoding, [16])
        local = sharding.unshard([torch.arange(8), torch.arange(8)]) if seen else torch.arange(16) + 5
        got = simulated_attention(*tensors[:3], sharding=sharding, layout="bhtd", encodings=[held], positions=local)
        differs = float((got - whole(tensors, held, [16], causal=False)).detach().abs().max()) > 1e-3
        assert differs == seen, "positions that are all 5 later change nothing, local ones do"


def test_windows_layouts_and_grouped_heads_hold_across_ranks():
    sharding = Sharding([8, 16], ranks=4, scheme="contiguous", each_document=False)
    tensors, held = row_of(RoPE(dim=8), sharding.lengths)
    alone = Sharding(sharding.lengths, ranks=1, scheme="contiguous", each_document=False)
    options = {"layout": "bthd", "encodings": [held], "causal": True, "scale": 0.4}
    q, k, v = (x.transpose(1, 2) for x in tensors)
    for window in ({"window": (2, None)}, {"sliding_window": 3}):
        shared = simulated_attention(q, k, v, sharding=sharding, **options, **window)
        close(shared, simulated_attention(q, k, v, sharding=alone, **options, sliding_window=3))
    assert (shared - simulated_attention(q, k, v, sharding=alone, **options)).abs().max() > 1e-3


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROGRAM.parents[1]), *sys.path]), **more}


def on_processes(count, *arguments):
    """Run the program of the ranks in processes with the environment that torchrun gives them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-W", "ignore", str(PROGRAM), *map(str, arguments)]
    env = environment(WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    ranks = [subprocess.Popen(command, env={**env, "RANK": str(rank)}, **pipes) for rank in range(count)]
    try:
        return [(*rank.communicate(timeout=900), rank.returncode) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()


@pytest.mark.nightly
def test_two_processes_attend_as_one_does():
    few = [RECORDS.index(encoding) for encoding in (RoPE(dim=8), *firsts("T5Bias", "PaTH", "TransformerXL"))]
    ran = on_processes(2, "zigzag", *few)
    assert [code for *_, code in ran] == [0, 0], ran
    assert ran[0][0] == "4 encodings on 2 ranks, zigzag\n"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("count", "scheme"), [(2, "zigzag"), (2, "contiguous"), (2, "ulysses"), (4, "zigzag")], ids=str
)
def test_processes_attend_as_one_does_with_every_encoding(count, scheme):
    ran = on_processes(count, scheme)
    assert [code for *_, code in ran] == [0] * count, ran
    compared = int(re.match(rf"(\d+) encodings on {count} ranks, {scheme}\n", ran[0][0])[1])
    assert compared == len(RECORDS) if scheme != "ulysses" else compared > len(RECORDS) / 2


@pytest.mark.nightly
def test_the_same_program_runs_under_torchrun():
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ran = subprocess.run(
        [*torchrun, PROGRAM, "zigzag", "0"], env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.stdout == "1 encodings on 2 ranks, zigzag\n", ran.stderr


def test_what_ranks_cannot_share_is_refused_before_anything_is_exchanged():
    sharding = Sharding(16, ranks=2, scheme="ulysses")
    x = torch.ones(1, 12, 16, 8)
    options = {"layout": "bhtd", "sharding": sharding}
    for more, message in (
        ({"encodings": [RoPE(dim=8)], "window": (1, 1)}, "window must stand beside causal=True"),
        ({"encodings": [T5Bias(heads=4)]}, "encodings must hold the parameters|encodings must have as many heads"),
        ({"sharding": Sharding(16, ranks=8, scheme="ulysses")}, "heads must be a multiple of ranks = 8.*got 12"),
        ({"sharding": 2}, "sharding must be a Sharding"),
        (
            {"sharding": Sharding(8, ranks=2, scheme="zigzag")},
            "q must have 8 tokens, as sharding has; got 16",
        ),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            simulated_attention(x, x, x, **{**options, **more})


def test_tokens_of_a_rank_are_embedded_as_in_the_whole_row():
    """What adds to the embeddings needs nothing but the positions of the rank's tokens."""
    sharding = Sharding([4, 4], ranks=2, scheme="zigzag", each_document=True)

    def check(encoding):
        held, at = module(encoding, seed=3), positions_of(encoding, sharding.lengths)
        x = torch.randn(1, 8, encoding.width, generator=torch.Generator().manual_seed(0))
        parts = [held(sharding.shard(x, rank, axis=1), sharding.shard(at, rank)) for rank in range(2)]
        assert torch.allclose(sharding.unshard(parts, axis=1), held(x, at), atol=1e-6)

    every([row.samples[0] for row in CATALOG if isinstance(row.samples[0], AdditiveEncoding)], check)
