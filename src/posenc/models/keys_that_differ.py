"""The keys of two files from which a difference in positions follows."""

from __future__ import annotations

from posenc.models.model_positions import ModelPositions, Value


def keys_that_differ(first: ModelPositions, second: ModelPositions) -> dict[str, tuple[object, object]]:
    """Return the keys of the second file whose values are not those of the first, each with both values.

    Example:
        >>> from posenc.models import from_config
        >>> opt = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
        >>> keys_that_differ(from_config(opt), from_config({**opt, "max_position_embeddings": 1024}))
        {'max_position_embeddings': (2048, 1024)}
    """
    one, other = _values(first), _values(second)
    return {
        other[place].key: (value.value, other[place].value)
        for place, value in one.items()
        if place in other and value.value != other[place].value
    }


def _values(model: ModelPositions) -> dict[tuple[str, str, str], Value]:
    """Every value, by its part, the type of its layers and its name."""
    return {(group.part, group.attention, value.name): value for group in model.groups for value in group.values}
