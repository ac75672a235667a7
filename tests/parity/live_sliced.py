"""Positions of MiniCPM-V 4.7 and GLM-Image by transformers 5.23.0, and scenes drawn for both."""

from __future__ import annotations

import random
from types import MethodType
from types import SimpleNamespace as Fields
from typing import Any

import numpy as np
import torch

from parity.test_media import modeling
from posenc.positions import SliceMarks

START, END, SLICE, SLICE_END, NEWLINE = 8, 9, 6, 7, 5


def live_minicpm(request: dict[str, Any]) -> tuple[np.ndarray, list[int]]:
    kind = modeling("minicpmv4_7").MiniCPMV4_7Model
    config = Fields(
        slice_start_id=SLICE, slice_end_id=SLICE_END, image_start_id=START, image_end_id=END, newline_id=NEWLINE
    )
    held = Fields(config=config, _frame_end_idx=kind._frame_end_idx)
    for name in ("get_vision_position_ids", "_group_visual_frames"):
        setattr(held, name, MethodType(getattr(kind, name), held))
    found, deltas = kind.get_rope_index(
        held,
        torch.tensor(request["input_ids"]),
        torch.tensor(request["token_types"]),
        *(torch.tensor(request[name]) if request[name] else None for name in ("target_sizes", "target_sizes_videos")),
        downsample_mode="4x" if request["merge"] == 2 else "16x",
    )
    return found.permute(1, 2, 0).numpy(), deltas[:, 0].tolist()


def live_glm_image(request: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    kind = modeling("glm_image").GlmImageModel
    held = Fields(config=Fields(image_start_token_id=START, image_end_token_id=END))
    held.get_vision_position_ids = MethodType(kind.get_vision_position_ids, held)
    names = ("input_ids", "image_grid_thw", "images_per_sample", "attention_mask")
    found, _ = kind.get_rope_index(held, *(torch.tensor(request[name]) for name in names))
    return found.permute(1, 2, 0).numpy(), held._cached_decode_position_ids.permute(0, 2, 1).numpy()


def scene_of_minicpm(drawn: random.Random) -> dict[str, Any]:
    """Images and frames of videos, some with slices, between text and newlines."""
    merge = drawn.choice((2, 4))
    ids, kinds, sizes = [1] * drawn.randint(0, 3), [0] * 0, {1: [], 2: []}
    kinds = [0] * len(ids)

    def crop(before: int, behind: int, kind: int, rows: int, columns: int) -> None:
        ids.extend([before, *[2] * (rows * columns), behind])
        kinds.extend([0, *[kind] * (rows * columns), 0])
        sizes[kind].append([rows * merge, columns * merge])

    for _ in range(drawn.randint(1, 4)):
        kind = drawn.choice((1, 1, 2))
        for _ in range(1 if kind == 1 else drawn.randint(1, 3)):
            crop(START, END, kind, drawn.randint(1, 5), drawn.randint(1, 5))
            lines, columns, tile = drawn.randint(0, 3), drawn.randint(1, 3), (drawn.randint(1, 4), drawn.randint(1, 4))
            for line in range(lines):
                for _ in range(columns):
                    crop(SLICE, SLICE_END, kind, *tile)
                ids.extend([NEWLINE] * (line < lines - 1))
                kinds.extend([0] * (line < lines - 1))
        text = [drawn.choice((1, 1, NEWLINE)) for _ in range(drawn.randint(0, 3))]
        ids.extend(text)
        kinds.extend([0] * len(text))
    marks = SliceMarks(image_start=START, image_end=END, slice_start=SLICE, slice_end=SLICE_END, newline=NEWLINE)
    named = {"target_sizes": sizes[1] or None, "target_sizes_videos": sizes[2] or None}
    return {"token_types": [kinds], "input_ids": [ids], "marks": marks, "merge": merge, **named}


def scene_of_glm_image(drawn: random.Random) -> dict[str, Any]:
    """A padded batch of prompts, each with images in it and images to come."""
    rows, grids, counts = [], [], []
    for _ in range(drawn.randint(1, 3)):
        ids, before = [1] * drawn.randint(0, 3), len(grids)
        for _ in range(drawn.randint(0, 2)):
            height, width = drawn.randint(1, 4), drawn.randint(1, 5)
            grids.append([1, height, width])
            ids += [START, *[2] * (height * width), END, *[1] * drawn.randint(0, 3)]
        ids.append(drawn.choice((START, 1)))
        grids += [[1, drawn.randint(1, 4), drawn.randint(1, 4)] for _ in range(drawn.randint(1, 2))]
        rows.append(ids)
        counts.append(len(grids) - before)
    longest = max(map(len, rows))
    return {
        "input_ids": [[0] * (longest - len(ids)) + ids for ids in rows],
        "attention_mask": [[0] * (longest - len(ids)) + [1] * len(ids) for ids in rows],
        "image_grid_thw": grids,
        "images_per_sample": counts,
        "image_start": START,
        "image_end": END,
    }
