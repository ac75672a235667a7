"""Fields of a model's positions, which of them each kind of evidence shows, and what to give for those it does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from posenc.core.doors import Encoding
from posenc.models.model_positions import ModelPositions

#: Everything about positions in which two implementations can differ.
PositionField = Literal[
    "frequencies", "amplitude", "direction", "pairing", "query positions", "key positions", "added vectors",
    "table rows", "biases", "content scores", "softmax scale", "query temperature", "window", "causal mask", "values",
    "other roles", "other layers", "order of rows", "order of coordinates",
]  # fmt: skip
Fields = frozenset[PositionField]

#: Arrays that show a field, or what else does.
VECTORS = "q and q_rotated"
MODEL = "a capture of the running model, or both configs"
GIVE: dict[PositionField, str] = {
    "frequencies": "inv_freq, cos and sin, or q and q_rotated",
    "amplitude": "cos and sin, or q and q_rotated",
    "direction": "cos and sin, or q and q_rotated",
    "pairing": VECTORS,
    "query positions": VECTORS,
    "key positions": "k and k_rotated",
    "added vectors": "table",
    "table rows": "a capture of the running model",
    "biases": "bias of all heads, (heads, queries, keys)",
    "content scores": "both configs",
    "softmax scale": f"q, k and logits without scale, {MODEL}",
    "query temperature": "q, k and logits of queries so far that it is not 1, or both configs",
    "window": "logits with their mask or a capture of the running model, longer than the window, or both configs",
    "causal mask": "a capture of the running model",
    "values": "a capture of the running model",
    "other roles": "both configs",
    "other layers": MODEL,
    "order of rows": "the folder with its weights, then the other folder or a .gguf file",
    "order of coordinates": "positions whose coordinates differ, as those of an image do",
}

ROTATION: Fields = frozenset({"frequencies", "amplitude", "direction", "pairing", "query positions", "key positions"})
#: Fields that each kind of evidence shows, where the model has them.
SHOWN_BY: dict[str, Fields] = {
    "configs": frozenset(GIVE) - {"order of rows"},
    "rows of two checkpoints": frozenset({"order of rows"}),
    "inv_freq": frozenset({"frequencies"}),
    "inv_freq and its attention factor": frozenset({"frequencies", "amplitude"}),
    "cos and sin": frozenset({"frequencies", "amplitude", "direction"}),
    "q and q_rotated": ROTATION - {"key positions"},
    "k and k_rotated": ROTATION - {"query positions"},
    "logits": ROTATION | {"softmax scale", "biases"},
    "logits of far queries": frozenset({"query temperature"}),
    "mask": frozenset({"window"}),
    "mask of later keys": frozenset({"causal mask"}),
    "logits of an attention function": frozenset({"softmax scale"}),
    "values of an attention function": frozenset({"values"}),
    "every layer": frozenset({"other layers"}),
    "bias": frozenset({"biases"}),
    "table": frozenset({"added vectors"}),
    "shapes of tables": frozenset(),
    "rows that tokens read": frozenset({"table rows"}),
}
#: Fields of an encoding by its door.
OF_DOOR: dict[str, Fields] = {
    "adds": frozenset({"added vectors"}),
    "rotates": ROTATION,
    "biases": frozenset({"biases"}),
    "scores": frozenset({"content scores"}),
}


def fields_of(positions: Encoding | ModelPositions) -> Fields:
    """The fields that an encoding or a model has.

    A model of several layers has "other layers" than the one that arrays come from; every model that attends has a
    softmax scale, a window (or none), a causal mask (or none) and values that nothing rotates (or that something does).

    Args:
        positions: An encoding, or what `from_config` returns.

    Returns:
        Names of fields.

    Example:
        >>> from posenc import ALiBi
        >>> sorted(fields_of(ALiBi(heads=8)))
        ['biases']
    """
    if isinstance(positions, Encoding):
        several = positions.door == "rotates" and getattr(positions, "axes", 1) > 1
        rows: Fields = frozenset({"table rows"} if _is_read_by_rows(positions) else ())
        coordinates: Fields = frozenset({"order of coordinates"} if several else ())
        return OF_DOOR[positions.door] | rows | coordinates
    fields: set[PositionField] = set()
    for group in positions.groups:
        for encoding in group.encodings:
            fields |= fields_of(encoding)
    layers = {(group.part, layer) for group in positions.groups for layer in group.layers}
    if layers or any(group.part not in ("vision", "audio") for group in positions.groups):  # a table is before them
        fields |= {"softmax scale", "window", "causal mask", "values"}
    if len(layers) > 1:
        fields.add("other layers")
    if any(group.query_temperature is not None for group in positions.groups):
        fields.add("query temperature")
    if any(group.roles for group in positions.groups):
        fields.add("other roles")
    return frozenset(fields)


def not_shown(positions: Encoding | ModelPositions, looked_at: Iterable[PositionField]) -> tuple[str, ...]:
    """The fields that the model has and the evidence did not show, together with what to give so that it does.

    Example:
        >>> from posenc import RoPE
        >>> not_shown(RoPE(dim=4), shown_by("cos and sin", "k and k_rotated"))
        ('query positions: give q and q_rotated',)
    """
    missing = fields_of(positions) - frozenset(looked_at)
    names_by_evidence: dict[str, list[str]] = {}
    for name, give in GIVE.items():
        if name in missing:
            names_by_evidence.setdefault(give, []).append(name)
    return tuple(f"{', '.join(names)}: give {give}" for give, names in names_by_evidence.items())


def _is_read_by_rows(encoding: Encoding) -> bool:
    """Whether tokens read rows of a learned table."""
    return encoding.door == "adds" and "table" in encoding.shapes


def shown_by(*kinds: str) -> tuple[PositionField, ...]:
    """The fields that evidence of these kinds shows together, in the order of `GIVE`."""
    shown = frozenset().union(*(SHOWN_BY[kind] for kind in kinds))
    return tuple(name for name in GIVE if name in shown)
