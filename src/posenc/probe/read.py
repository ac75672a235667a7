"""Read an engine's positions off its answers to a probe, and name the mistake where they are not the config's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc.core import text_lines, validation
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.models.model_positions import ModelPositions
from posenc.probe.answers import Answers, read_answers
from posenc.probe.bias_reading import LayerBias, judge_bias, read_biases
from posenc.probe.judge import judge_layers, merged_layers
from posenc.probe.layout import ProbeLayout, read_layout
from posenc.probe.prompts import Prompt
from posenc.probe.rotation_reading import LayerRotation, read_rotation
from posenc.probe.row_reading import TableRows, judge_rows, read_rows
from posenc.probe.scores import ROUNDOFF, layer_scores


@dataclass(frozen=True)
class ProbeReading(text_lines.Lines):
    """Positions that an engine applied, and how they differ from the config.

    Attributes:
        layers: What each layer does, in order.
        diagnosis: Whether that is what the config states, and the mistake if not.
        engine: The engine, as the answer names it; "" where it does not.
        dtype: Precision that the error bars are of.
    """

    layers: tuple[LayerRotation | LayerBias | TableRows, ...]
    diagnosis: Diagnosis
    engine: str = ""
    dtype: str = "float32"

    @property
    def explained(self) -> bool:
        """Whether the engine agrees with the config or every difference has a name."""
        return self.diagnosis.explained

    def lines(self) -> list[str]:
        """Return the lines that are printed."""
        engine = f"engine: {self.engine}, " if self.engine else ""
        read = [layer.sentence() for layer in self.layers]
        return [*self.diagnosis.lines(), f"{engine}error bars of {self.dtype}", *read]


def read_probe(
    folder: str | Path, answers: Mapping[str, Any] | str | Path, *, dtype: str | None = None
) -> ProbeReading:
    """Read which positions an engine applied to a probe.

    Args:
        folder: The folder that `write_probe` wrote.
        answers: Logits or log-probabilities, (rows, vocabulary) for each prompt by its name: a dict, an .npz, or JSON
            lines of {"name": ..., "logits": ...} or {"name": ..., "response": a completion with logprobs}. "engine" and
            "version" may stand besides.
        dtype: Precision in which the engine computes, "float32", "float16" or "bfloat16"; that of the numbers if None.

    Returns:
        What each layer does, with error bars, and the difference from the config with the mistake by name.

    Raises:
        ValueError: The folder holds no probe, or an answer is missing or has another shape.
        TypeError: `answers` is neither a mapping nor a path.
    """
    folder = Path(folder)
    layout, prompts = read_layout(folder)
    given = read_answers(answers, prompts, layout.stream.vocabulary)
    precision = given.dtype if dtype is None else validation.choice("dtype", dtype, tuple(ROUNDOFF))
    expected = from_config(load_config(folder))
    layers, diagnosis = _READERS[layout.quantity](layout, prompts, given, precision, expected)
    return ProbeReading(layers, diagnosis.looked_at_in(expected), given.engine, precision)


def _rotations(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtype: str, expected: ModelPositions
) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    shown = layer_scores(layout, prompts, answers, dtype)
    layers = tuple(read_rotation(layer, scores) for layer, scores in enumerate(shown))
    return layers, judge_layers(layout, expected, shown, layers)


def _biases(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtype: str, expected: ModelPositions
) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    layers = read_biases(layout, prompts, answers, dtype)
    return layers, merged_layers([judge_bias(expected, layer) for layer in layers], "biases", "causal mask")


def _rows(
    layout: ProbeLayout, prompts: Sequence[Prompt], answers: Answers, dtype: str, expected: ModelPositions
) -> tuple[tuple[LayerReading, ...], Diagnosis]:
    rows = read_rows(layout, prompts, answers)
    return (rows,), judge_rows(expected, rows)


#: A layer's rotation or biases, or the rows of a table that all layers share.
LayerReading = LayerRotation | LayerBias | TableRows
_READERS = {"rotation": _rotations, "bias": _biases, "row": _rows}
