"""What training frameworks do to a whole model: casts, FSDP, checkpointing. No angle changes, or an error says so."""

from __future__ import annotations

import contextlib
import copy
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

from posenc.catalog import row
from posenc.core.doors import Encoding
from posenc.encodings.biases.fire import FIRE
from posenc.encodings.scores.dape import DAPE
from posenc.encodings.scores.dape_v2 import DAPEv2
from posenc.torch import module
from samples import DOORS, FIRST, SAMPLES, by_night, firsts
from torch_adapter.cases import Tensors, Whole, call, fresh, inputs, same

TABLE = row("T5Bias").samples[0]
TWO_PROCESSES = Path(__file__).with_name("two_processes.py")
every = pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=DOORS | firsts("LearnedRoPE")))
compiled = pytest.mark.parametrize("encoding", by_night([each for each in SAMPLES if each in FIRST], daily=()))


class Model(torch.nn.Module):
    """A module of posenc among others, behind a number that gradients flow to, as in a layer of a model."""

    def __init__(self, whole: Whole, again: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self.whole, self.gain = whole, torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(self.gain.weight)
        self.again = again

    def forward(self, *arguments: torch.Tensor) -> Tensors:
        gain = self.gain.weight.flatten().float()
        return self.again(self.layer, gain, *arguments) if self.again else self.layer(gain, *arguments)

    def layer(self, gain: torch.Tensor, *arguments: torch.Tensor) -> Tensors:
        return tuple(part * gain.to(part.dtype) for part in self.whole(*arguments))


def reentrant(function: Callable[..., Any], *arguments: Any) -> Any:
    return checkpoint(function, *arguments, use_reentrant=True)


def not_reentrant(function: Callable[..., Any], *arguments: Any) -> Any:
    return checkpoint(function, *arguments, use_reentrant=False)


def trained(model: Any, arguments: Tensors) -> tuple[Tensors, dict[str, torch.Tensor]]:
    """Results and gradients of one step."""
    results = model(*arguments)
    sum(part.float().square().mean() for part in results).backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return tuple(part.detach() for part in results), found


def same_step(model: Any, encoding: Encoding) -> None:
    """A step of the model and one of a plain model give the same bits."""
    expected, wanted = trained(Model(fresh(encoding)), inputs(encoding, 5))
    result, gradients = trained(model, inputs(encoding, 5))
    assert set(gradients) == set(wanted)
    pairs = [*zip(result, expected, strict=True), *((gradients[name], wanted[name]) for name in wanted)]
    for now, then in pairs:
        # torch.matmul sums DAPE's layers in another order where nothing is recorded, as in a reentrant forward pass.
        rounding = 2**-20 * float(then.abs().max()) if isinstance(encoding, DAPE | DAPEv2) else 0.0
        torch.testing.assert_close(now, then, rtol=0.0, atol=rounding)


@every
@pytest.mark.parametrize("again", [reentrant, not_reentrant])
def test_checkpointing(again: Callable[..., Any], encoding: Encoding) -> None:
    same_step(Model(fresh(encoding), again), encoding)


def rounded(encoding: Encoding, dtype: torch.dtype) -> Whole:
    """The module in float32, its parameters rounded: what a cast may change, and nothing else."""
    whole = fresh(encoding)
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.copy_(parameter.to(dtype))
    return whole


def flattened(model: torch.nn.Module) -> torch.nn.Module:
    """As ZeRO 1 and 2 do: parameters of 16 bits become views of one buffer."""
    model.half()
    buffer = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    start = 0
    for parameter in model.parameters():
        parameter.data = buffer[start : start + parameter.numel()].view(parameter.shape)
        start += parameter.numel()
    return model


def gathered(model: torch.nn.Module) -> torch.nn.Module:
    """As ZeRO 3 does: parameters are empty but for the forward pass of their module."""
    model.half()
    kept = {name: parameter.data for name, parameter in model.named_parameters()}

    def gather(*_: Any) -> None:
        for name, parameter in model.named_parameters():
            parameter.data = kept[name]

    def scatter(*_: Any) -> None:
        for parameter in model.parameters():
            parameter.data = torch.empty(0, dtype=parameter.dtype)

    model.register_forward_pre_hook(gather)
    model.register_forward_hook(scatter)
    return model


CASTS: dict[str, tuple[torch.dtype, Callable[[torch.nn.Module], torch.nn.Module]]] = {
    "half": (torch.float16, lambda model: model.half()),
    "to bfloat16": (torch.bfloat16, lambda model: model.to(torch.bfloat16)),
    "double": (torch.float64, lambda model: model.double()),
    "type": (torch.bfloat16, lambda model: model.type(torch.bfloat16)),
    "apply": (torch.float16, lambda model: model._apply(lambda tensor: tensor.to(torch.float16))),
    "there and back": (torch.float16, lambda model: model.half().float()),
    "ZeRO 1": (torch.float16, flattened),
    "ZeRO 3": (torch.float16, gathered),
}


def float32_inputs(encoding: Encoding, dtype: torch.dtype) -> Tensors:
    """Content in a dtype; positions as they are."""
    return tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs(encoding, 5))


@every
@pytest.mark.parametrize("how", CASTS)
def test_casts_of_a_whole_model(how: str, encoding: Encoding) -> None:
    dtype, cast = CASTS[how]
    content = torch.float32 if dtype == torch.float64 else dtype
    arguments = float32_inputs(encoding, content)
    expected = rounded(encoding, dtype)(*arguments)
    results = cast(Model(fresh(encoding)))(*arguments)
    assert all(now.dtype == then.dtype for now, then in zip(results, expected, strict=True))
    # Equal to the last bit; a position of 70,000 itself, as Count gives it, is infinite in float16.
    assert all(torch.equal(now, then) for now, then in zip(results, expected, strict=True))


@contextlib.contextmanager
def drawn_in(dtype: torch.dtype) -> Iterator[None]:
    """As DeepSpeed's zero.Init: what makes a tensor of floats makes it in 16 bits."""
    names = ("empty", "zeros", "ones", "full", "tensor", "arange", "linspace", "rand", "randn", "eye")
    real = {name: getattr(torch, name) for name in names}

    def cast(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def made(*args: Any, **options: Any) -> torch.Tensor:
            tensor = make(*args, **options)
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        return made

    for name, make in real.items():
        setattr(torch, name, cast(make))
    try:
        yield
    finally:
        for name, make in real.items():
            setattr(torch, name, make)


@every
def test_made_where_tensors_are_made_in_bfloat16(encoding: Encoding) -> None:
    with drawn_in(torch.bfloat16):
        made = Whole(module(encoding, seed=3))
    plain = Whole(module(encoding, seed=3))
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.copy_(parameter.to(torch.bfloat16))
    assert same(call(made), call(plain))


def test_a_parameter_that_nobody_gathered_is_named() -> None:
    model = gathered(Model(fresh(TABLE)))
    model(*inputs(model.whole.held.encoding, 5))
    with pytest.raises(ValueError, match=r"^params\['table'\] must have shape"):
        call(model.whole)


@compiled
def test_compiled_casts_and_checkpoints(encoding: Encoding) -> None:
    torch._dynamo.reset()
    model = Model(fresh(encoding), not_reentrant).to(torch.bfloat16)
    plain = copy.deepcopy(model)
    plain.again = None
    arguments = float32_inputs(encoding, torch.bfloat16)
    expected, wanted = trained(plain, arguments)
    result, gradients = trained(torch.compile(model, backend="aot_eager"), arguments)
    for now, then in zip(result, expected, strict=True):
        # Traced products of matrices may round otherwise, by units of their 16-bit results.
        torch.testing.assert_close(now, then, rtol=2**-6, atol=2**-6 * float(then.abs().max()))
    assert {name.removeprefix("_orig_mod.") for name in gradients} == set(wanted)


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


def test_parameters_of_a_divided_module_are_drawn_again(mesh: Any) -> None:
    encoding = TABLE
    with torch.device("meta"):
        model = Model(Whole(module(encoding, seed=3)))
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    model.whole.held.reset_parameters()
    torch.nn.init.ones_(model.gain.weight)
    assert same(model(*inputs(encoding, 5)), call(Whole(module(encoding, seed=3))))


def test_a_divided_module_called_by_itself_says_what_to_do(mesh: Any) -> None:
    model = fully_shard(Model(fresh(TABLE)), mesh=mesh)
    with pytest.raises(
        TypeError, match=r"^params\['table'\] must be a dense array; .* Call it within the forward pass"
    ):
        call(model.whole)


def test_fractions_that_a_framework_casts_are_refused(mesh: Any) -> None:
    rope = row("RoPE").samples[0]
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, cast_forward_inputs=True)
    model = fully_shard(Model(fresh(rope)), mesh=mesh, mp_policy=policy)
    q, k, query_positions, key_positions = inputs(rope, 5)
    with pytest.raises(TypeError, match=r"^query_positions must be integers, .*bfloat16"):
        model(q, k, query_positions + 0.5, key_positions + 0.5)
    with pytest.raises(ValueError, match=r"^key_positions must be finite and of magnitude at most 2\^53"):
        model(q, k, query_positions, key_positions + 2**60)


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["fully_shard", "meta", "mixed", "FullyShardedDataParallel", "checkpointed"])
def test_every_module_in_two_processes(way: str) -> None:
    """Every sample of the catalog, divided between two processes by FSDP, gives the bits of one process."""
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--nproc-per-node", "2",
               "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", str(TWO_PROCESSES), way]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"{len(SAMPLES)} samples" in done.stdout


def test_scalars_are_what_fsdp_refuses(mesh: Any) -> None:
    model = Model(fresh(FIRE(heads=4)))
    with pytest.raises(ValueError, match="scalar parameters"):
        fully_shard(model, mesh=mesh)
