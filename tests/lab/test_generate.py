"""Generated text: one token at a time, from draws that every model shares."""

import pytest
import torch

from posenc import ALiBi, Learned, NoPE, RoPE, Shaw
from posenc.lab.experiment import Shape
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer

SHAPE = Shape(vocabulary=30, width=16, heads=2, layers=2)


@pytest.mark.parametrize(
    "encoding", [RoPE(dim=8), ALiBi(heads=2), NoPE(dim=16), Shaw(dim=8, clip=3), Learned(dim=16, length=64)]
)
def test_the_coldest_text_is_the_likeliest_token_of_the_whole_pass(encoding):
    model = Transformer(SHAPE, [encoding], seed=0)
    made = generate(model, [4, 8, 15], 20, seed=0, temperature=1e-4)
    with torch.no_grad():
        likeliest = model(torch.tensor([[4, 8, 15, *made]]))[0].argmax(-1)
    assert list(made) == likeliest[2:-1].tolist()


def test_draws_follow_the_probabilities():
    model = Transformer(SHAPE, [NoPE(dim=16)], seed=0)
    firsts = torch.tensor([generate(model, [3], 1, seed=seed, temperature=1.0)[0] for seed in range(600)])
    with torch.no_grad():
        expected = torch.softmax(model(torch.tensor([[3]]))[0, -1], -1)
    share = torch.bincount(firsts, minlength=30) / 600
    # Five standard deviations of a share of 600 draws.
    assert ((share - expected).abs() <= 5 * (expected * (1 - expected) / 600).sqrt() + 1e-9).all()


def test_the_same_seed_gives_the_same_text():
    model = Transformer(SHAPE, [RoPE(dim=8)], seed=0)
    first, again, other = (generate(model, [1, 2], 12, seed=seed) for seed in (5, 5, 6))
    assert first == again != other
    assert generate(model, [1, 2], 0, seed=5) == ()


def test_a_text_longer_than_the_table_is_refused_or_clamped():
    with pytest.raises(ValueError, match="positions must be from 0 to 7"):
        generate(Transformer(SHAPE, [Learned(dim=16, length=8)]), [1], 20, seed=0)
    assert len(generate(Transformer(SHAPE, [Learned(dim=16, length=8, outside="clamp")]), [1], 20, seed=0)) == 20


def test_what_cannot_be_generated_is_refused():
    model = Transformer(SHAPE, [NoPE(dim=16)])
    with pytest.raises(ValueError, match="prompt must hold at least one token; got none"):
        generate(model, [], 3, seed=0)
    with pytest.raises(ValueError, match="temperature must be a finite number above 0"):
        generate(model, [1], 3, seed=0, temperature=0.0)
    with pytest.raises(ValueError, match="count must be an integer from 0"):
        generate(model, [1], -3, seed=0)
