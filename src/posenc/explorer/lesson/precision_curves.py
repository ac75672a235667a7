"""Effects of precision: cosines from positions and angles in narrow types, and where rows of a table become equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc.encodings.adds.sinusoidal import Sinusoidal
from posenc.encodings.rotates.rope import RoPE
from posenc.explorer.lesson.rounded import rounded
from posenc.inspect.rounding import NarrowType, narrowed

#: The rotation that is made in several types, and the positions: up to a million, a few in each octave.
ROTARY = RoPE(dim=128, base=500_000.0)
OCTAVES, PER_OCTAVE = 19, 8
#: Rows of the table whose equal ones are counted.
ROWS = 4096
TABLE = Sinusoidal(dim=128)


def precision_curves() -> dict[str, Any]:
    """Largest error of a cosine in each octave of positions, and how many rows of a table stay different."""
    return {
        "octaves": [2**octave for octave in range(OCTAVES + 1)],
        "errors": {name: rounded(_errors(way), 9) for name, way in WAYS.items()},
        "encoding": "RoPE(dim=128, base=500000)",
        "rows": ROWS,
        "tables": [_table(name, rows) for name, rows in _tables().items()],
    }


def _float32(positions: np.ndarray) -> np.ndarray:
    """Cosines with position, frequency and their product in float32."""
    frequencies = ROTARY.frequencies.radians().astype(np.float32)
    angles = positions.astype(np.float32)[:, None] * frequencies
    return np.asarray(np.cos(angles.astype(np.float64)))


def _narrow_angles(positions: np.ndarray) -> np.ndarray:
    """Cosines of angles that were rounded to bfloat16."""
    angles = positions[:, None] * ROTARY.frequencies.radians()
    return np.asarray(np.cos(narrowed(angles, "bfloat16")))


def _exact(positions: np.ndarray) -> np.ndarray:
    return np.asarray(ROTARY.rotation(positions, dtype=np.float64).cos)


def _narrow_cosines(positions: np.ndarray) -> np.ndarray:
    """Exact cosines, rounded to bfloat16 at the end."""
    return narrowed(_exact(positions), "bfloat16")


def _narrow_positions(positions: np.ndarray) -> np.ndarray:
    """Exact cosines of positions that were rounded to bfloat16."""
    return _exact(narrowed(positions.astype(np.float64), "bfloat16").astype(np.int64))


#: How cosines are made, worst first.
WAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "positions in bf16": _narrow_positions,
    "angles in bf16": _narrow_angles,
    "cosines in bf16": _narrow_cosines,
    "all in float32": _float32,
}


def _errors(way: Callable[[np.ndarray], np.ndarray]) -> list[float]:
    found = []
    for octave in range(OCTAVES + 1):
        first = 2**octave
        positions = np.unique(np.linspace(first, 2 * first - 1, PER_OCTAVE).astype(np.int64))
        found.append(float(np.abs(way(positions) - _exact(positions)).max()))
    return found


def _tables() -> dict[str, np.ndarray]:
    positions = np.arange(ROWS)
    table = np.asarray(TABLE.embed(positions), dtype=np.float64)
    kinds: tuple[tuple[str, NarrowType], ...] = (("bf16", "bfloat16"), ("fp16", "float16"))
    by_type = {
        f"positions in {short}": np.asarray(TABLE.embed(narrowed(positions.astype(np.float64), kind).astype(np.int64)))
        for short, kind in kinds
    }
    return {**by_type, "rows in bf16": narrowed(table, "bfloat16"), "rows in float32": table.astype(np.float32)}


def _table(name: str, rows: np.ndarray) -> dict[str, Any]:
    """Number of distinct rows of a table, and the indices of the first two equal rows, or None."""
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    twin = first[inverse.reshape(-1)]
    later = np.flatnonzero(twin != np.arange(len(rows)))
    pair = [int(twin[later[0]]), int(later[0])] if len(later) else None
    return {"name": name, "different": len(first), "alike": pair}
