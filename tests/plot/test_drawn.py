"""What is drawn is what the formulas give: numbers are read back from the artists and compared with plain Python."""

import math

import numpy as np
import pytest

from posenc import Partial, plot
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.biases.t5 import T5Bias
from posenc.encodings.rotates.rope import RoPE
from posenc.inspect import binary_counting, order_blindness, position_change
from posenc.inspect import dials as dials_of
from posenc.inspect import score_by_distance as score_of
from posenc.models import from_config
from posenc.positions import Image, Text

# float64 values of size 1 from angles below 2^10 that plain math forms with a relative error of 2^-52: below 1e-12.
CLOSE = 1e-12


def sinusoid(position: float, dim: int, width: int, base: float = 10_000.0) -> float:
    angle = position / base ** (2 * (dim // 2) / width)
    return math.cos(angle) if dim % 2 else math.sin(angle)


def table(rows: int, width: int) -> np.ndarray:
    return np.array([[sinusoid(position, dim, width) for dim in range(width)] for position in range(rows)])


def rotate(vector: np.ndarray, position: float, base: float = 10_000.0) -> np.ndarray:
    out, width = np.array(vector, dtype=float), len(vector)
    for pair in range(width // 2):
        angle = position * base ** (-2 * pair / width)
        a, b = vector[2 * pair], vector[2 * pair + 1]
        out[2 * pair] = a * math.cos(angle) - b * math.sin(angle)
        out[2 * pair + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def image_of(axes):
    return np.asarray(axes.images[0].get_array(), dtype=float)


def test_heatmap_holds_the_table_with_the_first_position_on_top():
    axes = plot.heatmap(Sinusoidal(dim=12), 9)
    np.testing.assert_allclose(image_of(axes), table(9, 12), atol=CLOSE)
    left, right, bottom, top = axes.images[0].get_extent()
    assert (left, right, bottom, top) == (-0.5, 11.5, 8.5, -0.5)
    assert axes.images[0].get_clim() == (-1.0, 1.0)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("dimension", "position")


def test_heatmap_counts_in_the_given_positions():
    axes = plot.heatmap(Sinusoidal(dim=4), range(10, 31, 5))
    assert image_of(axes)[2, 0] == pytest.approx(math.sin(20), abs=CLOSE)
    assert axes.images[0].get_extent()[2:] == [32.5, 7.5]


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_heatmap_of_a_rotation_holds_cosines_and_sines_at_the_channels_of_each_pair(pairing):
    drawn = image_of(plot.heatmap(Partial(RoPE(dim=4, pairing=pairing), dim=6), 3))
    first, second = (0, 2) if pairing == "adjacent" else (0, 1)
    for position in range(3):
        assert drawn[position, first] == pytest.approx(math.cos(position), abs=CLOSE)
        assert drawn[position, second] == pytest.approx(math.cos(position / 100), abs=CLOSE)
    assert np.isnan(drawn[:, 4:]).all()
    assert not np.isnan(drawn[:, :4]).any()


def test_word_order_is_dark_only_where_the_order_is_told():
    axes = plot.word_order(RoPE(dim=8), "Ann met Bob", "Bob met Ann")
    names = [label.get_text() for label in axes.get_yticklabels()]
    amounts = dict(zip(names, image_of(axes), strict=True))
    expected = [word.amount for word in order_blindness("Ann met Bob", "Bob met Ann", RoPE(dim=8)).words]
    assert amounts["no encoding"].tolist() == [0.0, 0.0, 0.0]
    assert amounts["RoPE(dim=8)"].tolist() == expected
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Ann", "met", "Bob"]


def test_layers_have_the_colour_of_their_group():
    config = {"model_type": "gemma3_text", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 16,
        "num_hidden_layers": 6, "sliding_window": 8, "sliding_window_pattern": 3, "rope_theta": 1e6,
        "rope_local_base_freq": 1e4, "max_position_embeddings": 64, "query_pre_attn_scalar": 16}  # fmt: skip
    axes = plot.layers(from_config(config))
    middles = [[path.get_extents().x0 + 0.5 for path in one.get_paths()] for one in axes.collections]
    assert middles == [[0, 1, 3, 4], [2, 5]]
    local, full = (text.get_text() for text in axes.get_legend().get_texts())
    assert "sliding_attention, 4 layers" in local
    assert "base 10,000" in local
    assert "base 1,000,000" in full


def test_media_positions_are_those_of_the_sequence():
    axes = plot.media_positions([Text(2), Image(2, 2, 1), Text(1)])
    assert image_of(axes).T.tolist() == [[0] * 3, [1] * 3, [2, 2, 2], [2, 2, 3], [2, 3, 2], [2, 3, 3], [4] * 3]
    assert axes.get_title() == "The next token stands at 5"


def test_heatmap_of_a_learned_table_is_that_table():
    encoding = Learned(dim=6, length=7)
    params = encoding.init(np.random.default_rng(3))
    assert np.array_equal(image_of(plot.heatmap(encoding, 7, params=params)), next(iter(params.values())))


def test_dimensions_draws_the_chosen_columns():
    axes = plot.dimensions(Sinusoidal(dim=128), (0, 21), 100)
    assert [line.get_label() for line in axes.lines] == ["dimension 0", "dimension 21"]
    for line, dim in zip(axes.lines, (0, 21), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(100))
        np.testing.assert_allclose(line.get_ydata(), [sinusoid(t, dim, 128) for t in range(100)], atol=CLOSE)


def test_similarity_is_the_sum_of_cosines_of_the_distance():
    drawn = image_of(plot.similarity(Sinusoidal(dim=16), 20))
    wanted = [[sum(math.cos((m - n) * 10_000 ** (-i / 8)) for i in range(8)) for n in range(20)] for m in range(20)]
    np.testing.assert_allclose(drawn, wanted, atol=16 * CLOSE)


def test_waves_are_sines_of_their_pairs_around_their_own_lines():
    axes = plot.waves(Sinusoidal(dim=8), (0, 2), 30)
    drawn = [line for line in axes.lines if str(line.get_label()).startswith("pair")]
    assert [line.get_label() for line in drawn] == ["pair 0", "pair 2"]
    for index, (line, pair) in enumerate(zip(drawn, (0, 2), strict=True)):
        x, y = line.get_data()
        assert (x[0], x[-1]) == (0.0, 30.0)
        np.testing.assert_allclose(y + 2.5 * index, [math.sin(t * 10_000 ** (-2 * pair / 8)) for t in x], atol=CLOSE)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["pair 0\nperiod 6.283", "pair 2\nperiod 628.3"]


def test_waves_begin_where_the_encoding_begins_to_count():
    axes = plot.waves(Sinusoidal(dim=8, start=1), [0], 30)
    assert axes.lines[1].get_ydata()[0] == pytest.approx(math.sin(1), abs=CLOSE)


def test_waves_left_to_themselves_show_what_turns_and_the_slowest():
    axes = plot.waves(RoPE(dim=128), length=100)
    shown = [int(str(line.get_label()).split()[1]) for line in axes.lines if str(line.get_label()).startswith("pair")]
    assert shown[0] == 0
    assert shown[-1] == 63
    assert [2 * math.pi * 10_000 ** (pair / 64) <= 400 for pair in shown] == [True] * 5 + [False]


def test_wavelengths_are_drawn_and_counted_against_a_length():
    axes = plot.wavelengths(RoPE(dim=128), length=2048)
    wanted = [2 * math.pi * 10_000 ** (pair / 64) for pair in range(64)]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), wanted, rtol=1e-13)
    assert axes.get_yscale() == "log"
    slow = sum(length > 2048 for length in wanted)
    assert axes.get_legend().get_texts()[0].get_text() == f"context of 2,048: {slow} of 64 pairs rotate less than once"


@pytest.mark.parametrize("pairing", ["adjacent", "halves"])
def test_rotation_turns_the_arrow_against_the_clock(pairing):
    axes = plot.rotation(RoPE(dim=4, pairing=pairing), (0.6, 0.8), (0, 1, 7), pair=1)
    arrows = axes.collections[0]
    start = complex(0.6, 0.8)
    wanted = [start * complex(math.cos(m / 100), math.sin(m / 100)) for m in (0, 1, 7)]
    np.testing.assert_allclose(arrows.U + 1j * arrows.V, wanted, atol=CLOSE)
    assert (axes.get_xlabel(), axes.get_ylabel()) == {
        "adjacent": ("dimension 2", "dimension 3"), "halves": ("dimension 1", "dimension 3")
    }[pairing]  # fmt: skip
    vector = axes.collections[1]
    assert (vector.U.tolist(), vector.V.tolist()) == ([0.6], [0.8])
    assert axes.get_aspect() == 1.0


def test_rotated_lays_the_vector_under_the_rotated_one():
    x = np.random.default_rng(5).standard_normal(16)
    axes = plot.rotated(RoPE(dim=16), x, (0, 50, 99))
    assert axes.shape == (3,)
    again = plot.rotated(position_change(RoPE(dim=16), x, (0, 50, 99)))
    assert [
        np.array_equal(a.lines[1].get_ydata(), b.lines[1].get_ydata()) for a, b in zip(axes, again, strict=True)
    ] == [True] * 3
    for one, position in zip(axes, (0, 50, 99), strict=True):
        assert np.array_equal(one.lines[0].get_ydata(), x)
        np.testing.assert_allclose(one.lines[1].get_ydata(), rotate(x, position), atol=10 * CLOSE)
        assert one.get_title() == f"position {position}"


def test_rotated_draws_the_same_vector_every_time():
    first, second = (plot.rotated(RoPE(dim=8))[0].lines[0].get_ydata() for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("pairing", "wanted"), [("adjacent", [(0, 1), (2, 3), (4, 5)]), ("halves", [(0, 3), (1, 4), (2, 5)])]
)
def test_pairing_arches_join_the_channels_of_a_pair(pairing, wanted):
    axes = plot.pairing(RoPE(dim=6, pairing=pairing))
    ends = [(arch.center[0] - arch.width / 2, arch.center[0] + arch.width / 2) for arch in axes.patches]
    assert ends == wanted
    colours = axes.collections[0].get_facecolors()
    assert all(np.array_equal(colours[a], colours[b]) for a, b in wanted)
    assert len({tuple(colours[a]) for a, _ in wanted}) == 3


def test_a_vector_that_does_not_turn_has_one_label():
    axes = plot.rotation(RoPE(dim=8), positions=(0, 10), pair=1)
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["at 10", "vector, at 0"]


@pytest.mark.parametrize(("pairing", "second"), [("adjacent", 1), ("halves", 2)])
def test_rotation_matrix_turns_a_vector_as_the_encoding_does(pairing, second):
    axes = plot.rotation_matrix(RoPE(dim=4, pairing=pairing), 3)
    drawn = image_of(axes)
    assert [drawn[0, 0], drawn[second, 0], drawn[0, second]] == pytest.approx([math.cos(3), math.sin(3), -math.sin(3)])
    assert drawn @ drawn.T == pytest.approx(np.eye(4), abs=CLOSE)
    assert axes.get_title().startswith("R(3) of RoPE")


def test_score_by_distance_of_each_door():
    distances = range(-3, 40)
    cosines = [sum(math.cos(t * 10_000 ** (-i / 4)) for i in range(4)) for t in distances]
    added = plot.score_by_distance(Sinusoidal(dim=8), distances).lines[-1]
    assert list(added.get_xdata()) == list(distances)
    np.testing.assert_allclose(added.get_ydata(), cosines, atol=8 * CLOSE)
    rotated = plot.score_by_distance(RoPE(dim=8), distances).lines[-1]
    np.testing.assert_allclose(rotated.get_ydata(), np.multiply(2 / math.sqrt(8), cosines), atol=16 * CLOSE)
    biased = plot.score_by_distance(ALiBi(heads=8), distances, heads=[1])
    assert biased.lines[-1].get_ydata().tolist() == [-0.25 * abs(t) for t in distances]
    assert [text.get_text() for text in biased.get_legend().get_texts()] == ["head 1"]


def test_score_by_distance_draws_what_inspect_computed():
    made = score_of(RoPE(dim=4), [0, 5, 9])
    line = plot.score_by_distance(made).lines[-1]
    assert line.get_xdata().tolist() == [0, 5, 9]
    assert np.array_equal(line.get_ydata(), made.scores[0])


def test_bias_has_a_row_a_query():
    axes = plot.bias(
        T5Bias(heads=2, buckets=4, max_distance=8, bidirectional=False),
        3,
        head=1,
        params={"table": np.arange(8.0).reshape(4, 2)},
    )
    # Keys after the query share bucket 0; the first distances have a bucket each: bucket b of head 1 holds 2b+1.
    assert image_of(axes).tolist() == [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [5.0, 3.0, 1.0]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("key position", "query position")


def test_bias_by_distance_has_a_line_a_head():
    axes = plot.bias_by_distance(ALiBi(heads=8), (-2, 0, 3), heads=(0, 7))
    assert [line.get_ydata().tolist() for line in axes.lines[1:]] == [[-1.0, 0.0, -1.5], [-2 / 256, 0.0, -3 / 256]]
    assert [line.get_label() for line in axes.lines[1:]] == ["head 0", "head 7"]
    assert len(plot.bias_by_distance(ALiBi(heads=12)).lines) == 1 + 8


@pytest.mark.parametrize("given", [Sinusoidal(dim=8), dials_of(Sinusoidal(dim=8), 150)])
def test_dials_point_where_the_pair_points(given):
    axes = plot.dials(given, 150)
    hands = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(hands) == 4
    for pair, hand in enumerate(hands):
        x, y = hand.get_data()
        angle = 150 * 10_000 ** (-pair / 4)
        assert (x[1] - x[0], y[1] - y[0]) == pytest.approx((math.cos(angle), math.sin(angle)), abs=150 * CLOSE)
    assert axes.texts[0].get_text().startswith("pair 0: 314.4°\nsin -0.7149\ncos 0.6993\n")
    assert axes.get_aspect() == 1.0


def test_dials_of_many_pairs_are_a_choice():
    def shown(axes):
        return [int(text.get_text().split(":")[0].removeprefix("pair ")) for text in axes.texts]

    assert shown(plot.dials(RoPE(dim=128), 7)) == [0, 9, 18, 27, 36, 45, 54, 63]
    assert shown(plot.dials(RoPE(dim=128), 7, pairs=(3, 1))) == [3, 1]


@pytest.mark.parametrize("given", [16, binary_counting(16, 4)])
def test_binary_shows_bits_beside_the_encoding(given):
    bits, encoding = plot.binary(given)
    assert ["".join(str(int(bit)) for bit in row) for row in image_of(bits)] == [
        f"{number:04b}" for number in range(16)
    ]
    assert [text.get_text() for text in bits.texts[:8]] == list("00000001")
    assert [tick.get_text() for tick in bits.get_xticklabels()] == ["8s", "4s", "2s", "1s"]
    np.testing.assert_allclose(image_of(encoding), table(16, 8), atol=CLOSE)


def test_differences_of_an_added_encoding_do_not_depend_on_the_vector():
    wanted = table(100, 128)[[50, 99]] - table(100, 128)[0]
    for vector in (None, np.linspace(-1, 1, 128)):
        axes = plot.differences(Sinusoidal(dim=128), vector)
        assert len(axes) == 2
        for one, difference in zip(axes, wanted, strict=True):
            np.testing.assert_allclose(one.lines[0].get_ydata(), difference, atol=100 * CLOSE)
    assert axes[0].get_title() == "position 50 minus position 0"


def test_differences_write_the_share_of_each_quarter():
    change = table(100, 128)[50] - table(100, 128)[0]
    shares = (change.reshape(4, 32) ** 2).sum(1) / (change**2).sum()
    texts = [text.get_text() for text in plot.differences(Sinusoidal(dim=128))[0].texts]
    assert texts == [f"{share:.1%}" for share in shares]
    assert texts == ["42.1%", "56.2%", "1.7%", "0.0%"]


def test_differences_of_a_rotation_are_from_the_vector():
    x = np.random.default_rng(1).standard_normal(10)
    for given in (RoPE(dim=10), position_change(RoPE(dim=10), x, [2, 7])):
        axes = plot.differences(given, x, [2, 7])
        for one, place in zip(axes, (2, 7), strict=True):
            np.testing.assert_allclose(one.lines[0].get_ydata(), rotate(x, place) - x, atol=10 * CLOSE)
    assert axes[1].get_title() == "position 7 minus the vector itself"


def test_differences_of_nothing_are_no_error():
    (axes,) = plot.differences(Sinusoidal(dim=8), None, (3, 3))
    assert axes.lines[0].get_ydata().tolist() == [0.0] * 8
    assert [text.get_text() for text in axes.texts] == ["0.0%"] * 4


def test_curves_draws_each_name_in_its_own_way():
    named = {"RoPE": ([0, 10], [3.0, 2.0]), "$x$": ([0, 5], [3.0, 2.5]), "_hidden": ([1], [1.0])}
    axes = plot.curves(named, x="step", y="loss (nats a token)", title="a $ b", marks={"length": 7})
    assert [line.get_ydata().tolist() for line in axes.lines[:3]] == [[3.0, 2.0], [3.0, 2.5], [1.0]]
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines[:3]}) == 3
    assert len(axes.get_legend().get_texts()) == 3
    assert axes.lines[3].get_xdata() == [7, 7]
    plot.image(axes)  # a dollar sign of the caller's starts no formula, which would be an error here


def test_a_derivative_is_drawn_with_its_formula_and_tangents():
    value, slope = plot.derivative(Sinusoidal(dim=8, start=1), (2, 3), 3, 12)
    positions = np.asarray(slope.lines[0].get_xdata())
    np.testing.assert_allclose(slope.lines[0].get_ydata(), 0.1 * np.cos(0.1 * (positions + 1)), atol=CLOSE)
    np.testing.assert_allclose(slope.lines[2].get_ydata(), -0.1 * np.sin(0.1 * (positions + 1)), atol=CLOSE)
    (left, right), (low, high) = value.lines[1].get_data()
    assert (high - low) / (right - left) == pytest.approx(0.1 * math.cos(0.4), abs=CLOSE)
    assert [text.get_text() for text in slope.get_legend().get_texts()] == [
        "dimension 2: ω·cos(ω(t + 1)) = 0.1·cos(0.4) = 0.0921",
        "dimension 3: -ω·sin(ω(t + 1)) = -0.1·sin(0.4) = -0.0389",
    ]


def test_encodings_together_have_a_colour_and_a_label_each():
    encodings = [RoPE(dim=8), RoPE(dim=8, base=500.0)]
    axes = plot.together("wavelengths", encodings, labels=["a", "b"])
    for line, encoding in zip(axes.lines, encodings, strict=True):
        assert np.array_equal(line.get_ydata(), encoding.frequencies.wavelengths())
    assert len({line.get_color() for line in axes.lines}) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
    heads = plot.together("bias_by_distance", [ALiBi(heads=4), T5Bias(heads=4)])
    assert [text.get_text() for text in heads.get_legend().get_texts()] == [
        "ALiBi(heads=4)",
        "T5Bias(heads=4), untrained",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("heatmap", [RoPE(dim=8)]), "picture must be one of 'wavelengths'"),
        (("wavelengths", []), "encodings, counted, must be an integer from 1 to 12; got 0"),
        (("wavelengths", [RoPE(dim=8), RoPE(dim=8)]), "labels must differ"),
        (("score_by_distance", [RoPE(dim=8), ALiBi(heads=2)]), "encodings must have scores of one meaning"),
    ],
)
def test_what_has_no_place_in_one_picture(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        plot.together(*arguments)
    with pytest.raises(ValueError, match=r"^labels must be 1, one for each encoding; got 2"):
        plot.together("wavelengths", [RoPE(dim=8)], labels=["a", "b"])
