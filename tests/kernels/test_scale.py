"""What long sequences need: right angles at ten million, no memory beyond the result, nothing kept but tables or
positions."""

from __future__ import annotations

from typing import Any

import mpmath
import pytest
import torch

from posenc import RoPE
from posenc.kernels import native
from posenc.torch import angles, rotate, rotate_

kernel = pytest.mark.skipif(native.MISSING is not None, reason=f"no compiled kernel: {native.MISSING}")
IMPLS = [pytest.param("reference", id="reference"), pytest.param("native", id="native", marks=kernel)]


def heads(count: int, length: int, dim: int = 64) -> torch.Tensor:
    return torch.randn(1, count, length, dim, generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("pairing", ["halves", "adjacent"])
def test_angles_are_right_at_ten_million(impl: Any, pairing: Any) -> None:
    """Unit vectors become cosines and sines; each is one rounding away from the truth, half a unit of a number up to
    1."""
    places = [0, 1, 131_071, 999_983, 8_388_609, 9_999_991, 10_000_000]
    encoding = RoPE(dim=16, pairing=pairing)
    unit = torch.zeros(1, 1, len(places), 16)
    first = slice(0, 8) if pairing == "halves" else slice(0, 16, 2)
    unit[..., first] = 1.0
    with mpmath.workdps(40):
        far = [[place * mpmath.mpf(10_000) ** (-mpmath.mpf(2 * pair) / 16) for pair in range(8)] for place in places]
    for rotation in (encoding.rotation(torch.tensor(places)), angles(encoding, torch.tensor(places))):
        rotated, _ = rotate(unit, unit.clone(), rotation, layout="bhtd", impl=impl)
        cosine, sine = encoding.rotation(torch.tensor(places)).pairing.split(rotated[0, 0])
        with mpmath.workdps(40):
            for row, angle in enumerate(far):
                for pair in range(8):
                    assert abs(mpmath.mpf(cosine[row, pair].item()) - mpmath.cos(angle[pair])) <= 2.0**-25
                    assert abs(mpmath.mpf(sine[row, pair].item()) - mpmath.sin(angle[pair])) <= 2.0**-25


def allocated(run: Any) -> list[int]:
    """Bytes of every piece of memory that PyTorch gives out meanwhile."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profiled:
        run()
    events = profiled.profiler.kineto_results.events()
    return [event.nbytes() for event in events if event.name() == "[memory]" and event.nbytes() > 0]


@kernel
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nothing_is_allocated_beyond_the_result(dtype: torch.dtype, layout: Any) -> None:
    q, k = (heads(count, 300).to(dtype) for count in (4, 2))
    if layout == "bthd":
        q, k = (x.transpose(1, 2).contiguous() for x in (q, k))
    encoding, places = RoPE(dim=64, pairing="halves"), torch.arange(300)
    for rotation in (encoding.rotation(places), angles(encoding, places)):
        assert allocated(lambda: rotate_(q, k, rotation, layout=layout, impl="native")) == []  # noqa: B023
        given = allocated(lambda: rotate(q, k, rotation, layout=layout, impl="native"))  # noqa: B023
        assert sorted(given) == sorted(x.numel() * x.element_size() for x in (q, k))


@kernel
def test_nothing_is_kept_for_the_gradient_but_tables_or_positions() -> None:
    q, k = (heads(count, 300).requires_grad_() for count in (4, 2))
    encoding, places = RoPE(dim=64), torch.arange(300)
    table, far = encoding.rotation(places), angles(encoding, places)
    for rotation, parts in ((table, (table.cos, table.sin)), (far, (far.integer_positions, far.limbs))):
        kept: list[torch.Tensor] = []

        def pack(x: torch.Tensor, kept: list[torch.Tensor] = kept) -> torch.Tensor:
            kept.append(x)
            return x

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            rotate(q, k, rotation, layout="bhtd", impl="native")
        assert kept
        assert {x.untyped_storage().data_ptr() for x in kept} <= {x.untyped_storage().data_ptr() for x in parts}
