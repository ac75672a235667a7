"""Tokens of images, videos and mixed media: the coordinates of every token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from posenc.core import validation
from posenc.explorer.views.view import View
from posenc.positions import Image, Segment, Text, Video, media

#: Segments, and tokens of all of them together, that the page shows.
MOST_SEGMENTS, MOST_TOKENS = 12, 4096
KINDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "text": (Text, ("length",)),
    "image": (Image, ("height", "width", "merge")),
    "video": (Video, ("frames", "height", "width", "merge", "interval")),
}


@dataclass(frozen=True)
class MediaView(View):
    """Segments of a sequence, {"kind": "image", "height": 4, "width": 6, "merge": 2}, say."""

    segments: Sequence[Any]
    after: Literal["largest", "extent"] = "largest"

    def facts(self) -> dict[str, Any]:
        if not isinstance(self.segments, Sequence) or not 0 < len(self.segments) <= MOST_SEGMENTS:
            raise ValueError(f"segments must be from 1 to {MOST_SEGMENTS}; got another number. Add or remove some.")
        segments = [_segment(one) for one in self.segments]
        tokens = sum(map(_tokens, segments))
        if tokens > MOST_TOKENS:
            raise ValueError(
                f"segments must have at most {MOST_TOKENS:,} tokens; got {tokens:,}. Make an image or a video smaller."
            )
        coordinates, following = media(segments, after=self.after)
        return {
            "coordinates": coordinates.tolist(),
            "owners": np.repeat(np.arange(len(segments)), [len(one.coordinates()) for one in segments]).tolist(),
            "segments": [repr(segment) for segment in segments],
            "next": following,
            "code": "from posenc.positions import Image, Text, Video, media\n\n"
            f"coordinates, following = media({segments!r}, after={self.after!r})",
        }


def _segment(given: Any) -> Segment:
    kind = given.get("kind") if isinstance(given, dict) else None
    if kind not in KINDS:
        raise ValueError(
            f"segments must be of the kinds {', '.join(KINDS)}; got {validation.shown(given)}. Choose one."
        )
    encoding, names = KINDS[kind]
    segment: Segment = encoding(**{name: given.get(name) for name in names})
    return segment


def _tokens(segment: Segment) -> int:
    """How many tokens a segment has, before any is made."""
    if isinstance(segment, Text):
        return segment.length
    cells = (segment.height // segment.merge) * (segment.width // segment.merge)  # type: ignore[union-attr]
    return cells * (segment.frames if isinstance(segment, Video) else 1)
