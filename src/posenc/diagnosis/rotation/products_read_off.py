"""Frequencies and positions read off products of queries and keys, where the rotated vectors are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posenc.diagnosis.rotation.applied_rotation import RotatedPairs
from posenc.diagnosis.rotation.observed_rotations import STEP_GROWTH, ObservedRotations

#: Products of one distance that are solved for cosines and sines: at least and at most so many for each unknown.
LEAST_PRODUCTS, MOST_PRODUCTS = 1.25, 4
#: Heads, and tokens of the other side, that show where a token stands; and how many places are tried for all tokens.
HEADS, WITNESSES, MOST_PLACES = 2, 6, 1 << 22
#: Numbers of a block of places.
BLOCK = 1 << 22


class Products(NamedTuple):
    """Products of queries and keys at whole positions.

    Args:
        q: Queries, (heads, n, dim).
        k: Keys, (heads, m, dim).
        values: q·k of the rotated vectors, (heads, n, m).
        visible: Mask of the products that all heads show, (n, m).
        query_positions: (n,).
        key_positions: (m,).
        up_to_rows: Whether every row may differ by a number of its own.
    """

    q: np.ndarray
    k: np.ndarray
    values: np.ndarray
    visible: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    up_to_rows: bool

    def transposed(self) -> Products:
        """Exchange queries and keys, which needs rows without constants of their own."""
        sides = (self.k, self.q, self.values.swapaxes(1, 2), self.visible.T, self.key_positions, self.query_positions)
        return Products(*sides, up_to_rows=False)

    def of_queries(self, chosen: np.ndarray) -> Products:
        """Restrict the products to these queries."""
        sides = {"q": self.q[:, chosen], "values": self.values[:, chosen], "visible": self.visible[chosen]}
        return self._replace(**sides, query_positions=self.query_positions[chosen])

    def of_few_heads(self) -> Products:
        """Restrict the products to a few heads, spread over all."""
        heads = np.unique(np.linspace(0, len(self.q) - 1, HEADS).astype(int))
        return self._replace(q=self.q[heads], k=self.k[heads], values=self.values[heads])


def rotations_by_distance(products: Products, pairs: RotatedPairs) -> ObservedRotations | None:
    """Rotation of every pair by distances 0, 1, 3, 9, ..., solved by least squares; None where too little is shown.

    With w = z_q·conj(z_k) before the rotation, a product at a distance is the sum over pairs of Re w·cos - Im w·sin.
    """
    found: list[tuple[int, np.ndarray]] = []
    for distance in _distances(products):
        solved = _solved(products, pairs, distance)
        if not solved:
            break
        found += solved if not found else solved[-1:]
    if len(found) < 2:
        return None
    values = np.stack([solved for _, solved in found])
    size = np.maximum(np.abs(values), 1e-300)  # queries and keys each carry the attention factor
    return ObservedRotations(np.array([float(one) for one, _ in found]), values / np.sqrt(size), size, False)


def _distances(products: Products) -> Iterator[int]:
    """Distances to solve for: 0, unless rows have constants of their own, 1, and ever longer ones that are shown."""
    if not products.up_to_rows:
        yield 0
    shown = np.unique((products.query_positions[:, None] - products.key_positions)[products.visible])
    step = 1
    while step in shown:
        yield step
        longer = shown[(shown > step) & (shown <= step * STEP_GROWTH)]
        step = int(longer[-1]) if longer.size else -1


def _solved(products: Products, pairs: RotatedPairs, distance: int) -> list[tuple[int, np.ndarray]]:
    """Rotation of every pair at a distance, after that at 0 if rows have constants; [] if too few are shown."""
    apart = products.query_positions[:, None] - products.key_positions
    rows, columns = np.nonzero((apart == distance) & products.visible)
    if products.up_to_rows:  # each less the product of the same row at distance 0
        own = (apart[rows] == 0) & products.visible[rows]
        rows, columns, diagonal = rows[own.any(1)], columns[own.any(1)], own.argmax(1)[own.any(1)]
    unknowns = len(pairs.first) * (3 if products.up_to_rows else 2)
    count = len(products.q) * len(rows)
    if count < LEAST_PRODUCTS * unknowns:
        return []
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_PRODUCTS * unknowns)).astype(int))
    head, one = np.divmod(chosen, len(rows))
    before, rest, values = _at(products, pairs, head, rows[one], columns[one])
    known, matrix = values - rest, [before.real, -before.imag]
    if products.up_to_rows:
        own_before, own_rest, own_values = _at(products, pairs, head, rows[one], diagonal[one])
        known, matrix = known - (own_values - own_rest), [*matrix, -own_before.real]
    solution = _least_squares(np.concatenate(matrix, 1), known)
    parts = np.split(solution, len(matrix))
    here = [(distance, parts[0] + 1j * parts[1])]
    return [(0, parts[2].astype(complex)), *here] if products.up_to_rows else here


def _at(
    products: Products, pairs: RotatedPairs, head: np.ndarray, row: np.ndarray, column: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Complex products of the pairs (numbers, pairs) before the rotation, the product of other channels, and q·k."""
    q, k = products.q[head, row], products.k[head, column]
    return _in_pairs(pairs, q) * np.conj(_in_pairs(pairs, k)), _others(pairs, q, k), products.values[head, row, column]


def _least_squares(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Solution by normal equations, which a few times as many rows as unknowns make well conditioned."""
    squares = matrix.T @ matrix
    squares[np.diag_indices_from(squares)] += 1e-12 * max(float(np.trace(squares)) / len(squares), 1e-300)
    return np.asarray(np.linalg.solve(squares, matrix.T @ values))


def positions_of_keys(
    products: Products, pairs: RotatedPairs, rotated_q: np.ndarray, tolerance: float
) -> np.ndarray | None:
    """Read off the positions (m,) of keys, where each row may differ by a constant; None where they are not shown.

    Rows that see two keys show the places of both, and so their constants, which place every key that they see; these
    keys show the constants of further rows, as far as windows overlap.

    Args:
        products: Products whose rows differ by numbers of their own.
        pairs: Pairs of the keys.
        rotated_q: Queries as they are rotated, (heads, n, dim).
        tolerance: As for `positions_of_products`.
    """
    plain, places = _without_row_numbers(products, pairs, rotated_q), _places(products)
    if plain is None:
        return None
    used, placed = products.key_positions.astype(np.float64), np.zeros(products.k.shape[1], bool)
    while (keys := ~placed & plain.visible.any(0)).any():
        found = positions_of_products(plain.transposed().of_queries(keys), pairs, rotated_q, tolerance, places)
        if found is None:
            return None
        used[keys], placed = found, placed | keys
        plain = _by_placed_keys(products, pairs, rotated_q, used, placed)
    return used


def _by_placed_keys(
    products: Products, pairs: RotatedPairs, rotated_q: np.ndarray, used: np.ndarray, placed: np.ndarray
) -> Products:
    """The products less each row's constant, which keys of known position (`placed`) that the row sees show."""
    turned = _in_pairs(pairs, products.k) * np.exp(1j * used[:, None] * pairs.frequencies[0]) * pairs.factor
    rotated_k = products.k.astype(np.float64)
    rotated_k[..., pairs.first], rotated_k[..., pairs.second] = turned.real, turned.imag
    shown = products.visible & placed
    rows = shown.any(1)
    apart = np.where(shown, products.values - rotated_q @ rotated_k.swapaxes(1, 2), np.nan)[:, rows]
    values = products.values.copy()
    values[:, rows] -= np.nanmedian(apart, axis=-1, keepdims=True)
    return products._replace(values=values, visible=products.visible & rows[:, None], up_to_rows=False)


def _without_row_numbers(products: Products, pairs: RotatedPairs, rotated_q: np.ndarray) -> Products | None:
    """The products less each row's constant, found without knowing where keys stand; None where it is not shown.

    Two keys that most queries see are tried at every pair of places; the best pair shows the constant of each row.

    Args:
        products: Products whose rows differ by numbers of their own.
        pairs: Pairs of the keys.
        rotated_q: Queries as they are rotated, (heads, n, dim).
    """
    one, two = np.argsort(~products.visible, axis=1, kind="stable")[-1, :2]
    rows = np.flatnonzero(products.visible[:, one] & products.visible[:, two])
    if one == two or len(rows) < WITNESSES:
        return None
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, 4 * WITNESSES).astype(int))]
    places = _places(products)
    first, second = (_of_key(products, pairs, rotated_q, key, chosen, places) for key in (one, two))
    apart = (products.values[:, chosen, one] - products.values[:, chosen, two]).reshape(-1)
    gap = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T
    gap += (apart**2).sum() - 2 * (first @ apart)[:, None] + 2 * second @ apart
    place = places[np.unravel_index(int(gap.argmin()), gap.shape)[0]]
    seen = products.visible[:, one]
    own = _of_key(products, pairs, rotated_q, one, np.arange(len(seen)), np.array([place]))
    numbers = products.values[..., one] - own.reshape(products.values.shape[:2])
    visible = products.visible & seen[:, None]
    return products._replace(values=products.values - numbers[..., None], visible=visible, up_to_rows=False)


def _of_key(
    products: Products, pairs: RotatedPairs, rotated_q: np.ndarray, key: int, rows: np.ndarray, places: np.ndarray
) -> np.ndarray:
    """Products (places, heads·rows) of rotated queries with one key that is rotated from every place."""
    k = np.repeat(products.k[:, key], len(rows), 0)
    return _at_places(pairs, k, rotated_q[:, rows].reshape(k.shape), places)


def positions_of_products(
    products: Products,
    pairs: RotatedPairs,
    rotated: np.ndarray,
    tolerance: float,
    places: np.ndarray | None = None,
) -> np.ndarray | None:
    """Read off the positions (n,) of queries by products with a few keys; None for too many places, or negative ones.

    Args:
        products: Products of the queries and keys.
        pairs: Pairs of the queries.
        rotated: Keys as they are rotated, (heads, m, dim).
        tolerance: How far rounding may move a product: where the expected position explains them so well, it is used.
        places: Positions that are tried; if None, those of the products.
    """
    places, count = _places(products) if places is None else places, products.visible.sum(1)
    if len(places) * len(count) > MOST_PLACES or np.any(places[[0, -1]] < 0):
        return None
    order = np.argsort(~products.visible, axis=1, kind="stable")
    steps = np.linspace(0, np.maximum(count - 1, 0), WITNESSES).astype(int).T
    witnesses = np.take_along_axis(order, steps, 1)
    used = products.query_positions.astype(np.float64)
    size = max(BLOCK // (len(places) * WITNESSES * len(products.q)), 1)
    for start in range(0, len(used), size):
        rows = np.arange(start, min(start + size, len(used)))
        gap = _gaps(products, pairs, rotated, rows, witnesses[rows], places)
        expected = gap[products.query_positions[rows].astype(int) - int(places[0]), np.arange(len(rows))]
        elsewhere = (expected > tolerance) & (count[rows] > (1 if products.up_to_rows else 0))
        used[rows[elsewhere]] = places[gap.argmin(0)[elsewhere]]
    return used


def _gaps(
    products: Products,
    pairs: RotatedPairs,
    rotated: np.ndarray,
    rows: np.ndarray,
    witnesses: np.ndarray,
    places: np.ndarray,
) -> np.ndarray:
    """How far products of these rows at every place are off, (places, rows): the root of the mean square."""
    heads, tokens, _ = np.ix_(np.arange(len(products.q)), rows, np.arange(witnesses.shape[1]))
    shown = products.values[heads, tokens, witnesses[None]]
    x = np.broadcast_to(products.q[:, rows, None], (*shown.shape, products.q.shape[-1]))
    other = rotated[heads, witnesses[None]]
    products_at = _at_places(pairs, x.reshape(-1, x.shape[-1]), other.reshape(-1, x.shape[-1]), places)
    gap = products_at.reshape(len(places), *shown.shape) - shown
    if products.up_to_rows:
        gap -= gap.mean(-1, keepdims=True)
    return np.asarray(np.sqrt((gap**2).mean((1, 3))))


def _at_places(pairs: RotatedPairs, x: np.ndarray, rotated: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Products (places, rows) of vectors x (rows, dim), rotated from every place, with `rotated` (rows, dim)."""
    before = _in_pairs(pairs, x) * np.conj(_in_pairs(pairs, rotated)) * pairs.factor
    angle = places[:, None] * pairs.frequencies[0]
    return np.asarray(np.cos(angle) @ before.real.T - np.sin(angle) @ before.imag.T + _others(pairs, x, rotated))


def _places(products: Products) -> np.ndarray:
    """Every position of queries and keys, and one more."""
    every = np.concatenate([products.query_positions, products.key_positions])
    return np.arange(int(every.min()), int(every.max()) + 2)


def _in_pairs(pairs: RotatedPairs, x: np.ndarray) -> np.ndarray:
    return np.asarray(x[..., pairs.first] + 1j * x[..., pairs.second])


def _others(pairs: RotatedPairs, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Product of the channels that do not rotate."""
    alone = np.ones(x.shape[-1], bool)
    alone[pairs.first] = alone[pairs.second] = False
    return np.asarray((x[..., alone] * y[..., alone]).sum(-1))
