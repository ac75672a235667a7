"""Data sets of the Hugging Face hub, or folders of files, through `datasets`."""

from __future__ import annotations

from typing import Any


def data_set_rows(argument: str, name: str, split: str, column: str) -> Any:
    """The rows of a data set "NAME" or "NAME,CONFIGURATION" that has a column; ValueError naming the argument."""
    try:
        from datasets import load_dataset
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{argument} must be a file where the package datasets is missing ({error}). Install it: pip install "
            "datasets"
        ) from None
    path, _, configuration = name.partition(",")
    try:
        rows = load_dataset(path, configuration or None, split=split)
    except Exception as error:  # whatever the library raises is the reason, in its own words
        raise ValueError(
            f"{argument} must name a data set that can be loaded; got {name!r}: {' '.join(str(error).split())[:300]}. "
            "Check the name and the network, or give a folder."
        ) from None
    if column not in rows.column_names:
        raise ValueError(
            f"{argument} must name a data set with a column {column!r}; got {name!r} with "
            f"{', '.join(rows.column_names)}. Name another one."
        )
    return rows
