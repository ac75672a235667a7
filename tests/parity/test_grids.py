"""Sinusoids on grids against their peers, live: transformers 5.23.0, timm 1.0.31, diffusers 0.42.1,
positional-encodings 6.0.3."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from posenc import FactorisedLearned, GridLearned, GridSinusoidal
from posenc.positions import grid, grid_from_mask, prefixed

#: A frequency is off by 3 units of 2^-23, its angle rounds once and the wave once, of angles below 40.
BUDGET = 4 * 2.0**-23 * 40 + 2.0**-23


def module(name: str, release: str, package: str) -> Any:
    pytest.importorskip(package.replace("-", "_"))
    assert version(package) == release
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def modeling(family: str) -> Any:
    return module(f"transformers.models.{family}.modeling_{family}", "5.23.0", "transformers")


@pytest.mark.parametrize("normalize", [False, True])
def test_detr(normalize: bool) -> None:
    peer = modeling("detr").DetrSinePositionEmbedding(16, normalize=normalize)
    mask = torch.zeros(2, 5, 9, dtype=torch.bool)
    mask[0, :4, :7], mask[1, :, :3] = True, True
    theirs = peer((2, 1, 5, 9), torch.device("cpu"), torch.float32, mask=mask)
    theirs = theirs.flatten(2).mT if theirs.ndim == 4 else theirs
    places = grid_from_mask(mask, span=2 * math.pi if normalize else None)
    ours = GridSinusoidal(dims=(16, 16)).embed(places)
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() <= BUDGET


@pytest.mark.parametrize("family", ["rt_detr", "rt_detr_v2", "vit_mae", "aimv2"])
def test_models_of_transformers(family: str) -> None:
    """The row comes first in all of them, in MAE too, whose authors put the column first (as diffusers does below)."""
    theirs = modeling(family).build_2d_sinusoidal_position_embedding(3, 7, 24, temperature=100.0)
    places = torch.from_numpy(grid(3, 7))
    ours = GridSinusoidal(dims=(12, 12), layout="concatenated", base=100.0).embed(places)
    assert (ours - theirs).abs().max() <= 2.0**-24  # theirs is formed in float64
    rotated = GridSinusoidal(dims=(12, 12), layout="concatenated", base=100.0, order=(1, 0)).embed(places)
    assert (rotated - theirs).abs().max() > 1


def test_diffusers_in_two_dimensions() -> None:
    """The column first, its coordinates stretched to the base size in float32."""
    peer = module("diffusers.models.embeddings", "0.42.1", "diffusers")
    theirs = peer.get_2d_sincos_pos_embed(24, (5, 7), base_size=16, output_type="pt")
    places = torch.from_numpy(grid(5, 7)).double() * torch.tensor([16 / 5, 16 / 7])
    ours = GridSinusoidal(dims=(12, 12), order=(1, 0), layout="concatenated").embed(places)
    assert (ours - theirs).abs().max() <= 3 * 2.0**-24 * 16


def test_diffusers_in_three_dimensions() -> None:
    """Time has a quarter of the channels and comes first, then the column, then the row. spatial_size is (width,
    height)."""
    peer = module("diffusers.models.embeddings", "0.42.1", "diffusers")
    theirs = peer.get_3d_sincos_pos_embed(32, (7, 5), 3)
    ours = GridSinusoidal(dims=(8, 12, 12), order=(0, 2, 1), layout="concatenated").embed(
        torch.from_numpy(grid(5, 7, frames=3))
    )
    assert (ours - theirs.reshape(-1, 32)).abs().max() <= 2.0**-24 + 2.0**-40


@pytest.mark.parametrize(("dim", "dims", "width"), [(16, (8, 8), None), (10, (6, 4), 6)])
def test_positional_encodings_in_two_dimensions(dim: int, dims: tuple[int, ...], width: int | None) -> None:
    peer = module("positional_encodings.torch_encodings", "6.0.3", "positional-encodings")
    theirs = peer.PositionalEncoding2D(dim)(torch.zeros(1, 5, 7, dim))[0]
    ours = GridSinusoidal(dims=dims, frequency_dim=width).embed(torch.from_numpy(grid(5, 7)))
    assert (ours - theirs.reshape(-1, dim)).abs().max() <= BUDGET


@pytest.mark.parametrize(("dim", "dims", "width"), [(12, (4, 4, 4), None), (64, (22, 22, 20), 22), (10, (4, 4, 2), 4)])
def test_positional_encodings_in_three_dimensions(dim: int, dims: tuple[int, ...], width: int | None) -> None:
    peer = module("positional_encodings.torch_encodings", "6.0.3", "positional-encodings")
    theirs = peer.PositionalEncoding3D(dim)(torch.zeros(1, 3, 5, 7, dim))[0]
    ours = GridSinusoidal(dims=dims, frequency_dim=width).embed(torch.from_numpy(grid(5, 7, frames=3)))
    assert (ours - theirs.reshape(-1, dim)).abs().max() <= BUDGET


def test_positional_encodings_lose_an_axis() -> None:
    """Of 8 channels three slices of 4 are cut to two: moving along the third axis changes nothing."""
    peer = module("positional_encodings.torch_encodings", "6.0.3", "positional-encodings")
    theirs = peer.PositionalEncoding3D(8)(torch.zeros(1, 3, 5, 7, 8))[0]
    assert (theirs == theirs[:, :, :1]).all()


def test_timm(timm: Callable[..., dict[str, Any]]) -> None:
    theirs = timm(
        rows="layers.build_sincos2d_pos_embed([5, 7], 24)",
        columns="layers.build_sincos2d_pos_embed([5, 7], 24, reverse_coord=True)",
        apart="layers.build_sincos2d_pos_embed([5, 7], 24, temperature=100.0, interleave_sin_cos=True)",
    )
    places = torch.from_numpy(grid(5, 7))
    ours = GridSinusoidal(dims=(12, 12), layout="gathered").embed(places)
    assert (ours - theirs["rows"]).abs().max() <= BUDGET
    # "interleave_sin_cos" puts sines and cosines axis by axis; they do not alternate.
    ours = GridSinusoidal(dims=(12, 12), layout="concatenated", base=100.0).embed(places)
    assert (ours - theirs["apart"]).abs().max() <= BUDGET
    # reverse_coord reads the patches column by column as well.
    down = torch.from_numpy(grid(7, 5))
    ours = GridSinusoidal(dims=(12, 12), layout="gathered").embed(down)
    assert (ours - theirs["columns"]).abs().max() <= BUDGET


def test_learned_tables_of_detr() -> None:
    """A table an axis, the column's vector first."""
    peer = modeling("detr").DetrLearnedPositionEmbedding(6)
    theirs = peer((2, 1, 5, 9), torch.device("cpu"), torch.float32)[1].flatten(1).T
    tables = {"table_0": peer.column_embeddings.weight.detach(), "table_1": peer.row_embeddings.weight.detach()}
    encoding = FactorisedLearned(sizes=(50, 50), dims=(6, 6), combine="concatenated")
    assert torch.equal(encoding.embed(torch.from_numpy(grid(5, 9, order="wh")), tables), theirs)


def test_learned_tables_of_gemma_4() -> None:
    drawn = torch.randn(2, 20, 6, generator=torch.Generator().manual_seed(0))
    places = torch.from_numpy(grid(5, 9, order="wh"))
    kind = modeling("gemma4").Gemma4VisionPatchEmbedder
    theirs = kind._position_embeddings(
        SimpleNamespace(position_embedding_table=drawn), places[None], torch.zeros(1, 45, dtype=torch.bool)
    )
    encoding = FactorisedLearned(sizes=(20, 20), dims=(6, 6))
    assert torch.equal(encoding.embed(places, {"table_0": drawn[0], "table_1": drawn[1]}), theirs[0])


def test_learned_table_of_vit() -> None:
    """The class token is the row of the table before the patches."""
    transformers = pytest.importorskip("transformers")
    module = modeling("vit")
    config = transformers.ViTConfig(hidden_size=6, image_size=(12, 20), patch_size=4, num_attention_heads=1)
    peer = module.ViTEmbeddings(config)
    with torch.no_grad():
        peer.position_embeddings.normal_(generator=torch.Generator().manual_seed(0))
        peer.cls_token.zero_()
        peer.patch_embeddings.projection.weight.zero_()
        peer.patch_embeddings.projection.bias.zero_()
        theirs = peer(torch.zeros(1, 3, 12, 20))[0]
    encoding = GridLearned(dim=6, sizes=(3, 5), prefix=1)
    places = prefixed(torch.from_numpy(grid(3, 5)), 1)
    assert torch.equal(encoding.embed(places, {"table": peer.position_embeddings[0].detach()}), theirs)
