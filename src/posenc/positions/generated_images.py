"""Positions of GLM-Image: images in a prompt, and images that the model will generate behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc.core import validation
from posenc.positions.grid import LONGEST, grid
from posenc.positions.host_numbers import whole_numbers
from posenc.positions.multimodal import grids, token_mask


def glm_image(
    input_ids: Any,
    *,
    image_start: int,
    image_end: int,
    image_grid_thw: Any = None,
    images_per_sample: Sequence[int] | None = None,
    attention_mask: Any = None,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Coordinates (time, height, width) of prompts of GLM-Image, and of the images generated behind each.

    As `get_rope_index` of transformers 5.23 computes them. An image of h × w tokens begins behind its start mark and
    takes max(h, w) positions. Grids of a sample that no image of its prompt uses are generated, the last one first,
    and closed by one token.

    Args:
        input_ids: Ids of tokens, (n,) or (batch, n).
        image_start: `image_start_token_id` of the config, the mark before an image.
        image_end: `image_end_token_id`, the mark behind it.
        image_grid_thw: (images, 3), frames, rows and columns of each image, in the prompt and to be generated, all
            samples in a row.
        images_per_sample: Number of grids of each sample; needed for a batch of several.
        attention_mask: (batch, n), 1 for tokens, 0 for padding; None for no padding.

    Returns:
        Coordinates of the prompts, (batch, n, 3) or (n, 3), int64, 1 for padding; and for each sample those of what it
        generates, (steps, 3), without rows where it has no grid.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Shapes, grids and marks contradict each other.

    Example:
        >>> places, generated = glm_image([5, 6], image_start=8, image_end=9, image_grid_thw=[[1, 1, 2]])
        >>> places.tolist(), generated[0].tolist()
        ([[0, 0, 0], [1, 1, 1]], [[2, 2, 2], [2, 2, 3], [4, 4, 4]])
    """
    tokens = whole_numbers("input_ids", input_ids)
    if tokens.ndim not in (1, 2):
        raise ValueError(f"input_ids must have shape (n,) or (batch, n); got {tokens.shape}. Give one row a sample.")
    marks = [validation.integer(n, m, 0, LONGEST) for n, m in (("image_start", image_start), ("image_end", image_end))]
    mask = np.atleast_2d(token_mask("input_ids", tokens, attention_mask))
    found_grids = grids("image_grid_thw", image_grid_thw, 1)
    rows = np.atleast_2d(tokens)
    places, generated = np.ones((*rows.shape, 3), np.int64), []
    for row, own in enumerate(_per_sample(found_grids, images_per_sample, len(rows))):
        kept = rows[row, mask[row]]
        prompt, position, used = _prompt(kept, own, marks)
        places[row, mask[row]] = prompt
        generated.append(_generated(own[used:], position, any_grid=len(own) > 0))
    return (places if tokens.ndim == 2 else places[0]), generated


def _per_sample(found: np.ndarray, counts: Sequence[int] | None, batch: int) -> list[np.ndarray]:
    """Grids of each sample."""
    if counts is None:
        if batch > 1 and len(found):
            raise ValueError(
                f"images_per_sample must be given for a batch of {batch}; got None for {len(found)} grids. Pass what "
                "the processor returned."
            )
        return [found] * batch
    each = validation.integers("images_per_sample", counts, 0, LONGEST)
    if len(each) != batch or sum(each) != len(found):
        raise ValueError(
            f"images_per_sample must be {batch} counts that sum to the {len(found)} grids; got {len(each)} that sum to "
            f"{sum(each)}. Pass what the processor returned."
        )
    return np.split(found, np.cumsum(each)[:-1])


def _prompt(tokens: np.ndarray, own: np.ndarray, marks: Sequence[int]) -> tuple[np.ndarray, int, int]:
    """Coordinates of one prompt, the position behind it, and the number of its images."""
    starts, ends = (np.flatnonzero(tokens == mark) for mark in marks)
    position, behind, parts = 0, 0, [np.empty((0, 3), np.int64)]
    for marked, count in (("start mark", len(starts)), ("grid", len(own))):
        if len(ends) > count:
            raise ValueError(
                f"input_ids must have a {marked} for each of its {len(ends)} images, which end marks close; got "
                f"{count}. Pass what one call of the processor returned."
            )
    spans = zip(own[: len(ends)].tolist(), (starts + 1).tolist(), ends.tolist(), strict=False)
    for (_, height, width), start, end in spans:
        if end - start != height * width or start < behind:
            raise ValueError(
                f"input_ids must hold {height * width} tokens of an image of {height} × {width} between its marks; got "
                f"{end - start}. Pass what one call of the processor returned."
            )
        parts.append(_text(position, start - behind))
        position += start - behind
        cells = grid(height, width, frames=1)
        parts.append(cells + position)
        position += max(height, width)
        behind = end
    parts.append(_text(position, len(tokens) - behind))
    return np.concatenate(parts), position + len(tokens) - behind, len(ends)


def _text(position: int, count: int) -> np.ndarray:
    """Coordinates of text, equal on all axes."""
    return np.repeat(position + np.arange(count)[:, None], 3, -1)


def _generated(left: np.ndarray, position: int, *, any_grid: bool) -> np.ndarray:
    """Coordinates of images to be generated, the last grid first, and of the token that closes them."""
    parts = [np.empty((0, 3), np.int64)]
    for _, height, width in left[::-1].tolist():
        parts.append(grid(height, width, frames=1) + position)
        position += max(height, width)
    if any_grid:
        parts.append(_text(position, 1))
    return np.concatenate(parts)
