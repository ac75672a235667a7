"""Do two implementations agree about positions, and if not, which known mistake makes them differ?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from posenc.diagnosis.bias.judge_biases import judge_biases
from posenc.diagnosis.checkpoint_tables import compare_tables, table_shapes
from posenc.diagnosis.compare_models import compare_models
from posenc.diagnosis.live_module import is_module, module_evidence
from posenc.diagnosis.named_arrays import ARRAY_FILES, ARRAY_NAMES, from_file
from posenc.diagnosis.rotation.evidence_from_arrays import rotation_evidence
from posenc.diagnosis.rotation.judge_rotations import judge_rotations
from posenc.diagnosis.rotation.usage import rope_in_head
from posenc.diagnosis.verdict import Diagnosis
from posenc.doors import Biases, Encoding
from posenc.models.config.reader import from_config
from posenc.models.difference import diff
from posenc.models.model_positions import LayerGroup, ModelPositions


def diagnose(
    expected: Any,
    actual: Any,
    *,
    layer: int | None = None,
    layout: str | None = None,
    part: str | None = None,
    length: int | None = None,
) -> Diagnosis:
    """Name the mistake that makes an implementation differ from what is meant, or say that none of the known ones does.

    expected: a record, what `from_config` returns, or a config (a dict, or the path of its file or folder).
    actual: any of these; a live torch module; or arrays, as a dict or in an .npz or .safetensors file (never a pickle):
    `inv_freq`; `cos` and `sin`; `q` and `q_rotated`, `k` and `k_rotated`; or `q`, `k` and `logits`; with `positions`
    where they are not 0, 1, 2, .... Of ALiBi and T5: `bias`, or `q`, `k` and `logits`, of all heads (heads, n, m), and
    the learned `table`. Of a checkpoint: its inv_freq, or the shapes of its learned tables.
    layer, part: which layer and part the arrays belong to, where these differ.   layout: "bhtd" or "bthd", for q and k
    with heads.   length: the length that is served, for scalings that depend on it: LongRoPE, dynamic NTK. A config
    allows one length and serves many; where this is left out, it is that of the positions in the evidence.

    Known mistakes are tried alone and in pairs. What no logit sees is no difference: other spellings, a shift of all
    positions under a rotation, float32 rounding. Raises ValueError or TypeError naming the argument.

    >>> from posenc import RoPE
    >>> diagnosis = diagnose(RoPE(dim=64, base=500_000.0, pairing="halves"), RoPE(dim=64, pairing="halves"))
    >>> print(diagnosis.findings[0].sentence)
    The base is 10000 where 500000 is meant.
    """
    meant = _positions_of("expected", expected)
    if (
        isinstance(actual, str | Path)
        and Path(actual).suffix == ".safetensors"
        and (shapes := table_shapes(Path(actual)))
    ):
        findings = compare_tables(_groups(meant, layer, part), shapes)
        if findings is not None:
            return Diagnosis(not findings, findings, (f"compared by shape: {', '.join(shapes)}"[:300],))
    arrays = _arrays(actual)
    if arrays is None and not is_module(actual):
        return _judge_configs(meant, _positions_of("actual", actual))
    groups = _groups(meant, layer, part)
    if arrays is not None and any(isinstance(record, Biases) for group in groups for record in group.encodings):
        return judge_biases(groups, arrays, isinstance(meant, ModelPositions))
    if arrays is None:
        return judge_rotations(groups, meant, module_evidence(actual, length or _length(meant)), length)
    logit_factor = next((group.logit_factor for group in groups if group.rotation is not None), 1.0)
    return judge_rotations(groups, meant, [("", rotation_evidence(arrays, layout, logit_factor))], length)


def _positions_of(name: str, given: Any) -> Encoding | ModelPositions:
    if isinstance(given, Encoding | ModelPositions):
        return given
    if isinstance(given, Mapping | str | Path):
        return from_config(given)
    raise TypeError(
        f"{name} must be a record, a config or what from_config returns; got {type(given).__name__}. Give one of these."
    )


def _arrays(actual: Any) -> Mapping[str, Any] | None:
    """Arrays, or those of a file; None for what is a config, a record or a module."""
    if isinstance(actual, str | Path) and Path(actual).suffix in ARRAY_FILES:
        return from_file(Path(actual))
    if isinstance(actual, Mapping) and set(actual) & set(ARRAY_NAMES) and "model_type" not in actual:
        return actual
    return None


def _groups(meant: Encoding | ModelPositions, layer: int | None, part: str | None) -> tuple[LayerGroup, ...]:
    """What is meant for the layers that arrays belong to."""
    if isinstance(meant, Encoding):
        return (LayerGroup("text", "", (0,), (meant,)),)
    groups = meant.groups if part is None else meant.of(part)
    return tuple(group for group in groups if layer is None or layer in group.layers)


def _length(meant: Encoding | ModelPositions) -> int | None:
    """The served length that the records state, where they state one."""
    records = [meant] if isinstance(meant, Encoding) else [one for group in meant.groups for one in group.encodings]
    ropes = [head.rope for record in records if (head := rope_in_head(record))]
    return min((length for rope in ropes if (length := getattr(rope.scaling, "length", None))), default=None)


def _judge_configs(first: Encoding | ModelPositions, second: Encoding | ModelPositions) -> Diagnosis:
    if isinstance(first, Encoding) and isinstance(second, Encoding):
        one, other = (ModelPositions("record", (LayerGroup("text", "", (0,), (own,)),)) for own in (first, second))
        difference = diff(first, second)
    else:
        one, other = _as_model(first, second), _as_model(second, first)
        difference = diff(one, other)
    findings = compare_models(one, other)
    return Diagnosis(findings == (), findings or (), (), difference)


def _as_model(own: Encoding | ModelPositions, other: Encoding | ModelPositions) -> ModelPositions:
    """A lone record as the other model, in which it stands for every record of its door."""
    if isinstance(own, ModelPositions):
        return own
    if not isinstance(other, ModelPositions):
        raise TypeError("other must be what from_config returns; got a record. Compare records with records.")
    groups = []
    for group in other.groups:
        encodings = tuple(own if record.door == own.door else record for record in group.encodings)
        groups.append(replace(group, encodings=encodings))
    return ModelPositions(other.model_type, tuple(groups))
