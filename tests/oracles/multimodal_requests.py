"""Requests of multimodal families, as their processors return them: pictures of several shapes between marks of text.

They are plain lists, for oracles, golden vectors and live code alike.
"""

from __future__ import annotations

from typing import Any

#: Frames a second: below one, whole, between, and of film and television.
RATES = (0.5, 2.0, 2.5, 24.0, 29.97)
SPLIT = ("qwen3-vl", "qwen3.5", "qwen4", "glm-4v", "glm-ocr", "cohere-compass", "cosmos3")
FAMILIES = (
    "qwen2-vl", "qwen2.5-vl", "qwen2.5-omni", "qwen3-vl", "qwen3-omni", "qwen3.5", "qwen4", "glm-4v", "glm-ocr",
    "cohere-compass", "cosmos3", "ernie4.5-vl", "paddleocr-vl", "hunyuan-vl",
)  # fmt: skip
CLOCK = {"qwen2.5-vl": 2, "qwen2.5-omni": 25, "qwen3-omni": 13}
OMNI = ("qwen2.5-omni", "qwen3-omni")
IMAGES = [[1, 4, 8], [1, 10, 4], [1, 2, 2]]
VIDEOS = [[6, 4, 6], [26, 2, 8]]


#: Smaller pictures, for vectors in a file.
SMALL = {"images": [[1, 4, 8], [1, 10, 4]], "videos": [[6, 4, 6]]}
COUNTED = ("llama-4", "gemma-3n", "internvl", "kimi-vl", "paligemma")
SOUND = {"qwen2.5-omni": 60, "qwen3-omni": 40}


def golden() -> dict[str, dict[str, Any]]:
    """Requests of the golden vectors by name, with the engine whose rule they are for."""
    found = {}
    for family in (*FAMILIES, *COUNTED):
        for fps in RATES if family in CLOCK else (2.0,):
            found[f"{family}, pictures at {fps:g} frames a second"] = pictures(family, fps, **SMALL)
        for fps in RATES if family in OMNI else ():
            request = film(family, fps, (4, 4, 6), SOUND[family])
            found[f"{family}, sound inside a video at {fps:g} frames a second"] = request
        found[f"{family}, a batch with padding"] = padded(family)
    for family in ("qwen2-vl", "qwen2.5-vl", "paddleocr-vl", "ernie4.5-vl"):
        for fps in RATES if family in ("qwen2.5-vl", "paddleocr-vl") else (2.0,):
            request = named(pictures(family, fps, **SMALL) | {"engine": "sglang"}, fps)
            found[f"{family} of SGLang, pictures at {fps:g} frames a second"] = request
    return found


def asked(request: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `posenc.positions.multimodal` besides family and types of tokens."""
    return {name: value for name, value in request.items() if name not in ("family", "token_types")}


def pictures(family: str, fps: float, images: Any = IMAGES, videos: Any = VIDEOS, merge: int = 2) -> dict[str, Any]:
    """Text, two images, videos, and the other images, each between marks; two patches of time become one."""
    kinds, images = [0] * 3, [list(grid) for grid in images]
    videos = [] if family == "hunyuan-vl" else [list(grid) for grid in videos]
    for kind, grids in ((1, images[:2]), (2, videos), (1, images[2:])):
        for frames, height, width in grids:
            tokens = height // merge * (width // merge + (family == "hunyuan-vl"))
            if kind == 2 and family in SPLIT:
                kinds += ([2] * tokens + [0] * 4) * frames
            else:
                count = frames // 2 if kind == 2 and family == "ernie4.5-vl" else frames
                kinds += [kind] * (tokens * count) + [0] * 2
    if family in COUNTED:
        return {"family": family, "token_types": [kinds]}
    request = {"family": family, "token_types": [kinds], "merge": merge, "image_grid_thw": images}
    return named(request | ({"video_grid_thw": videos} if videos else {}), fps)


def named(request: dict[str, Any], fps: float) -> dict[str, Any]:
    """A request with what its family reads besides grids."""
    family, videos = request["family"], request.get("video_grid_thw", [])
    if family in CLOCK or (family == "paddleocr-vl" and request.get("engine") == "sglang"):
        request = request | {"tokens_per_second": CLOCK.get(family, 2), "second_per_grid_ts": [2 / fps] * len(videos)}
    if family == "ernie4.5-vl":
        request = request | {"temporal_merge": 2}
    return request | ({"axes": 4} if family == "hunyuan-vl" else {})


def film(family: str, fps: float, grid: Any = (9, 4, 6), sound: int = 130, merge: int = 2) -> dict[str, Any]:
    """Text, an image, a video with its sound in it, text, and sound by itself."""
    rate, tokens = CLOCK[family], grid[1] * grid[2] // merge**2
    times = [
        int(frame * 2 / fps * rate) if family == "qwen2.5-omni" else frame * 2 / fps * rate for frame in range(grid[0])
    ]
    seen = [time for time in times for _ in range(tokens)]
    if family == "qwen2.5-omni":
        parts = [_cut(seen, 50), _cut(list(range(sound)), 50)]
        mixed = []
        for number in range(max(map(len, parts))):
            for part, kind in zip(parts, (2, 3), strict=True):
                mixed += [kind] * (len(part[number]) if number < len(part) else 0)
    else:
        timed = [(time, 2) for time in seen] + [(time, 3) for time in range(sound)]
        mixed = [kind for _, kind in sorted(timed)]
    kinds = [0] * 4 + [1] * 8 + [0] * 4 + mixed + [0] * 5 + [3] * 20 + [0] * 2
    request = {
        "family": family,
        "token_types": [kinds],
        "merge": merge,
        "image_grid_thw": [[1, 8, 4]],
        "video_grid_thw": [list(grid)],
        "audio_in_video": True,
    }
    chunks = {"seconds_per_chunk": 2} if family == "qwen2.5-omni" else {}
    return named(request | chunks, fps)


def _cut(times: list[float], chunk: int) -> list[list[float]]:
    """Tokens cut as the processor of Qwen2.5-Omni cuts them: each cut opens the next chunk only."""
    found: list[list[float]] = [[]]
    for time in times:
        if time >= len(found) * chunk:
            found.append([])
        found[-1].append(time)
    return found


def padded(family: str) -> dict[str, Any]:
    """Two rows, the first padded on the left, with images of different shapes."""
    more = 1 if family == "hunyuan-vl" else 0
    short, full = [0, *[1] * (2 + more), 0], [0, *[1] * (6 + 2 * more), 0]
    padding = len(full) - len(short)
    request = {
        "family": family,
        "token_types": [[0] * padding + short, full],
        "attention_mask": [[0] * padding + [1] * len(short), [1] * len(full)],
    }
    if family in COUNTED:
        return request
    return named(request | {"merge": 2, "image_grid_thw": [[1, 2, 4], [1, 4, 6]]}, 2.0)
