"""Resizing of learned grids against PyTorch's interpolate, timm 1.0.31 and the models of transformers 5.23.0, live."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace as Fields
from typing import Any

import pytest
import torch

from posenc import resize_table

SIZES = [((2, 8), (4, 4)), ((14, 14), (16, 20)), ((24, 24), (7, 13)), ((3, 5), (3, 5)), ((1, 6), (5, 1))]
#: The shares are rounded to float32 by PyTorch, each place of theirs too: 16 taps, twice, of numbers below 5.
BUDGET = 64 * 2.0**-24 * 5


def drawn(rows: int, dim: int = 6) -> torch.Tensor:
    return torch.randn(rows, dim, generator=torch.Generator().manual_seed(rows))


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("old", "new"), SIZES)
def test_interpolate(old: tuple[int, int], new: tuple[int, int], method: str, antialias: bool) -> None:
    table = drawn(old[0] * old[1])
    image = table.reshape(1, *old, -1).permute(0, 3, 1, 2)
    theirs = torch.nn.functional.interpolate(image, size=new, mode=method, align_corners=False, antialias=antialias)
    ours = resize_table(table, old, new, prefix=0, method=method, antialias=antialias)
    assert (ours - theirs[0].permute(1, 2, 0).reshape(-1, 6)).abs().max() <= BUDGET
    exact = resize_table(table.double(), old, new, prefix=0, method=method, antialias=antialias)
    assert (ours - exact).abs().max() <= 16 * 2.0**-24 * 5


@pytest.mark.parametrize("method", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("old", "new"), SIZES)
def test_corners_on_corners_and_zeros_outside(old: tuple[int, int], new: tuple[int, int], method: str) -> None:
    table = drawn(old[0] * old[1])
    image, interpolate = table.reshape(1, *old, -1).permute(0, 3, 1, 2), torch.nn.functional.interpolate
    theirs = interpolate(image, size=new, mode=method, align_corners=True)[0].permute(1, 2, 0).reshape(-1, 6)
    ours = resize_table(table, old, new, prefix=0, method=method, antialias=False, align_corners=True)
    assert (ours - theirs).abs().max() <= BUDGET
    places = torch.meshgrid(*((2 * torch.arange(n) + 1) / n - 1 for n in new), indexing="ij")
    grid = torch.stack(places[::-1], -1)[None]
    sampled = torch.nn.functional.grid_sample(image, grid, mode=method, padding_mode="zeros", align_corners=False)
    ours = resize_table(table, old, new, prefix=0, method=method, antialias=False, outside="zeros")
    # grid_sample finds each place from its own float32 coordinate: 2^-23 of 24 patches, by slopes below 20.
    assert (ours - sampled[0].permute(1, 2, 0).reshape(-1, 6)).abs().max() <= BUDGET + 24 * 20 * 2.0**-23


def test_timm(timm: Callable[..., dict[str, Any]]) -> None:
    table = "torch.randn(1, 2 + 16, 6, generator=torch.Generator().manual_seed(18))"
    asked = "old_size=[2, 8], num_prefix_tokens=2"
    theirs = timm(
        square=f"layers.resample_abs_pos_embed({table}, [4, 4], {asked})",
        plain=f"layers.resample_abs_pos_embed({table}, [3, 9], {asked}, antialias=False)",
        unstated=f"layers.resample_abs_pos_embed({table}, [4, 4], num_prefix_tokens=2)",
    )
    asked = {"prefix": 2, "method": "bicubic"}
    square = resize_table(drawn(18), (2, 8), (4, 4), antialias=True, **asked)
    assert (square - theirs["square"][0]).abs().max() <= BUDGET
    plain = resize_table(drawn(18), (2, 8), (3, 9), antialias=False, **asked)
    assert (plain - theirs["plain"][0]).abs().max() <= BUDGET
    # Without an old grid timm takes 2 × 8 for the square it is not, and changes nothing.
    assert torch.equal(theirs["unstated"][0], drawn(18))
    assert (square - drawn(18)).abs().max() > 0.5


@pytest.mark.parametrize("family", ["vit", "deit", "dinov2"])
def test_models_of_transformers(family: str) -> None:
    pytest.importorskip("transformers")
    assert version("transformers") == "5.23.0"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = import_module(f"transformers.models.{family}.modeling_{family}")
    kind = next(getattr(module, name) for name in dir(module) if name.endswith("Embeddings") and "Patch" not in name)
    prefix = 2 if family == "deit" else 1
    table = drawn(prefix + 25)
    patches = Fields(patch_size=(4, 4))
    held = Fields(position_embeddings=table[None], patch_size=4, patch_embeddings=patches)
    theirs = kind.interpolate_pos_encoding(held, torch.zeros(1, prefix + 42, 6), 24, 28)[0]
    ours = resize_table(table, (5, 5), (6, 7), prefix=prefix, method="bicubic", antialias=False)
    assert (ours - theirs).abs().max() <= BUDGET
