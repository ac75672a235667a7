"""Model types of a caller's own, which `from_config` takes without a change of posenc."""

from __future__ import annotations

from typing import Any

import pytest

from posenc import RoPE
from posenc.models import ModelType, diff, from_config, to_config
from posenc.models.config.rope_parameters import one_rotation
from posenc.models.notes import NotRead

CONFIG: dict[str, Any] = {
    "model_type": "in_house", "num_hidden_layers": 4, "head_dim": 16, "rope_theta": 5e5, "rope_plan": [1, 0, 1, 0],
}  # fmt: skip
OWN = "model_type 'in_house' is read as the caller's own ModelType says; posenc has not compared it"


def by_plan(fields: Any, layer_types: tuple[str, ...]) -> Any:
    plan, rope = fields.require("rope_plan").value, one_rotation(fields)
    return tuple(rope if rotates else None for rotates in plan)


MINE = ModelType(("in_house",), pairing="adjacent", rotations=by_plan)


def test_a_plan_for_every_layer() -> None:
    found = from_config(CONFIG, types=(MINE,))
    assert [(group.layers, len(group.encodings)) for group in found.groups] == [((0, 2), 1), ((1, 3), 0)]
    assert found.groups[0].encodings == (RoPE(dim=16, base=5e5, pairing="adjacent"),)
    assert found.notes == (OWN,)
    assert diff(found, from_config(CONFIG, types=[MINE])).verdict.startswith("agree in everything")


def test_a_key_that_no_rule_reads_is_named_and_an_unknown_type_says_the_repair() -> None:
    notes = from_config(CONFIG, types=(ModelType(("in_house",)),)).notes
    (note,) = [note for note in notes if isinstance(note, NotRead)]
    assert note.startswith("rope_plan = [1, 0, 1, 0] is not read")
    with pytest.raises(ValueError, match=r"^model_type must be one that is known.*if its layers differ, give from_con"):
        from_config(CONFIG)


def test_a_note_of_a_type_is_given_once_where_its_reader_leaves_the_layers_to_its_rules() -> None:
    row = ModelType(("in_house",), reader=lambda fields: None, rotations=by_plan, notes=("trap",))
    found = from_config(CONFIG, types=(row,))
    assert found.notes == (OWN,)
    assert [group.notes for group in found.groups] == [("trap",), ("trap",)]


def test_a_part_of_a_known_model_and_a_known_type_itself() -> None:
    inside = {"model_type": "llava", "text_config": CONFIG, "vision_config": {"model_type": "clip_vision_model"}}
    found = from_config(inside, types=(MINE,))
    assert found.parts == ("text", "vision")
    assert OWN.replace("model_type", "text_config.model_type", 1) in found.notes
    llama = {"model_type": "llama", "num_hidden_layers": 2}
    (plain,), (other,) = (
        from_config(llama, types=types).groups for types in ((), (ModelType(("llama",), pairing="adjacent"),))
    )
    assert (plain.pairing, other.pairing) == ("halves", "adjacent")


def test_configs_inside_one_of_an_unknown_class_are_named() -> None:
    found = from_config(CONFIG | {"vision_config": {"model_type": "clip_vision_model"}}, types=(MINE,))
    assert [str(note) for note in found.not_read] == ["vision_config is not read; give it to from_config by itself"]


@pytest.mark.parametrize(
    ("types", "error", "message"),
    [
        (MINE, TypeError, r"^types must be a tuple of posenc.models.ModelType, types=\(mine,\); got ModelType"),
        (("in_house",), TypeError, r"^types must be a tuple of .*ModelType, types=\(mine,\); got 'in_house'"),
        ((MINE, MINE), ValueError, "^types must name each model type once; got 'in_house' twice. Drop one"),
    ],
)
def test_what_is_no_tuple_of_model_types(types: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_config(CONFIG, types=types)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ModelType("in_house"), TypeError, r"^names must be a tuple of words; got 'in_house'.*\('in_house',\)"),
        (lambda: ModelType(("mine",), pairing="neox"), ValueError, "^pairing must be one of 'adjacent', 'halves'"),
    ],
)
def test_a_model_type_with_a_wrong_field(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_plan_for_fewer_layers_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^rotations must have one entry for each of 4 layers.*returned 3\. Correct"):
        from_config(CONFIG | {"rope_plan": [1, 0, 1]}, types=(MINE,))


def test_a_config_is_written_back_with_the_types_that_read_it() -> None:
    other = from_config(CONFIG | {"rope_theta": 1e6}, types=(MINE,))
    written = to_config(other, CONFIG, types=[MINE])
    with pytest.raises(TypeError, match=r"^types must be a tuple of posenc\.models\.ModelType"):
        to_config(other, CONFIG, types=iter((MINE,)))  # type: ignore[arg-type]
    assert from_config(written, types=(MINE,)).groups[0].rotary_encoding == other.groups[0].rotary_encoding
    with pytest.raises(ValueError, match=r"model_type must be one that is known here.*Choose the config"):
        to_config(other, CONFIG)


def test_a_wrapper_of_an_unknown_type_names_the_config_inside_it() -> None:
    with pytest.raises(ValueError, match=r"Its text_config is a config of its own: give it to from_config by itself"):
        from_config({"model_type": "in_house_vl", "text_config": CONFIG}, types=(MINE,))
