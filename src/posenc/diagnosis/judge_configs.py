"""Whether two models agree by what their configs say of every layer."""

from __future__ import annotations

from dataclasses import replace

from posenc.core.doors import Encoding
from posenc.diagnosis.compare_models import compare_models
from posenc.diagnosis.embedding_scale import compare_embedding_scales
from posenc.diagnosis.layers.mistakes_layers import LAYERS
from posenc.diagnosis.layers.windows import compare_windows
from posenc.diagnosis.same_terms import longest_trained, served_longer
from posenc.diagnosis.sides import Side
from posenc.diagnosis.verdict import Diagnosis
from posenc.models.difference import diff
from posenc.models.model_positions import LayerGroup, ModelPositions
from posenc.models.reordered_rows import in_same_terms

#: Mistakes about which layer does what, from which its windows follow.
ABOUT_LAYERS = frozenset(mistake.name for mistake in LAYERS)


def judge_configs(first: Side, second: Side) -> Diagnosis:
    """Compare what two configs say of every layer."""
    expected, actual = first.positions, second.positions
    notes: tuple[str, ...] = ()
    if isinstance(expected, Encoding) and isinstance(actual, Encoding):
        one, other = (
            ModelPositions("encoding", (LayerGroup("text", "", (0,), (model,)),)) for model in (expected, actual)
        )
        difference = diff(expected, actual)
    else:
        one, other = _as_model(expected, actual), _as_model(actual, expected)
        one, other, notes = in_same_terms(one, other)
        difference = diff(one, other)
    findings = compare_models(one, other)
    length = longest_trained(one, other)
    if findings == () and length is not None:
        # Dynamic NTK does nothing up to its trained length, and both configs may be no longer than that.
        findings = compare_models(served_longer(one, 2 * length), served_longer(other, 2 * length))
    scale = compare_embedding_scales(first.config, second.config)
    if scale is not None and findings is not None:
        findings = (*findings, scale)
    if findings is not None and not {finding.name for finding in findings} & ABOUT_LAYERS:
        findings = (*findings, *compare_windows(one, other))
    compared, not_compared = "what two configs say of every layer", difference.not_compared
    return Diagnosis(findings == (), findings or (), notes, difference, compared, not_compared=not_compared)


def _as_model(model: Encoding | ModelPositions, other: Encoding | ModelPositions) -> ModelPositions:
    """A lone encoding as the other model, in which it stands for every encoding of its door."""
    if isinstance(model, ModelPositions):
        return model
    if not isinstance(other, ModelPositions):
        raise TypeError("other must be what from_config returns; got an encoding. Compare encodings with encodings.")
    groups = []
    for group in other.groups:
        encodings = tuple(model if encoding.door == model.door else encoding for encoding in group.encodings)
        groups.append(replace(group, encodings=encodings))
    return ModelPositions(other.model_type, tuple(groups), other.notes)
