"""Judge attention windows: compare the keys near a query that two models let it see, layer by layer."""

from __future__ import annotations

from posenc.diagnosis.mistake import Finding
from posenc.models.model_positions import ModelPositions, NearKeys, layer_ranges, windows_of_layers

REMEDY = "Read sliding_window, attention_chunk_size and layer_types of the file, and count the query's own key."


def compare_windows(expected: ModelPositions, actual: ModelPositions) -> tuple[Finding, ...]:
    """Findings on windows that differ, each with its layers; none where a format does not say which windows it has.

    Example:
        >>> from posenc.models import from_config
        >>> sizes = {"model_type": "mistral", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
        >>> meant, found = (from_config({**sizes, "sliding_window": size}) for size in (4096, None))
        >>> compare_windows(meant, found)[0].sentence
        'Queries see all keys where keys up to 4,095 positions before the query are meant.'
    """
    if not (expected.windows_known and actual.windows_known):
        return ()
    one, other = windows_of_layers(expected), windows_of_layers(actual)
    layers_of: dict[tuple[NearKeys | None, NearKeys | None, str], list[int]] = {}
    for (part, layer), meant in one.items():
        found = other.get((part, layer), meant)
        if found != meant:
            layers_of.setdefault((meant, found, part), []).append(layer)
    several = len({part for part, _ in one}) > 1
    return tuple(
        Finding(
            "window",
            f"Queries see {found or 'all keys'} where {meant or 'all keys'} are meant.",
            REMEDY,
            where=f"{part}, {layer_ranges(tuple(layers))}" if several else layer_ranges(tuple(layers)),
        )
        for (meant, found, part), layers in layers_of.items()
    )
