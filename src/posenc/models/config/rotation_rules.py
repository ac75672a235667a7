"""Models that rotate where a key says so, or by rules that no other shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from posenc import _check
from posenc.models.config import rope_parameters
from posenc.models.config.config_classes import ModelClass
from posenc.models.config.fields import Fields
from posenc.models.model_positions import Value

Rope = Mapping[str, Value]
Labels = tuple[str | None, ...]
Special = Callable[[Fields, ModelClass, tuple[str, ...]], tuple[Mapping[str, Rope | None], Labels]]


def if_rotary(key: str, word: str, *others: str) -> Special:
    """Models that rotate where a key says so, and then by the class's own base. others: what else it may say."""
    others = (word, *others)

    def special(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
        chosen, base = (
            fields.get(key),
            "rotary_embedding_base" if "rotary_embedding_base" in known.defaults else "rope_theta",
        )
        if chosen is not None and chosen.value not in others:
            raise ValueError(
                f"{chosen.key} must be one of {', '.join(map(repr, others))} to be read; got {_check.shown(chosen.value)}, which no "
                "record holds yet. Compare its scores by hand."
            )
        turns = chosen is not None and chosen.value == word
        values: dict[str, Rope | None] = {"all": {"rope_theta": replace(fields.need(base), name="rope_theta")}}
        return values, ("all" if turns else None,) * len(kinds)

    return special


def by_width(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """Dots 3 Note: a rotation for each type of layer; the share of a head follows from their widths, whatever a file says."""
    given = fields.table("rope_parameters")
    if (given is not None and not rope_parameters.nested(given[0])) or fields.table("rope_scaling"):
        raise ValueError(
            f"{fields.where}rope_parameters must hold an object for each type of layer; got one for all. Write one for each."
        )
    older = {kind: ("swa_rope_theta" if kind == "sliding_attention" else "rope_theta", False) for kind in kinds}
    made = rope_parameters.by_label(fields, known, older)
    for values in made.values():
        if values is not None:
            values.pop("partial_rotary_factor", None)
            if rope_parameters.type_of(values) == "proportional":
                raise ValueError(
                    f"{values['rope_type'].key} must not be 'proportional', which the class makes of another width than turns. "
                    "Choose another."
                )
    return made, tuple(kind if made.get(kind) is not None else None for kind in kinds)


def by_constant(fields: Fields, known: ModelClass, kinds: tuple[str, ...]) -> tuple[Mapping[str, Rope | None], Labels]:
    """CLVP: a base of 10000 that no key states, where use_rotary_embedding says so."""
    base = Value("rope_theta", 10_000.0, "class default", "a constant of the class")
    return {"all": {"rope_theta": base}}, ("all" if fields.truth("use_rotary_embedding") else None,) * len(kinds)
