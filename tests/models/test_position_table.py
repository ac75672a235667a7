"""Learned tables of another length: rows of no position stay in front."""

from __future__ import annotations

import numpy as np
import pytest

from models import checkpoints
from posenc import Learned
from posenc.encodings.adds.learned import resized
from posenc.models import fitted_table, read_table


def test_stretched_behind_its_offset():
    table = np.random.default_rng(0).standard_normal((12, 3))
    found = fitted_table(table, 37, offset=2, how="stretch")
    assert found.shape == (39, 3)
    assert np.array_equal(found[:2], table[:2])
    assert np.array_equal(found[2:], resized(table[2:], 37))
    assert np.array_equal(found[[2, -1]], table[[2, -1]])
    whole = fitted_table(table, 39, offset=0, how="stretch")
    assert np.abs(whole[2:] - found[2:]).max() > 0.1  # what a forgotten offset does


def test_repeated_rows_keep_their_neighbours():
    table = np.arange(24.0).reshape(12, 2)
    found = fitted_table(table, 25, offset=2, how="repeat")
    assert np.array_equal(found[2:12], table[2:])
    assert np.array_equal(found[12:22], table[2:])
    assert np.array_equal(found[22:], table[2:7])


def test_cut_and_used_by_an_encoding():
    table = np.arange(24.0).reshape(12, 2)
    short = fitted_table(table, 4, offset=2, how="cut")
    assert np.array_equal(short, table[:6])
    encoding = Learned(dim=2, length=6)
    assert np.array_equal(encoding.embed([2, 5], {"table": short}), table[[2, 5]])
    with pytest.raises(ValueError, match="positions must be at most 10 to be cut; got 11"):
        fitted_table(table, 11, offset=2, how="cut")


def test_torch_and_jax_keep_their_dtype():
    torch, jnp = pytest.importorskip("torch"), pytest.importorskip("jax.numpy")
    values = np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    for how in ("stretch", "repeat"):
        expected = fitted_table(values, 13, offset=2, how=how)
        theirs = fitted_table(torch.tensor(values), 13, offset=2, how=how)
        np.testing.assert_allclose(theirs.numpy(), expected, atol=1e-6)  # a mixture of two float32 numbers of size 3
        np.testing.assert_allclose(
            np.asarray(fitted_table(jnp.asarray(values), 13, offset=2, how=how)), expected, atol=1e-6
        )
        assert fitted_table(torch.tensor(values).bfloat16(), 13, offset=2, how=how).dtype == torch.bfloat16


def test_a_table_is_read_alone(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    values = torch.arange(24.0).reshape(12, 2) / 7
    tensors = {"wpe.weight": values, "half": values.bfloat16(), "int": torch.zeros(3, dtype=torch.int8)}
    save_file(tensors, tmp_path / "a.safetensors")
    assert np.array_equal(read_table(tmp_path / "a.safetensors", "wpe.weight"), values.numpy())
    assert np.array_equal(read_table(tmp_path / "a.safetensors", "half"), values.bfloat16().float().numpy())
    with pytest.raises(ValueError, match=r"name must be a tensor of a.safetensors; .* It has \['wpe.weight'\]"):
        read_table(tmp_path / "a.safetensors", "wpe")
    with pytest.raises(ValueError, match="int must hold floats of 16 bits or more; got I8"):
        read_table(tmp_path / "a.safetensors", "int")


@pytest.mark.parametrize(
    ("table", "positions", "change", "error", "says"),
    [
        (np.zeros((1, 12, 2)), 4, {}, ValueError, "table must have shape (rows, dim); got (1, 12, 2)"),
        (np.zeros((12, 2), int), 4, {}, TypeError, "table must hold floats"),
        (np.zeros((12, 2)), 0, {}, ValueError, "positions must be an integer from 1"),
        (np.zeros((12, 2)), 1 << 30, {}, ValueError, "positions must be an integer from 1"),
        (np.zeros((12, 2)), 4, {"offset": 12}, ValueError, "offset must be an integer from 0 to 11"),
        (np.zeros((12, 2)), 4, {"how": "bicubic"}, ValueError, "how must be one of 'cut', 'stretch', 'repeat'"),
    ],
)
def test_bad_arguments(table, positions, change, error, says):
    with pytest.raises(error) as caught:
        fitted_table(table, positions, **({"offset": 2, "how": "stretch"} | change))
    assert says in str(caught.value)


def test_the_checkpoints_of_other_tests_have_no_table(tmp_path):
    path = checkpoints.saved(tmp_path / "a.safetensors", checkpoints.model(layers=1))
    with pytest.raises(ValueError, match="It has none of positions"):
        read_table(path, "wpe.weight")
