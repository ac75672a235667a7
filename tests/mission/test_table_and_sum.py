"""Row 25: several positions in one table, and E + P of the example sentence, as numbers and in coloured cells."""

import json

import numpy as np
import pytest

from posenc import plot
from posenc.cli import main
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.inspect import input_sum, position_table

#: The chapter's embedding of "book"; its sum with the encoding of position 2 is corrected in the errata.
BOOK = [0.02, 0.15, 0.31, 0.08, -0.26, 0.21, -0.58, 1.12, -0.38, -0.91, 0.52, 0.87, -0.17, 0.73, -0.38, 0.18]
SUM = [0.93, -0.27, 1.21, 0.51, 0.33, 1.02, -0.23, 2.06, -0.18, 0.07, 0.63, 1.86, -0.11, 1.73, -0.34, 1.18]
CHAPTER = Sinusoidal(dim=16, base=100.0)


def test_the_table_of_three_positions():
    table = position_table(CHAPTER, [0, 1, 2])
    np.testing.assert_array_equal(table.rows, CHAPTER.embed([0, 1, 2]))
    assert [f"{value:.2f}" for value in table.rows[1, :4]] == ["0.84", "0.54", "0.53", "0.85"]


def test_explain_prints_several_positions_in_one_table(capsys):
    assert main(["explain", "Sinusoidal(dim=4)", "--position", "0", "1", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:5]] == [
        ["position", "0", "1", "2", "3"],
        ["0", "0.0000", "1.0000", "0.0000", "1.0000"],
        ["1", "0.8415", "0.5403", "0.0100", "1.0000"],
        ["3", "0.1411", "-0.9900", "0.0300", "0.9996"],
    ]
    assert main(["explain", "Sinusoidal(dim=4)", "--position", "0", "1", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    np.testing.assert_allclose(shown["rows"], Sinusoidal(dim=4).embed([0, 1, 3]), rtol=1e-15)
    assert shown["positions"] == [0, 1, 3]


def test_the_sum_of_the_chapter():
    vectors = np.zeros((3, 16))
    vectors[2] = BOOK
    shown = input_sum("classify the book", CHAPTER, embeddings=vectors)
    np.testing.assert_array_equal(shown.total, shown.embeddings + shown.positional)
    # The printed sum adds numbers of two decimals each: two half units of the last digit.
    np.testing.assert_allclose(shown.total[2], SUM, atol=0.01 + 1e-9)
    assert shown.lines()[1] == "classify, position 0"


def test_the_vector_of_one_word_is_given_and_the_others_are_drawn():
    shown, drawn = (input_sum("classify the book", CHAPTER, embeddings=given) for given in ({"book": BOOK}, None))
    np.testing.assert_array_equal(shown.embeddings[2], BOOK)
    np.testing.assert_array_equal(shown.embeddings[:2], drawn.embeddings[:2])
    with pytest.raises(ValueError, match="embeddings must name words of the sentence; got 'pen'"):
        input_sum("classify the book", CHAPTER, embeddings={"pen": BOOK})
    with pytest.raises(ValueError, match=r"embeddings must have 16 numbers for a word; got shape \(2,\) for 'book'"):
        input_sum("classify the book", CHAPTER, embeddings={"book": [0, 1]})
    capital = input_sum("Classify the Book", CHAPTER, embeddings={"Book": BOOK})
    np.testing.assert_array_equal(capital.embeddings, shown.embeddings)
    with pytest.raises(ValueError, match="embeddings must name a word once; got 'Book' twice"):
        input_sum("classify the book", CHAPTER, embeddings={"book": BOOK, "Book": BOOK})


def test_the_picture_of_the_sum_shows_every_number():
    shown = input_sum("classify the book", CHAPTER)
    axes = plot.input_sum(shown)
    for ax, values in zip(axes, (shown.embeddings, shown.positional, shown.total), strict=True):
        np.testing.assert_array_equal(np.asarray(ax.images[0].get_array()), values)
        assert {text.get_text() for text in ax.texts} >= {f"{values[1, 3]:.2f}".replace("-", "−")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["RoPE(dim=8)", "--position", "0", "1"], "position must be a finite number"),
        (["Sinusoidal(dim=4)", "--position", "0", "1", "--dims", "0"], "dims must be left out"),
    ],
)
def test_what_has_no_table_is_one_line(capsys, options, message):
    assert main(["explain", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
