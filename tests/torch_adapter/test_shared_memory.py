"""Whether tensors share memory, against the places that their numbers lie in, counted one by one."""

from __future__ import annotations

import random

import pytest
import torch

from posenc.torch.rotary_paths.aliasing import check_writable, disjoint, overlaps


def places(x: torch.Tensor) -> list[int]:
    """Where each number of x begins in memory, in bytes."""
    found = [x.data_ptr()]
    for size, stride in zip(x.shape, x.stride(), strict=True):
        found = [place + step * stride * x.element_size() for place in found for step in range(size)]
    return found


def views(seed: int, count: int) -> list[torch.Tensor]:
    """Views of one block of memory with two axes, strides and starts drawn at random."""
    rng, memory = random.Random(seed), torch.zeros(128)
    drawn = []
    for _ in range(count):
        shape, stride = [rng.randint(1, 4) for _ in range(2)], [rng.randint(0, 8) for _ in range(2)]
        drawn.append(memory.as_strided(shape, stride, rng.randint(0, 24)))
    return drawn


def test_what_is_called_disjoint_shares_no_number() -> None:
    drawn, called = views(0, 120), 0
    for one in drawn:
        for other in drawn:
            if disjoint(one, other):
                called += 1
                assert not set(places(one)) & set(places(other)), (one.shape, one.stride(), other.stride())
    assert called > 1000


def test_what_is_not_called_overlapping_has_a_place_for_each_number() -> None:
    found = [overlaps(x) for x in views(1, 400)]
    for x, overlapping in zip(views(1, 400), found, strict=True):
        assert overlapping or len(set(places(x))) == x.numel()
    assert 50 < sum(found) < 350


def test_queries_and_keys_of_one_projection_are_disjoint_though_one_reaches_into_the_other() -> None:
    both = torch.zeros(2, 5, 3, 8)  # batch, tokens, (q, k, v), width
    q, k, v = both.unbind(2)
    assert disjoint(q, k)
    assert disjoint(v, q)
    assert not disjoint(both, q)  # of another number of axes
    assert not disjoint(q, q)
    assert disjoint(q[:, :0], q)  # no number is in no place
    bytes_apart = torch.zeros(64, dtype=torch.uint8)
    assert not disjoint(bytes_apart[:32].view(torch.float32), bytes_apart[2:34].view(torch.float16)[:8])


def test_memory_that_cannot_be_written_is_refused() -> None:
    with torch.inference_mode():
        inference = torch.zeros(3)
    for x, rule in (
        (inference, "must not be an inference tensor"),
        (torch.zeros(3, dtype=torch.complex64).conj().imag, "must not be a negated view or zeros without memory"),
        (torch._efficientzerotensor(3), "must not be a negated view or zeros without memory"),
        (torch.zeros(1).expand(3), "must not overlap itself in memory; got strides (0,)"),
    ):
        with pytest.raises(ValueError, match=r"^x must ") as caught:
            check_writable("x", x, "Clone it")
        assert rule in str(caught.value)
        assert str(caught.value).endswith("Clone it.")
    check_writable("x", torch.zeros(3), "Clone it")
