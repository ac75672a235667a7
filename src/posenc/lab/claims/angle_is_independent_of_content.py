"""The angle between query and key."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1000, 64))
    rotation = RoPE(dim=64).rotation(np.array([5]))
    rotated = rotation(q[:, None, :])[:, 0]
    cosines = (rotated * k).sum(1) / (np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1))
    angles = np.degrees(np.arccos(cosines))
    return bool(np.ptp(angles) < 1e-6), {"smallest angle": angles.min(), "largest angle": angles.max()}


CLAIM = computed(
    compute,
    statement="The angle between a rotated query and a key depends on the positions alone.",
    sources=("article",),
    rule="The angle for 1000 random queries and keys at one distance: supported if it is always the same.",
    note=(
        "The rotation is independent of the content. The angle between query and key is not: at one distance it ranges "
        "widely."
    ),
)
