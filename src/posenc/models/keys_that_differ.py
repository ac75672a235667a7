"""The keys of two files from which a difference in positions follows."""

from __future__ import annotations

from typing import NamedTuple

from posenc.models.model_positions import ModelPositions, Value


class DifferingValue(NamedTuple):
    """Value that two files state otherwise, or that one of them lacks.

    Attributes:
        name: The key or notion, whatever the files call it: "rope_theta", for example.
        first: As the first file has it; None where it has none.
        second: As the second file has it; None where it has none.
    """

    name: str
    first: Value | None
    second: Value | None

    @property
    def key(self) -> str:
        """The key to write in the second file: its own spelling, or that of the first where it has none."""
        stated = [value for value in (self.second, self.first) if value is not None]
        return next((value.key for value in stated if value.source == "file"), stated[0].key)


def values_that_differ(first: ModelPositions, second: ModelPositions) -> tuple[DifferingValue, ...]:
    """Return each value that is another in the second file, or that one of both lacks, by its key.

    Example:
        >>> from posenc.models import from_config
        >>> llama = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}
        >>> scaled = from_config({**llama, "rope_scaling": {"rope_type": "linear", "factor": 2.0}})
        >>> [value.key for value in values_that_differ(scaled, from_config(llama))][:2]
        ['rope_scaling.rope_type', 'rope_scaling.factor']
    """
    one, other = _values(first), _values(second)
    found: dict[str, DifferingValue] = {}
    for place in dict.fromkeys((*one, *other)):
        differing = _first_that_differs(place[2], one.get(place, {}), other.get(place, {}))
        if differing is not None:
            key, known = differing.key, found.get(differing.key)
            lacks = known is not None and None not in known and None in differing
            # What the file states comes before what follows from it, and what both state before what one does.
            if known is None or (key.endswith(differing.name) and not lacks):
                found[key] = differing
    return tuple(found.values())


def keys_that_differ(first: ModelPositions, second: ModelPositions) -> dict[str, tuple[object, object]]:
    """Return the keys to write in the second file where its values are not those of the first, each with both values.

    Example:
        >>> from posenc.models import from_config
        >>> opt = {"model_type": "opt", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
        >>> keys_that_differ(from_config(opt), from_config({**opt, "max_position_embeddings": 1024}))
        {'max_position_embeddings': (2048, 1024)}
    """
    return {
        value.key: (value.first.value, value.second.value)
        for value in values_that_differ(first, second)
        if value.first is not None and value.second is not None
    }


def _values(model: ModelPositions) -> dict[tuple[str, str, str], dict[int, Value]]:
    """Every value by its part, the type of its layers and its name, and there by layer; -1 before the layers."""
    found: dict[tuple[str, str, str], dict[int, Value]] = {}
    for group in model.groups:
        for value in group.values:
            by_layer = found.setdefault((group.part, group.attention, value.name), {})
            by_layer.update(dict.fromkeys(group.layers or (-1,), value))
    return found


def _first_that_differs(name: str, first: dict[int, Value], second: dict[int, Value]) -> DifferingValue | None:
    """Return the values of the first layer where both differ; of any layers where no layer has both."""
    pairs: list[tuple[Value | None, Value | None]] = [
        (first[layer], second[layer]) for layer in sorted(first.keys() & second.keys())
    ]
    for one, other in pairs or [(next(iter(first.values()), None), next(iter(second.values()), None))]:
        if one is None or other is None or one.value != other.value:
            return DifferingValue(name, one, other)
    return None
