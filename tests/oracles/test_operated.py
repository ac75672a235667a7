"""Every encoding whose map is no rotation of pairs, every sample, in every library, against the oracle of its
encoding."""

from __future__ import annotations

from functools import lru_cache, partial
from inspect import signature
from itertools import product
from typing import Any

import numpy as np

from oracles import ORACLES, ways
from oracles.test_oracles import in_pairs, learned, of_door, places, roles
from posenc.core.doors import RotaryEncoding
from posenc.core.rotation import at_every_head


def headed(oracle: Any) -> bool:
    """Whether the oracle asks which head it is about."""
    return "head" in signature(oracle.rotated).parameters


@lru_cache(maxsize=4096)
def true_vector(encoding: Any, place: Any, role: str, *told: int) -> tuple[list, Any]:
    """What the oracle makes of the vector, and how far a float64 angle may be off: once for all libraries and
    widths."""
    oracle, (_, lists) = ORACLES[type(encoding).__name__], learned(encoding)
    return oracle.rotated(encoding, vector(encoding).tolist(), place, role, lists, *told), oracle.lost(
        encoding, place, lists
    )


def vector(encoding: Any) -> np.ndarray:
    return np.random.default_rng(6).standard_normal(encoding.head_dim).astype(np.float32)


@ways.cases(of_door(RotaryEncoding, lambda encoding: not in_pairs(encoding)), "float32", "float64")
def test_operated_vectors(encoding: Any, kind: str, library: str) -> None:
    """The oracle says how many roundings of the answer's dtype there are, and how far a float64 angle is off."""
    oracle = ORACLES[type(encoding).__name__]
    params, lists = learned(encoding)
    x = vector(encoding).astype(kind)
    with ways.wide(library):
        given = {name: ways.array(library, value.astype(kind)) for name, value in params.items()}
        for at, role in product(places(encoding), roles(oracle)):
            operator = encoding.rotation(np.array(at), params, role=role)
            rotation = partial(encoding.rotation, role=role, dtype=ways.dtype(library, kind))
            operated = ways.run(
                library, lambda at, x, params, rotation=rotation: at_every_head(rotation(at, params), x)
            )
            got = ways.numbers(operated(ways.array(library, at), ways.array(library, np.tile(x, (len(at), 1))), given))
            heads = (None,) if operator.heads is None else range(operator.heads)
            assert got.dtype == np.dtype(kind)
            assert got.shape == (
                (len(at), operator.width) if heads == (None,) else (len(heads), len(at), operator.width)
            )
            rows = got.reshape(len(heads), len(at), operator.width)
            for (number, head), (index, place) in product(enumerate(heads), enumerate(at)):
                row, told = rows[number, index], (0 if head is None else head,) if headed(oracle) else ()
                expected, lost = true_vector(encoding, place, role, *told)
                off = oracle.units(encoding, lists) * np.finfo(kind).eps + lost * 2**-52
                worst = max(abs(float(true - value)) for value, true in zip(row.tolist(), expected, strict=True))
                assert worst <= off * (1 + np.abs(x).sum())
