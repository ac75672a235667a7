"""Rules by which families of multimodal models place text, pictures and sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Family:
    """Rule by which a family of multimodal models places its tokens.

    Attributes:
        layout: "segments", text and pictures one after the other on three axes (M-RoPE); "overlaid", every token has
            its index and a picture's tokens have its rows and columns on some axes (HunYuan-VL); "counted", one axis
            on which every token counts.
        time: Steps from frame to frame of a video: "frames", one; "seconds", as many as pass between them; "split",
            none, since text with the time separates the frames.
        after: Where the next segment begins: beyond the longer side of a picture ("extent"), beyond its largest
            coordinate ("largest"), or beyond its last token ("last").
        merges_frames: Whether several frames become one.
        sound: Order of tokens where sound is inside a video: in "chunks" of time, or by "times"; None without sound.
        seconds_first: Whether frames are multiplied by seconds and then by the rate; else by the product of both.
        first: Position of the first token.
        padding: Coordinate of padding.
    """

    layout: Literal["segments", "overlaid", "counted"] = "segments"
    time: Literal["frames", "seconds", "split"] = "frames"
    after: Literal["extent", "largest", "last"] = "extent"
    merges_frames: bool = False
    sound: Literal["chunks", "times"] | None = None
    seconds_first: bool = False
    first: int = 0
    padding: int = 0

    @property
    def takes(self) -> frozenset[str]:
        """Names of the arguments of `multimodal` that the family reads."""
        if self.layout == "counted":
            return frozenset()
        if self.layout == "overlaid":
            return frozenset({"merge", "image_grid_thw", "axes"})
        names = {"merge", "image_grid_thw", "video_grid_thw"}
        names |= {"second_per_grid_ts", "tokens_per_second"} if self.time == "seconds" else set()
        names |= {"temporal_merge"} if self.merges_frames else set()
        names |= {"audio_in_video"} if self.sound else set()
        return frozenset(names | ({"seconds_per_chunk"} if self.sound == "chunks" else set()))


COUNTED = Family("counted")
SPLIT = Family(time="split")
MERGED = Family(merges_frames=True)
CLOCK = Family(time="seconds")
OMNI_3 = Family(time="seconds", after="last", sound="times", seconds_first=True)

#: What transformers 5.23 computes (`get_rope_index`, or its default `position_ids`).
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "qwen2-vl": Family(),
        "qwen2.5-vl": CLOCK,
        "qwen2.5-omni": Family(time="seconds", after="last", sound="chunks", seconds_first=True, padding=1),
        "qwen3-vl": SPLIT,
        "qwen3-omni": OMNI_3,
        "qwen3.5": SPLIT,
        "qwen4": SPLIT,
        "glm-4v": SPLIT,
        "glm-ocr": SPLIT,
        "cohere-compass": SPLIT,
        "cosmos3": SPLIT,
        "ernie4.5-vl": MERGED,
        "paddleocr-vl": Family(),
        "hunyuan-vl": Family("overlaid"),
        "paligemma": Family("counted", first=1),
        **dict.fromkeys(
            ("gemma-3", "gemma-3n", "gemma-4", "internvl", "kimi-vl", "llama-4", "llava", "pixtral"), COUNTED
        ),
    }
)

#: What SGLang 0.5.23 computes for the same models, where it has a rule of its own or of its own writing.
LARGEST_CLOCK = Family(time="seconds", after="largest", seconds_first=True)
SGLANG: Mapping[str, Family] = MappingProxyType(
    {
        "qwen2-vl": Family(after="largest"),
        "qwen2.5-vl": LARGEST_CLOCK,
        "paddleocr-vl": LARGEST_CLOCK,
        "ernie4.5-vl": Family(after="largest", merges_frames=True),
        "qwen3-omni": OMNI_3,
        **dict.fromkeys(("qwen3-vl", "qwen3.5", "qwen4", "glm-4v"), SPLIT),
    }
)
ENGINES: Mapping[str, Mapping[str, Family]] = MappingProxyType({"transformers": FAMILIES, "sglang": SGLANG})
