"""Loss by position: the same target tokens, only later in the sequence and with more before them."""

import numpy as np
import pytest
import torch

from posenc import Learned, RoPE
from posenc.lab.experiment import Shape
from posenc.lab.models.transformer import Transformer
from posenc.lab.tour_training import ends, loss_by_position

TOKENS = np.random.default_rng(0).integers(0, 30, 400)
SHAPE = Shape(vocabulary=30, width=16, heads=2, layers=1)


def test_every_bin_scores_the_same_tokens():
    model = Transformer(SHAPE, [RoPE(dim=8)], seed=0)
    losses = loss_by_position(model, TOKENS, longest=32, bins=4, windows=20)
    where = ends(400, 32, 8, 20)
    assert losses.shape == (20, 4)
    with torch.no_grad():
        for window, place in ((0, 0), (7, 2), (19, 3)):
            context, end = 8 * (place + 1), where[window]
            logits = model(torch.from_numpy(TOKENS[None, end - context - 1 : end - 1]))[0, -8:]
            slow = -torch.log_softmax(logits, -1)[torch.arange(8), torch.from_numpy(TOKENS[end - 8 : end])].mean()
            assert losses[window, place] == pytest.approx(slow.item(), abs=1e-5)  # float32 in another batch


def test_no_token_is_a_target_twice_and_none_lacks_context():
    for tokens, windows in ((400, 1000), (400, 5), (33, 4), (48, 4)):
        where = ends(tokens, 32, 8, windows)
        assert where[0] >= 33
        assert where[-1] <= tokens
        assert (np.diff(where) >= 8).all()
    with pytest.raises(ValueError, match="tokens must be at least 33 to measure with; got 32"):
        ends(32, 32, 8, 4)


def test_a_model_that_ignores_all_but_the_last_tokens_has_one_loss_everywhere():
    """The comparison across contexts is of like with like: only what the model makes of position can differ."""
    model = Transformer(
        Shape(vocabulary=30, width=16, heads=2, layers=1), [Learned(dim=16, length=64, std=0.0)], seed=0
    )
    with torch.no_grad():
        model.stack.blocks[0].mix.zero_()  # attention adds nothing
    losses = loss_by_position(model, TOKENS, longest=64, bins=8, windows=12)
    assert np.abs(losses - losses[:, :1]).max() < 1e-5
    assert np.ptp(losses[:, 0]) > 0.01
