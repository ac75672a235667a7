"""Coordinates of the nodes of a graph: random walks, and eigenvectors of the Laplacian."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from posenc.core import arrays, validation

#: The most nodes of a graph: its matrix is dense, and its eigenvectors take time with the cube.
MOST_NODES = 1 << 13
#: Eigenvalues, from 0 to 2, that are closer than this count as equal; rounding moves them by some 2^-45.
SAME = 2.0**-30


def random_walk(adjacency: Any, steps: int) -> np.ndarray:
    """Probability that a random walk from each node is back after 1, 2, …, `steps` steps.

    They are the diagonals of P, P², …, with P = D⁻¹·A. For graphs without weights this is `AddRandomWalkPE` of PyTorch
    Geometric; with weights that code divides 1, not the weight of an edge, by the sum. A walk from a node without edges
    goes nowhere, so its row is 0.

    Args:
        adjacency: (n, n), the weights of edges from row to column, 0 where there is none; anything that `numpy.asarray`
            takes.
        steps: Number of steps, at least 1.

    Returns:
        (n, steps), float64; a model projects it to its width.

    Raises:
        TypeError: `adjacency` is no matrix of numbers, or `steps` no whole number.
        ValueError: `adjacency` is not square, not finite, below 0 or too large, or `steps` out of range.

    References:
        Dwivedi et al. 2021, arXiv:2110.07875.

    Example:
        >>> random_walk([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 2).tolist()  # a chain of three nodes
        [[0.0, 0.5], [0.0, 1.0], [0.0, 0.5]]
    """
    weights = _weights(adjacency)
    steps = validation.integer("steps", steps, 1, 1 << 12)
    validation.size("steps", steps * len(weights))
    degree = weights.sum(1, keepdims=True)
    chances = np.divide(weights, degree, out=np.zeros_like(weights), where=degree > 0)
    found, power = np.empty((len(weights), steps)), np.eye(len(weights))
    for step in range(steps):
        power = power @ chances
        found[:, step] = power.diagonal()
    return found


def laplacian(
    adjacency: Any,
    count: int,
    *,
    ties: Literal["error", "any"] = "error",
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Eigenvectors of the second to the (count+1)-th smallest eigenvalue of a graph's Laplacian.

    L = I - D^(-1/2)·A·D^(-1/2), with A without loops and 0 for the D^(-1/2) of a node without edges, as
    `AddLaplacianEigenvectorPE` of PyTorch Geometric has it. Each eigenvector has length 1 and no sign of its own: its
    largest entry (the first, of several that are alike to 2^-30) is made positive. Equal eigenvalues, as in graphs with
    symmetries or several parts, have no eigenvectors of their own either: any rotation of them would do.

    Args:
        adjacency: (n, n), symmetric, no weight below 0; anything that `numpy.asarray` takes.
        count: Number of eigenvectors, from 1 to n - 1.
        ties: "error" refuses equal eigenvalues among those in use; "any" gives the vectors that LAPACK happens to find.
        rng: Generator that signs are drawn from, as PyTorch Geometric does and training should; None for the rule
            above.

    Returns:
        (n, count), float64; a model projects it to its width.

    Raises:
        TypeError: `adjacency` is no matrix of numbers, or another argument has the wrong type.
        ValueError: `adjacency` is not symmetric, not finite, below 0 or too large, eigenvalues are equal, or a number
            is out of range.

    References:
        Dwivedi et al. 2020, arXiv:2003.00982.

    Example:
        >>> laplacian([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 1).round(4).tolist()
        [[0.7071], [0.0], [-0.7071]]
    """
    weights = _weights(adjacency)
    if not np.array_equal(weights, weights.T):
        raise ValueError(
            "adjacency must be symmetric; got a matrix with edges that have no edge of the same weight back. Give "
            "numpy.maximum(a, a.T), say."
        )
    count = validation.integer("count", count, 1, len(weights) - 1) if len(weights) > 1 else _too_few(weights)
    validation.choice("ties", ties, ("error", "any"))
    values, vectors = np.linalg.eigh(_normalised(weights))
    same = np.flatnonzero(np.diff(values[: count + 2]) < SAME)
    if len(same) and ties == "error":
        raise ValueError(
            f"adjacency must have a graph whose eigenvalues differ; got {abs(values[same[0]]):.6g} for numbers "
            f"{same[0]} and {same[0] + 1}, whose eigenvectors are not determined. Give ties='any' to take what LAPACK "
            "finds."
        )
    vectors = vectors[:, 1 : count + 1]
    if rng is not None:
        validation.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
        signs: np.ndarray = rng.choice([-1.0, 1.0], count)
    else:
        sizes = np.abs(vectors)
        largest = np.argmax(sizes >= sizes.max(0) - SAME, 0)
        signs = np.sign(np.take_along_axis(vectors, largest[None], 0))[0]
    result: np.ndarray = vectors * signs
    return result


def _normalised(weights: np.ndarray) -> np.ndarray:
    """Laplacian I - D^(-1/2)·A·D^(-1/2) of the graph without its loops."""
    edges = weights - np.diag(weights.diagonal())
    degree = edges.sum(1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    result: np.ndarray = np.eye(len(edges)) - root[:, None] * edges * root
    return result


def _too_few(weights: np.ndarray) -> int:
    raise ValueError(
        f"adjacency must have at least 2 nodes; got {len(weights)}. A single node has no eigenvector but the first."
    )


def _weights(adjacency: Any) -> np.ndarray:
    """Adjacency matrix as float64, or the error that says what it lacks."""
    no_numbers = TypeError(
        f"adjacency must be a matrix of real numbers; got {validation.shown(adjacency)}. Give a dense array (n, n)."
    )
    shape = getattr(adjacency, "shape", None)
    if shape is None and not isinstance(adjacency, list | tuple):
        raise no_numbers
    _check_shape((len(adjacency), len(adjacency)) if shape is None else tuple(shape))
    adjacency = arrays.whole_array("adjacency", adjacency)
    try:
        weights = arrays.to_numpy(adjacency)
    except (TypeError, ValueError) as error:
        raise no_numbers from error
    if weights.dtype.kind in "cSUOmM":  # complex numbers, words, objects and times
        raise no_numbers
    weights = weights.astype(np.float64)
    _check_shape(weights.shape)
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(
            "adjacency must hold finite weights, none below 0; got others. Give 1 for an edge and 0 for none."
        )
    return weights


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse arrays that are not square matrices, before their numbers are copied."""
    if len(shape) != 2 or shape[0] != shape[1] or not 1 <= shape[0] <= MOST_NODES:
        raise ValueError(
            f"adjacency must have shape (n, n) for 1 to {MOST_NODES} nodes; got shape {shape}. Give a row and "
            "a column for each node."
        )
