"""Positions of multimodal models, token by token, written from the sources that each function names.

A request is what a processor returns, in plain lists: `token_types` (rows of 0 text, 1 image, 2 video, 3 sound), grids
of frames, rows and columns, and what else a family reads. Every function returns the ids of one row without padding and
the position of the next token. Nothing of posenc is used.
"""

import numpy as np


def runs(kinds):
    """Kind, begin and end of every run of tokens of one kind."""
    begin = 0
    for place in range(1, len(kinds) + 1):
        if place == len(kinds) or kinds[place] != kinds[begin]:
            yield kinds[begin], begin, place
            begin = place


def pictures_in_text(kinds, images, videos, request, *, whole_video, extent):
    """M-RoPE: Qwen2-VL (arXiv 2409.12191, §2.1) and its descendants, `get_rope_index` of transformers 5.23.0.

    A picture's tokens have the position of its start plus (frame, row, column). `whole_video(video)` is None where text
    separates the frames, else the time of each frame. With `extent` the next segment begins after the longer side of a
    picture, without it after the largest number so far (SGLang 0.5.23).
    """
    merge, ids, position = request["merge"], [], 0
    for kind, begin, end in runs(kinds):
        if kind in (0, 3):
            for _ in range(begin, end):
                ids.append((position, position, position))
                position += 1
            continue
        place = begin
        while place < end:
            grid = images.pop(0) if kind == 1 else videos[0]
            times = range(grid[0]) if kind == 1 else whole_video(grid)
            if times is None:  # one frame of a video, the next one comes after the text
                videos[0] = [grid[0] - 1, *grid[1:]]
                times = [0]
                if videos[0][0] == 0:
                    videos.pop(0)
            elif kind == 2:
                videos.pop(0)
            rows, columns = grid[1] // merge, grid[2] // merge
            new = [
                (position + time, position + row, position + column)
                for time in times
                for row in range(rows)
                for column in range(columns)
            ]
            ids += new
            place += len(new)
            position = position + max(rows, columns) if extent else max(map(max, new)) + 1
        assert place == end
    return ids, max(map(max, ids), default=-1) + 1


def counted_frames(kinds, images, videos, request):
    return pictures_in_text(kinds, images, videos, request, whole_video=lambda grid: range(grid[0]), extent=True)


def split_frames(kinds, images, videos, request):
    return pictures_in_text(kinds, images, videos, request, whole_video=lambda grid: None, extent=True)


def merged_frames(kinds, images, videos, request):
    together = request["temporal_merge"]
    times = lambda grid: range(grid[0] // together)  # noqa: E731
    return pictures_in_text(kinds, images, videos, request, whole_video=times, extent=True)


def clock(kinds, images, videos, request):
    """Qwen2.5-VL (arXiv 2502.13923, §2.1.3): the time of frame i is i·(tokens a second · seconds a frame), cut."""
    seconds = request.get("seconds_left", [])

    def times(grid):
        interval = np.float32(request["tokens_per_second"]) * np.float32(seconds.pop(0))
        return [int(np.float32(frame) * interval) for frame in range(grid[0])]

    return pictures_in_text(kinds, images, videos, request, whole_video=times, extent=True)


def sglang(kinds, images, videos, request, *, seconds_counted, together=1):
    """SGLang 0.5.23, python/sglang/srt/layers/rotary_embedding/mrope_rope_index.py, `get_rope_index`.

    Segments begin after the largest number so far. Time is frame · seconds a frame · tokens a second, in this order.
    """
    seconds = request.get("seconds_left", [])

    def times(grid):
        if not seconds_counted:
            return range(grid[0] // together)
        second = np.float32(seconds.pop(0))
        return [int(np.float32(frame) * second * np.float32(request["tokens_per_second"])) for frame in range(grid[0])]

    return pictures_in_text(kinds, images, videos, request, whole_video=times, extent=False)


def omni(kinds, images, videos, request, *, third):
    """Qwen2.5-Omni (arXiv 2503.20215, TMRoPE) and, with `third`, Qwen3-Omni (arXiv 2509.17765).

    A segment begins one after the largest number of the last. Sound has a token a step of time. Sound inside a video:
    in 2.5 chunks of so many steps of time, pictures first, and both marks before it share a position, as both behind it
    do; in 3 tokens in the order of time, pictures first, with marks counted one by one and times that are not cut.
    """
    real = np.float32 if third else int
    mixed = request.get("audio_in_video", False)
    ids, start, place = [], real(0), 0
    while place < len(kinds):
        end = place + 1
        while end < len(kinds) and (kinds[end] == kinds[place] or (mixed and 0 not in (kinds[place], kinds[end]))):
            end += 1
        if mixed and 2 in kinds[place:end]:
            if not third:  # the two marks before it share a position
                ids[-1], start = ids[-2], start - 1
            ids += film(videos.pop(0), kinds[place:end].count(3), start, request, third=third)
            if not third:  # and so do the two behind it, of which this is the first
                start = max(ids[-1]) + 1
                ids.append((start,) * 3)
                place, end = end, end + 1
        elif kinds[place] == 1:
            grid = images.pop(0)
            ids += picture(grid, [frame * request["tokens_per_second"] for frame in range(grid[0])], start, request)
        elif kinds[place] == 2:
            grid = videos.pop(0)
            ids += picture(grid, frame_times(grid, request, third=third), start, request)
        else:
            for _ in range(place, end):
                ids.append((start, start, start))
                start = real(start + 1)
        if kinds[place] != 0:  # after the last token, whatever came before it
            start = real(max(ids[-1]) + 1)
        place = end
    return ids, max(map(max, ids), default=-1) + 1


def picture(grid, times, start, request):
    """Tokens of a picture or video that begins at `start`, with the time of each frame."""
    real, merge = type(start), request["merge"]
    return [
        (real(start + real(time)), real(start + row), real(start + column))
        for time in times
        for row in range(grid[1] // merge)
        for column in range(grid[2] // merge)
    ]


def frame_times(grid, request, *, third):
    second, rate = np.float32(request["seconds_left"].pop(0)), np.float32(request["tokens_per_second"])
    times = [np.float32(frame) * second * rate for frame in range(grid[0])]
    return times if third else [int(time) for time in times]


def film(grid, sound, start, request, *, third):
    """Tokens of a video and of so many tokens of its sound."""
    seen = picture(grid, frame_times(grid, request, third=third), start, request)
    heard, ids = [(type(start)(start + step),) * 3 for step in range(sound)], []
    if third:
        while seen or heard:
            first = seen if seen and (not heard or seen[0][0] <= heard[0][0]) else heard
            ids.append(first.pop(0))
        return ids
    chunk = int(request["tokens_per_second"] * request["seconds_per_chunk"])
    parts = [chunks(tokens, start, chunk) for tokens in (seen, heard)]
    for number in range(max(map(len, parts))):
        for part in parts:
            ids += part[number] if number < len(part) else []
    return ids


def chunks(tokens, start, chunk):
    """`get_chunked_index`: each cut opens the next chunk only, so a late frame is cut behind its first token."""
    found, cuts = [[]], 0
    for token in tokens:
        if token[0] - start >= (cuts + 1) * chunk:
            found.append([])
            cuts += 1
        found[-1].append(token)
    return found


def hunyuan(kinds, images, videos, request):
    """HunYuan-VL, `get_rope_index` of transformers 5.23.0: every token has its index on all axes; a picture's tokens
    have (column, row, number of the picture in the batch) on the last three, with one column more at the end of each
    row. The marks around a picture, which the processor counts among its tokens, keep their index.
    """
    axes, merge = request["axes"], request["merge"]
    ids = [[place] * axes for place in range(len(kinds))]
    for kind, begin, end in runs(kinds):
        if kind == 0:
            continue
        _, height, width = images.pop(0)
        rows, columns = height // merge, width // merge + 1
        first = begin + (end - begin - rows * columns) // 2
        for token in range(rows * columns):
            ids[first + token][axes - 3 :] = [token % columns, token // columns, request["seen"]]
        request["seen"] += 1
    return [tuple(token) for token in ids], max(map(max, ids), default=-1) + 1


def from_one(kinds, images, videos, request):
    """PaliGemma: text and patches alike count from 1 (`modeling_paligemma.py` of transformers 5.23.0)."""
    return [(place + 1,) for place in range(len(kinds))], len(kinds) + 1


def from_zero(kinds, images, videos, request):
    """Llama 4, Gemma 3n, InternVL, Kimi-VL: text, patches and sound alike count from 0."""
    return [(place,) for place in range(len(kinds))], len(kinds)


def of(row, request):
    """The rule of a family, as a function of the kinds of a row's tokens, the grids left and the request."""
    family = request["family"]
    if request.get("engine") == "sglang":
        return SGLANG[family](row, request)
    return RULES[family](row, request)


def _rule(rule, **words):
    return lambda row, request: rule(row, request["images_left"], request["videos_left"], request, **words)


RULES = {
    **dict.fromkeys(("qwen2-vl", "paddleocr-vl"), _rule(counted_frames)),
    "qwen2.5-vl": _rule(clock),
    **dict.fromkeys(
        ("qwen3-vl", "qwen3.5", "qwen4", "glm-4v", "glm-ocr", "cohere-compass", "cosmos3"), _rule(split_frames)
    ),
    "ernie4.5-vl": _rule(merged_frames),
    "qwen2.5-omni": _rule(omni, third=False),
    "qwen3-omni": _rule(omni, third=True),
    "hunyuan-vl": _rule(hunyuan),
    "paligemma": _rule(from_one),
    **dict.fromkeys(("llama-4", "gemma-3n", "internvl", "kimi-vl"), _rule(from_zero)),
}
SGLANG = {
    "qwen2-vl": _rule(sglang, seconds_counted=False),
    **dict.fromkeys(("qwen2.5-vl", "paddleocr-vl"), _rule(sglang, seconds_counted=True)),
    "ernie4.5-vl": lambda row, request: sglang(
        row, request["images_left"], request["videos_left"], request, seconds_counted=False,
        together=request["temporal_merge"],
    ),
    **{family: RULES[family] for family in ("qwen3-vl", "qwen3.5", "qwen4", "glm-4v", "qwen3-omni")},
}  # fmt: skip


def ids(request):
    """Ids of every row without its padding, and the next position of each row."""
    left = request | {
        "images_left": [list(grid) for grid in request.get("image_grid_thw") or []],
        "videos_left": [list(grid) for grid in request.get("video_grid_thw") or []],
        "seconds_left": list(request.get("second_per_grid_ts") or []),
        "seen": 0,
    }
    rows = []
    for row, kinds in enumerate(request["token_types"]):
        mask = request["attention_mask"][row] if request.get("attention_mask") else [1] * len(kinds)
        rows.append(of([kind for kind, kept in zip(kinds, mask, strict=True) if kept], left))
    assert not left["images_left"]
    assert not left["videos_left"]
    return rows
