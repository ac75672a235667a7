"""Converting queries and keys between pairings: proved by the logits that a model with the other pairing computes."""

from __future__ import annotations

import numpy as np
import pytest

from posenc import Partial, RoPE
from posenc.core.rotation import Pairing
from posenc.models import Fused, channel_order, convert_qk
from posenc.models.checkpoints.row_permutation import row_order

WORDS = ("adjacent", "halves")
POSITIONS = [0, 1, 7, 500, 8191, 131_071]


def rotated(word, x, dim, width, start):
    """x: (heads, n, dim) rotated by a rotation with that pairing."""
    encoding = Partial(RoPE(dim=width, base=500.0, pairing=word), dim=dim, start=start)
    return encoding.rotation(POSITIONS)(x[None], layout="bhtd")[0]


def logits(word, hidden, q, k, *, heads, kv_heads, dim, width, start=0):
    """q·k of every head, key heads shared by groups of query heads; q and k are weights (rows, inputs)."""
    queries = (hidden @ q.T).reshape(-1, heads, dim).transpose(1, 0, 2)
    keys = (hidden @ k.T).reshape(-1, kv_heads, dim).transpose(1, 0, 2)
    queries, keys = (rotated(word, x, dim, width, start) for x in (queries, keys))
    return queries @ np.repeat(keys, heads // kv_heads, 0).transpose(0, 2, 1)


@pytest.mark.parametrize(("source", "target"), [WORDS, WORDS[::-1]])
@pytest.mark.parametrize(("dim", "width", "start"), [(6, 6, 0), (10, 10, 0), (10, 6, 0), (10, 4, 6), (12, 6, 2)])
def test_logits_are_kept_with_grouped_heads_partial_width_and_slices(source, target, dim, width, start):
    rng = np.random.default_rng(dim * 100 + width)
    hidden = rng.standard_normal((len(POSITIONS), 16))
    q, k = rng.standard_normal((12 * dim, 16)), rng.standard_normal((4 * dim, 16))
    shape = {"heads": 12, "kv_heads": 4, "dim": dim, "width": width, "start": start}
    before = logits(source, hidden, q, k, **shape)
    how = {"source": source, "target": target, "head_dim": dim, "width": width, "start": start}
    moved = convert_qk(q, heads=12, **how), convert_qk(k, heads=4, **how)
    # Every product is the same number; only the order of the sum over channels differs.
    np.testing.assert_allclose(
        logits(target, hidden, *moved, **shape), before, rtol=0, atol=1e-12 * np.abs(before).max()
    )
    if width > 2:
        assert np.abs(logits(target, hidden, q, k, **shape) - before).max() > 0.1  # what a missing conversion does
        assert np.abs(logits(target, hidden, moved[0], k, **shape) - before).max() > 0.1
    if width > 4:  # the usual mistake: the other direction again
        other = convert_qk(q, heads=12, **how | {"source": target, "target": source})
        both = other, convert_qk(k, heads=4, **how | {"source": target, "target": source})
        assert np.abs(logits(target, hidden, *both, **shape) - before).max() > 0.1


def test_a_shared_key_slice_of_mla_moves_alone():
    rng, latent, rope = np.random.default_rng(0), 12, 6
    weight = rng.standard_normal((latent + rope, 8))
    moved = convert_qk(
        weight, source="adjacent", target="halves", heads=1, head_dim=latent + rope, width=rope, start=latent
    )
    assert np.array_equal(moved[:latent], weight[:latent])
    assert np.array_equal(moved[latent:], weight[latent:][[0, 2, 4, 1, 3, 5]])


@pytest.mark.parametrize("grouped", [False, True])
def test_fused_projections_move_queries_and_keys_alone(grouped):
    dim, fused = 6, Fused(query=12, key=4, value=4, grouped=grouped)
    weight = np.arange(20 * dim)
    heads = weight.reshape(20, dim)
    if grouped:
        groups = heads.reshape(4, 5, dim)
        parts = groups[:, :3].reshape(12, dim), groups[:, 3], groups[:, 4]
    else:
        parts = heads[:12], heads[12:16], heads[16:]
    how = {"source": "adjacent", "target": "halves", "head_dim": dim}
    q, k = (convert_qk(part.reshape(-1), heads=len(part), **how).reshape(part.shape) for part in parts[:2])
    if grouped:
        expected = np.concatenate([q.reshape(4, 3, dim), k[:, None], parts[2][:, None]], 1)
    else:
        expected = np.concatenate([q, k, parts[2]])
    assert np.array_equal(convert_qk(weight, heads=fused, **how), expected.reshape(-1))


def test_lora_moves_in_b_alone():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((3, 16)), rng.standard_normal((4 * 6, 3))
    how = {"source": "halves", "target": "adjacent", "heads": 4, "head_dim": 6}
    assert np.array_equal(convert_qk(b @ a, **how), convert_qk(b, **how) @ a)


def test_norm_scale_and_bias_commute_with_the_move():
    rng = np.random.default_rng(2)
    how = {"source": "halves", "target": "adjacent", "head_dim": 10, "width": 6}
    rows, scale, norm = rng.standard_normal((40, 3)), rng.standard_normal((40, 1)), rng.standard_normal(10)
    scaled = convert_qk(rows, heads=4, **how) * convert_qk(scale, heads=4, **how)
    assert np.array_equal(convert_qk(rows * scale, heads=4, **how), scaled)
    normed = (rows.reshape(4, 10, 3) * norm[:, None]).reshape(40, 3)
    kept = convert_qk(rows, heads=4, **how).reshape(4, 10, 3) * convert_qk(norm, heads=1, **how)[:, None]
    assert np.array_equal(convert_qk(normed, heads=4, **how), kept.reshape(40, 3))


@pytest.mark.parametrize("dim", [4, 6, 10, 64, 128])
def test_there_and_back_is_nothing_and_twice_is_not(dim):
    adjacent, halves = Pairing("adjacent", dim, dim), Pairing("halves", dim, dim)
    there, back = channel_order(adjacent, halves), channel_order(halves, adjacent)
    assert np.array_equal(there[back], np.arange(dim))
    assert np.array_equal(there[there], np.arange(dim)) == (dim == 4)  # "self-inverse" for four channels alone


@pytest.mark.parametrize(("heads", "dim"), [(12, 6), (4, 10), (1, 128)])
def test_adjacent_to_halves_is_the_transpose_that_porters_write(heads, dim):
    weight = np.arange(heads * dim * 3).reshape(heads * dim, 3)
    transposed = weight.reshape(heads, dim // 2, 2, 3).transpose(0, 2, 1, 3).reshape(heads * dim, 3)
    assert np.array_equal(convert_qk(weight, source="adjacent", target="halves", heads=heads, head_dim=dim), transposed)


def test_blocks_and_a_moved_slice_keep_pairs_in_order():
    whole, blocks = Pairing("halves", 8, 8), Pairing("halves", 8, 8, blocks=2)
    assert channel_order(whole, blocks).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    last, first = Pairing("adjacent", 6, 4, start=2), Pairing("halves", 6, 4)
    assert channel_order(last, first).tolist() == [2, 4, 3, 5, 0, 1]


def test_any_library_and_dtype_bit_for_bit():
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    how = {"source": "adjacent", "target": "halves", "heads": 2, "head_dim": 6}
    order = row_order(Pairing("adjacent", 6, 6), Pairing("halves", 6, 6), 2)
    bits = torch.arange(48, dtype=torch.int32).reshape(12, 4)
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float16, torch.int8):
        assert torch.equal(convert_qk(bits.to(dtype), **how).float(), bits.to(dtype).float()[order])
    values = jnp.arange(48, dtype=jnp.bfloat16).reshape(12, 4)
    assert np.array_equal(np.asarray(convert_qk(values, **how)), np.asarray(values)[order])
    across = convert_qk(np.arange(48).reshape(4, 12), axis=1, **how)
    assert np.array_equal(across, np.arange(48).reshape(4, 12)[:, order])


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"heads": 3}, ValueError, "tensor must have 3 heads of 6 channels, 18 rows, in axis 0; got shape (24, 2)"),
        ({"heads": 0}, ValueError, "heads must be an integer from 1"),
        ({"heads": 2.0}, TypeError, "heads must be an integer"),
        ({"source": "neox"}, ValueError, "source must be one of 'adjacent', 'halves'; got 'neox'"),
        ({"head_dim": None}, TypeError, "head_dim must be given with source='adjacent'"),
        ({"head_dim": 5}, ValueError, "width must be an even integer"),
        ({"width": 8}, ValueError, "width must fit in the head"),
        ({"axis": 2}, ValueError, "axis must be an integer from 0 to 1; got 2"),
        ({"source": Pairing("adjacent", 8, 8)}, ValueError, "source must agree with head_dim, width and start"),
        (
            {"source": Pairing("adjacent", 6, 4), "target": Pairing("halves", 6, 6), "head_dim": None},
            ValueError,
            "target must rotate 4 of 6 channels, as source does; got 6 of 6",
        ),
    ],
)
def test_bad_arguments_are_named(change, error, says):
    how = {"source": "adjacent", "target": "halves", "heads": 4, "head_dim": 6} | change
    with pytest.raises(error) as caught:
        convert_qk(np.zeros((24, 2)), **how)
    assert says in str(caught.value)


def test_what_is_no_tensor_is_refused():
    how = {"source": "adjacent", "target": "halves", "heads": 1, "head_dim": 6}
    with pytest.raises(TypeError, match="tensor must be a NumPy, PyTorch or JAX array"):
        convert_qk([0, 1, 2, 3, 4, 5], **how)
    with pytest.raises(ValueError, match="tensor must have rows; got a single number"):
        convert_qk(np.float32(1.0), **how)
    with pytest.raises(ValueError, match="key must equal value and divide query where heads are grouped"):
        Fused(query=12, key=5, value=5, grouped=True)
    with pytest.raises(ValueError, match="key must be an integer from 1"):
        Fused(query=12, key=0, value=4, grouped=False)
