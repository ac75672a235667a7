"""Diagnose two implementations: whether they agree about positions, and the known mistake if not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from posenc.core import validation
from posenc.core.doors import Encoding
from posenc.core.rotation import LAYOUTS
from posenc.diagnosis.checkpoint_tables import compare_tables, table_shapes
from posenc.diagnosis.judge_arrays import judge_arrays
from posenc.diagnosis.judge_capture import judge_capture, judge_captures
from posenc.diagnosis.judge_models import judge_models
from posenc.diagnosis.live_module import is_module, module_evidence, module_of
from posenc.diagnosis.model_capture import FACTS, Capture
from posenc.diagnosis.model_source import read_source
from posenc.diagnosis.named_arrays import ARRAY_FILES, ARRAY_NAMES, from_file
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.rotation.rotation_usage import rope_in_head
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.model_positions import LayerGroup, ModelPositions, layer_ranges


def diagnose(
    expected: Any,
    actual: Any,
    *,
    layer: int | None = None,
    layout: str | None = None,
    part: str | None = None,
    length: int | None = None,
    waive: Iterable[str] = (),
) -> Diagnosis:
    """Compare an implementation with what is meant, and name the known mistake behind a difference.

    Known mistakes are tried alone, most of them in pairs. What no logit shows is no difference: other spellings, one
    shift of all positions under a rotation, float32 rounding.

    Args:
        expected: An encoding, what `from_config` returns, or a config (a dict, or the path of its file or folder). A
            live module of transformers stands for its config; a capture is compared with another capture.
        actual: Any of these; a live torch module; what `posenc.transformers.capture` recorded of a model, or
            the .npz file of such a record; or arrays, as
            a dict or in an .npz or .safetensors file (never a pickle): `inv_freq`; `cos` and `sin`, or a
            `cos_sin_cache`; `q` and `q_rotated`, `k` and `k_rotated`; or `q`, `k` and `logits` or `probabilities`, of
            one head or several; with `positions` where they are not 0, 1, 2, .... A mask in logits shows the window. Of
            ALiBi and T5: `bias`, or `q`, `k` and `logits`, of all heads (heads, n, m), and the learned `table`. Of
            sinusoids that are added: `table`, or `embeddings` and `hidden_states`. Of a checkpoint: its inv_freq, or
            the shapes of its learned tables, of which `state_dict()` will do.
        layer: Number of the layer that the arrays belong to, where layers differ.
        layout: "bhtd" or "bthd", for q and k with heads.
        part: Part of the model that the arrays belong to, such as "encoder", where parts differ.
        length: Tokens that are served, for scalings that depend on it: LongRoPE, dynamic NTK. A config allows one
            length and serves many; if None, the length of the positions in the evidence counts.
        waive: Keys of configs that concern positions and may go unread, as in `from_config`.

    Returns:
        Whether both agree, the findings and notes, and what was looked at and what was not; `print` shows them as text.

    Raises:
        ValueError: Arrays, a config or an option break their rule; the message begins with the argument's name.
        TypeError: A side is none of these kinds; the message begins with the argument's name.

    Example:
        >>> from posenc import RoPE
        >>> diagnosis = diagnose(RoPE(dim=64, base=500_000.0, pairing="halves"), RoPE(dim=64, pairing="halves"))
        >>> print(diagnosis.findings[0].sentence)
        The base is 10000 where 500000 is meant.
    """
    layer = None if layer is None else validation.integer("layer", layer, 0)
    length = None if length is None else validation.integer("length", length, 1, 2**53)
    layout = None if layout is None else validation.choice("layout", layout, LAYOUTS)
    part = None if part is None else validation.text("part", part)
    expected, actual = _record(expected), _record(module_of(actual))
    one = read_source("expected", _stated(expected), validation.texts("waive", waive))
    if isinstance(one.positions, Encoding):
        _leave_out("the config of a model", "an encoding", layer=layer, part=part)
    if isinstance(expected, Capture) or isinstance(actual, Capture):
        _leave_out("arrays", "a capture", layer=layer, part=part, layout=layout)
    if isinstance(expected, Capture):
        if not isinstance(actual, Capture):
            raise TypeError(f"actual must be a capture, as expected is; got {type(actual).__name__}. Give one.")
        captures = judge_captures(_require_model(one.positions), expected, actual, length)
        return captures.looked_at_in(one.positions)
    if isinstance(actual, Capture):
        return judge_capture(_require_model(one.positions), actual, length, one.config).looked_at_in(one.positions)
    groups = _groups(one.positions, layer, part)
    verdict = _tables_of_checkpoint(actual, groups)
    arrays = _arrays(actual) if verdict is None else {}
    if arrays is None and not is_module(actual):
        _leave_out("arrays or a module", "two configs", layer=layer, part=part, layout=layout, length=length)
        return judge_models(one, read_source("actual", actual, waive))
    if arrays is None:
        _leave_out("arrays of q or k", "a module", layout=layout)
        evidence = module_evidence(actual, length or _length(one.positions))
        verdict = judge_rotations(groups, one.positions, evidence, length)
    verdict = verdict or judge_arrays(groups, one.positions, arrays or {}, layout, length)
    waived = one.positions.waived if isinstance(one.positions, ModelPositions) else ()
    return replace(verdict, not_compared=(*verdict.not_compared, *map(str, waived))).looked_at_in(one.positions)


def _leave_out(needed: str, found: str, **options: Any) -> None:
    """Refuse options that say nothing about what is compared."""
    for name, given in options.items():
        if given is not None:
            raise ValueError(f"{name} must come with {needed}; got {found}. Leave it out.")


def _record(given: Any) -> Any:
    """The record in a file that `Capture.save` wrote; everything else as it is."""
    is_record = isinstance(given, str | Path) and Path(given).suffix == ".npz" and FACTS in from_file(Path(given))
    return Capture.load(given) if is_record else given


def _stated(expected: Any) -> Any:
    """The config of a live module or of a capture; everything else as it is."""
    return expected.config if isinstance(expected, Capture) or _has_config(expected) else expected


def _has_config(given: Any) -> bool:
    return is_module(given) and callable(getattr(getattr(given, "config", None), "to_dict", None))


def _tables_of_checkpoint(actual: Any, groups: tuple[LayerGroup, ...]) -> Diagnosis | None:
    """Compare the shapes of a checkpoint's learned tables; None where it has none that the config knows."""
    is_file = isinstance(actual, str | Path) and Path(actual).suffix == ".safetensors"
    if not is_file and (not isinstance(actual, Mapping) or set(actual) & set(ARRAY_NAMES)):
        return None
    shapes = table_shapes(Path(actual) if is_file else actual)
    findings = compare_tables(groups, shapes) if shapes else None
    if findings is None:
        return None
    return Diagnosis(not findings, findings, compared=f"shapes of {', '.join(shapes)}"[:300])


def _require_model(wanted: Encoding | ModelPositions) -> ModelPositions:
    if isinstance(wanted, ModelPositions):
        return wanted
    raise TypeError(
        "expected must be the config of a model to be compared with its capture; got an encoding. Give the model's "
        "config."
    )


def _arrays(actual: Any) -> Mapping[str, Any] | None:
    """Arrays, or those of a file; None for what is a config, an encoding or a module."""
    if isinstance(actual, str | Path) and Path(actual).suffix in ARRAY_FILES:
        return from_file(Path(actual))
    if isinstance(actual, Mapping) and set(actual) & set(ARRAY_NAMES) and "model_type" not in actual:
        return actual
    return None


def _groups(wanted: Encoding | ModelPositions, layer: int | None, part: str | None) -> tuple[LayerGroup, ...]:
    """Groups of the layers that the arrays belong to.

    Raises:
        ValueError: The model has no such part, or the part no such layer.
    """
    if isinstance(wanted, Encoding):
        return (LayerGroup("text", "", (0,), (wanted,)),)
    groups = wanted.groups if part is None else wanted.of(part)
    if layer is None:
        return groups
    of_layer = tuple(group for group in groups if layer in group.layers)
    if not of_layer:
        known = layer_ranges(tuple(sorted({number for group in groups for number in group.layers})))
        raise ValueError(f"layer must be one with positions, {known}; got {layer}. Count from 0, and give its part.")
    return of_layer


def _length(wanted: Encoding | ModelPositions) -> int | None:
    """The served length that the encodings state, where they state one."""
    encodings = [encoding for group in _groups(wanted, None, None) for encoding in group.encodings]
    ropes = [head.rope for encoding in encodings if (head := rope_in_head(encoding))]
    return min((length for rope in ropes if (length := getattr(rope.scaling, "length", None))), default=None)
