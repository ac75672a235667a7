"""What `posenc plot` draws.

An encoding, a model's config, a sequence of mixed media, a comparison, the claims on file.
"""

from __future__ import annotations

from typing import Any

from posenc.cli.inputs import encoding

#: The sizes that a segment is written with, in this order.
SIZES = {
    "text": ("length",),
    "image": ("height", "width", "merge"),
    "video": ("frames", "height", "width", "merge", "interval"),
}
SEGMENTS = "; ".join(f"{kind}: {' x '.join(names)}" for kind, names in SIZES.items())


def of_encoding(text: str) -> Any:
    return encoding("subject", text, "Draw one of its layers.")


def of_encoding_or_none(text: str) -> Any:
    """An encoding, or None where it is left out: no encoding."""
    return of_encoding(text) if text else None


def of_segments(text: str) -> Any:
    """Segments as the explorer's links write them: "text 4, image 4x6x1, video 2x4x4x2x1"."""
    from posenc.positions import Image, Text, Video

    kinds: dict[str, Any] = {"text": Text, "image": Image, "video": Video}
    segments = []
    for part in text.split(","):
        kind, _, numbers = part.strip().partition(" ")
        sizes = numbers.split("x")
        if kind not in kinds or len(sizes) != len(SIZES[kind]) or not all(map(str.isdecimal, sizes)):
            raise ValueError(
                f'subject must be segments such as "text 4, image 4x6x1" ({SEGMENTS}); got {text!r:.60}. Write some.'
            )
        segments.append(kinds[kind](**dict(zip(SIZES[kind], map(int, sizes), strict=True))))
    return segments


def of_comparison(text: str) -> Any:
    """The settings that a folder of `posenc compare` holds."""
    from posenc.lab.comparison.comparison_report import report

    if not text:
        raise ValueError("subject must be the folder of a comparison; got none. Run posenc compare --out FOLDER.")
    return [judged.setting for judged in report(text).judged]


def of_findings(text: str) -> Any:
    """The trained claims that are decided, by name, each with its finding."""
    from posenc.lab.claims.findings import trained_findings

    if text:
        raise ValueError(f"subject must be left out for claims; got {text!r:.100}. Leave it out.")
    return trained_findings()
