"""Claims on rotary encodings: norms, angles, scores by distance and the base."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.inspect import position_change, rotation_error, score_by_distance
from posenc.lab.claims.claim import Computation, computed


@computed(
    statement="The position shows in the first dimensions of a rotary encoding; later ones hardly change.",
    sources=("article",),
    rule=(
        "The squared difference of one embedding at positions 0, 50 and 99 at width 128, as in the article: supported "
        "if the lower half holds more than 0.9 of it."
    ),
    note="More than nine tenths of the squared difference lie in the lower half of the dimensions.",
)
def rotary_position_lives_in_the_first_dimensions() -> Computation:
    """Change of an embedding with position, by quarter of the dimensions."""
    shares = position_change(RoPE(dim=128)).shares[1:]
    figures = {f"quarter {index + 1}": share for index, share in enumerate(shares.mean(0))}
    return bool((shares[:, :2].sum(1) > 0.9).all()), figures


@computed(
    statement="A rotary score depends on the positions only through their difference.",
    sources=("article",),
    rule="q·k at (m, n) and at (m + 100000, n + 100000) in float64: supported if they agree to 10^-10.",
    note="Both positions moved by 100,000: the score stays.",
)
def rotary_scores_are_relative() -> Computation:
    """q·k under rotation."""
    error = rotation_error(RoPE(dim=128), np.arange(512), shift=100_000)
    return error.relative < 1e-10, {"largest change under a shift": error.relative}


@computed(
    statement="Rotary encoding keeps the norm of the embedding.",
    sources=("article",),
    rule="Norms before and behind 512 rotations in float64: supported if equal to 10^-12.",
    note="A rotation changes no length.",
)
def rotation_keeps_the_norm() -> Computation:
    """Lengths under rotation."""
    error = rotation_error(RoPE(dim=128), np.arange(512))
    return error.norm < 1e-12, {"largest relative change": error.norm}


@computed(
    statement="The angle between a rotated query and a key depends on the positions alone.",
    sources=("article",),
    rule="The angle for 1000 random queries and keys at one distance: supported if it is always the same.",
    note=(
        "The rotation is independent of the content. The angle between query and key is not: at one distance it ranges "
        "widely."
    ),
)
def angle_is_independent_of_content() -> Computation:
    """The angle between query and key."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 1000, 64))
    rotation = RoPE(dim=64).rotation(np.array([5]))
    rotated = rotation(q[:, None, :])[:, 0]
    cosines = (rotated * k).sum(1) / (np.linalg.norm(q, axis=1) * np.linalg.norm(k, axis=1))
    angles = np.degrees(np.arccos(cosines))
    return bool(np.ptp(angles) < 1e-6), {"smallest angle": angles.min(), "largest angle": angles.max()}


@computed(
    statement="The product of the norms of query and key measures how similar the tokens are.",
    sources=("article",),
    rule="Equal vectors and orthogonal ones of the same length: supported if the product of norms tells them apart.",
    note="Equal vectors and orthogonal ones have the same product of norms: similarity lies in the angle.",
)
def product_of_norms_is_similarity() -> Computation:
    """Products of norms and of vectors."""
    a, b = np.array([3.0, 4.0]), np.array([-4.0, 3.0])
    products = {
        "norms of parallel vectors": np.linalg.norm(a) * np.linalg.norm(a),
        "norms of orthogonal vectors": np.linalg.norm(a) * np.linalg.norm(b),
        "a·a": a @ a,
        "a·b": a @ b,
    }
    return products["norms of parallel vectors"] != products["norms of orthogonal vectors"], products


@computed(
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
def near_tokens_score_higher() -> Computation:
    """Rotary scores by distance."""
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


@computed(
    statement="Changing the exponent has an effect of its own besides changing the base.",
    sources=("lecture",),
    rule="Frequencies with the exponent times 0.75 against those of base 10000^0.75: supported if they differ.",
    note="A factor s in the exponent is the base to the power s: one knob, not two.",
)
def exponent_is_another_base() -> Computation:
    """Base and exponent."""
    dim, base, exponent = 64, 10000.0, 0.75
    slopes = np.arange(dim // 2) * 2 / dim
    by_exponent, by_base = base ** (-exponent * slopes), RoPE(dim=dim, base=base**exponent).frequencies.radians()
    error = float(np.abs(by_exponent / by_base - 1).max())
    return error > 1e-9, {"largest relative difference": error}
