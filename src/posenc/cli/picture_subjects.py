"""Subjects of pictures of the command line, each read from its text."""

from __future__ import annotations

from typing import Any

from posenc.cli.inputs import encoding


def of_encoding(text: str) -> Any:
    """Encoding that is drawn, read from its text."""
    return encoding("subject", text, "Draw one of its layers.")


def of_encoding_or_none(text: str) -> Any:
    """Encoding, or None where it is left out: no encoding."""
    return of_encoding(text) if text else None


def of_segments(text: str) -> Any:
    """Segments as the explorer's links write them: "text 4, image 4x6x1, video 2x4x4x2x1"."""
    from posenc.explorer.views.media_view import KINDS

    segments = []
    for part in text.split(","):
        kind, _, numbers = part.strip().partition(" ")
        segment, names = KINDS.get(kind, (None, ()))
        sizes = numbers.split("x")
        if segment is None or len(sizes) != len(names) or not all(map(str.isdecimal, sizes)):
            written = "; ".join(f"{kind}: {' x '.join(names)}" for kind, (_, names) in KINDS.items())
            raise ValueError(
                f'subject must be segments such as "text 4, image 4x6x1" ({written}); got {text!r:.60}. Write some.'
            )
        segments.append(segment(**dict(zip(names, map(int, sizes), strict=True))))
    return segments


def of_comparison(text: str) -> Any:
    """Settings that a folder of `posenc compare` holds."""
    from posenc.lab.comparison.comparison_report import report

    if not text:
        raise ValueError("subject must be the folder of a comparison; got none. Run posenc compare --out FOLDER.")
    return [judged.setting for judged in report(text).judged]


def of_findings(text: str) -> Any:
    """Claims decided by training, by name, each with its finding; `text` must be empty."""
    from posenc.lab.claims.findings import trained_findings

    if text:
        raise ValueError(f"subject must be left out for claims; got {text!r:.100}. Leave it out.")
    return trained_findings()
