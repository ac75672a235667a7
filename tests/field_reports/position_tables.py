"""Reports whose user had the table that is added to the embeddings: sinusoids, or a learned table brought to another
grid."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional
from transformers.models.vit.modeling_vit import ViTEmbeddings

from field_reports.files import config_file, npz, safetensors, saved
from field_reports.report import POSITION_TABLE, Evidence, harmless, mistake
from field_reports.stock import tiny


def sinusoids(folder: Path, encoding: str, table: np.ndarray) -> Evidence:
    """What is meant as an encoding, and the table in an .npz file."""
    return Evidence(encoding, npz(folder / "positions.npz", {"table": table}))


def by_two(length: int, sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    """Sines at even channels, cosines at odd ones, of positions times these frequencies."""
    places = np.arange(length)[:, None]
    return np.stack((np.sin(places * sine), np.cos(places * cosine)), axis=-1).reshape(length, -1)


@mistake(POSITION_TABLE, "tutorial", "codertimo/BERT-pytorch#18", "codertimo/BERT-pytorch#24",
         names={"frequenc", "exponent", "whole number", "integer"})  # fmt: skip
def every_frequency_is_one(folder: Path) -> Evidence:
    """A whole number times -log(10000)/d was cut to a whole number before it was raised: every exponent was 0 and every
    frequency 1."""
    ones = np.ones(64)
    return sinusoids(folder, "Sinusoidal(dim=128)", by_two(200, ones, ones))


@mistake(POSITION_TABLE, "tutorial", "maxjcohen/transformer#62", names=[{"base", "1000"}, {"exponent", "cosine"}])
def base_of_1000_and_exponents_of_cosines_one_further(folder: Path) -> Evidence:
    """A time-series library raised 1000 in place of 10000, and for cosines to i/d with odd i."""
    sine, cosine = (1000.0 ** -(np.arange(start, 128, 2) / 128) for start in (0, 1))
    return sinusoids(folder, "Sinusoidal(dim=128)", by_two(200, sine, cosine))


@mistake(
    POSITION_TABLE, "tutorial", "harvardnlp/annotated-transformer#131", names={"exponent", "sign", "frequenc", "divid"}
)
def positions_divided_by_what_they_are_multiplied_by(folder: Path) -> Evidence:
    """A reader divided positions by the term that is a negative power already: the frequencies run from 1 up to
    10000."""
    rising = 10_000.0 ** (np.arange(0, 128, 2) / 128)
    return sinusoids(folder, "Sinusoidal(dim=128)", by_two(200, rising, rising))


@mistake(POSITION_TABLE, "vision", "zju3dv/LoFTR#41", names={"exponent", "frequenc", "base"})
def floor_of_a_division_in_a_grid_of_sinusoids(folder: Path) -> Evidence:
    """-log(10000) / d // 2 is -1, where -log(10000) / (d // 2) is meant: frequencies fall by e from pair to pair."""
    half = 64
    frequencies = np.exp(np.arange(0, half, 2) * (-math.log(10_000.0) / 128 // 2))
    rows, columns = np.divmod(np.arange(8 * 12), 12)
    table = np.concatenate([np.stack((np.sin(one[:, None] * frequencies), np.cos(one[:, None] * frequencies)), -1)
                            .reshape(len(one), -1) for one in (rows, columns)], axis=1)  # fmt: skip
    return sinusoids(folder, "GridSinusoidal(dims=(64, 64))", table)


@harmless(POSITION_TABLE, "tutorial", "hkproj/pytorch-transformer#2")
def sinusoids_by_exponentials_in_float32(folder: Path) -> Evidence:
    """exp(-i · log(10000)/d) in float32 in place of a division by a power: asked about as an error, the same to seven
    digits."""
    frequencies = torch.exp(torch.arange(0, 128, 2).float() * (-math.log(10_000.0) / 128)).numpy()
    return sinusoids(folder, "Sinusoidal(dim=128)", by_two(200, frequencies, frequencies).astype(np.float32))


def of_patches(folder: Path, old: tuple[int, int], new: tuple[int, int], resized: torch.Tensor) -> Evidence:
    """A ViT's folder at one size of picture, and the folder made of it for another."""
    table = learned(*old)
    for name, grid, rows in (("original", old, table), ("resized", new, resized)):
        config = tiny("vit", image_size=[16 * side for side in grid], patch_size=16, hidden_size=32)
        file = config_file(folder, name, saved(config)) / "model.safetensors"
        safetensors(file, {"vit.embeddings.position_embeddings": rows})
    return Evidence(folder / "original", folder / "resized")


def learned(rows: int, columns: int) -> torch.Tensor:
    """A smooth table of a class token and patches, (1, 1 + rows·columns, 32), as training leaves it."""
    draw = torch.Generator().manual_seed(7)
    patches = functional.interpolate(torch.randn(1, 32, 3, 3, generator=draw), (rows, columns), mode="bicubic")
    return torch.cat((torch.randn(1, 1, 32, generator=draw), patches.flatten(2).transpose(1, 2)), dim=1)


def brought_to(table: torch.Tensor, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    """The table of a square picture as ViT's own code interpolates it."""
    embeddings = ViTEmbeddings(tiny("vit", image_size=16 * old[0], patch_size=16, hidden_size=32))
    embeddings.position_embeddings = torch.nn.Parameter(table)
    rows = torch.zeros(1, 1 + new[0] * new[1], 32)
    with torch.no_grad():
        return embeddings.interpolate_pos_encoding(rows, 16 * new[0], 16 * new[1])


@mistake(POSITION_TABLE, "vision", "facebookresearch/dino#8", "pytorch/torchtitan#4244",
         names={"height", "width", "axis", "axes", "swapped", "transpos"})  # fmt: skip
def table_resized_with_height_and_width_swapped(folder: Path) -> Evidence:
    """Code that resizes a table to (width, height) is right for squares; for pictures of 4 by 9 patches every row lands
    in a place of its own."""
    return of_patches(folder, (6, 6), (4, 9), brought_to(learned(6, 6), (6, 6), (9, 4)))


@mistake(
    POSITION_TABLE, "vision", "huggingface/pytorch-image-models#2737", names={"resiz", "resampl", "grid", "unchanged"}
)
def table_left_alone_since_the_number_fits(folder: Path) -> Evidence:
    """From 2 by 8 patches to 4 by 4: the number of patches is the same, and timm gave the table back as it was."""
    return of_patches(folder, (2, 8), (4, 4), learned(2, 8))


@harmless(POSITION_TABLE, "vision", "huggingface/pytorch-image-models#2317", "facebookresearch/dinov2#378")
def table_resized_rightly(folder: Path) -> Evidence:
    """The same table brought to 4 by 9 patches by ViT's own code."""
    return of_patches(folder, (6, 6), (4, 9), brought_to(learned(6, 6), (6, 6), (4, 9)))
