"""Which positions the tokens of a batch are given. Loads no torch."""

from __future__ import annotations

import numpy as np

from posenc.lab.experiment import Sampler
from posenc.positions import randomised, shifted


def positions(
    sampler: Sampler,
    tokens: np.ndarray,
    coupled: np.ndarray | None,
    limit: int,
    rng: np.random.Generator,
    *,
    training: bool,
) -> np.ndarray | None:
    """Positions of tokens (batch, n): None for 0, 1, …, else (batch, n).

    "offset" starts each training sequence anywhere from 0 such that it ends before `limit`, and each test sequence at 0
    (Kiyono et al. 2021, arXiv:2109.05644); "randomised" draws rising positions below `limit` in training and tests
    (Ruoss et al. 2023, arXiv:2305.16843); "coupled" are those of the task.

    Example:
        >>> positions("offset", np.zeros((2, 4)), None, 9, np.random.default_rng(0), training=True).tolist()
        [[5, 6, 7, 8], [3, 4, 5, 6]]
    """
    rows, count = tokens.shape
    if sampler == "coupled":
        return coupled
    if sampler == "randomised":
        return randomised(count, max(limit, count), rng, rows=rows)
    if sampler == "offset" and training:
        start = np.broadcast_to(np.arange(count), (rows, count))
        return np.asarray(shifted(start, max(0, limit - count), rng))
    return None
