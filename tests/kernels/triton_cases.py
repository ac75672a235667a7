"""What tests/kernels/test_triton.py runs in a process of its own, in Triton's interpreter or on a GPU: each case raises
or passes."""

from __future__ import annotations

import sys
from itertools import product
from typing import Any

import numpy as np
import torch

import posenc
from posenc import AxialRoPE, Partial, RoPE, YaRN
from posenc.kernels import triton
from posenc.phase import cosine_sine, revolution_words
from posenc.torch import angles, chosen, rotate, rotate_, rotate_into_cache_, rotate_normed, rotate_normed_

RECORDS = (
    RoPE(dim=16, pairing="halves"),
    RoPE(dim=6),
    RoPE(dim=10, pairing="halves", scaling=YaRN(factor=8.0, original=128)),
    Partial(RoPE(dim=6, pairing="halves"), dim=11, start=3),
    Partial(RoPE(dim=8), dim=12),
    AxialRoPE(axis=(0, 0, 0, 1, 1, 1), frequency_index=(0, 1, 2, 0, 1, 2), frequency_dim=6, pairing="halves", blocks=2),
)


def content(count: int, time: int, dim: int, layout: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    shape = (2, count, time, dim) if layout == "bhtd" else (2, time, count, dim)
    return torch.randn(shape, generator=torch.Generator().manual_seed(count), device="cpu").to(triton.WHERE, dtype)


def drawn(least: int, most: int, *shape: int) -> torch.Tensor:
    source = torch.Generator().manual_seed(3)
    return torch.randint(least, most, shape, generator=source, device="cpu").to(triton.WHERE)


def words(encoding: Any) -> torch.Tensor:
    """Of an encoding of one axis, (2, 1, pairs)."""
    return torch.from_numpy(revolution_words(encoding.frequencies))[:, None].to(triton.WHERE)


def same(found: Any, wanted: Any) -> None:
    for mine, theirs in zip(found, wanted, strict=True):
        # Triton's interpreter cuts bfloat16 off where a GPU rounds: one unit in the last place.
        unit = 2**-7 * theirs.abs() if theirs.dtype == torch.bfloat16 else torch.zeros_like(theirs)
        if mine.dtype != theirs.dtype or not ((mine.float() - theirs.float()).abs() <= unit.float()).all():
            raise SystemExit(f"expected {theirs.flatten()[:4]}, got {mine.flatten()[:4]}")


def every_encoding() -> None:
    for encoding in RECORDS:
        axes = () if encoding.axes == 1 else (2,)
        for rows, time, layout, dtype in (((), 3, "bhtd", torch.float32), ((2,), 1, "bthd", torch.bfloat16)):
            places = drawn(0, 100_000, *rows, time, *axes)
            rotation = encoding.rotation(places)
            q, k = (content(count, time, encoding.head_dim, layout, dtype) for count in (6, 2))
            wanted = rotate(q, k, rotation, layout=layout, impl="reference")
            same(rotate(q, k, rotation, layout=layout, impl="triton"), wanted)
            same(rotate_(q.clone(), k.clone(), rotation, layout=layout, impl="triton"), wanted)


def tables_that_lie_differently() -> None:
    """Sines copied by `inverse`, cosines cut from a longer row."""
    every = RoPE(dim=8).rotation(drawn(0, 100_000, 2, 6))
    rotation = posenc.Rotation(every.cos[:, :3], every.sin[:, :3], every.pairing).inverse()
    q, k = (content(count, 3, 8, "bhtd") for count in (4, 2))
    wanted = [rotation(x, layout="bhtd") for x in (q, k)]
    same(rotate(q, k, rotation, layout="bhtd", impl="triton"), wanted)


def queries_alone() -> None:
    """Without keys, whole heads and a part of their channels, in one launch."""
    for encoding in (RECORDS[0], RECORDS[3]):
        places = drawn(0, 100_000, 3)
        q = content(6, 3, encoding.head_dim, "bhtd")
        for by in (encoding.rotation(places), angles(encoding, places)):
            found = rotate(q, q[:, :0], by, layout="bhtd", impl="triton")
            wanted = encoding.rotation(places)(q, layout="bhtd")
            # Angles are computed by polynomials, within 1.2e-7.
            if found[1].numel() or not (found[0] - wanted).abs().max() <= 4e-7 * q.abs().max():
                raise SystemExit(f"{encoding}, queries alone: {(found[0] - wanted).abs().max()} off")


#: Heads of queries and of keys, and their size, of every rotation that a benchmark times.
BENCHMARKED = ((32, 8, 128), (24, 6, 96), (16, 16, 64), (16, 16, 80), (16, 16, 72), (16, 16, 50))


def benchmarked_shapes() -> None:
    """In place and into new memory, by a table and by exact angles, both pairings and layouts, in two dtypes."""
    for (queries, keys, dim), pairing in product(BENCHMARKED, ("halves", "adjacent")):
        encoding, places = RoPE(dim=dim, pairing=pairing), drawn(0, 100_000, 2)
        for layout, dtype in (("bthd", torch.float32), ("bhtd", torch.bfloat16)):
            q, k = (content(count, 2, dim, layout, dtype) for count in (queries, keys))
            rotation = encoding.rotation(places)
            wanted = rotate(q, k, rotation, layout=layout, impl="reference")
            same(rotate_(q.clone(), k.clone(), rotation, layout=layout, impl="triton"), wanted)
            for mine, theirs in zip(
                rotate(q, k, angles(encoding, places), layout=layout, impl="triton"), wanted, strict=True
            ):
                unit = 2.0**-7 if dtype == torch.bfloat16 else 4e-7
                if not (mine.float() - theirs.float()).abs().max() <= unit * max(1.0, theirs.abs().max().item()):
                    raise SystemExit(f"{encoding}, {layout}, {dtype}: other numbers than the reference")


def exact_waves() -> None:
    """cos and sin at every kind of place, from a pair (1, 0): within 1.2e-7 of the true value up to 2^53."""
    edges = torch.tensor([0, 1, -1, 131_071, 10**7, 2**31, -(2**31), 2**40 + 1, 2**53 - 1, 1 - 2**53])
    places = torch.cat([edges, drawn(-(2**31), 2**31, 12)])
    for base in (10_000.0, 500_000.0):
        encoding = RoPE(dim=2048, base=base)
        pairs = torch.tensor([1.0, 0.0]).repeat(1024).expand(1, 1, len(places), 2048).contiguous()
        cos_sin = triton.CosSinSource(positions=places[None, :, None], words=words(encoding))
        rotated, _ = triton.rotate(pairs, pairs, cos_sin, triton.Channels(0, 1, True))
        wanted = torch.stack(cosine_sine(places, encoding.frequencies, dtype=torch.float64), -1)
        gap = (rotated.reshape(wanted.shape).double() - wanted).abs()
        if not gap.max() <= 1.2e-7:
            raise SystemExit(f"a wave is {gap.max()} off at {places[gap.flatten(1).max(1).values.argmax()]}")
        x = content(1, len(places), 2048, "bhtd")[:1]
        exact = encoding.rotation(places, dtype=torch.float64)(x.double(), layout="bhtd")
        for dtype in (torch.bfloat16, torch.float16):
            right = (
                (triton.rotate(x, x, cos_sin, triton.Channels(0, 1, True))[0].to(dtype) == exact.to(dtype))
                .double()
                .mean()
            )
            if not right >= 0.999:
                raise SystemExit(f"{right:.5f} of the numbers in {dtype} are correctly rounded")
    beyond = torch.tensor([2**53 + 1, -(2**53) - 1, 2**62])[None, :, None]
    far = triton.CosSinSource(positions=beyond, words=words(RoPE(dim=2)))
    x = torch.ones(1, 1, 3, 2)
    if not triton.rotate(x, x, far, triton.Channels(0, 1, True))[0].isnan().all():
        raise SystemExit("a place too far away gave a number")


def exact_rotations() -> None:
    """Both pairings, channels that stay, a factor, positions of every row, counted ones, gradients: as the rotation."""
    for encoding, rows, dtype in (
        (RoPE(dim=10, pairing="halves", scaling=YaRN(factor=8.0, original=128)), (2,), torch.float32),
        (Partial(RoPE(dim=6), dim=11, start=3), (), torch.bfloat16),
    ):
        inner = getattr(encoding, "encoding", encoding)
        for positions in (drawn(0, 2**31, *rows, 3), None):
            rotation = encoding.rotation(torch.arange(7, 10) if positions is None else positions)
            given = None if positions is None else positions.reshape(-1, 3, 1)
            cos_sin, channels = (
                triton.CosSinSource(None, None, given, words(inner), 7, rotation.factor),
                triton.of_table(rotation)[1],
            )
            q, k = (content(count, 3, encoding.head_dim, "bhtd", dtype) for count in (3, 2))
            found, grown = [], []
            for rotated in (
                lambda q, k, cos_sin=cos_sin, channels=channels: triton.rotate(q, k, cos_sin, channels),
                lambda q, k, rotation=rotation: rotate(q, k, rotation, layout="bhtd", impl="reference"),
            ):
                leaves = q.clone().requires_grad_(), k.clone().requires_grad_()
                found.append(rotated(*leaves))
                grown.append(torch.autograd.grad(found[-1], leaves, (2 * q, k[..., :1].expand_as(k))))
            ours = q.clone(), k.clone()
            triton.rotate_in_place(*ours, cos_sin, channels)
            close(ours, found[1])
            close(found[0], found[1])
            close(grown[0], grown[1])


def close(found: Any, wanted: Any) -> None:
    """As far apart as two waves that are 1.2e-7 off and three roundings make it, for numbers below 16."""
    for mine, theirs in zip(found, wanted, strict=True):
        unit = 2**-7 * theirs.abs().float() if theirs.dtype == torch.bfloat16 else 0.0
        if not ((mine.float() - theirs.float()).abs() <= 16 * (2 * 1.2e-7 + 3 * 2**-24) + unit).all():
            raise SystemExit(f"{(mine.float() - theirs.float()).abs().max()} apart")


def heads_of_their_own() -> None:
    every = RoPE(dim=8).rotation(torch.arange(15).reshape(3, 5))
    rotation = posenc.Rotation(every.cos, every.sin, every.pairing, 1.0, heads=3)
    q, k = content(3, 5, 8, "bhtd"), content(3, 5, 8, "bhtd") + 1
    same(rotate(q, k, rotation, layout="bhtd", impl="triton"), rotate(q, k, rotation, layout="bhtd", impl="reference"))


def gradients() -> None:
    rotation = Partial(RoPE(dim=6, pairing="halves", scaling=YaRN(factor=4.0, original=64)), dim=9, start=2).rotation(
        torch.arange(4)
    )
    found = []
    for impl in ("triton", "reference"):
        q, k = (content(count, 4, 9, "bthd").requires_grad_() for count in (4, 2))
        rotated = rotate(q, k, rotation, layout="bthd", impl=impl)
        (rotated[0].square().sum() + rotated[1].sum()).backward()
        found.append((q.grad, k.grad))
    for mine, theirs in zip(*found, strict=True):
        if not (mine - theirs).abs().max() <= 3 * 16 * 2**-24:  # two products and a sum of numbers below 16
            raise SystemExit(f"gradients are {(mine - theirs).abs().max()} apart")


def tracers() -> None:
    """PyTorch's own checks of schemas, shapes, autograd and compilation; vmap, and compilation without a break."""
    rotation = RoPE(dim=4).rotation(torch.arange(2))
    q, k = content(2, 2, 4, "bhtd")[:1], content(1, 2, 4, "bhtd")[:1]
    how = (*triton.of_table(rotation)[0], *triton.of_table(rotation)[1])
    weights = (q[0, 0, 0].clone().requires_grad_(), k[0, 0, 0].clone().requires_grad_())
    operators, caches = torch.ops.posenc, (torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 4, 4))
    leaves = q.clone().requires_grad_(), k.clone().requires_grad_()
    torch.library.opcheck(operators.rotate_pair_triton.default, (*leaves, False, *how, *weights, 1e-6, False))
    torch.library.opcheck(operators.rotate_pair_triton_.default, (q.clone(), k.clone(), False, *how, *triton.PLAIN))
    torch.library.opcheck(
        operators.rotate_into_cache_triton_.default,
        (q.clone(), k, k.clone(), *caches, torch.tensor([[1, 3]]), False, *how, *triton.PLAIN),
    )
    wanted = rotate(q, k, rotation, layout="bhtd", impl="reference")
    for call in (
        lambda q, k: rotate(q, k, rotation, layout="bhtd", impl="triton"),
        lambda q, k: rotate_(q.clone(), k.clone(), rotation, layout="bhtd", impl="triton"),
    ):
        same(torch.compile(call, fullgraph=True, backend="aot_eager")(q, k), wanted)
    mapped = torch.func.vmap(lambda q, k: rotate(q, k, rotation, layout="bhtd", impl="triton"), in_dims=(0, 1))
    same([part[1] for part in mapped(torch.stack([q, 2 * q]), torch.stack([k, 2 * k], 1))], [2 * x for x in wanted])


def refusals() -> None:
    q, k = content(2, 3, 8, "bhtd").double(), content(2, 3, 8, "bhtd").double()
    rotation = RoPE(dim=8).rotation(torch.arange(3))
    if chosen(q, k, RoPE(dim=8).rotation(torch.arange(3), dtype=torch.float64), layout="bhtd").impl == "triton":
        raise SystemExit("float64 is not for this kernel")
    try:
        rotate(q, k, rotation, layout="bhtd", impl="triton")
    except ValueError as error:
        if not str(error).startswith("impl must be one that can rotate these tensors; got 'triton', but"):
            raise
    else:
        raise SystemExit("float64 was rotated")


def norms() -> None:
    """Both forms of the weight, channels that stay, both pairings; in place; gradients of vectors and weights."""
    for encoding, plus_one, layout in (
        (RoPE(dim=6, pairing="halves"), False, "bthd"),
        (Partial(RoPE(dim=6), dim=11, start=3), True, "bhtd"),
    ):
        q, k = (content(count, 2, encoding.head_dim, layout) for count in (3, 2))
        rotation, weights = encoding.rotation(torch.arange(2) + 100), content(2, 1, encoding.head_dim, "bhtd")[0, :, 0]
        given = {"epsilon": 1e-2, "plus_one": plus_one, "layout": layout}
        found, grown = [], []
        for impl in ("triton", "reference"):
            leaves = [part.clone().requires_grad_() for part in (q, k, *weights)]
            named = {"q_weight": leaves[2], "k_weight": leaves[3]}
            found.append(rotate_normed(*leaves[:2], rotation, **named, **given, impl=impl))
            grown.append(torch.autograd.grad(found[-1], leaves, (k[:, :1, :1] + q, k)))
        close(found[0], found[1])
        close(grown[0], grown[1])
        q, k = rotate_normed_(q, k, rotation, q_weight=weights[0], k_weight=weights[1], **given, impl="triton")
        close((q, k), found[1])
        far = angles(encoding, torch.arange(2) + 100)
        close(rotate_normed(*leaves[:2], far, **named, **given, impl="triton"), found[1])


def caches() -> None:
    """Rows of a cache and pages, both pairings, token-major memory; slots that do not exist."""
    slots = torch.tensor([[5, 2, 9], [0, 11, 7]])
    for encoding, paged, shape in (
        (RoPE(dim=6, pairing="halves"), False, (2, 12)),
        (Partial(RoPE(dim=6), dim=8), True, (4, 3)),
    ):
        q, k = (content(count, 3, encoding.head_dim, "bhtd") for count in (4, 2))
        v = content(2, 3, 5, "bhtd") + 1
        rotation = encoding.rotation(torch.arange(3) + 100)
        ours = [torch.full((*shape, 2, dim), -9.0).transpose(1, 2) for dim in (encoding.head_dim, 5)]
        wanted = [cache.clone() for cache in ours]
        rotated = rotate_into_cache_(q.clone(), k, v, rotation, *ours, slots, layout="bhtd", paged=paged, impl="triton")
        for row, token in np.ndindex(2, 3):
            slot = int(slots[row, token])
            outer, inner = divmod(slot, shape[1]) if paged else (row, slot)
            wanted[0][outer, :, inner] = rotation(k, layout="bhtd")[row, :, token]
            wanted[1][outer, :, inner] = v[row, :, token]
        same((rotated, *ours), (rotation(q, layout="bhtd"), *wanted))
        before = [cache.clone() for cache in ours]
        gone = torch.tensor([[12, -1, 2**40]])
        triton.rotate_into_cache(rotated, k, v, (ours[0], ours[1]), gone, paged, *triton.of_table(rotation))
        same(ours, before)
        if not rotated[..., :6].isnan().all():
            raise SystemExit("a token of a slot that is not there got a number")
        weights = content(2, 1, encoding.head_dim, "bhtd")[0, :, 0]
        normed, norm = q.clone(), triton.Norm(*weights, 1e-2, True)
        triton.rotate_into_cache(normed, k, v, (ours[0], ours[1]), slots, paged, *triton.of_table(rotation), norm)
        names = dict(zip(norm._fields, norm, strict=True))
        rotated, keys = rotate_normed(q, k, rotation, **names, layout="bhtd", impl="reference")
        pages = ours[0].transpose(1, 2)
        found = pages.reshape(-1, *pages.shape[2:])[slots] if paged else pages[[[0], [1]], slots]
        close((normed, found.transpose(1, 2)), (rotated, keys))


def angles_without_a_table() -> None:
    for encoding in RECORDS:
        places = drawn(0, 2**31, 2, 3, *(() if encoding.axes == 1 else (2,)))
        far, rotation = angles(encoding, places), encoding.rotation(places)
        q, k = (content(count, 3, encoding.head_dim, "bthd") for count in (4, 2))
        for found in (
            rotate(q, k, far, layout="bthd", impl="triton"),
            rotate_(q.clone(), k.clone(), far, layout="bthd", impl="triton"),
        ):
            for mine, theirs in zip(found, rotate(q, k, rotation, layout="bthd", impl="reference"), strict=True):
                # Waves off by 9.3e-8, times two numbers below 8.
                if not (mine - theirs).abs().max() <= 2 * 9.3e-8 * 8:
                    raise SystemExit(f"{encoding}: {(mine - theirs).abs().max()} apart")


def captured() -> None:
    """On a GPU alone: by inductor, and in a CUDA graph, as models are served."""
    rotation = RoPE(dim=16, pairing="halves").rotation(torch.arange(5) + 100)
    q, k = content(4, 5, 16, "bhtd", torch.bfloat16), content(2, 5, 16, "bhtd", torch.bfloat16)
    wanted = rotate(q, k, rotation, layout="bhtd", impl="reference")
    for call in (
        lambda q, k: rotate(q, k, rotation, layout="bhtd", impl="triton"),
        lambda q, k: rotate_(q.clone(), k.clone(), rotation, layout="bhtd", impl="triton"),
    ):
        same(torch.compile(call, fullgraph=True)(q, k), wanted)
    mine, graph = (q.clone(), k.clone()), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rotate_(*mine, rotation, layout="bhtd", impl="triton")
    for part, content_again in zip(mine, (q, k), strict=True):
        part.copy_(content_again)
    graph.replay()
    same(mine, wanted)


if __name__ == "__main__":
    if triton.WHERE != "cpu":
        torch.set_default_device(triton.WHERE)
    if not sys.argv[1:]:
        raise SystemExit("name a case at least: none is none that passes")
    for case in sys.argv[1:]:
        globals()[case]()
