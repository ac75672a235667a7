"""What tests/kernels/test_triton.py runs in a process of its own: kernels compiled for two GPUs that are not there,
Ampere and Hopper, to machine code.

It shows that the compiler and the assembler take them, for heads of every size that a benchmark times, that nothing is
spilled, and that no product is fused with a sum; and for heads of 128 channels in bfloat16 that memory is read and
written 16 bytes at a time.
"""

from __future__ import annotations

import re
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

from posenc.kernels.triton.cos_sin_kernel import Channels, CosSinSource
from posenc.kernels.triton.kv_cache_kernel import rotate_into_cache
from posenc.kernels.triton.launch import RotationArguments, launch_plan, rotate_token_block

GPUS = (GPUTarget("cuda", 80, 32), GPUTarget("cuda", 90, 32))
#: Heads of queries and of keys, and their size; those of Llama are judged by how they read memory too.
LLAMA = (32, 8, 128)
OTHERS = ((24, 6, 96), (16, 16, 64), (16, 16, 80), (16, 16, 72), (16, 16, 50), (32, 0, 128))
#: As PyTorch allocates: at 16 bytes, with strides of as many numbers.
ALIGNED = [["tt.divisibility", 16]]
WHOLE = ("positions", "words", "slots")


def compiled(kernel: Any, given: dict[str, Any], gpu: GPUTarget, dtype: str = "bf16") -> str:
    """The PTX of a kernel, after the assembler has taken it too."""
    options = {name: given[name] for name in ("num_warps", "enable_fp_fusion")}
    constants = {name: value for name, value in given.items() if name not in options}
    signature, aligned = {}, {}
    for index, name in enumerate(parameter.name for parameter in kernel.params):
        tensor = name in ("q", "k", "v", "cosine", "sine", "q_weight", "k_weight", *WHOLE) or name.startswith("to_")
        tensor = tensor and not name.endswith(("_batch", "_head", "_time"))
        if name in constants:
            signature[name] = "constexpr"
        elif tensor:
            kind = "i64" if name in WHOLE else "fp32" if name in ("cosine", "sine") else dtype
            signature[name], aligned[(index,)] = f"*{kind}", ALIGNED
        else:
            signature[name] = {"first": "i64", "factor": "fp32", "epsilon": "fp32"}.get(name, "i32")
            if name.endswith(("_batch", "_head", "_time")):
                aligned[(index,)] = ALIGNED
    source = triton.compiler.ASTSource(kernel, signature, constants, aligned)
    return str(triton.compile(source, target=gpu, options=options).asm["ptx"])


def constants_of(heads: tuple[int, int, int], *, part: int = 0, **changes: Any) -> dict[str, Any]:
    """Constants of the kernel for these heads; `part` channels at their end are left as they are."""
    queries, keys, width = heads
    table = torch.empty(1, 1, 4, (width - part) // 2)
    q, k = torch.empty(1, queries, 4, width), torch.empty(1, keys, 4, width)
    plan = launch_plan(q, k, RotationArguments(CosSinSource(table, table), Channels(0, 1, False)))
    return {**plan.constants, "passes": part > 0, **changes}


def rotations(gpu: GPUTarget) -> None:
    for changes in ({}, {"adjacent": True, "axes": 1}, {"axes": 3}, {"axes": 1, "counted": True, "normed": True}):
        constants = constants_of(LLAMA, inverse=False, **changes)
        ptx = compiled(rotate_token_block, constants, gpu)
        check(ptx, constants)
        check_width(ptx, constants)


def other_heads(gpu: GPUTarget) -> None:
    """Of other sizes, a part of their channels, backwards, and without keys."""
    for heads in OTHERS:
        for dtype, changes in (("fp32", {"axes": 1}), ("bf16", {"inverse": True}), ("fp16", {"adjacent": True})):
            for part in (0, heads[2] // 4 * 2):
                constants = constants_of(heads, part=part, **{"inverse": False, **changes})
                check(compiled(rotate_token_block, constants, gpu, dtype), constants)


def caches(gpu: GPUTarget) -> None:
    constants = constants_of(LLAMA, axes=1, v_width=128, v_wide=128, paged=True)
    ptx = compiled(rotate_into_cache, constants, gpu)
    check(ptx, constants)
    check_width(ptx, constants)


def check(ptx: str, constants: dict[str, Any]) -> None:
    """A thread holds its part of both tiles in registers, and rounds every product."""
    for way in ("ld", "st"):
        if re.search(rf"{way}\.local", ptx):
            raise SystemExit(f"what was spilled, by {way}, for {constants}")
    if "fma" in ptx:
        raise SystemExit(f"a product and a sum are fused for {constants}")


def check_width(ptx: str, constants: dict[str, Any]) -> None:
    """A thread reads and writes its part of both tiles 16 bytes at a time."""
    wide = 2 * (constants["q_tile"] + constants["k_tile"]) * constants["block"] // (8 * 32 * constants["num_warps"])
    for way in ("ld", "st"):
        if len(re.findall(rf"{way}\.global[.\w]*\.v4\.b32", ptx)) < wide:
            raise SystemExit(f"fewer than {wide} {way} of 16 bytes for {constants}")
    if re.search(r"st\.global[.\w]*\.b16", ptx):
        raise SystemExit(f"numbers are written one by one for {constants}")


if __name__ == "__main__":
    for each in GPUS:
        rotations(each)
        other_heads(each)
        caches(each)
