"""The documented forms of code that makes biases: a number for each head, query and key; or the slopes alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from posenc.diagnosis.code.caller import Caller
from posenc.diagnosis.code.user_code import UnsupportedFormError

#: Queries and keys that are asked for: beyond the distance of 128 at which T5's last bucket begins.
LENGTH = 160


@dataclass(frozen=True, eq=False)
class ProbedBias:
    """Biases (heads, n, n) of positions 0 to n-1, as float64, and the type that they came in."""

    values: np.ndarray
    dtype: str
    door: ClassVar[str] = "biases"

    @property
    def heads(self) -> int:
        return len(self.values)


def by_length(caller: Caller) -> ProbedBias:
    """f(length), f(heads, length), f(query_length, key_length): biases for every head."""
    sizes = dict.fromkeys(("length", "query_length", "key_length"), LENGTH)
    values, dtype = caller(**{role: size for role, size in sizes.items() if role in caller.call.form})
    return _probed(values, dtype, caller.heads)


def from_slopes(caller: Caller) -> ProbedBias:
    """f(heads): what every step of distance costs in each head."""
    values, dtype = caller()
    values = values.reshape(-1)
    if len(values) != caller.heads:
        raise UnsupportedFormError(f"it returned {len(values)} numbers for {caller.heads} heads")
    position = np.arange(LENGTH)
    distance = np.abs(position - position[:, None])
    return ProbedBias(-values[:, None, None] * distance, dtype)


def added_to_scores(caller: Caller) -> ProbedBias:
    """f(scores): what is added to scores that are zero."""
    values, dtype = caller(scores=np.zeros((1, caller.heads, LENGTH, LENGTH)))
    return _probed(values, dtype, caller.heads)


#: How to call each form, by the roles of its arguments besides width and base.
BIAS_FORMS: Mapping[frozenset[str], Callable[[Caller], ProbedBias]] = {
    frozenset({"length"}): by_length,
    frozenset({"heads", "length"}): by_length,
    frozenset({"query_length", "key_length"}): by_length,
    frozenset({"heads", "query_length", "key_length"}): by_length,
    frozenset({"heads"}): from_slopes,
    frozenset({"scores"}): added_to_scores,
}


def _probed(values: np.ndarray, dtype: str, heads: int) -> ProbedBias:
    """(heads, n, n), from that, one batch row of it, (n, n, heads), or a row for each key alone."""
    by_head = values[0] if values.ndim == 4 and len(values) == 1 else values
    if by_head.shape == (LENGTH, LENGTH, heads):
        by_head = np.moveaxis(by_head, -1, 0)
    if by_head.shape not in ((heads, LENGTH, LENGTH), (heads, 1, LENGTH)):
        raise UnsupportedFormError(f"it returned shape {values.shape} for {heads} heads and {LENGTH} positions")
    return ProbedBias(np.broadcast_to(by_head, (heads, LENGTH, LENGTH)).copy(), dtype)
