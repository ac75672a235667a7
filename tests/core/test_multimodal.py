"""Positions of multimodal prompts: the golden ids, chunks, packs, pictures as text, and what is refused."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from oracles import multimodal_requests
from posenc import positions
from posenc.positions import SliceMarks, glm_image, minicpm_v, multimodal, show, span_types, token_types
from posenc.positions.families import ENGINES, FAMILIES, SGLANG

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "multimodal.json").read_text())["entries"]


def placed(request: dict[str, Any]) -> Any:
    given = {name: value for name, value in request.items() if name not in ("family", "token_types", "rows")}
    return multimodal(request["family"], request["token_types"], **given)


def test_golden_ids_and_next_positions() -> None:
    def same(name: str) -> None:
        request = GOLDEN[name]
        found = placed(request)
        masks = np.array(request.get("attention_mask") or np.ones(np.shape(request["token_types"])), bool)
        for row, expected in enumerate(request["rows"]):
            ids = found.coordinates[row][masks[row]]
            assert ids.reshape(len(ids), -1).T.tolist() == expected["ids"]
            assert found.following[row] == expected["next"]
            assert found.delta[row] == pytest.approx(expected["next"] - masks[row].sum(), abs=1e-4)

    every(GOLDEN, same)


def test_golden_ids_are_of_every_rule_of_both_engines() -> None:
    asked = {(entry["engine"], entry["family"]) for entry in GOLDEN.values()}
    rules = {FAMILIES[family] for engine, family in asked if engine == "transformers"}
    assert rules == set(FAMILIES.values())
    own = {family for family, rule in SGLANG.items() if rule not in FAMILIES.values()}
    assert own == {family for engine, family in asked if engine == "sglang"}


@pytest.mark.parametrize("family", ["qwen3-vl", "qwen3.5", "qwen4", "glm-4v"])
def test_engines_agree_where_each_frame_is_a_picture_of_its_own(family: str) -> None:
    kinds = [0, *[2] * 2, 0, *[2] * 2, 0]
    asked = {"merge": 2, "video_grid_thw": [[2, 2, 4]]}
    found = [multimodal(family, kinds, engine=engine, **asked).coordinates.tolist() for engine in ENGINES]
    assert found[0] == found[1]
    assert found[0][1:3] == [[1, 1, 1], [1, 1, 2]]


def test_a_chunk_is_a_slice_of_the_whole_and_goes_on_behind_it() -> None:
    """Every cut of a prompt with a picture: inside it, at its ends, and beyond the prompt while decoding."""
    whole = multimodal("qwen2-vl", [[0, 0, 1, 1, 1, 1, 1, 1, 0]], merge=2, image_grid_thw=[[1, 4, 6]])
    longer = [*whole.coordinates[0].tolist(), *([place] * 3 for place in range(6, 9))]
    assert whole.following.tolist() == [6]
    for start in range(12):
        for stop in range(start, 13):
            assert whole.chunk(start, stop)[0].tolist() == longer[start:stop]
    single = multimodal("qwen2-vl", [0, 0, 1, 1, 1, 1, 1, 1, 0], merge=2, image_grid_thw=[[1, 4, 6]])
    assert single.chunk(7, 11).tolist() == longer[7:11]
    assert multimodal("paligemma", [1, 0]).chunk(1, 4).tolist() == [2, 3, 4]


@pytest.mark.parametrize("family", multimodal_requests.FAMILIES)
def test_packed_documents_start_anew(family: str) -> None:
    requests = [multimodal_requests.padded(family), multimodal_requests.pictures(family, 2.5)]
    rows = [row for request in requests for row in request["token_types"]]
    rows[0] = [kind for kind, kept in zip(rows[0], requests[0]["attention_mask"][0], strict=True) if kept]
    both = {name: value for name, value in multimodal_requests.asked(requests[1]).items() if "grid" not in name}
    for name in ("image_grid_thw", "video_grid_thw"):
        if grids := [grid for request in requests for grid in request.get(name, [])]:
            both[name] = grids
    if "second_per_grid_ts" in requests[1]:
        both["second_per_grid_ts"] = requests[1]["second_per_grid_ts"]
    packed = multimodal(family, [*chain(*rows)], lengths=[len(row) for row in rows], **both)
    alone = [part for request in requests for part in np.split(*_rows(request))]
    if family == "hunyuan-vl":  # which numbers the images of a batch
        packed.coordinates[..., -1] = alone[0].shape[0]
        alone = [np.where(np.arange(4) == 3, alone[0].shape[0], part) for part in alone]
    np.testing.assert_array_equal(packed.coordinates, np.concatenate(alone))
    with pytest.raises(ValueError, match=r"^stop must be at most \d+, the tokens of packed documents"):
        packed.chunk(0, len(packed.coordinates) + 1)


def _rows(request: dict[str, Any]) -> tuple[np.ndarray, list[int]]:
    """Coordinates of all rows without padding, and where one begins."""
    found = placed(request)
    masks = np.array(request.get("attention_mask") or np.ones(np.shape(request["token_types"])), bool)
    return found.coordinates[masks], np.cumsum(masks.sum(1))[:-1].tolist()


def test_engines_differ_where_a_video_lasts_longer_than_it_is_wide() -> None:
    video = {"merge": 2, "video_grid_thw": [[5, 2, 4]]}
    kinds = [0, *[2] * 10, 0]
    assert multimodal("qwen2-vl", kinds, **video).coordinates[-1].tolist() == [3, 3, 3]
    assert multimodal("qwen2-vl", kinds, engine="sglang", **video).coordinates[-1].tolist() == [6, 6, 6]


def test_kinds_of_tokens() -> None:
    ids = np.array([[7, 1, 2], [3, 7, 2]])
    assert token_types(ids, image=1, video=[2, 5], audio=3).tolist() == [[0, 1, 2], [3, 0, 2]]
    assert span_types(5, audio=[(0, 2)], image=[(4, 5)]).tolist() == [3, 3, 0, 0, 1]


def test_positions_as_text() -> None:
    whole = multimodal("qwen2-vl", [[0, 1, 1, 0]] * 2, merge=1, image_grid_thw=[[1, 1, 2], [1, 2, 1]])
    assert show(whole, width=24).splitlines()[:5] == [
        "row 0", "token   0 1 2 3", "time    0 1 1 3", "height  0 1 1 3", "width   0 1 2 3",
    ]  # fmt: skip
    assert show(positions.span(3, start=99), width=20).splitlines() == [
        "token       0   1", "position   99 100", "token       2", "position  101",
    ]  # fmt: skip
    assert show([0.5, 1.25]).splitlines()[1].split() == ["position", "0.5", "1.25"]
    assert show([2**31, 2**53 - 1, 2.0**40]).splitlines()[1].split() == [
        "position", "2147483648", "9007199254740991", "1099511627776",
    ]  # fmt: skip


@pytest.mark.parametrize("axes", [3, 4])
def test_coordinates_of_hunyuan_have_names_of_their_own(axes: int) -> None:
    """Tokens 1 to 4 are a picture of one column between its two marks, with the end of its line."""
    lines = show(multimodal("hunyuan-vl", [0, 1, 1, 1, 1, 0], merge=1, image_grid_thw=[[1, 1, 1]], axes=axes))
    assert [line.split() for line in lines.splitlines()[-3:]] == [
        ["width", "0", "1", "0", "1", "4", "5"],
        ["height", "0", "1", "0", "0", "4", "5"],
        ["image", "0", "1", "0", "0", "4", "5"],
    ]
    assert (lines.splitlines()[1].split()[0] == "position") == (axes == 4)


@pytest.mark.parametrize(("family", "shape"), [("gemma-3", (0, 5)), ("qwen2-vl", (0, 5, 3)), ("minicpm-v", (0, 5, 3))])
def test_a_batch_may_have_no_rows(family: str, shape: tuple[int, ...]) -> None:
    none = np.zeros((0, 5), int)
    if family == "minicpm-v":
        placed = minicpm_v(none, none, marks=MARKS, merge=4)
    else:
        placed = multimodal(family, none, merge=None if family == "gemma-3" else 2)
    assert placed.coordinates.shape == shape
    assert placed.delta.shape == placed.following.shape == (0,)


def test_a_row_of_slices_is_placed_as_a_batch_of_one() -> None:
    """An image of one row of two tokens, its marks, and a token of text behind it."""
    kinds, ids = [0, 1, 1, 0, 0], [8, 1, 1, 9, 2]
    placed = minicpm_v(kinds, ids, marks=MARKS, merge=4, target_sizes=[[4, 8]])
    batch = minicpm_v([kinds], [ids], marks=MARKS, merge=4, target_sizes=[[4, 8]])
    assert placed.coordinates.tolist() == batch.coordinates[0].tolist()
    assert (placed.delta, placed.following) == (batch.delta[0], batch.following[0]) == (-1, 4)
    unmerged = minicpm_v(kinds, ids, marks=MARKS, merge=1, target_sizes=[[1, 2]])
    assert unmerged.coordinates.tolist() == placed.coordinates.tolist()


VIDEO = {"merge": 2, "video_grid_thw": [[2, 2, 2]]}
CLOCK = {"second_per_grid_ts": [1.0], "tokens_per_second": 2}
OMNI = VIDEO | CLOCK | {"audio_in_video": True}
WRONG = {
    "family must be one of": ("qwen", [0], {"merge": 2}),
    "engine must be one of": ("qwen2-vl", [0], {"merge": 2, "engine": "vllm"}),
    "family must be one of 'qwen2-vl'.*got 'glm-ocr'": ("glm-ocr", [0], {"merge": 2, "engine": "sglang"}),
    "merge must be given for 'qwen2-vl'; got None": ("qwen2-vl", [0], {}),
    "merge must be left out for 'llama-4'": ("llama-4", [0], {"merge": 2}),
    "second_per_grid_ts must be given for the videos of 'qwen2.5-vl'; got None for 1 of them": (
        "qwen2.5-vl", [2, 2], VIDEO),
    "tokens_per_second must be given": ("qwen2.5-vl", [2, 2], VIDEO | {"second_per_grid_ts": [1.0]}),
    "second_per_grid_ts must be left out for 'qwen2-vl', whose": ("qwen2-vl", [2, 2], VIDEO | CLOCK),
    "second_per_grid_ts must hold seconds": ("qwen2.5-vl", [2, 2], VIDEO | CLOCK | {"second_per_grid_ts": [1.0, 1.0]}),
    "second_per_grid_ts must hold seconds above": ("qwen2.5-vl", [2, 2], VIDEO | CLOCK | {"second_per_grid_ts": [0.0]}),
    "seconds_per_chunk must be given for 'qwen2.5-omni'; got None": ("qwen2.5-omni", [0, 0, 2, 2, 3], OMNI),
    "temporal_merge must be given for 'ernie4.5-vl'; got None": ("ernie4.5-vl", [2], VIDEO),
    "temporal_merge must be left out for 'qwen2-vl'": ("qwen2-vl", [2, 2], VIDEO | {"temporal_merge": 2}),
    "video_grid_thw must hold frames that temporal_merge=3 divides; got 2": (
        "ernie4.5-vl", [2], VIDEO | {"temporal_merge": 3}),
    "axes must be given for 'hunyuan-vl'; got None": ("hunyuan-vl", [0], {"merge": 2}),
    "token_types must have a run of image tokens.*run of 2 and a grid of 4": (
        "hunyuan-vl", [1, 1], {"merge": 1, "axes": 4, "image_grid_thw": [[1, 2, 1]]}),
    "token_types must have a run of image tokens.*run of 1 and a grid of 2.*neither lengths nor": (
        "qwen2-vl", [1, 1], {"merge": 1, "image_grid_thw": [[1, 1, 2]], "lengths": [1, 1]}),
    "token_types must have a run of video tokens.*run of 2 and a grid of 1": ("qwen3-vl", [2, 2], VIDEO),
    "token_types must have a run of image tokens.*run of 1 and no grid": ("qwen2-vl", [1], {"merge": 2}),
    "token_types must be 0, 1 or 2 for 'qwen2-vl'; got 3": ("qwen2-vl", [3], {"merge": 2}),
    "token_types must be 0 or 1 for 'hunyuan-vl'; got 2": ("hunyuan-vl", [2], {"merge": 2, "axes": 3}),
    r"token_types must have shape \(n,\) or": ("qwen2-vl", [[[0]]], {"merge": 2}),
    "token_types must have rows of one length; got rows of 1 and of 2": ("qwen2-vl", [[0], [0, 0]], {"merge": 2}),
    "token_types must have two marks.*got 1 of text before token 1": (
        "qwen3-omni", [0, 2, 2, 3, 3], OMNI | {"tokens_per_second": 13}),
    "token_types must hold video and sound in the order of time.*got 3 where 2 is due, at token 0": (
        "qwen3-omni", [0, 0, 3, 3, 2, 2], OMNI | {"tokens_per_second": 13}),
    "video_grid_thw must have a row for each video of token_types; got 1 more": ("qwen2-vl", [0], VIDEO),
    "video_grid_thw must hold rows and columns that merge=4 divides": ("qwen2-vl", [2], VIDEO | {"merge": 4}),
    r"video_grid_thw must have shape \(pictures, 3\)": ("qwen2-vl", [2], VIDEO | {"video_grid_thw": [2, 2, 2]}),
    "video_grid_thw must hold frames, rows and columns from 1 to .*got -2 to 2": (
        "qwen2-vl", [2], VIDEO | {"video_grid_thw": [[2, -2, 2]]}),
    r"attention_mask must have the shape of token_types, \(1,\); got \(2,\)": (
        "qwen2-vl", [0], {"merge": 2, "attention_mask": [1, 1]}),
    "attention_mask must hold 1 for tokens and 0 for padding; got 2": (
        "qwen2-vl", [0, 0], {"merge": 2, "attention_mask": [1, 2]}),
    "lengths must sum to the 3 tokens of token_types; got 2": ("qwen2-vl", [0] * 3, {"merge": 2, "lengths": [1, 1]}),
    "token_types must have shape .* where lengths are given": ("qwen2-vl", [[0]], {"merge": 2, "lengths": [1]}),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_contradicts_itself(message: str) -> None:
    family, kinds, more = WRONG[message]
    with pytest.raises(ValueError, match=f"^{message}"):
        multimodal(family, kinds, **more)


MARKS = SliceMarks(image_start=8, image_end=9, slice_start=6, slice_end=7, newline=5)
REFUSED = {
    "token_types must hold whole numbers; got float64": lambda: multimodal("qwen2-vl", [0.0], merge=2),
    "token_types must be from -2\\^53 to 2\\^53; got 9223372036854775808": lambda: multimodal(
        "qwen2-vl", np.array([1 << 63], np.uint64), merge=2
    ),
    "second_per_grid_ts must be float32 or float64; got bfloat16": lambda: multimodal(
        "qwen2.5-vl", [2, 2], **VIDEO | CLOCK | {"second_per_grid_ts": torch.ones(1).bfloat16()}
    ),
    "second_per_grid_ts must be float32 or float64; got float16": lambda: multimodal(
        "qwen2.5-vl", [2, 2], **VIDEO | CLOCK | {"second_per_grid_ts": np.ones(1, np.float16)}
    ),
    "audio_in_video must be True or False": lambda: multimodal("qwen3-omni", [0], merge=2, audio_in_video=1),
    "input_ids must hold whole numbers; got float64": lambda: token_types([0.5], image=1),
    "video must have ids of its own; got 1, which image has": lambda: token_types([0], image=1, video=1),
    r"video must not overlap other spans; got \(3, 6\), where \(0, 4\) is of image": lambda: span_types(
        9, image=[(0, 4)], video=[(3, 6)]
    ),
    r"image must hold spans of a token or more; got \(2, 2\)": lambda: span_types(9, image=[(2, 2)]),
    "image must be an integer from 0 to 4; got 5": lambda: span_types(4, image=[(2, 5)]),
    "image must be an integer from 0 to 4; got -1": lambda: span_types(4, image=[(-1, 2)]),
    "image must hold pairs": lambda: span_types(4, image=[3]),
    "stop must be an integer from 3": lambda: multimodal("llama-4", [0]).chunk(3, 1),
    "names must name each coordinate of positions; got 2": lambda: show([[0, 0, 0]], names=("row", "column")),
    "positions, counted in tokens, must be an integer from 1 to 4096; got 5000": lambda: show(np.arange(5000)),
    "positions must hold numbers; got bool": lambda: show([True, False]),
    "marks must be SliceMarks": lambda: minicpm_v([0], [1], marks={}, merge=4),
    r"token_types must have shape \(n,\) or \(batch, n\), that of input_ids; got \(1,\) and \(2,\)": lambda: minicpm_v(
        [0], [1, 1], marks=MARKS, merge=4
    ),
    "token_types must have a run of image tokens for each target size.*run of 1 and a size of 2": lambda: minicpm_v(
        [0, 1], [8, 2], marks=MARKS, merge=4, target_sizes=[[4, 8]]
    ),
    "token_types must be 0, 1 or 2, with a mark before each run.*got 1 at token 0": lambda: minicpm_v(
        [1], [2], marks=MARKS, merge=4, target_sizes=[[4, 4]]
    ),
    "target_sizes_videos must have a row for each run of video tokens; got 1 more": lambda: minicpm_v(
        [0], [2], marks=MARKS, merge=4, target_sizes_videos=[[4, 4]]
    ),
    r"target_sizes must have shape \(crops, 2\)": lambda: minicpm_v(
        [0], [2], marks=MARKS, merge=4, target_sizes=[[3, 4]]
    ),
    "images_per_sample must be given for a batch of 2; got None for 1 grids": lambda: glm_image(
        [[1], [1]], image_start=8, image_end=9, image_grid_thw=[[1, 2, 2]]
    ),
    "images_per_sample must be 1 counts that sum to the 1 grids; got 1 that sum to 2": lambda: glm_image(
        [1], image_start=8, image_end=9, image_grid_thw=[[1, 2, 2]], images_per_sample=[2]
    ),
    "input_ids must hold 4 tokens of an image of 2 × 2 between its marks; got 1": lambda: glm_image(
        [8, 2, 9], image_start=8, image_end=9, image_grid_thw=[[1, 2, 2]]
    ),
    "input_ids must have a start mark for each of its 1 images, which end marks close; got 0": lambda: glm_image(
        [1, 9, 2], image_start=8, image_end=9, image_grid_thw=[[1, 2, 2]]
    ),
    "input_ids must have a grid for each of its 2 images, which end marks close; got 1": lambda: glm_image(
        [8, 2, 9, 8, 2, 9], image_start=8, image_end=9, image_grid_thw=[[1, 1, 1]]
    ),
    r"input_ids must have shape \(n,\)": lambda: glm_image(5, image_start=8, image_end=9),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        REFUSED[message]()


def test_a_grid_that_would_not_fit_into_memory_is_refused_before_it_exists() -> None:
    with pytest.raises(ValueError, match=r"^image_grid_thw must need at most \d+ bytes at once"):
        multimodal("qwen2-vl", [1], merge=1, image_grid_thw=[[1 << 20, 1 << 20, 1 << 20]])
