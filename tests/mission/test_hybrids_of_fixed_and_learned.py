"""Row 11: hybrids of fixed and learned."""

import numpy as np
import torch

from posenc.compose import LearnedScale, Sum
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import order_blindness
from posenc.learn import worked


def test_a_sum_of_fixed_and_learned():
    fixed, learned = Sinusoidal(dim=8), Learned(dim=8, length=10)
    encoding = Sum((fixed, learned))
    params = encoding.init(np.random.default_rng(0))
    (table,) = params.values()
    np.testing.assert_allclose(encoding.embed([3, 9], params), fixed.embed([3, 9]) + table[[3, 9]], atol=1e-15)
    assert "learned" in encoding.claims


def test_a_learned_scale_on_a_fixed_table():
    fixed = Sinusoidal(dim=8)
    encoding = LearnedScale(fixed, initial=0.25)
    assert np.array_equal(encoding.embed([7], encoding.init(np.random.default_rng(0))), 0.25 * fixed.embed([7]))
    scale = torch.tensor(0.25, requires_grad=True)
    encoding.embed(torch.arange(5), {"scale": scale}).sum().backward()
    # One sum of 40 float32 numbers up to 1: 40 · 2^-24 · 40 at most.
    assert abs(scale.grad.item() - fixed.embed(np.arange(5)).sum()) <= 1e-4


def test_gradients_reach_the_learned_part_of_a_sum_alone():
    encoding = Sum((Sinusoidal(dim=4), Learned(dim=4, length=5)))
    params = {
        name: torch.tensor(value, requires_grad=True) for name, value in encoding.init(np.random.default_rng(0)).items()
    }
    encoding.embed(torch.tensor([2, 2, 3]), params).sum().backward()
    (table,) = params.values()
    assert table.grad[:, 0].tolist() == [0.0, 0.0, 2.0, 1.0, 0.0]


def test_hybrids_are_worked_out_and_tell_order_as_any_member():
    encoding = Sum((Sinusoidal(dim=4), LearnedScale(Sinusoidal(dim=4, base=100.0), initial=0.5)))
    step = worked(encoding, 3, dims=[0]).steps[0]
    assert step.text == "PE(3, 0) = 0.14112 + 0.07056 = 0.21168"
    assert not order_blindness("Dog bites man", "Man bites dog", encoding).blind
