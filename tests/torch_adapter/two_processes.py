"""Run by torch.distributed.run in two processes: every module of the catalog within a model that FSDP divides."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard

from posenc.core.doors import Encoding
from posenc.torch import module
from samples import SAMPLES
from torch_adapter.cases import Whole, call, fresh, inputs, same
from torch_adapter.test_training_frameworks import Model, float32_inputs, not_reentrant, rounded


def scalars(model: torch.nn.Module) -> set[torch.nn.Parameter]:
    """Parameters without axes, which FSDP refuses: they stay whole in every process."""
    return {parameter for parameter in model.parameters() if not parameter.ndim}


def divided(model: torch.nn.Module, mesh: Any, **options: Any) -> Any:
    return fully_shard(model, mesh=mesh, ignored_params=scalars(model), **options)


def outcome(way: str, encoding: Encoding, mesh: Any) -> bool:
    """Whether the divided model gives the bits of one process."""
    arguments = inputs(encoding, 5)
    if way == "meta":
        with torch.device("meta"):
            model = Model(Whole(module(encoding, seed=3)))
        divided(model, mesh).to_empty(device="cpu")
        model.whole.held.reset_parameters()
        torch.nn.init.ones_(model.gain.weight)
        return same(model(*arguments), call(Whole(module(encoding, seed=3))))
    if way == "mixed":
        arguments = float32_inputs(encoding, torch.bfloat16)
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, cast_forward_inputs=True)
        model = Model(rounded(encoding, torch.bfloat16))
        expected = rounded(encoding, torch.bfloat16)(*arguments)
        return same(divided(model, mesh, mp_policy=policy)(*arguments), expected)
    model = Model(fresh(encoding), not_reentrant if way == "checkpointed" else None)
    if way == "FullyShardedDataParallel":
        model = FullyShardedDataParallel(model, device_id=torch.device("cpu"), ignored_states=scalars(model))
    else:
        divided(model, mesh)
    results = model(*arguments)
    sum(part.float().square().mean() for part in results).backward()
    return same(tuple(part.detach() for part in results), tuple(part.detach() for part in call(fresh(encoding))))


def main(way: str) -> int:
    dist.init_process_group("gloo")
    mesh, wrong = init_device_mesh("cpu", (2,)), []
    for encoding in SAMPLES:
        try:
            right = outcome(way, encoding, mesh)
        except Exception as error:
            wrong.append(f"{encoding!r}: {type(error).__name__}: {error}")
        else:
            wrong += [] if right else [f"{encoding!r}: other bits"]
    if not dist.get_rank():
        print(f"{len(SAMPLES)} samples", *wrong, sep="\n")
    dist.destroy_process_group()
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
