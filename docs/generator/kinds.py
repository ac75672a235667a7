"""What the picture of an encoding shows, and the words below it; drawing it is docs/generator/picture.py's."""

from __future__ import annotations

from dataclasses import fields, replace

from posenc.catalog import Row
from posenc.doors import Adds, Biases, Encoding, Rotates
from posenc.frequencies import Scaling

#: Features of coordinates within [-1, 1], where other encodings take whole positions.
COORDINATES = ("FourierFeatures", "RandomFourierFeatures")

CAPTIONS = {
    "value": "The value at every position.",
    "table": "Every value of the table: a row a position, a column a channel.",
    "likeness": "PE(centre)·PE(p) for every place p of a grid: how alike the table makes a place to the one in the middle.",
    "frequencies": "How fast each pair of channels turns, as a share of what it does unscaled.",
    "score": "What position alone gives to a query so many positions after the key, for queries and keys of ones.",
    "score on a grid": "What position alone gives to the query in the middle of a grid and every key, for queries and keys of ones.",
    "bias": "What is added to the logit of a query so many positions after the key, a line a head.",
    "bias on a grid": "What head 0 adds to the logits of the query in the middle of a grid and every key.",
    "logits": "What is added to the logits of head 0 for random content: a row a query, a column a key.",
}


def kind(row: Row) -> str:
    """Which of the pictures tells most of a row."""
    record, grid = row.samples[0], row.samples[0].axes > 1
    if isinstance(record, Adds):
        return "likeness" if grid else "value" if record.width == 1 else "table"
    if isinstance(record, Rotates):
        scaled = issubclass(row.about, Scaling) and hasattr(record, "frequencies") and not grid
        return "frequencies" if scaled else "score on a grid" if grid else "score"
    if isinstance(record, Biases):
        return "bias on a grid" if grid else "bias"
    return "logits"


def drawn_record(row: Row) -> Encoding:
    """The record that is drawn: the first sample, with 64 channels where its other fields allow that."""
    record = row.samples[0]
    if not any(field.name == "dim" for field in fields(record)) or kind(row) == "logits":
        return record
    try:
        return replace(record, dim=64)
    except (ValueError, TypeError):
        return record


def caption(row: Row) -> str:
    """What the picture shows, in words."""
    fresh = " What is learned is as drawn, untrained." if row.samples[0].shapes else ""
    return CAPTIONS[kind(row)] + fresh
