"""Against transformers 5.23, live: the Perceiver's bands, Reformer's factorised table and SAM's random features."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from posenc import AxialLearned, FourierFeatures, RandomFourierFeatures


@pytest.fixture(scope="module", autouse=True)
def pinned() -> None:
    pytest.importorskip("transformers")
    assert version("transformers").startswith("5.23.")


def modelling(name: str) -> Any:
    return import_module(f"transformers.models.{name}.modeling_{name}")


@pytest.mark.parametrize("coordinate", [False, True])
@pytest.mark.parametrize(("bands", "resolution"), [(64, 224), (6, 16), (3, 50)])
def test_perceiver(coordinate: bool, bands: int, resolution: int) -> None:
    encoding = FourierFeatures(bands, "linear", resolution, "concatenated", coordinate)
    points = torch.linspace(-1, 1, resolution + 1)
    theirs = modelling("perceiver").generate_fourier_features(
        points[None, :, None], bands, (resolution,), concat_pos=coordinate
    )
    theirs = theirs[0] if coordinate else theirs  # without the coordinate the peer leaves the batch axis out
    # The band rounds twice, the product with the point and that with π once each: 4·2^-24 of an angle of
    # π·resolution/2.
    assert (encoding.embed(points) - theirs).abs().max() <= 4 * 2.0**-24 * np.pi * resolution / 2 + 2.0**-22


@pytest.mark.parametrize(("shape", "dims"), [((4, 8), (3, 5)), ((8, 4), (2, 2)), ((3, 7), (6, 1))])
def test_reformer(shape: tuple[int, int], dims: tuple[int, int]) -> None:
    encoding = AxialLearned(shape=shape, dims=dims)
    config = SimpleNamespace(
        axial_pos_shape=shape, axial_pos_embds_dim=dims, hidden_dropout_prob=0.0, hidden_size=sum(dims),
        attn_layers=["local"], lsh_attn_chunk_length=1, local_attn_chunk_length=1,
    )  # fmt: skip
    layer = modelling("reformer").AxialPositionEmbeddings(config).eval()
    params = {name: torch.tensor(value).float() for name, value in encoding.init(np.random.default_rng(0)).items()}
    for axis, weight in enumerate(layer.weights):
        weight.data = params[f"table_{axis}"].reshape(weight.shape)
    positions = torch.arange(encoding.length)
    assert torch.equal(encoding.embed(positions, params), layer(positions[None])[0].detach())


def test_sam_with_the_matrix_of_its_checkpoint() -> None:
    layer = modelling("sam").SamPositionalEmbedding(SimpleNamespace(scale=2.0, num_pos_feats=16))
    torch.manual_seed(0)
    matrix = layer.positional_embedding.data.normal_()
    encoding = RandomFourierFeatures(features=16, axes=2, first="sine", matrix=tuple(map(tuple, matrix.tolist())))
    points = torch.rand(3, 17, 2)
    theirs = layer(points[:, None])[:, 0].detach()
    found = encoding.embed(2 * points - 1)
    assert found.shape == (3, 17, 32)
    # Each of two products rounds, and their sum; then 2π times it.
    assert (found - theirs).abs().max() <= 4 * 2.0**-24 * 4 * np.pi * matrix.abs().max() + 2.0**-23


def test_sam_along_one_axis() -> None:
    encoding = RandomFourierFeatures(features=16, std=1.0, seed=3, first="sine")
    layer = modelling("sam").SamPositionalEmbedding(SimpleNamespace(scale=1.0, num_pos_feats=16))
    layer.positional_embedding.data[0] = torch.tensor(encoding.frequencies.draws())
    points = torch.linspace(0, 1, 17)
    still = torch.full_like(points, 0.5)  # which the layer moves to 0
    theirs = layer(torch.stack([points, still], -1)[None, None])[0, 0].detach()
    size = 2 * np.pi * max(abs(draw) for draw in encoding.frequencies.draws())
    assert (encoding.embed(2 * points - 1) - theirs).abs().max() <= 3 * 2.0**-24 * size + 2.0**-23
