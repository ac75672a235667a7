"""The product of a rotated query and a rotated key, and why only the difference of their positions is left in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posenc.core import arrays, text_lines, validation
from posenc.core.arrays import Array
from posenc.core.checked_positions import LARGEST_POSITION
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import Rotation
from posenc.inspect.shift_matrix import DerivationStep

#: Channels of a vector that a line shows.
MOST = 8


@dataclass(frozen=True, eq=False)
class ProductDerivation(text_lines.Lines):
    """Derivation of (R_m q)·(R_n k) from both positions to their difference, step by step with numbers.

    Attributes:
        encoding: The encoding.
        position: Position m of the query.
        key: Position n of the key.
        query_vector: q, (head_dim,).
        key_vector: k, (head_dim,).
        rotated_query: R_m q, (head_dim,).
        rotated_key: R_n k, (head_dim,).
        rotated_back: R_m^T R_n k, (head_dim,).
        shifted_key: R_{n-m} k, (head_dim,).
        aligned: q·k of each pair, the factor of the cosine, (pairs,).
        across: q0·k1 - q1·k0 of each pair, the factor of the sine, (pairs,).
        angles: (m-n)·ω of each pair in radians, within a revolution, (pairs,).
        unpaired: Product of the channels that no pair has.
    """

    encoding: RotaryEncoding
    position: int | float
    key: int | float
    query_vector: np.ndarray
    key_vector: np.ndarray
    rotated_query: np.ndarray
    rotated_key: np.ndarray
    rotated_back: np.ndarray
    shifted_key: np.ndarray
    aligned: np.ndarray
    across: np.ndarray
    angles: np.ndarray
    unpaired: float

    @property
    def product(self) -> float:
        """(R_m q)·(R_n k)."""
        return float(self.rotated_query @ self.rotated_key)

    @property
    def shares(self) -> np.ndarray:
        """Share of each pair in the product, (pairs,)."""
        return np.asarray(self.aligned * np.cos(self.angles) + self.across * np.sin(self.angles))

    @property
    def steps(self) -> tuple[DerivationStep, ...]:
        """Five steps, each with the product worked out by its own formula."""
        m, n, back, difference = map(_place, (self.position, self.key, -self.position, self.key - self.position))
        q = self.query_vector
        shares = " + ".join(_bracketed(text_lines.number(share, 4)) for share in self.shares[:MOST])
        rest = (
            f" + {_bracketed(text_lines.number(self.unpaired, 4))} (channels without a pair)" if self.unpaired else ""
        )
        more = " + …" if len(self.shares) > MOST else ""
        return (
            DerivationStep(
                "Rotate the query by its position and the key by its own, and multiply.",
                "(R_m q)·(R_n k)",
                f"{_vector(self.rotated_query)}·{_vector(self.rotated_key)} = {_value(self.product)}",
            ),
            DerivationStep(
                "A rotation of the query goes over to the key as its transpose.",
                "q·(R_mᵀ R_n k)",
                f"{_vector(q)}·{_vector(self.rotated_back)} = {_value(q @ self.rotated_back)}",
            ),
            DerivationStep(
                "The transpose of a rotation rotates back, and rotations one after the other add their angles.",
                "R_mᵀ R_n = R_{-m} R_n = R_{n-m}",
                f"R({m})ᵀ R({n}) = R({back}) R({n}) = R({difference}); R({difference})·k = {_vector(self.shifted_key)}",
            ),
            DerivationStep(
                "So m and n are left only as their difference.",
                "q·(R_{n-m} k)",
                f"{_vector(q)}·{_vector(self.shifted_key)} = {_value(q @ self.shifted_key)}",
            ),
            DerivationStep(
                "Each pair of channels adds its share, a wave in m - n.",
                "Σ_i (q₀k₀ + q₁k₁)·cos((m-n)ω_i) + (q₀k₁ - q₁k₀)·sin((m-n)ω_i)",
                f"{shares}{more}{rest} = {_value(float(self.shares.sum()) + self.unpaired)}",
            ),
        )

    def lines(self) -> list[str]:
        """A title, then the action, formula and numbers of each step."""
        places = f"m = {_place(self.position)}, n = {_place(self.key)}"
        title = f"(R_m q)·(R_n k) with {text_lines.short(self.encoding)}, {places}"
        vectors = f"q = {_vector(self.query_vector)}, k = {_vector(self.key_vector)}"
        listed = (
            line
            for index, step in enumerate(self.steps, 1)
            for line in (f"{index}. {step.action}", f"   {step.formula}", f"   {step.numbers}")
        )
        return [title, vectors, *listed]


def product_derivation(
    encoding: RotaryEncoding, query_vector: Array, key_vector: Array, *, position: int | float, key: int | float
) -> ProductDerivation:
    """Derive in five steps that (R_m q)·(R_n k) depends on m - n alone.

    Args:
        encoding: A rotary encoding of one axis that rotates pairs of channels and keeps their length.
        query_vector: q before its rotation, (head_dim,).
        key_vector: k before its rotation, (head_dim,).
        position: Position m of the query.
        key: Position n of the key.

    Returns:
        The vectors, the shares of the pairs and the steps.

    Raises:
        TypeError: `encoding` is not rotary.
        ValueError: It does not rotate pairs by their difference alone, or an argument breaks its rule; the message
            names it.

    References:
        Su et al. 2021, arXiv:2104.09864, §3.2.

    Example:
        >>> from posenc import RoPE
        >>> print(product_derivation(RoPE(dim=2), [1.0, 0.0], [0.0, 2.0], position=3, key=1).steps[3].numbers)
        (1, 0)·(1.8186, -0.8323) = 1.8186
    """
    validation.instance("encoding", encoding, RotaryEncoding, "a rotary encoding")
    validation.one_axis("encoding", encoding)
    q, k = (_row(name, value, encoding) for name, value in (("query_vector", query_vector), ("key_vector", key_vector)))
    m, n = (_position(name, value) for name, value in (("position", position), ("key", key)))
    at_query, at_key, back, between = (_rotation(encoding, place) for place in (m, n, -m, n - m))
    rotated_query, rotated_key = _applied(at_query, q), _applied(at_key, k)
    first, second = at_query.pairing.split(np.arange(encoding.head_dim))
    paired = np.isin(np.arange(encoding.head_dim), [*first, *second])
    cosine, sine = (arrays.to_numpy(part)[0] for part in (between.cos, between.sin))
    found = ProductDerivation(
        encoding,
        m,
        n,
        q,
        k,
        rotated_query,
        rotated_key,
        _applied(back, rotated_key),
        _applied(between, k),
        q[first] * k[first] + q[second] * k[second],
        q[first] * k[second] - q[second] * k[first],
        np.arctan2(-sine, cosine),
        float(q[~paired] @ k[~paired]),
    )
    if not np.isclose(q @ found.shifted_key, found.product, rtol=1e-6, atol=1e-6 * float(np.abs(q) @ np.abs(k))):
        raise ValueError(
            f"encoding must have products that depend on the difference of positions alone; got "
            f"{validation.shown(encoding)}. Give RoPE(dim=8), say."
        )
    return found


def _rotation(encoding: RotaryEncoding, position: int | float) -> Rotation:
    """Query rotation at a position; ValueError unless it rotates pairs, by factor 1 and alike in every head."""
    query, key = (encoding.rotation(np.array([position]), dtype=np.float64, role=role) for role in ("query", "key"))
    for rotation in (query, key):
        if not isinstance(rotation, Rotation) or rotation.heads is not None or rotation.factor != 1.0:
            raise ValueError(
                f"encoding must rotate pairs of channels, keep their length and be the same for each head; got "
                f"{validation.shown(encoding)}. Give RoPE(dim=8), say."
            )
    return query  # type: ignore[return-value]


def _applied(rotation: Rotation, vector: np.ndarray) -> np.ndarray:
    rotated: np.ndarray = np.asarray(rotation(vector[None]))[0]
    return rotated


def _row(name: str, value: Array, encoding: RotaryEncoding) -> np.ndarray:
    numbers: np.ndarray = np.asarray(arrays.numbers_on_host(name, value), np.float64)
    if numbers.shape != (encoding.head_dim,):
        raise ValueError(
            f"{name} must hold {encoding.head_dim} numbers, one for each channel of a head; got shape {numbers.shape}. "
            "Give as many numbers as the encoding has channels."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must hold finite numbers; got {validation.shown(value)}. Give other numbers.")
    return numbers


def _position(name: str, value: int | float) -> int | float:
    if isinstance(value, float):
        if not (value.is_integer() and abs(value) <= LARGEST_POSITION):
            return validation.real(name, value, -LARGEST_POSITION / 2, LARGEST_POSITION / 2)
        value = int(value)
    return validation.integer(name, value, -LARGEST_POSITION // 2, LARGEST_POSITION // 2)


def _place(position: int | float) -> str:
    """Format a position: an integer with all its digits, a fraction rounded for display."""
    return str(position) if isinstance(position, int) else text_lines.number(position)


def _vector(numbers: np.ndarray) -> str:
    shown = [text_lines.number(value, 4) for value in numbers[:MOST]]
    return f"({', '.join(shown)}{', …' if len(numbers) > MOST else ''})"


def _value(number: float) -> str:
    return text_lines.number(float(number), 4)


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number
