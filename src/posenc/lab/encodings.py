"""Encodings of a model and of its layers, read from a text or from a file of one's own. Imports no torch."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posenc import parse
from posenc.compose import PerLayer
from posenc.core import validation
from posenc.core.doors import AdditiveEncoding, Encoding
from posenc.diagnosis.code.user_file import load_target, named_file
from posenc.lab.experiment import Experiment


@dataclass(frozen=True)
class LayerEncodings:
    """Encodings of a model by the layers that use them.

    Args:
        added: Added to the embeddings, in this order.
        inside: For each layer, the encodings inside its attention.
    """

    added: tuple[AdditiveEncoding, ...]
    inside: tuple[tuple[Encoding, ...], ...]

    @property
    def encodings(self) -> tuple[Encoding, ...]:
        """Every encoding once, in order. Layers with equal encodings share its parameters."""
        return tuple(dict.fromkeys((*self.added, *(encoding for layer in self.inside for encoding in layer))))


def layer_encodings(encodings: Sequence[Encoding | PerLayer], layers: int) -> LayerEncodings:
    """Assign encodings to a model: additive ones to the input, others to all layers, a schedule's layer by layer.

    Args:
        encodings: Encodings and schedules, in order.
        layers: How many layers the model has.

    Returns:
        The encodings of the input and of each layer.

    Raises:
        ValueError: A schedule has another number of layers, or holds an encoding that adds.

    Example:
        >>> from posenc import ALiBi, RoPE, Sinusoidal
        >>> mixed = layer_encodings((Sinusoidal(dim=16), PerLayer((RoPE(dim=8), None))), 2)
        >>> len(mixed.added), [len(layer) for layer in mixed.inside]
        (1, [1, 0])
    """
    added: list[AdditiveEncoding] = []
    inside: list[list[Encoding]] = [[] for _ in range(layers)]
    for encoding in encodings:
        if isinstance(encoding, PerLayer):
            _check_schedule(encoding, layers)
        elif isinstance(encoding, AdditiveEncoding):
            added.append(encoding)
            continue
        for layer, within in enumerate(inside):
            chosen = encoding.at(layer) if isinstance(encoding, PerLayer) else encoding
            within.extend([] if chosen is None else [chosen])
    return LayerEncodings(tuple(added), tuple(map(tuple, inside)))


def read_encodings(text: str, *, width: int, heads: int, layers: int) -> LayerEncodings:
    """Read the encodings of a text such as "Sinusoidal(dim=64) + ALiBi(heads=4)" for a model of this size.

    A part may be FILE.py:NAME, an encoding of one's own or its class, whose fields `dim`, `heads` and `model_dim` are
    then those of the model.

    Args:
        text: Encodings joined by plus signs.
        width: Channels of the model.
        heads: Heads of the model.
        layers: Layers of the model.

    Returns:
        The encodings of the input and of each layer.

    Raises:
        ValueError: A part is no encoding or does not fit; the message names `encoding`.

    Example:
        >>> read_encodings("RoPE(dim=16) + ALiBi(heads=4)", width=64, heads=4, layers=2).encodings[1].heads
        4
    """
    return layer_encodings(encodings(text, width=width, heads=heads), layers)


def encodings(text: str, *, width: int, heads: int) -> tuple[Encoding | PerLayer, ...]:
    """The encodings and schedules that a text names, as `read_encodings` reads them."""
    return tuple(_encoding(part, width, heads) for part in encoding_parts(text))


def encoding_parts(text: str) -> list[str]:
    """Cut a text at each plus sign outside brackets and quotes.

    Example:
        >>> encoding_parts("RoPE(dim=16, base=1e+4) + NoPE(dim=64)")
        ['RoPE(dim=16, base=1e+4)', 'NoPE(dim=64)']
    """
    validation.instance("encoding", text, str, "the text of an encoding")
    found, depth, quote = [""], 0, ""
    for character in text:
        if quote or character in "'\"":
            quote = "" if character == quote else quote or character
        depth += 0 if quote else (character in "([{") - (character in ")]}")
        if character == "+" and not depth and not quote:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found]


def own_python_files(experiment: Experiment) -> tuple[str, ...]:
    """Python files of the user's own that an experiment names, in its encoding and as its task.

    Example:
        >>> own_python_files(Experiment("NoPE(dim=64) + mine.py:Mine", "tasks.py:Other"))
        ('mine.py', 'tasks.py')
    """
    own = [part for part in encoding_parts(experiment.encoding) if _names_a_file(part)]
    own += [experiment.task] if ".py" in experiment.task else []
    return tuple(dict.fromkeys(map(named_file, own)))


def fitted(kind: type[Encoding], width: int, heads: int) -> Encoding:
    """Make an encoding of a class for a model of this size.

    Raises:
        ValueError: The class has other fields without a default.
    """
    sizes = {"dim": width if issubclass(kind, AdditiveEncoding) else width // heads, "heads": heads, "model_dim": width}
    fields = [field for field in dataclasses.fields(kind) if field.init]
    missing = [field.name for field in fields if parse.has_no_default(field) and field.name not in sizes]
    if missing:
        raise ValueError(
            f"encoding must be an encoding where {kind.__name__} has other fields to fill: {', '.join(missing)}. Write "
            f"MINE = {kind.__name__}(...) in the file and name MINE."
        )
    return kind(**{field.name: sizes[field.name] for field in fields if field.name in sizes})


def _names_a_file(text: str) -> bool:
    return ".py" in text and not parse.is_record(text)


def _encoding(text: str, width: int, heads: int) -> Any:
    if not _names_a_file(text):
        return _checked_encoding(parse.record(text), text)
    target = load_target(text)
    if inspect.isclass(target) and issubclass(target, Encoding):
        return fitted(target, width, heads)
    return _checked_encoding(target, text)


def _checked_encoding(encoding: Any, text: str) -> Any:
    if not isinstance(encoding, Encoding | PerLayer):
        raise ValueError(
            f"encoding must be an encoding; got {validation.shown(text)}, which is "
            f"{type(encoding).__name__}. Write RoPE(dim=16), say."
        )
    return encoding


def _check_schedule(encoding: PerLayer, layers: int) -> None:
    if len(encoding.layers) != layers:
        raise ValueError(
            f"encoding must have a layer for each of {layers}; got a schedule of {len(encoding.layers)}. Give as many."
        )
    if any(isinstance(layer, AdditiveEncoding) for layer in encoding.layers):
        raise ValueError(
            "encoding must be added at the input, not in a layer; got a schedule with an encoding that adds. Join it "
            "with a plus sign."
        )
