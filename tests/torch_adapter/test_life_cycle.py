"""Sixteen things that happen to a module between its birth and its last use; none may change what it computes."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from posenc.core.doors import Encoding
from posenc.encodings.scores.dape import DAPE
from posenc.encodings.scores.dape_v2 import DAPEv2
from posenc.encodings.scores.deberta import DeBERTa
from posenc.encodings.scores.path import PaTH
from posenc.torch import module
from samples import DOORS, SAMPLES, by_night, firsts
from torch_adapter.cases import Whole, call, fresh, inputs, same

every = pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=DOORS | firsts("Learned")))

compiled = pytest.mark.parametrize("encoding", by_night(SAMPLES, daily=firsts("RoPE")))


@pytest.fixture
def bfloat16_default() -> Iterator[None]:
    torch.set_default_dtype(torch.bfloat16)
    yield
    torch.set_default_dtype(torch.float32)


@every
def test_deepcopy(encoding: Encoding) -> None:
    whole = fresh(encoding)
    assert same(call(copy.deepcopy(whole)), call(whole))


@every
def test_pickle(encoding: Encoding) -> None:
    whole = fresh(encoding)
    again = pickle.loads(pickle.dumps(whole))
    assert again.held.encoding == encoding
    assert same(call(again), call(whole))


@every
def test_state_dict_round_trip(encoding: Encoding) -> None:
    whole, other = fresh(encoding), module(encoding, seed=8)
    assert set(whole.held.state_dict()) == set(encoding.shapes)
    other.load_state_dict(whole.held.state_dict(), strict=True)
    assert same(call(Whole(other)), call(whole))


@every
def test_weights_only_load(encoding: Encoding) -> None:
    whole, other, file = fresh(encoding), module(encoding, seed=8), io.BytesIO()
    torch.save(whole.held.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert same(call(Whole(other)), call(whole))


def rounded(whole: Whole, dtype: torch.dtype) -> Whole:
    """The module with its parameters rounded to a dtype and nothing else changed."""
    other = copy.deepcopy(whole)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(parameter.to(dtype))
    return other


@every
def test_to_bfloat16_casts_parameters_alone(encoding: Encoding) -> None:
    whole = fresh(encoding)
    expected = call(rounded(whole, torch.bfloat16))
    assert same(call(whole.to(torch.bfloat16)), expected)


@every
def test_half_and_back(encoding: Encoding) -> None:
    whole = fresh(encoding)
    expected = call(rounded(whole, torch.float16))
    assert same(call(whole.half().float()), expected)


@every
def test_meta_then_reset(encoding: Encoding) -> None:
    with torch.device("meta"):
        held = module(encoding, seed=3)
    assert all(parameter.is_meta for parameter in held.parameters())
    held = held.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in held.parameters():
            parameter.fill_(float("nan"))  # empty memory may hold anything
    held.reset_parameters()
    assert same(call(Whole(held)), call(Whole(module(encoding, seed=3))))


@every
def test_meta_then_load(encoding: Encoding) -> None:
    trained = fresh(encoding)
    with torch.device("meta"):
        held = module(encoding)
    held.load_state_dict(trained.held.state_dict(), assign=True)
    assert same(call(Whole(held)), call(trained))


@every
def test_inference_then_train(encoding: Encoding) -> None:
    whole = fresh(encoding)
    with torch.inference_mode():
        before = call(whole)
    arguments = [x.requires_grad_() if x.is_floating_point() else x for x in inputs(encoding, 5)]
    after = whole(*arguments)
    detached = tuple(part.detach() for part in after)
    if isinstance(encoding, DAPE | DAPEv2):
        # torch.matmul sums in another order for weights that require gradients.
        for now, then in zip(detached, before, strict=True):
            torch.testing.assert_close(now, then, rtol=0.0, atol=2**-23 * 8 * float(then.abs().max()))
    else:
        assert same(detached, before)
    if any(part.requires_grad for part in after):
        sum(part.square().sum() for part in after).backward()
    # FIRE's threshold is no part of the number of a query so far out.
    idle = {"held.multiplier"} if type(encoding).__name__ == "FIRE" else set()
    for name, p in whole.named_parameters():
        assert p.grad is not None
        assert p.grad.isfinite().all()
        assert p.grad.any() or name in idle


@every
def test_threads(encoding: Encoding) -> None:
    whole = fresh(encoding)
    lengths = (2, 3, 4, 5)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: call(whole, n), lengths))
    assert all(same(result, call(whole, n)) for result, n in zip(found, lengths, strict=True))


@every
def test_autocast(encoding: Encoding) -> None:
    whole = fresh(encoding)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = call(whole)
    assert same(inside, call(whole))


def traced_the_same(encoding: Encoding, traced: tuple[torch.Tensor, ...], eager: tuple[torch.Tensor, ...]) -> bool:
    """Bit for bit; but eager DeBERTa makes products with the rows alone that distances reach, and eager PaTH filters
    two heads at a time: both round otherwise than the whole."""
    if not isinstance(encoding, DeBERTa | PaTH):
        return same(traced, eager)
    rounding = 2 * encoding.dim * 2.0**-23 * float(eager[0].detach().abs().max())
    return torch.allclose(traced[0], eager[0], rtol=0.0, atol=rounding)


@compiled
def test_compile_makes_one_graph_for_every_length(encoding: Encoding) -> None:
    whole = fresh(encoding)
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(whole, fullgraph=True, dynamic=True, backend=counter)
    for n in (11, 7, 9):  # no other axis is as long: a tracer takes equal lengths for one length
        assert traced_the_same(encoding, compiled(*inputs(encoding, n)), call(whole, n))
    assert counter.frame_count == 1


@compiled
def test_export_with_dynamic_length(encoding: Encoding) -> None:
    whole, arguments = fresh(encoding), inputs(encoding, 5)
    time = [x.ndim - 2 if x.ndim > 1 else 0 for x in arguments]
    shapes = tuple({axis: torch.export.Dim.AUTO} for axis in time)
    program = torch.export.export(whole, arguments, dynamic_shapes={"arguments": shapes}).module()
    for n in (3, 6):
        assert traced_the_same(encoding, tuple(program(*inputs(encoding, n))), call(whole, n))


@every
def test_vmap(encoding: Encoding) -> None:
    whole = fresh(encoding)
    rows = [inputs(encoding, 4), tuple(x.flip(-1) for x in inputs(encoding, 4))]
    mapped = torch.vmap(whole)(*(torch.stack(parts) for parts in zip(*rows, strict=True)))
    for index, row in enumerate(rows):
        alone = whole(*row)
        # A batched matrix product may add in another order: a rounding for each of up to 16 terms of size below 8.
        assert all(
            torch.allclose(part[index], own, rtol=0, atol=16 * 8 * 2**-24)
            for part, own in zip(mapped, alone, strict=True)
        )


@every
@pytest.mark.usefixtures("bfloat16_default")
def test_default_dtype_changes_nothing(encoding: Encoding) -> None:
    inside = call(fresh(encoding))
    torch.set_default_dtype(torch.float32)
    assert same(inside, call(fresh(encoding)))


@every
def test_functional_call(encoding: Encoding) -> None:
    whole = fresh(encoding)
    doubled = {name: 2 * value for name, value in whole.named_parameters()}
    result = torch.func.functional_call(whole, doubled, inputs(encoding, 5))
    with torch.no_grad():
        for parameter in whole.parameters():
            parameter.mul_(2)
    assert same(result, call(whole))


@every
def test_two_modules_share_nothing(encoding: Encoding) -> None:
    first, second = Whole(module(encoding, seed=3)), Whole(module(encoding, seed=3))
    before = call(second)
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.fill_(7.0)
    call(first.to(torch.bfloat16), 6)
    assert same(call(second), before)
    assert not {p.data_ptr() for p in first.parameters()} & {p.data_ptr() for p in second.parameters()}
