"""Row 4: the worked example, one line a dimension, for any encoding, position and dimension."""

import numpy as np
import pytest

from posenc import CATALOG, Partial
from posenc.core.doors import AdditiveEncoding, RotaryEncoding
from posenc.core.rotation import Rotation
from posenc.encodings.adds.divisor_pairs import DivisorPairs
from posenc.encodings.adds.one_sine import OneSine
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.learn import worked


def test_the_lectures_example_with_its_numbers_substituted():
    assert [step.text for step in worked(Sinusoidal(dim=4), 3).steps] == [
        "PE(3, 0) = sin(3 / 10000^(0/4)) = sin(3) = 0.14112",
        "PE(3, 1) = cos(3 / 10000^(0/4)) = cos(3) = -0.989992",
        "PE(3, 2) = sin(3 / 10000^(2/4)) = sin(0.03) = 0.029996",
        "PE(3, 3) = cos(3 / 10000^(2/4)) = cos(0.03) = 0.99955",
    ]


def test_the_notes_example_with_three_divisors():
    assert [step.text for step in worked(DivisorPairs(), 1, dims=[0, 2, 5]).steps] == [
        "PE(1, 0) = sin(1) = 0.841471",
        "PE(1, 2) = sin(1 / 2) = sin(0.5) = 0.479426",
        "PE(1, 5) = cos(1 / 3) = cos(0.333333) = 0.944957",
    ]


@pytest.mark.parametrize(
    ("encoding", "position", "dimension", "printed", "correct"),
    [
        (Sinusoidal(dim=4), 3, 1, "cos 3 ≈ -0.9899 for PE(3, 1)", "-0.9900 (-0.98999)"),
        (OneSine(), 2, 0, "sin 2 = 0.87", "0.9093"),
        (OneSine(), 3, 0, "sin 3 = 0.19", "0.1411"),
        (OneSine(), 4, 0, "sin 4 = -0.90", "-0.7568"),
        (DivisorPairs(divisors=(1.0,)), 3, 1, "cos 3 as a blank", "-0.9900"),
        (DivisorPairs(divisors=(1.0,)), 4, 1, "cos 4 as a blank", "-0.6536"),
        (Sinusoidal(dim=6), 1, 0, "0.94 for PE(1, 0) = sin 1", "0.8415"),
        (Sinusoidal(dim=6), 1, 2, "0.04 for PE(1, 2)", "0.0464"),
        (Sinusoidal(dim=6), 1, 3, "0.99 for PE(1, 3)", "0.9989"),
        (Sinusoidal(dim=6), 1, 5, "0.99 for PE(1, 5)", "1.0000"),
        (Sinusoidal(dim=16, base=100.0), 2, 3, "0.41 for PE(2, 3)", "0.43"),
    ],
)
def test_it_says_where_a_source_prints_another_number(encoding, position, dimension, printed, correct):
    example = worked(encoding, position, dims=[dimension])
    assert [(entry.printed, entry.correct) for entry in example.errata] == [(printed, correct)]
    assert any(printed in line and correct in line for line in example.lines())
    (value,) = example.steps[0].values
    places = len(correct.split()[0].partition(".")[2])
    assert f"{value:.{places}f}" == correct.split()[0]
    assert worked(encoding, position + 10, dims=[dimension]).errata == ()


def steps(encoding):
    """One a pair that rotates; one a channel of what comes out where no pair rotates, or each head's by angles of its
    own."""
    if isinstance(encoding, Partial):
        return steps(encoding.encoding)
    place = np.zeros((1, encoding.axes) if encoding.axes > 1 else 1)
    rotation = encoding.rotation(place, encoding.init(np.random.default_rng(0)), role=encoding.roles[0])
    paired = isinstance(rotation, Rotation) and rotation.heads is None
    return encoding.head_dim // 2 if paired else rotation.width


@pytest.mark.parametrize("row", CATALOG)
def test_every_encoding_of_the_catalog_has_one(row):
    for sample in row.samples:
        one = sample.axes == 1
        example = worked(sample, 5 if one else (5,) * sample.axes, key=2 if one else (2,) * sample.axes)
        assert example.formula
        assert all(step.values for step in example.steps)
        if isinstance(sample, AdditiveEncoding):
            assert len(example.steps) == sample.width
        elif isinstance(sample, RotaryEncoding):
            assert len(example.steps) == steps(sample)
        assert str(example).count("\n") >= len(example.steps)
