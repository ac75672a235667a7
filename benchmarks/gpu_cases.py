"""What benchmarks/gpu.py compares: rotations, with a norm, into a cache, with gradients, next to what others have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

import posenc.torch
from posenc.torch import rotate, rotate_, rotate_into_cache_, rotate_normed, rotate_normed_

Run = Callable[[], tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Variant:
    """make: a call of its own tensors, which gives what is to be compared. right: whether it claims to be so; a floor
    does not."""

    make: Callable[[], Run]
    right: bool = True


@dataclass(frozen=True)
class Case:
    """expected: in float64. bytes: the fewest that must be moved. graph: timed as a CUDA graph, without Python's
    part."""

    name: str
    floor: str
    bytes: int
    expected: tuple[torch.Tensor, ...]
    variants: dict[str, Variant]
    graph: bool = False


@dataclass(frozen=True)
class Problem:
    """Queries and keys with batch and time outermost in memory, given as (batch, heads, time, dim)."""

    batch: int
    length: int
    dtype: torch.dtype
    device: str
    heads: tuple[int, int] = (32, 8)
    dim: int = 128

    def __str__(self) -> str:
        kind = str(self.dtype).removeprefix("torch.")
        return (
            f"batch {self.batch}, {self.length} tokens, {self.heads[0]} and {self.heads[1]} heads of {self.dim}, {kind}"
        )

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k and v, the same ones at every call, in new memory."""
        made = []
        for seed, count in enumerate((*self.heads, self.heads[1])):
            shape, source = (self.batch, self.length, count, self.dim), torch.Generator().manual_seed(seed)
            made.append(torch.randn(shape, generator=source).to(self.dtype).to(self.device).transpose(1, 2))
        return made[0], made[1], made[2]

    @property
    def positions(self) -> torch.Tensor:
        return torch.arange(self.length, device=self.device) + 4000

    @property
    def encoding(self) -> Any:
        return posenc.RoPE(dim=self.dim, base=500_000.0, pairing="halves")

    def rotation(self, dtype: torch.dtype = torch.float32) -> Any:
        return self.encoding.rotation(self.positions, dtype=dtype)

    def angles(self) -> Any:
        return posenc.torch.angles(self.encoding, self.positions)

    def tables(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines of full width in the model's dtype, as transformers has them."""
        rotation = self.rotation()
        cos, sin = (torch.cat([part, part], -1)[None].to(self.dtype) for part in (rotation.cos, rotation.sin))
        return cos, sin


def cases(device: str, *, small: bool) -> Iterator[Case]:
    """Sizes that fill a GPU, and one token for each of 32 sequences; small: what an interpreter can do."""
    if small:
        little = Problem(2, 2, torch.bfloat16, device, (4, 2), 16)
        yield from (rotated(little, device), normed(little, device), cached(little, device), learnt(little, device))
        return
    for dtype in (torch.bfloat16, torch.float32):
        prefill, decode = Problem(1, 16_384, dtype, device), Problem(32, 1, dtype, device)
        for make in (rotated, normed, cached, learnt):
            yield make(prefill, device)
        for make in (rotated, normed, cached):
            yield make(decode, device, graph=True)


def rotated(problem: Problem, device: str, *, graph: bool = False) -> Case:
    q, k, _ = problem.tensors()
    rotation, far, tables = problem.rotation(), problem.angles(), problem.tables()

    def in_place(run: Callable[[Any, Any], Any]) -> Variant:
        def make() -> Run:
            mine, keys, _ = problem.tensors()

            def call() -> tuple[torch.Tensor, ...]:
                run(mine, keys)
                return mine, keys

            return call

        return Variant(make)

    def new(run: Callable[[Any, Any], Any]) -> Variant:
        return Variant(lambda: lambda: run(q, k))

    variants = {
        "copy of q and k": copies(q, k),
        "posenc, table, in place": in_place(lambda q, k: rotate_(q, k, rotation, layout="bhtd", impl="triton")),
        "posenc, table, new memory": new(lambda q, k: rotate(q, k, rotation, layout="bhtd", impl="triton")),
        "posenc, exact angles, in place": in_place(lambda q, k: rotate_(q, k, far, layout="bhtd", impl="triton")),
        "posenc, exact angles, new memory": new(lambda q, k: rotate(q, k, far, layout="bhtd", impl="triton")),
    } | others(device, lambda rotary: new(lambda q, k: rotary(q, k, *tables)), apply_rotary_pos_emb)
    if device == "cuda" and find_spec("flash_attn") is not None:
        flash = import_module("flash_attn.layers.rotary").apply_rotary_emb
        half = tuple(part[0, :, : problem.dim // 2].contiguous() for part in tables)
        variants["flash-attention, in place"] = in_place(
            lambda q, k: [flash(x.transpose(1, 2), *half, inplace=True) for x in (q, k)]
        )
    if device == "cuda" and find_spec("liger_kernel") is not None:
        liger = import_module("liger_kernel.ops.rope").LigerRopeFunction
        variants["Liger, in place"] = in_place(lambda q, k: liger.apply(q, k, *tables))
    true = problem.rotation(torch.float64)
    expected = tuple(true(x.double(), layout="bhtd") for x in (q, k))
    return Case(f"rotated: {problem}", "copy of q and k", moved(q, k), expected, variants, graph)


def normed(problem: Problem, device: str, *, graph: bool = False) -> Case:
    q, k, _ = problem.tensors()
    rotation, far, tables = problem.rotation(), problem.angles(), problem.tables()
    norms = [Qwen3RMSNorm(problem.dim, eps=1e-6).to(device, problem.dtype) for _ in range(2)]
    for seed, norm in enumerate(norms):
        with torch.no_grad():
            norm.weight += 0.1 * torch.randn(problem.dim, generator=torch.Generator().manual_seed(seed)).to(norm.weight)
    weights: Any = {"q_weight": norms[0].weight.detach(), "k_weight": norms[1].weight.detach(), "epsilon": 1e-6}

    def in_place(source: Any) -> Run:
        mine, keys, _ = problem.tensors()
        return lambda: rotate_normed_(mine, keys, source, **weights, layout="bhtd", impl="triton")

    @torch.no_grad()
    def eager(q: Any, k: Any, cos: Any, sin: Any) -> Any:
        return apply_rotary_pos_emb(norms[0](q), norms[1](k), cos, sin)

    variants = {
        "copy of q and k": copies(q, k),
        "posenc, norm and table, in place": Variant(lambda: in_place(rotation)),
        "posenc, norm and exact angles, in place": Variant(lambda: in_place(far)),
        "posenc, norm and table, new memory": Variant(
            lambda: lambda: rotate_normed(q, k, rotation, **weights, layout="bhtd", impl="triton")
        ),
    } | others(device, lambda rotary: Variant(lambda: lambda: rotary(q, k, *tables)), eager)
    doubles = {name: part.double() if isinstance(part, torch.Tensor) else part for name, part in weights.items()}
    true = problem.rotation(torch.float64)
    expected = rotate_normed(q.double(), k.double(), true, **doubles, layout="bhtd", impl="reference")
    return Case(f"normed: {problem}", "copy of q and k", moved(q, k), expected, variants, graph)


def cached(problem: Problem, device: str, *, graph: bool = False) -> Case:
    """Into rows of a cache at the places 4000 and on; what is compared are q and the part of the caches that was
    written."""
    q, k, v = problem.tensors()
    rotation, far, tables, places = problem.rotation(), problem.angles(), problem.tables(), problem.positions
    length = 4000 + problem.length

    def caches() -> tuple[torch.Tensor, torch.Tensor]:
        shape = (problem.batch, length, problem.heads[1], problem.dim)
        k, v = (torch.zeros(shape, dtype=problem.dtype, device=device).transpose(1, 2) for _ in range(2))
        return k, v

    def ours(source: Any) -> Variant:
        def make() -> Run:
            (mine, keys, values), own = problem.tensors(), caches()

            def call() -> tuple[torch.Tensor, ...]:
                rotate_into_cache_(mine, keys, values, source, *own, places, layout="bhtd", impl="triton")
                return mine, own[0][:, :, 4000:], own[1][:, :, 4000:]

            return call

        return Variant(make)

    def theirs(rotary: Callable[..., Any]) -> Variant:
        def make() -> Run:
            own = caches()

            def call() -> tuple[torch.Tensor, ...]:
                rotated, keys = rotary(q, k, *tables)
                own[0].index_copy_(2, places, keys)
                own[1].index_copy_(2, places, v)
                return rotated, own[0][:, :, 4000:], own[1][:, :, 4000:]

            return call

        return Variant(make)

    variants = {
        "copy of q, k and v": copies(q, k, v),
        "posenc, table, into the cache": ours(rotation),
        "posenc, exact angles, into the cache": ours(far),
    } | others(device, theirs, apply_rotary_pos_emb)
    true = problem.rotation(torch.float64)
    expected = (*(true(x.double(), layout="bhtd") for x in (q, k)), v.double())
    return Case(f"cached: {problem}", "copy of q, k and v", moved(q, k, v), expected, variants, graph)


def learnt(problem: Problem, device: str) -> Case:
    """Forward and backward: the gradients of q and k for given ones of what they were turned into."""
    q, k, _ = problem.tensors()
    rotation, far, tables = problem.rotation(), problem.angles(), problem.tables()

    def both(run: Callable[[Any, Any], Any]) -> Variant:
        def make() -> Run:
            leaves = [x.clone().requires_grad_() for x in (q, k)]
            return lambda: torch.autograd.grad(run(*leaves), leaves, (q, k))

        return Variant(make)

    variants = {
        "copy of q and k, twice": copies(q, k, q, k),
        "posenc, table": both(lambda q, k: rotate(q, k, rotation, layout="bhtd", impl="triton")),
        "posenc, exact angles": both(lambda q, k: rotate(q, k, far, layout="bhtd", impl="triton")),
    } | others(device, lambda rotary: both(lambda q, k: rotary(q, k, *tables)), apply_rotary_pos_emb)
    back = problem.rotation(torch.float64).inverse()
    expected = tuple(back(x.double(), layout="bhtd") for x in (q, k))
    return Case(f"forward and backward: {problem}", "copy of q and k, twice", 2 * moved(q, k), expected, variants)


def others(device: str, variant: Callable[[Any], Variant], function: Any) -> dict[str, Variant]:
    """The code of transformers as it is and, on a GPU, compiled."""
    found = {"transformers": variant(function)}
    if device == "cuda":
        found["transformers, compiled"] = variant(torch.compile(function, dynamic=False))
    return found


def copies(*tensors: torch.Tensor) -> Variant:
    """What must at least be done: as many bytes read and written."""
    targets = [torch.empty_like(x) for x in tensors]
    return Variant(lambda: lambda: tuple(to.copy_(x) for to, x in zip(targets, tensors, strict=True)), right=False)


def moved(*tensors: torch.Tensor) -> int:
    return sum(2 * x.numel() * x.element_size() for x in tensors)
