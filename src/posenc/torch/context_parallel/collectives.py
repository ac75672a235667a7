"""Exchanges among ranks, with gradients: by torch.distributed, or among programs of one process.

The program of a rank is a generator. It yields what it wants exchanged and is sent what it gets, so that one program
runs on a process group and in a simulation of any number of ranks.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True, eq=False)
class GatherRequest:
    """All-gather request of a rank program: a tensor of this rank, answered by the tensors of all ranks."""

    x: Tensor


@dataclass(frozen=True, eq=False)
class ExchangeRequest:
    """All-to-all request of a rank program: a tensor for each rank, answered by those of all ranks for this one."""

    parts: Sequence[Tensor]


Request = GatherRequest | ExchangeRequest
#: Yields requests, is sent a list with a tensor of each rank, and returns the output of its rank.
RankProgram = Generator[Request, list[Tensor], Tensor]


def run_on_group(program: RankProgram, group: Any) -> Tensor:
    """Run the program of this rank with the collectives of its process group."""
    try:
        request = next(program)
        while True:
            if isinstance(request, GatherRequest):
                answer = _GatherOnGroup.apply(request.x, group)
            else:
                answer = _ExchangeOnGroup.apply(torch.stack(list(request.parts)), group)
            request = program.send(list(answer.unbind()))
    except StopIteration as end:
        output: Tensor = end.value
        return output


def run_together(programs: Sequence[RankProgram]) -> list[Tensor]:
    """Run the programs of all ranks in step, in one process; every exchange is made at once."""
    requests: list[Request] = [next(program) for program in programs]
    outputs: list[Tensor] = []
    while not outputs:
        answers: list[list[Tensor]]
        if isinstance(requests[0], GatherRequest):
            answers = [[request.x for request in requests]] * len(programs)  # type: ignore[union-attr]
        else:
            parts = [request.parts for request in requests]  # type: ignore[union-attr]
            answers = [[sent[rank] for sent in parts] for rank in range(len(programs))]
        following = []
        for program, answer in zip(programs, answers, strict=True):
            try:
                following.append(program.send(answer))
            except StopIteration as end:
                outputs.append(end.value)
        requests = following
    return outputs


class _GatherOnGroup(torch.autograd.Function):  # type: ignore[misc]
    """All-gather with a gradient: (…) of each rank to (ranks, …) on every rank; gradients are summed over ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        whole = x.new_empty((dist.get_world_size(group), *x.shape))
        dist.all_gather(list(whole.unbind()), x.contiguous(), group=group)
        return whole

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _exchanged(gradients[0], ctx.group).sum(0), None


class _ExchangeOnGroup(torch.autograd.Function):  # type: ignore[misc]
    """All-to-all with a gradient: part s of rank r becomes part r of rank s, and its gradient goes back."""

    @staticmethod
    def forward(ctx: Any, parts: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return _exchanged(parts, group)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return _exchanged(gradients[0], ctx.group), None


def _exchanged(parts: Tensor, group: Any) -> Tensor:
    received = torch.empty_like(parts, memory_format=torch.contiguous_format)
    dist.all_to_all_single(received, parts.contiguous(), group=group)
    return received
