"""Rotary scores by distance."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.inspect import score_by_distance
from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    rng = np.random.default_rng(0)
    equal = score_by_distance(RoPE(dim=64), np.arange(257)).scores[0]
    q, k = rng.normal(size=(2, 4000, 64))
    rotate = RoPE(dim=64).rotation(np.array([1, 256]))
    near, far = np.moveaxis((rotate(np.stack([q, q], 1)) * k[:, None]).sum(-1) / 8, -1, 0)
    figures = {
        "equal vectors, 1 apart": equal[1],
        "256 apart": equal[256],
        "steps that rise": (np.diff(equal) > 0).sum(),
        "random vectors, share with the nearer one higher": (near > far).mean(),
    }
    holds = (np.diff(equal) <= 0).all() and figures["random vectors, share with the nearer one higher"] > 0.6
    return bool(holds), figures


CLAIM = computed(
    compute,
    statement="Words that are closer together have a higher score.",
    sources=("article",),
    rule=(
        "Rotary scores by distance: supported if they fall at every step for equal vectors, and the nearer of two "
        "positions scores higher for more than 60 % of random vectors."
    ),
    note=(
        "For equal vectors the score falls on the whole, not step by step. For random ones distance decides nothing: "
        "the nearer key scores higher half the time."
    ),
)
