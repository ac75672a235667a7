"""How pictures behave: the caller's Axes are used, keywords arrive, nothing is shown, mistakes are named."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posenc import CayleySTRING, FoPE, axial, models, plot
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.biases.alibi import ALiBi
from posenc.encodings.rotates.rope import RoPE
from posenc.plot import canvas
from posenc.positions import Image, Text

S, R, A = Sinusoidal(dim=32), RoPE(dim=8), ALiBi(heads=8)
MODEL = models.from_config({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 3, "n_positions": 128})
SEGMENTS = [Text(2), Image(2, 2, 1)]
CURVE = {"a": ([0, 1], [2.0, 1.0])}

#: Each picture as (function, its arguments, panels, a keyword for matplotlib, how the drawn artist shows it).
PICTURES = {
    "heatmap": (plot.heatmap, (S,), 1, {"cmap": "cividis"}, lambda a: a.images[0].get_cmap().name == "cividis"),
    "dimensions": (plot.dimensions, (S,), 1, {"linewidth": 7.0}, lambda a: a.lines[0].get_linewidth() == 7.0),
    "similarity": (plot.similarity, (S,), 1, {"vmax": 99.0}, lambda a: a.images[0].get_clim()[1] == 99.0),
    "waves": (plot.waves, (S,), 1, {"color": "red"}, lambda a: a.lines[1].get_color() == "red"),
    "wavelengths": (plot.wavelengths, (R,), 1, {"marker": "s"}, lambda a: a.lines[0].get_marker() == "s"),
    "rotation": (plot.rotation, (R,), 1, {"width": 0.02}, lambda a: a.collections[0].width == 0.02),
    "rotation_matrix": (plot.rotation_matrix, (R,), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "rotated": (plot.rotated, (R,), 3, {"color": "green"}, lambda a: a.lines[1].get_color() == "green"),
    "pairing": (plot.pairing, (R,), 1, {"s": 9}, lambda a: a.collections[0].get_sizes().tolist() == [9]),
    "score_by_distance": (plot.score_by_distance, (R,), 1, {"label": "me"}, lambda a: a.lines[1].get_label() == "me"),
    "bias": (plot.bias, (A,), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "bias_by_distance": (plot.bias_by_distance, (A,), 1, {"linestyle": ":"},
        lambda a: a.lines[1].get_linestyle() == ":"),
    "heads": (plot.heads, (A,), 8, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "scalings": (plot.scalings, (R,), 1, {"linewidth": 7.0}, lambda a: a.lines[0].get_linewidth() == 7.0),
    "dials": (plot.dials, (S,), 1, {"linewidth": 5.0}, lambda a: 5.0 in [line.get_linewidth() for line in a.lines]),
    "binary": (plot.binary, (), 2, {"alpha": 0.25}, lambda a: a.images[0].get_alpha() in (0.25, None)),
    "differences": (plot.differences, (S,), 2, {"color": "green"}, lambda a: a.lines[0].get_color() == "green"),
    "attention_map": (plot.attention_map, (R,), 2, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "look_back": (plot.look_back, (S,), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "input_sum": (plot.input_sum, (Sinusoidal(dim=8),), 3, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "score_terms": (plot.score_terms, (Sinusoidal(dim=8),), 5, {"alpha": 0.5},
        lambda a: a.images[0].get_alpha() == 0.5),
    "shift_matrix": (plot.shift_matrix, (Sinusoidal(dim=8),), 1, {"alpha": 0.5},
        lambda a: a.images[0].get_alpha() == 0.5),
    "derivation": (plot.derivation, (S,), 1, {"color": "green"}, lambda a: a.texts[0].get_color() == "green"),
    "derivative": (plot.derivative, (S,), 2, {"linewidth": 7.0}, lambda a: a.lines[0].get_linewidth() == 7.0),
    "number_waves": (plot.number_waves, (Sinusoidal(dim=8),), 12, {"color": "green"},
        lambda a: a.lines[0].get_color() == "green"),
    "word_order": (plot.word_order, (R,), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "layers": (plot.layers, (MODEL,), 1, {"alpha": 0.5}, lambda a: a.collections[0].get_alpha() == 0.5),
    "position_map": (plot.position_map, ([0, 1],), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "media_positions": (plot.media_positions, (SEGMENTS,), 1, {"alpha": 0.5}, lambda a: a.images[0].get_alpha() == 0.5),
    "together": (lambda **k: plot.together("wavelengths", [R, S], **k), (), 1, {"alpha": 0.5},
        lambda a: a.lines[1].get_alpha() == 0.5),
    "curves": (lambda **k: plot.curves(CURVE, x="x", y="y", **k), (), 1, {"marker": "x"},
        lambda a: a.lines[0].get_marker() == "x"),
}  # fmt: skip
#: Pictures that have no axes to label.
WITHOUT_LABELS = ("dials", "derivation", "number_waves")
each = pytest.mark.parametrize("name", PICTURES)


def panels(drawn):
    return [drawn] if isinstance(drawn, Axes) else list(drawn)


#: Pictures of a running model, which take seconds to trace: tests/cli/test_trace_verb.py draws one.
OF_RUNNING_MODELS = {"position_schedule"}


def test_every_public_picture_is_tried_here():
    assert set(PICTURES) == set(plot.__all__) - {"ImageFile", "image"} - OF_RUNNING_MODELS


@each
def test_a_picture_returns_labelled_axes_of_a_figure_of_its_own(name):
    draw, arguments, count, _, _ = PICTURES[name]
    drawn = panels(draw(*arguments))
    assert len(drawn) == count
    assert all(isinstance(one, Axes) for one in drawn)
    assert name in WITHOUT_LABELS or all(one.get_xlabel() for one in drawn[-1:])
    assert name in ("binary", "curves") or drawn[0].get_title() or drawn[0].figure.get_suptitle()
    assert plot.image(drawn[0]).data


@each
def test_a_picture_draws_into_the_given_axes_and_makes_no_others(name):
    draw, arguments, count, _, _ = PICTURES[name]
    figure = Figure()
    given = figure.subplots(1, count)
    drawn = draw(*arguments, ax=given)
    assert panels(drawn) == ([given] if count == 1 else list(given))
    assert all(one.has_data() or one.texts for one in panels(drawn))
    bars = [one for one in figure.axes if one.get_label() == "<colorbar>"]
    assert len(figure.axes) == count + len(bars)


@each
def test_keywords_arrive_at_matplotlib(name):
    draw, arguments, _, keywords, arrived = PICTURES[name]
    drawn = panels(draw(*arguments, **keywords))
    assert all(arrived(one) for one in drawn)
    if name == "binary":
        assert drawn[1].images[0].get_alpha() == 0.25


@each
@pytest.mark.parametrize("ax", ["axes", 3, Figure()])
def test_a_wrong_ax_is_named(name, ax):
    draw, arguments, count, _, _ = PICTURES[name]
    with pytest.raises(
        (TypeError, ValueError),
        match=r"^ax must be " + ("a matplotlib Axes; got" if count == 1 else rf"an array of {count} "),
    ):
        draw(*arguments, ax=ax)


def test_too_few_axes_are_refused():
    with pytest.raises(ValueError, match=r"^ax must be an array of 3 matplotlib Axes"):
        plot.rotated(R, ax=Figure().subplots(1, 2))


def test_pyplot_is_never_loaded_and_nothing_is_shown():
    program = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        "from posenc import plot, Sinusoidal, RoPE, ALiBi\n"
        "import matplotlib; style = matplotlib.rcParams; plain = lambda: [dict.__getitem__(style, key) for key in "
        "style]; before = plain()\n"  # a plain read of the backend loads pyplot
        "plot.image(plot.heatmap(Sinusoidal(dim=8))); plot.image(plot.rotated(RoPE(dim=8))); "
        "plot.image(plot.bias_by_distance(ALiBi(heads=8)))\n"
        "assert plain() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules, 'pyplot was loaded'\n"
        "print('clean')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout.strip()) == (0, "clean"), ran.stderr


ADDS, ROTATES, BIASES = "an encoding that adds", "an encoding that rotates", "an encoding that biases"
EITHER = "an encoding that adds or rotates"


@pytest.mark.parametrize(
    ("draw", "encoding", "what"),
    [
        (plot.heatmap, A, EITHER), (plot.dimensions, A, EITHER), (plot.similarity, R, ADDS),
        (plot.rotation, S, ROTATES),
        (plot.rotated, A, ROTATES), (plot.pairing, S, ROTATES), (plot.bias, S, BIASES),
            (plot.bias_by_distance, R, BIASES),
        (plot.differences, A, "one that adds or rotates"), (plot.score_by_distance, "RoPE", "an encoding"),
        (plot.waves, 3, "an encoding"), (plot.dials, None, "an encoding"),
    ],
)  # fmt: skip
def test_a_wrong_kind_of_encoding_is_named(draw, encoding, what):
    with pytest.raises(TypeError, match=rf"^encoding must be {what}"):
        draw(encoding)


def test_an_encoding_without_frequencies_is_named():
    for draw in (plot.waves, plot.wavelengths, plot.dials):
        with pytest.raises(TypeError, match=r"^encoding must have frequencies; got ALiBi"):
            draw(A)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot.heatmap(S, 0), ValueError, r"^positions must be an integer from 1 to 20000; got 0"),
        (lambda: plot.heatmap(S, 10**9), ValueError, r"^positions must be an integer from 1 to 20000"),
        (lambda: plot.heatmap(S, [[1, 2]]), ValueError, r"^positions must be a count or a row of 1 to 20000 numbers; "
        r"got shape \(1, 2\)"),
        (lambda: plot.heatmap(S, []), ValueError, r"^positions must be a count or a row"),
        (lambda: plot.heatmap(S, [0, 1, 3]), ValueError, r"^positions must be evenly spaced for a heat map; got \[0, "
        r"1, 3\]"),
        (lambda: plot.heatmap(S, [2, 2]), ValueError, r"^positions must be evenly spaced"),
        (lambda: plot.dimensions(S, positions=[0.0, np.nan]), ValueError, r"^positions must be finite numbers"),
        (lambda: plot.heatmap(S, "all"), TypeError, r"^positions must be a number, a list"),
        (lambda: plot.dimensions(S, (0, 32)), ValueError, r"^dims must be an integer from 0 to 31; got 32"),
        (lambda: plot.waves(S, (16,)), ValueError, r"^pairs must be an integer from 0 to 15; got 16"),
        (lambda: plot.waves(S, length=0), ValueError, r"^length must be an integer from 1"),
        (lambda: plot.wavelengths(S, length=0), ValueError, r"^length must be an integer from 1"),
        (lambda: plot.rotation(R, (1.0, 0.0, 0.0)), ValueError, r"^vector must have shape \(2,\); got \(3,\)"),
        (lambda: plot.rotation(R, pair=4), ValueError, r"^pair must be an integer from 0 to 3; got 4"),
        (lambda: plot.rotated(R, np.ones(7)), ValueError, r"^vector must have shape \(8,\); got \(7,\)"),
        (lambda: plot.pairing(RoPE(dim=128)), ValueError, "^encoding.head_dim must be an integer from 2 to 64"),
        (lambda: plot.bias(A, head=8), ValueError, r"^head must be an integer from 0 to 7; got 8"),
        (lambda: plot.bias(A, 10**6), ValueError, r"^length must be an integer from 1 to 4096"),
        (lambda: plot.bias_by_distance(A, heads=(9,)), ValueError, r"^heads must be an integer from 0 to 7; got 9"),
        (lambda: plot.dials(S, pairs=(16,)), ValueError, r"^pairs must be an integer from 0 to 15; got 16"),
        (lambda: plot.derivative(S, (32,)), ValueError, r"^dims must be an integer from 0 to 31; got 32"),
        (lambda: plot.derivative(S, position="3"), TypeError, r"^position must be a finite number from"),
        (lambda: plot.derivative(S, length=0), ValueError, r"^length must be an integer from 1 to 20000; got 0"),
        (lambda: plot.derivative(A), TypeError, r"^encoding must be made of sines and cosines; got ALiBi"),
        (lambda: plot.curves([1, 2], x="x", y="y"), TypeError,
            r"^named must map names to \(x values, y values\); got \[1, 2\]"),
        (lambda: plot.curves({"a": ([1], [1, 2])}, x="x", y="y"), ValueError,
            r"^named\['a'\] must be two rows of one length"),
        (lambda: plot.heatmap(axial(dim=8)), ValueError, r"^encoding must"),
        (lambda: plot.heatmap(CayleySTRING(dim=4)), TypeError, r"^encoding must rotate pairs, equally in every head"),
        (lambda: plot.word_order(R, "Dog bites man", "Cats sleep"), ValueError, r"^other must share words with"),
        (lambda: plot.layers("config.json"), TypeError, r"^model must be what posenc.models.from_config returns"),
        (lambda: plot.media_positions([Text(5000)]), ValueError, r"^segments, counted in tokens, must be an integer"),
        (lambda: plot.image("picture"), TypeError, r"^picture must be a matplotlib Figure, an Axes or an array of"),
        (lambda: plot.image(Figure(), "jpeg"), ValueError, r"^kind must be one of 'auto', 'svg', 'png', 'pdf'; got"),
        (lambda: plot.image(Figure(), dpi=0), ValueError, r"^dpi must be an integer from 10 to 1200; got 0"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_name_of_an_encoding_leaves_defaults_out():
    assert canvas.name(Sinusoidal(dim=8)) == "Sinusoidal(dim=8)"
    assert canvas.name(Sinusoidal(dim=8, base=100.0)) == "Sinusoidal(dim=8, base=100.0)"
    long = canvas.name(Sinusoidal(dim=8, base=100.0, layout="concatenated", exponent="i/(d/2-1)", first="cosine"))
    assert len(long) == 64
    assert long.endswith("…")


def test_an_image_is_small_steady_and_of_the_right_kind():
    heat, line = plot.image(plot.heatmap(S)), plot.image(plot.dimensions(S))
    assert (heat.media, heat.data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    assert line.media == "image/svg+xml"
    assert b"<svg" in line.data
    assert plot.image(plot.dimensions(S)) == line
    assert plot.image(plot.heatmap(S)) == heat
    assert plot.image(plot.heatmap(S), "svg").media == "image/svg+xml"
    assert plot.image(plot.rotated(R)) == plot.image(plot.rotated(R)[0].figure)
    # 5.2 by 3.4 inches at 96 pixels an inch, but for the margins that are cut off.
    assert abs(line.width - 499) < 40
    assert abs(line.height - 326) < 40
    crowded = plot.curves({"a": (np.arange(20_000), np.random.default_rng(0).random(20_000))}, x="x", y="y")
    assert plot.image(crowded).media == "image/png"


def test_the_pictures_of_the_docs_are_there_and_small():
    folder = Path(__file__).parents[2] / "docs" / "images"
    files = list(folder.glob("*.png"))
    assert {"first.png", "heatmap.png", "dials.png", "rotated.png", "differences.png"} <= {file.name for file in files}
    assert max(file.stat().st_size for file in files) < 60_000


def test_rotations_that_differ_by_head_are_refused_where_one_is_drawn():
    for draw in (plot.rotation_matrix, plot.rotation, plot.rotated, plot.differences, plot.heatmap):
        with pytest.raises(TypeError, match=r"^encoding must rotate .*every head.*; got FoPE"):
            draw(FoPE(dim=4, heads=2, length=100))
    assert "FoPE" in plot.pairing(FoPE(dim=4, heads=2, length=100)).get_title()
