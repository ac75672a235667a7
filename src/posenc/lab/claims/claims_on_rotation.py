"""Claims on rotary encodings: norms, angles, scores by distance and the base."""

from __future__ import annotations

import numpy as np

from posenc import RoPE
from posenc.inspect import position_change, rotation_error, score_by_distance
from posenc.lab.claims.claim import Computation, computed
from posenc.lab.claims.quantities import FALLS, GENERALLY, LONGEST, STRICT, nearer_is_higher
from posenc.models.extension_planning.metrics import base_bound


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
    """Measure how much rotary scores q·k change when all positions move by 100,000."""
    error = rotation_error(RoPE(dim=128), np.arange(512), shift=100_000)
    return error.relative < 1e-10, {"largest change under a shift": error.relative}


@computed(
    statement="Rotary encoding keeps the norm of the embedding.",
    sources=("article",),
    rule="Norms before and behind 512 rotations in float64: supported if equal to 10^-12.",
    note="A rotation changes no length.",
)
def rotation_keeps_the_norm() -> Computation:
    """Measure how much rotation changes the norm of a vector."""
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
    """Measure the angles between 1000 random queries, rotated to position 5, and unrotated random keys."""
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
    """Compare products of norms with dot products, for equal and for orthogonal vectors."""
    a, b = np.array([3.0, 4.0]), np.array([-4.0, 3.0])
    products = {
        "norms of parallel vectors": np.linalg.norm(a) * np.linalg.norm(a),
        "norms of orthogonal vectors": np.linalg.norm(a) * np.linalg.norm(b),
        "a·a": a @ a,
        "a·b": a @ b,
    }
    return products["norms of parallel vectors"] != products["norms of orthogonal vectors"], products


@computed(
    statement="Words that are closer together generally have a higher score.",
    sources=("article",),
    rule=(
        f"Rotary scores of equal vectors. {FALLS} Then 4000 pairs of random vectors 1 apart and 256 apart: supported "
        f"if the nearer one scores higher in more than {GENERALLY:g} of them."
    ),
    note=(
        "For equal vectors the score falls on the whole, not step by step. For random ones distance decides nothing: "
        "the nearer key scores higher half the time."
    ),
    revised=STRICT,
)
def near_tokens_score_higher() -> Computation:
    """Measure how often the nearer key has the higher rotary score, for equal and for random vectors."""
    rng = np.random.default_rng(0)
    equal = score_by_distance(RoPE(dim=64), np.arange(LONGEST + 1)).scores[0]
    nearer, rises = nearer_is_higher(equal)
    q, k = rng.normal(size=(2, 4000, 64))
    rotate = RoPE(dim=64).rotation(np.array([1, 256]))
    near, far = np.moveaxis((rotate(np.stack([q, q], 1)) * k[:, None]).sum(-1) / 8, -1, 0)
    figures = {
        "equal vectors, 1 apart": equal[1],
        "256 apart": equal[256],
        "share of pairs with the nearer one higher": nearer,
        "steps that rise": rises,
        "random vectors, share with the nearer one higher": (near > far).mean(),
    }
    return {"equal vectors": nearer > GENERALLY, "any vectors": bool((near > far).mean() > GENERALLY)}, figures


@computed(
    statement="Changing the exponent has an effect of its own besides changing the base.",
    sources=("lecture",),
    rule="Frequencies with the exponent times 0.75 against those of base 10000^0.75: supported if they differ.",
    note="A factor s in the exponent is the base to the power s: one knob, not two.",
    question="How do changes of the base or of the exponent affect learning?",
)
def exponent_is_another_base() -> Computation:
    """Compare the frequencies of a scaled exponent with those of the equivalent base."""
    dim, base, exponent = 64, 10000.0, 0.75
    slopes = np.arange(dim // 2) * 2 / dim
    by_exponent, by_base = base ** (-exponent * slopes), RoPE(dim=dim, base=base**exponent).frequencies.radians()
    error = float(np.abs(by_exponent / by_base - 1).max())
    return error > 1e-9, {"largest relative difference": error}


@computed(
    statement="Rotary encoding makes a model aware of absolute positions as well as of relative ones.",
    sources=("article",),
    rule=(
        "A random layer of attention without a mask reads 12 tokens at positions 0 to 11 and again at 1000 to 1011, in "
        "float64. Supported if a rotated vector changes by more than 0.001, and if an output does."
    ),
    note=(
        "A rotated vector shows where it stands, but scores and outputs, all that the rest of the model sees, stay the "
        "same to rounding wherever the tokens stand: only differences of positions reach it."
    ),
)
def rotary_model_knows_absolute_positions() -> Computation:
    """Move a text by 1000 positions; compare rotated vectors, and outputs, of a layer."""
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 12, 64))
    vectors, outputs = [], []
    for start in (0, 1000):
        rotate = RoPE(dim=64).rotation(np.arange(start, start + 12))
        logits = rotate(q) @ rotate(k).T / 8
        weights = np.exp(logits - logits.max(1, keepdims=True))
        vectors.append(rotate(q))
        outputs.append(weights / weights.sum(1, keepdims=True) @ v)
    vector, output = (float(np.abs(there - here).max()) for here, there in (vectors, outputs))
    parts = {"a rotated vector shows its position": vector > 1e-3, "the output of a layer does": output > 1e-3}
    return parts, {"largest change of a rotated vector": vector, "largest change of an output": output}


@computed(
    statement="Rotary encoding applies a rotation to the token embeddings.",
    sources=("article",),
    rule=(
        "Random embeddings and projections in float64, rotated before the projections and behind them: supported if "
        "scores are the same to 10^-10 when both positions move by 1000, for rotated embeddings."
    ),
    note=(
        "Queries and keys are rotated, behind the projections. Rotated embeddings would lose what the encoding is for: "
        "a projection between the rotations no longer lets them meet, and scores depend on where both tokens stand."
    ),
)
def rotation_is_of_token_embeddings() -> Computation:
    """Scores under a shift, with the rotation before the projections and behind them."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 1, 64))
    wq, wk = rng.normal(size=(2, 64, 64)) / 8
    scores = []
    for start in (0, 1000):
        at_query, at_key = (RoPE(dim=64).rotation(np.array([start + offset])) for offset in (9, 4))
        embeddings, heads = (at_query(x) @ wq) @ (at_key(y) @ wk).T, at_query(x @ wq) @ at_key(y @ wk).T
        scores.append((embeddings.item(), heads.item()))
    embeddings, heads = (abs(there - here) for here, there in zip(*scores, strict=True))
    return embeddings < 1e-10, {"rotated embeddings, change": embeddings, "rotated queries and keys, change": heads}


@computed(
    statement="A base of 10,000 is large enough to cover a wide range of positions.",
    sources=("lecture",),
    rule=(
        "The slowest pair of a head of 128 channels at the 512 positions of the base transformer of 2017 and at the "
        "131,072 of today's models: each is supported if the pair does not complete a turn."
    ),
    note=(
        "The slowest pair turns once in 54,000 positions: enough for the texts of 2017, not for the contexts of today, "
        "whose models take bases from 500,000 on. Similar tokens stop standing out even earlier (Men et al. 2024, "
        "arXiv:2405.14591): the least base for 4,096 positions is 27,000."
    ),
)
def ten_thousand_is_large_enough() -> Computation:
    """Compare the wavelength of the slowest pair with two context lengths."""
    longest = float(2 * np.pi / RoPE(dim=128).frequencies.radians()[-1])
    least = base_bound(dim=128, length=4096)
    parts = {f"at {length:,} positions": longest > length for length in (512, 131_072)}
    return parts, {"positions of the slowest turn": longest, "least base for 4096 positions": least}
