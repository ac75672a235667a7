"""Coordinates of a graph's nodes: exact chances of return, eigenvectors by their definition, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from posenc.positions import laplacian, random_walk

CHAIN = np.eye(5, k=1) + np.eye(5, k=-1)
#: No symmetry, a loop at node 1, node 5 hanging by one edge.
EDGES = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (1, 4), (4, 5), (1, 1))
GRAPH = np.zeros((6, 6))
for one, other in EDGES:
    GRAPH[one, other] = GRAPH[other, one] = 1
#: Two nodes that are joined, and one apart.
PARTS = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])


def first_largest(vector: np.ndarray) -> float:
    """The entry of the largest size, the first of those that only rounding tells apart."""
    return next(float(value) for value in vector if abs(value) >= np.abs(vector).max() - 1e-9)


def returns(adjacency: np.ndarray, node: int, steps: int) -> list[Fraction]:
    """Chances of return by following every walk, in exact fractions."""
    chance, found = {node: Fraction(1)}, []
    for _ in range(steps):
        after: dict[int, Fraction] = {}
        for at, share in chance.items():
            degree = sum(Fraction(float(weight)) for weight in adjacency[at])
            for to, weight in enumerate(adjacency[at]):
                if weight:
                    after[to] = after.get(to, Fraction(0)) + share * Fraction(float(weight)) / degree
        chance = after
        found.append(chance.get(node, Fraction(0)))
    return found


@pytest.mark.parametrize("adjacency", [CHAIN, GRAPH, GRAPH * np.arange(1, 7)[:, None], PARTS])
def test_random_walks_are_the_exact_chances(adjacency: np.ndarray) -> None:
    found = random_walk(adjacency, 7)
    assert found.shape == (len(adjacency), 7)
    for node, row in enumerate(found.tolist()):
        # A chance sums 6 products a step, each rounded: 14 roundings a step of numbers up to 1.
        assert all(
            abs(value - float(true)) <= 7 * 14 * 2.0**-53
            for value, true in zip(row, returns(adjacency, node, 7), strict=True)
        )


@pytest.mark.parametrize("adjacency", [CHAIN, GRAPH, GRAPH * np.arange(1, 7) * np.arange(1, 7)[:, None]])
def test_laplacian_eigenvectors_by_their_definition(adjacency: np.ndarray) -> None:
    """L·v = λ·v written out edge by edge, each of length 1, orthogonal, λ increasing from that of the constant one."""
    found = laplacian(adjacency, 3)
    edges, size = adjacency * (1 - np.eye(len(adjacency))), len(adjacency)
    degree = edges.sum(1)
    values = []
    for vector in found.T:
        moved = [
            vector[i] - sum(edges[i, j] / math.sqrt(degree[i] * degree[j]) * vector[j] for j in range(size))
            for i in range(size)
        ]
        values.append(float(np.dot(moved, vector)))
        assert np.abs(np.array(moved) - values[-1] * vector).max() <= 2.0**-45
    assert np.abs(found.T @ found - np.eye(3)).max() <= 2.0**-45
    assert np.abs(np.sqrt(degree) @ found).max() <= 2.0**-42  # √D is the first, which is left out
    assert 0 < values[0] < values[1] < values[2]
    assert all(first_largest(vector) > 0 for vector in found.T)


def test_known_eigenvalues_of_a_chain() -> None:
    """The k-th value of a chain of n nodes is 1 - cos(π·k/(n-1)), its vector √degree · cos(π·k·i/(n-1))."""
    for k, vector in enumerate(laplacian(CHAIN, 3).T, start=1):
        known = np.sqrt(CHAIN.sum(1)) * np.cos(np.pi * k * np.arange(5) / 4)
        known /= np.linalg.norm(known) * np.sign(first_largest(known))
        assert np.abs(vector - known).max() <= 2.0**-44


def test_drawn_signs() -> None:
    plain, rng = laplacian(GRAPH, 4), np.random.default_rng(0)
    drawn = [np.sign((laplacian(GRAPH, 4, rng=rng) * plain).sum(0)).astype(int).tolist() for _ in range(20)]
    assert {sign for signs in drawn for sign in signs} == {-1, 1}
    assert len({tuple(signs) for signs in drawn}) > 4


def test_equal_eigenvalues() -> None:
    ring = np.roll(np.eye(6), 1, 0) + np.roll(np.eye(6), -1, 0)
    with pytest.raises(
        ValueError, match=r"^adjacency must have a graph whose eigenvalues differ; got 0.5 for numbers 1 "
    ):
        laplacian(ring, 1)
    with pytest.raises(
        ValueError, match=r"^adjacency must have a graph whose eigenvalues differ; got 0 for numbers 0 "
    ):
        laplacian(np.kron(np.eye(2), np.ones((2, 2))), 1)
    assert np.allclose(np.linalg.norm(laplacian(ring, 2, ties="any"), axis=0), 1.0)


def test_weights_of_any_library_and_truth_values_are_taken() -> None:
    torch = pytest.importorskip("torch")
    expected = random_walk(CHAIN, 3)
    for adjacency in (CHAIN > 0, torch.tensor(CHAIN, requires_grad=True), CHAIN.tolist()):
        assert np.array_equal(random_walk(adjacency, 3), expected)


REFUSED = [
    (lambda: random_walk("graph", 2), TypeError, "adjacency must be a matrix of real numbers"),
    (lambda: random_walk([[0, 1], [1]], 2), TypeError, "adjacency must be a matrix of real numbers"),
    (lambda: random_walk([["0", "1"], ["1", "0"]], 2), TypeError, "adjacency must be a matrix of real numbers"),
    (lambda: laplacian(np.array([[0, 1j], [-1j, 0]]), 1), TypeError, "adjacency must be a matrix of real numbers"),
    (lambda: random_walk(np.ma.array(CHAIN, mask=CHAIN), 2), TypeError, "adjacency must be a dense array"),
    (lambda: random_walk(np.ones((2, 3)), 2), ValueError, r"adjacency must have shape \(n, n\)"),
    (lambda: random_walk(np.zeros((0, 0)), 2), ValueError, r"adjacency must have shape \(n, n\) for 1 to 8192 nodes"),
    (lambda: random_walk([[0, -1.0], [1, 0]], 2), ValueError, "adjacency must hold finite weights"),
    (lambda: random_walk([[0, np.nan], [1, 0]], 2), ValueError, "adjacency must hold finite weights"),
    (lambda: random_walk(CHAIN, 0), ValueError, "steps must be an integer from 1"),
    (lambda: laplacian([[0, 1], [0, 0]], 1), ValueError, "adjacency must be symmetric"),
    (lambda: laplacian([[0]], 1), ValueError, "adjacency must have at least 2 nodes"),
    (lambda: laplacian(CHAIN, 5), ValueError, "count must be an integer from 1 to 4"),
    (lambda: laplacian(CHAIN, 1, ties="no"), ValueError, "ties must be one of"),
    (lambda: laplacian(CHAIN, 1, rng=3), TypeError, "rng must be a numpy.random.Generator"),
]


@pytest.mark.parametrize(("call", "error", "begins"), REFUSED)
def test_refused(call, error: type, begins: str) -> None:
    with pytest.raises(error, match=f"^{begins}"):
        call()
