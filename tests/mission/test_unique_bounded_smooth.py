"""Row 8: uniqueness, boundedness and smoothness as figures, in three dtypes."""

import numpy as np
import pytest
import torch

from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import properties


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_encoding_of_2017_is_unique_and_bounded_in_every_dtype(dtype):
    figures = properties(Sinusoidal(dim=512), dtype=dtype)
    assert figures.distinct == 1001
    # No position hits the trough of a wave exactly; the nearest miss of 1001 positions in 256 waves is below 1e-9.
    assert (figures.low, figures.high) == (pytest.approx(-1.0, abs=1e-9), 1.0)
    first, second = figures.closest
    assert second - first == 1  # neighbours are the nearest: what is near looks near
    assert f"{figures.distance:.2f}" == "3.71"
    assert figures.step == pytest.approx(3.714, abs=0.01)


def test_one_pair_is_unique_in_float64_and_float32_but_not_in_bfloat16():
    pair = DivisorPairs(divisors=(1.0,))
    figures = [properties(pair, dtype=dtype) for dtype in ("float64", "float32", "bfloat16")]
    assert [one.distinct for one in figures] == [1001, 1001, 735]
    assert [f"{one.distance:.2e}" for one in figures[:2]] == ["6.03e-05", "6.02e-05"]
    assert figures[2].distance == 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_figures_are_those_of_torch(dtype):
    """torch has all three types: the same table, rounded there, has the same distinct rows, range and nearest
    distance."""
    encoding = Sinusoidal(dim=6, base=100.0)
    wide = torch.from_numpy(encoding.embed(np.arange(300), dtype=np.float64 if dtype == "float64" else np.float32))
    rows = wide.to(getattr(torch, dtype)).to(torch.float64)
    figures = properties(encoding, 300, dtype)
    assert figures.distinct == len(torch.unique(rows, dim=0))
    assert (figures.low, figures.high) == (rows.min().item(), rows.max().item())
    apart = (rows[:, None] - rows[None]).norm(dim=-1)
    apart.fill_diagonal_(float("inf"))
    assert figures.distance == pytest.approx(apart.min().item(), rel=1e-12)
    assert apart[figures.closest].item() == pytest.approx(apart.min().item(), rel=1e-8)
