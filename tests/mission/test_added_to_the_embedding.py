"""Row 9: added to the token embedding, gradients, and the four terms of the score."""

import json
import math

import numpy as np
import pytest
import torch

from posenc.cli import main
from posenc.compose import Concatenated
from posenc.encodings.adds.learned import Learned
from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.learn import score_terms

#: The chapter's embedding of "book".
BOOK = [0.02, 0.15, 0.31, 0.08, -0.26, 0.21, -0.58, 1.12, -0.38, -0.91, 0.52, 0.87, -0.17, 0.73, -0.38, 0.18]


def test_a_sum_keeps_the_dimension():
    x = np.random.default_rng(0).standard_normal((2, 5, 8))
    encoding = Sinusoidal(dim=8)
    added = encoding.attach(x, range(5))
    assert added.shape == x.shape
    np.testing.assert_allclose(added, x + encoding.embed(range(5)), atol=1e-15)


def test_a_concatenation_does_not():
    x = np.random.default_rng(0).standard_normal((2, 5, 8))
    widened = Concatenated(Sinusoidal(dim=4)).attach(x, range(5))
    assert widened.shape == (2, 5, 12)
    assert np.array_equal(widened[..., :8], x)
    assert np.array_equal(widened[1, :, 8:], Sinusoidal(dim=4).embed(range(5)))


def test_the_chapters_sum_corrected():
    """The chapter's sum goes wrong from dimension 2 on; its table, two digits a number, gives this."""
    row = np.round(Sinusoidal(dim=16, base=100.0).embed([2])[0], 2)
    values = [
        "0.93",
        "-0.27",
        "1.21",
        "0.51",
        "0.33",
        "1.02",
        "-0.23",
        "2.06",
        "-0.18",
        "0.07",
        "0.63",
        "1.86",
        "-0.11",
        "1.73",
        "-0.34",
        "1.18",
    ]
    assert [f"{value:.2f}" for value in np.array(BOOK) + row] == values


def test_no_gradient_passes_through_a_fixed_table():
    x = torch.ones((1, 3, 4), requires_grad=True)
    encoding = Sinusoidal(dim=4)
    assert encoding.shapes == {}
    assert not encoding.embed(torch.arange(3)).requires_grad
    encoding.attach(x, torch.arange(3)).sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))  # all of it reaches the embedding, unchanged


def test_a_gradient_passes_through_a_learned_one():
    encoding = Learned(dim=4, length=6)
    table = torch.tensor(encoding.init(np.random.default_rng(0))["table"], dtype=torch.float32, requires_grad=True)
    x = torch.zeros((1, 3, 4), requires_grad=True)
    encoding.attach(x, torch.tensor([1, 1, 4]), {"table": table}).sum().backward()
    assert table.grad[:, 0].tolist() == [0.0, 2.0, 0.0, 0.0, 1.0, 0.0]


def test_the_four_terms_of_the_score_sum_to_the_whole():
    rng = np.random.default_rng(1)
    x, positions = rng.standard_normal((2, 5, 8)), Sinusoidal(dim=8).embed(range(5))
    query_positions, key_positions = rng.standard_normal((2, 8, 6))
    terms = score_terms(x @ query_positions, x @ key_positions, positions @ query_positions, positions @ key_positions)
    whole = ((x + positions) @ query_positions) @ ((x + positions) @ key_positions).swapaxes(-1, -2) / np.sqrt(6)
    # Sums of 4 · 6 products, each of size below 30: 24 roundings of 30 · 2^-53.
    np.testing.assert_allclose(terms.total, whole, atol=24 * 30 * 2.0**-53)
    np.testing.assert_allclose(
        terms.content_content, (x @ query_positions) @ (x @ key_positions).swapaxes(-1, -2) / np.sqrt(6), atol=1e-13
    )
    np.testing.assert_allclose(
        terms.position_position, (positions @ query_positions) @ (positions @ key_positions).T / np.sqrt(6), atol=1e-13
    )
    np.testing.assert_allclose(
        terms.content_position, (x @ query_positions) @ (positions @ key_positions).T / np.sqrt(6), atol=1e-13
    )
    np.testing.assert_allclose(
        terms.position_content,
        (positions @ query_positions) @ (x @ key_positions).swapaxes(-1, -2) / np.sqrt(6),
        atol=1e-13,
    )
    assert np.abs(terms.content_position - terms.position_content).max() > 0.1
    assert terms.lines()[-1].startswith("sum")


def test_the_position_term_alone_depends_on_distance_only_when_nothing_projects_it():
    positions = Sinusoidal(dim=8).embed(range(20))
    nothing = np.zeros((20, 8))
    plain = score_terms(nothing, nothing, positions, positions).position_position
    for distance in range(1, 5):
        assert np.ptp(np.diagonal(plain, distance)) == pytest.approx(0.0, abs=1e-14)
    matrix = np.random.default_rng(2).standard_normal((8, 8))
    mixed = score_terms(nothing, nothing, positions @ matrix, positions).position_position
    assert np.ptp(np.diagonal(mixed, 1)) > 0.1


def test_the_four_terms_of_vectors_of_ones_own_on_the_command_line(capsys):
    vectors = ["--query-vector", "1", "0", "2", "1", "--key-vector", "0.5", "1", "-1", "2"]
    asked = ["explain", "Sinusoidal(dim=4)", "--position", "7", "--key", "3", *vectors]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "content · content    x·x'/√4 = (1·0.5 + 0·1 + 2·(-1) + 1·2)/2 = 0.25" in shown
    assert main([*asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    p, other = (np.array([math.sin(k), math.cos(k), math.sin(k / 100), math.cos(k / 100)]) for k in (7, 3))
    total = (np.array([1, 0, 2, 1]) + p) @ (np.array([0.5, 1, -1, 2]) + other) / 2
    assert facts["total"] == pytest.approx(total, abs=1e-12)
    terms = ("content_content", "content_position", "position_content", "position_position")
    assert sum(facts[name] for name in terms) == pytest.approx(total, abs=1e-12)
    assert facts["position_position"] == pytest.approx(p @ other / 2, abs=1e-12)
    assert main([*asked[:-1]]) == 2
    assert "key_vector must be 4 finite numbers; got shape (3,)" in capsys.readouterr().err
