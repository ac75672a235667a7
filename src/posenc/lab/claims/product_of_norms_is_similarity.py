"""What the product of norms says."""

from __future__ import annotations

import numpy as np

from posenc.lab.claims.claim import Computation, computed


def compute() -> Computation:
    a, b = np.array([3.0, 4.0]), np.array([-4.0, 3.0])
    products = {
        "norms of parallel vectors": np.linalg.norm(a) * np.linalg.norm(a),
        "norms of orthogonal vectors": np.linalg.norm(a) * np.linalg.norm(b),
        "a·a": a @ a,
        "a·b": a @ b,
    }
    return products["norms of parallel vectors"] != products["norms of orthogonal vectors"], products


CLAIM = computed(
    compute,
    statement="The product of the norms of query and key measures how similar the tokens are.",
    sources=("article",),
    rule="Equal vectors and orthogonal ones of the same length: supported if the product of norms tells them apart.",
    note="Equal vectors and orthogonal ones have the same product of norms: similarity lies in the angle.",
)
