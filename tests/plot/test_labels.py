"""Labels say what is drawn: which parameters are untrained, and which layers share their positions."""

import numpy as np

from posenc import plot
from posenc.diagnosis.tracing.position_trace import PositionTrace
from posenc.diagnosis.tracing.trace_records import TracedCall, TracedLayer
from posenc.encodings.adds.fourier_features import FourierFeatures
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.learned_rope import LearnedRoPE
from posenc.inspect import AttentionMap, order_blindness, position_change, score_by_distance
from posenc.models import from_config


def test_what_is_learned_is_called_untrained_unless_it_is_given():
    encoding = T5Bias(heads=2)
    given = encoding.init(np.random.default_rng(1))
    assert "untrained" in plot.bias(encoding).get_title()
    assert "untrained" not in plot.bias(encoding, params=given).get_title()
    assert "untrained" not in plot.bias(ALiBi(heads=2)).get_title()
    for draw in (plot.heatmap, plot.dimensions, plot.similarity):
        learned = Learned(dim=32, length=100)
        assert "untrained" in draw(learned).get_title()
        assert "untrained" not in draw(learned, params=learned.init(np.random.default_rng(1))).get_title()


def test_results_that_were_handed_in_are_not_called_untrained():
    """They may have been computed with trained parameters."""
    bias, table = T5Bias(heads=2), Learned(dim=8, length=9)
    given = bias.init(np.random.default_rng(1))
    measured = score_by_distance(bias, range(9), params=given)
    change = position_change(table, positions=[1, 2], params=table.init(np.random.default_rng(1)))
    trained = AttentionMap(("a", "b"), bias, False, np.full((2, 2, 2), 0.5), steps=20)
    titles = [
        plot.score_by_distance(measured).get_title(),
        plot.differences(change)[0].figure.get_suptitle(),
        plot.attention_map(trained)[0].figure.get_suptitle(),
        *_row_names(plot.word_order([order_blindness("a b", "b a", bias, params=given)])),
        *_row_names(plot.word_order(bias, params=given))[1:2],
    ]
    assert [title for title in titles if "untrained" in title] == []
    assert plot.attention_map(bias)[0].figure.get_suptitle() == "T5Bias(heads=2), in an untrained layer"
    assert "T5Bias(heads=2), untrained" in _row_names(plot.word_order(bias))


def _row_names(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_learned_rotations_are_drawn_from_seed_0():
    encoding = LearnedRoPE(dim=8)
    first = encoding.init(np.random.default_rng(0))
    for draw in (plot.rotation, plot.pairing):
        axes, own = draw(encoding), draw(encoding, params=first)
        assert axes.get_title() == f"{own.get_title()}, untrained"
        offsets = [np.asarray(each.collections[0].get_offsets()) for each in (axes, own)]
        np.testing.assert_array_equal(*offsets)


def test_a_schedule_names_the_layers_that_used_the_same_positions():
    """Layers 1 and 3 count from 5; the vision part has a layer 0 of its own."""
    tokens = np.ones((1, 3), dtype=bool)
    used = np.arange(3.0).reshape(1, 1, 3, 1)
    call = TracedCall(0, 0, 0, used[:, 0], tokens, np.zeros((1, 3), dtype=int), 3)
    layers = [TracedLayer(0, number, "text", "", used, used + 5 * (number % 2)) for number in range(5)]
    layers += [TracedLayer(0, 0, "vision", "", used, used + 9)]
    model = from_config({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 5})
    axes = plot.position_schedule(PositionTrace(model, calls=[call], layers=layers))
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["meant", "layers 0, 2, 4", "layers 1, 3", "vision layer 0"]
    assert axes.lines[2].get_ydata().tolist() == [5.0, 6.0, 7.0]


def test_the_side_of_the_fastest_dimensions_is_that_of_the_encoding():
    sides = {
        "encoded:\nfastest on the left": Sinusoidal(dim=8),
        "encoded:\nfastest on the right": FourierFeatures(bands=3),
        "encoded": Sinusoidal(dim=8, layout="concatenated"),
    }
    for title, encoding in sides.items():
        assert plot.binary(8, 3, encoding)[1].get_title() == title
