"""Row 10: learned embeddings, a trainable vector a position; a clear error past the table; resizing by
interpolation."""

import numpy as np
import pytest
import torch

from lab.small_text import on_text, ruled_text
from posenc import Learned, resized
from posenc.lab.experiment import Shape
from posenc.lab.models.generate import generate
from posenc.lab.models.transformer import Transformer
from posenc.lab.prepare import prepare
from posenc.lab.trial import train_trial
from posenc.torch import module


def test_there_is_a_vector_for_each_position_and_training_moves_it(tmp_path):
    experiment = on_text(Learned(dim=16, length=12), ruled_text(tmp_path), steps=5, length=10, test_lengths=(10,))
    before = prepare(experiment).model.stack.encodings[0].params["table"].detach()
    assert before.shape == (12, 16)
    *_, last = train_trial(experiment)
    moved = (last.trial.model.stack.encodings[0].params["table"].detach() - before).abs().amax(1)
    assert (moved[:10] > 0).all()  # each position that training shows
    assert (moved[10:] == 0).all()  # and no other


def test_the_vector_of_a_position_is_its_row():
    encoding = Learned(dim=4, length=6)
    table = encoding.init(np.random.default_rng(0))["table"]
    assert np.array_equal(encoding.embed([0, 5, 3], {"table": table}), table[[0, 5, 3]])


@pytest.mark.parametrize("position", [6, 7, 512, -1])
def test_past_the_table_is_a_clear_error(position):
    encoding = Learned(dim=4, length=6)
    message = rf"positions must be from 0 to 5.*got.*{position}"
    with pytest.raises(ValueError, match=message):
        encoding.embed([0, position], encoding.init(np.random.default_rng(0)))
    with pytest.raises(ValueError, match=message):
        module(encoding)(torch.zeros(1, 2, 4), torch.tensor([0, position]))


def test_a_model_meets_the_end_of_its_table_while_writing():
    model = Transformer(Shape(20, 16, 2, 1), [Learned(dim=16, length=8)])
    assert len(generate(model, [1, 2, 3], 6, seed=0)) == 6  # places 0 to 7 are read
    with pytest.raises(ValueError, match="positions must be from 0 to 7"):
        generate(model, [1, 2, 3], 7, seed=0)


def test_a_table_is_resized_by_interpolation():
    table = np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 20.0]])
    longer = resized(table, 5)
    assert longer.tolist() == [[0.0, 10.0], [1.0, 20.0], [2.0, 30.0], [3.0, 25.0], [4.0, 20.0]]
    encoding = Learned(dim=2, length=3, outside="interpolate", extent=5)
    assert np.array_equal(encoding.embed(range(5), {"table": table}), longer)
    assert encoding.embed([0.5], {"table": table}).tolist() == [[0.5, 15.0]]


def test_a_resized_table_serves_a_longer_model():
    short = Transformer(Shape(20, 16, 2, 1), [Learned(dim=16, length=8)], seed=3)
    long = Transformer(Shape(20, 16, 2, 1), [Learned(dim=16, length=15)], seed=3)
    with torch.no_grad():
        long.stack.encodings[0].params["table"].copy_(
            torch.from_numpy(resized(short.stack.encodings[0].params["table"].detach().numpy(), 15))
        )
        tokens = torch.tensor([[4, 8, 15, 16]])
        # Every second place of the long table is a place of the short one; float32 rounds the rows between.
        assert torch.allclose(long(tokens, torch.arange(0, 8, 2)), short(tokens, torch.arange(4)), rtol=0, atol=1e-5)
        assert long(torch.zeros(1, 15, dtype=torch.int64)).shape == (1, 15, 20)
