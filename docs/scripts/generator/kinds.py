"""Kind of picture that an encoding has, and its caption; picture.py draws it."""

from __future__ import annotations

from dataclasses import fields, replace

from posenc.catalog import Row
from posenc.core.doors import AdditiveEncoding, AttentionBias, Encoding, RotaryEncoding
from posenc.frequencies import Scaling

#: Features of coordinates within [-1, 1], where other encodings take whole positions.
COORDINATES = ("FourierFeatures", "RandomFourierFeatures")

CAPTIONS = {
    "value": "The value at every position.",
    "table": "Every value of the table: one row for each position, one column for each channel.",
    "likeness": "PE(centre)·PE(p) for every patch p of a grid: how similar each patch is to the one in the middle.",
    "frequencies": "The frequency of each pair of channels, relative to its frequency without scaling.",
    "score": "The logit by distance, query position minus key position, for queries and keys of ones.",
    "score on a grid": "The logits of the query in the middle of a grid with every key, for queries and keys of ones.",
    "bias": "The bias by distance, query position minus key position, one line for each head.",
    "bias on a grid": "The bias of head 0 for the query in the middle of a grid and every key.",
    "bias of pairs": "The bias of head 0: one row for each query position, one column for each key position.",
    "logits": "The score of head 0 for random content: one row for each query, one column for each key.",
}


def kind(row: Row) -> str:
    """Kind of picture that tells most of a row."""
    encoding, grid = row.samples[0], row.samples[0].axes > 1
    if isinstance(encoding, AdditiveEncoding):
        return "likeness" if grid else "value" if encoding.width == 1 else "table"
    if isinstance(encoding, RotaryEncoding):
        scaled = issubclass(row.about, Scaling) and hasattr(encoding, "frequencies") and not grid
        return "frequencies" if scaled else "score on a grid" if grid else "score"
    if isinstance(encoding, AttentionBias):
        return "bias on a grid" if grid else "bias" if "unlimited" in encoding.claims else "bias of pairs"
    return "logits"


def drawn_encoding(row: Row) -> Encoding:
    """The encoding that is drawn: the first sample, with 64 channels where its other fields allow that."""
    encoding = row.samples[0]
    if not any(field.name == "dim" for field in fields(encoding)) or kind(row) == "logits":
        return encoding
    try:
        return replace(encoding, dim=64)
    except (ValueError, TypeError):
        return encoding


def caption(row: Row) -> str:
    """Caption of the picture."""
    fresh = " Parameters are untrained, as drawn by `init`." if row.samples[0].shapes else ""
    return CAPTIONS[kind(row)] + fresh
