"""What tests/kernels/test_triton.py runs in a process of its own: kernels compiled to machine code for a GPU that is
not there.

It shows that the compiler takes them, that memory is read and written 16 bytes at a time, that nothing is spilled, and
that no product is fused with a sum.
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

HOPPER = GPUTarget("cuda", 90, 32)
#: As PyTorch allocates: at 16 bytes, with strides of as many numbers.
ALIGNED = [["tt.divisibility", 16]]
WHOLE = ("positions", "words", "slots")


def compiled(kernel: Any, given: dict[str, Any]) -> str:
    """The PTX of a kernel of bfloat16, after the assembler has taken it too."""
    options = {name: given[name] for name in ("num_warps", "enable_fp_fusion")}
    constants = {name: value for name, value in given.items() if name not in options}
    signature, aligned = {}, {}
    for index, name in enumerate(parameter.name for parameter in kernel.params):
        tensor = name in ("q", "k", "v", "cosine", "sine", "q_weight", "k_weight", *WHOLE) or name.startswith("to_")
        tensor = tensor and not name.endswith(("_batch", "_head", "_time"))
        if name in constants:
            signature[name] = "constexpr"
        elif tensor:
            kind = "i64" if name in WHOLE else "fp32" if name in ("cosine", "sine") else "bf16"
            signature[name], aligned[(index,)] = f"*{kind}", ALIGNED
        else:
            signature[name] = {"first": "i64", "factor": "fp32", "epsilon": "fp32"}.get(name, "i32")
            if name.endswith(("_batch", "_head", "_time")):
                aligned[(index,)] = ALIGNED
    source = triton.compiler.ASTSource(kernel, signature, constants, aligned)
    return str(triton.compile(source, target=HOPPER, options=options).asm["ptx"])


def heads_of_llama(**changes: Any) -> dict[str, Any]:
    """32 heads of queries and 8 of keys, 128 channels each."""
    table, q, k = torch.empty(1, 1, 4, 64), torch.empty(1, 32, 4, 128), torch.empty(1, 8, 4, 128)
    plan = launch_plan(q, k, RotationArguments(CosSinSource(table, table), Channels(0, 1, False)))
    return {**plan.constants, "passes": False, **changes}


def rotations() -> None:
    for changes in ({}, {"adjacent": True, "axes": 1}, {"axes": 3}, {"axes": 1, "counted": True, "normed": True}):
        constants = heads_of_llama(inverse=False, **changes)
        check(compiled(rotate_token_block, constants), constants)


def caches() -> None:
    constants = heads_of_llama(axes=1, v_width=128, v_wide=128, paged=True)
    check(compiled(rotate_into_cache, constants), constants)


def check(ptx: str, constants: dict[str, Any]) -> None:
    """A thread holds its part of both tiles in reads and writes of 16 bytes, and in registers."""
    wide = 2 * (constants["q_tile"] + constants["k_tile"]) * constants["block"] // (8 * 32 * constants["num_warps"])
    for way in ("ld", "st"):
        if len(re.findall(rf"{way}\.global[.\w]*\.v4\.b32", ptx)) < wide:
            raise SystemExit(f"fewer than {wide} {way} of 16 bytes for {constants}")
        if re.search(rf"{way}\.local", ptx):
            raise SystemExit(f"what was spilled, by {way}, for {constants}")
    if "fma" in ptx:
        raise SystemExit(f"a product and a sum are fused for {constants}")
    if re.search(r"st\.global[.\w]*\.b16", ptx):
        raise SystemExit(f"numbers are written one by one for {constants}")


if __name__ == "__main__":
    rotations()
    caches()
