"""Arrays that are no plain ones: masked, sparse, nested and distributed. Each is refused by name, never taken for
another."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, distribute_tensor

from posenc import ALiBi, CoPE, RoPE, Sinusoidal
from posenc.attention import attention as reference
from posenc.torch import attention, module, rotate, rotate_, strided

ROTATION, AT = RoPE(dim=4), torch.arange(3)
Q = torch.ones(1, 2, 3, 4)


@pytest.fixture(scope="module")
def mesh() -> Iterator[Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    dist.destroy_process_group()


UNUSUAL: dict[str, Callable[[Any, Any], Any]] = {
    "a tensor of layout torch.sparse_coo": lambda x, mesh: x.to_sparse(),
    "a nested tensor": lambda x, mesh: torch.nested.as_nested_tensor(
        [x, x] if x.ndim == 1 else list(x), layout=torch.jagged
    ),
    "a DTensor, whose numbers lie on several devices": lambda x, mesh: distribute_tensor(x, mesh, [Replicate()]),
}
CALLS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "positions": lambda odd: ROTATION.rotation(odd(AT)),
    "x": lambda odd: module(Sinusoidal(dim=4))(odd(Q[0]), AT),
    "query_positions": lambda odd: module(ROTATION)(Q, Q, odd(AT), AT, layout="bhtd"),
    "q": lambda odd: rotate(odd(Q), odd(Q), ROTATION.rotation(AT), layout="bhtd"),
    "k": lambda odd: rotate_(Q.clone(), odd(Q), ROTATION.rotation(AT), layout="bhtd"),
    "q ": lambda odd: module(ROTATION)(odd(Q), Q, AT, AT, layout="bhtd"),
    "k ": lambda odd: module(CoPE(dim=4))(Q, odd(Q), AT, AT),
    "q  ": lambda odd: attention(
        odd(Q), Q, Q, query_positions=AT, key_positions=AT, encodings=[ROTATION], layout="bhtd"
    ),
    "v": lambda odd: reference(Q, Q, odd(Q), query_positions=AT, key_positions=AT, encodings=[ROTATION], layout="bhtd"),
    "query_positions ": lambda odd: strided(ALiBi(heads=2), odd(AT), AT),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", UNUSUAL)
def test_tensors_that_are_no_plain_ones_are_refused(name: str, what: str, mesh: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name.strip()} must be a dense array; got {what}"):
        CALLS[name](lambda x: UNUSUAL[what](x, mesh))


@pytest.mark.parametrize("positions", [np.ma.array([1, 2], mask=[0, 1]), [np.ma.masked, 1]])
def test_arrays_that_are_no_plain_ones_are_refused(positions: Any) -> None:
    with pytest.raises(TypeError, match=r"^positions must be a dense array; got a masked array"):
        ROTATION.rotation(positions)
