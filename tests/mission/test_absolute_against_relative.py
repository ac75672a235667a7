"""Row 14: absolute against relative; relative encodings are members like any other, as biases and as scores."""

import numpy as np
import pytest

from posenc import CATALOG
from posenc.attention import attention
from posenc.core.doors import AdditiveEncoding, AttentionBias, AttentionScore, Encoding, RotaryEncoding

RELATIVE = {"RoPE", "ALiBi", "T5Bias", "Shaw", "TransformerXL"}
ABSOLUTE = {"Count", "NormalisedCount", "OneSine", "DivisorPairs", "Sinusoidal", "Learned"}
SAMPLES = [(row.name, sample) for row in CATALOG if row.name in RELATIVE | ABSOLUTE for sample in row.samples]


def attended(encoding: Encoding, positions: np.ndarray) -> np.ndarray:
    """Output of one layer on fixed content at these positions."""
    rng = np.random.default_rng(5)
    params = encoding.init(np.random.default_rng(1)) if encoding.shapes else None
    if isinstance(encoding, AdditiveEncoding):
        x = encoding.attach(rng.standard_normal((1, len(positions), encoding.width)), positions, params)
        q, k = (x @ rng.standard_normal((encoding.width, 8)) for _ in range(2))
        q, k = q[:, None], k[:, None]
        inside = []
    else:
        heads = getattr(encoding, "heads", 2)
        width = encoding.head_dim if isinstance(encoding, RotaryEncoding) else getattr(encoding, "dim", 8)
        q, k = rng.standard_normal((2, 1, heads, len(positions), width))
        inside = [encoding]
    given = [params] * len(inside)
    seen = attention(
        q, k, k, query_positions=positions, key_positions=positions, layout="bhtd", encodings=inside, params=given
    )
    return seen.logits


def test_relative_members_stand_in_the_catalog_at_three_doors():
    doors = {row.name: row.encoding for row in CATALOG}
    assert set(doors) >= RELATIVE | ABSOLUTE
    assert issubclass(doors["RoPE"], RotaryEncoding)
    assert issubclass(doors["ALiBi"], AttentionBias)
    assert issubclass(doors["T5Bias"], AttentionBias)
    assert issubclass(doors["Shaw"], AttentionScore)
    assert issubclass(doors["TransformerXL"], AttentionScore)


@pytest.mark.parametrize(("name", "encoding"), SAMPLES)
def test_a_relative_encoding_does_not_see_where_the_text_stands_an_absolute_one_does(name, encoding):
    positions = np.arange(6)
    here, there = attended(encoding, positions), attended(encoding, positions + 3)
    moved = float(np.abs(here - there).max())
    if name in RELATIVE:
        # The encodings with numerics="float32" turn by float32 angles below 9: 9 · 2^-24, on products of size 30.
        assert moved <= (2e-5 if getattr(encoding, "numerics", "exact") == "float32" else 1e-12)
        assert "relative" in encoding.claims
    else:
        assert moved > 1e-4
        assert "relative" not in encoding.claims


@pytest.mark.parametrize(
    ("name", "encoding"), [pair for pair in SAMPLES if pair[0] in RELATIVE], ids=lambda value: repr(value)
)
def test_a_relative_encoding_does_see_distance(name, encoding):
    near, far = attended(encoding, np.arange(6)), attended(encoding, np.array([0, 1, 2, 3, 4, 9]))
    assert np.abs(near - far)[..., -1, :].max() > 1e-4
    assert np.array_equal(near[..., :5, :5], far[..., :5, :5])
