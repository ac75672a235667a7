"""Read an engine's positions off its answers to a probe, and name the mistake where they are not the config's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posenc.core import text_lines, validation
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.config.json_file import load_config
from posenc.models.config.reader import from_config
from posenc.probe.answered_probe import AnsweredProbe, LayerReading
from posenc.probe.answers import read_answers
from posenc.probe.config import text_config
from posenc.probe.judge_probe import COARSER, OF_SIZE, ROUNDED_ALIKE, computed_in
from posenc.probe.layout import read_layout
from posenc.probe.manifest_difference import short_lines
from posenc.probe.rotation_reading import LayerRotation
from posenc.probe.scores import ROUNDOFF


@dataclass(frozen=True)
class ProbeReading(text_lines.Lines):
    """Positions that an engine applied, and how they differ from the config.

    Attributes:
        layers: What each layer does, in order.
        diagnosis: Whether that is what the config states, and the mistake if not.
        engine: The engine, as the answer names it; "" where it does not.
        dtype: Precision that the error bars are of.
    """

    layers: tuple[LayerReading, ...]
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
        difference = self.diagnosis.difference
        verdict = replace(self.diagnosis, difference=None).lines()
        shown = [] if difference is None else short_lines(difference)
        return [*shown, *verdict, f"{engine}error bars of {self.dtype}", *read]


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
        TypeError: `folder` is no path, or `answers` neither a mapping nor a path.
    """
    folder = validation.path("folder", folder)
    layout, prompts = read_layout(folder)
    given = read_answers(answers, prompts, layout.stream)
    precision = given.dtype if dtype is None else validation.choice("dtype", dtype, tuple(ROUNDOFF))
    expected = from_config(text_config(load_config(folder)))
    probe = AnsweredProbe(layout, prompts, given, expected)
    exact = _read(probe, precision)
    uncapped = None if _is_read(exact) else _read_without_softcaps(probe, precision, exact)
    if uncapped is not None:
        return uncapped
    return _read_as_coarsely_as_needed(probe, exact) if dtype is None and precision == "float32" else exact


def _read_without_softcaps(probe: AnsweredProbe, dtype: str, exact: ProbeReading) -> ProbeReading | None:
    """Read the answers as those of an engine that skips softcaps; None unless that explains more of them."""
    found = []
    for uncapped, note in _without_softcaps(probe):
        reading = _read(uncapped, dtype)
        if _is_read(reading):
            diagnosis = replace(reading.diagnosis, notes=(*reading.diagnosis.notes, note))
            found.append(replace(reading, diagnosis=diagnosis))
    best = min(found, key=_differences, default=None)
    if best is None or (_sees_pairs(exact) and _differences(best) >= _differences(exact)):
        return None
    return best


def _without_softcaps(probe: AnsweredProbe) -> Iterator[tuple[AnsweredProbe, str]]:
    """Yield the probe without one or both of its softcaps, each with a note; nothing unless it has both."""
    layout = probe.layout
    attention, output = layout.attention_cap, layout.output_cap
    left_out = {
        "attention's logits": (0.0, output),
        "the output's logits": (attention, 0.0),
        "attention's logits and the output's logits": (0.0, 0.0),
    }
    if not (attention and output):
        return
    for names, (of_attention, of_output) in left_out.items():
        changed = replace(layout, attention_cap=of_attention, output_cap=of_output)
        yield probe._replace(layout=changed), f"The softcap of {names} is not applied; positions are read without it."


def _read(probe: AnsweredProbe, dtype: str, keys: str = "float32") -> ProbeReading:
    """Read a probe with the error bars of an engine that computes in `dtype` and caches keys in `keys`."""
    layers, diagnosis = probe.read_layers(dtype, keys)
    return ProbeReading(layers, diagnosis.looked_at_in(probe.expected), probe.answers.engine, dtype)


def _read_as_coarsely_as_needed(probe: AnsweredProbe, exact: ProbeReading) -> ProbeReading:
    """Read with a narrow type's error bars where only these explain the answers, and say so; else return `exact`.

    Many engines compute in float32 and keep keys in float16. A mistake that explains the scores to float32 stands:
    wide error bars would hide one that is small at the distances that were asked. Another size of
    all scores goes where the rounding of cached keys explains it: a key of ones times a factor is rounded as one.
    """
    named = {finding.name for finding in exact.diagnosis.findings}
    if exact.explained and named & OF_SIZE and probe.layout.quantity == "rotation":
        reading = _read(probe, *COARSER[0])
        gone = named - {finding.name for finding in reading.diagnosis.findings}
        if reading.explained and gone and gone <= OF_SIZE:
            return replace(reading, diagnosis=computed_in("float32", reading.diagnosis))
    if probe.layout.quantity == "row" or (exact.explained and not named & ROUNDED_ALIKE):
        return exact
    fewest = len(exact.diagnosis.findings) if exact.explained else math.inf
    for dtype, keys in COARSER:
        reading = _read(probe, dtype, keys)
        findings = {finding.name for finding in reading.diagnosis.findings}
        shown = reading.explained and _rotating(reading) == _rotating(exact) and not findings & ROUNDED_ALIKE
        if shown and len(reading.diagnosis.findings) < fewest:
            return replace(reading, diagnosis=computed_in(dtype, reading.diagnosis))
    return exact


def _is_read(reading: ProbeReading) -> bool:
    """Whether the engine agrees, or pairs are seen in every layer and the mistake has a name."""
    return reading.diagnosis.agree or (_sees_pairs(reading) and reading.explained)


def _sees_pairs(reading: ProbeReading) -> bool:
    """Whether pairs are seen in every layer that was read for a rotation."""
    return all(not isinstance(layer, LayerRotation) or bool(layer.pairing) for layer in reading.layers)


def _differences(reading: ProbeReading) -> int:
    """Count the lines that say what differs from the config."""
    difference = reading.diagnosis.difference
    return 0 if difference is None else len(short_lines(difference))


def _rotating(reading: ProbeReading) -> int:
    """Count the layers that are seen to rotate, which error bars that are too wide would hide."""
    return sum(isinstance(layer, LayerRotation) and layer.rotates for layer in reading.layers)
