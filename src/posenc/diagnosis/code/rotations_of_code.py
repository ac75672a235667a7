"""Rotations that a user's code makes, as evidence for the bank of mistakes in rotations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from posenc.core.doors import Encoding, RotaryEncoding
from posenc.diagnosis.code.observed_values import ObservedValues
from posenc.diagnosis.mistake import Finding
from posenc.diagnosis.rotation.explain_rotation import explained_by
from posenc.diagnosis.rotation.observed_vectors import ObservedVectors
from posenc.diagnosis.rotation.rotation_usage import RotationUsage
from posenc.models.pair_rotation import pair_rotation

#: Vectors that are rotated from every position.
VECTORS = 3


def as_vectors(observed: ObservedValues) -> ObservedVectors:
    """Vectors drawn at random, before and after the rotations (n, dim, dim) of code."""
    count = len(observed.positions)
    x = np.random.default_rng(0).standard_normal((VECTORS, count, observed.dim))
    rotated = np.einsum("nij,vnj->vni", observed.values, x)
    nowhere = np.zeros(VECTORS * count, np.int64)
    positions = np.tile(observed.positions, VECTORS)
    before, after = (part.reshape(-1, observed.dim) for part in (x, rotated))
    dtype = observed.precision if observed.precision != "float64" else "float32"
    return ObservedVectors("query", before, after, positions, nowhere, nowhere, dtype)


def explained_as_rotation(
    encodings: Iterable[Encoding], observed: ObservedValues
) -> tuple[Encoding, tuple[Finding, ...]] | None:
    """Find the first encoding that explains the rotations of code by known mistakes, and these mistakes.

    Args:
        encodings: What may be meant, the likeliest first.
        observed: Rotations of code.

    Returns:
        The encoding and its findings; None where no mistakes of the bank explain them.
    """
    rotations = (encoding for encoding in encodings if isinstance(encoding, RotaryEncoding) and encoding.axes == 1)
    usages = [RotationUsage(encoding) for encoding in rotations if pair_rotation(encoding) is not None]
    explanation = explained_by(usages, as_vectors(observed)) if usages else None
    return None if explanation is None else (explanation.usage.encoding, explanation.findings)
