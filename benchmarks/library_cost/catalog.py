"""Every row of the catalog: what its door costs, compared with the least that could be done in its place.

A row is measured with its first sample, with 64 channels or one head where its fields allow that. What learns has fresh
parameters. Nothing is timed before PyTorch's float32 has been compared with NumPy's float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from measuring.measure import ratios

import posenc
from posenc.catalog import Row
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding

LENGTH, ROUNDS = 4096, 5
#: Queries of the doors between queries and keys: a network of the distance over 4096 × 4096 fills no small machine.
QUERIES = 64
FLOORS = {
    "adds": "x plus a ready table",
    "rotates": "copy of q",
    "biases": f"fill of one head's {QUERIES} × T",
    "scores": f"{QUERIES} queries · T keys of one head",
}
Variants = dict[str, Callable[[], Any]]


def run() -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    return [_case(row) for row in posenc.CATALOG]


def _case(row: Row) -> dict[str, Any]:
    encoding = measured(row)
    positions = places(encoding, LENGTH)
    checked(row.name, encoding)
    with torch.no_grad():
        found = ratios(
            f"{row.name}, {LENGTH} positions", FLOORS[encoding.door], variants(encoding, positions), rounds=ROUNDS
        )
    return {"row": row.name, "door": encoding.door, "encoding": repr(encoding), **found}


def measured(row: Row) -> Encoding:
    """The first sample, with 64 channels, and one head where heads would be a dense matrix each."""
    encoding = row.samples[0]
    wanted = {"heads": 1} if encoding.door in ("biases", "scores") else {}
    return with_sizes(encoding, {**wanted, "dim": 64})


def with_sizes(encoding: Encoding, wanted: dict[str, int]) -> Encoding:
    """The encoding with those of these sizes that it has and takes."""
    for name, value in wanted.items():
        if any(field.name == name for field in fields(encoding)):
            try:
                encoding = replace(encoding, **{name: value})
            except (ValueError, TypeError):
                continue
    return encoding


def places(encoding: Encoding, length: int) -> np.ndarray:
    """Positions 0 … length-1, or the places of a grid, wrapped at the largest that the encoding takes."""
    axes = encoding.axes
    side = round(length ** (1 / axes))
    flat = np.arange(length)
    whole = flat if axes == 1 else np.stack([flat // side**axis % side for axis in range(axes)], -1)
    for wrap in (length, 1024, 256, 64, 32, 16, 8, 6):
        try:
            # The farthest place against the first says whether a table, of places or of distances, reaches so far.
            values(encoding, np.stack([(whole % wrap).max(0), 0 * whole[0]]), "numpy")
        except ValueError:
            continue
        return whole % wrap
    return whole % 5


def values(encoding: Encoding, positions: np.ndarray, library: str) -> Any:
    """What the encoding does at these positions, in NumPy and float64 or in PyTorch and float32."""
    kind = np.float64 if library == "numpy" else torch.float32

    def array(numbers: Any) -> Any:
        return np.asarray(numbers, kind) if library == "numpy" else torch.as_tensor(np.asarray(numbers), dtype=kind)

    params = {name: array(value) for name, value in encoding.init(np.random.default_rng(0)).items()} or None
    where = positions if library == "numpy" else torch.as_tensor(positions)
    return doing(encoding, where, params, array)()


def doing(encoding: Encoding, positions: Any, params: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    """The call of the encoding's door, with its inputs drawn."""
    count, rng = len(positions), np.random.default_rng(1)
    if isinstance(encoding, AdditiveEncoding):
        x = array(rng.standard_normal((1, count, encoding.width)))
        return lambda: encoding.attach(x, positions, params)
    if isinstance(encoding, RotaryEncoding):
        role: Any = encoding.roles[0]
        q = array(rng.standard_normal((1, getattr(encoding, "heads", 8), count, encoding.head_dim)))
        return lambda: encoding.rotation(positions, params, role=role, dtype=q.dtype)(q, layout="bhtd")
    if isinstance(encoding, AttentionBias):
        return lambda: encoding.matrix(positions[-QUERIES:], positions, params, dtype=array(0.0).dtype)
    if not isinstance(encoding, AttentionScore):
        raise SystemExit(f"{encoding!r} enters by no door that is measured")
    query = positions[-QUERIES:]
    heads, width = getattr(encoding, "heads", 1), getattr(encoding, "dim", 64)
    q, k = (array(rng.standard_normal((1, heads, rows, width))) for rows in (len(query), count))
    read = {"query": len(query), "key": count, "both": len(query) + count, None: 0}[encoding.reads]
    hidden = array(rng.standard_normal((1, read, encoding.model_dim))) if read else None  # type: ignore[attr-defined]
    return lambda: encoding.score(q, k, query, positions, params, hidden=hidden)


def checked(name: str, encoding: Encoding) -> None:
    """Stops where the numbers to be timed are wrong: 48 places against NumPy in float64."""
    some = places(encoding, 48)
    exact, found = values(encoding, some, "numpy"), values(encoding, some, "torch")
    gap = float(np.abs(np.asarray(found, np.float64) - exact).max(initial=0.0))
    # Sums of at most a few hundred float32 products, through networks and products of matrices.
    if not gap <= 2.0**-14 * (1.0 + float(np.abs(exact).max(initial=0.0))):
        raise SystemExit(f"{name}: float32 in PyTorch and float64 in NumPy differ by {gap}")


def variants(encoding: Encoding, positions: np.ndarray) -> Variants:
    """The floor, the whole door, and what of it remains when what is fixed has been made before."""
    where = torch.as_tensor(positions)
    params = {
        n: torch.as_tensor(v, dtype=torch.float32) for n, v in encoding.init(np.random.default_rng(0)).items()
    } or None
    whole = doing(encoding, where, params, lambda numbers: torch.as_tensor(np.asarray(numbers), dtype=torch.float32))
    floor = FLOORS[encoding.door]
    if isinstance(encoding, AdditiveEncoding):
        table = encoding.embed(where, params, dtype=torch.float32)
        x = torch.randn(1, len(positions), table.shape[-1])
        return {floor: lambda: x + table, "made and added": whole}
    if isinstance(encoding, RotaryEncoding):
        role: Any = encoding.roles[0]
        q = torch.randn(1, getattr(encoding, "heads", 8), len(positions), encoding.head_dim)
        out, rotation = torch.empty_like(q), encoding.rotation(where, params, role=role, dtype=torch.float32)
        return {
            floor: lambda: out.copy_(q),
            "turn ready, applied": lambda: rotation(q, layout="bhtd"),
            "made and applied": whole,
        }
    if isinstance(encoding, AttentionBias):
        part = torch.empty(QUERIES, len(positions))
        return {floor: lambda: part.fill_(1.0), "matrix": whole}
    q, k = torch.randn(1, 1, QUERIES, 64), torch.randn(1, 1, len(positions), 64)
    return {floor: lambda: q @ k.mT, "score": whole}
